"""The first obstacle of a cell, cheapest check first; facts decide each check, never a run."""

import datetime
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from itertools import chain
from typing import Literal, NamedTuple

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import (
    ANY,
    NOTHING,
    Matrix,
    Outside,
    PackageAxis,
    Relaxation,
    Rule,
    target_words,
)
from compat.declare.parsing import parsed
from compat.index.release import (
    Artifact,
    Catalogue,
    Published,
    Release,
    earliest_upload,
    usable_wheels,
)
from compat.plan.cell import Cell, Coordinate, axis_coordinates
from compat.plan.platform import (
    Asked,
    accepted_tags,
    active,
    admits,
    is_too_old,
    marker_values,
    named,
)
from compat.value import Value, grouped

Kind = Literal[
    "excluded",
    "yanked",
    "requires-python",
    "no-artifact",
    "conflicting-pin",
    "undated",
    "no-interpreter",
]
_FEW = 4  # releases that a sentence lists individually


class Obstacle(Value, frozen=True, kw_only=True):
    """Why a cell cannot work: the conflicting coordinates or rules, one sentence, and the required
    package if that is not available.
    """

    kind: Kind
    between: tuple[str, ...]
    because: str
    package: str = ""


def by_reason(reasons: Mapping[Version, str]) -> str:
    """Return a clause per reason: `1.0 is yanked; each of 1.1, 1.2 requires Python >=3.10`."""
    return "; ".join(
        f"each of {listed} {reason}" if " " in listed else f"{listed} {reason}"
        for reason, listed in _versions_by(reasons).items()
    )


def _versions_by(reasons: Mapping[Version, str]) -> dict[str, str]:
    return {
        reason: ", ".join(listed) if len(listed) <= _FEW else f"{listed[0]} to {listed[-1]}"
        for reason, listed in grouped(
            (why, str(version)) for version, why in reasons.items()
        ).items()
    }


def required_python(release: Release, artifact: Artifact) -> SpecifierSet | None:
    if artifact.requires_python is not None or release.published is None or not artifact.is_wheel:
        return artifact.requires_python
    return release.published.requires_python


class _Holding(NamedTuple):
    """The rules that hold for one combination, and what its relaxed cell lifts by them."""

    excluding: tuple[Rule, ...] = ()
    relaxing: tuple[Rule, ...] = ()
    relaxations: dict[str, Relaxation] = {}  # noqa: RUF012
    ignores_python: bool = False


class RuleBook:
    """The rules of a matrix, indexed for many cells. `moved` is as in Feasibility."""

    def __init__(self, matrix: Matrix, moved: Callable[[Cell, str, Outside], bool]) -> None:
        self._exclusions = tuple(rule for rule in matrix.rules if rule.effect == "exclude")
        self._relaxing: list[tuple[Rule, dict[str, Relaxation]]] = [
            (
                rule,
                {
                    canonicalize_name(r.package): r
                    for r in rule.relaxations
                    if not r.ignore_requires_python
                },
            )
            for rule in matrix.rules
            if rule.effect == "relax"
        ]
        self._moved = moved
        # Consecutive checks concern one cell, and no rule depends on the recipe: the cells of a
        # combination share its coordinates.
        self._latest: tuple[Coordinate, ...] = ()
        self._of_latest = _Holding()

    def exclusions(self, cell: Cell) -> tuple[Rule, ...]:
        return self._of(cell).excluding

    def relaxing(self, cell: Cell) -> tuple[Rule, ...]:
        """Return the relaxing rules that hold in the cell; none unless its recipe is `relaxed`."""
        return self._of(cell).relaxing if cell.recipe == "relaxed" else ()

    def relaxations(self, cell: Cell) -> dict[str, Relaxation]:
        return self._of(cell).relaxations if cell.recipe == "relaxed" else {}

    def ignores_python(self, cell: Cell) -> bool:
        return cell.recipe == "relaxed" and self._of(cell).ignores_python

    def _of(self, cell: Cell) -> _Holding:
        if self._latest is not cell.coordinates:
            held = [(rule, own) for rule, own in self._relaxing if self._holds(rule, cell)]
            relaxing = tuple(rule for rule, _ in held)
            pins: dict[str, Relaxation] = {}
            for _, own in held:
                pins |= own
            excluding = tuple(rule for rule in self._exclusions if self._holds(rule, cell))
            ignores = any(r.ignore_requires_python for rule in relaxing for r in rule.relaxations)
            self._latest = cell.coordinates
            self._of_latest = _Holding(excluding, relaxing, pins, ignores)
        return self._of_latest

    def _holds(self, rule: Rule, cell: Cell) -> bool:
        return all(
            self._moved(cell, axis, condition)
            if isinstance(condition, str)
            else condition.contains(cell.on(axis).version, prereleases=True)
            for axis, condition in rule.when.conditions
        )


