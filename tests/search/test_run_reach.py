"""How many cells a run is expected to answer besides its own, and which it then answers."""

import threading
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from support.known import DAY, SUITE, ran
from support.world import FRAME_MATRIX, catalogue_of, matrix_of

from compat.declare.load import Declared
from compat.fleet.choices import Explorer, LockAnswer, open_work
from compat.plan.cell import Cell
from compat.plan.plan import plan
from compat.results.infer import with_expectations
from compat.results.judge import EvaluationContext
from compat.results.snapshot import Snapshot, snapshot
from compat.search.exploration import RunReach

LAST = 9
WORLD: dict[str, Any] = {
    "matrix": FRAME_MATRIX.replace('["3.8.18", "3.9.18"]', '["3.9.18"]'),
    "packages": [
        {
            "name": name,
            "releases": [
                {"version": f"{number}.0", "files": [f"{name}-{number}.0-py3-none-any.whl"]}
                for number in range(1, 1 + count)
            ],
        }
        for name, count in (("frame", LAST), ("demo", 1))
    ],
}
WORKS, FAILS = "pass", "import-fail:missing-module(ant)"


def known(
    outcomes: Mapping[int, str], tier: Any = "full", locked: Iterable[int] = (), **more: Any
) -> Snapshot:
    """A line of nine cells, and what those came to that ran."""
    matrix, catalogue = matrix_of(WORLD), catalogue_of(WORLD)
    runs = {
        name(frame): [ran(name(frame), outcome, suite_digest=SUITE, tier=tier, **more)]
        for frame, outcome in outcomes.items()
    }
    locks = {name(frame): "d" * 64 for frame in locked}
    present = EvaluationContext(suite_digest=SUITE, day=DAY)
    declared, fates = Declared(matrix=matrix), plan(matrix, catalogue).fates
    return with_expectations(snapshot(declared, catalogue, fates, locks, runs, present))


def name(frame: int) -> str:
    return f"py3.9-fr{frame}-demo1.0"


def cells(of: Snapshot) -> dict[int, Cell]:
    return {frame: of.by_id[name(frame)].cell for frame in range(1, 1 + LAST)}


def reaches(outcomes: Mapping[int, str]) -> dict[int, float]:
    of = known(outcomes)
    reach = RunReach(of)
    return {
        frame: reach.answers(cell) for frame, cell in cells(of).items() if frame not in outcomes
    }


def best(outcomes: Mapping[int, str]) -> set[int]:
    worth = reaches(outcomes)
    return {frame for frame in worth if worth[frame] == max(worth.values())}


def test_of_a_line_without_a_run_the_ends_are_worth_most() -> None:
    assert best({}) == {1, LAST}


def test_after_the_first_run_the_far_end_is_worth_most() -> None:
    assert best({1: WORKS}) == {LAST}
    assert best({1: FAILS}) == {LAST}


def test_between_runs_that_differ_the_middle_is_worth_most() -> None:
    assert best({1: WORKS, LAST: FAILS}) == {5}


def test_where_neighbours_agree_already_a_run_answers_no_other() -> None:
    of = known({1: WORKS, LAST: WORKS})
    reach, middle = RunReach(of), cells(of)[5]
    assert reach.answers(middle) == reach.answers(middle, is_whole=False) <= 1


def test_neighbours_that_often_differed_promise_less() -> None:
    odd = known({1: WORKS, 2: FAILS, 3: WORKS})
    even = known({1: WORKS, 2: WORKS, 3: WORKS})
    assert RunReach(odd).answers(cells(odd)[LAST]) < RunReach(even).answers(cells(even)[LAST])


def test_a_run_answers_what_lies_between_it_and_a_neighbour_that_came_to_the_same() -> None:
    of = known({1: WORKS})
    frames, reach = cells(of), RunReach(of)
    followers = reach.ran(frames[6], ("works",))
    assert followers == dict.fromkeys([frames[frame] for frame in (2, 3, 4, 5)], "works")
    assert reach.answers(frames[3]) <= 1
    assert reach.ran(frames[LAST], ("broken", FAILS)) == {}
    assert reach.answers(frames[7]) > 1


def test_a_run_answers_what_fails_in_a_neighbour_too() -> None:
    of = known({1: WORKS})
    frames, reach = cells(of), RunReach(of)
    assert reach.ran(frames[3], ("partial", "mean", "sum")) == {}
    followers = reach.ran(frames[6], ("partial", "mean", "zip"))
    assert followers == dict.fromkeys([frames[4], frames[5]], "partial")
    assert reach.ran(frames[LAST], ("partial", "last")) == {}


def test_what_follows_is_what_the_snapshot_says_of_the_same_runs() -> None:
    of = known({2: FAILS})
    followers = RunReach(of).ran(cells(of)[8], ("broken", FAILS))
    later = known({2: FAILS, 8: FAILS})
    assert {cell.id for cell in followers} == {
        entry.cell.id for entry in later.entries if entry.expected == "broken"
    }


def test_a_cell_with_an_answer_of_its_own_between_them_lets_nothing_follow() -> None:
    of = known({1: WORKS})
    frames, reach = cells(of), RunReach(of)
    reach.answered([frames[4]])
    assert reach.ran(frames[6], ("works",)) == {}


def test_what_blocks_both_ends_of_a_line_is_named_between_them_and_is_no_answer() -> None:
    blocked = "collect-fail:test-runner(pluggy.HookimplMarker; at _pytest/config/__init__.py:46)"
    between = known({1: blocked, LAST: blocked}).by_id[name(5)]
    assert (between.kind, between.evidence, between.expected) == ("unknown", "none", None)
    assert between.blocked_by == "pytest"
    assert between.reasons[0].startswith("blocked by pytest: inferred: of the versions of frame")
    assert known({1: blocked, LAST: WORKS}).by_id[name(5)].blocked_by == ""
    assert known({1: blocked, 6: WORKS, LAST: blocked}).by_id[name(8)].blocked_by == ""
    assert known({1: WORKS, 5: blocked, LAST: WORKS}).by_id[name(3)].expected == "works"


