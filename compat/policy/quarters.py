"""The `policy` room's quarters: a Schedule by quarter: the floors on its first day, the moves that
fall into it.
"""

import datetime
from collections.abc import Iterator

from packaging.version import Version

from compat.declare.parsing import Name
from compat.policy.calendar import Schedule, ScheduledMove
from compat.policy.window import DAY, months_later
from compat.value import StrictValue


class Quarter(StrictValue, frozen=True, kw_only=True):
    """Three months of a schedule.

    Of the present quarter `on` is the schedule's day, of any other its first day.

    `floors` are those that the rules have on that day, `proven` those with the moves only that are
    proven now. The moves that are due already are in the present quarter, any other in the one of
    its day.
    """

    begin: datetime.date
    end: datetime.date
    on: datetime.date
    floors: tuple[tuple[Name, Version], ...]
    proven: tuple[tuple[Name, Version], ...]
    moves: tuple[ScheduledMove, ...]

    @property
    def id(self) -> str:
        return f"{self.begin.year}-q{_number(self.begin)}"


def quarters(made: Schedule) -> tuple[Quarter, ...]:
    """Return the quarters from the schedule's day to its end; none where nothing has a floor."""
    return tuple(_quarters(made)) if made.minimums else ()


def _quarters(schedule: Schedule) -> Iterator[Quarter]:
    begin = schedule.day.replace(day=1, month=3 * _number(schedule.day) - 2)
    while begin <= schedule.until:
        after = months_later(begin, 3)
        on = max(begin, schedule.day)
        then = max(
            (minimum for minimum in schedule.minimums if minimum.on <= on),
            key=lambda minimum_versions: minimum_versions.on,
        )
        yield Quarter(
            begin=begin,
            end=after - DAY,
            on=on,
            floors=then.floors,
            proven=then.proven,
            moves=tuple(
                move for move in schedule.moves if begin <= max(move.on, schedule.day) < after
            ),
        )
        begin = after


def _number(day: datetime.date) -> int:
    return (day.month + 2) // 3
