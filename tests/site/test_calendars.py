"""Calendars: every coming day once, under a UID that stays, as a calendar program reads it."""

import datetime

from icalendar import Calendar
from support.editions import EARLY, MOVING, POLICY, edition, files
from support.known import Shelf

from compat.site.exports.ical import calendars


def calendar(
    name: str, shelf: Shelf | None = None, day: datetime.date = EARLY
) -> list[dict[str, str]]:
    made = files(edition(shelf or Shelf(policy=POLICY), day, MOVING), calendars)[
        f"cal/demo/{name}.ics"
    ]
    return [
        {key: event[key].to_ical().decode() for key in ("UID", "DTSTART", "SUMMARY", "DESCRIPTION")}
        for event in Calendar.from_ical(made.decode()).walk("VEVENT")
    ]


def test_each_axis_has_its_own_and_all_are_in_one() -> None:
    found = {name: {event["UID"] for event in calendar(name)} for name in ("all", "python", "dep")}
    assert found["python"]
    assert found["dep"]
    assert found["all"] == found["python"] | found["dep"]
    assert found["python"].isdisjoint(found["dep"])


def test_the_minimums_of_a_day_stand_together() -> None:
    events = calendar("minimums")
    assert [event["DTSTART"] for event in events] == sorted(
        {event["DTSTART"] for event in calendar("all")}
    )
    assert events[-1]["SUMMARY"].startswith("Demo: the minimum may be Python 3.")


def test_a_move_keeps_its_uid_when_days_go_by() -> None:
    first, later = (calendar("all", day=EARLY + datetime.timedelta(days=days)) for days in (0, 40))
    assert {event["UID"] for event in first} == {event["UID"] for event in later}


def test_reminders_come_before() -> None:
    made = files(edition(Shelf(policy=POLICY), EARLY, MOVING), calendars)[
        "cal/demo/minimums.ics"
    ].decode()
    for event in Calendar.from_ical(made).walk("VEVENT"):
        triggers = [alarm["TRIGGER"].to_ical().decode() for alarm in event.walk("VALARM")]
        assert triggers == ["-P90D", "-P30D", "-P7D"]


def test_without_a_policy_nothing_comes() -> None:
    assert calendar("all", Shelf()) == []
    assert calendar("minimums", Shelf()) == []