def test_a_run_of_the_core_alone_is_no_neighbour() -> None:
    of = known({1: WORKS}, tier="smoke")
    frames, reach = cells(of), RunReach(of)
    assert reach.ran(frames[6], ("works",)) == {}


def test_beside_a_cell_that_came_to_no_answer_another_is_less_likely() -> None:
    of = known({})
    frames, reach = cells(of), RunReach(of)
    reach.blocked(frames[LAST])
    assert best_of(reach, frames) == {1}
    assert reach.answers(frames[8], is_whole=False) < reach.answers(frames[2], is_whole=False)


def test_a_run_that_came_to_no_answer_is_known_from_the_records() -> None:
    of = known({LAST: "install-fail:network"})
    assert best_of(RunReach(of), cells(of)) == {1}


def test_a_run_that_came_to_no_answer_lets_follow_what_lies_beside_it() -> None:
    of = known({1: WORKS, 4: "install-fail:network"})
    frames, reach = cells(of), RunReach(of)
    assert reach.answers(frames[6]) > RunReach(known({1: WORKS, 4: FAILS})).answers(frames[6])
    followers = reach.ran(frames[6], ("works",))
    assert followers == dict.fromkeys([frames[frame] for frame in (2, 3, 5)], "works")


def test_a_cell_that_came_to_no_answer_on_an_older_lock_is_tried_again() -> None:
    def blocked(lock_digest: str) -> Snapshot:
        of = known({LAST: FAILS}, locked=[LAST], lock_digest=lock_digest)
        return of.mapped(
            lambda e: replace(e, kind="unknown", evidence="none") if e.cell.id == name(LAST) else e
        )

    assert [cell.id for cell in open_work(blocked("e" * 64)).locked] == [name(LAST)]
    assert open_work(blocked("d" * 64)).locked == ()
    # A refusal is of no lock.
    refused = known({LAST: FAILS})
    refused = refused.mapped(
        lambda e: replace(e, kind="unknown", evidence="none") if e.cell.id == name(LAST) else e
    )
    assert name(LAST) not in {cell.id for cell in open_work(refused).unlocked}


def test_a_cell_that_met_a_processor_without_an_instruction_is_not_tried_again() -> None:
    lacking = "test-fail:illegal-instruction(sum; by worker_binary)"
    assert open_work(known({LAST: lacking}, locked=[LAST])).locked == ()
    other = open_work(known({LAST: "install-fail:network"}, locked=[LAST]))
    assert [cell.id for cell in other.locked] == [name(LAST)]


def best_of(reach: RunReach, frames: Mapping[int, Cell]) -> set[int]:
    worth = {frame: reach.answers(cell) for frame, cell in frames.items() if frame != LAST}
    return {frame for frame in worth if worth[frame] == max(worth.values())}


def test_beside_a_run_that_has_begun_another_is_worth_less_than_far_away() -> None:
    of = known({})
    frames, reach = cells(of), RunReach(of)
    reach.begun(frames[LAST])
    assert best_of(reach, frames) == {1}
    followers = reach.ran(frames[1], ("works",)) | reach.ran(frames[LAST], ("works",))
    assert {cell.id for cell in followers} == {name(frame) for frame in range(2, LAST)}


def test_between_runs_that_have_begun_the_middle_is_worth_most_and_less_than_a_line_alone() -> None:
    """On 24 November 2026 three cells in a row beside a running one took 13 minutes of two workers,
    and answered themselves alone.
    """
    for outcomes in ({}, {1: WORKS}):
        of = known(outcomes)
        frames, reach = cells(of), RunReach(of)
        alone = max(reach.answers(cell) for cell in frames.values())
        for frame in {1, LAST} - {*outcomes}:
            reach.begun(frames[frame])
        inner = {frame: cell for frame, cell in frames.items() if 1 < frame < LAST}
        assert best_of(reach, inner) == {5}
        assert reach.answers(frames[5]) < alone


def test_a_run_that_ended_without_a_verdict_runs_no_longer() -> None:
    of = known({}, locked=[LAST])
    steps: Any = SimpleNamespace(
        ask=lambda cell: LockAnswer("none"),
        inferred=lambda cell: None,
        run=lambda cell, tier: None,
        can_run=lambda cell: True,
        audit=lambda entry: pytest.fail("nothing is inferred here"),
    )
    explorer = Explorer(of, steps, lambda: 0.0, threading.Event(), has_core=False)
    explorer.explore(600, lambda: None)
    ended = RunReach(of)
    ended.blocked(cells(of)[LAST])
    last_but_one = cells(of)[LAST - 1]
    assert explorer._reach.answers(last_but_one) == ended.answers(last_but_one)


def test_a_lesson_is_asked_beside_every_cell_and_not_in_the_place_of_one() -> None:
    of = known({})
    asked: list[str] = []

    def ask(cell: Cell) -> LockAnswer:
        asked.append(cell.id)
        return LockAnswer("no")

    steps: Any = SimpleNamespace(
        ask=ask,
        inferred=lambda cell: None,
        run=lambda cell, tier: pytest.fail("no cell is run here"),
        can_run=lambda cell: False,
        audit=lambda entry: pytest.fail("nothing is inferred here"),
    )
    lessons = [cells(of)[3]]
    explorer = Explorer(of, steps, lambda: 0.0, threading.Event(), workers=0, lessons=lessons)
    explorer.explore(600, lambda: None)
    assert {*asked} == {*of.by_id}
