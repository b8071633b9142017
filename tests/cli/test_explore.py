"""`compat run --budget`: what it tries, what it keeps, and what it says of how far it came."""

import json
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from support.ran import Run, batch_result, run_today

from compat import pipeline
from compat.cli import budget
from compat.cli.options import workspace_of
from compat.fleet.batch import BatchResult
from compat.results.record import Capability, Record

# Each runs real cells, builds or installs.
pytestmark = pytest.mark.slow

SMOKE, FULL = ("smoke", "full")
MARKED = """\
import pytest


@pytest.mark.capability("import")
def test_demo():
    import demo
"""


@pytest.fixture
def runs(run: Run, root: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Run no cell: each passes at once, and is kept as a record. What ran, by cell and tier."""
    suite = root / "matrices" / "demo" / "suite" / "test_demo.py"
    suite.write_text(MARKED, encoding="utf-8")
    began: list[tuple[str, str]] = []

    def passing(workspace: Any, cells: Any, machine: Any, options: Any) -> BatchResult:
        (cell,) = cells
        began.append((cell, options.tier))
        workspace.store.add(passed(workspace, cell, options.tier))
        return batch_result(root, **{cell: "pass"})

    monkeypatch.setattr(pipeline, "run", passing)
    monkeypatch.setattr(budget._Session, "can_run", lambda self, cell: True)
    return began


def passed(workspace: Any, cell: str, tier: Any) -> Record:
    works = (Capability(id="import", status="yes"),)
    return run_today(workspace, cell, lock_digest="1" * 64, tier=tier, capabilities=works)


def with_core(root: Path) -> None:
    path = root / "matrices" / "demo" / "matrix.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace('path = "suite",', 'path = "suite", core = ["import"],'), encoding="utf-8"
    )


def explored(run: Run, *words: str) -> Any:
    answer = run("run", "demo", "--budget", "20m", "--json", *words)
    assert answer.code == 0, answer.err
    return answer.json["data"]


def test_every_cell_gets_an_answer_first_by_the_core_then_by_the_whole_suite(
    run: Run, root: Path, runs: list[tuple[str, str]]
) -> None:
    with_core(root)
    data = explored(run)
    assert data["after"]["answered"] == data["after"]["cells"] > data["before"]["answered"]
    tiers = [tier for _, tier in runs]
    assert tiers == sorted(tiers, key=[SMOKE, FULL].index)
    assert {cell for cell, tier in runs if tier == SMOKE} == {
        cell for cell, tier in runs if tier == FULL
    }
    assert data["after"]["evidence"]["tested"] == len(runs) / 2
    # The packages of one cell are found for others, too: the same without a date, above all.
    assert 0 < data["probes"]["lock"] <= len(runs) / 2
    assert data["failed"] == []


def test_without_a_core_a_cell_runs_the_whole_suite(run: Run, runs: list[tuple[str, str]]) -> None:
    explored(run)
    assert {tier for _, tier in runs} == {FULL}


def test_without_workers_the_resolver_alone_is_asked_and_refusals_answer(
    run: Run, root: Path, runs: list[tuple[str, str]]
) -> None:
    data = explored(run, "--jobs", "0")
    assert runs == []
    assert data["probes"]["smoke"] == data["probes"]["suite"] == 0
    assert data["probes"]["lock"] > 0
    known = workspace_of("demo", root).learnt.asked
    assert {answer.outcome for answer in known.values()} >= {"locked"}


def test_a_second_session_goes_on_where_the_first_ended(
    run: Run, root: Path, runs: list[tuple[str, str]]
) -> None:
    first = explored(run, "--jobs", "0")
    second = explored(run, "--jobs", "0")
    assert second["before"] == first["after"]
    assert second["probes"]["lock"] == 0


def test_an_interruption_keeps_what_was_learnt(
    run: Run, root: Path, runs: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = threading.Event()
    ask = budget._Session.ask

    def once(self: Any, cell: Any) -> Any:
        answer = ask(self, cell)
        if not asked.is_set():
            asked.set()
            signal.raise_signal(signal.SIGINT)
        return answer

    monkeypatch.setattr(budget._Session, "ask", once)
    answer = run("run", "demo", "--budget", "20m", "--jobs", "0")
    assert answer.code == 130
    assert "after:" in answer.out
    folder = root / "matrices" / "demo"
    assert json.loads((folder / "probes.json").read_text())["answers"]


def test_the_summary_says_the_shares_and_the_seconds(run: Run, runs: list[tuple[str, str]]) -> None:
    answer = run("run", "demo", "--budget", "20m")
    assert answer.out.startswith("before: ")
    assert "combinations (100.0 %)" in answer.out
    assert "by evidence: " in answer.out
    assert "runs of the suite: " in answer.out


def test_what_is_due_is_renewed_before_anything_is_explored(
    run: Run, root: Path, runs: list[tuple[str, str]]
) -> None:
    explored(run, "--jobs", "0")
    explored(run)
    first = [cell for cell, _ in runs]
    runs.clear()
    suite = root / "matrices" / "demo" / "suite" / "test_demo.py"
    suite.write_text(MARKED + "\n\ndef test_more():\n    pass\n", encoding="utf-8")
    data = explored(run)
    assert {cell for cell, _ in runs} >= {*first[:1]}
    assert data["probes"]["suite"] == len(runs)


def test_cells_that_are_named_are_the_only_ones(run: Run, runs: list[tuple[str, str]]) -> None:
    explored(run, "py3.11-dep1-demo1.0")
    assert {cell for cell, _ in runs} == {"py3.11-dep1-demo1.0"}


@pytest.mark.parametrize("text", ["soon", "0m"])
def test_what_is_no_time_is_told_in_one_line(run: Run, text: str) -> None:
    answer = run("run", "demo", "--budget", text)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "such as 90m" in answer.err


def test_what_lies_between_runs_that_came_to_the_same_is_not_run(
    run: Run, root: Path, runs: list[tuple[str, str]]
) -> None:
    path = root / "matrices" / "demo" / "matrix.toml"
    pythons = '"3.8.18", "3.9.18", "3.10.13", "3.11.7"'
    path.write_text(path.read_text().replace('"3.8.18", "3.11.7"', pythons), encoding="utf-8")
    explored(run, "--jobs", "0")
    data = explored(run)
    assert data["after"]["answered"] == data["after"]["cells"]
    assert data["after"]["evidence"]["inferred"] > 0
    assert data["after"]["evidence"]["tested"] == len(runs)
    known = workspace_of("demo", root).snapshot
    between = [entry for entry in known.entries if entry.expected]
    assert {verdict.evidence for verdict in between} == {"inferred"}
    assert not {verdict.id for verdict in between} & {cell for cell, _ in runs}
