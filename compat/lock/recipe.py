"""Converts a cell, its matrix and published metadata into the resolver's inputs, for each recipe;
also widens dates.
"""

import datetime
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain

import msgspec
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import ANY, NOTHING, PackageAxis, Relaxation
from compat.declare.parsing import name_of_line
from compat.errors import NoPage
from compat.index.discover import lowest_of
from compat.index.release import Package, Release, releases_of
from compat.lock.lockfile import Cutoff, Inputs, Lock, Locker, Pin, Refusal
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.plan.platform import Asked, admits, named
from compat.value import Value


class LockedFloor(Value, frozen=True, kw_only=True):
    """A declared minimum, the locked version (None: none), and why they differ."""

    package: str
    declared: str
    lowest: Version
    installed: Version | None
    because: str = ""

    @property
    def is_exact(self) -> bool:
        return self.installed == self.lowest


def declared(asked: Asked) -> str:
    return f"{_with_extras(asked.name, asked.extras)}{asked.specifier}"


def _with_extras(name: str, extras: Iterable[str]) -> str:
    return f"{name}[{','.join(extras)}]" if extras else name


def has_floor(asked: Asked) -> bool:
    return not asked.url and lowest_of(asked.specifier) is not None


def locked_floors(lock: Lock) -> tuple[LockedFloor, ...]:
    pins = lock.versions
    asked = ((text, Requirement(text)) for text in lock.inputs.floors)
    known = ((text, canonicalize_name(r.name), lowest_of(r.specifier)) for text, r in asked)
    return tuple(
        LockedFloor(package=name, declared=text, lowest=lowest, installed=pins.get(name))
        for text, name, lowest in known
        if lowest is not None
    )


PackageOf = Callable[[str], Package]
# The packages that a failed import mentions, by normalised name, and the version of each.
FailedImport = Mapping[str, Version]
# Each round frees at least one package from the date; a tree that needs more is no longer the
# requested tree.
_ROUNDS = 20
# Causes that no build from source changes.
_FINAL = ("conflict", "no-artifact", "requires-python", "yanked")


def inputs_of(
    facts: Feasibility,
    cell: Cell,
    kept: frozenset[str] = frozenset(),
    with_suite: bool = True,
    free: Collection[str] = (),
) -> Inputs:
    """Return the resolver's inputs for a cell that the plan finds feasible.

    `fresh` and `dated` use the subject's release as published, `lowest` its declared minimums as
    floors, `relaxed` its requirements as roots: those on `kept` packages as published, those on
    `free` ones without bounds, the others as the rules say.
    """
    matrix = facts.matrix
    common = matrix.requirements
    pins = [pinned(axis, cell) for axis in matrix.packages if axis is not matrix.subject_axis]
    base = Inputs(
        cell=cell.id,
        python=facts.patch(cell),
        platform=matrix.platform,
        requirements=tuple(sorted({pinned(matrix.subject_axis, cell), *pins, *common})),
        no_prereleases=matrix.no_prereleases,
        as_of=_as_of(facts, cell) if cell.is_dated else None,
        floors=tuple(
            sorted(
                pinned(axis, cell)
                for axis in matrix.packages
                if axis.select.patch == "oldest"
                and not axis.select.is_exact(cell.on(axis.name).version)
            )
        ),
        constraints=tuple(sorted(matrix.constraints)),
        index=matrix.prereleases.index
        if matrix.prereleases is not None and cell.recipe == "prerelease"
        else "",
    )
    if cell.recipe == "lowest":
        base = _lowest(facts, cell, base, [*pins, *common])
    elif cell.recipe == "relaxed":
        relaxations = facts.relaxations(cell)
        relaxations |= {name: Relaxation(package=name, to=ANY) for name in free}
        taken = {name: relaxation for name, relaxation in relaxations.items() if name not in kept}
        # A bare name constrains nothing; it marks a withdrawn rule.
        base = msgspec.structs.replace(
            _relaxed(facts, cell, base, [*pins, *common], taken),
            constraints=tuple(sorted({*base.constraints, *free})),
        )
    own, suite = set(base.requirements), set(matrix.suite.requirements if with_suite else ())
    return msgspec.structs.replace(
        base, requirements=tuple(sorted(own | suite)), suite=tuple(sorted(suite - own))
    )


