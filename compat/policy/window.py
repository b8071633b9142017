"""The `policy` room's windows: a policy and release dates -> from which day on an axis may have
which floor; and the reviewed dates of each Python.

The dates of Python are from "Status of Python versions" of the developer's guide
(devguide.python.org/versions), as of 2026-09, and the PEP of each series. Where a PEP names only a
month, its last day stands here. What the PEP still calls a plan is `planned`.
"""

import calendar
import datetime
from collections.abc import Iterable, Sequence

from packaging.version import Version

from compat.declare.matrix import Axis, Hold, InterpreterAxis, PackageAxis, Policy, Window
from compat.declare.parsing import minor_series
from compat.index.release import Catalogue
from compat.value import StrictValue

_DAY = datetime.date


class VersionRelease(StrictValue, frozen=True, kw_only=True):
    """A version of an axis, and when it came out; `ends` is upstream's last day for it, where one
    is known. `planned` is what upstream has not released yet.
    """

    version: Version
    released: datetime.date
    source: str
    ends: datetime.date | None = None
    planned: bool = False


def _series(
    text: str, released: datetime.date, ends: datetime.date, pep: int, planned: bool = False
) -> VersionRelease:
    source = f"PEP {pep}{', planned' if planned else ''}"
    return VersionRelease(
        version=Version(text), released=released, source=source, ends=ends, planned=planned
    )


PYTHONS: tuple[VersionRelease, ...] = (
    _series("3.6", _DAY(2016, 12, 23), _DAY(2021, 12, 23), 494),
    _series("3.7", _DAY(2018, 6, 27), _DAY(2023, 6, 27), 537),
    _series("3.8", _DAY(2019, 10, 14), _DAY(2024, 10, 7), 569),
    _series("3.9", _DAY(2020, 10, 5), _DAY(2025, 10, 31), 596),
    _series("3.10", _DAY(2021, 10, 4), _DAY(2026, 10, 31), 619),
    _series("3.11", _DAY(2022, 10, 24), _DAY(2027, 10, 31), 664),
    _series("3.12", _DAY(2023, 10, 2), _DAY(2028, 10, 31), 693),
    _series("3.13", _DAY(2024, 10, 7), _DAY(2029, 10, 31), 719),
    _series("3.14", _DAY(2025, 10, 7), _DAY(2030, 10, 31), 745),
    _series("3.15", _DAY(2026, 10, 1), _DAY(2031, 10, 31), 790, planned=True),
    _series("3.16", _DAY(2027, 10, 6), _DAY(2032, 10, 31), 826, planned=True),
)


DAY = datetime.timedelta(days=1)
STEPS = {"monthly": 1, "quarterly": 3, "half-yearly": 6, "yearly": 12}
CADENCES = {
    "monthly": "month",
    "quarterly": "quarter",
    "half-yearly": "half-year",
    "yearly": "year",
}


class Slot(StrictValue, frozen=True, kw_only=True):
    """A version of an axis, and when the axis's window lets the floor rise to it.

    `allowed` is the first day by the window, `on` the first day of the cadence from then on; both
    are None when nobody can know yet: what decides has not come out.
    """

    came: VersionRelease
    allowed: datetime.date | None
    on: datetime.date | None

    @property
    def version(self) -> Version:
        return self.came.version


def window_of(policy: Policy, axis: str) -> Window:
    default = Window(
        axis=axis,
        because="This is the policy's default for every axis",
        months=policy.default_months,
    )
    return next((window for window in policy.windows if window.axis == axis), default)


def rule_of(window: Window) -> str:
    if window.months is not None:
        return f"the newest that has been out for {window.months} months"
    if window.minors is not None:
        return f"the oldest of the {window.minors} newest" if window.minors > 1 else "the newest"
    return "the oldest that upstream still looks after"


def version_releases(axis: Axis, catalogue: Catalogue) -> tuple[VersionRelease, ...]:
    """Return the versions of an axis whose release date is known, oldest first.

    Of the interpreter axis these are the series from the axis's oldest on, also those that upstream
    only plans.
    """
    if isinstance(axis, InterpreterAxis):
        oldest = min(Version(minor_series(release)) for release in axis.releases)
        return tuple(series for series in PYTHONS if series.version >= oldest)
    dated = (
        (version, released_on(axis, version, catalogue))
        for version in catalogue.of(axis).coordinates(axis.select)
    )
    source = f"upload time of {axis.package} on the package index"
    return tuple(
        VersionRelease(version=version, released=day, source=source)
        for version, day in dated
        if day is not None
    )


def released_on(axis: PackageAxis, version: Version, catalogue: Catalogue) -> datetime.date | None:
    first = catalogue.came_out(axis, version)
    return None if first is None else first.date()


def slots(came: Sequence[VersionRelease], window: Window, policy: Policy) -> tuple[Slot, ...]:
    rises = []
    for index, version_release in enumerate(came):
        allowed = _allowed(came, index, window)
        on = None if allowed is None else move_day(allowed, policy)
        rises.append(Slot(came=version_release, allowed=allowed, on=on))
    return tuple(rises)


def months_later(day: datetime.date, months: int) -> datetime.date:
    """Return the same day of a later month, or the last of that month where it is shorter."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return day.replace(year=year, month=month + 1, day=min(day.day, last))


def move_day(day: datetime.date, policy: Policy) -> datetime.date:
    step = STEPS[policy.cadence]
    first = day.replace(day=1, month=(day.month - 1) // step * step + 1)
    return first if first == day else months_later(first, step)


def allowed_on(
    day: datetime.date, known: Iterable[Slot], bad: Iterable[Version] = ()
) -> Slot | None:
    """Return the newest slot that the calendar has reached on that day; None before the first.

    `bad` are passed over.

    By `months` it is never a version younger than that: the safe rule.
    """
    barred = frozenset(bad)
    reached = (s for s in known if s.on is not None and s.on <= day and s.version not in barred)
    return max(reached, key=lambda slot: slot.version, default=None)


def hold_on(policy: Policy, axis: str, day: datetime.date) -> Hold | None:
    held = (hold for hold in policy.holds if hold.axis == axis and day <= hold.until)
    return min(held, key=lambda hold: hold.at, default=None)


def hold_words(hold: Hold, floor: Version, dated: bool = True) -> str:
    """Return a hold in words, without an end: up to where, until when, and why.

    A floor above its hold stays where it is, and may come back to where the hold is.
    """
    until = f" until {hold.until}" if dated else ""
    back = f", which lets it come back to {hold.at}" if hold.at < floor else ""
    return f"a hold at {max(hold.at, floor)}{until}{back}: {hold.because.rstrip('.')}"


def known_bad(policy: Policy, axis: str) -> frozenset[Version]:
    return frozenset(bad.version for bad in policy.known_bad if bad.axis == axis)


def _allowed(
    releases: Sequence[VersionRelease], index: int, window: Window
) -> datetime.date | None:
    version_release = releases[index]
    if window.months is not None:
        return months_later(version_release.released, window.months)
    if window.minors is not None:
        newest = index + window.minors - 1
        return (
            max(later.released for later in releases[index : newest + 1])
            if newest < len(releases)
            else None
        )
    ends = [before.ends + DAY for before in releases[:index] if before.ends is not None]
    return max([version_release.released, *ends])
