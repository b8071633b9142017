"""Records as files, one each, that are only ever added, until their day is put into a batch.

Each is written to a temporary name, synced, and linked into place.
"""

import contextlib
import datetime
import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from compat.errors import CompatError, Fault, RecordError, reason
from compat.files import sync_folder
from compat.results.record import (
    MOST_BYTES,
    Record,
    decode_record,
    encode_record,
    is_cell_id,
    record_digest,
    written_digest,
)
from compat.results.record_batches import BATCHES, RecordBatches

# A writer that was killed leaves its temporary file; no writer takes an hour.
LEFT_OVER = datetime.timedelta(hours=1)
# How often a folder may go while a record is put into it.
_TRIES = 5
# How much of the digest stands in a name: more only where two records of one second begin alike, or
# a file is damaged.
_DIGITS = (8, 16, 32, 64)
_NAME = re.compile(r"[0-9]{8}T[0-9]{6}Z-([0-9a-f]{8,64})\.json")
_TEMPORARY = re.compile(r"\..+\.tmp")
# File systems that know no hard links say so in one of these ways.
_NO_LINKS = frozenset((errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK))

# When the run of a record's file started, what is wrong with the file, or None where nobody looked.
Known = datetime.datetime | Fault | None


class RecordFiles:
    """The records of one matrix, below its folder: `records/<cell-id>/<started>-<digest>.json`, or
    in one of its `batches`.
    """

    def __init__(self, folder: Path, matrix: str = "") -> None:
        """Take the matrix's folder, `matrices/<name>`; the matrix, where the folder is another."""
        self.matrix = matrix or folder.name
        self.folder = folder / "records"
        self.batches = RecordBatches(self.folder, self.matrix)
        self._prefix = f"matrices/{self.matrix}/records/"

    def records(self, cell: str, batches: Iterable[Path] | None = None) -> tuple[Record, ...]:
        """Return the sound records of a cell, by when they started; those that stand in batches out
        of these, or out of all.

        `damaged` tells of the others.
        """
        if not is_cell_id(cell):
            return ()
        # Before the batches: what is put into one meanwhile is read from there.
        read = {f"{cell}/{path.name}": self.read(path) for path in self._files(self.folder / cell)}
        every = read | self.batches.records(cell, batches)
        sound = (record for record in every.values() if isinstance(record, Record))
        return tuple(sorted(sound, key=lambda record: record.started))

    def of_files(self, cell: str, paths: Iterable[Path]) -> Iterator[Record]:
        """Yield the sound records of a cell out of these files, in their order and of each batch
        the newest first; a file is read when it is come to.
        """
        for path in paths:
            if path.parent == self.batches.folder:
                of_batch = self.batches.records(cell, [path]).values()
                yield from sorted(of_batch, key=lambda record: record.started, reverse=True)
            elif isinstance(record := self.read(path), Record):
                yield record

    def add(self, record: Record) -> bool:
        """Keep the record; when this returns it is on the disk, whatever happens.

        False: it was there already.

        Raises RecordError when the record cannot be read back, CompatError when it cannot be
        written.
        """
        text = encode_record(record)
        if record.matrix != self.matrix:
            raise RecordError.of(
                f"a record of matrix {record.matrix!r} has no place among those of {self.matrix!r}"
            )
        try:
            # Whoever puts a cell's records into a batch removes its empty folder.
            for _ in range(_TRIES):
                with contextlib.suppress(FileNotFoundError):
                    return self._kept(record, text.encode())
            return self._kept(record, text.encode())
        except OSError as fault:
            raise CompatError.of(
                f"cannot be written: {_reason(fault)}", path=self.name(self.folder / record.cell)
            ) from fault

    def cells(self) -> tuple[str, ...]:
        """Return the ids of the cells that have records, sorted."""
        loose = {folder.name for folder in self._folders() if any(self._files(folder))}
        return tuple(sorted(loose.union(*map(self.batches.cells, self._batch_paths()))))

    def paths(self) -> Iterator[Path]:
        """Yield every file that should be a record of its own, sorted by cell and time."""
        for folder in self._folders():
            yield from self._files(folder)

    def states(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """Yield every file of one record, as `<cell-id>/<name>`, with its size and time of change
        in nanoseconds.
        """
        for folder in self._folders():
            for entry in _entries(folder):
                if _NAME.fullmatch(entry.name):
                    with contextlib.suppress(FileNotFoundError):
                        state = entry.stat(follow_symlinks=False)
                        yield f"{folder.name}/{entry.name}", (state.st_size, state.st_mtime_ns)

    def read(self, path: Path) -> Record | Fault:
        return read_record(path, self.matrix, self.name(path))

    def damaged(
        self, now: datetime.datetime, known: Callable[[str], Known] = lambda name: None
    ) -> tuple[Fault, ...]:
        """Return what is wrong in the store: no sound record, a stray file, or a future date.

        `known` tells of a record's file, by its path below `records/`, when its run started, or
        what is wrong with it; a file of which it knows nothing is read. Files with a fault are left
        where they are; `records` goes by without them.
        """
        return tuple(self._damage(now, known))

    def sweep(self, now: datetime.datetime) -> int:
        """Remove temporary files that a killed writer left; return how many.

        They are more than an hour old.
        """
        count = 0
        for folder in self._folders():
            for entry in _entries(folder):
                if not _TEMPORARY.fullmatch(entry.name):
                    continue
                with contextlib.suppress(OSError):
                    age = now.timestamp() - entry.stat(follow_symlinks=False).st_mtime
                    if age > LEFT_OVER.total_seconds():
                        os.unlink(entry.path)
                        count += 1
        return count

    def name(self, path: Path) -> str:
        return self._prefix + path.relative_to(self.folder).as_posix()

    def _damage(self, now: datetime.datetime, known: Callable[[str], Known]) -> Iterator[Fault]:
        folders = self._folders()
        places = {BATCHES, *(folder.name for folder in folders)}
        for entry in _entries(self.folder):
            if entry.name not in places and not entry.name.startswith("."):
                yield _fault(self.name(Path(entry.path)), "is not a directory of a cell")
        for folder in (self.folder, *folders):
            if reason := _unlisted(folder):
                yield _fault(self.name(folder), f"cannot be listed: {reason}")
        for folder in folders:
            for entry in _entries(folder):
                if not entry.name.startswith("."):
                    yield from self._faults(f"{folder.name}/{entry.name}", now, known)
        for entry in _entries(self.batches.folder):
            if not entry.name.startswith("."):
                yield from self._batch_faults(f"{BATCHES}/{entry.name}", now, known)

    def _faults(
        self, place: str, now: datetime.datetime, known: Callable[[str], Known]
    ) -> Iterator[Fault]:
        name = self._prefix + place
        if not _NAME.fullmatch(place.rpartition("/")[2]):
            yield _fault(name, "is not a valid record")
            return
        answer = known(place) or self.read(self.folder / place)
        started = answer.started if isinstance(answer, Record) else answer
        yield from _untimely(started, now, name)

    def _batch_faults(
        self, place: str, now: datetime.datetime, known: Callable[[str], Known]
    ) -> Iterator[Fault]:
        name = self._prefix + place
        if not self.batches.is_batch(place.rpartition("/")[2]):
            yield _fault(name, "is not a valid batch of records")
            return
        answer = known(place) or self.batches.every(self.folder / place)
        newest = max(r.started for _, r in answer) if isinstance(answer, list) else answer
        yield from _untimely(newest, now, name)

    def _batch_paths(self) -> list[Path]:
        return [path for path, _ in self.batches.states()]

    def _folders(self) -> list[Path]:
        entries = (entry for entry in _entries(self.folder) if entry.is_dir(follow_symlinks=False))
        return [Path(entry.path) for entry in entries if is_cell_id(entry.name)]

    def _files(self, folder: Path) -> list[Path]:
        return [Path(entry.path) for entry in _entries(folder) if _NAME.fullmatch(entry.name)]

    def _kept(self, record: Record, data: bytes) -> bool:
        folder = self.folder / record.cell
        for parent in (self.folder, folder):
            with contextlib.suppress(FileExistsError):
                os.mkdir(parent)
        added = not self.batches.holds(record) and self._add(folder, record, data)
        # Each time and for each folder: whoever made it may not have come so far yet.
        for parent in (folder, self.folder, self.folder.parent):
            sync_folder(parent)
        return added

    def _add(self, folder: Path, record: Record, data: bytes) -> bool:
        """Link a complete file to the first name of the record that is free, unless the record has
        one of them.
        """
        temporary = folder / f".{os.getpid()}-{os.urandom(8).hex()}.tmp"
        wanted = [folder / name for name in record_names(record, record_digest(data.decode()))]
        if any(_holds(path, data) for path in wanted):
            return False
        try:
            _write(temporary, data)
            for path in wanted:
                if _link(temporary, path, wanted[-1]):
                    return True
                if _holds(path, data):
                    return False
        finally:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise CompatError.of(
            "is damaged, and stands where the record belongs", path=self.name(wanted[-1])
        )


# A cell's page, its document and its neighbours' pages each ask for its records. The number bounds
# the memory: the records of the matrices here have 28 kB of text on average, 41 kB at most.
_decoded = lru_cache(maxsize=256)(decode_record)


def read_record(path: Path, matrix: str, name: str) -> Record | Fault:
    """Return the record of `<cell>/<started>-<digest>.json`, or what is wrong with it.

    `name` is for messages.
    """
    try:
        text = _text(path)
        record = _decoded(text, name)
    except RecordError as error:
        return error.faults[0]
    except (OSError, ValueError) as fault:
        return _fault(name, f"cannot be read: {_reason(fault)}")
    if (record.matrix, record.cell) != (matrix, path.parent.name):
        return _fault(name, f"is a record of {record.matrix}, {record.cell}")
    if path.name not in record_names(record, written_digest(text)):
        return _fault(name, "has not the name that its content asks for")
    return record


def record_names(record: Record, digest: str) -> tuple[str, ...]:
    started = f"{record.started:%Y%m%dT%H%M%SZ}"
    return tuple(f"{started}-{digest[:digits]}.json" for digits in _DIGITS)


def _write(path: Path, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def _link(temporary: Path, path: Path, full: Path) -> bool:
    """Give the file its name unless that is taken.

    Without hard links it gets its full name, which nothing else can.
    """
    try:
        os.link(temporary, path)
        return True
    except FileExistsError:
        return False
    except OSError as fault:
        if fault.errno not in _NO_LINKS:
            raise
    os.rename(temporary, full)
    return True


def _text(path: Path) -> str:
    """The text of a regular file, never more than a record may have; a link, a pipe or a device is
    refused.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is no regular file")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(MOST_BYTES + 1).decode()
    finally:
        os.close(handle)


def _holds(path: Path, data: bytes) -> bool:
    try:
        return _text(path).encode() == data
    except (OSError, ValueError):
        return False


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """What stands in the folder, by name; nothing when it is not there or cannot be listed, see
    `_unlisted`.
    """
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _unlisted(folder: Path) -> str:
    """Why a folder that is there cannot be listed; empty when it can."""
    try:
        os.scandir(folder).close()
    except FileNotFoundError:
        return ""
    except OSError as fault:
        return _reason(fault)
    return ""


def _untimely(
    answer: datetime.datetime | Fault, now: datetime.datetime, name: str
) -> Iterator[Fault]:
    """What is wrong with a file that holds runs up to that moment, or has a fault."""
    if isinstance(answer, Fault):
        yield answer
    elif answer > now:
        yield _fault(name, f"says that it started in the future, at {answer.isoformat()}")


def _fault(path: str, message: str) -> Fault:
    return Fault(code=RecordError.code, path=path, message=message)


def _reason(fault: OSError | ValueError) -> str:
    if isinstance(fault, UnicodeDecodeError):
        return f"it is not UTF-8 at byte {fault.start}"
    return reason(fault) if isinstance(fault, OSError) else str(fault)
