"""The declared policy: how fast floors may move, what holds them, and how much proof a move needs."""

import datetime
from typing import Annotated, Literal

import msgspec
from packaging.version import Version

from compat.declare.matrix import Value
from compat.declare.text import Link, Name, Reason

Months = Annotated[int, msgspec.Meta(ge=1, le=240)]


class Window(Value, frozen=True):
    """The safe rule for an axis: its floor may rise to the newest minor that is at least `months` old."""

    axis: Name
    months: Months
    because: Reason


class Hold(Value, frozen=True):
    """A floor that stays where it is for now: it may not pass `at` before `until`."""

    axis: Name
    at: Version
    because: Reason
    until: datetime.date
    link: Link | None = None


class KnownBad(Value, frozen=True):
    """A release that is never proposed as a floor."""

    axis: Name
    version: Version
    because: Reason
    link: Link | None = None


class Policy(Value, frozen=True):
    """How floors move.

    `default_months` is the window of an axis without its own. `cadence` is how often a move is proposed,
    `notice_days` how long before it is announced, `witnesses` how many green runs on different days it needs.
    """

    default_months: Months
    cadence: Literal["monthly", "quarterly", "half-yearly", "yearly"]
    notice_days: Annotated[int, msgspec.Meta(ge=0, le=365)]
    witnesses: Annotated[int, msgspec.Meta(ge=1, le=50)]
    windows: Annotated[tuple[Window, ...], msgspec.Meta(max_length=8)] = ()
    holds: Annotated[tuple[Hold, ...], msgspec.Meta(max_length=100)] = ()
    known_bad: Annotated[tuple[KnownBad, ...], msgspec.Meta(max_length=500)] = ()
