"""Lanes held against ordinary cells: what counts as broken, and the one alert."""

import datetime
from collections.abc import Mapping

import msgspec
import pytest
from support.made_records import LOCK, START, SUITE, capabilities, ran
from support.world import matrix_of, source_of, world

from compat.declare.load import Declared
from compat.index.discover import discover
from compat.plan.plan import plan
from compat.results.answer import beside
from compat.results.compare import VariantReport, _compared, variant_report
from compat.results.judge import EvaluationContext
from compat.results.record import Record
from compat.results.snapshot import Snapshot, agenda, snapshot

WORLD = world("patches")
PRESENT = EvaluationContext(suite_digest=SUITE, day=START.date() + datetime.timedelta(days=10))
LOWEST, FRESH = "py3.9-dep2-tool1-demo1.0+lowest", "py3.9-dep2-tool2-demo1.0"
WORKS = capabilities(sum="yes")
FAILS = capabilities(sum="no")
PARTIAL = capabilities(sum="no", mean="yes")


def pictured(*runs: Record, lowest: bool = True) -> Snapshot:
    matrix = msgspec.structs.replace(matrix_of(WORLD), lowest=lowest)
    catalogue = discover(matrix, source_of(WORLD))
    by_cell: dict[str, list[Record]] = {}
    for run in runs:
        by_cell.setdefault(run.cell, []).append(run)
    fates = plan(matrix, catalogue).fates
    locks: Mapping[str, str] = dict.fromkeys(by_cell, LOCK)
    return snapshot(Declared(matrix=matrix), catalogue, fates, locks, by_cell, PRESENT)


def reported(*runs: Record) -> VariantReport:
    return variant_report(pictured(*runs), lambda cell: None)


def test_what_fails_beside_a_cell_that_works_is_broken_and_one_alert_says_so() -> None:
    found = reported(
        ran("pass", cell=FRESH, capabilities=WORKS),
        ran("import-fail:missing-attribute(dep.new)", cell=LOWEST),
    )
    (cell,) = (cell for cell in found.cells if cell.cell == LOWEST)
    assert (cell.is_broken, cell.against) == (True, FRESH)
    assert cell.outcome == "import-fail:missing-attribute(dep.new)"
    (alert,) = found.alerts
    assert alert.cells == (LOWEST,)
    assert "1 of 1 cell" in alert.sentence


def test_a_cell_that_works_only_in_part_is_called_so_beside_a_lane() -> None:
    found = reported(
        ran(
            "test-fail:assertion(sum)", cell=FRESH, capabilities=capabilities(sum="no", mean="yes")
        ),
        ran("import-fail:missing-attribute(dep.new)", cell=LOWEST),
    )
    (cell,) = (cell for cell in found.cells if cell.cell == LOWEST)
    assert (cell.is_broken, cell.against, cell.in_part) == (True, FRESH, True)
    (alert,) = found.alerts
    assert "works in part" in alert.sentence


@pytest.mark.parametrize(
    ("in_part", "words"),
    [
        (0, "3 cells that work with 2.4"),
        (1, "3 cells that work with 2.4, 1 of them in part"),
        (3, "3 cells that work with 2.4, all of them in part"),
    ],
)
def test_of_many_cells_those_that_work_only_in_part_are_counted(in_part: int, words: str) -> None:
    assert _compared(in_part, 3, "2.4") == words


@pytest.mark.parametrize(
    "runs",
    [
        # Nothing works, so the floors are not shown to be at fault.
        [ran("import-fail:missing-attribute(dep.new)", cell=LOWEST)],
        # It cannot be installed: nothing of it ran.
        [
            ran("pass", cell=FRESH, capabilities=WORKS),
            ran("lock-fail:conflict(dep)", cell=LOWEST),
        ],
        # The same fails in both.
        [
            ran("test-fail:assertion(sum)", cell=FRESH, capabilities=FAILS),
            ran("test-fail:assertion(sum)", cell=LOWEST, capabilities=FAILS),
        ],
        [
            ran("pass", cell=FRESH, capabilities=WORKS),
            ran("pass", cell=LOWEST, capabilities=WORKS),
        ],
    ],
)
def test_what_does_not_show_that_the_lane_is_at_fault_is_no_alert(runs: list[Record]) -> None:
    found = reported(*runs)
    assert not found.alerts
    assert not any(cell.is_broken for cell in found.cells)


def test_a_lane_colours_no_place_and_is_no_part_of_the_grid() -> None:
    known = pictured(ran("pass", cell=LOWEST, capabilities=WORKS))
    assert known.by_id[LOWEST].kind == "works"
    assert all(not entry.cell.is_variant for entry in known.entries)
    assert all(not entry.cell.is_variant for entry in known.known)
    assert LOWEST not in [entry.cell.id for entry in beside(known, known.by_id[LOWEST])]
    assert known.limited_to([LOWEST]).by_id[LOWEST] == known.by_id[LOWEST]
    assert not known.limited_to([LOWEST]).entries


def test_a_lane_of_the_newest_release_is_due_and_what_ran_is_due_no_more() -> None:
    newest = {due.cell for due in agenda(pictured()).cells if due.cell.endswith("+lowest")}
    assert newest == {"py3.10-dep1-tool1-demo1.5+lowest"}
    ran_today = ran("pass", cell=LOWEST, capabilities=WORKS)
    assert LOWEST not in {due.cell for due in agenda(pictured(ran_today)).cells}


def test_runs_of_a_lane_that_is_not_declared_any_more_are_kept_and_not_planned() -> None:
    known = pictured(ran("pass", cell=LOWEST, capabilities=WORKS), lowest=False)
    assert [entry.cell.id for entry in known.lanes] == [LOWEST]
    assert not known.by_id[LOWEST].planned
