"""The `advise` room's material: every combination that ran on the lock it has now, and works,
wholly or in part. In which order they are recommended says `ranks`.
"""

import datetime
import operator
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Literal, get_args

from packaging.version import Version

from compat.advise.lifted import Lifted, lifted
from compat.advise.request import Goal, Request, Want
from compat.declare.matrix import Axis, InterpreterAxis, PackageAxis
from compat.lock.lock_text import locked_version
from compat.lock.lockfile import Lock
from compat.plan.cell import RECIPES, Cell, axis_coordinates, readable_cell
from compat.results.answer import Answer, Score, verdict_clause
from compat.results.installs import plain_of_cell
from compat.results.record import Capability, Status
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
        return sum(len(requirement.packages) for requirement in self.lifted)

    @property
    def is_published(self) -> bool:
        return not self.lifted

    def version(self, axis: str) -> Version:
        return dict(self.versions)[axis]

    def unmet(self, request: Request) -> tuple[Want, ...]:
        return tuple(want for want in request.wants if not want.is_met_by(*self.on(want.axis.name)))

    def lacking(self, request: Request) -> tuple[str, ...]:
        return tuple(need for need in request.needs if need not in self.has)

    def on(self, axis: str) -> tuple[Version, Version]:
        return self.cell.on(axis).version, self.version(axis)


def tested_capabilities(snapshot: Snapshot) -> frozenset[str]:
    every = {id(e.capabilities): e.capabilities for e in snapshot.known}
    return frozenset(c.id for capabilities in every.values() for c in capabilities)


def proofs(
    snapshot: Snapshot, locks: Mapping[str, Lock], versions: VersionsOf | None = None
) -> tuple[TestedCombination, ...]:
    """Return the proofs of a snapshot, in the order of the plan; `locks` has the lock of each cell
    that has one, and `versions` returns which versions of the axes it has.

    A cell whose newest run was on another lock than it has now proves nothing about what would be
    installed.
    """

    def of_lock(cell: str) -> dict[str, Version]:
        return locks[cell].versions

    read_versions = versions or of_lock
    packages = [_package(axis) for axis in snapshot.matrix.axes]
    proven = [
        entry
        for entry in snapshot.known
        if entry.kind in ("works", "partial") and is_current(entry)
    ]

    def read() -> dict[str, _Locked]:
        return {
            entry.cell.id: _Locked(
                tuple(map(str, _versions(packages, entry.cell, read_versions(entry.cell.id)))),
                lifted(snapshot.feasibility, entry.cell, locks[entry.cell.id])
                if entry.cell.recipe == "relaxed" and not entry.is_unchanged
                else (),
            )
            for entry in proven
        }

    by_identity = {
        id(entry.capabilities): entry.capabilities
        for entry in snapshot.known
        if entry.overview is not None and entry.overview.asks_as_today
    }
    locked = snapshot.kept("locked", dict[str, _Locked], read)
    todays = frozenset(c.id for capabilities in by_identity.values() for c in capabilities)
    # Cells with the same results share one object, which the snapshot holds.
    capabilities = {id(e.capabilities): e.capabilities for e in proven}
    statuses = {key: _by_status(every) for key, every in capabilities.items()}
    return tuple(
        _proof(entry, locked[entry.cell.id], statuses[id(entry.capabilities)], todays, packages)
        for entry in proven
    )


class _Locked(Value, frozen=True, array_like=True):
    """What a lock says: its versions, in axis order, and the requirements it does not keep."""

    versions: tuple[str, ...]
    lifted: tuple[Lifted, ...]


