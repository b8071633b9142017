"""`compat ci record --from`: what another machine learnt of refusals is held against this
matrix."""

import datetime
from pathlib import Path

import msgspec
import pytest
from support.ran import Ran, Run

from compat.cli.options import workspace_of
from compat.lock.demands import Demands
from compat.plan.cell import parse_cell
from compat.results.learnt import (
    PROBES,
    Clause,
    PlainAnswer,
    StoredClauses,
    store_answers,
    store_clauses,
)

CELL = "py3.11-dep2-demo2.0"
FACT = "gone==4.1"
LOCKED = "py3.11-dep1-demo1.0"
REFUSED = "lock-fail:conflict(gone==4.1)"


@pytest.fixture
def clause(run: Run, root: Path) -> Clause:
    """A clause of a fact that the cell has, and that no resolver can meet."""
    run("matrix", "discover", "demo", "--write")
    workspace = workspace_of("demo", root)
    facts = workspace.facts_of(workspace.stored_or_fetched)
    (held,) = Demands(facts).of(parse_cell(CELL, workspace.matrix))
    assert FACT in held
    return Clause(
        facts=(FACT,),
        pythons=("3.11",),
        outcome=REFUSED,
        because="because I say so",
        cell=CELL,
        on=workspace.day,
    )


def handed(run: Run, root: Path, *clauses: Clause, probes: tuple[PlainAnswer, ...] = ()) -> Ran:
    folder = root / "planned"
    folder.mkdir()
    matrix = workspace_of("demo", root).matrix
    store_clauses(folder, matrix, StoredClauses(conflicts=clauses))
    if probes:
        store_answers(folder, PROBES, probes)
    return run("ci", "record", "demo", "--from", str(folder))


def test_a_clause_of_the_cells_own_facts_is_kept_once(run: Run, root: Path, clause: Clause) -> None:
    probe = PlainAnswer(cell=LOCKED, on=clause.on, outcome="locked")
    answer = handed(run, root, clause, probes=(probe,))
    assert answer.code == 0, answer.err
    assert "1 clause and 1 probe imported, 0 already here, 0 rejected" in answer.err
    (kept,) = workspace_of("demo", root).learnt.clauses.conflicts
    assert (kept.facts, kept.pythons, kept.cell) == ((FACT,), ("3.11",), CELL)
    # What it says is what the resolver here says.
    assert kept.because != clause.because
    assert "nothing imported" in run("ci", "record", "demo", "--from", "planned").err


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"facts": ("elsewhere==1.0",)}, "names facts that its own cell does not have here"),
        ({"pythons": ("3.8",)}, "names facts that its own cell does not have here"),
        ({"cell": "py3.11-dep2-demo9.0"}, "is not a cell of this matrix"),
        ({"on": datetime.date(2020, 1, 1)}, "is of 2020-01-01"),
    ],
)
def test_a_clause_that_does_not_fit_is_refused_and_named(
    run: Run, root: Path, clause: Clause, change: dict[str, object], why: str
) -> None:
    answer = handed(run, root, msgspec.structs.replace(clause, **change))
    assert answer.code == 1
    assert why in answer.err
    assert workspace_of("demo", root).learnt.clauses.conflicts == ()


@pytest.mark.parametrize("is_locked", [True, False])
def test_a_clause_that_says_what_is_not_so_turns_no_cell(
    run: Run, root: Path, clause: Clause, is_locked: bool
) -> None:
    if is_locked:
        assert run("matrix", "lock", "demo", LOCKED).code == 0
    forged = msgspec.structs.replace(
        clause, facts=("dep==1.*",), pythons=("3.8", "3.11"), cell=LOCKED
    )
    answer = handed(run, root, forged)
    assert answer.code == 1
    why = f"{LOCKED} has a lock with dep==1.*" if is_locked else "but resolves here"
    assert why in answer.err
    assert workspace_of("demo", root).learnt.clauses.conflicts == ()


def test_a_refusal_of_a_cell_that_can_be_locked_is_refused(
    run: Run, root: Path, clause: Clause
) -> None:
    forged = PlainAnswer(cell=LOCKED, on=clause.on, outcome=REFUSED, because="because I say so")
    answer = handed(run, root, probes=(forged,))
    assert answer.code == 1
    assert "but resolves here" in answer.err
    assert workspace_of("demo", root).learnt.asked == {}
