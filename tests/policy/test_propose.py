"""Which moves are proposed, which are objected to, and what no evidence can ever do."""

import datetime
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version
from support.examples import examples
from support.floors import (
    DAY,
    DEP,
    DEPS,
    FLOORS,
    LOCK,
    OTHER_LOCK,
    OTHER_SUITE,
    PYTHONS,
    SUITE,
    bad,
    cell,
    declared,
    green,
    hold,
    lacking,
    policy,
    ran,
    red,
    release,
    seen,
    window,
)

from compat.declare.load import Declared
from compat.declare.matrix import FaultOf, KnownIssue
from compat.index.release import Catalogue, Package
from compat.policy.calendar import schedule
from compat.policy.evaluation import Proposal, cell_evidence, evaluation_on
from compat.policy.propose import floors, proposals
from compat.results.answer import Answer
from compat.results.record import Capability, Record
from compat.results.snapshot import Snapshot
from compat.value import encode

# dep 1.3 came out on 2023-02-10, so at the end of two years and with the next quarter it may be the
# floor: 2025-04-01. dep 1.4 follows on 2026-04-01. Python 3.11 came out on 2022-10-24: from
# 2025-01-01.
AT_13 = (cell("3.9", "1.3"), cell("3.11", "1.3"))
AT_14 = (cell("3.9", "1.4"), cell("3.11", "1.4"))
AT_12 = (cell("3.9", "1.2"), cell("3.11", "1.2"))
AT_11 = (cell("3.9", "1.1", "relaxed"), cell("3.11", "1.1", "relaxed"))


def on_dep(
    runs: list[Record], ask: Declared | None = None, day: datetime.date = DAY
) -> dict[str, Proposal]:
    return {
        one.id: one for one in proposals(seen(runs, ask, max(day, DAY)), day) if one.axis == "dep"
    }


def opened(found: dict[str, Proposal]) -> list[str]:
    return [name for name, one in found.items() if one.is_open]


def against(one: Proposal) -> list[str]:
    return [objection.against for objection in one.objections]


def with_floor(dep: str, **rules: Any) -> Declared:
    return declared({**FLOORS, "dep": dep}, policy(**rules))


def partly(name: str) -> list[Record]:
    """Runs on two days of the cells at dep 1.4, in which one capability fails."""
    return [
        ran(one, f"test-fail:assertion({name})", ago, **lacking(name))
        for one in AT_14
        for ago in (1, 2)
    ]


