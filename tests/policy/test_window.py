"""From which day on a floor may rise to which version: by months, by so many minors, until
upstream's end of life.
"""

import datetime
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version
from support.floors import catalogue, declared, hold, policy, window

from compat.declare.matrix import Policy
from compat.policy.evaluation import (
    CADENCES,
    PYTHONS,
    STEPS,
    VersionRelease,
    allowed_on,
    hold_on,
    move_day,
    slots,
    until,
    version_releases,
)

DATE = datetime.date


def date(text: str) -> datetime.date:
    return datetime.date.fromisoformat(text)


def came(**released: str) -> list[VersionRelease]:
    return [
        VersionRelease(version=Version(v[1:].replace("_", ".")), released=date(d), source="x")
        for v, d in released.items()
    ]


def on(found: Iterable[VersionRelease]) -> list[tuple[str, str]]:
    return [(str(slot.version), str(slot.on)) for slot in found]


def slot_of(rules: Policy, axis: str, version: str, **rule: Any) -> VersionRelease:
    axes = {one.name: one for one in declared().matrix.axes}
    found = slots(version_releases(axes[axis], catalogue()), window(axis, **rule), rules)
    return next(slot for slot in found if slot.version == Version(version))


@pytest.mark.parametrize(
    ("cadence", "day", "first"),
    [
        ("monthly", "2026-02-02", "2026-03-01"),
        ("monthly", "2026-02-01", "2026-02-01"),
        ("quarterly", "2026-02-02", "2026-04-01"),
        ("quarterly", "2026-12-31", "2027-01-01"),
        ("half-yearly", "2026-07-01", "2026-07-01"),
        ("half-yearly", "2026-07-02", "2027-01-01"),
        ("yearly", "2026-01-02", "2027-01-01"),
    ],
)
def test_floors_rise_on_the_first_day_of_the_cadence(cadence: str, day: str, first: str) -> None:
    assert move_day(date(day), policy(cadence=cadence)) == date(first)


def test_every_cadence_has_its_step_and_its_word() -> None:
    assert set(STEPS) == set(CADENCES) == set(get_args(Policy.__annotations__["cadence"]))


def test_the_safe_rule_lets_a_floor_rise_only_to_what_is_old_enough_itself() -> None:
    # On 2022-09-22 Python 3.8 was 35 months old: it is the oldest inside a window of 36, and not
    # what the rule allows.
    day, rules = date("2022-09-22"), policy(cadence="monthly")
    known = [
        VersionRelease(version=one.version, released=one.released, source=one.source)
        for one in PYTHONS
    ]
    reached = allowed_on(day, slots(known, window("python", months=36), rules))
    assert reached is not None
    assert str(reached.version) == "3.7"


def test_months_are_counted_as_people_do() -> None:
    (slot,) = slots(came(v1="2024-01-31"), window("dep", months=1), policy(cadence="monthly"))
    assert (slot.allowed, slot.on) == (date("2024-02-29"), date("2024-03-01"))


def test_with_minors_a_version_goes_when_enough_newer_ones_are_out() -> None:
    made = came(v1_0="2020-01-10", v1_1="2021-01-10", v1_2="2022-01-10", v1_3="2023-01-10")
    found = slots(made, window("dep", minors=2), policy())
    assert on(found) == [
        ("1.0", "2021-04-01"),
        ("1.1", "2022-04-01"),
        ("1.2", "2023-04-01"),
        ("1.3", "None"),
    ]


def test_until_the_end_of_life_a_floor_rises_the_day_after_upstream_lets_go() -> None:
    rules = policy(cadence="monthly")
    assert slot_of(rules, "python", "3.10", end_of_life=True).allowed == date("2025-11-01")
    assert slot_of(rules, "python", "3.11", end_of_life=True).on == date("2026-11-01")


def test_a_bad_version_is_passed_over() -> None:
    found = slots(came(v1="2020-01-01", v2="2021-01-01"), window("dep", months=1), policy())
    reached = allowed_on(date("2026-01-01"), found, [Version("2")])
    assert reached is not None
    assert reached.version == Version("1")


def test_the_strictest_hold_in_force_counts_and_ends_after_its_last_day() -> None:
    rules = policy(
        holds=(hold("dep", "1.3"), hold("dep", "1.2", date("2026-06-30")), hold("python", "3.9"))
    )
    before, after = (
        hold_on(rules, "dep", date("2026-06-30")),
        hold_on(rules, "dep", date("2026-07-01")),
    )
    assert (str(before.at), str(after.at)) == ("1.2", "1.3") if before and after else False


def test_a_catalogue_of_an_earlier_day_has_only_what_was_there() -> None:
    cut = until(catalogue(), date("2022-02-10"))
    assert [str(one.version) for one in cut.package("dep").releases] == ["1.0.0", "1.1.0", "1.2.0"]
    assert cut.package("demo").releases == ()


class TestPythonsDates:
    def test_are_in_order_and_each_has_its_pep(self) -> None:
        for one, after in pairwise(PYTHONS):
            assert one.version < after.version
            assert one.released < after.released
            assert one.ends < after.ends
            assert one.source < after.source

    def test_leave_each_series_about_five_years(self) -> None:
        assert all(1815 <= (one.ends - one.released).days <= 1860 for one in PYTHONS)

    def test_call_a_plan_a_plan(self) -> None:
        assert [str(one.version) for one in PYTHONS if one.planned] == ["3.15", "3.16"]
        assert PYTHONS[-1].source == "PEP 826, planned"


days = st.dates(min_value=DATE(2015, 1, 1), max_value=DATE(2035, 1, 1))
cadences = st.sampled_from(sorted(STEPS))


@given(st.lists(days, min_size=1, max_size=8), st.integers(1, 60), cadences, days)
def test_what_the_calendar_allows_is_old_enough(
    out: list[datetime.date], months: int, cadence: str, day: datetime.date
) -> None:
    known = [
        VersionRelease(version=Version(str(i)), released=one, source="x")
        for i, one in enumerate(out)
    ]
    reached = allowed_on(day, slots(known, window("dep", months=months), policy(cadence=cadence)))
    if reached is not None:
        out_on = reached.released
        assert (day.year - out_on.year) * 12 + day.month - out_on.month >= months
        assert reached.on is not None
        assert reached.on <= day
        assert reached.on.day == 1


@given(st.lists(days, min_size=1, max_size=8, unique=True), st.integers(1, 4), days, days)
def test_the_calendar_never_goes_back(
    out: list[datetime.date], minors: int, one: DATE, other: DATE
) -> None:
    known = [
        VersionRelease(version=Version(str(i)), released=day, source="x")
        for i, day in enumerate(sorted(out))
    ]
    for rule in ({"minors": minors}, {"months": minors}):
        made = slots(known, window("dep", **rule), policy())
        earlier, later = allowed_on(min(one, other), made), allowed_on(max(one, other), made)
        if earlier is not None:
            assert later is not None
            assert later.version >= earlier.version