Versions = tuple[Version, ...]
_KINDS: tuple[Kind, ...] = ("conflicting-pin", "no-artifact", "requires-python")


class Pinned(Value, frozen=True, kw_only=True):
    """A requirement of which every admitted release is known; `text` as in an obstacle."""

    name: str
    specifier: SpecifierSet
    text: str
    releases: Versions

    def required_by(self, subject: str) -> str:
        return f"{subject} requires {self.name} {self.specifier}".rstrip()


class Question(Value, frozen=True, kw_only=True):
    """What one release of the subject requires in one cell.

    `relaxations` are those of the cell, each without a bound. `coordinates` are the releases that
    it can have of each axis's package, and `texts` those of its id, both by package.
    """

    subject: str
    version: Version
    python: Version
    relaxations: Mapping[str, Relaxation]
    coordinates: Mapping[str, Versions]
    texts: Mapping[str, str]

    @property
    def deep(self) -> frozenset[str]:
        return frozenset(name for name, r in self.relaxations.items() if r.everywhere)


class Dependencies:
    """What the catalogue knows of the packages that the subject pins, computed once."""

    def __init__(self, facts: "Feasibility") -> None:
        matrix = facts.matrix
        self._archives = {str(canonicalize_name(s.package)): s for s in matrix.sources}
        self._platform, self._short = matrix.platform, matrix.interpreters.short
        self._facts = facts
        self._required = {required.name: required for required in facts.catalogue.required}
        self._releases = {
            name: {r.version: r for r in required.releases}
            for name, required in self._required.items()
        }
        self._asks = cache(self._requirements)
        self._file = cache(self._without_file)
        self._names = cache(self._requested_names)
        self._admitted = cache(self._admit)
        self._pins: dict[tuple[object, ...], tuple[Pinned, ...]] = {}
        # The releases that are left of a pin, and why each other one is rejected: the end of a
        # sentence about it, and the one other side.
        self._first: dict[tuple[object, ...], tuple[Versions, dict[Version, Obstacle]]] = {}
        self._second: dict[tuple[object, ...], Versions] = {}

    def obstacle(self, question: Question) -> Obstacle | None:
        left: dict[str, Pinned] = {}
        for pinned in self._pinned(question):
            names = self._names(pinned.name) & (question.coordinates.keys() - question.deep)
            coordinates = {name: question.coordinates[name] for name in names}
            key = (pinned.text, question.python, *coordinates.items())
            if key not in self._first:
                refusals = {
                    version: self._refusal(pinned.name, version, question.python, coordinates)
                    for version in pinned.releases
                }
                alive = tuple(version for version, refusal in refusals.items() if refusal is None)
                self._first[key] = alive, {v: refusal for v, refusal in refusals.items() if refusal}
            alive, against = self._first[key]
            if not alive:
                return self._dead(pinned, question, against)
            left[pinned.name] = msgspec.structs.replace(pinned, releases=alive)
        return self._between(left, question)

    def _pinned(self, question: Question) -> tuple[Pinned, ...]:
        moved = ((name, r.to == NOTHING) for name, r in question.relaxations.items())
        key = (question.version, question.python, *sorted(moved))
        if key not in self._pins:
            pins = []
            every = self._facts.requirements(question.version, question.python)
            for name, asked in grouped(
                (a.name, a) for a in every if a.name in self._required
            ).items():
                relaxation, required = question.relaxations.get(name), self._required[name]
                if any(a.url for a in asked) or (relaxation and relaxation.to == NOTHING):
                    continue
                texts = [""] if relaxation else [str(a.specifier) for a in asked]
                if required.whole or any(text in required.pins for text in texts):
                    pin, admitted = self._admitted(name, ",".join(sorted({*texts} - {""})))
                    pins.append(
                        Pinned(name=name, specifier=pin, text=f"{name}{pin}", releases=admitted)
                    )
            self._pins[key] = tuple(pins)
        return self._pins[key]

    def _admit(self, name: str, specifier: str) -> tuple[SpecifierSet, Versions]:
        pin = SpecifierSet(specifier)
        return pin, tuple(v for v in self._releases[name] if pin.contains(v, prereleases=True))

    def _dead(
        self, pinned: Pinned, question: Question, refusals: Mapping[Version, Obstacle]
    ) -> Obstacle:
        asks = pinned.required_by(question.subject)
        archive, between = self._archives.get(pinned.name), [pinned.text]
        more = f" (pip with --find-links {archive.find_links} may find it)" if archive else ""
        kind: Kind = "no-artifact"
        because = f"{asks}, and the index has no such release{more}"
        if refusals:
            first = next(r for kind in _KINDS for r in refusals.values() if r.kind == kind)
            kind, other = first.kind, first.between[0]
            between.append(question.texts.get(other, other))
            each = by_reason({version: refusal.because for version, refusal in refusals.items()})
            because = f"{asks}: {each}{more if kind == 'no-artifact' else ''}"
        return Obstacle(kind=kind, between=tuple(between), because=because, package=pinned.name)

    def _refusal(
        self, name: str, version: Version, python: Version, coordinates: Mapping[str, Versions]
    ) -> Obstacle | None:
        missing = self._file(name, version, python)
        if missing is not None:
            return missing
        for asked in self._asks(name, version, python):
            versions = coordinates.get(asked.name)
            if versions is not None and not _meet(asked.specifier, versions):
                shown = " to ".join(map(str, dict.fromkeys((versions[0], versions[-1]))))
                reason = f"requires {asked.name} {asked.specifier}, not {shown}"
                return Obstacle(kind="conflicting-pin", between=(asked.name,), because=reason)
        return None

    def _between(self, left: dict[str, Pinned], question: Question) -> Obstacle | None:
        pairs = [(a, b) for a in left for b in self._names(a) & left.keys() - question.deep]
        pairs.sort()
        fell = True
        while fell:
            fell = False
            for name, other in pairs:
                pinned, two = left[name], left[other]
                # Each tuple of releases is stored, so its identity is a key; hashing its versions
                # takes long.
                key = (name, id(pinned.releases), other, id(two.releases), question.python)
                if key not in self._second:
                    versions = tuple(
                        version
                        for version in pinned.releases
                        if all(
                            _meet(asked.specifier, two.releases)
                            for asked in self._asks(name, version, question.python)
                            if asked.name == other
                        )
                    )
                    self._second[key] = pinned.releases if versions == pinned.releases else versions
                if not self._second[key]:
                    return self._apart(pinned, two, question)
                if self._second[key] is not pinned.releases:
                    fell = True
                    left[name] = msgspec.structs.replace(pinned, releases=self._second[key])
        return None

    def _apart(self, pinned: Pinned, two: Pinned, question: Question) -> Obstacle:
        asks = {
            version: " and ".join(
                f"requires {asked.name} {asked.specifier}"
                for asked in self._asks(pinned.name, version, question.python)
                if asked.name == two.name and not _meet(asked.specifier, two.releases)
            )
            for version in pinned.releases
        }
        first, second = pinned.required_by(question.subject), two.required_by(question.subject)
        because = f"{first}: {by_reason(asks)}; {second}"
        between = (pinned.text, two.text)
        return Obstacle(
            kind="conflicting-pin", between=between, because=because, package=pinned.name
        )

    def _requested_names(self, name: str) -> frozenset[str]:
        texts = chain.from_iterable(r.requires for r in self._releases[name].values())
        return frozenset(canonicalize_name(r.name) for r in map(parsed, texts) if r is not None)

    def _requirements(self, name: str, version: Version, python: Version) -> tuple[Asked, ...]:
        markers = marker_values(self._facts.patches[python], self._platform)
        return active(self._releases[name][version].published, markers)

    def _without_file(self, name: str, version: Version, python: Version) -> Obstacle | None:
        release = self._releases[name][version]
        patch = self._facts.patches[python]
        young = bool(release.artifacts) and all(
            is_too_old(required_python(release, artifact), patch) for artifact in release.artifacts
        )
        if not young and self._facts.can_install(release, python, True, True):
            return None
        kind, reason = self._facts.reason(release, python, not young, True)
        reason += f", not {python}" if kind == "requires-python" else ""
        return Obstacle(kind=kind, between=(f"{self._short}{python}",), because=reason)