class TestARaise:
    def test_is_open_when_the_calendar_allows_it_and_both_ends_of_the_other_axis_are_proven(
        self,
    ) -> None:
        found = on_dep(green(*AT_14))
        assert opened(found) == ["raise-dep-1.2-to-1.4"]
        assert [one.cell for one in found["raise-dep-1.2-to-1.4"].evidence] == list(AT_14)

    def test_says_who_loses_what(self) -> None:
        one = on_dep(green(*AT_14))["raise-dep-1.2-to-1.4"]
        assert [(gone.package, list(map(str, gone.versions))) for gone in one.lost] == [
            ("dep", ["1.2", "1.3"])
        ]
        assert one.gained == ()

    def test_waits_for_the_second_witness(self) -> None:
        one = on_dep(green(AT_14[0]) + green(AT_14[1], days=[3]))["raise-dep-1.2-to-1.4"]
        (objection,) = one.objections
        assert objection.against == "witnesses"
        assert (
            objection.because == f"{AT_14[1]} has supporting runs on 1 of 2 days (2026-06-12); "
            "a run from 2026-06-13 on is the next that counts"
        )
        assert one.needs == (AT_14[1],)

    def test_two_runs_on_one_day_are_one_witness(self) -> None:
        runs = green(*AT_14, days=[1]) + [ran(one, days_ago=1, seconds=2) for one in AT_14]
        assert opened(on_dep(runs)) == []

    def test_stops_short_at_the_newest_proven_version(self) -> None:
        found = on_dep(green(*AT_13) + red(*AT_14, *(f"{one}+relaxed" for one in AT_14)))
        assert opened(found) == ["raise-dep-1.2-to-1.3"]
        assert against(found["raise-dep-1.2-to-1.4"]) == ["red", "red"]

    def test_is_not_open_when_one_end_is_missing(self) -> None:
        one = on_dep(green(AT_14[0]))["raise-dep-1.2-to-1.4"]
        assert [objection.because for objection in one.objections] == [
            f"no run of {AT_14[1]} counts yet"
        ]

    def test_waits_when_the_suite_has_changed(self) -> None:
        runs = [ran(one, days_ago=ago, suite_digest=OTHER_SUITE) for one in AT_14 for ago in (1, 2)]
        assert against(on_dep(runs)["raise-dep-1.2-to-1.4"]) == ["stale", "stale"]

    def test_waits_when_a_cell_comes_and_goes(self) -> None:
        runs = [*green(*AT_14), ran(AT_14[0], "test-fail:assertion(sum)", 3)]
        assert against(on_dep(runs)["raise-dep-1.2-to-1.4"]) == ["flaky"]

    @pytest.mark.parametrize("name", ["printing", "adding up"])
    def test_takes_no_failure_of_the_combination_though_it_is_declared_why(self, name: str) -> None:
        one = on_dep(partly(name))["raise-dep-1.2-to-1.4"]
        assert not one.is_open
        assert f"these fail: {name}" in one.objections[0].because

    def test_takes_what_fails_in_every_combination_of_the_release(self) -> None:
        ask = declared()
        known = tuple(msgspec.structs.replace(k, fault="release") for k in ask.matrix.known)
        matrix = msgspec.structs.replace(ask.matrix, known=known)
        found = on_dep(partly("printing"), msgspec.structs.replace(ask, matrix=matrix))
        assert opened(found) == ["raise-dep-1.2-to-1.4"]
        assert opened(on_dep(partly("adding up"), ask)) == []

    def test_tells_what_works_at_the_floor_and_fails_at_the_next(self) -> None:
        at_floor = [one.replace("dep1.4", "dep1.2") for one in AT_14]
        works = {
            "capabilities": (
                Capability(id="printing", status="yes"),
                Capability(id="adding", status="yes"),
            )
        }
        before = [ran(one, days_ago=ago, **works) for one in at_floor for ago in (1, 2)]
        after = [
            ran(one, "test-fail:assertion(x)", ago, **lacking("printing"))
            for one in AT_14
            for ago in (1, 2)
        ]
        assert on_dep(before + after)["raise-dep-1.2-to-1.4"].grounds[1:] == tuple(
            f"in {one} these fail, which work in {one.replace('dep1.4', 'dep1.2')}: printing"
            for one in AT_14
        )
        assert len(on_dep(after)["raise-dep-1.2-to-1.4"].grounds) == 1

    def test_counts_a_relaxed_cell_where_the_published_one_fails(self) -> None:
        relaxed = [f"{one}+relaxed" for one in AT_14]
        assert opened(on_dep(green(*relaxed) + red(*AT_14))) == ["raise-dep-1.2-to-1.4"]

    def test_ends_in_an_objection_where_the_newest_release_does_not_admit_the_version(self) -> None:
        ask = declared({"python": "3.8", "dep": "1.0"}, policy(default_months=1))
        day = datetime.date(2023, 9, 1)
        found = proposals(seen([], ask), day)
        one = next(one for one in found if one.id == "raise-dep-1.0-to-1.3")
        assert "py3.8-dep1.3-demo1.0+dated: demo 1.0 requires" in one.objections[-1].because
        assert one.needs == ()

    def test_is_announced_before_its_day_and_not_open(self) -> None:
        day = datetime.date(2026, 3, 10)
        ask = with_floor("1.3")
        one = {p.id: p for p in proposals(seen(green(*AT_14, days=[100, 101]), ask, day), day)}[
            "raise-dep-1.3-to-1.4"
        ]
        assert against(one)[0] == "calendar"
        assert one.earliest == datetime.date(2026, 4, 1)

    def test_is_stopped_by_a_hold(self) -> None:
        found = on_dep(green(*AT_13, *AT_14), with_floor("1.2", holds=(hold("dep", "1.3"),)))
        assert opened(found) == ["raise-dep-1.2-to-1.3"]
        assert against(found["raise-dep-1.2-to-1.4"]) == ["hold"]

    def test_that_waits_names_the_nearest_that_is_possible(self) -> None:
        held = on_dep(green(*AT_13, *AT_14), with_floor("1.2", holds=(hold("dep", "1.3"),)))
        unproven = on_dep(green(*AT_13), with_floor("1.2"))
        for found in (held, unproven):
            assert opened(found) == ["raise-dep-1.2-to-1.3"]
            assert found["raise-dep-1.2-to-1.4"].arithmetic[-1].endswith(" rise to 1.3.")
            assert "Now it can" not in found["raise-dep-1.2-to-1.3"].arithmetic[-1]

    def test_past_a_hold_goes_where_the_schedule_goes_once_the_hold_is_over(self) -> None:
        slow = with_floor("1.0", default_months=36, holds=(hold("dep", "1.1"),))
        picture = seen([], slow)
        (held,) = [p for p in proposals(picture, DAY) if against(p)[:1] == ["hold"]]
        (move,) = [m for m in schedule(picture, DAY).moves if m.held]
        assert (held.proposed, held.earliest) == (move.to, move.on)
        assert (held.id, str(held.earliest)) == ("raise-dep-1.0-to-1.4", "2027-04-01")

    def test_below_a_hold_is_not_told_as_held_at_a_lower_floor(self) -> None:
        found = on_dep([], with_floor("1.2", holds=(hold("dep", "1.1"),)))
        because = found["raise-dep-1.2-to-1.4"].objections[0].because
        assert because.startswith("a hold at 1.2 ")

    def test_passes_over_a_version_that_is_known_to_be_bad(self) -> None:
        found = on_dep(green(*AT_13, *AT_14), with_floor("1.2", known_bad=(bad("dep", "1.4"),)))
        assert opened(found) == ["raise-dep-1.2-to-1.3"]

    @pytest.mark.parametrize(
        ("uploaded", "is_open"), [("2024-03-01", True), ("2024-05-01", False), (None, True)]
    )
    def test_writes_the_lowest_release_of_a_series_that_ran(
        self, uploaded: str | None, is_open: bool
    ) -> None:
        known = seen(green(*AT_14))
        if uploaded is not None:
            patches = (release("dep", "1.4.2", uploaded), release("dep", "1.4.3", uploaded))
            packages = {package.name: package for package in known.catalogue.packages}
            packages["dep"] = Package("dep", (*packages["dep"].releases, *patches))
            known.catalogue = Catalogue(tuple(packages.values()))
            ran = {AT_14[0]: "1.4.2", AT_14[1]: "1.4.3"}

            def pinned(known: Answer) -> Answer:
                pin = ran.get(known.id, "")
                locked = tuple(pin if c.axis == "dep" else "" for c in known.cell.coordinates)
                return msgspec.structs.replace(known, locked=locked)

            known = known.mapped(pinned)
        (one,) = [one for one in proposals(known, DAY) if one.id == "raise-dep-1.2-to-1.4"]
        assert one.lowest_run == (None if uploaded is None else Version("1.4.2"))
        # 24 months after 1 May 2024 the next quarter begins in July, as this one has to be.
        assert (one.is_open, against(one)) == (is_open, [] if is_open else ["calendar"])

    def test_is_of_the_interpreter_too(self) -> None:
        runs = green(cell("3.11", "1.2"), cell("3.11", "1.4"))
        assert [one.id for one in proposals(seen(runs), DAY) if one.is_open] == [
            "raise-python-3.9-to-3.11"
        ]


