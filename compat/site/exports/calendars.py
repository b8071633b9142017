"""The `site` room's calendars: the coming moves of each axis, and the minimum versions from each of
their days on.
"""

import datetime
from collections.abc import Iterator

import msgspec
from icalendar import Alarm, Calendar, Event

from compat.advise.request import label
from compat.github.markdown import plain
from compat.policy.calendar import MinimumVersions, Schedule
from compat.site.edition import Edition, MatrixReport, SiteFile
from compat.site.encode import moment
from compat.site.exports.ical import REMINDERS, ical
from compat.site.paths import calendar_path


def calendars(edition: Edition) -> Iterator[SiteFile]:
    """Yield the calendars of every matrix: `all`, one of each axis whose minimum may move, and
    `minimums`.
    """
    for report in edition.reports:
        found = report.schedule
        yield _file(report, "all", ical(found))
        for axis in report.snapshot.matrix.axes:
            if axis.name != report.snapshot.matrix.subject:
                moves = tuple(move for move in found.moves if move.axis == axis.name)
                yield _file(report, axis.name, ical(msgspec.structs.replace(found, moves=moves)))
        yield _file(report, "minimums", minimums(report, found))


def minimums(report: MatrixReport, found: Schedule) -> str:
    """Return the days on which the minimum versions may change, each with all of them."""
    calendar = Calendar()
    calendar.add("prodid", "-//compat//minimum versions//EN")
    calendar.add("version", "2.0")
    calendar.add("x-wr-calname", f"{plain(found.title)}: all minimum versions")
    for one in found.minimums:
        if one.on > found.day:
            calendar.add_component(_event(report, found, one))
    text: str = calendar.to_ical().decode()
    return text


def _event(report: MatrixReport, found: Schedule, one: MinimumVersions) -> Event:
    labels = {axis.name: label(axis) for axis in report.snapshot.matrix.axes}
    said = ", ".join(f"{labels[name]} {version}" for name, version in one.floors)
    event = Event()
    event.add("uid", f"{found.matrix}-minimums-{one.on}@compat")
    event.add(
        "dtstamp",
        moment(max((move.released for move in found.moves if move.on <= one.on), default=one.on)),
    )
    event.add("dtstart", one.on)
    event.add("dtend", one.on + datetime.timedelta(days=1))
    event.add("transp", "TRANSPARENT")
    event.add("summary", plain(f"{found.title}: the minimum may be {said}", limit=300))
    event.add(
        "description",
        plain(f"With the first release after {one.on} the minimum may be {said}.", limit=1000),
    )
    for days in REMINDERS:
        alarm = Alarm()
        alarm.add("action", "DISPLAY")
        alarm.add("description", plain(f"in {days} days the minimum may be {said}", limit=300))
        alarm.add("trigger", datetime.timedelta(days=-days))
        event.add_component(alarm)
    return event


def _file(report: MatrixReport, name: str, text: str) -> SiteFile:
    return SiteFile(path=calendar_path(report.name, name), content=text.encode())
