"""Where a matrix stands: its locks, its records, its suite as it is now, and the verdicts that
follow.
"""

import datetime
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from compat import pipeline
from compat.cli.setting import Setting, cache_folder, today
from compat.declare.capabilities import Described, described, helper_ids
from compat.errors import UsageError
from compat.lock.text import read_digest
from compat.plan.cell import Coordinate, parse_cell
from compat.plan.feasible import Feasibility
from compat.plan.obstacle import Obstacle
from compat.plan.product import axis_coordinates
from compat.results.durations import Durations, durations
from compat.results.files import RecordFiles
from compat.results.index import RecordIndex, RunRow
from compat.results.record import Ran, Record
from compat.results.snapshot import Snapshot, snapshot
from compat.results.verdict import EvaluationContext, Verdict, verdict
from compat.run.suitefiles import suite_digest


class Stand:
    """What is known of the cells of one matrix, read when it is first needed."""

    def __init__(self, setting: Setting, day: datetime.date | None = None) -> None:
        """Take the matrix, and the day to speak for, else today.

        Its records are read through an index in the cache folder, which holds nothing else.
        """
        self.setting = setting
        self.day = day or today()
        self.store = RecordFiles(setting.folder)
        self._index = RecordIndex(cache_folder() / "records.sqlite")

    @cached_property
    def present(self) -> EvaluationContext:
        """The suite as it is now, and the day."""
        folder = self.setting.folder / self.setting.ask.matrix.suite.path
        packages = frozenset(axis.normalised_name for axis in self.setting.ask.matrix.packages)
        helpers = helper_ids(self.described)
        return EvaluationContext(
            suite_digest=suite_digest(folder), day=self.day, asked=packages, helpers=helpers
        )

    @cached_property
    def described(self) -> tuple[Described, ...]:
        """What the suite says of its capabilities."""
        return described(pipeline.suite_texts(self.setting.folder, self.setting.ask.matrix))

    @cached_property
    def locks(self) -> dict[str, str]:
        """The digest of each lock, by cell."""
        paths = pipeline.kept_locks(self.setting.folder)
        return {cell: read_digest(path.read_text(encoding="utf-8")) for cell, path in paths}

    @cached_property
    def rows(self) -> dict[str, list[RunRow]]:
        """The runs of each cell, oldest first."""
        self._index.refresh(self.store)
        found: dict[str, list[RunRow]] = {}
        for row in self._index.runs(self.store):
            found.setdefault(row.cell, []).append(row)
        return found

    @cached_property
    def picture(self) -> Snapshot:
        """What is known of every cell of the plan, by the kept catalogue."""
        ask, kept = self.setting.ask, self.setting.kept
        return snapshot(
            ask, kept, pipeline.planned(ask, kept).fates, self.locks, self.rows, self.present
        )

    @property
    def durations(self) -> Durations:
        """How long cells take, from all runs."""
        return durations(self.setting.ask.matrix, self.rows)

    def refresh(self) -> None:
        """Forget what was read."""
        for name in ("rows", "locks", "picture"):
            self.__dict__.pop(name, None)

    def candidates(self) -> dict[str, str | None]:
        """Return every cell that could be due: those with locks, the quick ones, and those with
        records.
        """
        others = {*self.setting.ask.matrix.quick, *self.rows}
        return dict.fromkeys(sorted(others)) | self.locks

    def runs(self) -> Sequence[Ran]:
        """Return all runs."""
        return [row for rows in self.rows.values() for row in rows]

    def records(self, cell: str) -> tuple[Record, ...]:
        """Return the records of a cell, whole."""
        return self.store.records(cell)

    def verdict(self, cell: str) -> Verdict:
        """Return what is known of a cell."""
        rows, lock = self.rows.get(cell, ()), self.locks.get(cell)
        return verdict(cell, rows, self.present, lock_digest=lock, obstacle=self._obstacle(cell))

    def _obstacle(self, cell: str) -> Obstacle | None:
        """What the plan says against a cell, by the kept catalogue; nothing without one, or where
        the plan lacks it.
        """
        if self._facts is None:
            return None
        try:
            planned = parse_cell(cell, self._facts.matrix)
        except UsageError:
            return None
        known = all(one in self._coordinates for one in planned.coordinates)
        return self._facts.obstacle(planned) if known else None

    @cached_property
    def _facts(self) -> Feasibility | None:
        kept = pipeline.kept_catalogue(self.setting.folder, self.setting.ask.matrix)
        return None if kept is None else Feasibility(self.setting.ask.matrix, kept)

    @cached_property
    def _coordinates(self) -> frozenset[Coordinate]:
        axes, kept = self.setting.ask.matrix.axes, self.setting.kept
        return frozenset(one for axis in axes for one in axis_coordinates(axis, kept))

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
            "helpers": {capability.id: capability.status for capability in found.helpers},
        }

    def last(self, cell: str) -> str | None:
        """Return what the newest run came to, whether or not it says anything about the
        versions.
        """
        rows = self.rows.get(cell)
        return str(rows[-1].outcome) if rows else None
