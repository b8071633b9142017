"""The `results` room's gate: records that were made elsewhere, each looked at before it may stand among ours."""

import datetime
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from compat.errors import Fault, RecordError
from compat.results.files import read_record
from compat.results.record import Record

MOST_FILES = 20_000
MOST_DEPTH = 5
# Whoever hands records over has just made them; an older date could only pretend that a cell was green on that day.
OLDEST = datetime.timedelta(days=7)


class Checkout(msgspec.Struct, frozen=True, kw_only=True):
    """What records must be about: the cells, the locks' digests by cell, and the suite, as they are now and here."""

    matrix: str
    cells: frozenset[str]
    locks: Mapping[str, str]
    suite_digest: str
    moment: datetime.datetime


def handed(folder: Path, here: Checkout) -> Iterator[tuple[str, Record | Fault]]:
    """Yield each file at or below the folder with its record, or with what is wrong, by name; it changes nothing.

    A record is `.../<cell>/<started>-<digest>.json`. Links are not followed, and what is no record is a fault.
    """
    for number, (name, entry) in enumerate(_files(folder, "", 0)):
        if number >= MOST_FILES:
            yield name, _fault(name, f"is one file too many: at most {MOST_FILES:,} are handed over at once")
            return
        yield name, _looked_at(entry, name, here)


def _looked_at(entry: os.DirEntry[str], name: str, here: Checkout) -> Record | Fault:
    if entry.is_symlink():
        return _fault(name, "is a symbolic link")
    if not entry.is_file(follow_symlinks=False):
        return _fault(name, "is no regular file, or lies too deep")
    if not entry.name.endswith(".json"):
        return _fault(name, "is no record")
    found = read_record(Path(entry.path), here.matrix, name)
    if isinstance(found, Fault):
        return found
    wrong = _elsewhere(found, here)
    return _fault(name, wrong) if wrong else found


def _elsewhere(record: Record, here: Checkout) -> str:
    """Why the record is not about this checkout now; empty when it is."""
    lock = here.locks.get(record.cell, "")
    if record.cell not in here.cells:
        return f"{record.cell} is no cell of the matrix"
    if record.lock_digest != lock:
        return "is of another lock than the cell has here" if lock else "is of a lock, but the cell has none here"
    if record.suite_digest != here.suite_digest and not (record.suite_digest == "" and lock == ""):
        return "is of another suite than the one here"
    moments = [record.started, *(attempt.started for attempt in record.attempts)]
    if max(moments) > here.moment:
        return f"says that it started in the future, at {max(moments).isoformat()}"
    if min(moments) < here.moment - OLDEST:
        return f"says that it started at {min(moments).isoformat()}, more than {OLDEST.days} days ago"
    return ""


def _files(folder: str | Path, name: str, depth: int) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Everything below the folder but folders, by name; a folder that lies too deep stands for itself."""
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        shown = entry.name.encode(errors="backslashreplace").decode()
        path = f"{name}/{shown}" if name else shown
        if entry.is_dir(follow_symlinks=False) and depth < MOST_DEPTH:
            yield from _files(entry.path, path, depth + 1)
        else:
            yield path, entry


def _fault(name: str, message: str) -> Fault:
    return Fault(code=RecordError.code, path=name, message=message)
