"""The schedule of coming moves, and its iCalendar."""

import datetime

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from icalendar import Calendar
from packaging.version import Version
from support.examples import examples
from support.floors import (
    DAY,
    FLOORS,
    bad,
    catalogue,
    cell,
    declared,
    green,
    hold,
    policy,
    seen,
    window,
)

from compat.declare.load import Declared
from compat.declare.matrix import Policy, Selector
from compat.policy.calendar import Schedule, schedule
from compat.policy.evaluation import version_releases
from compat.site.exports import ical

DATE = datetime.date


def made(ask: Declared | None = None, day: datetime.date = DAY, **more: int) -> Schedule:
    return schedule(seen([], ask, max(day, DAY)), day, **more)


def moves(found: Schedule) -> list[tuple[str, str, str]]:
    return [(move.id, str(move.on), move.state) for move in found.moves]


def test_what_is_due_comes_first_then_what_is_announced_and_planned() -> None:
    assert moves(made()) == [
        ("python-3.11", "2025-01-01", "due"),
        ("python-3.12", "2026-01-01", "due"),
        ("dep-1.4", "2026-04-01", "due"),
        ("python-3.13", "2027-01-01", "planned"),
        ("python-3.14", "2028-01-01", "planned"),
        ("python-3.15", "2028-10-01", "planned"),
    ]


def test_a_move_is_announced_so_many_days_before() -> None:
    (move,) = [move for move in made(day=DATE(2026, 12, 10)).moves if move.id == "python-3.13"]
    assert (move.state, str(move.announced), move.wording) == (
        "announced",
        "2026-12-02",
        "first release after 2027-01-01",
    )


def test_each_move_says_its_rule_its_source_and_what_is_known() -> None:
    move = made().moves[-1]
    assert "for 24 months" in move.rule
    assert move.source == "PEP 790, planned"
    assert "Python 3.15:" in move.proof
    assert not move.proven


def test_a_hold_puts_a_move_off_to_the_first_day_after_it() -> None:
    ask = declared({"dep": "1.2"}, policy(holds=(hold("dep", "1.3", DATE(2027, 1, 1)),)))
    due, held = made(ask).moves
    assert (due.id, due.state, due.held) == ("dep-1.3", "due", None)
    assert held.held is not None
    assert (held.id, str(held.on), held.held[:14]) == ("dep-1.4", "2027-04-01", "a hold at 1.3 ")


def test_a_bad_version_is_left_out() -> None:
    ask = declared({"dep": "1.2"}, policy(known_bad=(bad("dep", "1.4"),)))
    assert [move.id for move in made(ask).moves] == ["dep-1.3"]


def test_minimum_versions_are_told_by_the_rules_and_as_far_as_they_are_proven() -> None:
    proven = green(cell("3.9", "1.4"), cell("3.11", "1.4"))
    first = schedule(seen(proven), DAY).minimums[0]
    assert first.floors == {"python": Version("3.12"), "dep": Version("1.4")}
    assert first.proven == {"python": Version("3.9"), "dep": Version("1.4")}


def test_a_bar_goes_from_the_release_to_the_end_of_the_window() -> None:
    bars = {(bar.axis, str(bar.version)): bar for bar in made().bars}
    assert (str(bars["dep", "1.3"].released), str(bars["dep", "1.3"].until)) == (
        "2023-02-10",
        "2026-04-01",
    )
    assert bars["dep", "1.4"].until is None
    assert str(bars["python", "3.9"].end_of_life) == "2025-10-31"
    assert [key for key, bar in bars.items() if bar.is_floor] == [("python", "3.9"), ("dep", "1.2")]


def test_without_a_policy_nothing_moves() -> None:
    assert made(Declared(matrix=declared().matrix)).moves == ()


def test_an_end_of_life_window_follows_upstream() -> None:
    ask = declared(FLOORS, policy(windows=(window("python", end_of_life=True),), cadence="monthly"))
    python = [move for move in made(ask).moves if move.axis == "python"]
    assert [(str(move.to), str(move.on)) for move in python] == [
        ("3.10", "2025-11-01"),
        ("3.11", "2026-11-01"),
        ("3.12", "2027-11-01"),
        ("3.13", "2028-11-01"),
    ]


def test_spec_0_drops_what_is_two_years_old_and_python_after_three() -> None:
    rules = msgspec.convert({"policy": "spec-0"}, Policy)
    found = made(declared(FLOORS, rules))
    assert moves(found)[:4] == [
        ("python-3.11", "2025-01-01", "due"),
        ("dep-1.4", "2025-04-01", "due"),
        ("python-3.12", "2026-01-01", "due"),
        ("python-3.13", "2027-01-01", "planned"),
    ]
    assert [move.rule.split()[-2] for move in found.moves[:2]] == ["36", "24"]
    # Of a series of several minor versions the newest one has to be so old.
    axis = next(axis for axis in declared().matrix.packages if axis.name == "dep")
    majors = msgspec.structs.replace(axis, select=Selector(keep="major"))
    (known,) = version_releases(majors, catalogue())
    assert (str(known.version), str(known.newest_minor)) == ("1", "2024-02-10")


class TestTheCalendarFile:
    def test_is_read_back_with_every_move_and_three_reminders(self) -> None:
        found = made()
        calendar = Calendar.from_ical(ical(found))
        events = calendar.walk("VEVENT")
        assert [(str(event["uid"]), event["dtstart"].dt) for event in events] == [
            (f"demo-{move.id}@compat", move.on) for move in found.moves
        ]
        triggers = [alarm["trigger"].dt.days for alarm in events[0].walk("VALARM")]
        assert triggers == [-90, -30, -7]

    def test_is_the_same_for_the_same_facts_and_keeps_its_uids_when_dates_move(self) -> None:
        assert ical(made()) == ical(made())
        later = declared(FLOORS, policy(default_months=30))
        uids = [
            {str(event["uid"]) for event in Calendar.from_ical(ical(one)).walk("VEVENT")}
            for one in (made(), made(later))
        ]
        assert "demo-python-3.13@compat" in uids[0] & uids[1]

    def test_has_lines_of_at_most_75_bytes_that_end_as_the_standard_says(self) -> None:
        lines = ical(made()).split("\r\n")
        assert lines[-1] == ""
        assert all(len(line.encode()) <= 75 and "\n" not in line for line in lines)


@given(
    st.integers(1, 60),
    st.sampled_from(["monthly", "quarterly", "half-yearly", "yearly"]),
    st.dates(DATE(2022, 6, 1), DATE(2032, 1, 1)),
)
@examples(60)
def test_moves_are_dated_in_order_and_rise(months: int, cadence: str, day: datetime.date) -> None:
    found = made(declared(FLOORS, policy(default_months=months, cadence=cadence)), day)
    assert [move.on for move in found.moves] == sorted(move.on for move in found.moves)
    for axis in ("python", "dep"):
        own = [move.to for move in found.moves if move.axis == axis]
        assert own == sorted(set(own))
        at = [dict(minimum.floors).get(axis) for minimum in found.minimums]
        assert at == sorted(version for version in at if version is not None)
    assert all(move.on.day == 1 and move.allowed <= move.on for move in found.moves)
