"""The `results` room's changes of the index: what files hold that are new, changed or gone."""

import datetime
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from compat.errors import Fault
from compat.results.batch_sheet import IndexedBatch
from compat.results.record import Record
from compat.results.record_batches import BATCHES
from compat.results.record_files import RecordFiles
from compat.results.run_row import KeptRun, RunKeeper, checksum, decode_runs, encode_runs

_NO_RUNS = encode_runs(())


class IndexUpdate:
    """One change of what the index has of one matrix, inside a transaction."""

    def __init__(self, connection: sqlite3.Connection, store: RecordFiles, root: str) -> None:
        self._connection = connection
        self._store = store
        self._root = root
        rows = connection.execute("SELECT id, fact, sum FROM facts")
        self._keeper = RunKeeper((number, sound_fact(*row)) for number, *row in rows)
        self._fresh: defaultdict[str, dict[str, KeptRun]] = defaultdict(dict)

    def apply(self, old: Mapping[str, int], changed: Mapping[str, tuple[int, int]]) -> None:
        """Take away what stood in the old files, by path and number, and read the changed ones."""
        forgotten: defaultdict[str, set[int]] = defaultdict(set)
        for path, number in old.items():
            self._connection.execute("DELETE FROM files WHERE id = ?", (number,))
            forgotten[path.partition("/")[0]].add(number)
        # Batches come last, so that a record that stands in one, too, is told to stand there.
        for path, state in sorted(changed.items(), key=lambda item: item[0].startswith(BATCHES)):
            self._read(path, state)
        is_empty = not self._connection.execute(
            "SELECT 1 FROM cells WHERE root = ? LIMIT 1", (self._root,)
        ).fetchone()
        totals = self._totals()
        rows: list[tuple[str, str, bytes, int]] = []
        for cell in sorted({*self._fresh, *forgotten}):
            before = [] if is_empty else self._before(cell)
            runs = {run.name: run for run in before if run.file not in forgotten[cell]}
            runs |= self._fresh.pop(cell, {})
            totals[0] += bool(runs) - bool(before)
            totals[1] += len(runs) - len(before)
            data = encode_runs(runs.values())
            rows.append((self._root, cell, data, checksum(data, cell)))
        totals[2] += 1
        self._write(rows, totals)

    def _read(self, path: str, state: tuple[int, int]) -> None:
        full = self._store.folder / path
        batches = self._store.batches
        entry = batches.read_indexed(full) if path.startswith(BATCHES) else self._store.read(full)
        asked = "INSERT INTO files VALUES (NULL, ?, ?, ?, ?, ?, ?)"
        fault = entry.message if isinstance(entry, Fault) else None
        newest = None if isinstance(entry, Fault) else _newest(entry).timestamp()
        values = (self._root, path, *state, newest, fault)
        number = self._connection.execute(asked, values).lastrowid or 0
        if isinstance(entry, Fault):
            return
        if isinstance(entry, Record):
            run = self._keeper.run_of_record(entry, full.name, number)
            self._fresh[entry.cell][run.name] = run
            return
        try:
            runs = self._keeper.runs(entry, number)
        except ValueError as trouble:
            asked = "UPDATE files SET fault = ? WHERE id = ?"
            self._connection.execute(asked, (str(trouble), number))
            return
        for cell, run in runs:
            self._fresh[cell][run.name] = run

    def _before(self, cell: str) -> list[KeptRun]:
        asked = "SELECT runs, sum FROM cells WHERE root = ? AND cell = ?"
        row = self._connection.execute(asked, (self._root, cell)).fetchone()
        return [] if row is None else sound_runs(cell, *row)

    def _totals(self) -> list[int]:
        asked = "SELECT cells, runs, changes FROM totals WHERE root = ?"
        return list(self._connection.execute(asked, (self._root,)).fetchone() or (0, 0, 0))

    def _write(self, rows: Iterable[tuple[str, str, bytes, int]], totals: Sequence[int]) -> None:
        """Write the rows of cells, drop those without runs, and keep the facts that are new."""
        many = self._connection.executemany
        every = list(rows)
        for table in ("cells", "kept"):
            many(f"DELETE FROM {table} WHERE root = ? AND cell = ?", (row[:2] for row in every))
        many(
            "INSERT INTO cells VALUES (NULL, ?, ?, ?, ?)",
            (row for row in every if row[2] != _NO_RUNS),
        )
        facts = ((number, fact, checksum(fact)) for number, fact in self._keeper.new)
        many("INSERT INTO facts VALUES (?, ?, ?)", facts)
        asked = "INSERT OR REPLACE INTO totals VALUES (?, ?, ?, ?)"
        self._connection.execute(asked, (self._root, *totals))


def _newest(entry: Record | IndexedBatch) -> datetime.datetime:
    return entry.started if isinstance(entry, Record) else entry.newest


def sound_runs(cell: str, data: bytes, told_sum: int) -> list[KeptRun]:
    """Return the runs of a cell's row; raise sqlite3.Error when it is damaged."""
    try:
        if checksum(data, cell) == told_sum:
            return decode_runs(data)
    except (TypeError, ValueError):
        pass
    raise sqlite3.DatabaseError("a row of the index is damaged")


def sound_fact(fact: bytes, told_sum: int) -> bytes:
    """Return the fact; raise sqlite3.Error when it is damaged."""
    if not isinstance(fact, bytes) or checksum(fact) != told_sum:
        raise sqlite3.DatabaseError("a fact of the index is damaged")
    return fact
