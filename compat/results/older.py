"""Records of releases up to 2026-11, moved into files of a day: files of one record each
(`<cell>/<started>-<digest>.json`), and batches of them (`_batches/<day>-<sha256>.json.gz`).
"""

import contextlib
import gzip
import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from compat.errors import Fault, RecordError, reason
from compat.results.record import Record, decode_record, is_cell_id, record_of_raw
from compat.results.record_files import OLD_BATCHES, RecordFiles

_STATUSES = {"y": "yes", "n": "no", "a": "absent"}
_CIRCUMSTANCES = ("suite_digest", "host", "isolation", "tier", "tool", "run_url")
_STEPS = ("install", "import", "suite", "overhead")
_TRY = ("outcome", "seconds", "started", "isolation")


def convert_records(store: RecordFiles) -> tuple[int, list[Fault]]:
    """Move records of earlier forms into files of a day; return how many, and what is wrong with
    the files that stay. A file goes when the disk has its records in their new place.
    """
    read: dict[Path, list[Record]] = {}
    faults: list[Fault] = []
    for path in _old_files(store.folder):
        name = f"matrices/{store.matrix}/records/{path.relative_to(store.folder).as_posix()}"
        try:
            read[path] = list(_records(path, name))
        except RecordError as error:
            faults += error.faults
        except (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError) as error:
            because = reason(error) if isinstance(error, OSError) and error.errno else str(error)
            message = f"cannot be converted: {because}"
            faults.append(Fault(code=RecordError.code, path=name, message=message))
    records = [record for of_file in read.values() for record in of_file]
    store.add_all(sorted(records, key=lambda record: (record.started, record.cell)))
    for path in read:
        path.unlink()
        with contextlib.suppress(OSError):  # it holds other records
            path.parent.rmdir()
    return len(records), faults


def _old_files(folder: Path) -> Iterator[Path]:
    for below in sorted(folder.iterdir()) if folder.is_dir() else ():
        if below.is_dir() and (below.name == OLD_BATCHES or is_cell_id(below.name)):
            yield from sorted(path for path in below.iterdir() if path.name[0] != ".")


def _records(path: Path, name: str) -> Iterator[Record]:
    if path.parent.name != OLD_BATCHES:
        record = decode_record(path.read_text(encoding="utf-8"), name)
        if record.cell != path.parent.name:
            raise ValueError(f"is a record of {record.cell}")
        yield record
        return
    text = gzip.decompress(path.read_bytes())
    if hashlib.sha256(text).hexdigest() != path.name[len("2026-11-01-") :].partition(".")[0]:
        raise ValueError("its digest is not the one in its name")
    batch = msgspec.json.decode(text)
    for fields in batch["records"]:
        yield record_of_raw(_unpacked(batch, *fields))


def _unpacked(
    batch: dict[str, Any], cell: str, _digits: str, started: str, seconds: float, outcome: str,
    lock_digest: str, circumstances: int, rows: int, statuses: str, whys: list[Any],
    metrics: int, values: list[float], involved: list[str], installed: int,
    attempts: list[Any] | None, step_seconds: list[Any], remarks: list[str], log: str,
) -> dict[str, Any]:  # fmt: skip
    """The keys of a record that refers to tables of its batch by number."""
    shared = dict(zip(_CIRCUMSTANCES, batch["circumstances"][circumstances], strict=True))
    capabilities = [
        {"id": id, "status": _STATUSES[letter], "cause": "", "subject": "",
         "missing": missing, "spelling": spelling}
        for (id, spelling, missing), letter in zip(batch["rows"][rows], statuses, strict=True)
    ]  # fmt: skip
    for number, cause, subject in whys:
        capabilities[number].update(cause=cause, subject=subject)
    alone = [outcome, seconds, started, shared["isolation"]]
    return {
        **shared,
        "cell": cell,
        "matrix": batch["matrix"],
        "started": started,
        "seconds": seconds,
        "outcome": outcome,
        "lock_digest": lock_digest,
        "capabilities": capabilities,
        "metrics": [
            {"name": name, "unit": unit, "better": better, "value": value}
            for (name, unit, better), value in zip(batch["metrics"][metrics], values, strict=True)
        ],
        "installed": [{"name": n, "version": v} for n, v in batch["installed"][installed]],
        "involved": involved,
        "remarks": remarks,
        "log": log,
        "step_seconds": dict(zip(_STEPS, step_seconds, strict=True)),
        "attempts": [
            dict(zip(_TRY, attempt, strict=True))
            for attempt in ([alone] if attempts is None else attempts)
        ],
    }
