"""The `policy` room's calendar: the dated moves that the windows let every floor make in the coming years."""

import datetime
from typing import Literal

from packaging.version import Version

from compat.declare.text import Name
from compat.policy.proposal import Value
from compat.results.picture import Picture

State = Literal["due", "announced", "planned"]


class Coming(Value, frozen=True, kw_only=True):
    """A coming move: a floor may rise to `to` with the first release after `on`.

    `allowed` is the day on which the window lets it, `on` the first day of the cadence from then on, `announced` the
    day from which it is told. `held` is why it cannot be before `on` would otherwise say; `proof` what is known of it.
    """

    axis: Name
    package: str
    floor: Version
    to: Version
    released: datetime.date
    allowed: datetime.date
    announced: datetime.date
    on: datetime.date
    state: State
    rule: str
    source: str
    held: str
    proven: bool
    proof: str

    @property
    def id(self) -> str:
        """A name that stays the same when dates change; fit for a path and for a calendar's UID."""
        return f"{self.axis}-{self.to}"

    @property
    def wording(self) -> str:
        """When, in words that mean one thing."""
        return f"first release after {self.on}"


class Minimum(Value, frozen=True, kw_only=True):
    """The floors from a day on, by axis: as the rules have it, and as far as it is proven now."""

    on: datetime.date
    floors: tuple[tuple[Name, Version], ...]
    proven: tuple[tuple[Name, Version], ...]


class Bar(Value, frozen=True, kw_only=True):
    """A version of an axis for a chart: when it came out, when its window ends, and upstream's end of life.

    None means that nobody can know yet, or that upstream names no end. `is_floor` marks the present floor.
    """

    axis: Name
    version: Version
    released: datetime.date
    until: datetime.date | None
    end_of_life: datetime.date | None
    is_floor: bool


class Schedule(Value, frozen=True, kw_only=True):
    """The coming moves of a matrix, by day; the minimum versions from each of these days on; and a chart's values."""

    matrix: str
    title: str
    day: datetime.date
    until: datetime.date
    moves: tuple[Coming, ...]
    minimums: tuple[Minimum, ...]
    bars: tuple[Bar, ...]


def schedule(picture: Picture, day: datetime.date, years: int = 3) -> Schedule:
    """Return the schedule of a matrix from that day on; without a policy nothing moves."""
    matrix = picture.matrix
    until = day.replace(year=day.year + years, day=min(day.day, 28))
    return Schedule(matrix=matrix.name, title=matrix.title, day=day, until=until, moves=(), minimums=(), bars=())
