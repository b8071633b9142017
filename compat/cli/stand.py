"""Where a matrix stands: its locks, its records, its suite as it is now, and the verdicts that follow."""

import statistics
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from compat import pipeline
from compat.cli.setting import Setting, today
from compat.lock.text import read_digest
from compat.results.files import RecordFiles
from compat.results.record import Ran, Record
from compat.results.verdict import Present, Verdict, verdict
from compat.run.session import suite_digest


class Stand:
    """What is known of the cells of one matrix, read when it is first needed."""

    def __init__(self, setting: Setting) -> None:
        """Take the matrix."""
        self.setting = setting
        self.store = RecordFiles(setting.folder)
        self._records: dict[str, tuple[Record, ...]] = {}

    @cached_property
    def present(self) -> Present:
        """The suite as it is now, and the day."""
        folder = self.setting.folder / self.setting.ask.matrix.suite.path
        return Present(suite_digest=suite_digest(folder), day=today())

    def refresh(self) -> None:
        """Forget what was read."""
        self._records.clear()

    def locks(self) -> dict[str, str]:
        """Return the digest of each lock, by cell."""
        return {
            cell: read_digest(path.read_text(encoding="utf-8"))
            for cell, path in pipeline.kept_locks(self.setting.folder)
        }

    def candidates(self) -> dict[str, str | None]:
        """Return every cell that could be due: those with locks, the quick ones, and those with records."""
        others = {*self.setting.ask.matrix.quick, *self.store.cells()}
        return dict.fromkeys(sorted(others)) | self.locks()

    def runs(self) -> Sequence[Ran]:
        """Return all runs of the candidates."""
        return [record for cell in self.candidates() for record in self.records(cell)]

    def records(self, cell: str) -> tuple[Record, ...]:
        """Return the records of a cell."""
        if cell not in self._records:
            self._records[cell] = self.store.records(cell)
        return self._records[cell]

    def verdict(self, cell: str) -> Verdict:
        """Return what is known of a cell."""
        return verdict(cell, self.records(cell), self.present, lock_digest=self.locks().get(cell))

    def row(self, cell: str) -> dict[str, Any]:
        """Return a cell's verdict as machines read it."""
        found = self.verdict(cell)
        return {
            "id": cell,
            "verdict": found.kind,
            "evidence": found.evidence,
            "outcome": None if found.outcome is None else str(found.outcome),
            "last": self.last(cell),
            "since": found.since,
            "latest": found.latest,
            "stale": found.stale,
            "capabilities": {capability.id: capability.status for capability in found.capabilities},
        }

    def last(self, cell: str) -> str | None:
        """Return what the newest run came to, whether or not it says anything about the versions."""
        records = self.records(cell)
        return str(records[-1].outcome) if records else None

    def seconds_of(self, cell: str) -> float | None:
        """Return how long the newest run of a cell took."""
        records = self.records(cell)
        return records[-1].seconds if records else None

    def usual_seconds(self) -> float | None:
        """Return how long a run takes, as a median of the newest runs; None when nothing ran yet."""
        known = [seconds for cell in self.store.cells() if (seconds := self.seconds_of(cell))]
        return statistics.median(known) if known else None