def locked_cell(
    facts: Feasibility,
    cell: Cell,
    locker: Locker,
    package_of: PackageOf,
    near: Iterable[frozenset[str]] = (),
    failed: Iterable[FailedImport] = (),
) -> Lock | Refusal:
    """Return the locker's answer for a cell that the plan finds feasible.

    In a relaxed cell as few published requirements as possible give way, first those of `near`,
    which gave way in similar cells. For each `failed` import one package takes another version.
    """
    if cell.recipe == "relaxed":
        return _Relaxing(facts, cell, locker, package_of).answer(near, failed)
    return lock_cell(locker, inputs_of(facts, cell), package_of, facts.matrix.margin_days)


def soft_packages(facts: Feasibility, cell: Cell) -> frozenset[str]:
    """Return the packages whose published requirements may give way in a relaxed cell, or stay."""
    moved = {a.normalised_name for a in facts.matrix.packages if facts.moved(cell, a.name)}
    relaxations = facts.relaxations(cell).items()
    return frozenset(name for name, r in relaxations if not r.always and name not in moved)


def given_up(facts: Feasibility, cell: Cell, lock: Lock) -> frozenset[str]:
    published = inputs_of(facts, cell, frozenset(facts.relaxations(cell)))
    lost = {*published.requirements}.difference(lock.inputs.requirements)
    return frozenset(map(name_of_line, lost)) - {
        axis.normalised_name for axis in facts.matrix.packages
    }


