"""The exit code of `compat run` is that of the verdicts, not of pytest."""

from pathlib import Path

import pytest
from support.known import statuses
from support.made_records import capabilities
from support.ran import Run, batch_result, run_today

from compat.cli.options import workspace_of
from compat.cli.run import _exit_code, _not_working
from compat.cli.verdicts import RunWords
from compat.run.outcome import parse_outcome

CELL = "py3.11-dep1-demo1.0"
FAILED = "test-fail:assertion(sum)"
KNOWN = """
[[known]]
capability = "sum"
because = "the sign is wrong"
fault = "release"
"""


def result(root: Path, outcome: str = FAILED, **capabilities: str) -> int:
    """The exit code after a run that came to that."""
    workspace = workspace_of("demo", root)
    workspace.store.add(run_today(workspace, CELL, outcome, capabilities=statuses(**capabilities)))
    workspace.refresh()
    return _exit_code(workspace, batch_result(root, **{CELL: outcome}))


@pytest.fixture
def declared(run: Run, root: Path) -> Path:
    """A repository that declares that `sum` fails in every combination, with a lock."""
    matrix = root / "matrices" / "demo" / "matrix.toml"
    matrix.write_text(matrix.read_text(encoding="utf-8") + KNOWN, encoding="utf-8")
    assert run("matrix", "lock", "demo", CELL).code == 0
    return root


def test_a_fault_of_the_release_is_no_failure_of_the_cell(declared: Path) -> None:
    assert result(declared, **{"import": "yes", "sum": "no"}) == 0


def test_another_failure_beside_it_is(declared: Path) -> None:
    assert result(declared, **{"import": "yes", "sum": "no", "mean": "no"}) == 1


def test_a_crash_is_never_excused(declared: Path) -> None:
    outcome = "test-fail:segfault(sum)"
    assert result(declared, outcome, **{"import": "yes", "sum": "no"}) == 1


def test_a_run_of_a_cell_that_works_is_told_apart_from_what_its_release_cannot_do(
    declared: Path, run: Run
) -> None:
    result(declared, **{"import": "yes", "sum": "no"})
    told = "passed but for sum, which fails in every combination of this release"
    shown = run("show", "demo", CELL).out
    assert f"at L0: {told}, 1 s" in " ".join(shown.split())
    listed = " ".join(run("show", "demo", "--cells").out.replace("│", " ").split())
    assert "test-fail" not in shown + listed
    workspace = workspace_of("demo", declared)
    assert _not_working(workspace, {CELL: FAILED}) == {}
    words = RunWords(workspace)
    assert words.of(CELL, parse_outcome(FAILED), capabilities(sum="no")) == told
    assert words.of(CELL, parse_outcome(FAILED), capabilities(sum="no", mean="no")) == FAILED
    assert words.of(
        CELL, parse_outcome("test-fail:segfault(mean)"), capabilities(sum="no")
    ).startswith("test-")


def test_a_failure_of_the_combination_is_printed_with_its_cause(declared: Path, run: Run) -> None:
    result(declared, "test-fail:assertion(mean)", **{"import": "yes", "sum": "no", "mean": "no"})
    assert "at L0: test-fail:assertion(mean), 1" in run("show", "demo", CELL).out
    failed = {CELL: "test-fail:assertion(mean)"}
    assert _not_working(workspace_of("demo", declared), failed) == failed
