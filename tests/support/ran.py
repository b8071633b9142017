"""What running the command `compat` comes to, for tests."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from compat.cli import app
from compat.cli.arguments import shared_taken
from compat.cli.machine import now
from compat.fleet.batch import BatchResult
from compat.results.record import Record
from compat.run.outcome import Failed, parse_outcome
from compat.workspace import Workspace


@dataclass
class Ran:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON object on stdout."""
        return json.loads(self.out)


Run = Callable[..., Ran]


def called(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> Ran:
    """Run `compat` with these words."""
    monkeypatch.setattr(sys, "argv", ["compat", *words])
    with pytest.raises(SystemExit) as left:
        app.main()
    captured = capsys.readouterr()
    shared_taken([])  # its --json is not that of what a test prints itself
    return Ran(code=int(left.value.code or 0), out=captured.out, err=captured.err)


def run_today(workspace: Workspace, cell: str, outcome: str = "pass", **more: Any) -> Record:
    """Return the record of a run of a cell of `demo`, on its lock and the suite of today."""
    facts = {
        "cell": cell,
        "matrix": "demo",
        "outcome": parse_outcome(outcome),
        "lock_digest": workspace.lock_digests.get(cell, ""),
        "suite_digest": workspace.context.suite_digest,
        "started": now(),
        "seconds": 1.0,
        "host": "linux-x86_64-2cpu-24gb",
        "isolation": "L0",
    }
    return Record(**{**facts, **more})


def batch_result(folder: Path, faults: tuple[Failed, ...] = (), **outcomes: str) -> BatchResult:
    """Return what a batch of cells came to, of which none was left out."""
    return BatchResult(
        outcomes=outcomes,
        records=(),
        unanswered=(),
        unrun=0,
        untried={},
        suite_faults=faults,
        lost_workers={},
        folder=folder,
    )