class _Relaxing:
    """The search for the lock of one cell: deletion-based shrinking of the dropped requirements."""

    def __init__(
        self, facts: Feasibility, cell: Cell, locker: Locker, package_of: PackageOf
    ) -> None:
        self._facts, self._cell, self._locker = facts, cell, locker
        self._package_of = package_of
        self._relaxations = facts.relaxations(cell)
        self._axes = {axis.normalised_name for axis in facts.matrix.packages}
        self._soft = soft_packages(facts, cell)
        self._bounded = frozenset(
            name
            for name, r in self._relaxations.items()
            if r.to not in (ANY, NOTHING) and name not in self._axes
        )
        self._free: frozenset[str] = frozenset()
        release = _subject(facts, cell, inputs_of(facts, cell))
        python = cell.on(facts.matrix.interpreters.name).version
        self._requirements = facts.requirements(release.version, python)
        self._cutoffs: tuple[Cutoff, ...] = ()
        self._named: set[str] = set()
        self._avoided: dict[str, tuple[str, ...]] = {}
        self._kept: frozenset[str] = self._soft
        self._lock: Lock | None = None
        self._asked: frozenset[str] = frozenset()

    def answer(
        self, near: Iterable[frozenset[str]], failed: Iterable[FailedImport] = ()
    ) -> Lock | Refusal:
        for versions in failed:
            self._avoid(versions)
        lock = self._library(near)
        suite = self._facts.matrix.suite.requirements
        if isinstance(lock, Refusal) or not suite:
            return lock
        own = {*lock.inputs.requirements}
        # The search resolves the library alone; the suite needs one resolution.
        inputs = msgspec.structs.replace(
            lock.inputs,
            requirements=tuple(sorted(own.union(suite))),
            suite=tuple(sorted({*suite} - own)),
        )
        return lock_cell(self._locker, inputs, self._package_of, self._facts.matrix.margin_days)

    def _avoid(self, versions: FailedImport) -> None:
        """The newest lock is taken: the oldest may be too old for the import."""
        own = {n: v for n, v in versions.items() if n in self._relaxations and n not in self._axes}
        moved = {name: version for name, version in own.items() if name in self._avoided}
        if any(f"{name}=={version}" not in self._avoided[name] for name, version in moved.items()):
            return
        for name, version in own.items():
            avoided, free = self._avoided, self._free
            lowest = lowest_of(chain.from_iterable(self._published(name)), exact=True)
            moves = {
                direction
                for direction in ("newer", "older")
                for axis in self._facts.matrix.packages
                if self._facts.moved(self._cell, axis.name, direction)
            }
            sign = "<" if "older" in moves else "!="
            if "newer" in moves or (lowest is not None and version < lowest):
                sign = ">"
            line = f"{name}{sign}{version}"
            lines = tuple(old for old in avoided.get(name, ()) if "==" not in old)
            self._free = free | {name} & self._bounded
            self._avoided = avoided | {name: (*lines, line)}
            answer = self.attempt(frozenset())
            if isinstance(answer, Lock):
                taken = [f"{name}=={pin.version}" for pin in answer.pins if pin.name == name]
                self._avoided[name] = (*lines, line, *taken)
                self._soft -= {name}
                self._kept = self._soft
                return
            self._avoided, self._free = avoided, free

    def _library(self, near: Iterable[frozenset[str]]) -> Lock | Refusal:
        answer = self.attempt(self._soft)
        tried: set[frozenset[str]] = {frozenset()}
        for freed in (*(names & self._soft for names in near), self._soft):
            if isinstance(answer, Lock):
                break
            if freed not in tried:
                tried.add(freed)
                self._named |= {*answer.named}
                self._kept = self._soft - freed
                answer = self.attempt(self._kept)
        if isinstance(answer, Refusal):
            answer = self._without_rules(answer)
        if isinstance(answer, Refusal):
            answer = self._later(answer)
        if isinstance(answer, Refusal):
            return self._blocked(answer)
        if self._kept == self._soft:
            return answer
        self._found(answer, self._kept)
        # All of them together failed first.
        self._put_back(sorted(self._soft - self._kept, key=self._rank), fails=True)
        return self._nearest()

    def attempt(
        self,
        kept: frozenset[str],
        floors: Sequence[str] = (),
        *,
        further: Sequence[str] = (),
        only: frozenset[str] | None = None,
    ) -> Lock | Refusal:
        inputs = inputs_of(self._facts, self._cell, kept, with_suite=False, free=self._free)
        own = {cutoff.package for cutoff in inputs.cutoffs}
        cutoffs = [c for c in self._cutoffs if c.package not in own]
        lines = inputs.requirements
        if only is not None:
            dropped = self._relaxations.keys() - self._axes - only
            lines = tuple(line for line in lines if name_of_line(line) not in dropped)
        inputs = msgspec.structs.replace(
            inputs,
            requirements=tuple(sorted({*lines, *further})),
            constraints=tuple(
                sorted({*inputs.constraints, *chain.from_iterable(self._avoided.values())})
            ),
            cutoffs=tuple(sorted((*inputs.cutoffs, *cutoffs), key=lambda c: c.package)),
            floors=tuple(sorted({*inputs.floors, *floors})),
        )
        return lock_cell(self._locker, inputs, self._package_of, self._facts.matrix.margin_days)

    def _without_rules(self, refusal: Refusal) -> Lock | Refusal:
        if not self._bounded or refusal.cause not in (*_FINAL, "source-only"):
            return refusal
        self._free = self._bounded
        answer = self.attempt(frozenset())
        if isinstance(answer, Refusal):
            return answer
        for name in sorted(self._bounded, key=lambda name: (name in refusal.named, name)):
            if len(self._free) > 1:
                self._free -= {name}
                fewer = self.attempt(frozenset())
                answer = fewer if isinstance(fewer, Lock) else answer
                self._free |= frozenset() if isinstance(fewer, Lock) else {name}
        self._soft |= self._free
        self._kept = frozenset()
        return answer

    def _later(self, refusal: Refusal) -> Lock | Refusal:
        """Packages that the subject does not require come first, as they say least about it."""
        if refusal.cause not in ("source-only", "no-artifact"):
            return refusal
        named = sorted({*refusal.named} - self._axes, key=lambda n: (n in self._relaxations, n))
        as_of, later = _as_of(self._facts, self._cell), list[Cutoff]()
        for name in named:
            releases = releases_of(self._package_of, name)
            if any(r.uploaded is not None and r.uploaded >= as_of for r in releases):
                later.append(Cutoff(package=name, until=None))
        for held in (self._soft, frozenset[str]()):
            for cutoff in later:
                self._cutoffs = (cutoff,)
                answer = self.attempt(held)
                if isinstance(answer, Lock):
                    self._kept = held
                    return answer
        return refusal

    def _found(self, lock: Lock, kept: frozenset[str]) -> None:
        """Take a better lock. Published requirements that it happens to meet need no resolution."""
        # The next locks would miss the same hidden packages.
        self._cutoffs = lock.inputs.cutoffs
        pins = lock.versions
        # A rule may also lift others' requirements on its package, or the date.
        alone = self._soft - self._facts.rules.relaxations(self._cell).keys() - self._free
        met = {
            name
            for name in alone & pins.keys()
            if all(s.contains(pins[name], prereleases=True) for s in self._published(name))
        }
        self._lock, self._kept, self._asked = lock, kept | met, kept

    def _put_back(self, names: Sequence[str], fails: bool = False) -> bool:
        """Return whether all hold again as published; `fails` means that this is known to fail."""
        names = [name for name in names if name not in self._kept]
        if not names:
            return True
        if not fails:
            held = self._kept | frozenset(names)
            answer = self.attempt(held)
            if isinstance(answer, Lock):
                self._found(answer, held)
                return True
            self._named |= {*answer.named}
        if len(names) > 1:
            middle = len(names) // 2
            first = self._put_back(names[:middle])
            self._put_back(names[middle:], fails=first)
        return False

    def _nearest(self) -> Lock:
        """The lock with the oldest new-enough releases of the dropped requirements."""
        lock = self._lock
        assert lock is not None, "a lock was found before it is improved"
        pins = lock.versions
        floors = [
            f"{name}>={lowest}"
            for name in sorted(self._soft - self._kept)
            if (name in self._free or not self._relaxations[name].specifier)
            and (lowest := lowest_of(chain.from_iterable(self._published(name)), exact=True))
            is not None
            and name in pins
            and pins[name] > lowest
        ]
        if floors and isinstance(answer := self.attempt(self._kept, floors), Lock):
            return self._together(answer, floors)
        answer = lock if self._asked == self._kept else self.attempt(self._kept)
        return self._together(answer if isinstance(answer, Lock) else lock, ())

    def _together(self, lock: Lock, floors: Sequence[str]) -> Lock:
        """They are released together, and may reject each other's other versions at import."""
        pins = lock.versions
        groups: dict[str, list[str]] = {}
        for name in sorted(((self._soft - self._kept) | self._avoided.keys()) & pins.keys()):
            groups.setdefault(",".join(map(str, self._published(name))), []).append(name)
        for published, names in groups.items():
            versions = {pins[name] for name in names}
            if not published.startswith("==") or len(versions) == 1:
                continue
            for version in sorted(versions, reverse=True):
                lines = [f"{name}=={version}" for name in names]
                answer = self.attempt(self._kept, floors, further=lines)
                if isinstance(answer, Lock):
                    return answer
        return lock

    def _rank(self, name: str) -> tuple[bool, int, int, str]:
        """Packages that no failure named first, then the tightest, then the nearest to the lock."""
        assert self._lock is not None
        published = self._published(name)
        operators = {clause.operator for specifier in published for clause in specifier}
        tightness = 0 if "==" in operators else 1 if "~=" in operators else 2
        apart, pins = 0, self._lock.versions
        with suppress(NoPage):
            if name in pins:
                finals = final_versions(self._package_of(name))
                apart = distances(finals, published).get(pins[name], 0)
        return name in self._named, tightness, apart, name

    def _published(self, name: str) -> list[SpecifierSet]:
        return [asked.specifier for asked in named(self._requirements, name)]

    def _blocked(self, refusal: Refusal) -> Refusal:
        """The resolution failure, with the first named package that conflicts with the axes."""
        if refusal.cause not in _FINAL:
            return refusal
        inputs = inputs_of(self._facts, self._cell, free=self._free)
        asked = {name_of_line(line): line for line in inputs.requirements}
        for name in sorted({*refusal.named} & asked.keys() - self._axes):
            alone = self.attempt(frozenset(), only=frozenset((name,)))
            if isinstance(alone, Refusal) and alone.cause in _FINAL:
                return msgspec.structs.replace(alone, subject=asked[name])
        return refusal


