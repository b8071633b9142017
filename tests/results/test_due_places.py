"""Where a due cell lies: a proposal waits for it, it lies near a floor, it holds a release that
came since, or none.
"""

import datetime
from collections.abc import Iterable

import msgspec
import pytest
from support.made_records import LOCK, START, SUITE, ran
from support.world import BEGINNING, catalogue_of, matrix_of, world

from compat.declare.load import Declared
from compat.plan.plan import plan
from compat.results.judge import EvaluationContext
from compat.results.record import Record
from compat.results.snapshot import Agenda, Due, agenda, snapshot

WORLD = world("floors")
MATRIX, CATALOGUE = matrix_of(WORLD), catalogue_of(WORLD)
FATES = plan(MATRIX, CATALOGUE).fates
PRESENT = EvaluationContext(suite_digest=SUITE, day=START.date() + datetime.timedelta(days=2))
# A release of a world comes out thirty days after the one before it.
BEFORE_THE_THIRD = (BEGINNING - START).days + 45


def agenda_of(*runs: Record, quick: Iterable[str] = (), proposed: Iterable[str] = ()) -> Agenda:
    by_cell = {run.cell: [run] for run in runs}
    locks = dict.fromkeys(by_cell, LOCK)
    declared = Declared(matrix=msgspec.structs.replace(MATRIX, quick=tuple(quick)))
    known = snapshot(declared, CATALOGUE, FATES, locks, by_cell, PRESENT)
    return agenda(known, proposed)


def due(*runs: Record, proposed: Iterable[str] = ()) -> dict[str, Due]:
    return {entry.cell: entry for entry in agenda_of(*runs, proposed=proposed).cells}


def places(**more: Iterable[str]) -> dict[str, str]:
    return {cell: one.place for cell, one in due(**more).items()}  # type: ignore[arg-type]


def test_untested_cells_at_the_newest_floors_and_one_step_beside_them_are_due() -> None:
    found = places()
    assert set(found.values()) == {"floor"}
    near = {f"py{python}-d{dep}-demo3.0" for python in ("3.8", "3.9", "3.10") for dep in (2, 3, 4)}
    assert {cell.partition("+")[0] for cell in found} == near
    assert "py3.9-d3-demo3.0+dated" in found


def test_a_sound_cell_near_a_floor_is_not_due_and_one_with_another_lock_comes_first() -> None:
    sound = ran("pass", cell="py3.9-d3-demo3.0")
    assert "py3.9-d3-demo3.0" not in due(sound)
    outdated = ran("pass", cell="py3.9-d3-demo3.0", lock="2" * 64)
    elsewhere = ran("pass", cell="py3.11-d5-demo1.0", lock="2" * 64)
    found = [cell for cell, one in due(outdated, elsewhere).items() if one.reason == "lock-changed"]
    assert found == ["py3.9-d3-demo3.0", "py3.11-d5-demo1.0"]


def test_a_release_that_came_after_the_first_run_makes_its_untested_cells_due() -> None:
    found = due(ran("pass", cell="py3.11-d2-demo1.0", day=BEFORE_THE_THIRD))
    arrived = {cell for cell, one in found.items() if one.place == "new-release"}
    assert "py3.11-d6-demo3.0" in arrived
    assert "py3.11-d2-demo3.0" in arrived
    assert not any(cell.endswith("+relaxed") and "demo3.0" not in cell for cell in arrived)
    assert not any("demo1.0" in cell or "demo2.0" in cell for cell in arrived)
    assert found["py3.9-d3-demo3.0"].place == "floor"


def test_a_new_release_that_ran_is_new_no_more() -> None:
    first = ran("pass", cell="py3.11-d2-demo1.0", day=BEFORE_THE_THIRD)
    assert "py3.11-d6-demo3.0" not in due(first, ran("pass", cell="py3.11-d6-demo3.0"))


def test_before_the_first_run_nothing_is_new() -> None:
    assert "new-release" not in places().values()


def test_a_proposals_cells_come_first_even_when_nothing_has_changed() -> None:
    sound = ran("pass", cell="py3.11-d5-demo1.0")
    found = list(due(sound, proposed=[sound.cell]).values())
    assert found[0] == Due(cell=sound.cell, reason="asked", place="proposal", last=START.date())


def test_a_proposals_cell_that_ran_today_is_asked_again_on_another_day_only() -> None:
    today = ran("pass", cell="py3.11-d5-demo1.0", day=2)
    assert today.cell not in due(today, proposed=[today.cell])


def test_an_untested_quick_cell_is_due_wherever_it_lies() -> None:
    entries = {entry.cell: entry for entry in agenda_of(quick=["py3.11-d5-demo1.0"]).cells}
    assert entries["py3.11-d5-demo1.0"].place == "elsewhere"


def test_an_infeasible_cell_is_not_due_and_one_that_somebody_named_is_told_with_its_obstacle() -> (
    None
):
    assert not any("-d1-" in cell for cell in due())
    named = agenda_of(quick=["py3.8-d1-demo3.0"])
    assert "py3.8-d1-demo3.0" not in {entry.cell for entry in named.cells}
    assert [fate.cell.id for fate in named.infeasible] == ["py3.8-d1-demo3.0"]


def test_a_cell_that_left_the_plan_is_not_due_but_told() -> None:
    gone = ran("pass", cell="py3.2-d1-demo0.1", lock="2" * 64)
    agenda = agenda_of(gone)
    assert gone.cell not in {entry.cell for entry in agenda.cells}
    assert [entry.cell for entry in agenda.unplanned] == [gone.cell]


@pytest.mark.parametrize("floors", [(), MATRIX.floors[:1]])
def test_without_floors_no_cell_lies_near_one(floors: tuple[object, ...]) -> None:
    matrix = msgspec.structs.replace(MATRIX, floors=floors)
    found = agenda(snapshot(Declared(matrix=matrix), CATALOGUE, FATES, {}, {}, PRESENT))
    assert {entry.place for entry in found.cells} == ({"floor"} if floors else set())
