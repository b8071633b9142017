"""The smallest change of requirements with which a cell can be locked, as a rule of matrix.toml."""

import re
from collections.abc import Callable, Mapping, Sequence

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import ANY, Rule
from compat.index.release import Package
from compat.lock.locker import Locker
from compat.lock.lockfile import Lock, Refusal
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.search.companions import companions
from compat.search.corrections import Resolution, Spent, corrections
from compat.search.nearest import distances, nearest_possible
from compat.search.relaxed import Changes, RelaxedCell, demands
from compat.value import Value

RULE_NAME = "repaired"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9]|[A-Za-z0-9]")
# What a refusal speaks of beside packages.
_NO_PACKAGES = frozenset(("python", "manylinux", "cpython"))


class RepairOptions(Value, frozen=True, kw_only=True):
    """How far a search goes: resolutions of a cell, and changes after which it is content.

    A resolution takes seconds. `hints` are changes that mended other cells: each costs one.
    """

    most_locks: int = 100
    enough: int = 3
    hints: tuple[Mapping[str, str], ...] = ()


class MovedPackage(Value, frozen=True, kw_only=True):
    """A package whose requirement gave way: what was asked of it, and what the lock installs.

    `published` is empty where not the subject but another package asks for it. `releases` and
    `days` say how far the installed version lies from the nearest that was asked for; None where
    that cannot be told.
    """

    package: str
    published: str
    version: Version | None
    releases: int | None
    days: int | None = None


class Repair(Value, frozen=True, kw_only=True):
    """A change with which the cell can be locked: the rule that makes it, and the lock."""

    rule: Rule | None
    moved: tuple[MovedPackage, ...]
    lock: Lock


class Repairs(Value, frozen=True, kw_only=True):
    """The smallest changes, the one that moves least first; none where nothing of that size helps.

    `refusal` is what stands in the way as asked, empty when nothing does; `remains` what does when
    every requirement has given way, empty where something helps. `conflicts` are sets of
    requirements that cannot hold together. `is_complete` says that no other change as small is
    left to try. `locks` is how many resolutions that took.
    """

    cell: str
    refusal: str
    remains: str
    repairs: tuple[Repair, ...]
    conflicts: tuple[tuple[str, ...], ...]
    is_complete: bool
    locks: int


def repairs(
    facts: Feasibility,
    cell: Cell,
    locker: Locker,
    package_of: Callable[[str], Package],
    options: RepairOptions | None = None,
) -> Repairs:
    """Return the smallest changes of requirements with which a cell can be locked.

    The cell's coordinates stay, and the rules of `facts` hold; each published requirement of the
    subject, and each package that a refusal names, may give way. Packages that are released
    together give way as one, and to one version. Raises IndexUnreachable and ToolFailed as the
    locker does.
    """
    options = options or RepairOptions()
    relaxed = RelaxedCell(facts, cell, locker, package_of, options.most_locks)
    return _Search(relaxed, options).repairs()