def requires_as_declared(facts: Feasibility, cell: Cell, lock: Lock) -> bool:
    """A lock of another release of the subject is accepted as it is."""
    asked, own = inputs_of(facts, cell), lock.inputs
    injected, now = own.injected_pin, asked.injected_pin
    if injected is not None and now is not None and injected.version != now.version:
        return True
    if cell.recipe != "relaxed":
        return _lines(asked) == _lines(own)
    relaxations = facts.relaxations(cell)
    published = inputs_of(facts, cell, frozenset(n for n, r in relaxations.items() if not r.always))
    axes = {axis.normalised_name for axis in facts.matrix.packages}
    withdrawn = {*own.constraints} & relaxations.keys()
    for number, (free, held, lines) in enumerate(
        zip(_lines(asked), _lines(published), _lines(own), strict=True)
    ):
        fixed = {line for line in {*free} & {*held} if name_of_line(line) not in withdrawn}
        settled = {name_of_line(line) for line in fixed} - axes
        further = {*lines}.difference(free, held)
        strange = {
            name
            for name in map(name_of_line, further)
            if name in settled | axes or (number in (0, 3) and name not in relaxations)
        }
        if not fixed <= {*lines} or strange:
            return False
    return True


def _lines(inputs: Inputs) -> tuple[tuple[str, ...], ...]:
    return inputs.requirements, inputs.overrides, inputs.excludes, inputs.constraints


