"""How `compat run` and `compat matrix lock` work through their cells: side by side, and with
everything told.
"""

import datetime
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.evidence import FINE, evidence
from support.made_records import cells_in
from support.ran import Run

from compat import pipeline
from compat.errors import IndexUnreachable
from compat.fleet import batch
from compat.fleet.batch import LockResult
from compat.lock import uv as tool
from compat.lock.lockfile import Refusal
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.results.record_files import RecordFiles
from compat.run.evidence import Ended, Evidence
from compat.run.job import Bench, Job

CELL, RELAXED, RULED_OUT = (
    "py3.11-dep1-demo1.0",
    "py3.11-dep2-demo2.0+relaxed",
    "py3.11-dep2-demo2.0",
)
OLD = "py3.8-dep1-demo1.0"


class Cells:
    """Stands for the running of cells: each passes at once, and is remembered."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.ran: list[str] = []
        self.broken: dict[str, tuple[str, Ended]] = {}

    def __call__(
        self,
        job: Job,
        bench: Bench,
        started: datetime.datetime,
        cancel: threading.Event,
        enter: object,
    ) -> Evidence:
        if job.matrix != "canary":
            self.ran.append(job.cell)
            self.began.set()
        log, ended = self.broken.get(job.cell, ("", FINE))
        facts = {"matrix": job.matrix, "lock_digest": job.lock.digest, "started": started}
        return evidence(job.cell, log=log, ended=ended, **facts)


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> Cells:
    """Run no cell, but say that each passes."""
    stub = Cells()
    monkeypatch.setattr(batch, "_run_cell", stub)
    return stub


def locking(monkeypatch: pytest.MonkeyPatch, before: Callable[[Cell], object]) -> None:
    """Have `before` called with each cell that is about to be locked."""
    locked = pipeline.locked

    def slowly(workspace: object, facts: object, cell: Cell, *more: object) -> object:
        before(cell)
        return locked(workspace, facts, cell, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(pipeline, "locked", slowly)


def test_cells_run_while_others_are_locked(
    run: Run, cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second cell is locked only when the first has begun: were all locked first, it would wait
    in vain.
    """
    run("matrix", "lock", "demo", CELL)
    waited: list[bool] = []
    locking(monkeypatch, lambda cell: waited.append(cells.began.wait(20)))
    found = run("run", "demo", CELL, RELAXED)
    assert waited == [True]
    assert (found.code, cells.ran) == (0, [CELL, RELAXED])
    assert "2 cells to run, 1 without a lock" in found.err


