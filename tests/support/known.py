"""Pictures made up for tests: the world of two demos, locks and runs of its cells, and strategies
that make up more.
"""

import datetime
import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import strategies as st
from packaging.version import Version

from compat import files
from compat.declare.load import Declared
from compat.declare.matrix import Policy
from compat.index.discover import encode_catalogue
from compat.lock.lockfile import Inputs, Lock, Pin, encode_lock
from compat.plan.cell import Cell, parse_cell
from compat.plan.plan import plan
from compat.results.infer import with_answers, with_locks
from compat.results.judge import EvaluationContext
from compat.results.learnt import PlainAnswer, encode_answers
from compat.results.record import Capability, Record
from compat.results.record_files import RecordFiles
from compat.results.snapshot import Snapshot, snapshot
from compat.run.outcome import parse_outcome
from support.world import catalogue_of, matrix_of, world

UTC = datetime.timezone.utc
DAY = datetime.date(2026, 11, 20)
SUITE, OTHER_SUITE = "a" * 64, "b" * 64
DEMO = world("published")
MATRIX = matrix_of(DEMO)
CATALOGUE = catalogue_of(DEMO)
FATES = plan(MATRIX, CATALOGUE).fates
CELLS = tuple(fate.cell for fate in FATES)
FRESH = tuple(cell.id for cell in CELLS if cell.recipe == "fresh")
PLAIN_OUTCOMES = (
    "locked",
    "lock-fail:no-artifact(gone==4.1)",
    "lock-fail:conflict(dep)",
    "lock-fail:source-only(dep==1.0)",
)
CAPABILITIES = ("import", "sum", "mean")
OUTCOMES = (
    "pass",
    "test-fail:assertion(test_mean)",
    "test-fail:assertion(mean)",
    "import-fail:missing-module(dep)",
    "lock-fail:no-artifact(dep==1.0)",
    "test-fail:wall-time",
    "install-fail:network",
)


class Shelf:
    """What is kept of a matrix's cells: whole records and locks; and which ids are of the suite's
    helpers.
    """

    helpers: frozenset[str] = frozenset()

    def __init__(
        self,
        records: Iterable[Record] = (),
        locks: Iterable[Lock] = (),
        policy: Policy | None = None,
        plain: Iterable[PlainAnswer] = (),
    ) -> None:
        """Take all records and locks, the matrix's policy, and what resolvers said."""
        self.policy = policy
        self.plain = {answer.cell: answer for answer in plain}
        self.locks = {lock.inputs.cell: lock for lock in locks}
        self._records: dict[str, tuple[Record, ...]] = {}
        for record in sorted(records, key=lambda one: one.started):
            self._records[record.cell] = (*self._records.get(record.cell, ()), record)

    def records(self, cell: str) -> tuple[Record, ...]:
        """Return the records of a cell, oldest first."""
        return self._records.get(cell, ())

    checkout = ""

    def newest_records(self, cell: str, lock_digest: str | None = None) -> Iterator[Record]:
        """Yield the records of a cell on a lock, or on any, newest first."""
        ours = reversed(self.records(cell))
        return (one for one in ours if lock_digest in (None, one.lock_digest))

    def lock_text(self, cell: str) -> str | None:
        """Return the text of a cell's lock; None when it has none."""
        return encode_lock(self.locks[cell]) if cell in self.locks else None

    def declaration(self) -> str:
        """Return the parts of the matrix's declaration that a proposal changes."""
        axis = '[[axes]]\nkind = "interpreter"\nname = "python"\nreleases = ["3.8", "3.9"]\n\n'
        return axis + "".join(
            f'[[floors]]\naxis = "{axis}"\nat = "{at}"\nbecause = "that is how it is"\n\n'
            for axis, at in (("python", "3.8"), ("dep", "1"))
        )

    def picture(self, day: datetime.date = DAY, matrix: Any = MATRIX) -> Snapshot:
        """Return what follows from it."""
        digests = {cell: lock.digest for cell, lock in self.locks.items()}
        present = EvaluationContext(suite_digest=SUITE, day=day, helpers=self.helpers)
        declared = Declared(matrix=matrix, policy=self.policy)
        known = snapshot(declared, CATALOGUE, FATES, digests, self._records, present)
        return with_locks(with_answers(known, self.plain), self.locks.get)


def lock_of(cell: str, install_as_python: str = "", **pins: str) -> Lock:
    """Return a lock of the cell with its own versions of demo and dep, and further pins by name."""
    at = parse_cell(cell, MATRIX)
    versions = {
        "demo": str(at.on("demo").version),
        "dep": f"{at.on('dep').version}.0",
        "pytest": "8.0",
    } | pins
    found = tuple(
        Pin(
            name=name,
            version=Version(version),
            hashes=(hashlib.sha256(f"{name}{version}".encode()).hexdigest(),),
        )
        for name, version in sorted(versions.items())
    )
    given = next(pin for pin in found if pin.name == "demo") if at.recipe == "relaxed" else None
    inputs = Inputs(
        cell=cell,
        python=Version(f"{at.on('python').version}.18"),
        platform="x86_64-manylinux_2_28",
        requirements=("demo",),
        injected_pin=given,
        install_as_python=Version(install_as_python) if install_as_python else None,
    )
    return Lock(inputs=inputs, pins=found, tool="uv 0.13.9")


