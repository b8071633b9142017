"""The `advise` room's material: every combination that ran on the lock it has now, and works,
wholly or in part. In which order they are recommended says `ranks`.
"""

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, get_args

from packaging.version import Version

from compat.advise.lifted import Lifted, lifted
from compat.advise.request import Request, Want
from compat.declare.matrix import Axis, InterpreterAxis
from compat.lock.lock_text import locked_version
from compat.lock.lockfile import Lock
from compat.plan.cell import Cell
from compat.results.entry import Entry
from compat.results.record import Capability, Status
from compat.results.score import Score
from compat.results.snapshot import Snapshot
from compat.run.evidence import Isolation
from compat.value import Value

VersionsOf = Callable[[str], Mapping[str, Version]]


class TestedCombination(Value, frozen=True):
    """A combination that ran. `fails` are the capabilities that do not work, `has` those that do.

    Of those that do not work `faults` are failures of the combination. `untried` is what today's
    suite asks and what was run did not: an older one, or its core alone. `lifted` are the published
    requirements that its lock does not keep.

    `versions` has, for each axis, what the lock installs; of an interpreter, the series. `tested`
    is how many runs on this lock count, `days` on how many days they were: runs of one day share
    what that day had. `stale` says why the evidence is old; empty when it is not. `is_of_today`
    says that today's suite was run: an older one may have asked less. `outside` is how many of its
    versions of the axes, Python among them, the release's published requirements exclude.
    """

    cell: Cell
    kind: Literal["works", "partial"]
    versions: tuple[tuple[str, Version], ...]
    has: tuple[str, ...]
    fails: tuple[str, ...]
    faults: tuple[str, ...]
    untried: tuple[str, ...]
    lifted: tuple[Lifted, ...]
    outside: int
    score: Score
    tested: int
    days: int
    last: datetime.date
    isolation: Isolation
    stale: tuple[str, ...]
    is_of_today: bool

    @property
    def id(self) -> str:
        """The id of the cell."""
        return self.cell.id

    @property
    def doubts(self) -> int:
        """How much does not work, or is not known to, by the combination; tests that did not run to
        their end count as one more.
        """
        stopped = self.kind == "partial" and not self.score.finished
        return len(self.faults) + len(self.untried) + int(stopped)

    @property
    def tier(self) -> int:
        """What is recommended first: 0 where the release is published for these versions and works
        for the most part, 1 where all works that today's suite asks of the combination.
        """
        asked = len(self.has) + len(self.fails) + len(self.untried)
        if not self.outside and mostly_works(self.doubts, asked):
            return 0
        return min(self.doubts, 1) + 1

    @property
    def changed(self) -> int:
        """How many packages are not as published, Python among them."""
        return sum(len(requirement.packages) for requirement in self.lifted)

    @property
    def is_published(self) -> bool:
        """Whether nothing was lifted: all that the release publishes is kept."""
        return not self.lifted

    def version(self, axis: str) -> Version:
        """Return what the lock installs on an axis."""
        return dict(self.versions)[axis]

    def unmet(self, request: Request) -> tuple[Want, ...]:
        """Return the wants that it does not meet."""
        return tuple(want for want in request.wants if not want.is_met_by(*self.on(want.axis.name)))

    def lacking(self, request: Request) -> tuple[str, ...]:
        """Return the needed capabilities that it was not seen to have."""
        return tuple(need for need in request.needs if need not in self.has)

    def on(self, axis: str) -> tuple[Version, Version]:
        """Return the coordinate on an axis, and what the lock installs there."""
        return self.cell.on(axis).version, self.version(axis)


def tested_capabilities(snapshot: Snapshot) -> frozenset[str]:
    """Return the ids of the capabilities that any run reported."""

    def read() -> set[str]:
        # Cells that came to the same share one object in the index.
        every = (entry.verdict.capabilities for entry in snapshot.known)
        by_identity = {id(capabilities): capabilities for capabilities in every}
        return {c.id for capabilities in by_identity.values() for c in capabilities}

    return frozenset(snapshot.kept("capabilities", set[str], read))


def proofs(
    snapshot: Snapshot, locks: Mapping[str, Lock], versions: VersionsOf | None = None
) -> tuple[TestedCombination, ...]:
    """Return the proofs of a snapshot, in the order of the plan; `locks` has the lock of each cell
    that has one, and `versions` returns which versions of the axes it has.

    A cell whose newest run was on another lock than it has now proves nothing about what would be
    installed.
    """

    def of_lock(cell: str) -> dict[str, Version]:
        return {pin.name: pin.version for pin in locks[cell].pins}

    def read() -> _KeptProofs:
        return _kept_proofs(snapshot, locks, versions or of_lock)

    return tuple(_proofs(snapshot, snapshot.kept("proofs", _KeptProofs, read)))


class _KeptProof(Value, frozen=True, array_like=True):
    """A proof in little room: `place` is that of its cell in the snapshot, `versions` are in axis
    order, and other numbers are places in what proofs share.
    """

    place: int | str
    kind: Literal["works", "partial"]
    versions: tuple[str, ...]
    has: int
    fails: int
    faults: int
    untried: int
    lifted: int
    score: int
    tested: int
    days: int
    last: datetime.date
    isolation: Isolation
    stale: tuple[str, ...]
    is_of_today: bool


