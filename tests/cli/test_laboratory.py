"""What a search for blame may have run, and when it stops: budget, interruption, lost runs."""

import datetime
import threading
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from support.ran import Run, batch_result

from compat.cli.options import workspace_of
from compat.errors import UsageError
from compat.fleet.batch import Batch, BatchResult
from compat.fleet.laboratory import LockLaboratory
from compat.lock.lockfile import Lock
from compat.run.outcome import Failed
from compat.search.blame import SearchStopped

CELL = "py3.11-dep1-demo1.0"


class Machine:
    """A machine whose runs leave nothing behind; it counts them."""

    def __init__(self, tmp_path: Path) -> None:
        self.seconds, self.runs, self.cancel = 0.0, 0, threading.Event()
        self.folder = tmp_path
        self.faults: tuple[Failed, ...] = ()

    def run(self, *_: Any) -> BatchResult:
        self.runs += 1
        return batch_result(self.folder, self.faults)

    def clock(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(self.seconds, datetime.timezone.utc)

    def tell(self, line: str) -> None:
        """Say nothing."""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def laboratory(
    run: Run, root: Path, tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> LockLaboratory:
    run("matrix", "discover", "demo", "--write")
    assert run("matrix", "lock", "demo", CELL, f"{CELL}+dated").code == 0
    workspace, folder = workspace_of("demo", root), tmp_path / "blame" / "demo"
    monkeypatch.setattr(Batch, "run", machine.run)
    return LockLaboratory(workspace, folder, cast(Any, machine), 60.0)


@pytest.fixture
def lock(laboratory: LockLaboratory) -> Lock:
    return laboratory.end(CELL)


def test_no_run_begins_after_the_budget(
    laboratory: LockLaboratory, lock: Lock, machine: Machine
) -> None:
    machine.seconds = 61.0
    with pytest.raises(SearchStopped, match="the budget is spent before a mix"):
        laboratory.run(lock, "a mix")
    assert machine.runs == 0


def test_an_interruption_ends_the_search(
    laboratory: LockLaboratory, lock: Lock, machine: Machine
) -> None:
    machine.cancel.set()
    with pytest.raises(SearchStopped, match="interrupted"):
        laboratory.run(lock, "a mix")


def test_a_run_that_leaves_no_answer_is_tried_again_and_then_given_up(
    laboratory: LockLaboratory, lock: Lock, machine: Machine
) -> None:
    with pytest.raises(SearchStopped, match="got no answer"):
        laboratory.run(lock, "a mix")
    assert machine.runs == 3


def test_a_suite_that_is_at_fault_blames_no_package(
    laboratory: LockLaboratory, lock: Lock, machine: Machine
) -> None:
    machine.faults = (Failed(stage="collect", cause="suite-fault"),)
    with pytest.raises(SearchStopped, match="the suite or its declaration is at fault"):
        laboratory.run(lock, "a mix")


def test_dates_are_bisected_only_where_nothing_else_differs(
    laboratory: LockLaboratory, lock: Lock
) -> None:
    dated = laboratory.end(f"{CELL}+dated")
    laboratory.compare(dated, lock)
    assert laboratory.dates is not None
    assert laboratory.dates[0] == dated.inputs.as_of
    assert laboratory.dates[1] > datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    laboratory.compare(lock, dated)
    assert laboratory.dates is None
    inputs = msgspec.structs.replace(lock.inputs, requirements=("other",))
    laboratory.compare(dated, msgspec.structs.replace(lock, inputs=inputs))
    assert laboratory.dates is None


def test_ends_that_install_the_same_leave_nothing_to_search(
    laboratory: LockLaboratory, lock: Lock
) -> None:
    with pytest.raises(UsageError, match="nothing differs"):
        laboratory.compare(lock, lock)


def test_the_releases_are_those_that_can_be_installed_here(
    laboratory: LockLaboratory, lock: Lock
) -> None:
    laboratory.compare(laboratory.end(f"{CELL}+dated"), lock)
    assert [str(pin.version) for pin in laboratory.releases("dep")] == ["1.0", "1.1", "2.0"]
    assert laboratory.releases("nowhere") == ()