def lock_cell(
    locker: Locker, inputs: Inputs, package_of: PackageOf, margin_days: int
) -> Lock | Refusal:
    """Shows each package that the date hid as of the next sufficient moment, not earlier."""
    for _ in range(_ROUNDS):
        answer = locker.lock(inputs)
        if isinstance(answer, Lock) or not (inputs.cutoffs or inputs.injected_pin):
            return answer
        wider = _widened(inputs, answer, package_of, margin_days)
        if wider is None:
            return answer
        inputs = wider
    return answer


def moment_after(uploaded: datetime.datetime, margin_days: int) -> datetime.datetime:
    later = uploaded.astimezone(datetime.timezone.utc) + datetime.timedelta(days=margin_days)
    midnight = later.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight if midnight == later else midnight + datetime.timedelta(days=1)


def distances(releases: Sequence[Version], asked: Sequence[SpecifierSet]) -> Mapping[Version, int]:
    """How many releases each pin lies from the nearest requested one; empty where all are."""
    if not any(map(str, asked)):
        return {}
    named = [c for s in asked for c in s if c.operator != "==="]
    bounds = {Version(clause.version.removesuffix(".*")) for clause in named}
    lost = {
        Version(clause.version)
        for clause in named
        if clause.operator == "==" and not clause.version.endswith(".*")
    }
    every = sorted({*releases, *lost})
    admitted = [v for v in every if all(specifier.contains(v) for specifier in asked)]
    if not admitted:
        # No requested release is left: the bounds themselves show its position.
        every, admitted = sorted({*releases, *bounds}), sorted(bounds)
    if not admitted:
        return {}
    places = {version: place for place, version in enumerate(every)}
    wanted = [places[version] for version in admitted]
    return {version: min(abs(place - places[version]) for place in wanted) for version in releases}


def final_versions(package: Package) -> list[Version]:
    return [
        release.version
        for release in package.releases
        if not release.version.is_prerelease and release.has_usable_file
    ]


def _lowest(facts: Feasibility, cell: Cell, base: Inputs, others: list[str]) -> Inputs:
    release, python = _subject(facts, cell, base), cell.on(facts.matrix.interpreters.name).version
    axis = facts.matrix.subject_axis
    subject = _with_extras(axis.package, axis.extras)
    asked = facts.requirements(release.version, python)
    floors = {declared(requirement) for requirement in asked if has_floor(requirement)}
    return msgspec.structs.replace(
        base,
        requirements=tuple(sorted({f"{subject}=={release.version}", *others})),
        floors=tuple(sorted({*base.floors, *floors})),
    )


