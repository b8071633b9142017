"""SQLite over the record files, for reading at scale.

It holds nothing that they do not, and can be thrown away.
"""

import contextlib
import datetime
import hashlib
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from compat.declare.suite_table import Tier
from compat.errors import Fault, RecordError
from compat.results.record import Capability, Record
from compat.results.record_files import RecordFiles
from compat.run.evidence import Isolation, Metric
from compat.run.outcome import Outcome, Passed, parse_outcome
from compat.value import Value

VERSION = 6
LOCK_SECONDS = 10.0  # how long another run may hold the index before this one does without
# `root` stands for a matrix's folder, and `path` is below it: `<cell>/<file>`, which is ASCII
# whatever the root is.
_TABLES = """
CREATE TABLE files (
    root TEXT NOT NULL, path TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    fault TEXT,
    PRIMARY KEY (root, path)
) WITHOUT ROWID;
CREATE TABLE records (
    id INTEGER PRIMARY KEY, root TEXT NOT NULL, path TEXT NOT NULL, matrix TEXT NOT NULL,
    cell TEXT NOT NULL,
    started TEXT NOT NULL, outcome TEXT NOT NULL, stage TEXT NOT NULL, cause TEXT NOT NULL,
    subject TEXT NOT NULL,
    seconds REAL NOT NULL, lock_digest TEXT NOT NULL, suite_digest TEXT NOT NULL,
    attempts TEXT NOT NULL,
    isolation TEXT NOT NULL, tier TEXT NOT NULL, told BLOB NOT NULL, sum INTEGER NOT NULL,
    UNIQUE (root, path), FOREIGN KEY (root, path) REFERENCES files (root, path) ON DELETE CASCADE
);
CREATE TABLE capabilities (
    record INTEGER NOT NULL REFERENCES records (id) ON DELETE CASCADE, id TEXT NOT NULL,
    status TEXT NOT NULL,
    PRIMARY KEY (record, id)
) WITHOUT ROWID;
CREATE INDEX by_capability ON capabilities (id, status);
"""
_told = msgspec.msgpack.Decoder(tuple[tuple[Capability, ...], tuple[Metric, ...], tuple[str, ...]])
_attempts = msgspec.json.Decoder(tuple[str, ...])
# A verdict asks a row several times, and few rows differ: 42 among the 162 that are kept here. The
# number bounds the memory; 132 capabilities take some 60 kB.
_decoded = lru_cache(maxsize=1_000)(_told.decode)
T = TypeVar("T")
_outcome = lru_cache(maxsize=10_000)(parse_outcome)