class _Search:
    """The search for the changes of one cell. Packages that move together go by the first's
    name.
    """

    def __init__(self, relaxed: RelaxedCell, options: RepairOptions) -> None:
        self._relaxed = relaxed
        self._options = options
        groups = companions([relaxed.package(name) for name in relaxed.direct])
        self._members = {group[0]: group for group in groups}
        self._demands: dict[str, dict[str, SpecifierSet]] = {}
        self._deep: tuple[str, ...] = ()
        self._refusal = ""

    def repairs(self) -> Repairs:
        direct = tuple(self._members)
        enough = self._options.enough
        hinted = self._hinted()
        if hinted is not None:
            return self._answer([hinted], (), is_complete=False)
        answer = corrections(direct, self._resolve, enough=enough)
        asked: tuple[str, ...] = ()
        # What other packages ask may give way, too: only now, as it moves more.
        while not answer.sets and self._deep != asked:
            asked = self._deep
            self._members |= {name: (name,) for name in asked}
            answer = corrections((*direct, *asked), self._resolve, enough=enough)
        mended = [self._repair(frozenset(names)) for names in answer.sets]
        conflicts = tuple(
            tuple(name for label in conflict for name in self._members[label])
            for conflict in answer.conflicts
        )
        return self._answer(mended, conflicts, answer.is_complete)

    def _answer(
        self,
        mended: Sequence[Repair],
        conflicts: tuple[tuple[str, ...], ...],
        is_complete: bool,
    ) -> Repairs:
        return Repairs(
            cell=self._relaxed.cell.id,
            refusal=self._refusal,
            remains="" if mended else self._remaining(),
            repairs=tuple(sorted(mended, key=_distance)),
            conflicts=conflicts,
            is_complete=is_complete,
            locks=self._relaxed.locks,
        )

    def _remaining(self) -> str:
        """What is in the way when all has given way; empty where nothing is, or nobody may ask."""
        every = sorted(name for names in self._members.values() for name in names)
        try:
            answer = self._relaxed.answer(dict.fromkeys(every, ANY))
        except Spent:
            return ""
        return "" if isinstance(answer, Lock) else answer.because

    def _hinted(self) -> Repair | None:
        """The repair by a change that mended another cell, where this one needs one, too."""
        if not self._options.hints or self._resolve(frozenset()).is_possible:
            return None
        for hint in self._options.hints:
            lock = self._lock(hint)
            if lock is not None:
                return self._made(hint, lock)
        return None

    def _resolve(self, labels: frozenset[str]) -> Resolution:
        """Return whether the cell can be locked once these have given way, and what is named."""
        names = sorted(name for label in labels for name in self._members[label])
        answer = self._relaxed.answer(dict.fromkeys(names, ANY))
        if isinstance(answer, Lock):
            return Resolution(is_possible=True)
        if not labels:
            self._refusal = answer.because
        subjects = (answer.subject,) if isinstance(answer, Refusal) else answer.between
        text = f"{answer.because} {' '.join(subjects)}"
        if isinstance(answer, Refusal):
            self._learn(text)
        spoken = {canonicalize_name(name) for name in _NAME.findall(text)}
        named = (label for label, names in self._members.items() if spoken.intersection(names))
        return Resolution(is_possible=False, named=frozenset(named))

    def _learn(self, text: str) -> None:
        """Keep which packages deeper in the tree a refusal speaks of, and what is asked of them."""
        known = {*self._relaxed.direct, *self._relaxed.axes, *_NO_PACKAGES}
        for word, specifier in demands(text):
            name = canonicalize_name(word)
            if name in known:
                continue
            try:
                self._demands.setdefault(name, {})[specifier] = SpecifierSet(specifier)
            except InvalidSpecifier:
                continue
        self._deep = tuple(sorted(self._demands))

    def _repair(self, labels: frozenset[str]) -> Repair:
        """The repair that a set of requirements makes, each moved no further than it must be."""
        changes = dict.fromkeys(
            sorted(name for label in labels for name in self._members[label]), ANY
        )
        lock = self._relaxed.answer(changes)
        assert isinstance(lock, Lock), "it was found because it has one"
        try:
            # Of which the index has least, that has least choice: the others follow it.
            for label in sorted(labels, key=lambda label: (len(self._choices(label)), label)):
                changes, lock = self._pulled(label, changes, lock)
            lock = self._lock(changes) or lock
        except Spent:
            changes |= {name: f"=={v}" for name, v in _versions(lock).items() if name in changes}
        return self._made(changes, lock)

    def _pulled(
        self, label: str, changes: dict[str, str], lock: Lock
    ) -> tuple[dict[str, str], Lock]:
        """The changes with one group brought as near to what was asked as can be."""
        members = self._members[label]
        apart = self._apart(label)

        def within(specifier: SpecifierSet) -> Lock | None:
            return self._lock(changes | dict.fromkeys(members, str(specifier)))

        near = nearest_possible(apart, within) or lock
        versions = {name: v for name, v in _versions(near).items() if name in members}
        # Of packages that are released together each has the same version, where that can be; and
        # of two as near the newer, whose needs the cell's date may hide until it is asked for.
        chosen = set(versions.values())
        least = max((apart.get(version, 10**6) for version in chosen), default=0)
        newer = {v for v, far in apart.items() if far == least and v > max(chosen)}
        newest_first = sorted(chosen | newer, reverse=True)
        for version in sorted(newest_first, key=lambda v: apart.get(v, 10**6)):
            exact = changes | dict.fromkeys(members, f"=={version}")
            if chosen == {version}:
                return exact, near
            if version in apart and (locked := self._lock(exact)) is not None:
                return exact, locked
        return changes | {name: f"=={v}" for name, v in versions.items()}, near

    def _lock(self, changes: Changes) -> Lock | None:
        answer = self._relaxed.answer(changes)
        return answer if isinstance(answer, Lock) else None

    def _choices(self, label: str) -> list[Version]:
        """The versions that every package of a group has."""
        finals = [set(self._relaxed.finals(name)) for name in self._members[label]]
        return sorted(set.intersection(*finals))

    def _apart(self, label: str) -> dict[Version, int]:
        """How many releases each version of a group lies from what was asked of its packages."""
        members, choices = self._members[label], self._choices(label)
        if label in self._demands:
            return self._deep_apart(label, choices)
        each = [distances(choices, self._relaxed.specifiers(name)) for name in members]
        return {v: sum(steps[v] for steps in each if steps) for v in choices if any(each)}

    def _deep_apart(self, name: str, choices: list[Version]) -> dict[Version, int]:
        """The same for a package that others ask for: of demands that cannot all be met the newest
        is, and as near to the others as can be.
        """
        asked = sorted(self._demands[name].values(), key=_newest)
        others = [distances(choices, [demand]) for demand in asked[:-1] or asked]
        admitted = [v for v in choices if asked[-1].contains(v)] if len(asked) > 1 else choices
        return {
            v: min(steps[v] for steps in others if steps)
            for v in admitted or choices
            if any(others)
        }

    def _made(self, changes: Changes, lock: Lock) -> Repair:
        versions = _versions(lock)
        pins = ", ".join(f"{name} {versions[name]}" for name in changes if name in versions)
        because = f"compat repair: {self._refusal or 'the published pins forbid it'}"
        proof = f"; with {pins} it can be locked" if pins else ""
        return Repair(
            rule=self._relaxed.rule(changes, f"{because[: 590 - len(proof)]}{proof}", RULE_NAME),
            moved=tuple(self._moved(name, versions.get(name)) for name in changes),
            lock=lock,
        )

    def _moved(self, name: str, version: Version | None) -> MovedPackage:
        asked = self._relaxed.specifiers(name)
        finals = self._relaxed.finals(name)
        steps = distances(list(finals), asked)
        uploaded = None if version is None else finals.get(version)
        wanted = [d for v, d in finals.items() if d is not None and steps.get(v) == 0]
        days = None
        if uploaded is not None and wanted:
            days = min(abs(uploaded - date).days for date in wanted)
        return MovedPackage(
            package=name,
            published=",".join(str(specifier) for specifier in asked if str(specifier)),
            version=version,
            releases=None if version is None else steps.get(version),
            days=days,
        )


def _versions(lock: Lock) -> dict[str, Version]:
    return {pin.name: pin.version for pin in lock.pins}


def _newest(demand: SpecifierSet) -> Version:
    """The highest version that a demand speaks of as its lower end; of an upper end, the least."""
    lower = [
        Version(clause.version.removesuffix(".*"))
        for clause in demand
        if clause.operator in (">=", ">", "==", "~=")
    ]
    return max(lower, default=Version("0"))


def _distance(repair: Repair) -> tuple[int, int, int]:
    """How much a repair moves: packages, then releases, then days; what is unknown is far."""
    far = 10**6
    return (
        len(repair.moved),
        sum(far if moved.releases is None else moved.releases for moved in repair.moved),
        sum(moved.days or 0 for moved in repair.moved),
    )
