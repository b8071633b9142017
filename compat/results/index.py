"""SQLite over the records, for reading at scale.

It holds nothing that they do not, and can be thrown away. A row holds all runs of one cell: a
question about one cell reads one row, and a new record writes one.
"""

import contextlib
import datetime
import hashlib
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from compat.errors import Fault, RecordError
from compat.results.index_update import IndexUpdate, sound_fact, sound_runs
from compat.results.record_batches import BATCHES
from compat.results.record_files import RecordFiles
from compat.results.run_row import FactTable, KeptRun, RunFacts, RunRow, checksum

VERSION = 8
LOCK_SECONDS = 10.0  # how long another run may hold the index before this one does without
# `root` stands for a matrix's folder, and `path` is below its `records/`: `<cell>/<file>`, or that
# of a batch. `newest` is when the last run of a file started, in seconds since 1970. `totals` says
# how many cells and runs a matrix must have here, and how often that changed. `kept` has what
# follows from a cell's runs, and goes with them.
_TABLES = """
CREATE TABLE files (
    id INTEGER PRIMARY KEY, root TEXT NOT NULL, path TEXT NOT NULL, size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL, newest REAL, fault TEXT, UNIQUE (root, path)
);
CREATE TABLE cells (
    id INTEGER PRIMARY KEY, root TEXT NOT NULL, cell TEXT NOT NULL, runs BLOB NOT NULL,
    sum INTEGER NOT NULL, UNIQUE (root, cell)
);
CREATE TABLE totals (
    root TEXT PRIMARY KEY, cells INTEGER NOT NULL, runs INTEGER NOT NULL, changes INTEGER NOT NULL
);
CREATE TABLE kept (
    root TEXT NOT NULL, cell TEXT NOT NULL, kind TEXT NOT NULL, digest BLOB NOT NULL,
    fact BLOB NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY (root, cell, kind)
) WITHOUT ROWID;
CREATE TABLE facts (id INTEGER PRIMARY KEY, fact BLOB NOT NULL, sum INTEGER NOT NULL);
"""
T = TypeVar("T")
# What a damaged index raises: of its own, or because its texts are none any more.
_DAMAGE = (sqlite3.Error, UnicodeDecodeError)


