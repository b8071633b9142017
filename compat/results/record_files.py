"""Append-only files of records: `records/<day>.jsonl`, one record a line.

A writer holds the file's lock, and the disk has the line before `add` returns. A killed writer
leaves an unfinished last line, which the next writer removes. A line `{"because": ..., "withdraws":
<digest>}` withdraws the record of that digest.
"""

import contextlib
import datetime
import hashlib
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from compat import files
from compat.declare.capabilities import SuiteIds
from compat.declare.matrix import Tier
from compat.errors import CompatError, Fault, RecordError, reason
from compat.lock.lockfile import Lock
from compat.results.record import (
    MOST_BYTES,
    Record,
    decode_line,
    encode_line,
)
from compat.run.evidence import Isolation
from compat.run.outcome import Cause, Failed, Passed
from compat.value import Value

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\.jsonl")
# Where two branches added lines, both are right, in whatever order.
ATTRIBUTES = (".gitattributes", "*.jsonl merge=union\n")
CHECKOUTS = "checkouts"  # each has a folder like that of the matrix
_NEWLINE = b"\n"


class Line(Value, frozen=True, kw_only=True):
    """The header of a line, without the rest of it."""

    cell: str = ""
    started: str = ""
    digest: str = ""
    withdraws: str = ""


class DayFile(NamedTuple):
    """The valid records of a file, each with a name, and the faults of the rest."""

    records: list[tuple[str, Record]]
    faults: list[Fault]


