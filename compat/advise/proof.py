"""The `advise` room's material: every combination that ran on the lock it has now, and works,
wholly or in part.

Combinations are ranked by proof: the fewest failures of the combination, then the fewest changed
pins, then runs on the most days, then the newest versions. Each goal asks in an order of its own;
as it asks all four before anything else, what it names is never dominated: no other tested
combination is at least as good in all four and better in one. For `minimum` older is better.
"""

import datetime
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache, partial
from typing import Literal, NamedTuple, get_args

from packaging.version import Version

from compat.advise.lifted import Lifted, lifted
from compat.advise.request import Goal, Request, Want, meets, patches
from compat.declare.matrix import Axis, InterpreterAxis
from compat.lock.lockfile import Lock
from compat.plan.cell import RECIPES, Cell
from compat.plan.product import axis_coordinates
from compat.results.entry import Entry
from compat.results.record import Capability, Status
from compat.results.run_overview import ProofRuns, RunOverview
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
    says that today's suite was run: an older one may have asked less.
    """

    id: str
    cell: Cell
    kind: Literal["works", "partial"]
    versions: tuple[tuple[str, Version], ...]
    has: tuple[str, ...]
    fails: tuple[str, ...]
    faults: tuple[str, ...]
    untried: tuple[str, ...]
    lifted: tuple[Lifted, ...]
    score: Score
    tested: int
    days: int
    last: datetime.date
    isolation: Isolation
    stale: tuple[str, ...]
    is_of_today: bool

    @property
    def doubts(self) -> int:
        """How much does not work, or is not known to, by the combination; tests that did not run to
        their end count as one more.
        """
        stopped = self.kind == "partial" and not self.score.finished
        return len(self.faults) + len(self.untried) + int(stopped)

    @property
    def tier(self) -> int:
        """What is recommended first: 0 where all works that today's suite asks of the
        combination.
        """
        return min(self.doubts, 1)

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
        return tuple(want for want in request.wants if not _meets(want, *self.on(want.axis.name)))

    def lacking(self, request: Request) -> tuple[str, ...]:
        """Return the needed capabilities that it was not seen to have."""
        return tuple(need for need in request.needs if need not in self.has)

    def on(self, axis: str) -> tuple[Version, Version]:
        """Return the coordinate on an axis, and what the lock installs there."""
        return self.cell.on(axis).version, self.version(axis)


class Ranks:
    """The order in which proofs are recommended, by goal; the same for the command, the pages and
    their data.
    """

    def __init__(self, snapshot: Snapshot, proofs: tuple[TestedCombination, ...]) -> None:
        """Take all proofs of the snapshot."""
        self.positions = positions(snapshot)
        subject, python = snapshot.matrix.subject, snapshot.matrix.interpreters.name
        axes = (
            subject,
            *(axis.name for axis in snapshot.matrix.packages if axis.name != subject),
            python,
        )
        self._places = {
            proof.id: tuple(self.positions[axis][proof.cell.on(axis).version] for axis in axes)
            for proof in proofs
        }
        newest_first = sorted(set(self._places.values()), reverse=True)
        self._age = {places: number for number, places in enumerate(newest_first)}
        self._proofs = proofs
        self._ranks: dict[Goal, dict[str, int]] = {}

    def of(self, proof: TestedCombination, goal: Goal) -> int:
        """Return the place of a proof among all, 0 for the best, whether or not it works wholly."""
        ranks = self._ranks.get(goal)
        if ranks is None:
            ordered = sorted(self._proofs, key=partial(self._key, goal))
            ranks = self._ranks[goal] = {proof.id: rank for rank, proof in enumerate(ordered)}
        return ranks[proof.id]

    def order(self, proof: TestedCombination, request: Request) -> tuple[int, int]:
        """Return what proofs are sorted by: what works wholly comes first, unless it was said what
        must work, or that the fewest changed pins count first.
        """
        is_first = not request.needs and request.goal != "closest"
        return proof.tier if is_first else 0, self.of(proof, request.goal)

    def dominates(self, proof: TestedCombination, other: TestedCombination, goal: Goal) -> bool:
        """Return whether a proof is at least as good as another in failures, changed pins, days of
        runs and newness, and better in one.
        """
        ours, theirs = self._criteria(proof, goal), self._criteria(other, goal)
        return ours != theirs and all(map(operator.le, ours, theirs))

    def undominated(
        self, proofs: Iterable[TestedCombination], goal: Goal
    ) -> Iterator[TestedCombination]:
        """Yield those proofs that no other dominates; they must come the best first, as only an
        earlier one dominates a later one.
        """
        front: list[TestedCombination] = []
        for proof in proofs:
            if not any(self.dominates(better, proof, goal) for better in front):
                front.append(proof)
                yield proof

    def _criteria(self, proof: TestedCombination, goal: Goal) -> tuple[int, int, int, int]:
        """What proofs are compared by; less is better in each."""
        age = self._age[self._places[proof.id]]
        return proof.doubts, proof.changed, -proof.days, -age if goal == "minimum" else age

    def _key(self, goal: Goal, proof: TestedCombination) -> tuple[object, ...]:
        """What proofs are ordered by: all four criteria in the order of the goal, then what no goal
        asks about.
        """
        doubts, changed, days, age = self._criteria(proof, goal)
        subject = self._places[proof.id][0]
        last = (bool(proof.stale), RECIPES.index(proof.cell.recipe), proof.id)
        match goal:
            case "newest":
                return -subject, doubts, changed, days, age, *last
            case "stable":
                return days, doubts, changed, age, *last
            case "closest":
                return changed, doubts, days, age, *last
            case "minimum":
                return subject, doubts, changed, age, days, *last
        return doubts, changed, days, age, *last

    def distance(
        self, proof: TestedCombination, request: Request, asked: Mapping[str, Collection[Version]]
    ) -> tuple[int, int, int, int, int, int]:
        """Return how far a proof is from a request: whether its pins are refused, needs it lacks,
        wants it leaves unmet, coordinates off, its order.

        `asked` has the coordinates that are wanted of each axis. Where none is, all of its
        coordinates count.
        """
        unmet = proof.unmet(request)
        steps = sum(self._steps(proof, want.axis.name, asked[want.axis.name]) for want in unmet)
        return (
            int(not is_goal_met(proof, request)),
            len(proof.lacking(request)),
            len(unmet),
            steps,
            *self.order(proof, request),
        )

    def _steps(self, proof: TestedCombination, axis: str, asked: Collection[Version]) -> int:
        places = self.positions[axis]
        position = places[proof.cell.on(axis).version]
        return min((abs(position - places[version]) for version in asked), default=len(places))


def positions(snapshot: Snapshot) -> dict[str, dict[Version, int]]:
    """Return the number of each coordinate on its axis, oldest first; those that only records know
    are among them.
    """
    by_axis: dict[str, dict[Version, int]] = {}
    for axis in snapshot.matrix.axes:
        known = {coordinate.version for coordinate in axis_coordinates(axis, snapshot.catalogue)}
        known |= {entry.cell.on(axis.name).version for entry in snapshot.known}
        by_axis[axis.name] = {version: number for number, version in enumerate(sorted(known))}
    return by_axis


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

    proven = [proven for entry in snapshot.known if (proven := _proven(entry)) is not None]

    def read() -> _OfLocks:
        return _of_locks(snapshot, proven, locks, versions or of_lock)

    return tuple(_proofs(snapshot, proven, snapshot.kept("proofs", _OfLocks, read)))


class _Proven(NamedTuple):
    """An entry that proves something, and what its runs say of that."""

    entry: Entry
    kind: Literal["works", "partial"]
    latest: datetime.date
    overview: RunOverview
    runs: ProofRuns


class _OfLocks(Value, frozen=True, array_like=True):
    """What the locks of proofs say: of each, the versions in axis order, and the number of what it
    lifts.
    """

    proofs: tuple[tuple[tuple[str, ...], int], ...]
    lifted: tuple[tuple[Lifted, ...], ...]


def _proven(entry: Entry) -> _Proven | None:
    kind, latest, overview = entry.verdict.kind, entry.verdict.latest, entry.overview
    runs = None if overview is None else overview.proof
    if (kind == "works" or kind == "partial") and latest and overview and runs:
        return _Proven(entry, kind, latest, overview, runs)
    return None


def _of_locks(
    snapshot: Snapshot,
    proven: Iterable[_Proven],
    locks: Mapping[str, Lock],
    versions: VersionsOf,
) -> _OfLocks:
    packages = [(axis.name, _package(axis)) for axis in snapshot.matrix.axes]
    numbers: dict[tuple[Lifted, ...], int] = {}

    def of_lock(entry: Entry) -> tuple[tuple[str, ...], int]:
        pins = versions(entry.cell.id)
        installed = (pins.get(name) or entry.cell.on(axis).version for axis, name in packages)
        is_kept = entry.cell.recipe != "relaxed" or entry.is_unchanged
        lacks = () if is_kept else lifted(snapshot.feasibility, entry.cell, locks[entry.cell.id])
        return tuple(map(str, installed)), numbers.setdefault(lacks, len(numbers))

    return _OfLocks(tuple(of_lock(entry) for entry, *_ in proven), tuple(numbers))


def _proofs(
    snapshot: Snapshot, proven: Iterable[_Proven], locks: _OfLocks
) -> Iterator[TestedCombination]:
    names = [axis.name for axis in snapshot.matrix.axes]
    todays = _asked_today(snapshot)
    # Cells that came to the same share one object in the index, and the snapshot holds it.
    by_identity: dict[int, dict[Status, tuple[str, ...]]] = {}
    for (entry, kind, latest, overview, runs), (versions, number) in zip(
        proven, locks.proofs, strict=True
    ):
        capabilities = entry.verdict.capabilities
        by_status = by_identity.get(id(capabilities))
        if by_status is None:
            by_status = by_identity[id(capabilities)] = _by_status(capabilities)
        is_core = entry.verdict.evidence == "smoke"
        yield TestedCombination(
            id=entry.verdict.cell,
            cell=entry.cell,
            kind=kind,
            versions=tuple(zip(names, map(_version, versions), strict=True)),
            has=by_status["yes"],
            fails=by_status["no"],
            faults=entry.verdict.failing("combination", "unexplained"),
            untried=()
            if runs.is_of_today and not is_core
            else tuple(sorted(todays.difference(*by_status.values()))),
            lifted=locks.lifted[number],
            score=entry.verdict.score,
            tested=runs.count,
            days=runs.days,
            last=latest,
            isolation=runs.isolation,
            stale=overview.outdated,
            is_of_today=runs.is_of_today,
        )


def matching(proofs: Iterable[TestedCombination], request: Request) -> list[TestedCombination]:
    """Return the proofs that meet a request; each pair of versions is held against a want once."""
    tested_combinations = [
        proof for proof in proofs if is_goal_met(proof, request) and not proof.lacking(request)
    ]
    for want in request.wants:
        met = cache(partial(_meets, want))
        tested_combinations = [
            tested_combination
            for tested_combination in tested_combinations
            if met(*tested_combination.on(want.axis.name))
        ]
    return tested_combinations


def is_goal_met(proof: TestedCombination, request: Request) -> bool:
    """Return whether the goal of a request admits a combination: `published` takes none whose lock
    changes what is published.
    """
    return request.goal != "published" or proof.is_published


def is_current(entry: Entry) -> bool:
    """Return whether the newest run that counts was on the lock that the cell has now."""
    return entry.overview is not None and entry.overview.proof is not None


def _asked_today(snapshot: Snapshot) -> frozenset[str]:
    """The capabilities that any run of today's suite reported."""
    by_identity = {
        id(entry.verdict.capabilities): entry.verdict.capabilities
        for entry in snapshot.known
        if entry.overview is not None and entry.overview.asks_as_today
    }
    return frozenset(c.id for capabilities in by_identity.values() for c in capabilities)


def _by_status(capabilities: Iterable[Capability]) -> dict[Status, tuple[str, ...]]:
    """The ids of capabilities by what they came to, sorted."""
    ordered = sorted(capabilities, key=lambda capability: capability.id)
    return {s: tuple(c.id for c in ordered if c.status == s) for s in get_args(Status)}


def _meets(want: Want, version: Version, locked: Version) -> bool:
    return meets(
        want.specifier,
        version,
        patches(version) if isinstance(want.axis, InterpreterAxis) else [locked],
    )


def _package(axis: Axis) -> str:
    return "" if isinstance(axis, InterpreterAxis) else axis.normalised_name


_version = lru_cache(maxsize=10_000)(Version)
