"""The first obstacle of a cell, cheapest question first.

Each question is answered from facts, never by a run.
"""

import datetime
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from itertools import chain

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import ANY, NOTHING, Matrix, Outside, PackageAxis, Relaxation, Rule
from compat.index.release import Catalogue, Published, Release, earliest_upload
from compat.plan.cell import Cell, Coordinate, axis_coordinates
from compat.plan.dependencies import Dependencies, Question
from compat.plan.installable import Installable
from compat.plan.obstacle import Obstacle, RefusingAxis, conflict
from compat.plan.platform import admits, marker_values
from compat.plan.requirements import Asked, active, named
from compat.plan.rules import RuleBook


class Feasibility:
    """What the catalogue and the rules say about cells.

    Asked about many cells, it computes each fact once.
    """

    def __init__(self, matrix: Matrix, catalogue: Catalogue) -> None:
        self.matrix = matrix
        self.catalogue = catalogue
        self.rules = RuleBook(matrix, self.moved)
        self._subject = matrix.subject_axis
        self._python = matrix.interpreters.name
        self._others = tuple(axis for axis in matrix.packages if axis is not self._subject)
        self._names = {axis.name: axis.normalised_name for axis in matrix.packages}
        self._installable = Installable(matrix, catalogue)
        releases = catalogue.package(self._names[self._subject.name]).releases
        self._metadata = {release.version: release.published for release in releases}
        self.requirements = cache(self._requirements)
        self._dependencies = Dependencies(matrix, catalogue, self._installable, self.requirements)
        self._pin = cache(self._published_pin)
        self._soft = cache(self._soft_requirements)
        self._moved = cache(self._lies_outside)
        self._inside = cache(self._coordinates_inside)
        self._versions = cache(self._versions_on)
        self._fits = cache(self._pin_fits)
        self._latest: tuple[tuple[object, ...], Obstacle | None] | None = None
        # Three questions of a cell ask for its fitting releases, and those of the fresh cell of a
        # place are those of its dated one.
        self._fitted: tuple[bool, tuple[Coordinate, ...], tuple[Release, ...]] | None = None
        self._changing: dict[tuple[Version, Version, tuple[str, ...]], tuple[Rule, ...]] = {}
        self._asked = self.questions()
        # The facts where another release stands on an axis: plan/lanes.py and plan/extension.py
        # make them.
        self.lanes: dict[str, Feasibility] = {}

    @cached_property
    def coordinates(self) -> dict[str, tuple[Coordinate, ...]]:
        return {axis.name: axis_coordinates(axis, self.catalogue) for axis in self.matrix.axes}

    @cached_property
    def newest(self) -> dict[str, Version]:
        return {name: known[-1].version for name, known in self.coordinates.items() if known}

    def obstacle(self, cell: Cell) -> Obstacle | None:
        """Return the first obstacle of the cell, or None: as far as the facts go, it could work."""
        for _, question in self._asked:
            obstacle = question(cell)
            if obstacle is not None:
                return obstacle
        return None

    def questions(self) -> tuple[tuple[str, Callable[[Cell], Obstacle | None]], ...]:
        return (
            ("does a rule exclude the cell?", self.excluded),
            (
                "does every coordinate have a file for this interpreter and platform?",
                self.unavailable,
            ),
            ("does the subject's release admit the other coordinates?", self.conflicting),
            ("do the subject's pins leave something to install?", self.dead_end),
            ("does the index tell when the coordinates came out?", self.undated),
        )

    def excluded(self, cell: Cell) -> Obstacle | None:
        for rule in self.rules.exclusions(cell):
            return Obstacle(kind="excluded", between=(rule.name,), because=rule.because)
        return None

    def unavailable(self, cell: Cell) -> Obstacle | None:
        for axis in (self._subject, *self._others):
            if not self.usable(cell, axis):
                return self._installable.obstacle(*self._question(cell, axis))
        return None

    def conflicting(self, cell: Cell) -> Obstacle | None:
        if self._fitting(cell):
            return None
        refused = {r.version: self.refused(cell, r) for r in self.usable(cell, self._subject)}
        return conflict(cell, self._subject, refused, self.unusable(cell, self._subject))

    def dead_end(self, cell: Cell) -> Obstacle | None:
        obstacles = [self._dead_end(cell, release) for release in self._fitting(cell)]
        return None if None in obstacles else obstacles[-1]

    def undated(self, cell: Cell) -> Obstacle | None:
        if not cell.is_dated or self.came_out(cell) is not None:
            return None
        unknown = (a for a in self.matrix.packages if earliest_upload(self.usable(cell, a)) is None)
        axis = next(unknown, self._subject)
        coordinate = cell.on(axis.name)
        because = f"the index gives no upload time for {axis.package} {coordinate.version}"
        return Obstacle(kind="undated", between=(coordinate.text,), because=because)

    def fitting(self, cell: Cell) -> tuple[Release, ...]:
        """Return the subject's releases that can stand in the cell, oldest first.

        They can be installed here, admit every other coordinate, and what they pin can be had.
        """
        return tuple(r for r in self._fitting(cell) if self._dead_end(cell, r) is None)

    def _fitting(self, cell: Cell) -> tuple[Release, ...]:
        is_relaxed = cell.recipe == "relaxed"
        if self._fitted is None or self._fitted[:2] != (is_relaxed, cell.coordinates):
            relaxations = self.rules.relaxations(cell)
            releases = tuple(
                release
                for release in self.usable(cell, self._subject)
                if all(self._admitted(cell, a, release, relaxations) for a in self._others)
            )
            self._fitted = is_relaxed, cell.coordinates, releases
        return self._fitted[2]

    def subject_release(self, cell: Cell, until: datetime.datetime | None = None) -> Release | None:
        """Return the newest fitting release of the subject's coordinate by that moment.

        As with a resolver a final release goes before a pre-release. None for a cell that is not
        feasible.
        """
        releases = sorted(
            self.fitting(cell), key=lambda r: (not r.version.is_prerelease, r.version), reverse=True
        )
        if until is None:
            return next(iter(releases), None)
        dates = ((release, self._together(cell, release)) for release in releases)
        return next(
            (release for release, moment in dates if moment is not None and moment < until), None
        )

    def came_out(self, cell: Cell) -> datetime.datetime | None:
        dates = (self._together(cell, release) for release in self.fitting(cell))
        return min((date for date in dates if date is not None), default=None)

    def relaxations(self, cell: Cell) -> dict[str, Relaxation]:
        """Return what a relaxed cell may change, by normalised name: what the rules relax, and each
        other package that the subject requires and that is on no axis.
        """
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

    def refused(self, cell: Cell, release: Release) -> tuple[RefusingAxis, ...]:
        relaxations = self.rules.relaxations(cell)
        return tuple(
            RefusingAxis(axis=axis, pin=self._asked_of(cell, axis, release, relaxations))
            for axis in self._others
            if not self._admitted(cell, axis, release, relaxations)
        )

    def changing(self, cell: Cell) -> tuple[Rule, ...]:
        rules = self.rules.relaxing(cell)
        if not rules:
            return ()
        subject, python = cell.on(self._subject.name).version, cell.on(self._python).version
        key = (subject, python, tuple(rule.name for rule in rules))
        if key not in self._changing:
            winners = self.rules.relaxations(cell)
            self._changing[key] = tuple(
                rule
                for rule in rules
                if any(self._changes(subject, python, r, winners) for r in rule.relaxations)
            )
        return self._changing[key]

    def subject_releases(self, coordinate: Version) -> tuple[Release, ...]:
        return self._installable.releases(self._subject.name, coordinate)

    def published(self, version: Version) -> Published | None:
        """Return the metadata of one release of the subject; None where it is not known."""
        return self._metadata.get(version)

    def moved(self, cell: Cell, axis: str, where: Outside = "moved") -> bool:
        """Return whether every usable release of the subject refuses the coordinate.

        With `older` or `newer`: whether it lies below, or above, all that they admit.
        """
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
        return self._installable.releases(axis.name, cell.on(axis.name).version)

    def usable(self, cell: Cell, axis: PackageAxis) -> tuple[Release, ...]:
        return self._installable.usable(*self._question(cell, axis))

    def unusable(self, cell: Cell, axis: PackageAxis) -> dict[Version, str]:
        _, _, python, ignores = self._question(cell, axis)
        usable = {release.version for release in self.usable(cell, axis)}
        left = (r for r in self.releases(cell, axis) if r.version not in usable)
        return {r.version: self._installable.reason(r, python, ignores)[1] for r in left}

    def has_wheel(self, release: Release, python: Version) -> bool:
        """Return whether a release can be installed there without being built, or may be built."""
        return self._installable.has_wheel(release, python)

    def why_no_wheel(self, release: Release, python: Version) -> str:
        if self._installable.can_install(release, python):
            return f"has no wheel for Python {python}, only a source distribution"
        return self._installable.reason(release, python)[1]

    def patch(self, cell: Cell) -> Version:
        return self._installable.patches[cell.on(self._python).version]

    def _question(self, cell: Cell, axis: PackageAxis) -> tuple[str, Version, Version, bool]:
        ignores = axis is self._subject and self.rules.ignores_requires_python(cell)
        return axis.name, cell.on(axis.name).version, cell.on(self._python).version, ignores

    def _admitted(
        self, cell: Cell, axis: PackageAxis, release: Release, relaxations: dict[str, Relaxation]
    ) -> bool:
        python, coordinate = cell.on(self._python).version, cell.on(axis.name).version
        relaxation = relaxations.get(self._names[axis.name])
        if relaxation is None:
            return self._fits(release.version, python, axis.name, coordinate)
        return relaxation.to in (ANY, NOTHING) or bool(
            _within(relaxation.specifier, self.usable(cell, axis))
        )

    def _asked_of(
        self, cell: Cell, axis: PackageAxis, release: Release, relaxations: dict[str, Relaxation]
    ) -> SpecifierSet | None:
        relaxation = relaxations.get(self._names[axis.name])
        if relaxation is None:
            return self._pin(release.version, cell.on(self._python).version, axis.name)
        return relaxation.specifier

    def _together(self, cell: Cell, release: Release) -> datetime.datetime | None:
        relaxations = self.rules.relaxations(cell)
        dates = [release.uploaded]
        for axis in self._others:
            pin = self._asked_of(cell, axis, release, relaxations)
            dates.append(earliest_upload(_within(pin, self.usable(cell, axis))))
        known = [date for date in dates if date is not None]
        return max(known) if len(known) == len(dates) else None

    def _published_pin(self, release: Version, python: Version, axis: str) -> SpecifierSet | None:
        # The release's published specifier on an axis's package; None when it does not ask for it.
        asked = named(self.requirements(release, python), self._names[axis])
        if not asked:
            return None
        return SpecifierSet(",".join(str(a.specifier) for a in asked if str(a.specifier)))

    def _dead_end(self, cell: Cell, release: Release) -> Obstacle | None:
        if not self.catalogue.required:
            return None
        rules = tuple(rule.name for rule in self.rules.relaxing(cell))
        key = (release.version, cell.recipe == "relaxed", rules, cell.coordinates)
        if self._latest is None or self._latest[0] != key:
            self._latest = (key, self._dependencies.obstacle(self._pins_of(cell, release)))
        return self._latest[1]

    def _pins_of(self, cell: Cell, release: Release) -> Question:
        relaxations = self.relaxations(cell)
        python = cell.on(self._python).version
        coordinates: dict[str, tuple[Version, ...]] = {
            self._names[axis.name]: tuple(
                r.version
                for r in _within(
                    self._asked_of(cell, axis, release, relaxations), self.usable(cell, axis)
                )
            )
            for axis in self._others
        }
        texts: dict[str, str] = {
            self._names[axis.name]: cell.on(axis.name).text for axis in self.matrix.packages
        }
        coordinates[self._names[self._subject.name]] = (release.version,)
        return Question(
            subject=f"{self._subject.package} {release.version}",
            version=release.version,
            python=python,
            relaxations=relaxations,
            coordinates=coordinates,
            texts=texts,
        )

    def _lies_outside(
        self, subject: Version, python: Version, axis: str, coordinate: Version
    ) -> bool:
        # Rules may set `Requires-Python` aside where something is moved, so this is asked without
        # it first.
        facts = self._installable
        patches = next(
            (
                u
                for ignores in (False, True)
                if (u := facts.usable(self._subject.name, subject, python, ignores))
            ),
            facts.releases(self._subject.name, subject),
        )
        releases = facts.releases(axis, coordinate)
        pins = [self._pin(patch.version, python, axis) for patch in patches]
        return bool(pins) and not any(_within(pin, releases) for pin in pins)

    def _coordinates_inside(
        self, subject: Version, python: Version, axis_name: str
    ) -> tuple[Version, ...]:
        return tuple(
            version
            for version in self._versions(axis_name)
            if not self._moved(subject, python, axis_name, version)
        )

    def _versions_on(self, axis_name: str) -> tuple[Version, ...]:
        axis = next(axis for axis in self._others if axis.name == axis_name)
        return tuple(place.version for place in self.coordinates[axis.name])

    def _pin_fits(self, release: Version, python: Version, axis: str, coordinate: Version) -> bool:
        usable = self._installable.usable(axis, coordinate, python, False)
        return bool(_within(self._pin(release, python, axis), usable))

    def _changes(
        self,
        subject: Version,
        python: Version,
        relaxation: Relaxation,
        winners: dict[str, Relaxation],
    ) -> bool:
        """Whether a relaxation changes what a release asks for.

        A pin that stays as it is counts, because a relaxed package is free of the cell's date; so
        does what may be asked for deep in the tree, because only a resolver knows.
        """
        releases = self.subject_releases(subject)
        if relaxation.ignore_requires_python:
            patch = self._installable.patches[python]
            asked = (r.published.requires_python for r in releases if r.published is not None)
            return not all(admits(requirement, patch) for requirement in asked)
        package = canonicalize_name(relaxation.package)
        if winners.get(package) != relaxation:
            return False
        if relaxation.everywhere or relaxation.as_of is not None:
            return True
        return any(named(self.requirements(r.version, python), package) for r in releases)

    def _requirements(self, release: Version, python: Version) -> tuple[Asked, ...]:
        # A cell that was run may be of a series that the matrix has no longer: then the series
        # itself.
        patch = self._installable.patches.get(python, python)
        markers = marker_values(patch, self.matrix.platform)
        return active(self.published(release), markers, self._subject.extras)


def _within(pin: SpecifierSet | None, releases: Iterable[Release]) -> tuple[Release, ...]:
    if pin is None:
        return tuple(releases)
    return tuple(r for r in releases if pin.contains(r.version, prereleases=True))