def ran(
    lock: Lock | str, *outcomes: str, days_ago: int = 0, suite: str = SUITE, **more: Any
) -> Record:
    """Return a record of a run on that lock (or, without one, of that cell), so many days before
    DAY.
    """
    cell, digest = (lock, "") if isinstance(lock, str) else (lock.inputs.cell, lock.digest)
    moment = datetime.datetime.combine(DAY, datetime.time(12, more.pop("minute", 0)), UTC)
    return Record(
        **{
            "cell": cell,
            "matrix": "demo",
            "outcome": parse_outcome((outcomes or ("pass",))[-1]),
            "lock_digest": digest,
            "suite_digest": suite if digest else "",
            "started": moment - datetime.timedelta(days=days_ago),
            "seconds": 12.5,
            "host": "linux-x86_64-2cpu-24gb",
            "isolation": "L3",
            "capabilities": statuses(**{"import": "yes", "sum": "yes"}) if not outcomes else (),
        }
        | more
    )


def statuses(**found: str) -> tuple[Capability, ...]:
    """`statuses(sum="yes", mean="no")`; what fails gives a wrong result."""
    return tuple(
        Capability(
            id=name,
            status=status,  # type: ignore[arg-type]
            cause="assertion" if status == "no" else "",
        )
        for name, status in found.items()
    )


@st.composite
def _runs(draw: st.DrawFn, cell: Cell, lock: Lock | None) -> list[Record]:
    found = []
    for minute in range(draw(st.integers(min_value=0, max_value=3))):
        outcome = draw(st.sampled_from(OUTCOMES))
        locks = [
            other for other in (lock, lock_of(cell.id, pytest="7.0"), cell.id) if other is not None
        ]
        told = {
            name: draw(st.sampled_from(["yes", "no", "absent"]))
            for name in draw(st.sets(st.sampled_from(CAPABILITIES)))
        }
        if outcome == "pass":
            told = {name: "yes" if status == "no" else status for name, status in told.items()}
        found.append(
            ran(
                draw(st.sampled_from(locks)),
                outcome,
                days_ago=draw(st.sampled_from([0, 1, 5, 200])),
                tier=draw(st.sampled_from(["full", "full", "smoke"])),
                suite=draw(st.sampled_from([SUITE, SUITE, OTHER_SUITE])),
                capabilities=statuses(**told),
                minute=minute,
            )
        )
    return found


@st.composite
def shelves(draw: st.DrawFn) -> Shelf:
    """Any few runs and locks of the demo's cells."""
    records: list[Record] = []
    locks: dict[str, Lock] = {}
    for cell in draw(st.lists(st.sampled_from(CELLS), max_size=8, unique=True)):
        if draw(st.booleans()):
            locks[cell.id] = lock_of(cell.id)
        records += draw(_runs(cell, locks.get(cell.id)))
    asked = draw(st.lists(st.sampled_from(FRESH), max_size=3, unique=True))
    plain = [answered(cell, draw(st.sampled_from(PLAIN_OUTCOMES))) for cell in asked]
    return Shelf(records, locks.values(), plain=plain)


def answered(
    cell: str, outcome: str = "lock-fail:no-artifact(gone==4.1)", days_ago: int = 0
) -> PlainAnswer:
    """Return what a resolver said of a fresh cell, so many days before DAY."""
    because = "" if outcome == "locked" else "there is no version of gone==4.1"
    on = DAY - datetime.timedelta(days=days_ago)
    return PlainAnswer(cell=cell, on=on, outcome=outcome, because=because)


def proven(*cells: str) -> Shelf:
    """Return a shelf on which each of these cells passed once."""
    locks = [lock_of(cell) for cell in cells]
    return Shelf([ran(lock) for lock in locks], locks)


@contextmanager
def repository(shelf: Shelf) -> Iterator[Path]:
    """A repository with the shelf as the files that the command line reads."""
    with TemporaryDirectory() as place:
        folder = Path(place) / "matrices" / "demo"
        (folder / "suite").mkdir(parents=True)
        files.write(folder / "matrix.toml", DEMO["matrix"])
        files.write(folder / "catalogue.json", encode_catalogue(CATALOGUE, MATRIX))
        (folder / "locks").mkdir()
        for cell, lock in shelf.locks.items():
            files.write(folder / "locks" / f"{cell}.txt", encode_lock(lock))
        files.write(folder / "plain.json", encode_answers(shelf.plain.values()))
        store = RecordFiles(folder)
        for entry in shelf.picture().known:
            for record in shelf.records(entry.cell.id):
                store.add(record)
        yield Path(place)
