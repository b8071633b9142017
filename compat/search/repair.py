"""The smallest change of requirements with which a cell can be locked, as a rule of matrix.toml."""

import datetime
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import ANY, PackageAxis, Relaxation, Rule, When
from compat.index.release import Package
from compat.lock.locker import Locker
from compat.lock.lockfile import Lock, Refusal
from compat.lock.recipe import inputs_of, lock_cell
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.plan.obstacle import Obstacle
from compat.plan.platform import admits
from compat.plan.requirements import named
from compat.search.corrections import Resolution, corrections
from compat.value import Value

RULE_NAME = "repaired"
# How many releases near the published pin are tried before the resolver's own choice stands: a
# resolution takes seconds. Chosen on 2026-11-23.
NEAREST = 12
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9]|[A-Za-z0-9]")


class MovedPackage(Value, frozen=True, kw_only=True):
    """A package whose requirement gave way: what was asked of it, and what the lock installs.

    `published` is empty where not the subject but another package asks for it. `releases` says how
    many releases the installed version lies from the nearest one that was asked for; None where
    that cannot be told.
    """

    package: str
    published: str
    version: Version | None
    releases: int | None


class Repair(Value, frozen=True, kw_only=True):
    """A change with which the cell can be locked: the rule that makes it, and the lock."""

    rule: Rule | None
    moved: tuple[MovedPackage, ...]
    lock: Lock


class Repairs(Value, frozen=True, kw_only=True):
    """The smallest changes, the one that moves least first; none where nothing of that size helps.

    `refusal` is what stands in the way as asked, empty when nothing does. `conflicts` are sets of
    requirements that cannot hold together. `is_complete` says that no other change as small is
    left to try. `locks` is how many resolutions that took.
    """

    cell: str
    refusal: str
    repairs: tuple[Repair, ...]
    conflicts: tuple[tuple[str, ...], ...]
    is_complete: bool
    locks: int


def repairs(
    facts: Feasibility,
    cell: Cell,
    locker: Locker,
    package_of: Callable[[str], Package],
    most_locks: int = 200,
) -> Repairs:
    """Return the smallest changes of requirements with which a cell can be locked.

    The cell's coordinates stay, and the rules of `facts` hold; each published requirement of the
    subject, and each package that a refusal names, may give way. Raises IndexUnreachable and
    ToolFailed as the locker does.
    """
    trials = _Trials(facts, cell, locker, package_of)
    answer = corrections(trials.direct, trials.resolve, most_trials=most_locks)
    if not answer.sets and trials.deep:
        # What other packages ask may give way, too: only now, as it moves more.
        every = (*trials.direct, *trials.deep)
        left = max(most_locks - answer.trials, 1)
        answer = corrections(every, trials.resolve, most_trials=left)
    every_repair = (trials.repair(frozenset(names)) for names in answer.sets)
    return Repairs(
        cell=cell.id,
        refusal=trials.refusal,
        repairs=tuple(sorted((r for r in every_repair if r is not None), key=_distance)),
        conflicts=answer.conflicts,
        is_complete=answer.is_complete,
        locks=trials.locks,
    )


