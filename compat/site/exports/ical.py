"""The `policy` room's calendar file: a Schedule as iCalendar (RFC 5545), for people's own
calendars.
"""

import datetime

from icalendar import Alarm, Calendar, Event

from compat.github.markdown import plain
from compat.policy.calendar import Schedule, ScheduledMove

REMINDERS = (90, 30, 7)


def ical(schedule: Schedule) -> str:
    """Return the coming moves as all-day events with reminders 90, 30 and 7 days before.

    The same schedule gives the same text. A move keeps its UID when its date changes, so calendars
    move the event.
    """
    calendar = Calendar()
    calendar.add("prodid", "-//compat//floor moves//EN")
    calendar.add("version", "2.0")
    calendar.add("x-wr-calname", f"{plain(schedule.title)}: minimum versions")
    for move in schedule.moves:
        calendar.add_component(_event(schedule, move))
    text: str = calendar.to_ical().decode()
    return text


def _event(schedule: Schedule, move: ScheduledMove) -> Event:
    event = Event()
    event.add("uid", f"{schedule.matrix}-{move.id}@compat")
    # No clock: what an event says was true from the day on which the version came out.
    event.add(
        "dtstamp", datetime.datetime.combine(move.released, datetime.time(), datetime.timezone.utc)
    )
    event.add("dtstart", move.on)
    event.add("dtend", move.on + datetime.timedelta(days=1))
    event.add("transp", "TRANSPARENT")
    event.add(
        "summary", f"{plain(schedule.title)}: {move.package} {move.to} may become the minimum"
    )
    event.add("description", "\n".join(_lines(schedule, move)))
    for days in REMINDERS:
        alarm = Alarm()
        alarm.add("action", "DISPLAY")
        alarm.add("description", f"in {days} days: {move.package} {move.to} may become the minimum")
        alarm.add("trigger", datetime.timedelta(days=-days))
        event.add_component(alarm)
    return event


def _lines(schedule: Schedule, move: ScheduledMove) -> list[str]:
    came = "comes" if move.released > schedule.day else "came"
    lines = [
        (
            f"With the {move.wording} the minimum may rise from {move.package} {move.before} to"
            f" {move.to}."
        ),
        (
            f"Rule: {move.rule}. {move.package} {move.to} {came} out on {move.released}"
            f" ({move.source})."
        ),
        f"Proof: {move.proof}.",
    ]
    return [
        plain(line, limit=1000)
        for line in (*lines, f"Hold: {move.held}" if move.held else "")
        if line
    ]