class TestALowering:
    def test_goes_down_to_where_the_proof_ends(self) -> None:
        found = on_dep(green(*AT_12, *AT_11), with_floor("1.2", holds=(hold("dep", "1.0"),)))
        assert opened(found) == ["lower-dep-1.2-to-1.1"]
        assert [str(v) for v in found["lower-dep-1.2-to-1.1"].gained[0].versions] == ["1.1"]

    def test_is_not_offered_where_the_calendar_would_raise_it_again(self) -> None:
        assert not [name for name in on_dep(green(*AT_12, *AT_11)) if name.startswith("lower")]
        # Not either right after the floor was raised.
        found = on_dep(green(*AT_14, *AT_13, *AT_12), with_floor("1.4"))
        assert not found

    def test_needs_the_floor_itself_to_work(self) -> None:
        found = on_dep(green(*AT_11), with_floor("1.2", holds=(hold("dep", "1.0"),)))
        assert set(against(found["lower-dep-1.2-to-1.1"])) == {"missing"}

    def test_stops_at_a_gap(self) -> None:
        at_10 = (cell("3.9", "1.0", "relaxed"), cell("3.11", "1.0", "relaxed"))
        found = on_dep(
            green(*AT_12, *at_10) + red(*AT_11), with_floor("1.2", holds=(hold("dep", "1.0"),))
        )
        assert opened(found) == []
        assert against(found["lower-dep-1.2-to-1.1"]) == ["red", "red"]

    def test_comes_alone_because_two_would_promise_what_no_cell_has_shown(self) -> None:
        at_38 = [cell("3.8", dep, "relaxed") for dep in ("1.2", "1.4")]
        at_39 = [cell("3.9", dep) for dep in ("1.2", "1.4")]
        ask = with_floor("1.2", default_months=120)
        found = proposals(seen(green(*at_38, *at_39, *AT_12, *AT_11), ask), DAY)
        assert [one.id for one in found if one.is_open] == ["lower-python-3.9-to-3.8"]
        (other,) = [one for one in found if one.axis == "dep"]
        assert against(other) == ["one-at-a-time"]

    def test_within_the_window_needs_no_hold(self) -> None:
        found = on_dep(green(*AT_12, *AT_11), with_floor("1.2", default_months=60))
        assert opened(found) == ["lower-dep-1.2-to-1.1"]


