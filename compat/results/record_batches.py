"""Batches of records as files: `records/_batches/<day>-<sha256>.json.gz`, written once.

The name holds the digest of what is inside, so a batch never changes, and two that make the same
one make one file. `zcat` shows what stands in it.
"""

import contextlib
import datetime
import gzip
import hashlib
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from compat import files
from compat.errors import Fault, RecordError, reason
from compat.results.batch_sheet import BatchSheet, decode_sheet
from compat.results.packing import RecordBatch, batch_of, decode_batch, encode_batch
from compat.results.record import Record

# No cell has this name: an id begins with a letter or a digit.
BATCHES = "_batches"
# What a reader of one record has to unpack; at some 6 kB each, 3 MB.
MOST_RECORDS = 500
_MOST_BYTES = 256 * 1024 * 1024
AnyBatch = TypeVar("AnyBatch", RecordBatch, BatchSheet)
_NAME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})-([0-9a-f]{64})\.json\.gz")
_NOT_THERE = "a record refers to what is not in the batch"
_GZIP = 16 + zlib.MAX_WBITS  # zlib's code for gzip's header


class RecordBatches:
    """The batches of one matrix, below the folder `records/`."""

    def __init__(self, records: Path, matrix: str) -> None:
        self.folder = records / BATCHES
        self._matrix = matrix

    @property
    def state(self) -> int:
        """When the last batch was added or taken away, in nanoseconds since 1970; 0 without any."""
        try:
            return self.folder.stat().st_mtime_ns
        except OSError:
            return 0

    def is_batch(self, name: str) -> bool:
        return bool(_NAME.fullmatch(name))

    def states(self, day: datetime.date | None = None) -> Iterator[tuple[Path, tuple[int, int]]]:
        """Yield every batch, or those of one day, with size and time of change in nanoseconds,
        sorted by name.
        """
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            with os.scandir(self.folder) as entries:
                every = sorted(entries, key=lambda entry: entry.name)
            for entry in every:
                match = _NAME.fullmatch(entry.name)
                if match and (day is None or match[1] == day.isoformat()):
                    with contextlib.suppress(FileNotFoundError):
                        state = entry.stat(follow_symlinks=False)
                        yield self.folder / entry.name, (state.st_size, state.st_mtime_ns)

    def read(self, path: Path) -> RecordBatch | Fault:
        return self._read(path, decode_batch)

    def every(self, path: Path) -> list[tuple[str, Record]] | Fault:
        """Return all records of a batch, each with the name of its file."""
        sheet = self._read(path, decode_sheet)
        if isinstance(sheet, Fault):
            return sheet
        try:
            return list(sheet.every())
        except (IndexError, ValueError) as fault:
            because = str(fault) if isinstance(fault, ValueError) else _NOT_THERE
            return Fault(code=RecordError.code, path=self.name(path), message=because)

    def _read(self, path: Path, decode: Callable[[bytes], AnyBatch]) -> AnyBatch | Fault:
        try:
            return _of_matrix(decode(_unpacked(path)), self._matrix)
        except OSError as fault:
            because = f"cannot be read: {reason(fault)}"
        except ValueError as fault:
            because = str(fault)
        return Fault(code=RecordError.code, path=self.name(path), message=because)

    def holds(self, record: Record) -> bool:
        of_day = (path for path, _ in self.states(record.started.date()))
        return record in self.records(record.cell, of_day).values()

    def cells(self, path: Path) -> set[str]:
        """Return the ids of the cells that a batch has records of; none where it is damaged."""
        batch = self.read(path)
        return (
            {packed.cell for packed in batch.records} if isinstance(batch, RecordBatch) else set()
        )

    def records(self, cell: str, paths: Iterable[Path] | None = None) -> dict[str, Record]:
        every = (path for path, _ in self.states()) if paths is None else paths
        records: dict[str, Record] = {}
        for path in every:
            with contextlib.suppress(OSError, ValueError):
                state = path.lstat()
                sheet = _sheet(path, self._matrix, (state.st_size, state.st_mtime_ns))
                records.update(sheet.of_cell(cell))
        return records

    def add(self, day: datetime.date, records: Iterable[tuple[str, Record]]) -> Path:
        """Keep the records, each with the digits of its file's name, as a batch of that day; when
        this returns it is on the disk and has been read back.

        Raises CompatError when it cannot be written, RecordError when it says something else than
        the records.
        """
        named = list(records)
        batch = batch_of(self._matrix, named)
        data = encode_batch(batch)
        path = self.folder / f"{day.isoformat()}-{hashlib.sha256(data).hexdigest()}.json.gz"
        if isinstance(self.read(path), Fault):
            files.write(path, gzip.compress(data, mtime=0))
        for folder in (self.folder, self.folder.parent):
            files.sync_folder(folder)
        again = self.read(path)
        if isinstance(again, Fault):
            raise RecordError(again)
        read_back = [(packed.digits, again.record(packed)) for packed in again.records]
        if batch_of(self._matrix, read_back) != batch or len(
            {p.path for p in again.records}
        ) != len(named):
            raise RecordError.of("does not say what its records say", path=self.name(path))
        return path

    def name(self, path: Path) -> str:
        return f"matrices/{self._matrix}/records/{BATCHES}/{path.name}"


# A site asks for the cells of one day one after the other.
@lru_cache(maxsize=24)
def _sheet(path: Path, matrix: str, state: tuple[int, int]) -> BatchSheet:
    """The batch of the file as it was in that state; raises ValueError."""
    return _of_matrix(decode_sheet(_unpacked(path)), matrix)


def _of_matrix(batch: AnyBatch, matrix: str) -> AnyBatch:
    if batch.matrix != matrix:
        raise ValueError(f"is a batch of {batch.matrix}")
    return batch


def _unpacked(path: Path) -> bytes:
    """What the file says; raises ValueError where that is not what its name promises."""
    if not stat.S_ISREG(path.lstat().st_mode):
        raise ValueError("is no regular file")
    unpacked = zlib.decompressobj(_GZIP)
    try:
        text = unpacked.decompress(path.read_bytes(), _MOST_BYTES)
    except zlib.error as fault:
        raise ValueError(f"is damaged: {fault}") from fault
    if not unpacked.eof or unpacked.unused_data:
        raise ValueError("is damaged: it ends too early or too late")
    match = _NAME.fullmatch(path.name)
    if match is None or hashlib.sha256(text).hexdigest() != match[2]:
        raise ValueError("is damaged: its digest is not the one in its name")
    return text