class _KeptProofs(Value, frozen=True, array_like=True):
    """The proofs, and what they share: lists of names, of what was lifted, and scores."""

    proofs: tuple[_KeptProof, ...]
    names: tuple[tuple[str, ...], ...]
    lifted: tuple[tuple[Lifted, ...], ...]
    scores: tuple[Score, ...]


def _kept_proofs(
    snapshot: Snapshot, locks: Mapping[str, Lock], versions: VersionsOf
) -> _KeptProofs:
    packages = [(axis.name, _package(axis)) for axis in snapshot.matrix.axes]
    todays = _asked_today(snapshot)
    names: dict[tuple[str, ...], int] = {}
    of_lifted: dict[tuple[Lifted, ...], int] = {}
    scores: dict[Score, int] = {}
    # Cells that came to the same share one object in the index, and the snapshot holds it.
    by_identity: dict[int, dict[Status, tuple[str, ...]]] = {}

    def number(some: tuple[str, ...]) -> int:
        return names.setdefault(some, len(names))

    def lifted_in(entry: Entry) -> tuple[Lifted, ...]:
        if entry.cell.recipe != "relaxed" or entry.is_unchanged:
            return ()
        return lifted(snapshot.feasibility, entry.cell, locks[entry.cell.id])

    def proof(entry: Entry) -> _KeptProof | None:
        verdict, overview = entry.verdict, entry.overview
        runs = None if overview is None else overview.proof
        kind, latest = verdict.kind, verdict.latest
        if not (kind == "works" or kind == "partial") or not (latest and overview and runs):
            return None
        by_status = by_identity.get(id(verdict.capabilities))
        if by_status is None:
            by_status = by_identity[id(verdict.capabilities)] = _by_status(verdict.capabilities)
        is_tried = runs.is_of_today and verdict.evidence != "smoke"
        untried = () if is_tried else tuple(sorted(todays.difference(*by_status.values())))
        return _KeptProof(
            place=snapshot.place_of(entry),
            kind=kind,
            versions=tuple(map(str, _versions(packages, entry.cell, versions(entry.cell.id)))),
            has=number(by_status["yes"]),
            fails=number(by_status["no"]),
            faults=number(verdict.failing("combination", "unexplained")),
            untried=number(untried),
            lifted=of_lifted.setdefault(lifted_in(entry), len(of_lifted)),
            score=scores.setdefault(verdict.score, len(scores)),
            tested=runs.count,
            days=runs.days,
            last=latest,
            isolation=runs.isolation,
            stale=overview.outdated,
            is_of_today=runs.is_of_today,
        )

    proven = tuple(filter(None, map(proof, snapshot.known)))
    return _KeptProofs(proven, tuple(names), tuple(of_lifted), tuple(scores))


def _proofs(snapshot: Snapshot, proven: _KeptProofs) -> Iterator[TestedCombination]:
    axes = [axis.name for axis in snapshot.matrix.axes]
    names, packages = proven.names, {"Python", *map(_package, snapshot.matrix.axes)}
    # Of what the release itself asks; what only other packages ask of an axis is not in it.
    outside = [
        sum(len(packages.intersection(each.packages)) for each in lifted if each.published)
        for lifted in proven.lifted
    ]
    for proof in proven.proofs:
        yield TestedCombination(
            cell=snapshot.cell_at(proof.place),
            kind=proof.kind,
            versions=tuple(zip(axes, map(locked_version, proof.versions), strict=True)),
            has=names[proof.has],
            fails=names[proof.fails],
            faults=names[proof.faults],
            untried=names[proof.untried],
            lifted=proven.lifted[proof.lifted],
            outside=outside[proof.lifted],
            score=proven.scores[proof.score],
            tested=proof.tested,
            days=proof.days,
            last=proof.last,
            isolation=proof.isolation,
            stale=proof.stale,
            is_of_today=proof.is_of_today,
        )


def is_goal_met(proof: TestedCombination, request: Request) -> bool:
    """Return whether the goal of a request admits a combination: `published` takes none whose lock
    changes what is published.
    """
    return request.goal != "published" or proof.is_published


def mostly_works(failing: int, asked: int) -> bool:
    """Whether so few of the capabilities that were asked fail that what else speaks for a
    combination counts more: at most one in ten, a choice.
    """
    return 10 * failing <= asked


def is_current(entry: Entry) -> bool:
    """Return whether the newest run that counts was on the lock that the cell has now."""
    return entry.overview is not None and entry.overview.proof is not None


def _asked_today(snapshot: Snapshot) -> frozenset[str]:
    by_identity = {
        id(entry.verdict.capabilities): entry.verdict.capabilities
        for entry in snapshot.known
        if entry.overview is not None and entry.overview.asks_as_today
    }
    return frozenset(c.id for capabilities in by_identity.values() for c in capabilities)


def _by_status(capabilities: Iterable[Capability]) -> dict[Status, tuple[str, ...]]:
    ordered = sorted(capabilities, key=lambda capability: capability.id)
    return {s: tuple(c.id for c in ordered if c.status == s) for s in get_args(Status)}


def _package(axis: Axis) -> str:
    return "" if isinstance(axis, InterpreterAxis) else axis.normalised_name


def _versions(
    packages: Iterable[tuple[str, str]], cell: Cell, pins: Mapping[str, Version]
) -> Iterator[Version]:
    for axis, package in packages:
        yield pins.get(package) or cell.on(axis).version
