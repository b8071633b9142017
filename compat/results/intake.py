"""The `results` room's gate: records made elsewhere, looked at before they stand here."""

import datetime
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import msgspec

from compat.declare.capabilities import SuiteIds
from compat.declare.suite_table import Tier
from compat.errors import Fault, RecordError
from compat.lock.lockfile import Lock
from compat.results.record import Record, encode_record, record_digest
from compat.results.record_files import RecordFiles, read_record, record_names
from compat.run.evidence import Isolation
from compat.run.outcome import Cause, Passed
from compat.value import Value

MOST_FILES = 20_000
# No reader of records looks below a name that begins with a dot.
SET_ASIDE = ".set-aside"
MOST_DEPTH = 5
# Without a plan nobody knows when the run began. Whoever hands records over has just made them; an
# older date could only pretend that a cell was green on that day.
OLDEST = datetime.timedelta(days=7)
# What a test raised: such a run has at least one capability that fails. Other ends of a suite, such
# as a crash or a limit, may come before the first test is over.
_OF_TESTS: frozenset[Cause] = frozenset(
    (
        *("missing-module", "missing-attribute", "binary-incompatible", "syntax", "type-error"),
        *("version-guard", "assertion", "error"),
    )
)


class Checkout(Value, frozen=True, kw_only=True):
    """What records must be about: the cells, locks and suite that are here now.

    A record started between `since` and `moment`, in the run at `run_url`. `shards` has the folder
    of each cell that a plan gave to a shard, below the one that is handed over; None without a
    plan, when a record may lie anywhere. `tiers` says how much of the suite each was to run.
    `isolation` is the level that was asked of the machines; None where any will do. `owed` are the
    capabilities that a run of each tier reports when it passed.
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
    """What a store holds before cells run that can write into it, and what this run added since.

    Below L3 a cell can write a record of another cell, with a sound digest and any level. Whatever
    appeared that this run did not write is not of this run, whoever wrote it.
    """

    def __init__(self, store: RecordFiles) -> None:
        self._store = store
        self._known = set(self._names())

    def own(self, record: Record) -> Record:
        digest = record_digest(encode_record(record))
        self._known |= {f"{record.cell}/{name}" for name in record_names(record, digest)}
        return record

    def set_aside(self) -> tuple[str, ...]:
        """Move what is not of this run out of the store, into `.set-aside` below it, and return
        what it was.
        """
        foreign = {path for name, path in self._names().items() if name not in self._known}
        names = sorted(path.relative_to(self._store.folder).as_posix() for path in foreign)
        for name in names:
            place = self._store.folder / SET_ASIDE / name
            place.parent.mkdir(parents=True, exist_ok=True)
            os.replace(self._store.folder / name, place)
        return tuple(names)

    def _names(self) -> dict[str, Path]:
        """Each record of the store as `<cell>/<name>`, with the file that holds it."""
        batches = self._store.batches
        names = {
            name: path
            for path, _ in batches.states()
            for cell in batches.cells(path)
            for name in batches.records(cell, [path])
        }
        return names | {name: self._store.folder / name for name, _ in self._store.states()}


def handed(folder: Path, here: Checkout) -> Iterator[tuple[str, Record | Fault]]:
    """Yield each file at or below the folder with its record or fault; change nothing.

    A record is `.../<cell>/<started>-<digest>.json`. Links are not followed, and what is not a
    record is a fault. A run makes one record of a cell: where there are more, nobody can tell which
    one it made, and all are one fault.
    """
    files = list(islice(_files(folder, "", 0), MOST_FILES + 1))
    counts = Counter(
        _asked_once(name, here) for name, entry in files if entry.name.endswith(".json")
    )
    several = {key: number for key, number in counts.items() if key and number > 1}
    for name, entry in files[:MOST_FILES]:
        key = _asked_once(name, here)
        if key not in several:
            yield name, _looked_at(entry, name, here)
        elif several[key]:
            number, several[key] = several[key], 0
            because = (
                f"is one of {number:,} records of {_cell(name)}, and a run makes one of a cell;"
                " none is taken"
            )
            yield name, _fault(name, because)
    for name, _ in files[MOST_FILES:]:
        yield (
            name,
            _fault(name, f"is one file too many: at most {MOST_FILES:,} are handed over at once"),
        )


def _looked_at(entry: os.DirEntry[str], name: str, checkout: Checkout) -> Record | Fault:
    if entry.is_symlink():
        return _fault(name, "is a symbolic link")
    if not entry.is_file(follow_symlinks=False):
        return _fault(name, "is no regular file, or lies too deep")
    if not entry.name.endswith(".json"):
        return _fault(name, "is not a valid record")
    record = read_record(Path(entry.path), checkout.matrix, name)
    if isinstance(record, Fault):
        return record
    wrong = (
        _elsewhere(record, checkout)
        or _unasked(record, name, checkout)
        or _unlike_a_run(record, checkout)
    )
    return _fault(name, wrong) if wrong else record


def _elsewhere(record: Record, checkout: Checkout) -> str:
    lock = checkout.locks.get(record.cell)
    if record.cell not in checkout.cells:
        return f"{record.cell} is not a cell of the matrix"
    if lock is None and record.lock_digest:
        return "is of a lock, but the cell has none here"
    if lock is not None and record.lock_digest != lock.digest:
        return "is of another lock than the cell has here"
    if record.suite_digest != checkout.suite_digest and not (
        record.suite_digest == "" and lock is None
    ):
        return "is of another suite than the one here"
    return ""


def _unasked(record: Record, name: str, checkout: Checkout) -> str:
    if checkout.shards is not None:
        asked = checkout.shards.get(record.cell)
        if asked is None:
            return f"is of {record.cell}, which the plan gives to no shard"
        if name.split("/")[:-1] != [asked, record.cell]:
            return (
                f"does not lie in {asked}/{record.cell}/, the folder of the shard that the plan"
                " gives the cell to"
            )
    planned = checkout.tiers.get(record.cell, record.tier)
    # What has no lock was never run, whatever it was meant for.
    if record.lock_digest and record.tier != planned:
        return f"is of a run at tier {record.tier}, and the plan asks for tier {planned}"
    if record.lock_digest and checkout.isolation not in (None, record.isolation):
        return f"says that it ran at {record.isolation}, and {checkout.isolation} was asked for"
    moments = [record.started, *(attempt.started for attempt in record.attempts)]
    if max(moments) > checkout.moment:
        return f"says that it started in the future, at {max(moments).isoformat()}"
    if min(moments) < checkout.since:
        return (
            f"says that it started at {min(moments).isoformat()}, before"
            f" {checkout.since.isoformat()}"
        )
    if record.run_url != checkout.run_url:
        asked_run = checkout.run_url or "no run on GitHub"
        return (
            f"says that {record.run_url or 'no run on GitHub'} made it, but {asked_run} was asked"
        )
    return ""


def _unlike_a_run(record: Record, checkout: Checkout) -> str:
    outcome, lock = record.outcome, checkout.locks.get(record.cell)
    is_installed = isinstance(outcome, Passed) or outcome.stage in ("import", "collect", "test")
    pins = {(pin.name, str(pin.version)) for pin in lock.pins} if lock is not None else set()
    if record.lock_digest and not record.attempts:
        return "is of a run, but lists no attempt"
    if is_installed and {(item.name, item.version) for item in record.installed} != pins:
        return "says that other packages were installed than the lock pins"
    if isinstance(outcome, Passed) and not any(
        capability.status == "yes" for capability in record.capabilities
    ):
        return "passed, but no capability worked"
    owed = checkout.owed.get(record.tier, frozenset()) if isinstance(outcome, Passed) else ()
    if missing := {*owed}.difference(item.id for item in record.capabilities):
        return f"passed, but says nothing of {min(missing)}, which the suite asks"
    raised = (
        not isinstance(outcome, Passed) and outcome.stage == "test" and outcome.cause in _OF_TESTS
    )
    if raised and not any(capability.status == "no" for capability in record.capabilities):
        return f"came to {outcome}, but no capability failed"
    strange = next(
        (item.id for item in record.capabilities if not checkout.suite_ids.has(item.id)), None
    )
    return (
        ""
        if strange is None
        else f"tells of the capability {strange[:80]!r}, which no test of the suite has"
    )


def _files(folder: str | Path, name: str, depth: int) -> Iterator[tuple[str, os.DirEntry[str]]]:
    # Everything below the folder but folders, by name; a folder that lies too deep stands for
    # itself.
    with os.scandir(folder) as entries:
        ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        shown = entry.name.encode(errors="backslashreplace").decode()
        path = f"{name}/{shown}" if name else shown
        if entry.is_dir(follow_symlinks=False) and depth < MOST_DEPTH:
            yield from _files(entry.path, path, depth + 1)
        else:
            yield path, entry


def _asked_once(name: str, checkout: Checkout) -> str:
    # What there may be one record of: a cell, or with a plan its folder, so that no shard spoils
    # another's record.
    return name.rpartition("/")[0] if checkout.shards is not None else _cell(name)


def _cell(name: str) -> str:
    return name.rpartition("/")[0].rpartition("/")[2]


def _fault(name: str, message: str) -> Fault:
    return Fault(code=RecordError.code, path=name, message=message)