def _proof(
    entry: Answer,
    locked: _Locked,
    by_status: Mapping[Status, tuple[str, ...]],
    todays: frozenset[str],
    packages: Collection[str],
) -> TestedCombination:
    overview = entry.overview
    assert overview is not None
    assert entry.latest is not None
    kind, runs = entry.kind, overview.proof
    assert runs is not None
    is_tried = runs.is_of_today and entry.evidence != "smoke"
    untried = () if is_tried else tuple(sorted(todays.difference(*by_status.values())))
    axes = [coordinate.axis for coordinate in entry.cell.coordinates]
    return TestedCombination(
        cell=entry.cell,
        kind="works" if kind == "works" else "partial",
        versions=tuple(zip(axes, map(locked_version, locked.versions), strict=True)),
        has=by_status["yes"],
        fails=by_status["no"],
        faults=entry.failing("combination", "unexplained"),
        untried=untried,
        lifted=locked.lifted,
        # Of what the release itself asks; what only other packages ask of an axis is not in it.
        outside=sum(
            len({"Python", *packages}.intersection(each.packages))
            for each in locked.lifted
            if each.published
        ),
        score=entry.score,
        tested=runs.count,
        days=runs.days,
        last=entry.latest,
        isolation=runs.isolation,
        stale=overview.outdated,
        is_of_today=runs.is_of_today,
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


def is_current(entry: Answer) -> bool:
    return entry.overview is not None and entry.overview.proof is not None


def _by_status(capabilities: Iterable[Capability]) -> dict[Status, tuple[str, ...]]:
    ordered = sorted(capabilities, key=lambda capability: capability.id)
    return {s: tuple(c.id for c in ordered if c.status == s) for s in get_args(Status)}


def _package(axis: Axis) -> str:
    return "" if isinstance(axis, InterpreterAxis) else axis.normalised_name


def _versions(
    packages: Iterable[str], cell: Cell, pins: Mapping[str, Version]
) -> Iterator[Version]:
    for package, coordinate in zip(packages, cell.coordinates, strict=True):
        yield pins.get(package) or coordinate.version


class AsPublished(Value, frozen=True):
    """What `command` does today: `works`, `fails`, or `unknown` where nobody tried."""

    command: str
    state: Literal["works", "fails", "unknown"]
    sentence: str


def as_published(snapshot: Snapshot, cell: Cell) -> AsPublished:
    command = f"pip install {' '.join(_pin(axis, cell) for axis in snapshot.matrix.packages)}"
    as_is = partial(AsPublished, command)
    fresh = cell.id.partition("+")[0]
    entry = snapshot.by_id.get(fresh)
    asked = readable_cell(fresh, snapshot.matrix) if entry is None else entry.cell
    install = None if asked is None else next(plain_of_cell(snapshot, asked), None)
    if install is not None and install.ground in ("resolver", "clause"):
        if install.state == "resolves":
            return as_is("unknown", f"resolves on {install.on}, and was not run")
        on = f", asked on {install.on}"
        if install.state == "needs-build":
            return as_is("unknown", f"needs a build from source{on}: {install.because}")
        missing = str(install.outcome).partition("no-artifact(")[2]
        for source in snapshot.matrix.sources:
            if missing.startswith(tuple(source.package + mark for mark in "=<>~!")):
                on += f"; with --find-links {source.find_links} an older file may fit"
        return as_is("fails", f"is refused: {install.outcome}{on}")
    kind = "unknown" if entry is None else entry.kind
    if entry is None or kind == "unknown":
        return as_is("unknown", "not tried so far")
    if kind == "works":
        return as_is("works", f"{verdict_clause(entry)}, tested on {entry.latest}")
    return as_is("fails", _failure(entry))


def _failure(entry: Answer) -> str:
    if entry.kind == "infeasible" or entry.outcome is None:
        return f"cannot work: {'; '.join(entry.reasons)}"
    if entry.kind == "partial" and entry.score.words:
        return f"{verdict_clause(entry)}: {entry.score.words}; tested on {entry.latest}"
    return f"{verdict_clause(entry)}: {entry.outcome}, tested on {entry.latest}"


def _pin(axis: PackageAxis, cell: Cell) -> str:
    version = cell.on(axis.name).version
    name = f"{axis.package}[{','.join(axis.extras)}]" if axis.extras else axis.package
    return f"'{name}=={version}'" if axis.select.is_exact(version) else f"'{name}=={version}.*'"


class Ranks:
    """The order in which proofs are recommended, by goal; the same for the command, the pages and
    their data.
    """

    def __init__(self, snapshot: Snapshot, proofs: tuple[TestedCombination, ...]) -> None:
        self.positions = positions(snapshot)
        subject, python = snapshot.matrix.subject, snapshot.matrix.interpreters.name
        axes = (
            subject,
            *(axis.name for axis in snapshot.matrix.packages if axis.name != subject),
            python,
        )
        every = [
            tuple([self.positions[axis][proof.cell.on(axis).version] for axis in axes])
            for proof in proofs
        ]
        newest_first = sorted(set(every), reverse=True)
        age = {places: number for number, places in enumerate(newest_first)}
        # By identity: to write down the id of each cell would take longer than all of this.
        self._subjects = {id(proof): places[0] for proof, places in zip(proofs, every, strict=True)}
        # What proofs are compared by; less is better in each.
        self._criteria = {
            id(proof): (proof.doubts, proof.changed, -proof.days, age[places])
            for proof, places in zip(proofs, every, strict=True)
        }
        self._proofs = proofs
        self._ranks: dict[Goal, dict[int, int]] = {}

    def of(self, proof: TestedCombination, goal: Goal) -> int:
        """Return the place of a proof among all, 0 for the best, whether or not it works wholly."""
        ranks = self._ranks.get(goal)
        if ranks is None:
            ordered = sorted(self._proofs, key=partial(self._key, goal))
            ranks = self._ranks[goal] = {id(proof): rank for rank, proof in enumerate(ordered)}
        return ranks[id(proof)]

    def order(self, proof: TestedCombination, request: Request) -> tuple[object, ...]:
        return tier_of(proof, request), *self._key(request.goal, proof)

    def criteria(self, proof: TestedCombination, request: Request) -> tuple[int, ...]:
        """Return tier, failures, changed pins, days of runs and newness: less is better in each."""
        *rest, age = self._criteria[id(proof)]
        return tier_of(proof, request), *rest, -age if request.goal == "minimum" else age

    def contenders(
        self, proofs: Iterable[TestedCombination], request: Request
    ) -> list[TestedCombination]:
        """Return those proofs that no other dominates which is equal in all but newness: what is
        left is quick to sort, where there are many proofs.
        """
        by_rest: dict[tuple[int, ...], list[TestedCombination]] = {}
        ages: dict[tuple[int, ...], int] = {}
        for proof in proofs:
            *other, age = self.criteria(proof, request)
            rest = tuple(other)
            best = ages.get(rest)
            if best is None or age < best:
                ages[rest] = age
                by_rest[rest] = [proof]
            elif age == best:
                by_rest[rest].append(proof)
        return [proof for equals in by_rest.values() for proof in equals]

    def undominated(
        self, proofs: Iterable[TestedCombination], request: Request
    ) -> Iterator[TestedCombination]:
        """Yield those proofs that no other dominates; they must come the best first, as only an
        earlier one dominates a later one.
        """
        front: list[tuple[int, ...]] = []
        for proof in proofs:
            own = self.criteria(proof, request)
            if not any(each != own and all(map(operator.le, each, own)) for each in front):
                front.append(own)
                yield proof

    def _key(self, goal: Goal, proof: TestedCombination) -> tuple[object, ...]:
        """What proofs are ordered by: all four criteria in the order of the goal, then what no goal
        asks about.
        """
        doubts, changed, days, age = self._criteria[id(proof)]
        subject = self._subjects[id(proof)]
        last = (bool(proof.stale), RECIPES.index(proof.cell.recipe), proof.id)
        match goal:
            case "newest":
                return -subject, doubts, changed, days, age, *last
            case "stable":
                return days, doubts, changed, age, *last
            case "closest":
                return changed, doubts, days, age, *last
            case "minimum":
                return subject, doubts, changed, -age, days, *last
        return changed > 0, doubts, changed, age, days, *last

    def distance(
        self,
        proof: TestedCombination,
        unmet: Collection[Want],
        request: Request,
        asked: Mapping[str, Collection[Version]],
    ) -> tuple[object, ...]:
        """Return how far a proof is from a request: whether its pins are refused, needs it lacks,
        wants it leaves unmet, coordinates off, its order.

        `unmet` are those wants, and `asked` has the coordinates that are wanted of each axis. Where
        none is, the steps to where what is wanted would stand count.
        """
        steps = sum(self._steps(proof, want, asked[want.axis.name]) for want in unmet)
        return (
            int(not is_goal_met(proof, request)),
            len(proof.lacking(request)),
            len(unmet),
            steps,
            *self.order(proof, request),
        )

    def _steps(
        self, proof: TestedCombination, want: Want, asked: Collection[Version]
    ) -> int | float:
        places = self.positions[want.axis.name]
        position = places[proof.cell.on(want.axis.name).version]
        wanted: list[float] = [places[version] for version in asked]
        # Between two coordinates: a version that is none lies as far from both.
        wanted = wanted or [bisect_left([*places], v) - 0.5 for v in want.bounds]
        return min((abs(position - place) for place in wanted), default=len(places))


def tier_of(proof: TestedCombination, request: Request) -> int:
    """What counts before a goal's own order: the tier; where capabilities are needed, and so work,
    whether the release is published for the versions; with the goal `closest` nothing.
    """
    if request.goal == "closest":
        return 0
    return min(proof.outside, 1) if request.needs else proof.tier


def positions(snapshot: Snapshot) -> dict[str, dict[Version, int]]:
    """Return the number of each coordinate on its axis, oldest first; those that only records know
    are among them.
    """

    places = {(c.axis, c.version) for entry in snapshot.known for c in entry.cell.coordinates}
    for axis in snapshot.matrix.axes:
        places |= {(c.axis, c.version) for c in axis_coordinates(axis, snapshot.catalogue)}
    by_axis: dict[str, dict[Version, int]] = {axis.name: {} for axis in snapshot.matrix.axes}
    for name, version in sorted(places):
        by_axis[name][version] = len(by_axis[name])
    return by_axis