class TestAnEarlyMove:
    def test_leaves_a_floor_that_is_broken_and_stays_so(self) -> None:
        ask = with_floor("1.2", default_months=120)
        found = on_dep(red(*AT_12) + red(*(f"{one}+relaxed" for one in AT_12)) + green(*AT_13), ask)
        assert opened(found) == ["early-dep-1.2-to-1.3"]

    def test_waits_until_it_was_broken_on_enough_days(self) -> None:
        ask = with_floor("1.2", default_months=120)
        broken = red(*AT_12, *(f"{one}+relaxed" for one in AT_12), days=[1])
        found = on_dep(broken + green(*AT_13), ask)
        assert against(found["early-dep-1.2-to-1.3"]) == ["witnesses"]

    def test_goes_no_further_than_it_must(self) -> None:
        at_10 = (cell("3.9", "1.0", "relaxed"), cell("3.11", "1.0", "relaxed"))
        found = on_dep(red(*at_10) + green(*AT_11, *AT_12), with_floor("1.0", default_months=120))
        assert opened(found) == ["early-dep-1.0-to-1.1"]

    def test_is_not_made_for_a_floor_that_only_lost_its_packages(self) -> None:
        ask = with_floor("1.2", default_months=120)
        found = on_dep(red(*AT_12) + green(*(f"{one}+relaxed" for one in AT_12), *AT_13), ask)
        assert not any(name.startswith("early") for name in found)


class TestLookingBack:
    DAY = datetime.date(2023, 1, 10)

    def test_takes_the_floors_from_the_newest_release_of_that_day(self) -> None:
        at = {floor.axis: str(floor.at) for floor in floors(seen([]), self.DAY)}
        assert at == {"python": "3.8", "dep": "1.0"}

    def test_knows_nothing_of_later_versions(self) -> None:
        for one in proposals(seen([]), self.DAY):
            assert one.release == "demo 1.0"
            assert not any("demo2.0" in need or "dep1.3" in need for need in one.needs)

    def test_counts_runs_that_were_made_later_and_says_so(self) -> None:
        runs = green(cell("3.8", "1.1", "dated", "1.0"), cell("3.11", "1.1", "dated", "1.0"))
        day = datetime.date(2023, 4, 2)
        (one,) = [p for p in proposals(seen(runs), day) if p.axis == "dep" and p.is_open]
        assert one.id == "raise-dep-1.0-to-1.1"
        assert "2023-04-02" in one.arithmetic[0]

    def test_leaves_out_what_a_plain_install_gives_now(self) -> None:
        runs = green(cell("3.8", "1.1", "", "1.0"), cell("3.11", "1.1", "", "1.0"))
        assert not [p for p in proposals(seen(runs), datetime.date(2023, 4, 2)) if p.is_open]