class RunRow(Value, frozen=True, kw_only=True):
    """A run as the index has it: enough for a verdict, without its file.

    `told` is decoded when it is asked for.

    `path` is that of the record's file below the matrix's `records/`.
    """

    path: str
    cell: str
    started: datetime.datetime
    outcome: Outcome
    seconds: float
    lock_digest: str
    suite_digest: str
    attempts: str
    isolation: Isolation
    tier: Tier
    told: bytes

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """What each attempt came to."""
        return tuple(map(_outcome, _attempts.decode(self.attempts)))

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        """What each capability came to."""
        return _decoded(self.told)[0]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The numbers that it reports."""
        return _decoded(self.told)[1]

    @property
    def involved(self) -> tuple[str, ...]:
        """The packages that its outcome speaks of."""
        return _decoded(self.told)[2]


class RecordIndex:
    """The records of any number of matrices.

    Where the file cannot be used, the index is made anew in memory.
    """

    def __init__(self, path: Path | None) -> None:
        """Open the index at that path, or one in memory.

        A damaged one, or one of another version, is made anew.
        """
        self._path = path
        self._connection = _opened(path)

    def refresh(self, store: RecordFiles) -> int:
        """Read what changed among the store's files; return how many files that were."""
        for place in (self._path, None):
            try:
                return self._refresh(store)
            except sqlite3.Error as fault:  # locked for too long, damaged, or the disk is full
                self._renew(place, keep="locked" in str(fault))
        return self._refresh(store)

    def runs(self, store: RecordFiles) -> tuple[RunRow, ...]:
        """Return all runs of the matrix, by cell and time.

        An index that lies about them is made anew.
        """
        return self._sound(store, lambda: self._rows(store))

    def latest(self, store: RecordFiles) -> tuple[RunRow, ...]:
        """Return the newest run of each cell, by cell."""
        newest = {row.cell: row for row in self.runs(store)}
        return tuple(newest.values())

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

    def damaged(
        self, store: RecordFiles, runs: Mapping[str, Iterable[RunRow]], now: datetime.datetime
    ) -> tuple[Fault, ...]:
        """Return what is wrong in the store, stray files and future dates included; only a file
        of which neither the runs nor the index know anything is read.
        """
        started = {row.path: row.started for rows in runs.values() for row in rows}
        faults = {fault.path: fault for fault in self.faults(store)}

        def known(path: Path) -> datetime.datetime | Fault | None:
            moment = started.get(f"{path.parent.name}/{path.name}")
            return moment or faults.get(store.name(path))

        return store.damaged(now, known)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _renew(self, place: Path | None, *, keep: bool = False) -> None:
        self._connection.close()
        if place is not None and not keep:
            _remove(place)
        self._connection = _opened(place)

    def _sound(self, store: RecordFiles, read: Callable[[], T]) -> T:
        for place in (self._path, None):
            with contextlib.suppress(sqlite3.Error):
                return read()
            self._renew(place)
            self.refresh(store)
        return read()

    def _rows(self, store: RecordFiles) -> tuple[RunRow, ...]:
        """The rows of the store; raises sqlite3.Error when one is damaged or lacking."""
        where, values = "root = ?", (_root(store),)
        asked = (
            "SELECT path, cell, started, outcome, seconds, lock_digest, suite_digest, attempts,"
            f" isolation, tier, told, sum FROM records WHERE {where} ORDER BY cell, started, path"
        )
        rows = tuple(_row(*columns) for columns in self._connection.execute(asked, values))
        count = f"SELECT count(*) FROM files WHERE fault IS NULL AND {where}"
        if self._connection.execute(count, values).fetchone() != (len(rows),):
            raise sqlite3.DatabaseError("the index lacks records")
        return rows

    def _refresh(self, store: RecordFiles) -> int:
        root = _root(store)
        asked = "SELECT path, size, mtime_ns FROM files WHERE root = ?"
        known = {path: tuple(state) for path, *state in self._connection.execute(asked, (root,))}
        present = {f"{path.parent.name}/{path.name}": state for path, state in store.states()}
        gone = known.keys() - present.keys()
        changed = [path for path, state in present.items() if known.get(path) != state]
        if gone or changed:
            with _transaction(self._connection):
                self._forget(root, [*gone, *changed])
                for path in changed:
                    self._keep(store, path, present[path])
        return len(gone) + len(changed)

    def _forget(self, root: str, paths: Iterable[str]) -> None:
        asked = "DELETE FROM files WHERE root = ? AND path = ?"
        self._connection.executemany(asked, ((root, path) for path in paths))

    def _keep(self, store: RecordFiles, path: str, state: tuple[int, int]) -> None:
        root, read = _root(store), store.read(store.folder / path)
        fault = read.message if isinstance(read, Fault) else None
        self._connection.execute(
            "INSERT INTO files VALUES (?, ?, ?, ?, ?)", (root, path, *state, fault)
        )
        if isinstance(read, Record):
            self._keep_record(root, path, read)

    def _keep_record(self, root: str, path: str, record: Record) -> None:
        outcome = record.outcome
        parts = (
            ("", "", "")
            if isinstance(outcome, Passed)
            else (outcome.stage, outcome.cause, outcome.subject)
        )
        started = record.started.isoformat(timespec="microseconds")
        attempts = msgspec.json.encode([str(outcome) for outcome in record.outcomes]).decode()
        facts = msgspec.msgpack.encode((record.capabilities, record.metrics, record.involved))
        digests = (record.lock_digest, record.suite_digest)
        known = (
            path,
            record.cell,
            started,
            str(outcome),
            record.seconds,
            *digests,
            attempts,
            record.isolation,
            record.tier,
            facts,
        )
        cursor = self._connection.execute(
            "INSERT INTO records VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                root,
                path,
                record.matrix,
                record.cell,
                started,
                str(outcome),
                *parts,
                record.seconds,
                *digests,
                attempts,
                record.isolation,
                record.tier,
                facts,
                _sum(*known),
            ),
        )
        rows = (
            (cursor.lastrowid, capability.id, capability.status)
            for capability in record.capabilities
        )
        self._connection.executemany("INSERT INTO capabilities VALUES (?, ?, ?)", rows)


def _root(store: RecordFiles) -> str:
    return hashlib.sha256(str(store.folder.absolute()).encode(errors="surrogateescape")).hexdigest()


def _row(*columns: Any) -> RunRow:
    *known, told_sum = columns
    if _sum(*known) != told_sum:
        raise sqlite3.DatabaseError("a row of the index is damaged")
    path, cell, started, outcome, seconds, *digests, attempts, isolation, tier, facts = known
    lock_digest, suite_digest = digests
    return RunRow(
        path=path,
        cell=cell,
        started=datetime.datetime.fromisoformat(started),
        outcome=_outcome(outcome),
        seconds=float(seconds),
        lock_digest=lock_digest,
        suite_digest=suite_digest,
        attempts=attempts,
        isolation=isolation,
        tier=tier,
        told=facts,
    )


def _sum(*known: object) -> int:
    """A checksum of what a row says: SQLite's own checks look at its pages' structure, not at
    what stands in them.
    """
    *texts, facts = known
    plain = "\0".join(map(str, texts)).encode()
    return zlib.crc32(facts if isinstance(facts, bytes) else b"", zlib.crc32(plain))


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
    """A connection to an index of our version that can be written now; raises sqlite3.Error
    otherwise.
    """
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
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