def _meet(specifier: SpecifierSet, versions: Versions) -> bool:
    return any(specifier.contains(version, prereleases=True) for version in versions)


class Feasibility:
    """Checks cells by the catalogue and the rules; computes each fact once for many cells."""

    def __init__(self, matrix: Matrix, catalogue: Catalogue) -> None:
        self.matrix = matrix
        self.catalogue = catalogue
        self.rules = RuleBook(matrix, self.moved)
        self._subject = matrix.subject_axis
        self._python = matrix.interpreters.name
        self._others = tuple(axis for axis in matrix.packages if axis is not self._subject)
        self._names = {axis.name: axis.normalised_name for axis in matrix.packages}
        self._axes = {axis.name: axis for axis in matrix.packages}
        self.patches = matrix.interpreters.series
        self._releases_at = cache(self._members)
        self._usable_at = cache(self._usable)
        self._nothing_at = cache(self._nothing)
        releases = catalogue.package(self._names[self._subject.name]).releases
        self._metadata = {release.version: release.published for release in releases}
        self.requirements = cache(self._requirements)
        self._dependencies = Dependencies(self)
        self._pin = cache(self._published_pin)
        self._soft = cache(self._soft_requirements)
        self._moved = cache(self._lies_outside)
        self._inside = cache(self._coordinates_inside)
        self._published_taken = cache(self._taken_as_published)
        self.questions: tuple[tuple[str, Callable[[Cell], Obstacle | None]], ...] = (
            ("does a rule exclude the cell?", self.excluded),
            (
                "does every coordinate have a file for this interpreter and platform?",
                self.unavailable,
            ),
            ("does the subject's release admit the other coordinates?", self.conflicting),
            ("do the subject's pins leave something to install?", self.dead_end),
            ("does the index tell when the coordinates came out?", self.undated),
        )
        # The facts with another release on an axis: plan/plan.py makes them.
        self.lanes: dict[str, Feasibility] = {}

    @cached_property
    def coordinates(self) -> dict[str, tuple[Coordinate, ...]]:
        return {axis.name: axis_coordinates(axis, self.catalogue) for axis in self.matrix.axes}

    @cached_property
    def newest(self) -> dict[str, Version]:
        return {name: known[-1].version for name, known in self.coordinates.items() if known}

    def obstacle(self, cell: Cell) -> Obstacle | None:
        return next(filter(None, (question(cell) for _, question in self.questions)), None)

    def can_install(
        self, release: Release, python: Version, ignores: bool = False, is_named: bool = False
    ) -> bool:
        """`ignores` disregards `Requires-Python`; one that `is_named` may be yanked."""
        tags = accepted_tags(python, self.matrix.platform)
        return any(
            (is_named or not artifact.yanked)
            and not artifact.set_aside
            and (ignores or self._admits(release, artifact, python))
            and (not artifact.is_wheel or not tags.isdisjoint(artifact.tags))
            for artifact in release.artifacts
        )

    def has_wheel(self, release: Release, python: Version) -> bool:
        wheels = msgspec.structs.replace(release, artifacts=usable_wheels(release))
        return self.can_install(wheels, python)

    def reason(
        self, release: Release, python: Version, ignores: bool = False, is_named: bool = False
    ) -> tuple[Kind, str]:
        files = [artifact for artifact in release.artifacts if is_named or not artifact.yanked]
        if not files and release.artifacts:
            why = f" ({release.yank_reason})" if release.yank_reason else ""
            return "yanked", f"is yanked{why}"
        reasons = [artifact.set_aside for artifact in files if artifact.set_aside]
        files = [artifact for artifact in files if not artifact.set_aside]
        if not files and reasons:
            return "no-artifact", f"has only files that are set aside: {'; '.join(reasons)}"
        if not ignores and not any(self._admits(release, file, python) for file in files):
            asked = sorted({str(required_python(release, file)) for file in files})
            return "requires-python", f"requires Python {' or '.join(asked)}"
        return (
            "no-artifact",
            f"has no file for Python {python} on {target_words(self.matrix.platform)}",
        )

    def _members(self, axis: str, version: Version) -> tuple[Release, ...]:
        return self.catalogue.members(self._axes[axis], version)

    def _usable(
        self, axis: str, version: Version, python: Version, ignores: bool
    ) -> tuple[Release, ...]:
        select = self._axes[axis].select
        return tuple(
            release
            for release in self._releases_at(axis, version)
            if self.can_install(release, python, ignores, select.names(release.version))
        )

    def _admits(self, release: Release, artifact: Artifact, python: Version) -> bool:
        return admits(required_python(release, artifact), self.patches[python])

    def _nothing(
        self, axis_name: str, version: Version, python: Version, ignores: bool
    ) -> Obstacle:
        # Why the coordinate has nothing to install; for a series whose releases differ, each one's
        # reason.
        axis, releases = self._axes[axis_name], self._releases_at(axis_name, version)
        pair = (f"{axis.short}{version}", f"{self.matrix.interpreters.short}{python}")
        coordinate = f"{axis.package} {version}"
        if not releases:
            because = f"the index has no release {version} of {axis.package}"
            return Obstacle(kind="no-artifact", between=pair[:1], because=because)
        reasons = {r.version: self.reason(r, python, ignores) for r in releases}
        kinds = {kind for kind, _ in reasons.values()}
        kind: Kind = next(k for k in ("no-artifact", "requires-python", "yanked") if k in kinds)
        sentences = dict.fromkeys(sentence for _, sentence in reasons.values())
        if kinds == {"requires-python"}:
            asked = sorted({text.removeprefix("requires Python ") for text in sentences})
            because = f"{coordinate} requires Python {' or '.join(asked)}, not {python}"
        elif len(sentences) == 1:
            because = f"{coordinate} {next(iter(sentences))}"
            if kind == "yanked":
                because += "; it is installed only where it is asked for with =="
        else:
            each = by_reason({version: sentence for version, (_, sentence) in reasons.items()})
            because = f"{coordinate} cannot be installed on Python {python}: {each}"
        return Obstacle(kind=kind, between=pair[:1] if kind == "yanked" else pair, because=because)

    def excluded(self, cell: Cell) -> Obstacle | None:
        for rule in self.rules.exclusions(cell):
            return Obstacle(kind="excluded", between=(rule.name,), because=rule.because)
        return None

    def unavailable(self, cell: Cell) -> Obstacle | None:
        for axis in (self._subject, *self._others):
            if not self.usable(cell, axis):
                return self._nothing_at(*self._question(cell, axis))
        return None

    def conflicting(self, cell: Cell) -> Obstacle | None:
        """Names an axis that all releases reject, else the first that each rejects."""
        if self._fitting(cell):
            return None
        subject, coordinate = self._subject, cell.on(self._subject.name)
        unusable = self.unusable(cell, subject)
        refused = {r.version: self.refused(cell, r) for r in self.usable(cell, subject)}
        by_axis = [{axis.name: pin for axis, pin in each} for each in refused.values()]
        first = next(iter(refused.values()))
        axis = next((a for a, _ in first if all(a.name in axes for axes in by_axis)), None)
        if axis is not None:
            pins = {v: str(axes[axis.name]) for v, axes in zip(refused, by_axis, strict=True)}
            several, other = len(refused) + len(unusable) > 1, cell.on(axis.name)
            wanted = " or ".join(
                f"{pin} ({versions})" if several else pin
                for pin, versions in _versions_by(pins).items()
            )
            because = (
                f"{subject.package} {coordinate.version} requires {axis.package} {wanted},"
                f" not {other.version}"
            )
            between = [other.text]
        else:
            firsts = {version: each[0] for version, each in refused.items()}
            each = by_reason(
                {
                    v: f"requires {axis.package} {pin}, not {cell.on(axis.name).version}"
                    for v, (axis, pin) in firsts.items()
                }
            )
            because = f"no release of {subject.package} {coordinate.version} admits all: {each}"
            names = {axis.name for axis, _ in firsts.values()}
            between = [c.text for c in cell.coordinates if c.axis in names]
        if unusable:
            because += f"; of the others {by_reason(unusable)}"
        return Obstacle(
            kind="conflicting-pin", between=(coordinate.text, *between), because=because
        )

    def dead_end(self, cell: Cell) -> Obstacle | None:
        obstacles = [self._dead_end(cell, release) for release in self._fitting(cell)]
        return None if None in obstacles else obstacles[-1]

    def undated(self, cell: Cell) -> Obstacle | None:
        if not cell.is_dated or self.release_day(cell) is not None:
            return None
        unknown = (a for a in self.matrix.packages if earliest_upload(self.usable(cell, a)) is None)
        axis = next(unknown, self._subject)
        coordinate = cell.on(axis.name)
        because = f"the index gives no upload time for {axis.package} {coordinate.version}"
        return Obstacle(kind="undated", between=(coordinate.text,), because=because)

    def fitting(self, cell: Cell) -> tuple[Release, ...]:
        return tuple(r for r in self._fitting(cell) if self._dead_end(cell, r) is None)

    def _fitting(self, cell: Cell) -> tuple[Release, ...]:
        return tuple(
            release
            for release in self.usable(cell, self._subject)
            if all(self._taken(cell, axis, release) for axis in self._others)
        )

    def subject_release(self, cell: Cell, until: datetime.datetime | None = None) -> Release | None:
        """As in a resolver a final release precedes a pre-release. None for an infeasible cell."""
        releases = sorted(
            self.fitting(cell), key=lambda r: (not r.version.is_prerelease, r.version), reverse=True
        )
        if until is None:
            return next(iter(releases), None)
        dates = ((release, self._together(cell, release)) for release in releases)
        return next(
            (release for release, moment in dates if moment is not None and moment < until), None
        )

    def release_day(self, cell: Cell) -> datetime.datetime | None:
        dates = (self._together(cell, release) for release in self.fitting(cell))
        return min((date for date in dates if date is not None), default=None)

    def relaxations(self, cell: Cell) -> dict[str, Relaxation]:
        if cell.recipe != "relaxed":
            return {}
        subject, python = cell.on(self._subject.name).version, cell.on(self._python).version
        return self._soft(subject, python) | self.rules.relaxations(cell)

    def _soft_requirements(self, subject: Version, python: Version) -> dict[str, Relaxation]:
        axes = self._names.values()
        asked = chain.from_iterable(
            self.requirements(release.version, python) for release in self.subject_releases(subject)
        )
        return {
            a.name: Relaxation(package=a.name, to=ANY)
            for a in asked
            if a.name not in axes and not a.url
        }

    def refused(
        self, cell: Cell, release: Release
    ) -> tuple[tuple[PackageAxis, SpecifierSet | None], ...]:
        """Return the axes whose coordinate a release rejects, and the rejecting requirement."""
        return tuple(
            (axis, self._requested_of(cell, axis, release))
            for axis in self._others
            if not self._taken(cell, axis, release)
        )

    def changing(self, cell: Cell) -> tuple[Rule, ...]:
        python, winners = cell.on(self._python).version, self.rules.relaxations(cell)
        releases = self.releases(cell, self._subject)

        def changes(relaxation: Relaxation) -> bool:
            # An unchanged pin counts, because a relaxed package is free of the cell's date. So does
            # a package that may be required deep in the tree, because only a resolver knows.
            if relaxation.ignore_requires_python:
                patch = self.patches[python]
                asked = (r.published.requires_python for r in releases if r.published is not None)
                return not all(admits(requirement, patch) for requirement in asked)
            package = canonicalize_name(relaxation.package)
            if winners.get(package) != relaxation:
                return False
            if relaxation.everywhere or relaxation.as_of is not None:
                return True
            return any(named(self.requirements(r.version, python), package) for r in releases)

        relaxing = self.rules.relaxing(cell)
        return tuple(rule for rule in relaxing if any(map(changes, rule.relaxations)))

    def subject_releases(self, coordinate: Version) -> tuple[Release, ...]:
        return self._releases_at(self._subject.name, coordinate)

    def published(self, version: Version) -> Published | None:
        return self._metadata.get(version)

    def moved(self, cell: Cell, axis: str, where: Outside = "moved") -> bool:
        """Whether all usable releases reject it; by `where` as older or newer than theirs."""
        subject, python = cell.on(self._subject.name).version, cell.on(self._python).version
        coordinate = cell.on(axis).version
        if where == "moved" or not self._moved(subject, python, axis, coordinate):
            return self._moved(subject, python, axis, coordinate)
        inside = self._inside(subject, python, axis)
        beyond = (
            coordinate < version if where == "older" else coordinate > version for version in inside
        )
        return bool(inside) and all(beyond)

    def releases(self, cell: Cell, axis: PackageAxis) -> tuple[Release, ...]:
        return self._releases_at(axis.name, cell.on(axis.name).version)

    def usable(self, cell: Cell, axis: PackageAxis) -> tuple[Release, ...]:
        return self._usable_at(*self._question(cell, axis))

    def unusable(self, cell: Cell, axis: PackageAxis) -> dict[Version, str]:
        _, _, python, ignores = self._question(cell, axis)
        usable = {release.version for release in self.usable(cell, axis)}
        left = (r for r in self.releases(cell, axis) if r.version not in usable)
        return {r.version: self.reason(r, python, ignores)[1] for r in left}

    def patch(self, cell: Cell) -> Version:
        return self.patches[cell.on(self._python).version]

    def _question(self, cell: Cell, axis: PackageAxis) -> tuple[str, Version, Version, bool]:
        ignores = axis is self._subject and self.rules.ignores_python(cell)
        return axis.name, cell.on(axis.name).version, cell.on(self._python).version, ignores

    def _requested_of(self, cell: Cell, axis: PackageAxis, release: Release) -> SpecifierSet | None:
        relaxation = self.rules.relaxations(cell).get(self._names[axis.name])
        if relaxation is None:
            return self._pin(release.version, cell.on(self._python).version, axis.name)
        return relaxation.specifier

    def _taken(self, cell: Cell, axis: PackageAxis, release: Release) -> tuple[Release, ...]:
        # The releases of a coordinate that a release of the subject admits.
        if self._names[axis.name] in self.rules.relaxations(cell):
            return _within(self._requested_of(cell, axis, release), self.usable(cell, axis))
        python, coordinate = cell.on(self._python).version, cell.on(axis.name).version
        return self._published_taken(release.version, python, axis.name, coordinate)

    def _together(self, cell: Cell, release: Release) -> datetime.datetime | None:
        taken = (self._taken(cell, axis, release) for axis in self._others)
        dates = [release.uploaded, *map(earliest_upload, taken)]
        known = [date for date in dates if date is not None]
        return max(known) if len(known) == len(dates) else None

    def _published_pin(self, release: Version, python: Version, axis: str) -> SpecifierSet | None:
        asked = named(self.requirements(release, python), self._names[axis])
        bounds = ",".join(str(a.specifier) for a in asked if str(a.specifier))
        return SpecifierSet(bounds) if asked else None

    def _dead_end(self, cell: Cell, release: Release) -> Obstacle | None:
        if not self.catalogue.required:
            return None
        coordinates: dict[str, Versions] = {
            self._names[axis.name]: tuple(r.version for r in self._taken(cell, axis, release))
            for axis in self._others
        }
        coordinates[self._names[self._subject.name]] = (release.version,)
        return self._dependencies.obstacle(
            Question(
                subject=f"{self._subject.package} {release.version}",
                version=release.version,
                python=cell.on(self._python).version,
                relaxations=self.relaxations(cell),
                coordinates=coordinates,
                texts={self._names[a.name]: cell.on(a.name).text for a in self.matrix.packages},
            )
        )

    def _lies_outside(
        self, subject: Version, python: Version, axis: str, coordinate: Version
    ) -> bool:
        # Rules may disregard `Requires-Python` where something is moved, so this is checked without
        # it first.
        name = self._subject.name
        patches = next(
            (
                u
                for ignores in (False, True)
                if (u := self._usable_at(name, subject, python, ignores))
            ),
            self._releases_at(name, subject),
        )
        releases = self._releases_at(axis, coordinate)
        pins = [self._pin(patch.version, python, axis) for patch in patches]
        return bool(pins) and not any(_within(pin, releases) for pin in pins)

    def _coordinates_inside(
        self, subject: Version, python: Version, axis_name: str
    ) -> tuple[Version, ...]:
        versions = (place.version for place in self.coordinates[axis_name])
        return tuple(v for v in versions if not self._moved(subject, python, axis_name, v))

    def _taken_as_published(
        self, release: Version, python: Version, axis: str, coordinate: Version
    ) -> tuple[Release, ...]:
        usable = self._usable_at(axis, coordinate, python, False)
        return _within(self._pin(release, python, axis), usable)

    def _requirements(self, release: Version, python: Version) -> tuple[Asked, ...]:
        # A recorded cell may be of a series that the matrix no longer has: then the series itself.
        patch = self.patches.get(python, python)
        markers = marker_values(patch, self.matrix.platform)
        return active(self.published(release), markers, self._subject.extras)


def _within(pin: SpecifierSet | None, releases: Iterable[Release]) -> tuple[Release, ...]:
    if not pin:
        return tuple(releases)
    return tuple(r for r in releases if pin.contains(r.version, prereleases=True))
