"""SQLite over the record files, for reading at scale: it holds nothing that they do not, and can be thrown away."""

import contextlib
import datetime
import sqlite3
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import msgspec

from compat.errors import Fault, RecordError
from compat.results.files import RecordFiles
from compat.results.record import Capability, Record
from compat.run.outcome import Outcome, Passed, parse_outcome

VERSION = 1
LOCK_SECONDS = 10.0  # how long another run may hold the index before this one does without
_TABLES = """
CREATE TABLE files (
    path TEXT PRIMARY KEY, root TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    place TEXT NOT NULL, fault TEXT
) WITHOUT ROWID;
CREATE TABLE records (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE REFERENCES files(path) ON DELETE CASCADE,
    root TEXT NOT NULL, matrix TEXT NOT NULL, cell TEXT NOT NULL, started TEXT NOT NULL,
    outcome TEXT NOT NULL, stage TEXT NOT NULL, cause TEXT NOT NULL, subject TEXT NOT NULL,
    seconds REAL NOT NULL, lock_digest TEXT NOT NULL, suite_digest TEXT NOT NULL,
    attempts TEXT NOT NULL, told BLOB NOT NULL
);
CREATE INDEX by_cell ON records (root, cell, started);
CREATE TABLE capabilities (
    record INTEGER NOT NULL REFERENCES records(id) ON DELETE CASCADE, id TEXT NOT NULL, status TEXT NOT NULL,
    PRIMARY KEY (record, id)
) WITHOUT ROWID;
CREATE INDEX by_capability ON capabilities (id, status);
"""
_COLUMNS = "path, cell, started, outcome, seconds, lock_digest, suite_digest, attempts, told"
_capabilities = msgspec.msgpack.Decoder(tuple[Capability, ...])
_attempts = msgspec.json.Decoder(tuple[str, ...])
_outcome = lru_cache(maxsize=10_000)(parse_outcome)


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A run as the index has it: enough for a verdict, without its file. `told` is decoded when it is asked for."""

    path: str
    cell: str
    started: datetime.datetime
    outcome: Outcome
    seconds: float
    lock_digest: str
    suite_digest: str
    attempts: str
    told: bytes

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """What each attempt came to."""
        return tuple(map(_outcome, _attempts.decode(self.attempts)))

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        """What each capability came to."""
        return _capabilities.decode(self.told)


class Index:
    """The records of any number of matrices. Where the file cannot be used, the index is made anew in memory."""

    def __init__(self, path: Path | None) -> None:
        """Open the index at that path, or one in memory; a damaged one, or one of another version, is made anew."""
        self._path = path
        self._connection = _opened(path)

    def refresh(self, store: RecordFiles) -> int:
        """Read what is new or changed among the store's files, forget what is gone; return how many files that were."""
        for place in (self._path, None):
            try:
                return self._refresh(store)
            except sqlite3.Error as fault:  # locked for too long, damaged, or the disk is full
                self._connection.close()
                if place is not None and "locked" not in str(fault):
                    _remove(place)
                self._connection = _opened(place)
        return self._refresh(store)

    def cells(self, store: RecordFiles) -> tuple[str, ...]:
        """Return the ids of the cells that have records, sorted."""
        asked = "SELECT DISTINCT cell FROM records WHERE root = ? ORDER BY cell"
        return tuple(cell for (cell,) in self._connection.execute(asked, (str(store.folder),)))

    def runs(self, store: RecordFiles) -> tuple[Row, ...]:
        """Return all runs of the matrix, by cell and time."""
        return tuple(self._rows("root = ? ORDER BY cell, started, path", str(store.folder)))

    def runs_of(self, store: RecordFiles, cell: str) -> tuple[Row, ...]:
        """Return the runs of one cell, by time."""
        return tuple(self._rows("root = ? AND cell = ? ORDER BY started, path", str(store.folder), cell))

    def latest(self, store: RecordFiles) -> tuple[Row, ...]:
        """Return the newest run of each cell, by cell."""
        newest = {row.cell: row for row in self.runs(store)}
        return tuple(newest.values())

    def faults(self, store: RecordFiles) -> tuple[Fault, ...]:
        """Return what was wrong with the files that are no sound records, when they were last read."""
        asked = "SELECT place, fault FROM files WHERE root = ? AND fault IS NOT NULL ORDER BY path"
        rows = self._connection.execute(asked, (str(store.folder),))
        return tuple(Fault(code=RecordError.code, path=place, message=fault) for place, fault in rows)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _rows(self, where: str, *values: str) -> Iterator[Row]:
        query = f"SELECT {_COLUMNS} FROM records WHERE {where}"
        for path, cell, started, outcome, seconds, lock, suite, attempts, told in self._connection.execute(
            query, values
        ):
            yield Row(
                path=path,
                cell=cell,
                started=datetime.datetime.fromisoformat(started),
                outcome=_outcome(outcome),
                seconds=seconds,
                lock_digest=lock,
                suite_digest=suite,
                attempts=attempts,
                told=told,
            )

    def _refresh(self, store: RecordFiles) -> int:
        root = str(store.folder)
        asked = "SELECT path, size, mtime_ns FROM files WHERE root = ?"
        known = {path: tuple(state) for path, *state in self._connection.execute(asked, (root,))}
        found = {str(path): state for path, state in store.states()}
        gone = known.keys() - found.keys()
        changed = [path for path, state in found.items() if known.get(path) != state]
        if gone or changed:
            with _transaction(self._connection):
                self._forget([*gone, *changed])
                for path in changed:
                    self._keep(store, root, Path(path), found[path])
        return len(gone) + len(changed)

    def _forget(self, paths: Iterable[str]) -> None:
        self._connection.executemany("DELETE FROM files WHERE path = ?", ((path,) for path in paths))

    def _keep(self, store: RecordFiles, root: str, path: Path, state: tuple[int, int]) -> None:
        read = store.read(path)
        fault = read.message if isinstance(read, Fault) else None
        place = read.path if isinstance(read, Fault) else store.name(path)
        self._connection.execute("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?)", (str(path), root, *state, place, fault))
        if isinstance(read, Record):
            self._keep_record(root, path, read)

    def _keep_record(self, root: str, path: Path, record: Record) -> None:
        outcome = record.outcome
        parts = ("", "", "") if isinstance(outcome, Passed) else (outcome.stage, outcome.cause, outcome.subject)
        started = record.started.isoformat(timespec="microseconds")
        cursor = self._connection.execute(
            "INSERT INTO records VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                str(path), root, record.matrix, record.cell, started, str(outcome), *parts,
                record.seconds, record.lock_digest, record.suite_digest,
                msgspec.json.encode([str(one) for one in record.outcomes]).decode(),
                msgspec.msgpack.encode(record.capabilities),
            ),
        )  # fmt: skip
        rows = ((cursor.lastrowid, one.id, one.status) for one in record.capabilities)
        self._connection.executemany("INSERT INTO capabilities VALUES (?, ?, ?)", rows)


def _opened(path: Path | None) -> sqlite3.Connection:
    if path is None:
        return _prepared(":memory:")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return _prepared(path)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
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
    """A connection to an index of our version that can be written now; raises sqlite3.Error otherwise."""
    connection = sqlite3.connect(place, timeout=LOCK_SECONDS, isolation_level=None)
    try:
        if _version(connection) != VERSION:
            _make_anew(connection)
        if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise sqlite3.DatabaseError("the index is damaged")
        connection.execute("PRAGMA foreign_keys = ON")
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
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            connection.execute(f'DROP TABLE IF EXISTS "{name}"')
        for statement in _TABLES.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