def _relaxed(
    facts: Feasibility,
    cell: Cell,
    base: Inputs,
    others: list[str],
    relaxations: dict[str, Relaxation],
) -> Inputs:
    release, python = _subject(facts, cell, base), cell.on(facts.matrix.interpreters.name).version
    axes: dict[str, str] = {
        axis.normalised_name: pinned(axis, cell) for axis in facts.matrix.packages
    }
    asked = requested_lines(facts, release, python, relaxations)
    deep = [(name, relaxation) for name, relaxation in relaxations.items() if relaxation.everywhere]
    published = None if release.published is None else release.published.requires_python
    return msgspec.structs.replace(
        base,
        requirements=tuple(sorted({*(text for text in asked if text not in axes), *others})),
        overrides=tuple(
            sorted(axes.get(name, f"{name}{r.specifier}") for name, r in deep if r.to != NOTHING)
        ),
        excludes=tuple(sorted(name for name, r in deep if r.to == NOTHING)),
        cutoffs=tuple(
            sorted(_cutoffs(facts, cell, relaxations), key=lambda cutoff: cutoff.package)
        ),
        injected_pin=Pin(
            name=facts.matrix.subject_axis.normalised_name,
            version=release.version,
            hashes=tuple(sorted(a.sha256 for a in release.artifacts if a.sha256)),
        ),
        # A declared Python that the subject admits, where it does not admit the cell's own.
        install_as_python=None
        if admits(published, facts.patch(cell))
        else next((p for p in facts.matrix.interpreters.patches if admits(published, p)), None),
    )


def requested_lines(
    facts: Feasibility, release: Release, python: Version, relaxations: dict[str, Relaxation]
) -> tuple[str, ...]:
    lines: list[str] = []
    for asked in facts.requirements(release.version, python):
        relaxation = relaxations.get(asked.name)
        if relaxation is None or relaxation.to != NOTHING:
            bound = asked.specifier if relaxation is None else relaxation.specifier
            name = _with_extras(asked.name, asked.extras)
            lines.append(name + (f" @ {asked.url}" if asked.url else str(bound)))
    return tuple(lines)


def _cutoffs(facts: Feasibility, cell: Cell, taken: Collection[str]) -> Iterator[Cutoff]:
    for name, relaxation in facts.rules.relaxations(cell).items():
        if relaxation.to == NOTHING or name not in taken:
            continue
        until = None
        for axis in facts.matrix.packages:
            if axis.name == relaxation.as_of:
                # A series is dated by its first release that the cell can install.
                dates = [r.uploaded for r in facts.usable(cell, axis) if r.uploaded is not None]
                until = moment_after(min(dates), facts.matrix.margin_days)
        yield Cutoff(package=name, until=until)


def _subject(facts: Feasibility, cell: Cell, base: Inputs) -> Release:
    release = facts.subject_release(cell, base.as_of)
    assert release is not None, "the plan has made sure that one fits"
    return release


def pinned(axis: PackageAxis, cell: Cell) -> str:
    version = cell.on(axis.name).version
    name = _with_extras(axis.package, axis.extras)
    return f"{name}=={version}" if axis.select.is_exact(version) else f"{name}=={version}.*"


def _as_of(facts: Feasibility, cell: Cell) -> datetime.datetime:
    together = facts.release_day(cell)
    assert together is not None, "the plan has made sure that it is known"
    return moment_after(together, facts.matrix.margin_days)


def _widened(
    inputs: Inputs, refusal: Refusal, package_of: PackageOf, margin_days: int
) -> Inputs | None:
    for package in refusal.hidden:
        until = inputs.cutoff(package)
        if until is None:
            continue
        uploads = [package_of(package).first_uploaded]
        # The date of each release that replaces a published pin exactly, without a cutoff.
        free = {cutoff.package for cutoff in inputs.cutoffs if cutoff.until is None}
        for requirement in map(Requirement, {*inputs.requirements, *inputs.overrides}):
            name = canonicalize_name(requirement.name)
            if name in free and (asked := requirement.specifier):
                admitted = [r for r in package_of(name).releases if asked.contains(r.version)]
                uploads += [r.uploaded for r in admitted if len(admitted) == 1]
        moments = sorted(
            moment_after(upload, margin_days) for upload in uploads if upload is not None
        )
        freed = Cutoff(
            package=package, until=next((moment for moment in moments if moment > until), None)
        )
        others = (cutoff for cutoff in inputs.cutoffs if cutoff.package != package)
        cutoffs = tuple(sorted((*others, freed), key=lambda cutoff: cutoff.package))
        return msgspec.structs.replace(inputs, cutoffs=cutoffs)
    return None
