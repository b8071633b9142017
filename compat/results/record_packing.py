"""The `results` room's move of records from files of their own into batches, a day at a time."""

import contextlib
import datetime
import os
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path

from compat import files
from compat.errors import CompatError, Fault, RecordError
from compat.results.packing import RecordBatch
from compat.results.record import Record
from compat.results.record_batches import MOST_RECORDS
from compat.results.record_files import RecordFiles
from compat.value import Value


class PackedDays(Value, frozen=True, kw_only=True):
    """How many records are in batches now that stood in files of their own, in how many new
    batches, and what is wrong with the files that stay as they are.
    """

    records: int = 0
    batches: int = 0
    faults: tuple[Fault, ...] = ()


def pack(store: RecordFiles, before: datetime.date) -> PackedDays:
    """Put the records of the days before that one into batches.

    A record's own file is removed once its batch is on the disk and has been read back: whoever is
    killed on the way leaves every record readable, some of them twice, which counts once. Raises
    CompatError when another process packs them now, or a batch cannot be written.
    """
    if not store.folder.is_dir():
        return PackedDays()
    handle = files.lock(store.folder)
    if handle is None:
        name = f"matrices/{store.matrix}/records"
        raise CompatError.of("another compat packs these records now", path=name)
    try:
        paths = sorted(store.paths(), key=lambda path: path.name)
        past = [path for path in paths if path.name[:8] < f"{before:%Y%m%d}"]
        days = groupby(past, key=lambda path: path.name[:8])
        packed = [_packed(store, day, list(of_day)) for day, of_day in days]
    finally:
        os.close(handle)
    return PackedDays(
        records=sum(part.records for part in packed),
        batches=sum(part.batches for part in packed),
        faults=tuple(fault for part in packed for fault in part.faults),
    )


def _packed(store: RecordFiles, day: str, paths: Sequence[Path]) -> PackedDays:
    date = datetime.datetime.strptime(day, "%Y%m%d").date()
    packed_earlier = _packed_before(store, date)
    faults: list[Fault] = []
    fresh: list[tuple[Path, Record]] = []
    count = 0
    for path in paths:
        record = store.read(path)
        earlier = packed_earlier.get(f"{path.parent.name}/{path.name}")
        if isinstance(record, Fault):
            faults.append(record)
        elif earlier is None:
            fresh.append((path, record))
        elif earlier == record:
            _remove(path)
            count += 1
        else:
            because = "a batch has another record under this name"
            faults.append(Fault(code=RecordError.code, path=store.name(path), message=because))
    batches = 0
    for part in _parts(fresh):
        store.batches.add(date, [(path.stem.rpartition("-")[2], record) for path, record in part])
        for path, _ in part:
            _remove(path)
        count, batches = count + len(part), batches + 1
    return PackedDays(records=count, batches=batches, faults=tuple(faults))


def _packed_before(store: RecordFiles, day: datetime.date) -> dict[str, Record]:
    """The records of a day that are in batches, by the paths of the files that they had."""
    batches = [store.batches.read(path) for path, _ in store.batches.states(day)]
    return {
        packed.path: batch.record(packed)
        for batch in batches
        if isinstance(batch, RecordBatch)
        for packed in batch.records
    }


def _parts(fresh: Sequence[tuple[Path, Record]]) -> Iterator[list[tuple[Path, Record]]]:
    rest = iter(fresh)
    while part := list(islice(rest, MOST_RECORDS)):
        yield part


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # it holds other records
        path.parent.rmdir()