class _Trials:
    """The cell with some requirements given way, asked of plan and resolver; each set once."""

    def __init__(
        self,
        facts: Feasibility,
        cell: Cell,
        locker: Locker,
        package_of: Callable[[str], Package],
    ) -> None:
        matrix = facts.matrix
        self._matrix = matrix
        self._catalogue = facts.catalogue
        self._facts = facts
        self._cell = cell
        self._locker = locker
        self._package_of = package_of
        self._answers: dict[frozenset[str], Lock | Refusal | Obstacle] = {}
        self._release = facts.subject_releases(cell.on(matrix.subject).version)[-1]
        python = cell.on(matrix.interpreters.name).version
        self._asked = facts.requirements(self._release.version, python)
        self._axes = {axis.normalised_name: axis for axis in matrix.packages}
        self._late = max(matrix.packages, key=self._came_out).name
        self.direct = tuple(
            dict.fromkeys(asked.name for asked in self._asked if asked.name not in self._axes)
        )
        self.deep: tuple[str, ...] = ()
        self.refusal = ""
        self.locks = 0

    def resolve(self, relaxed: frozenset[str]) -> Resolution:
        """Return whether the cell can be locked once these have given way, and what is named."""
        answer = self._answer(relaxed)
        if isinstance(answer, Lock):
            return Resolution(is_possible=True)
        if not relaxed:
            self.refusal = answer.because
        because = f"{answer.because} {' '.join(_subjects(answer))}"
        names = {canonicalize_name(name) for name in _NAME.findall(because)}
        known = {*self.direct, *self.deep, *self._axes}
        if isinstance(answer, Refusal):
            # A sentence has other words, too: only what the refusal asks for is a package.
            others = {canonicalize_name(name) for name in _requirements(because)} - known
            self.deep = (*self.deep, *sorted(others))
        return Resolution(is_possible=False, named=frozenset(names & {*self.direct, *self.deep}))

    def repair(self, relaxed: frozenset[str]) -> Repair | None:
        """Return the repair that a set of requirements makes; None where it has no lock."""
        lock = self._answer(relaxed)
        if not isinstance(lock, Lock):
            return None
        pins = dict.fromkeys(sorted(relaxed), ANY)
        # Of which the index has least, that has least choice: the others follow it.
        for name in sorted(pins, key=lambda name: (len(self._finals(name)), name)):
            for version in self._nearest(name, lock):
                nearer = self._tried(pins | {name: f"=={version}"})
                if isinstance(nearer, Lock):
                    pins[name], lock = f"=={version}", nearer
                    break
        versions = {pin.name: pin.version for pin in lock.pins}
        return Repair(
            rule=self._rule(pins),
            moved=tuple(self._moved(name, versions.get(name)) for name in pins),
            lock=lock,
        )

    def _nearest(self, name: str, lock: Lock) -> list[Version]:
        """The releases that lie nearer to what was asked than what the lock has, nearest first."""
        asked = self._specifiers(name)
        releases = self._finals(name)
        locked = next((pin.version for pin in lock.pins if pin.name == name), None)
        if not asked or locked not in releases:
            return []
        apart = {version: self._steps(releases, asked, version) for version in releases}
        limit = apart[locked]
        nearer = [
            version
            for version, steps in apart.items()
            if steps is not None and steps < (limit or 0)
        ]
        return sorted(nearer, key=lambda version: (apart[version] or 0, version))[:NEAREST]

    def _answer(self, relaxed: frozenset[str]) -> Lock | Refusal | Obstacle:
        if relaxed not in self._answers:
            self._answers[relaxed] = self._tried(dict.fromkeys(sorted(relaxed), ANY))
        return self._answers[relaxed]

    def _tried(self, pins: Mapping[str, str]) -> Lock | Refusal | Obstacle:
        """What comes of it when these packages are asked for in that way instead."""
        rule = self._rule(pins)
        rules = self._matrix.rules if rule is None else (*self._matrix.rules, rule)
        facts = Feasibility(msgspec.structs.replace(self._matrix, rules=rules), self._catalogue)
        cell = msgspec.structs.replace(self._cell, recipe="relaxed" if rules else "dated")
        obstacle = facts.obstacle(cell)
        if obstacle is not None:
            return obstacle
        self.locks += 1
        inputs = inputs_of(facts, cell)
        return lock_cell(self._locker, inputs, self._package_of, self._matrix.margin_days)

    def _rule(self, pins: Mapping[str, str]) -> Rule | None:
        """The rule that lets these give way, in this one place; None when nothing has to."""
        relaxations = (*self._forced(), *(self._relaxation(*pin) for pin in pins.items()))
        if not relaxations:
            return None
        places = tuple(
            (coordinate.axis, SpecifierSet(self._place(coordinate.axis, coordinate.version)))
            for coordinate in self._cell.coordinates
        )
        return Rule(
            name=RULE_NAME,
            effect="relax",
            because=f"compat repair: without it, {self.refusal or 'the published pins forbid it'}",
            when=When(places),
            relaxations=relaxations,
        )

    def _forced(self) -> Iterator[Relaxation]:
        """What the cell's coordinates make give way in any case."""
        for axis in self._matrix.packages:
            if axis.name != self._matrix.subject and self._facts.moved(self._cell, axis.name):
                yield Relaxation(package=axis.package, to=ANY)
        published = self._release.published
        needed = None if published is None else published.requires_python
        if not admits(needed, self._facts.patch(self._cell)):
            subject = self._matrix.subject_axis.package
            yield Relaxation(package=subject, ignore_requires_python=True)

    def _relaxation(self, name: str, to: str) -> Relaxation:
        # As of the newest coordinate, and later only as far as the lock needs it: so a package
        # moves no further than it must.
        everywhere = name not in self.direct
        return Relaxation(package=name, to=to, as_of=self._late, everywhere=everywhere)

    def _place(self, axis: str, version: Version) -> str:
        kinds = {other.name: other for other in self._matrix.packages}
        is_exact = axis in kinds and kinds[axis].select.keep == "each"
        return f"=={version}" if is_exact else f"=={version}.*"

    def _came_out(self, axis: PackageAxis) -> datetime.datetime:
        earliest = datetime.datetime.min.replace(tzinfo=datetime.timezone.utc)
        releases = self._facts.releases(self._cell, axis)
        return min((r.uploaded for r in releases if r.uploaded is not None), default=earliest)

    def _specifiers(self, name: str) -> list[SpecifierSet]:
        return [requirement.specifier for requirement in named(self._asked, name)]

    def _finals(self, name: str) -> list[Version]:
        releases = self._package_of(name).releases
        return [release.version for release in releases if not release.version.is_prerelease]

    def _moved(self, name: str, version: Version | None) -> MovedPackage:
        asked = self._specifiers(name)
        finals = self._finals(name) if version is not None else []
        steps = None if version is None else self._steps(finals, asked, version)
        return MovedPackage(
            package=name,
            published=",".join(str(specifier) for specifier in asked if str(specifier)),
            version=version,
            releases=steps,
        )

    def _steps(
        self, releases: Sequence[Version], asked: Sequence[SpecifierSet], version: Version
    ) -> int | None:
        """How many releases a version lies from the nearest that is asked for, counting one that
        the index has lost; None where nothing says which that is.
        """
        exact = {
            Version(clause.version)
            for specifier in asked
            for clause in specifier
            if clause.operator == "==" and not clause.version.endswith(".*")
        }
        every = sorted({*releases, *exact})
        admitted = [v for v in every if all(specifier.contains(v) for specifier in asked)]
        if version not in every or not admitted:
            return None
        place = every.index(version)
        return min(abs(every.index(other) - place) for other in admitted)


def _subjects(answer: Refusal | Obstacle) -> tuple[str, ...]:
    return (answer.subject,) if isinstance(answer, Refusal) else answer.between


def _requirements(text: str) -> list[str]:
    """The names in a text that a version follows, such as `numpy>=1.21`."""
    return re.findall(r"([A-Za-z0-9][\w.-]*?)\s*(?:\[[\w,-]*\])?\s*(?:[<>=!~]=|[<>])\s*\d", text)


def _distance(repair: Repair) -> tuple[int, int]:
    """How much a repair moves: packages, then releases; what is unknown is far."""
    far = 10**6
    return (
        len(repair.moved),
        sum(far if moved.releases is None else moved.releases for moved in repair.moved),
    )
