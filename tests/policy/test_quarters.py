"""A schedule quarter by quarter."""

import datetime
import itertools

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version
from support.examples import examples
from support.floors import DAY, DEPS, FLOORS, declared, policy, seen

from compat.declare.load import Declared
from compat.policy.calendar import Quarter, Schedule, quarters, schedule

DATE = datetime.date


def made(ask: Declared | None = None, day: datetime.date = DAY) -> Schedule:
    return schedule(seen([], ask, max(day, DAY)), day)


def named(found: Schedule) -> dict[str, Quarter]:
    return {one.id: one for one in quarters(found)}


def test_there_is_one_for_each_quarter_of_three_years_the_present_one_first() -> None:
    found = quarters(made())
    assert (len(found), found[0].id, found[-1].id) == (13, "2026-q2", "2029-q2")
    assert (str(found[0].on), str(found[1].on), str(found[1].end)) == (
        "2026-06-15",
        "2026-07-01",
        "2026-09-30",
    )


def test_a_floor_has_moved_when_the_quarter_of_its_move_begins() -> None:
    found = named(made())
    assert [move.id for move in found["2027-q1"].moves] == ["python-3.13"]
    assert dict(found["2026-q4"].floors)["python"] == Version("3.12")
    assert dict(found["2027-q1"].floors)["python"] == Version("3.13")
    assert dict(found["2027-q1"].proven) == {name: Version(at) for name, at in FLOORS.items()}


def test_what_is_due_is_in_the_present_quarter() -> None:
    assert [move.id for move in named(made())["2026-q2"].moves] == [
        "python-3.11",
        "python-3.12",
        "dep-1.4",
    ]


def test_each_move_ends_what_those_before_it_left() -> None:
    first, second = made(declared({"dep": "1.2"}, policy(default_months=48))).moves
    assert [(str(one.before), str(one.to)) for one in (first, second)] == [
        ("1.2", "1.3"),
        ("1.3", "1.4"),
    ]
    assert [[str(v) for gone in one.lost for v in gone.versions] for one in (first, second)] == [
        ["1.2"],
        ["1.3"],
    ]


def test_without_a_policy_there_is_none() -> None:
    assert quarters(made(msgspec.structs.replace(declared(), policy=None))) == ()


@given(
    day=st.dates(DATE(2023, 1, 1), DATE(2028, 12, 31)),
    months=st.integers(6, 48),
    floor=st.sampled_from(DEPS),
    cadence=st.sampled_from(["monthly", "quarterly", "half-yearly", "yearly"]),
)
@examples(30)
def test_every_move_is_in_one_quarter_and_quarters_leave_no_day_out(
    day: datetime.date, months: int, floor: str, cadence: str
) -> None:
    ask = declared({"dep": floor, "python": "3.8"}, policy(default_months=months, cadence=cadence))
    found = made(ask, day)
    known = quarters(found)
    assert [move for one in known for move in one.moves] == list(found.moves)
    assert known[0].begin <= day <= known[0].end
    assert known[-1].begin <= found.until <= known[-1].end
    for one, after in itertools.pairwise(known):
        assert after.begin - one.end == datetime.timedelta(days=1)
        assert all(v <= w for (_, v), (_, w) in zip(one.floors, after.floors, strict=True))