@pytest.mark.parametrize(
    ("since", "fault", "words"),
    [
        (datetime.date(2023, 4, 2), "combination", "it is known: a matter of taste"),
        (datetime.date(2023, 4, 3), "combination", ""),
        (None, "combination", "it is known (as of 2026-06-15): a matter of taste"),
        (datetime.date(2023, 4, 2), "index", "it is known (as of 2026-06-15): a matter of taste"),
    ],
)
def test_a_look_back_tells_what_was_known_on_the_day(
    since: datetime.date | None, fault: FaultOf, words: str
) -> None:
    day = datetime.date(2023, 4, 2)
    issue = KnownIssue(
        because="a matter of taste", capability="adding up", fault=fault, since=since
    )
    ask = declared()
    ask = msgspec.structs.replace(ask, matrix=msgspec.structs.replace(ask.matrix, known=(issue,)))
    name = cell("3.8", "1.1", "dated", "1.0")
    runs = [
        ran(name, "test-fail:assertion(adding up)", ago, **lacking("adding up")) for ago in (1, 2)
    ]
    evaluation = evaluation_on(seen(runs, ask), day)
    assert evaluation is not None
    told = cell_evidence(evaluation.snapshot.by_id[name], evaluation).because
    assert told.endswith(words) if words else "known" not in told
    today = evaluation_on(seen(runs, ask), DAY)
    assert today is not None
    assert "it is known: " in cell_evidence(today.snapshot.by_id[name], today).because


def test_a_matrix_without_a_policy_proposes_nothing() -> None:
    ask = Declared(matrix=declared().matrix)
    assert proposals(seen([], ask), DAY) == ()


def test_the_digest_stays_when_a_green_cell_runs_again_and_changes_with_a_verdict() -> None:
    before = on_dep(green(*AT_14))["raise-dep-1.2-to-1.4"]
    again = on_dep(green(*AT_14, days=[0, 1, 2]))["raise-dep-1.2-to-1.4"]
    broken = on_dep(green(AT_14[0]) + red(AT_14[1]))["raise-dep-1.2-to-1.4"]
    assert before.digest == again.digest != broken.digest


# Laws. Worlds of few cells, outcomes and days, so that they meet.

CELLS = [cell(p, d, r) for p in PYTHONS for d in DEPS for r in ("", "dated", "relaxed")]
TOLD = (
    "pass",
    "pass",
    "pass",
    "import-fail:missing-module(x)",
    "install-fail:network",
    "test-fail:wall-time",
)


@st.composite
def runs(draw: st.DrawFn, told: tuple[str, ...] = TOLD) -> list[Record]:
    found = []
    for name in draw(st.lists(st.sampled_from(CELLS), unique=True, max_size=40)):
        outcome = draw(st.sampled_from(told))
        for ago in draw(st.sets(st.sampled_from([1, 2, 3, 80, 200]), min_size=1, max_size=4)):
            stray = draw(st.integers(0, 9)) == 0
            lock = draw(st.sampled_from([LOCK] * 6 + [OTHER_LOCK]))
            suite = draw(st.sampled_from([SUITE] * 6 + [OTHER_SUITE]))
            came = draw(st.sampled_from(told)) if stray else outcome
            found.append(ran(name, came, ago, lock_digest=lock, suite_digest=suite))
    return found


