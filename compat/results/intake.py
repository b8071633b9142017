"""Checks records that were made elsewhere before they are stored."""

import datetime
import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from compat import files
from compat.declare.capabilities import SuiteIds
from compat.declare.suite_table import Tier
from compat.errors import Fault, RecordError, reason
from compat.lock.lockfile import Lock
from compat.results.record import Record, decode_line, encode_line
from compat.results.record_files import ATTRIBUTES, RecordFiles, about, lines_of
from compat.run.evidence import Isolation
from compat.run.outcome import Cause, Failed, Passed
from compat.value import Value

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


class _Handed(NamedTuple):
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


def _files(folder: str | Path, prefix: str, depth: int) -> Iterator[_Handed]:
    # All names below the folder; a too deep folder is listed itself.
    with os.scandir(folder) as entries:
        ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        name = prefix + entry.name.encode(errors="backslashreplace").decode()
        if entry.is_dir(follow_symlinks=False) and depth < MOST_DEPTH:
            yield from _files(entry.path, f"{name}/", depth + 1)
        elif entry.is_symlink():
            yield _Handed(name, _fault(name, "is a symbolic link"))
        elif not entry.is_file(follow_symlinks=False):
            yield _Handed(name, _fault(name, "is not a regular file, or nested too deeply"))
        elif entry.name.endswith(".jsonl"):
            yield from _places(Path(entry.path), name)
        elif entry.name != ATTRIBUTES[0]:
            yield _Handed(name, _fault(name, "is not a file of records such as 2026-11-01.jsonl"))


def _places(path: Path, name: str) -> Iterator[_Handed]:
    number = 0
    try:
        for number, begin, line in lines_of(path):
            yield _Handed(f"{name}:{number}", (path, begin, len(line)), about(line).cell)
    except (OSError, ValueError) as fault:
        because = f"cannot be read: {reason(fault)}" if isinstance(fault, OSError) else str(fault)
        yield _Handed(name, _fault(f"{name}:{number + 1}", because))


def _asked_once(one: _Handed, checkout: Checkout) -> tuple[str, str]:
    # With a plan its folder counts, too, so that no shard spoils another's record.
    return one.name.rpartition("/")[0] if checkout.shards is not None else "", one.cell


def _lines(path: Path) -> Iterator[bytes]:
    return (line for _, _, line in lines_of(path))


def _sha256(line: bytes) -> bytes:
    return hashlib.sha256(line).digest()


def _fault(name: str, message: str) -> Fault:
    return Fault(code=RecordError.code, path=name, message=message)