class RecordIndex:
    """The records of any number of matrices.

    Where the file cannot be used, the index is made anew in memory. Threads may share one: they
    read in turn.
    """

    def __init__(self, path: Path | None) -> None:
        """Open the index at that path, or one in memory.

        A damaged one, or one of another version, is made anew.
        """
        self._path = path
        self._turn = threading.RLock()
        self._open(path)

    def refresh(self, store: RecordFiles) -> int:
        """Read what changed among the store's files; return how many files that were."""
        with self._turn:
            for place in (self._path, None):
                try:
                    return self._refresh(store)
                except _DAMAGE as fault:  # locked for too long, damaged, or the disk is full
                    self._renew(place, keep="locked" in str(fault))
            return self._refresh(store)

    def runs(self, store: RecordFiles) -> tuple[RunRow, ...]:
        """Return all runs of the matrix, by cell and time.

        An index that lies about them is made anew.
        """
        return tuple(row for rows in self.every_row(store).values() for row in rows)

    def every_row(self, store: RecordFiles) -> dict[str, tuple[RunRow, ...]]:
        """Read all runs of each cell, oldest first, by cell."""
        return self._sound(store, lambda: self._every_row(store))

    def changes(self, store: RecordFiles) -> int:
        return self._sound(store, lambda: self._changes(_root(store)))

    def kept(self, store: RecordFiles, kind: str, changes: int) -> dict[str, tuple[bytes, bytes]]:
        """Return what is kept of that kind, by cell, with the digest of what it follows from;
        nothing where the runs have changed since that many changes.
        """
        asked = "SELECT cell, digest, fact, sum FROM kept WHERE root = ? AND kind = ?"
        root = _root(store)

        def read() -> dict[str, tuple[bytes, bytes]]:
            with _transaction(self._connection, "DEFERRED"):
                rows = self._execute(asked, root, kind) if self._changes(root) == changes else []
            return {cell: (digest, sound_fact(fact, crc)) for cell, digest, fact, crc in rows}

        return self._sound(store, read)

    def kept_of(
        self, store: RecordFiles, kind: str, changes: int, cell: str
    ) -> tuple[bytes, bytes] | None:
        """Return what `kept` has of one cell; None where that is nothing."""
        asked = (
            "SELECT digest, fact, sum FROM kept JOIN totals USING (root)"
            " WHERE root = ? AND cell = ? AND kind = ? AND changes = ?"
        )

        def read() -> tuple[bytes, bytes] | None:
            rows = self._execute(asked, _root(store), cell, kind, changes)
            return next(((digest, sound_fact(*row)) for digest, *row in rows), None)

        return self._sound(store, read)

    def keep(
        self,
        store: RecordFiles,
        kind: str,
        changes: int,
        facts: Sequence[tuple[str, bytes, bytes]],
    ) -> None:
        """Keep what follows from the runs of cells, each with a digest; nothing where the runs have
        changed since, or another run writes now.
        """
        root = _root(store)
        rows = [(root, cell, kind, digest, f, checksum(f)) for cell, digest, f in facts]
        with self._turn, contextlib.suppress(sqlite3.Error):
            self._connection.execute("PRAGMA busy_timeout = 0")
            try:
                with _transaction(self._connection):
                    if self._changes(root) == changes:
                        asked = "INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?, ?, ?)"
                        self._connection.executemany(asked, rows)
            finally:
                self._connection.execute(f"PRAGMA busy_timeout = {int(LOCK_SECONDS * 1000)}")

    def told(self, store: RecordFiles, number: int) -> RunFacts:
        return self._sound(store, lambda: self._facts.told(number))

    def of_cell(self, store: RecordFiles, cell: str) -> tuple[RunRow, ...]:
        """Return the runs of one cell, oldest first."""
        return self._sound(store, lambda: self._row_of(cell, self._kept(_root(store), cell)))

    def cells(self, store: RecordFiles) -> tuple[str, ...]:
        """Return the ids of the cells that have runs, sorted."""
        return self._sound(store, lambda: self._cells(_root(store)))

    def cell_count(self, store: RecordFiles) -> int:
        asked = "SELECT count(*) FROM cells WHERE root = ?"
        root = _root(store)

        def read() -> int:
            with _transaction(self._connection, "DEFERRED"):
                ((cells,),) = self._execute(asked, root)
                self._check_cells(root, cells)
            return int(cells)

        return self._sound(store, read)

    def has(self, store: RecordFiles, cell: str) -> bool:
        """Return whether a cell has runs."""
        asked = "SELECT 1 FROM cells WHERE root = ? AND cell = ?"
        return self._sound(store, lambda: bool(self._execute(asked, _root(store), cell)))

    def batches(self, store: RecordFiles, cell: str) -> tuple[Path, ...]:
        return tuple(path for path in self.files_on(store, cell) if path.parent.name == BATCHES)

    def files_on(
        self, store: RecordFiles, cell: str, lock_digest: str | None = None
    ) -> tuple[Path, ...]:
        """Return the files that hold runs of a cell, on a lock or on any, those of the newest runs
        first.
        """
        root = _root(store)

        def read() -> tuple[Path, ...]:
            runs = sorted(self._kept(root, cell), key=lambda run: run.started, reverse=True)
            on_lock = (run for run in runs if lock_digest in (None, run.lock_digest))
            numbers = dict.fromkeys(run.file for run in on_lock)
            asked = "SELECT path FROM files WHERE id = ?"
            rows = (row for number in numbers for row in self._execute(asked, number))
            return tuple(store.folder / path for (path,) in rows)

        return self._sound(store, read)

    def faults(self, store: RecordFiles) -> tuple[Fault, ...]:
        """Return what was wrong with unsound records when they were last read."""
        asked = "SELECT path, fault FROM files WHERE root = ? AND fault IS NOT NULL ORDER BY path"
        rows = self._sound(
            store, lambda: self._connection.execute(asked, (_root(store),)).fetchall()
        )
        return tuple(
            Fault(code=RecordError.code, path=store.name(store.folder / path), message=fault)
            for path, fault in rows
        )

    def damaged(self, store: RecordFiles, now: datetime.datetime) -> tuple[Fault, ...]:
        """Return what is wrong in the store, stray files and future dates included; only a file
        of which the index knows nothing is read.
        """
        asked = "SELECT path, newest, fault FROM files WHERE root = ?"
        rows = self._sound(store, lambda: self._execute(asked, _root(store)))
        newest = {path: (moment, fault) for path, moment, fault in rows}

        def known(name: str) -> datetime.datetime | Fault | None:
            moment, fault = newest.get(name, (None, None))
            if fault is not None:
                path = store.name(store.folder / name)
                return Fault(code=RecordError.code, path=path, message=fault)
            return moment and datetime.datetime.fromtimestamp(moment, datetime.timezone.utc)

        return store.damaged(now, known)

    def close(self) -> None:
        """Close the file."""
        with self._turn:
            self._connection.close()

    def _renew(self, place: Path | None, *, keep: bool = False) -> None:
        self._connection.close()
        if place is not None and not keep:
            _remove(place)
        self._open(place)

    def _open(self, place: Path | None) -> None:
        self._connection = _opened(place)
        self._facts = FactTable(self._fact)

    def _sound(self, store: RecordFiles, read: Callable[[], T]) -> T:
        with self._turn:
            for place in (self._path, None):
                with contextlib.suppress(*_DAMAGE):
                    return read()
                self._renew(place)
                self.refresh(store)
            return read()

    def _execute(self, asked: str, *values: str | int) -> list[tuple[Any, ...]]:
        return self._connection.execute(asked, values).fetchall()

    def _cells(self, root: str) -> tuple[str, ...]:
        """The ids of the cells that have runs; raises sqlite3.Error when some are lacking."""
        with _transaction(self._connection, "DEFERRED"):
            asked = "SELECT cell FROM cells WHERE root = ? ORDER BY cell"
            cells = tuple(cell for (cell,) in self._execute(asked, root))
            self._check_cells(root, len(cells))
        return cells

    def _check_cells(self, root: str, cells: int) -> None:
        totals = self._execute("SELECT cells FROM totals WHERE root = ?", root)
        if totals != [(cells,)] and (totals or cells):
            raise sqlite3.DatabaseError("the index lacks cells")

    def _every_row(self, store: RecordFiles) -> dict[str, tuple[RunRow, ...]]:
        """The rows of the store; raises sqlite3.Error when one is damaged or lacking."""
        root = _root(store)
        asked = "SELECT cell, runs, sum FROM cells WHERE root = ? ORDER BY cell"
        with _transaction(self._connection, "DEFERRED"):
            rows = {
                cell: tuple(self._facts.row(cell, run) for run in sound_runs(cell, data, told_sum))
                for cell, data, told_sum in self._connection.execute(asked, (root,))
            }
            totals = self._execute("SELECT cells, runs FROM totals WHERE root = ?", root)
        if totals != [(len(rows), sum(map(len, rows.values())))] and (totals or rows):
            raise sqlite3.DatabaseError("the index lacks runs")
        return rows

    def _row_of(self, cell: str, kept: Iterable[KeptRun]) -> tuple[RunRow, ...]:
        return tuple(self._facts.row(cell, run) for run in kept)

    def _kept(self, root: str, cell: str) -> list[KeptRun]:
        """The runs of a cell as they are kept; raises sqlite3.Error when its row is damaged."""
        asked = "SELECT runs, sum FROM cells WHERE root = ? AND cell = ?"
        return [run for row in self._execute(asked, root, cell) for run in sound_runs(cell, *row)]

    def _changes(self, root: str) -> int:
        rows = self._execute("SELECT changes FROM totals WHERE root = ?", root)
        return int(rows[0][0]) if rows else 0

    def _fact(self, number: int) -> bytes:
        asked = "SELECT fact, sum FROM facts WHERE id = ?"
        row = self._connection.execute(asked, (number,)).fetchone()
        if row is None:
            raise sqlite3.DatabaseError("the index lacks a fact")
        return sound_fact(*row)

    def _refresh(self, store: RecordFiles) -> int:
        root = _root(store)
        asked = "SELECT path, id, size, mtime_ns FROM files WHERE root = ?"
        rows = self._execute(asked, root)
        known: dict[str, tuple[int, ...]] = {path: tuple(state) for path, *state in rows}
        # Before the batches: what is put into one meanwhile is found there.
        present = dict(store.states())
        present |= {f"{BATCHES}/{path.name}": state for path, state in store.batches.states()}
        gone = known.keys() - present.keys()
        changed = [path for path, state in present.items() if known.get(path, ())[1:] != state]
        if gone or changed:
            with _transaction(self._connection):
                spoilt = gone.union(known.keys() & set(changed))
                if any(path.startswith(BATCHES) for path in spoilt):
                    # Only a checkout of another state takes one away. What it held may stand
                    # elsewhere, too, so everything is read again.
                    self._forget(root)
                    known, gone, changed = {}, set(), list(present)
                old = {path: known[path][0] for path in (*gone, *changed) if path in known}
                IndexUpdate(self._connection, store, root).apply(
                    old, {path: present[path] for path in changed}
                )
            self._facts = FactTable(self._fact)
        return len(gone) + len(changed)

    def _forget(self, root: str) -> None:
        for table in ("files", "cells", "kept"):
            self._execute(f"DELETE FROM {table} WHERE root = ?", root)
        self._execute("UPDATE totals SET cells = 0, runs = 0 WHERE root = ?", root)


