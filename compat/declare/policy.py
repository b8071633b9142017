"""The declared policy: how fast floors may move, what holds them, and how much proof a move
needs.
"""

import datetime
from typing import Annotated, Literal

import msgspec
from packaging.version import Version

from compat.declare.parsing import Link, Name, Reason
from compat.declare.suite_table import Tier
from compat.value import StrictValue

Months = Annotated[int, msgspec.Meta(ge=1, le=240)]


class Window(StrictValue, frozen=True):
    """How long an axis keeps a version, by exactly one rule; the floor may rise when the rule lets
    the version go.

    With `months` the floor may rise to the newest version that is at least so old, with `minors` to
    the oldest of the so many newest, with `end_of_life`, on the interpreter axis, to the oldest
    that upstream still looks after.
    """

    axis: Name
    because: Reason
    months: Months | None = None
    minors: Annotated[int, msgspec.Meta(ge=1, le=50)] | None = None
    end_of_life: bool = False

    def __post_init__(self) -> None:
        if (self.months is not None) + (self.minors is not None) + self.end_of_life != 1:
            raise ValueError("needs exactly one of `months`, `minors` and `end_of_life = true`")


class Hold(StrictValue, frozen=True):
    """A floor that is kept low for now: it may not pass `at` before the day after `until`, and may
    come back to it.
    """

    axis: Name
    at: Version
    because: Reason
    until: datetime.date
    link: Link | None = None


class KnownBad(StrictValue, frozen=True):
    """A release that is never proposed as a floor."""

    axis: Name
    version: Version
    because: Reason
    link: Link | None = None


class Policy(StrictValue, frozen=True):
    """How floors move.

    `default_months` is the window of an axis without its own. `cadence` is how often a floor rises:
    on the first day of each month, quarter, half-year or year. `notice_days` is how long before
    that day the move is announced, `witnesses` how many green runs on different days it needs.
    `isolation` is the least that those runs had: at L3 alone a cell cannot write what other cells
    use. `tier` is the least that they asked for: by default the whole suite, so that what only its
    core shows moves no floor.
    """

    default_months: Months
    cadence: Literal["monthly", "quarterly", "half-yearly", "yearly"]
    notice_days: Annotated[int, msgspec.Meta(ge=0, le=365)]
    witnesses: Annotated[int, msgspec.Meta(ge=1, le=50)]
    isolation: Literal["L3", "L2", "L1", "L0"] = "L3"
    tier: Tier = "full"
    windows: Annotated[tuple[Window, ...], msgspec.Meta(max_length=8)] = ()
    holds: Annotated[tuple[Hold, ...], msgspec.Meta(max_length=100)] = ()
    known_bad: Annotated[tuple[KnownBad, ...], msgspec.Meta(max_length=500)] = ()
