"""Calendars: every coming day once, under a UID that stays, as a calendar program reads it."""

import datetime

from icalendar import Calendar
from support.editions import EARLY, MOVING, POLICY, edition, files
from support.known import Shelf

from compat.site.exports import calendars


def calendar(shelf: Shelf | None = None, day: datetime.date = EARLY) -> list[dict[str, str]]:
    made = files(edition(shelf or Shelf(policy=POLICY), day, MOVING), calendars)["cal/demo/all.ics"]
    return [
        {key: event[key].to_ical().decode() for key in ("UID", "DTSTART", "SUMMARY", "DESCRIPTION")}
        for event in Calendar.from_ical(made.decode()).walk("VEVENT")
    ]


def test_the_moves_of_all_axes_are_in_one() -> None:
    packages = {event["SUMMARY"].split()[1] for event in calendar()}
    assert packages == {"Python", "dep"}


def test_a_move_keeps_its_uid_when_days_go_by() -> None:
    first, later = (calendar(day=EARLY + datetime.timedelta(days=days)) for days in (0, 40))
    assert {event["UID"] for event in first} == {event["UID"] for event in later}


def test_reminders_come_before() -> None:
    made = files(edition(Shelf(policy=POLICY), EARLY, MOVING), calendars)[
        "cal/demo/all.ics"
    ].decode()
    for event in Calendar.from_ical(made).walk("VEVENT"):
        triggers = [alarm["TRIGGER"].to_ical().decode() for alarm in event.walk("VALARM")]
        assert triggers == ["-P90D", "-P30D", "-P7D"]


def test_without_a_policy_nothing_comes() -> None:
    assert calendar(Shelf()) == []