def _root(store: RecordFiles) -> str:
    folder = str(store.folder.absolute()).encode(errors="surrogateescape")
    return hashlib.sha256(folder).hexdigest()[:16]


def _opened(path: Path | None) -> sqlite3.Connection:
    if path is None:
        return _prepared(":memory:")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return _prepared(path)
        except sqlite3.OperationalError:
            raise
        except (sqlite3.DatabaseError, UnicodeDecodeError):
            _remove(path)
            return _prepared(path)
    except (OSError, sqlite3.Error):
        return _prepared(":memory:")


def _remove(path: Path) -> None:
    """Remove the index with its journal, which would spoil the next one."""
    for leftover in (path, path.with_name(f"{path.name}-journal")):
        with contextlib.suppress(OSError):
            leftover.unlink()


def _prepared(place: Path | str) -> sqlite3.Connection:
    """A connection to an index of our version that can be written now; raises sqlite3.Error
    otherwise.
    """
    # The thread that opened it need not be the one that asks; RecordIndex lets in one at a time.
    connection = sqlite3.connect(
        place, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        if _version(connection) != VERSION:
            _make_anew(connection)
        connection.execute("PRAGMA synchronous = OFF")
        return connection
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.close()
        raise


def _make_anew(connection: sqlite3.Connection) -> None:
    with _transaction(connection):
        if _version(connection) == VERSION:  # another run was faster
            return
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        ).fetchall():
            connection.execute(f'DROP TABLE IF EXISTS "{name}"')
        for statement in _TABLES.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    connection.execute(f"BEGIN {kind}")
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
