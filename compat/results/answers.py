"""An SQLite cache of a matrix's runs and answers. Safe to delete: it is recomputed.

A file is never changed in place: changes are written to a copy, which then replaces the file. So
readers keep their opened file, no reader waits for a writer, and nobody reads the remains of a
killed writer.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from packaging.version import Version

from compat.declare.load import Declared
from compat.declare.matrix import Matrix
from compat.errors import CompatError, Fault, RecordError
from compat.index.release import Catalogue
from compat.lock.lockfile import locked_version
from compat.plan.cell import HEAD, Cell, Coordinate, Recipe
from compat.plan.plan import CellStatus, Feasible, Infeasible
from compat.results.answer import Answer
from compat.results.judge import EvaluationContext
from compat.results.learnt import PlainAnswer
from compat.results.record import Capability
from compat.results.record_files import DayFile, RecordFiles
from compat.results.runs import CellRuns, History, Run
from compat.results.snapshot import Snapshot, Untried
from compat.run.outcome import Failed, Outcome, Passed, parse_outcome
from compat.value import LazyMapping, decode_hook, encode_hook

# The table of capabilities by release in Markdown, with the cause of each `no`.


T = TypeVar("T")
VERSION = 6
# The number of cached days of a matrix: today, and one other.
_MOST_DAYS = 2
# `shared` has values that many rows share, `touched` the cells with runs newer than the answers.
# `derived` has what the answers follow from, and what follows from them. What `lasts` in it follows
# from sources of its own, whose digest it begins with.
_TABLES = """
CREATE TABLE files (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL, newest REAL, faults BLOB NOT NULL
);
CREATE TABLE runs (
    cell TEXT NOT NULL, name TEXT NOT NULL, file INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (cell, name)
) WITHOUT ROWID;
CREATE TABLE touched (cell TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE shared (id INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE derived (kind TEXT PRIMARY KEY, body BLOB NOT NULL, lasts INTEGER NOT NULL);
"""
_ANSWERS = """
DROP TABLE IF EXISTS answers;
CREATE TABLE answers (
    place INTEGER PRIMARY KEY, cell TEXT NOT NULL UNIQUE, recipe TEXT NOT NULL, {axes},
    planned INTEGER NOT NULL, lane INTEGER NOT NULL, known INTEGER NOT NULL,
    ruled_out INTEGER NOT NULL, kind TEXT NOT NULL, expected TEXT, body BLOB NOT NULL
);
CREATE INDEX releases ON answers ({release});
"""
# Raised by a damaged file or damaged content.
_DAMAGE = (sqlite3.Error, msgspec.MsgspecError, UnicodeDecodeError)


class Sources(NamedTuple):
    """Inputs of answers besides runs: the digests of matrix, catalogue and code; of the suite and
    the day; of the resolvers' answers; and the state of each cell's lock.
    """

    plan: bytes
    judging: bytes
    learnt: bytes
    locks: dict[str, str]


class Before(NamedTuple):
    """What still holds: the plan's statuses, if so, and answers, by their runs and locks."""

    fates: tuple[CellStatus, ...] | None = None
    entries: Mapping[str, Answer] = {}
    locked: Mapping[str, Answer] = {}


class AnswerTable:
    """The table of a matrix on a day, in memory if its file is unusable. Threads may share it."""

    def __init__(self, folder: Path | None, store: RecordFiles, day: datetime.date) -> None:
        root = os.fsencode(store.folder.absolute())
        self._prefix = f"{store.matrix}-{hashlib.sha256(root).hexdigest()[:16]}"
        self._path = None if folder is None else folder / f"{self._prefix}-{day}.sqlite"
        self._store = store
        self._answers: Callable[[], None] = lambda: None
        self._turn = threading.RLock()
        self._forget()
        self._connection = self._opened()

    def refresh(self) -> int:
        """Read changed files of records or a newer table; return the number of changed files."""
        with self._turn:
            self._connection.close()
            self._forget()
            self._connection = self._opened()
            try:
                return self._read_records()
            except _DAMAGE:
                self._renew()
                return self._read_records()

    def close(self) -> None:
        with self._turn:
            self._connection.close()

    def answer(
        self, sources: Sources, matrix: Matrix, derive: Callable[[Before], Snapshot]
    ) -> None:
        def answered() -> None:
            body = self.derived("sources")
            before = None if body is None else msgspec.msgpack.decode(body, type=Sources)
            if before != sources or self.execute("SELECT 1 FROM touched"):
                self._derive(sources, matrix, before, derive)

        with self._turn:
            self._answers = lambda: None
            self.ask(answered)
            self._answers = answered

    def ask(self, read: Callable[[], T]) -> T:
        with self._turn:
            try:
                return read()
            except _DAMAGE:
                self._renew()
                self._read_records()
                self._answers()
                return read()

    def rows(self, asked: str, *values: object) -> list[tuple[Any, ...]]:
        return self.ask(lambda: self.execute(asked, *values))

    @property
    def runs(self) -> Mapping[str, CellRuns]:
        """The runs of each cell, read on first use."""

        def cells() -> list[str]:
            cells = [cell for (cell,) in self.execute("SELECT DISTINCT cell FROM runs")]
            if not all(isinstance(cell, str) for cell in cells):
                raise sqlite3.DatabaseError("a row is damaged")
            return cells

        def read(cell: str) -> tuple[Run, ...]:
            if not (runs := self.runs_of(cell)):
                message = f"the records of {cell} were taken away while they were read"
                raise CompatError.of(message, hint="ask again")
            return runs

        every: LazyMapping[CellRuns] = LazyMapping(
            lambda: self.ask(cells),
            lambda cell: CellRuns(partial(read, cell)) if cell in every else None,
        )
        return every

    def runs_of(self, cell: str) -> tuple[Run, ...]:
        return tuple(run for run, _ in self._located(cell))

    def files_on(self, cell: str, lock_digest: str | None = None) -> tuple[Path, ...]:
        on_lock = (
            file
            for run, file in reversed(self._located(cell))
            if lock_digest in (None, run.lock_digest)
        )
        asked = "SELECT path FROM files WHERE id = ?"
        rows = (row for number in dict.fromkeys(on_lock) for row in self.rows(asked, number))
        return tuple(self._store.path(name) for (name,) in rows)

    def damaged(self, now: datetime.datetime) -> tuple[Fault, ...]:
        """The faults of the matrix's own files, as they were read. No file is changed."""
        asked = "SELECT path, newest, faults FROM files WHERE path NOT LIKE '%/%'"
        faults = list(self._store.strange())
        for path, newest, body in self.rows(asked):
            faults += _decoder(list[Fault]).decode(body)
            if newest is not None and newest > now.timestamp():
                moment = datetime.datetime.fromtimestamp(newest, datetime.timezone.utc)
                message = f"has a start time in the future, {moment.isoformat()}"
                place = self._store.name(self._store.path(path))
                faults.append(Fault(code=RecordError.code, path=place, message=message))
        return tuple(sorted(faults, key=lambda fault: fault.path.partition(":")[0]))

    def derived(self, kind: str) -> bytes | None:
        asked = "SELECT body FROM derived WHERE kind = ?"
        return self.ask(lambda: next((_sound(body) for (body,) in self.execute(asked, kind)), None))

    def keep(self, kind: str, body: bytes, *, lasts: bool = False) -> None:
        asked = "INSERT OR REPLACE INTO derived VALUES (?, ?, ?)"
        self._change(lambda connection: connection.execute(asked, (kind, _sealed(body), lasts)))

    def of(self, kind: str, sources: Iterable[bytes], make: Callable[[], bytes]) -> bytes:
        """Return what `make` makes of the sources alone, whatever the answers."""
        each = b"".join(hashlib.sha256(source).digest() for source in sources)
        digest, body = hashlib.sha256(each).digest(), self.derived(kind) or b""
        if not body.startswith(digest):
            body = digest + make()
            self.keep(kind, body, lasts=True)
        return body[len(digest) :]

    def shared(self, number: int, name: str) -> Any:
        if (number, name) not in self._shared:
            rows = self.execute("SELECT body FROM shared WHERE id = ?", number)
            if not rows:
                raise sqlite3.DatabaseError("a shared row is lacking")
            self._shared[number, name] = _decoder(_SHARED[name]).decode(_sound(rows[0][0]))
        return self._shared[number, name]

    def _located(self, cell: str) -> list[tuple[Run, int]]:
        asked = "SELECT body, file FROM runs WHERE cell = ? ORDER BY name"

        def read() -> list[tuple[Run, int]]:
            rows = self.execute(asked, cell)
            return [(_run(cell, _sound(body), self.shared), file) for body, file in rows]

        return sorted(self.ask(read), key=lambda located: located[0].started)

    def execute(self, asked: str, *values: object) -> list[tuple[Any, ...]]:
        return self._connection.execute(asked, values).fetchall()

    def _forget(self) -> None:
        self._shared: dict[tuple[int, str], Any] = {}

    def _opened(self) -> sqlite3.Connection:
        """The file, else the runs and plan of another day's, else an empty table in memory."""
        for path in self._files:
            with suppress(*_DAMAGE, OSError):
                connection = _read_only(path)
                with suppress(*_DAMAGE):
                    if connection.execute("PRAGMA user_version").fetchone() == (VERSION,):
                        connection.execute("SELECT kind FROM derived").fetchone()
                        return connection
                connection.close()
        memory = sqlite3.connect(":memory:", check_same_thread=False)
        memory.executescript(_TABLES)
        memory.execute(f"PRAGMA user_version = {VERSION}")
        return memory

    @property
    def _files(self) -> list[Path]:
        if self._path is None:
            return []
        beside = sorted(self._path.parent.glob(f"{self._prefix}-*.sqlite"), key=_changed_at)
        return [path for path in (self._path, *reversed(beside)) if _changed_at(path)]

    def _renew(self) -> None:
        self._connection.close()
        self._forget()
        for path in self._files:
            with suppress(OSError):
                path.unlink()
        self._connection = self._opened()

    def _change(self, change: Callable[[sqlite3.Connection], object]) -> None:
        """Write a change into a copy that replaces the file; into one in memory if that fails."""
        with self._turn:
            try:
                self._replace(change)
            except (OSError, sqlite3.Error):
                memory = sqlite3.connect(":memory:", check_same_thread=False)
                self._connection.backup(memory)
                with memory:
                    change(memory)
                self._connection.close()
                self._connection = memory

    def _replace(self, change: Callable[[sqlite3.Connection], object]) -> None:
        if self._path is None:
            raise OSError("there is no folder")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_name(f".{self._path.name}-{os.getpid()}-{os.urandom(4).hex()}")
        try:
            with closing(sqlite3.connect(fresh)) as connection:
                connection.execute("PRAGMA journal_mode = OFF")
                connection.execute("PRAGMA synchronous = OFF")
                self._connection.backup(connection)
                with connection:
                    change(connection)
            # Before it gets its name, under which another process may put its own file.
            changed = _read_only(fresh)
            os.replace(fresh, self._path)
        finally:
            with suppress(OSError):
                fresh.unlink()
        for old in self._files[_MOST_DAYS:]:
            with suppress(OSError):
                old.unlink()
        self._connection.close()
        self._connection = changed

    def _read_records(self) -> int:
        known = {
            path: (number, state)
            for path, number, *state in self.execute("SELECT path, id, size, mtime_ns FROM files")
        }
        present = dict(self._store.states())
        gone = [path for path in known if path not in present]
        changed = {
            path: state
            for path, state in present.items()
            if path not in known or known[path][1] != list(state)
        }
        if gone or changed:
            numbers = [known[path][0] for path in gone]

            def read() -> Iterator[tuple[str, tuple[int, int], DayFile]]:
                for path, state in changed.items():
                    yield path, state, self._store.read(self._store.path(path))

            self._change(partial(_with_records, numbers=numbers, read=read))
        return len(gone) + len(changed)

    def _derive(
        self,
        sources: Sources,
        matrix: Matrix,
        last: Sources | None,
        derive: Callable[[Before], Snapshot],
    ) -> None:
        before = self._before(sources, matrix, last)
        known = derive(before)
        refuting = msgspec.msgpack.encode(sorted(known.attribution.refuting))
        if before.entries and refuting != self.derived("refuting"):
            # A declaration excuses failures in any release.
            known = derive(before._replace(entries={}))
        derived = {"sources": msgspec.msgpack.encode(sources), "refuting": refuting}
        self._change(partial(_with_answers, known=known, derived=derived))
        self._forget()

    def _before(self, sources: Sources, matrix: Matrix, last: Sources | None) -> Before:
        """The other cells of a release decide who is at fault: one change judges all again."""
        if last is None or last.plan != sources.plan:
            return Before()
        entries = AnswerReader(self, matrix, datetime.date.min).entries("1")
        fates = tuple(
            Feasible(cell=e.cell)
            if e.obstacle is None
            else Infeasible(cell=e.cell, obstacle=e.obstacle)
            for e in entries
            if e.planned and not e.cell.is_variant
        )
        alike = {cell for cell, lock in sources.locks.items() if last.locks.get(cell) == lock}
        locked = {e.cell.id: e for e in entries if e.cell.id in alike}
        if last.judging != sources.judging:
            return Before(fates, {}, locked)
        touched = {cell for (cell,) in self.execute("SELECT cell FROM touched")}
        touched |= (sources.locks.keys() | last.locks.keys()) - alike
        column = [axis.name for axis in matrix.axes].index(matrix.subject)
        releases = {
            parts[column]
            for parts in (cell.partition("+")[0].split("-") for cell in touched)
            if len(parts) == len(matrix.axes)
        }
        judged = {
            e.cell.id: e
            for e in entries
            if e.latest is not None and e.cell.coordinates[column].text not in releases
        }
        return Before(fates, judged, locked)


# The body of an answer: its outcome, the fields of `_LIKE` as numbers of `shared`, and the others.
_LIKE = ("capabilities", "faults", "score", "helpers", "lifted", "untried", "obstacle")
_TYPES: dict[str, Any] = {field.name: field.type for field in msgspec.structs.fields(Answer)}
_OWN = tuple(name for name in _TYPES if name not in ("cell", "outcome", "history", *_LIKE))
_PASSED: dict[bool, Outcome | None] = {True: Passed(), False: None}
_REST = [_TYPES[name] for name in _OWN]
_Row: Any = tuple[(Failed | bool, *([int] * len(_LIKE)), *_REST)]  # type: ignore[misc]


class AnswerReader:
    """Converts rows to entries; shared values are one object."""

    def __init__(self, table: AnswerTable, matrix: Matrix, day: datetime.date) -> None:
        self._table = table
        self._matrix = matrix
        self._day = day
        self._runs = table.runs
        self._coordinate = cache(self._coordinate_of)
        # Values that cells without a lock or a run share.
        self._nothing = History((), day)
        # Thousands of cells with nothing but a plan have equal bodies.
        self._alike = lru_cache(maxsize=4096)(self._fields)
        self._columns = ", ".join(("cell", "recipe", "body", *_columns(matrix).values()))

    def entries(self, where: str, *values: object) -> list[Answer]:
        asked = f"SELECT {self._columns} FROM answers WHERE {where} ORDER BY place"
        return self._table.ask(
            lambda: [self._answer(*row) for row in self._table.execute(asked, *values)]
        )

    def _coordinate_of(self, number: int, text: str) -> Coordinate:
        axis = self._matrix.axes[number]
        is_local, version = text == HEAD, Version("0" if text == HEAD else text)
        return Coordinate(axis=axis.name, short=axis.short, version=version, is_local=is_local)

    def _answer(self, cell_id: str, recipe: Recipe, body: bytes, *texts: str) -> Answer:
        cell = Cell(
            matrix=self._matrix.name,
            coordinates=tuple([self._coordinate(n, text) for n, text in enumerate(texts)]),
            recipe=recipe,
        )
        runs = self._runs.get(cell_id)
        history = History(runs, self._day) if runs else self._nothing
        return Answer(cell=cell, history=history, **self._alike(body))

    def _fields(self, body: bytes) -> dict[str, Any]:
        (outcome, *row), shared = _decoder(_Row).decode(_sound(body)), self._table.shared
        fields = {name: shared(n, name) for name, n in zip(_LIKE, row, strict=False)}
        fields["outcome"] = outcome if isinstance(outcome, Failed) else _PASSED[outcome]
        return fields | dict(zip(_OWN, row[len(_LIKE) :], strict=True))


class StoredSnapshot(Snapshot):
    """A snapshot in a table: an entry is read on first use."""

    def __init__(
        self,
        table: AnswerTable,
        declared: Declared,
        catalogue: Catalogue,
        present: EvaluationContext,
        plain: Callable[[], Mapping[str, PlainAnswer]],
    ) -> None:
        super().__init__(declared, catalogue, (), present)
        self._table = table
        self._answers = plain
        self._reader = AnswerReader(table, self.matrix, present.day)
        self._columns = _columns(self.matrix)
        self._by_id: dict[str, Answer | None] = {}

    @cached_property
    def plain(self) -> Mapping[str, PlainAnswer]:
        return {c: answer for c, answer in self._answers().items() if answer.on <= self.day}

    @cached_property
    def entries(self) -> tuple[Answer, ...]:
        return self._read("lane = 0")

    @cached_property
    def lanes(self) -> tuple[Answer, ...]:
        return self._read("lane = 1")

    @cached_property
    def checkout(self) -> tuple[Answer, ...]:
        return self._read("lane = 2")

    @cached_property
    def known(self) -> tuple[Answer, ...]:
        return self._read("known = 1 AND lane = 0")

    @cached_property
    def unanswered(self) -> tuple[Answer, ...]:
        return self._read("planned = 1 AND lane = 0 AND ifnull(expected, kind) = 'unknown'")

    @cached_property
    def by_id(self) -> Mapping[str, Answer]:
        def one(cell: str) -> Answer:
            if cell not in self._by_id:
                self._read("cell = ?", cell)
            if (entry := self._by_id.setdefault(cell, None)) is None:
                raise KeyError(cell)
            return entry

        return LazyMapping(
            lambda: (e.id for e in (*self.entries, *self.lanes, *self.checkout)), one
        )

    def _read(self, where: str, *values: object) -> tuple[Answer, ...]:
        entries = self._reader.entries(where, *values)
        every = []
        for entry in entries:
            before = self._by_id.get(entry.cell.id)
            if before is None:
                before = self._by_id[entry.cell.id] = entry
            every.append(before)
        return tuple(every)

    @cached_property
    def untried(self) -> tuple[Untried, ...]:
        where = "known = 0 AND lane = 0 AND planned = 1 AND ruled_out = 0"
        rows = self._table.rows(
            f"SELECT cell, kind, expected FROM answers WHERE {where} ORDER BY place"
        )
        return tuple((cell, kind, expected) for cell, kind, expected in rows)

    @cached_property
    def ruled_out(self) -> int:
        where = "planned = 1 AND lane = 0 AND ruled_out = 1"
        ((count,),) = self._table.rows(f"SELECT count(*) FROM answers WHERE {where}")
        return int(count)

    def having(self, versions: Mapping[str, Any], where: str = "lane = 0") -> Iterator[Answer]:
        conditions, values = [where], []
        for axis, wanted in versions.items():
            column = self._columns[axis]
            rows = self._table.rows(f"SELECT DISTINCT {column} FROM answers WHERE lane < 2")
            # By version: 2.14 equals 2.14.0, and only one of them is in the table.
            texts = [text for (text,) in rows if locked_version(text) in wanted]
            conditions.append(f"{column} IN ({', '.join('?' * len(texts))})")
            values += texts
        return iter(self._read(" AND ".join(conditions), *values))

    def known_on(self, axis: str, version: Version) -> Iterator[Answer]:
        return self.having({axis: (version,)}, "known = 1 AND lane = 0")

    def kept(self, kind: str, form: type[T], make: Callable[[], T]) -> T:
        body = self._table.derived(kind)
        if body is None:
            body = msgspec.msgpack.encode(make(), enc_hook=encode_hook)
            self._table.keep(kind, body)
        return msgspec.msgpack.decode(body, type=form, dec_hook=decode_hook)


class _Numbers:
    """Values that rows share, by number; a new one gets the next number."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._numbers: dict[bytes, int] = dict(connection.execute("SELECT body, id FROM shared"))

    def of(self, shared: object) -> int:
        body = _sealed(msgspec.msgpack.encode(shared))
        number = self._numbers.get(body)
        if number is None:
            number = self._numbers[body] = len(self._numbers) + 1
            self._connection.execute("INSERT INTO shared VALUES (?, ?)", (number, body))
        return number


def _with_records(
    connection: sqlite3.Connection,
    numbers: Sequence[int],
    read: Callable[[], Iterable[tuple[str, tuple[int, int], DayFile]]],
) -> None:
    touched: set[str] = set()
    for number in numbers:
        rows = connection.execute("SELECT DISTINCT cell FROM runs WHERE file = ?", (number,))
        touched.update(cell for (cell,) in rows)
        connection.execute("DELETE FROM runs WHERE file = ?", (number,))
        connection.execute("DELETE FROM files WHERE id = ?", (number,))
    shared = _Numbers(connection)
    for path, state, day in read():  # one in memory at a time
        newest = max((record.started.timestamp() for _, record in day.records), default=None)
        faults = msgspec.msgpack.encode(day.faults)
        asked = (
            "INSERT INTO files VALUES (NULL, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET"
            " size = excluded.size, mtime_ns = excluded.mtime_ns, newest = excluded.newest,"
            " faults = excluded.faults"
        )
        connection.execute(asked, (path, *state, newest, faults))
        ((number,),) = connection.execute("SELECT id FROM files WHERE path = ?", (path,))
        before = set(connection.execute("SELECT cell, name FROM runs WHERE file = ?", (number,)))
        sound = {(record.cell, name): record for name, record in day.records}
        touched.update(cell for cell, _ in before ^ sound.keys())
        connection.executemany(
            "DELETE FROM runs WHERE cell = ? AND name = ?", before - sound.keys()
        )
        for key in sound.keys() - before:
            record = sound[key]
            body = (
                *(getattr(record, name) for name in _ALONE),
                str(record.outcome),
                tuple(map(str, record.outcomes)),
                shared.of((record.capabilities, record.involved)),
            )
            row = (*key, number, _sealed(msgspec.msgpack.encode(body)))
            connection.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?)", row)
    connection.executemany("INSERT OR IGNORE INTO touched VALUES (?)", ((c,) for c in touched))


def _with_answers(
    connection: sqlite3.Connection, known: Snapshot, derived: Mapping[str, bytes]
) -> None:
    columns = _columns(known.matrix)
    declared = ", ".join(f"{column} TEXT NOT NULL" for column in columns.values())
    script = _ANSWERS.format(axes=declared, release=columns[known.matrix.subject])
    for statement in script.split(";"):
        connection.execute(statement)
    shared = _Numbers(connection)
    marks = ", ".join("?" * (9 + len(columns)))
    rows = (_columns_of(entry, shared) for entry in (*known.entries, *known.lanes, *known.checkout))
    connection.executemany(f"INSERT INTO answers VALUES (NULL, {marks})", rows)
    connection.execute("DELETE FROM derived WHERE NOT lasts")
    connection.execute("DELETE FROM touched")
    every = ((kind, _sealed(body)) for kind, body in derived.items())
    connection.executemany("INSERT INTO derived VALUES (?, ?, 0)", every)


def _columns_of(known: Answer, shared: _Numbers) -> tuple[object, ...]:
    outcome = known.outcome
    row = (
        outcome if isinstance(outcome, Failed) else outcome is not None,
        *(shared.of(getattr(known, name)) for name in _LIKE),
        *(getattr(known, name) for name in _OWN),
    )
    return (
        known.id,
        known.cell.recipe,
        *(coordinate.label for coordinate in known.cell.coordinates),
        known.planned,
        2 if known.cell.is_local else known.cell.is_variant,
        known.is_known,
        known.obstacle is not None,
        known.kind,
        known.expected,
        _sealed(msgspec.msgpack.encode(row)),
    )


def _columns(matrix: Matrix) -> dict[str, str]:
    return {axis.name: f"axis_{number}" for number, axis in enumerate(matrix.axes)}


# The fields of a run that no other shares; behind them stand its outcomes, and the number of its
# capabilities.
_ALONE = ("metrics", "started", "seconds", "lock_digest", "suite_digest", "isolation", "tier")
_OF_RUN = {field.name: field.type for field in msgspec.structs.fields(Run)}
_Body: Any = tuple[(*(_OF_RUN[n] for n in _ALONE), str, tuple[str, ...], int)]  # type: ignore[misc]
_SHARED: dict[str, Any] = {name: _TYPES[name] for name in _LIKE} | {
    "tried": tuple[tuple[Capability, ...], tuple[str, ...]],
}


def _run(cell: str, data: bytes, shared: Callable[[int, str], Any]) -> Run:
    *alone, outcome, outcomes, tried = _decoder(_Body).decode(data)
    capabilities, involved = shared(tried, "tried")
    return Run(
        cell=cell,
        **dict(zip(_ALONE, alone, strict=True)),
        outcome=_outcome(outcome),
        outcomes=tuple(map(_outcome, outcomes)),
        capabilities=capabilities,
        involved=involved,
    )


def _sealed(body: bytes) -> bytes:
    """The bytes with their checksum: SQLite checks the structure of its pages, not the content."""
    return zlib.crc32(body).to_bytes(4, "big") + body


def _sound(sealed: bytes) -> bytes:
    if zlib.crc32(sealed[4:]).to_bytes(4, "big") != sealed[:4]:
        raise sqlite3.DatabaseError("a row is damaged")
    return sealed[4:]


def _read_only(path: Path) -> sqlite3.Connection:
    # The file is never written again, so no lock is needed.
    uri = f"{path.absolute().as_uri()}?immutable=1"
    return sqlite3.connect(uri, uri=True, check_same_thread=False)


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


_outcome = lru_cache(maxsize=10_000)(parse_outcome)


@cache
def _decoder(form: Any) -> Any:
    return msgspec.msgpack.Decoder(form)