@st.composite
def columns(draw: st.DrawFn) -> list[Record]:
    """Whole columns of the grid, green or red: worlds in which floors do move."""
    found: list[Record] = []
    for dep in DEPS:
        for python in PYTHONS:
            kind = draw(st.sampled_from(["green", "green", "green", "red", "none"]))
            names = [cell(python, dep), cell(python, dep, "relaxed")]
            found += {"green": green(*names), "red": red(*names), "none": []}[kind]
    return found


asks = st.builds(
    lambda python, dep, months, witnesses, cadence, held, spoilt, rule: declared(
        {"python": python, "dep": dep},
        policy(
            default_months=months,
            witnesses=witnesses,
            cadence=cadence,
            holds=() if held is None else (hold("dep", held),),
            known_bad=() if spoilt is None else (bad("dep", spoilt),),
            windows=() if rule is None else (rule,),
        ),
    ),
    st.sampled_from(PYTHONS),
    st.sampled_from(DEPS),
    st.sampled_from([1, 12, 24, 36, 60, 120]),
    st.integers(1, 3),
    st.sampled_from(["monthly", "quarterly", "half-yearly", "yearly"]),
    st.none() | st.sampled_from(DEPS),
    st.none() | st.sampled_from(DEPS),
    st.none()
    | st.sampled_from(
        [window("python", end_of_life=True), window("dep", minors=2), window("dep", minors=9)]
    ),
)
worlds = st.tuples(st.one_of(runs(), columns()), asks)


def proven_at(known: Snapshot, axis: str, version: Version, witnesses: int) -> bool:
    """Whether some cell there is green, fresh, and was so on enough days: told apart from the guard
    on purpose.
    """
    for entry in known.entries:
        same = [run for run in entry.runs if (run.lock_digest, run.suite_digest) == (LOCK, SUITE)]
        days = {run.started.date() for run in same if str(run.outcomes[-1]) == "pass"}
        fresh = entry.kind == "works" and not entry.stale
        if entry.cell.on(axis).version == version and fresh and len(days) >= witnesses:
            return True
    return False


@given(worlds)
@examples(150)
def test_a_floor_never_passes_the_last_proven_cell(world: tuple[list[Record], Declared]) -> None:
    made, ask = world
    known = seen(made, ask)
    assert ask.policy is not None
    for one in proposals(known, DAY):
        if one.is_open:
            assert proven_at(known, one.axis, one.proposed, ask.policy.witnesses), one.id


@given(worlds)
@examples(150)
def test_proposing_again_after_a_move_proposes_nothing_more_of_that_axis(
    world: tuple[list[Record], Declared],
) -> None:
    made, ask = world
    at = {floor.axis: floor.at for floor in ask.matrix.floors}
    for one in proposals(seen(made, ask), DAY):
        if one.is_open:
            moved = declared({**at, one.axis: one.proposed}, ask.policy)
            again = proposals(seen(made, moved), DAY)
            assert not [other.id for other in again if other.axis == one.axis and other.is_open], (
                one.id
            )


@given(worlds, st.randoms())
@examples(60)
def test_the_same_day_gives_the_same_proposals(
    world: tuple[list[Record], Declared], chance: random.Random
) -> None:
    made, ask = world
    mixed = list(made)
    chance.shuffle(mixed)
    first, second = proposals(seen(made, ask), DAY), proposals(seen(mixed, ask), DAY)
    assert first == second
    assert [one.digest for one in first] == [one.digest for one in second]


@given(worlds)
@examples(60)
def test_infrastructure_trouble_changes_nothing(world: tuple[list[Record], Declared]) -> None:
    made, ask = world
    trouble = [ran(name, "install-fail:network", ago) for name in CELLS[::2] for ago in (1, 0)]
    with_it, without = seen(made + trouble, ask, locked=CELLS), seen(made, ask, locked=CELLS)
    assert proposals(with_it, DAY) == proposals(without, DAY)