class RecordFiles:
    """The records of one matrix, below its folder."""

    def __init__(self, folder: Path, matrix: str = "") -> None:
        self.matrix = matrix or folder.name
        self.folder = folder / "records"

    def records(self, cell: str) -> tuple[Record, ...]:
        every = self.of_files(cell, [self.path(name) for name, _ in self.states()])
        return tuple(sorted(every, key=lambda record: record.started))

    def of_files(self, cell: str, paths: Iterable[Path]) -> Iterator[Record]:
        """Files are read lazily."""
        for path in paths:
            by_digest = {}
            with contextlib.suppress(OSError, ValueError):
                state = path.lstat()
                places = _places(path, state.st_size, state.st_mtime_ns, state.st_ino)
                with open(path, "rb") as file:
                    for begin, size in places.get(cell, ()):
                        file.seek(begin)
                        with contextlib.suppress(RecordError):
                            name, record = self._sound(path, file.read(size), "")
                            by_digest[name] = record
            yield from sorted(by_digest.values(), key=lambda record: record.started, reverse=True)

    def states(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """The files of the matrix, then those of the checkout that ran last."""
        paths = [*self.folder.glob("*.jsonl"), *self._of_checkout]
        for path in sorted(paths, key=lambda path: path.name):
            if _DAY.fullmatch(path.name):
                with contextlib.suppress(FileNotFoundError):
                    state = path.lstat()
                    name = os.path.relpath(path, self.folder)
                    yield name, (state.st_size, state.st_mtime_ns)

    def path(self, name: str) -> Path:
        """Return where the file of a name is that `states` gives."""
        return Path(os.path.normpath(self.folder / name))

    @property
    def checkout(self) -> str:
        """The name of the checkout that ran last; empty without one."""
        paths = self._of_checkout
        return paths[0].parents[1].name if paths else ""

    @property
    def _of_checkout(self) -> list[Path]:
        every = sorted(self.folder.parent.glob(f"{CHECKOUTS}/*/records/*.jsonl"))
        day = max((path.name for path in every), default="")

        def last_start(path: Path) -> str:
            starts = [""]
            with contextlib.suppress(OSError, ValueError):
                starts += (about(line).started for _, _, line in lines_of(path))
            return max(starts)

        last = max((p for p in every if p.name == day), key=last_start, default=None)
        return [path for path in every if last is not None and path.parent == last.parent]

    def add(self, record: Record) -> bool:
        """Raises RecordError for what cannot be read back, CompatError where writing fails."""
        return self.add_all([record]) == 1

    def add_all(self, records: Iterable[Record]) -> int:
        """Store records as `add` does, each file in one go; return how many were new."""
        lines: dict[Path, list[bytes]] = {}
        for record in records:
            if record.matrix != self.matrix:
                where = f"no place among those of {self.matrix!r}"
                raise RecordError.of(f"a record of matrix {record.matrix!r} has {where}")
            lines.setdefault(self._path(record), []).append(encode_line(record))
        return sum(self._append(path, of_day) for path, of_day in lines.items())

    def withdraw(self, digest: str, because: str) -> list[Record]:
        """Withdraw, for all readers, the records whose digests begin like this; return them."""
        withdrawn = []
        for path in [self.path(name) for name, _ in self.states()]:
            for name, record in self.read(path).records:
                if (whole := name.rpartition("-")[2]).startswith(digest):
                    line = msgspec.json.encode({"because": because, "withdraws": whole})
                    self._append(path, [line + _NEWLINE])
                    withdrawn.append(record)
        return withdrawn

    def read(self, path: Path) -> DayFile:
        answer = self._read(path)
        if answer.faults and answer.faults[-1].message.startswith(_CUT):
            # Somebody may be writing this line now: it is complete when the lock is free.
            with contextlib.suppress(OSError), files.locked(path):
                answer = self._read(path)
        return answer

    def strange(self) -> Iterator[Fault]:
        """What stands among the files of records, and is none."""
        try:
            names = sorted(os.listdir(self.folder))
        except FileNotFoundError:
            return
        except OSError as fault:
            place = f"matrices/{self.matrix}/records"
            yield _fault(place, f"cannot be listed: {reason(fault)}")
            return
        for name in names:
            if not (_DAY.fullmatch(name) or name.startswith(".")):
                message = "is not a file of records such as 2026-11-01.jsonl"
                yield _fault(f"matrices/{self.matrix}/records/{name}", message)

    def sweep(self) -> int:
        count = 0
        for name, _ in self.states():
            path = self.path(name)
            with contextlib.suppress(OSError), open(path, "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - 1))
                if file.read(1) not in (b"", _NEWLINE):
                    with files.locked(path) as handle:
                        count += _mend(handle, _all(handle)) == b""
        return count

    def name(self, path: Path) -> str:
        return f"matrices/{self.matrix}/records/{path.name}"

    def _path(self, record: Record) -> Path:
        return self.folder / f"{record.started:%Y-%m-%d}.jsonl"

    def _append(self, path: Path, lines: Iterable[bytes]) -> int:
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(self.folder)
            if not (self.folder / ATTRIBUTES[0]).exists():
                with contextlib.suppress(CompatError):  # no record needs it
                    files.write(self.folder / ATTRIBUTES[0], ATTRIBUTES[1])
            with files.locked(path) as handle:
                text = _all(handle)
                known = set(text.splitlines(keepends=True))
                new = [line for line in dict.fromkeys(lines) if line not in known]
                rest = memoryview(b"".join([_mend(handle, text), *new]) if new else b"")
                size = os.fstat(handle).st_size
                try:
                    while rest:
                        rest = rest[os.write(handle, rest) :]
                except OSError:
                    os.ftruncate(handle, size)
                    raise
                os.fsync(handle)
            # Each time: another process may have made the folder without syncing it yet.
            for folder in (self.folder, self.folder.parent):
                files.sync_folder(folder)
            return len(new)
        except OSError as fault:
            message = f"cannot be written: {reason(fault)}"
            raise CompatError.of(message, path=self.name(path)) from fault

    def _read(self, path: Path) -> DayFile:
        records: dict[str, Record] = {}
        withdrawn: set[str] = set()
        faults: list[Fault] = []
        number = 0
        try:
            for number, _, line in lines_of(path):
                try:
                    # The digest of the record that a line withdraws; empty where it is a record.
                    known = about(line)
                    if back := (known.withdraws if not known.cell else ""):
                        withdrawn.add(back)
                    else:
                        name, record = self._sound(path, line, f"{self.name(path)}:{number}")
                        records[name] = record
                except RecordError as error:
                    fault = error.faults[0]
                    if not line.endswith(_NEWLINE):
                        fault = _fault(fault.path, f"{_CUT}: {fault.message}")
                    faults.append(fault)
        except OSError as error:
            faults.append(_fault(self.name(path), f"cannot be read: {reason(error)}"))
        except ValueError as error:
            faults.append(_fault(f"{self.name(path)}:{number + 1}", str(error)))
        sound = [(n, r) for n, r in records.items() if n.rpartition("-")[2] not in withdrawn]
        return DayFile(sound, faults)

    def _sound(self, path: Path, line: bytes, place: str) -> tuple[str, Record]:
        record = _decoded(line, place)
        if record.matrix != self.matrix:
            raise RecordError(_fault(place, f"is a record of {record.matrix}, {record.cell}"))
        if path.name != self._path(record).name:
            raise RecordError(_fault(place, f"is of {record.started:%Y-%m-%d}, another day"))
        digest = _line.decode(line).digest
        return f"{record.started:%Y%m%dT%H%M%SZ}-{digest}", record


def lines_of(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Raises OSError for an unreadable file, and ValueError at a line that is too long."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(0, "it is no regular file")
        begin = 0
        with open(handle, "rb", closefd=False) as file:
            every = iter(lambda: file.readline(MOST_BYTES + 1), b"")
            for number, line in enumerate(every, start=1):
                if len(line) > MOST_BYTES:
                    raise ValueError(f"is larger than {MOST_BYTES} bytes")
                yield number, begin, line
                begin += len(line)
    finally:
        os.close(handle)


def about(line: bytes) -> Line:
    try:
        return _line.decode(line)
    except (ValueError, RecursionError):
        return Line()


_CUT = "is cut off"
_line = msgspec.json.Decoder(Line)


# Pages read the records of one cell after the other. The number bounds the memory.
_decoded = lru_cache(maxsize=256)(decode_line)


@lru_cache(maxsize=1000)
def _places(path: Path, *_state: int) -> dict[str, list[tuple[int, int]]]:
    lines = [(about(line), begin, len(line)) for _, begin, line in lines_of(path)]
    withdrawn = {line.withdraws for line, _, _ in lines}
    places: dict[str, list[tuple[int, int]]] = {}
    for line, begin, size in lines:
        if line.cell and line.digest not in withdrawn:
            places.setdefault(line.cell, []).append((begin, size))
    return places


def _all(handle: int) -> bytes:
    with open(handle, "rb", closefd=False) as file:
        file.seek(0)
        return file.read()


def _mend(handle: int, text: bytes) -> bytes:
    """Remove an unfinished last line. Return the text needed before the next line.

    It is a line break, where an editor left it out after a valid record.
    """
    tail = text[text.rfind(_NEWLINE) + 1 :]
    if not tail:
        return b""
    try:
        decode_line(tail, "")
    except RecordError:
        os.ftruncate(handle, len(text) - len(tail))
        return b""
    return _NEWLINE


def _fault(path: str, message: str) -> Fault:
    return Fault(code=RecordError.code, path=path, message=message)


# Checks records that were made elsewhere before they are stored.

MOST_LINES = 20_000
# No reader of records looks below a name that begins with a dot.
SET_ASIDE = ".set-aside"
MOST_DEPTH = 5
# Hours. Without a plan the start of the run is unknown. New records have just been made; an older
# date could only pretend that a cell was green on that day.
OLDEST = datetime.timedelta(days=7)
# A test's exception: such a run has at least one failing capability. Other ends of a suite, such as
# a crash or a limit, may precede the end of the first test.
_OF_TESTS: frozenset[Cause] = frozenset(
    (
        *("missing-module", "missing-attribute", "binary-incompatible", "syntax", "type-error"),
        *("version-guard", "assertion", "error"),
    )
)


class Checkout(Value, frozen=True, kw_only=True):
    """What records must match: the current cells, locks and suite.

    A record started between `since` and `moment`, in the run at `run_url`. `shards` has the folder
    of each cell in a plan, below the given one; None without a plan, when a record may be anywhere.
    `tiers` is how much of the suite each should run. `isolation` is the required level of the
    machines; None for any. `owed` are the capabilities that a passing run of each tier reports.
    """

    matrix: str
    cells: frozenset[str]
    locks: Mapping[str, Lock]
    suite_digest: str
    suite_ids: SuiteIds
    moment: datetime.datetime
    since: datetime.datetime
    run_url: str = ""
    isolation: Isolation | None = None
    owed: Mapping[Tier, frozenset[str]] = msgspec.field(default_factory=dict)
    shards: Mapping[str, str] | None = None
    tiers: Mapping[str, Tier] = msgspec.field(default_factory=dict)


class StoreWatch:
    """A store before cells run that can write into it, and what this run added since.

    Below L3 a cell can write a record of another cell, with a valid digest and any level. Any other
    addition is not of this run, whoever wrote it.
    """

    def __init__(self, store: RecordFiles) -> None:
        self._store = store
        self._known = {_sha256(line) for path in self._paths() for line in _lines(path)}

    def own(self, record: Record) -> Record:
        self._known.add(_sha256(encode_line(record)))
        return record

    def set_aside(self) -> tuple[str, ...]:
        names: list[str] = []
        for path in self._paths():
            with files.locked(path):
                lines = list(_lines(path))
                foreign = [line for line in lines if _sha256(line) not in self._known]
                if foreign:
                    aside = self._store.folder / SET_ASIDE / path.name
                    before = list(_lines(aside)) if aside.exists() else []
                    files.write(aside, b"".join([*before, *foreign]))
                    own = [line for line in lines if _sha256(line) in self._known]
                    files.write(path, b"".join(own))
                    names += [f"{path.name}:{len(before) + n + 1}" for n in range(len(foreign))]
        return tuple(names)

    def _paths(self) -> list[Path]:
        return [self._store.path(name) for name, _ in self._store.states()]


class _Imported(NamedTuple):
    name: str
    found: Fault | tuple[Path, int, int]
    cell: str = ""


def handed(folder: Path, here: Checkout) -> Iterator[tuple[str, Record | Fault]]:
    """Yield the lines of the files of records at or below the folder; change nothing.

    Each line is `<file>:<number>` with its record or fault; other files have a fault.

    Links are not followed. A run makes one record of a cell: several are one fault, because the
    true one is unknown.
    """
    every = list(islice(_files(folder, "", 0), MOST_LINES + 1))
    counts = Counter(_asked_once(item, here) for item in every if item.cell)
    several = {key: number for key, number in counts.items() if number > 1}
    for item in every[:MOST_LINES]:
        key = _asked_once(item, here)
        if isinstance(item.found, Fault):
            yield item.name, item.found
        elif key not in several:
            yield item.name, _looked_at(item.name, *item.found, here)
        elif several[key]:
            number, several[key] = several[key], 0
            because = f"is one of {number:,} records of {item.cell}, and a run makes one of a cell"
            yield item.name, _fault(item.name, f"{because}; none is taken")
    for item in every[MOST_LINES:]:
        because = f"is one record too many: at most {MOST_LINES:,} can be imported at once"
        yield item.name, _fault(item.name, because)


def _looked_at(name: str, path: Path, at: int, size: int, checkout: Checkout) -> Record | Fault:
    try:
        with open(path, "rb") as file:
            file.seek(at)
            record = decode_line(file.read(size), name)
    except RecordError as error:
        return error.faults[0]
    wrong = next(chain(_unasked(record, name, checkout), _unlike_a_run(record, checkout)), "")
    return _fault(name, wrong) if wrong else record


def _unasked(record: Record, name: str, checkout: Checkout) -> Iterator[str]:
    lock = checkout.locks.get(record.cell)
    if record.matrix != checkout.matrix:
        yield f"is a record of {record.matrix}"
    if record.cell not in checkout.cells:
        yield f"{record.cell} is not a cell of the matrix"
    if lock is None and record.lock_digest:
        yield "is of a lock, but the cell has none here"
    if lock is not None and record.lock_digest != lock.digest:
        yield "is of another lock than the cell has here"
    if record.suite_digest != checkout.suite_digest and (record.suite_digest or lock is not None):
        yield "is of another suite than the one here"
    if checkout.shards is not None:
        asked = checkout.shards.get(record.cell)
        if asked is None:
            yield f"is of {record.cell}, which the plan gives to no shard"
        if name.rpartition("/")[0] != asked:
            place = f"the folder of the shard that the plan gives {record.cell} to"
            yield f"does not lie in {asked}/, {place}"
    planned = checkout.tiers.get(record.cell, record.tier)
    # A cell without a lock never ran, whatever its tier.
    if record.lock_digest and record.tier != planned:
        yield f"is of a run at tier {record.tier}, and the plan asks for tier {planned}"
    if record.lock_digest and checkout.isolation not in (None, record.isolation):
        yield f"says that it ran at {record.isolation}, and {checkout.isolation} was asked for"
    moments = [record.started, *(attempt.started for attempt in record.attempts)]
    first, last, since = min(moments), max(moments), checkout.since
    if last > checkout.moment:
        yield f"says that it started in the future, at {last.isoformat()}"
    if first < since:
        yield f"says that it started at {first.isoformat()}, before {since.isoformat()}"
    if record.run_url != checkout.run_url:
        maker, asked_run = (url or "no run on GitHub" for url in (record.run_url, checkout.run_url))
        yield f"says that {maker} made it, but {asked_run} was asked"


def _unlike_a_run(record: Record, checkout: Checkout) -> Iterator[str]:
    outcome, lock = record.outcome, checkout.locks.get(record.cell)
    is_installed = isinstance(outcome, Passed) or outcome.stage in ("import", "collect", "test")
    pins = {(pin.name, str(pin.version)) for pin in lock.pins} if lock is not None else set()
    if record.lock_digest and not record.attempts:
        yield "is of a run, but lists no attempt"
    if is_installed and {(item.name, item.version) for item in record.installed} != pins:
        yield "says that other packages were installed than the lock pins"
    if isinstance(outcome, Passed) and all(c.status != "yes" for c in record.capabilities):
        yield "passed, but no capability worked"
    owed = checkout.owed.get(record.tier, frozenset()) if isinstance(outcome, Passed) else ()
    if missing := {*owed}.difference(item.id for item in record.capabilities):
        yield f"passed, but says nothing of {min(missing)}, which the suite asks"
    statuses = {capability.status for capability in record.capabilities}
    raised = isinstance(outcome, Failed) and outcome.stage == "test" and outcome.cause in _OF_TESTS
    if raised and "no" not in statuses:
        yield f"has outcome {outcome}, but no capability failed"
    for item in record.capabilities:
        if not checkout.suite_ids.has(item.id):
            yield f"reports the capability {item.id[:80]!r}, which no test of the suite has"


def _files(folder: str | Path, prefix: str, depth: int) -> Iterator[_Imported]:
    # All names below the folder; a too deep folder is listed itself.
    with os.scandir(folder) as entries:
        ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        name = prefix + entry.name.encode(errors="backslashreplace").decode()
        if entry.is_dir(follow_symlinks=False) and depth < MOST_DEPTH:
            yield from _files(entry.path, f"{name}/", depth + 1)
        elif entry.is_symlink():
            yield _Imported(name, _fault(name, "is a symbolic link"))
        elif not entry.is_file(follow_symlinks=False):
            yield _Imported(name, _fault(name, "is not a regular file, or nested too deeply"))
        elif entry.name.endswith(".jsonl"):
            yield from _handed_places(Path(entry.path), name)
        elif entry.name != ATTRIBUTES[0]:
            yield _Imported(name, _fault(name, "is not a file of records such as 2026-11-01.jsonl"))


def _handed_places(path: Path, name: str) -> Iterator[_Imported]:
    number = 0
    try:
        for number, begin, line in lines_of(path):
            yield _Imported(f"{name}:{number}", (path, begin, len(line)), about(line).cell)
    except (OSError, ValueError) as fault:
        because = f"cannot be read: {reason(fault)}" if isinstance(fault, OSError) else str(fault)
        yield _Imported(name, _fault(f"{name}:{number + 1}", because))


def _asked_once(one: _Imported, checkout: Checkout) -> tuple[str, str]:
    # With a plan its folder counts, too, so that no shard spoils another's record.
    return one.name.rpartition("/")[0] if checkout.shards is not None else "", one.cell


def _lines(path: Path) -> Iterator[bytes]:
    return (line for _, _, line in lines_of(path))


def _sha256(line: bytes) -> bytes:
    return hashlib.sha256(line).digest()