def test_a_cell_that_the_index_does_not_answer_for_costs_no_other_cell_its_run(
    run: Run, cells: Cells, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(cell: Cell) -> None:
        if cell.id == RELAXED:
            raise IndexUnreachable.of("the index is down")

    locking(monkeypatch, fail)
    found = run("run", "demo", CELL, RELAXED)
    assert (found.code, cells.ran) == (3, [CELL])
    assert f"{RELAXED}  the index is down" in found.err
    assert cells_in(RecordFiles(root / "matrices" / "demo")) == (CELL,)


def test_a_refusal_is_counted_and_remembered_while_the_others_run(
    run: Run, cells: Cells, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = Refusal(cause="conflict", subject="deep<2", because="dep 1.1 depends on deep<2")
    plainly = pipeline.locked

    def answer(workspace: Any, facts: Feasibility, cell: Cell, *more: Any) -> LockResult:
        return refusal if cell.id == OLD else plainly(workspace, facts, cell, *more)

    monkeypatch.setattr(pipeline, "locked", answer)
    found = run("run", "demo", CELL, OLD)
    assert (found.code, cells.ran) == (1, [CELL])
    assert f"/2] {OLD}  lock-fail:conflict(deep<2): dep 1.1 depends on deep<2" in found.err
    assert f"/2] {CELL}  pass" in found.err
    assert set(cells_in(RecordFiles(root / "matrices" / "demo"))) == {CELL, OLD}


def test_where_no_worker_takes_cells_any_more_none_is_locked_for_them(
    run: Run, cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("matrix", "lock", "demo", CELL)
    asked: list[str] = []
    locking(monkeypatch, lambda cell: asked.append(cell.id))
    monkeypatch.setattr(batch.Local, "is_spent", True)
    found = run("run", "demo", CELL, RELAXED)
    assert (found.code, cells.ran, asked) == (3, [CELL], [])


@pytest.mark.parametrize(
    ("log", "how", "outcome", "code"),
    [
        ("Failed to fetch", {"exit_code": 2}, "install-fail:network", 3),
        ("No space left on device", {"exit_code": 2}, "install-fail:disk", 3),
        ("", {"by": "disk", "exit_code": None}, "install-fail:disk", 3),
        ("", {"exit_code": 137}, "install-fail:killed", 1),
        ("Failed to build `dep==1`", {"exit_code": 2}, "install-fail:build(dep==1)", 1),
    ],
)
def test_a_cell_that_the_machine_left_without_an_answer_ends_the_command_with_3(
    log: str, how: dict[str, Any], outcome: str, code: int, run: Run, cells: Cells
) -> None:
    cells.broken[CELL] = (log, msgspec.structs.replace(FINE, **how))
    found = run("run", "demo", CELL, "--json")
    (row,) = found.json["data"]["cells"]
    assert (row["result"], found.code) == (outcome, code)


@pytest.mark.parametrize(
    ("free", "said"),
    [
        (600, "2 cells at once instead of 4: 600 MB of disk are free, and a cell may use 256"),
        (100, "1 cell at once instead of 4: 100 MB of disk are free, and a cell may use 256"),
    ],
)
def test_where_the_disk_has_room_for_fewer_cells_than_asked_it_is_said(
    free: int, said: str, run: Run, cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("compat.cli.run.disk_mb", lambda: free)
    found = run("run", "demo", CELL, RELAXED, "--jobs", "4")
    assert (found.code, sorted(cells.ran)) == (0, sorted([CELL, RELAXED]))
    assert f"{said} (`disk_mb` of [suite])\n" in found.err
    assert f", {said[0]} at a time: " in found.err


def test_cells_run_one_a_core_where_memory_and_disk_have_room(
    run: Run, cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psutil.Process.cpu_affinity", lambda _: [0, 2, 3])
    assert ", 2 at a time: " in run("run", "demo", CELL, RELAXED).err
    monkeypatch.setattr("compat.cli.run.disk_mb", lambda: 300)
    quiet = run("run", "demo", CELL, RELAXED).err
    assert (", 1 at a time: " in quiet, "instead of" in quiet) == (True, False)


def test_a_worker_that_was_lost_is_told_in_the_last_lines_and_ends_with_3(
    run: Run, cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("matrix", "lock", "demo", CELL)
    run("matrix", "lock", "demo", RELAXED)
    is_lost = threading.Event()

    def one_is_broken(job: Job, *more: Any) -> Evidence:
        if job.matrix == "canary" and job.cell.endswith("-1"):
            is_lost.set()
            raise OSError("no space left on device")
        # The other worker would otherwise take both cells before this one has begun.
        is_lost.wait(600)
        return cells(job, *more)

    monkeypatch.setattr(batch, "_run_cell", one_is_broken)
    found = run("run", "demo", CELL, RELAXED, "--jobs", "2")
    assert sorted(cells.ran) == sorted([CELL, RELAXED])
    assert found.code == 3
    last = found.err.splitlines()[-1]
    assert last.startswith("warning: worker 1 stopped")
    assert last.endswith("OSError in compat itself: no space left on device")


class Resolvers:
    """Counts how many resolvers run at once; the first to come is the last to end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0
        self.most = 0
        self.lock = threading.Lock()
        self.tool = tool.run_tool
        monkeypatch.setattr("compat.lock.uv.run_tool", self)

    def __call__(self, command: list[str], *more: object) -> tool.Done:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
            is_first = self.most == 1
        time.sleep(1.0 if is_first else 0.0)
        done: tool.Done = self.tool(command, *more)
        with self.lock:
            self.now -= 1
        return done


def test_locks_are_made_side_by_side_and_printed_in_the_order_of_the_cells(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("matrix", "lock", "demo", OLD, RULED_OUT, RELAXED, CELL)
    resolvers = Resolvers(monkeypatch)
    found = run(*words, "--jobs", "4")
    assert resolvers.most > 1
    assert [line.split()[0] for line in found.out.splitlines() if line[0] != " "] == list(words[3:])
    assert found.code == 1
    assert found.err == "4 cells: 3 locked, 1 infeasible\n"
    again = run(*words, "-j", "4")
    said = [line.split()[1] for line in again.out.splitlines() if line[0] != " "]
    assert [word for word in said if not word.startswith("plan-fail")] == ["current"] * 3


def test_a_lock_without_an_answer_is_told_in_its_place(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(cell: Cell) -> None:
        if cell.id == CELL:
            raise IndexUnreachable.of("the index is down")

    locking(monkeypatch, fail)
    found = run("matrix", "lock", "demo", CELL, RELAXED, "--jobs", "2")
    assert found.code == 3
    assert found.out.startswith(f"{RELAXED}  locked")
    error, count = found.err.splitlines()
    assert error == "error: the index is down"
    assert count.startswith("2 cells: 1 locked, ")


def test_one_cell_is_one_cell(run: Run) -> None:
    assert run("matrix", "lock", "demo", CELL).err == "1 cell: 1 locked\n"
