"""The `advise` room's material: every combination that ran on the lock it has now, and works,
wholly or in part. In which order they are recommended says `ranks`.
"""

import datetime
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Literal, get_args

from packaging.version import Version

from compat.advise.lifted import Lifted, lifted
from compat.advise.request import Request, Want
from compat.declare.matrix import Axis, InterpreterAxis
from compat.lock.lock_text import locked_version
from compat.lock.lockfile import Lock
from compat.plan.cell import Cell
from compat.results.answer import Answer, Score
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
        return {pin.name: pin.version for pin in locks[cell].pins}

    read_versions = versions or of_lock
    packages = [_package(axis) for axis in snapshot.matrix.axes]
    proven = [
        entry
        for entry in snapshot.known
        if (entry.kind in ("works", "partial") and is_current(entry))
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
    locked, todays = (
        snapshot.kept("locked", dict[str, _Locked], read),
        frozenset(c.id for capabilities in by_identity.values() for c in capabilities),
    )
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
    verdict, overview = entry, entry.overview
    assert overview is not None
    assert verdict.latest is not None
    kind, runs = verdict.kind, overview.proof
    assert runs is not None
    is_tried = runs.is_of_today and verdict.evidence != "smoke"
    untried = () if is_tried else tuple(sorted(todays.difference(*by_status.values())))
    axes = [coordinate.axis for coordinate in entry.cell.coordinates]
    return TestedCombination(
        cell=entry.cell,
        kind="works" if kind == "works" else "partial",
        versions=tuple(zip(axes, map(locked_version, locked.versions), strict=True)),
        has=by_status["yes"],
        fails=by_status["no"],
        faults=verdict.failing("combination", "unexplained"),
        untried=untried,
        lifted=locked.lifted,
        # Of what the release itself asks; what only other packages ask of an axis is not in it.
        outside=sum(
            len({"Python", *packages}.intersection(each.packages))
            for each in locked.lifted
            if each.published
        ),
        score=verdict.score,
        tested=runs.count,
        days=runs.days,
        last=verdict.latest,
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