@given(
    st.lists(st.sampled_from(CELLS), unique=True),
    asks,
    st.sampled_from(["spurious", "flaky", "old", "other suite"]),
)
@examples(80)
def test_spurious_flaky_and_stale_evidence_never_opens_a_move(
    names: list[str], ask: Declared, doubt: str
) -> None:
    made = {
        "spurious": [ran(name, "install-fail:network", ago) for name in names for ago in (1, 2, 3)],
        "flaky": green(*names, days=[1, 3, 5]) + red(*names, days=[2, 4, 6]),
        "old": green(*names, days=[100, 101, 102]) + red(*names[::2], days=[103]),
        "other suite": [
            ran(name, days_ago=ago, suite_digest=OTHER_SUITE) for name in names for ago in (1, 2, 3)
        ],
    }[doubt]
    assert not [one.id for one in proposals(seen(made, ask), DAY) if one.is_open]


@given(worlds)
@examples(100)
def test_no_raise_is_to_a_version_younger_than_its_window(
    world: tuple[list[Record], Declared],
) -> None:
    made, ask = world
    assert ask.policy is not None
    if any(rule.axis == "dep" for rule in ask.policy.windows):
        return
    for one in proposals(seen(made, ask), DAY):
        if one.kind == "raise" and one.axis == "dep" and one.is_open:
            out = datetime.date.fromisoformat(DEP[str(one.proposed)])
            months = (DAY.year - out.year) * 12 + DAY.month - out.month - (DAY.day < out.day)
            assert months >= ask.policy.default_months


@given(worlds)
@examples(100)
def test_holds_and_bad_versions_are_heeded(world: tuple[list[Record], Declared]) -> None:
    made, ask = world
    assert ask.policy is not None
    for one in proposals(seen(made, ask), DAY):
        if one.is_open and one.kind != "lower":
            assert all(
                one.proposed <= held.at for held in ask.policy.holds if held.axis == one.axis
            )
        if one.is_open:
            assert not any(
                one.proposed == b.version for b in ask.policy.known_bad if b.axis == one.axis
            )


@given(worlds)
@examples(100)
def test_raises_and_schedule_name_one_version_for_one_day(
    world: tuple[list[Record], Declared],
) -> None:
    made, ask = world
    picture = seen(made, ask)
    coming = schedule(picture, DAY)
    raises = [one for one in proposals(picture, DAY) if one.kind == "raise"]
    dated = {(move.axis, move.to): move.on for move in coming.moves}
    assert {(one.axis, one.proposed): one.earliest for one in raises}.items() <= dated.items()
    known = {(one.axis, one.proposed) for one in raises}
    soon = {(m.axis, m.to) for m in coming.moves if m.state in ("due", "announced")}
    assert soon <= known
    for axis, floor in coming.minimums[0].proven.items():
        here = [one.proposed for one in raises if one.axis == axis and one.is_open]
        assert floor == max([*here, next(f.at for f in ask.matrix.floors if f.axis == axis)])
    for bar in coming.bars:
        later = [
            move.on for move in coming.moves if (move.axis, move.before) == (bar.axis, bar.version)
        ]
        assert all(bar.until is not None and bar.until <= on for on in later)


@pytest.mark.parametrize("days", [0, 40, 400, 2000])
def test_ids_are_unique_on_any_day(days: int) -> None:
    day = DAY + datetime.timedelta(days)
    found = [one.id for one in proposals(seen(green(*AT_12, *AT_14), day=day), day)]
    assert len(set(found)) == len(found)


def test_a_proposal_is_written_as_json_with_what_follows_from_it() -> None:
    (proposal, *_) = proposals(seen(green(cell("3.9", "1.3"))), DAY)
    document = msgspec.json.decode(encode(proposal))
    assert document["id"] == proposal.id
    assert document["open"] is proposal.is_open
    assert document["because"] == proposal.because
    assert len(document["digest"]) == 64
    assert document["proposed"] == str(proposal.proposed)


def test_a_changed_proposal_has_an_id_and_a_digest_of_its_own() -> None:
    (proposal, *_) = proposals(seen(green(cell("3.9", "1.3"))), DAY)
    changed = msgspec.structs.replace(proposal, proposed=Version("9.9"), objections=())
    assert changed.id.endswith("-to-9.9")
    assert changed.is_open
    assert changed.digest != proposal.digest
