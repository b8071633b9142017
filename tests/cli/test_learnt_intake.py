"""`compat record --learnt`: what another machine learnt of refusals is held against this matrix."""

import datetime
from pathlib import Path

import msgspec
import pytest
from support.ran import Ran, Run

from compat.cli.options import workspace_of
from compat.lock.demands import Demands
from compat.plan.cell import parse_cell
from compat.results.clause_file import keep_clauses, keep_probes
from compat.results.clauses import Clause, KeptClauses
from compat.results.plain_answers import PlainAnswer

CELL = "py3.11-dep2-demo2.0+relaxed"
REFUSED = "lock-fail:conflict(gone==4.2)"


@pytest.fixture
def clause(run: Run, root: Path) -> Clause:
    """A clause of facts that the cell has."""
    run("discover", "demo", "--write")
    workspace = workspace_of("demo", root)
    facts = workspace.facts_of(workspace.kept_or_asked)
    (held,) = Demands(facts).of(parse_cell(CELL, workspace.matrix))
    return Clause(
        facts=tuple(sorted(held))[:1],
        pythons=("3.11",),
        outcome=REFUSED,
        because="gone 4.2 needs what is not there",
        cell=CELL,
        on=workspace.day,
    )


def handed(run: Run, root: Path, *clauses: Clause, probes: tuple[PlainAnswer, ...] = ()) -> Ran:
    folder = root / "planned"
    folder.mkdir()
    matrix = workspace_of("demo", root).matrix
    keep_clauses(folder, matrix, KeptClauses(conflicts=clauses))
    if probes:
        keep_probes(folder, probes)
    return run("record", "demo", "--learnt", str(folder))


def test_a_clause_of_the_cells_own_facts_is_kept_once(run: Run, root: Path, clause: Clause) -> None:
    probe = PlainAnswer(cell=CELL, on=clause.on, outcome=REFUSED, because="no")
    answer = handed(run, root, clause, probes=(probe,))
    assert answer.code == 0, answer.err
    assert "1 clause and 1 probe kept, 0 refused" in answer.err
    assert workspace_of("demo", root).learnt.clauses.conflicts == (clause,)
    assert "0 clauses and 0 probes kept" in run("record", "demo", "--learnt", "planned").err


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
