"""The `site` room's calendars as iCalendar (RFC 5545): the coming moves of floors, and the minimum
versions from each of their days on.

All events are all-day events with reminders. No clock is read: the same schedule gives the same
text.
"""

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from compat.advise.request import label
from compat.github.markdown import plain
from compat.policy.calendar import MinimumVersions, Schedule, ScheduledMove
from compat.site.edition import Edition, MatrixReport, SiteFile
from compat.site.paths import calendar_path
from compat.site.wording import day as in_words
from compat.site.wording import plain_dates
from compat.value import Value

# Days before an event.
REMINDERS = (90, 30, 7)


class DayEvent(Value, frozen=True, kw_only=True):
    """An all-day event.

    `stamped` is the day since which what it says was true. An event keeps its `uid` when its `day`
    changes, so that calendars move it.
    """

    uid: str
    stamped: datetime.date
    day: datetime.date
    summary: str
    description: str
    reminder: str


def calendars(edition: Edition) -> Iterator[SiteFile]:
    """Yield the calendars of every matrix: `all`, one of each axis whose minimum may move, and
    `minimums`.
    """
    for report in edition.reports:
        schedule, matrix = report.schedule, report.snapshot.matrix
        yield _file(report, "all", ical(schedule))
        for axis in matrix.axes:
            if axis.name != matrix.subject:
                moves = tuple(move for move in schedule.moves if move.axis == axis.name)
                yield _file(report, axis.name, ical(msgspec.structs.replace(schedule, moves=moves)))
        labels = {axis.name: label(axis) for axis in matrix.axes}
        yield _file(report, "minimums", minimums(schedule, labels))


def ical(schedule: Schedule) -> str:
    return _calendar(
        "floor moves",
        f"{plain(schedule.title)}: minimum versions",
        (_move(schedule, move) for move in schedule.moves),
    )


def minimums(schedule: Schedule, labels: Mapping[str, str]) -> str:
    """Return the days on which the minimum versions may change, each with all of them; `labels` are
    what people call the axes.
    """
    return _calendar(
        "minimum versions",
        f"{plain(schedule.title)}: all minimum versions",
        (
            _minimum(schedule, labels, minimum)
            for minimum in schedule.minimums
            if minimum.on > schedule.day
        ),
    )


def _calendar(product: str, name: str, events: Iterable[DayEvent]) -> str:
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        f"PRODID:-//compat//{product}//EN",
        f"X-WR-CALNAME:{_escaped(name)}",
        *(line for event in events for line in _event(event)),
        "END:VCALENDAR",
    ]
    return "".join(f"{_folded(line)}\r\n" for line in lines)


def _event(event: DayEvent) -> Iterator[str]:
    yield "BEGIN:VEVENT"
    yield f"SUMMARY:{_escaped(event.summary)}"
    yield f"DTSTART;VALUE=DATE:{event.day:%Y%m%d}"
    yield f"DTEND;VALUE=DATE:{event.day + datetime.timedelta(days=1):%Y%m%d}"
    yield f"DTSTAMP:{event.stamped:%Y%m%d}T000000Z"
    yield f"UID:{_escaped(event.uid)}"
    yield f"DESCRIPTION:{_escaped(event.description)}"
    yield "TRANSP:TRANSPARENT"
    for days in REMINDERS:
        yield from ("BEGIN:VALARM", "ACTION:DISPLAY")
        yield f"DESCRIPTION:{_escaped(f'in {days} days: {event.reminder}')}"
        yield from (f"TRIGGER:-P{days}D", "END:VALARM")
    yield "END:VEVENT"


def _escaped(text: str) -> str:
    """A TEXT value (RFC 5545, 3.3.11)."""
    text = re.sub(r"([\\;,])", r"\\\1", text)
    return re.sub(r"\r\n|[\r\n]", r"\\n", text)


def _folded(line: str) -> str:
    # A line has at most 75 octets (RFC 5545, 3.1), and none of its characters is cut.
    folded, octets = "", 0
    for character in line:
        size = len(character.encode())
        if octets + size > 75:
            folded, octets = f"{folded}\r\n ", 1
        folded, octets = folded + character, octets + size
    return folded


def _move(schedule: Schedule, move: ScheduledMove) -> DayEvent:
    change = f"{move.package} {move.to} may become the minimum"
    released = "is planned for" if move.released > schedule.day else "was released on"
    lines = (
        f"With the {move.wording} the minimum may rise from {move.package} {move.before} to"
        f" {move.to}.",
        f"Rule: {move.rule}. {move.package} {move.to} {released} {move.released} ({move.source}).",
        f"Evidence: {move.proof}.",
        *((f"Hold: {move.held}",) if move.held else ()),
    )
    return DayEvent(
        uid=f"{schedule.matrix}-{move.id}@compat",
        stamped=move.released,
        day=move.on,
        summary=f"{plain(schedule.title)}: {change}",
        description="\n".join(plain(plain_dates(line), limit=1000) for line in lines),
        reminder=change,
    )


def _minimum(schedule: Schedule, labels: Mapping[str, str], minimum: MinimumVersions) -> DayEvent:
    versions = ", ".join(f"{labels[axis]} {version}" for axis, version in minimum.floors)
    released = (move.released for move in schedule.moves if move.on <= minimum.on)
    return DayEvent(
        uid=f"{schedule.matrix}-minimums-{minimum.on}@compat",
        stamped=max(released, default=minimum.on),
        day=minimum.on,
        summary=plain(f"{schedule.title}: the minimum may be {versions}", limit=300),
        description=plain(
            f"With the first release after {in_words(minimum.on)} the minimum may be {versions}.",
            limit=1000,
        ),
        reminder=plain(f"the minimum may be {versions}", limit=300),
    )


def _file(report: MatrixReport, name: str, text: str) -> SiteFile:
    return SiteFile(path=calendar_path(report.name, name), content=text.encode())
