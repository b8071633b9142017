"""The `site` room's calendars as iCalendar (RFC 5545): the coming moves of floors, and the minimum
versions from each of their days on.

All events are all-day events with reminders. No clock is read: the same schedule gives the same
text.
"""

import datetime
from collections.abc import Iterable, Iterator, Mapping

import msgspec
from icalendar import Alarm, Calendar, Event

from compat.advise.request import label
from compat.github.markdown import plain
from compat.policy.calendar import MinimumVersions, Schedule, ScheduledMove
from compat.site.edition import Edition, MatrixReport, SiteFile
from compat.site.encode import moment
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
    calendar = Calendar()
    calendar.add("prodid", f"-//compat//{product}//EN")
    calendar.add("version", "2.0")
    calendar.add("x-wr-calname", name)
    for event in events:
        calendar.add_component(_component(event))
    text: str = calendar.to_ical().decode()
    return text


def _component(event: DayEvent) -> Event:
    component = Event()
    component.add("uid", event.uid)
    component.add("dtstamp", moment(event.stamped))
    component.add("dtstart", event.day)
    component.add("dtend", event.day + datetime.timedelta(days=1))
    component.add("transp", "TRANSPARENT")
    component.add("summary", event.summary)
    component.add("description", event.description)
    for days in REMINDERS:
        alarm = Alarm()
        alarm.add("action", "DISPLAY")
        alarm.add("description", f"in {days} days: {event.reminder}")
        alarm.add("trigger", datetime.timedelta(days=-days))
        component.add_component(alarm)
    return component


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
