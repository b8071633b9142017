"""The first obstacle of a cell, cheapest question first; each question is answered from facts, never by a run."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Literal

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import ANY, NOTHING, Matrix, PackageAxis
from compat.index.release import Catalogue, Published, Release
from compat.index.select import members
from compat.plan.cell import Cell
from compat.plan.platform import accepted_tags, admits, marker_values
from compat.plan.requirements import Asked, active, named
from compat.plan.rules import RuleBook

Kind = Literal["excluded", "yanked", "requires-python", "no-artifact", "conflicting-pin", "undated", "no-interpreter"]


class Obstacle(msgspec.Struct, frozen=True, kw_only=True):
    """Why a cell cannot work: the kind, the coordinates or rules it stands between, and one sentence."""

    kind: Kind
    between: tuple[str, ...]
    because: str


class Feasibility:
    """What the catalogue and the rules say about cells; asked about many cells, it computes each fact once."""

    def __init__(self, matrix: Matrix, catalogue: Catalogue) -> None:
        """Take the declared matrix, and the catalogue that was discovered for it."""
        self.matrix = matrix
        self.catalogue = catalogue
        self.rules = RuleBook(matrix, self.moved)
        self._subject = matrix.subject_axis
        self._python = matrix.interpreters.name
        self._others = tuple(axis for axis in matrix.packages if axis is not self._subject)
        self._axes = {axis.name: axis for axis in matrix.packages}
        self._names = {axis.name: canonicalize_name(axis.package) for axis in matrix.packages}
        self._patches = {Version(f"{p.major}.{p.minor}"): p for p in matrix.interpreters.releases}
        self.published = cache(self._published)
        self.requirements = cache(self._requirements)
        self._releases = cache(self._members)
        self._usable = cache(self._usable_versions)
        self._unusable = cache(self._unusable_obstacle)
        self._pin = cache(self._published_pin)
        self._moved = cache(self._lies_outside)
        self._fits = cache(self._pin_fits)
        self._asked = self.questions()

    def obstacle(self, cell: Cell) -> Obstacle | None:
        """Return the first obstacle of the cell, or None: as far as the facts go, it could work."""
        for _, question in self._asked:
            found = question(cell)
            if found is not None:
                return found
        return None

    def questions(self) -> tuple[tuple[str, Callable[[Cell], Obstacle | None]], ...]:
        """Return each question with its sentence, in the order in which they are asked."""
        return (
            ("does a rule exclude the cell?", self.excluded),
            ("does every coordinate have a file for this interpreter and platform?", self.unavailable),
            ("does the subject's release admit the other coordinates?", self.conflicting),
            ("does the index tell when the coordinates came out?", self.undated),
        )

    def excluded(self, cell: Cell) -> Obstacle | None:
        """Return the obstacle of the first rule that excludes the cell."""
        for rule in self.rules.exclusions(cell):
            return Obstacle(kind="excluded", between=(rule.name,), because=rule.because)
        return None

    def unavailable(self, cell: Cell) -> Obstacle | None:
        """Return the obstacle of the first package that has nothing to install here, the subject first."""
        python = cell.on(self._python).version
        ignores = cell.recipe == "relaxed" and self.rules.ignores_requires_python(cell)
        for axis in (self._subject, *self._others):
            key = (axis.name, cell.on(axis.name).version, python, ignores and axis is self._subject)
            if not self._usable(*key):
                return self._unusable(*key)
        return None

    def conflicting(self, cell: Cell) -> Obstacle | None:
        """Return the obstacle of the first axis whose coordinate the subject's requirement does not admit."""
        relaxations = self.rules.relaxations(cell)
        for axis in self._others:
            relaxation = relaxations.get(self._names[axis.name])
            coordinate = cell.on(axis.name).version
            if relaxation is None:
                fits = self._fits(*self._place(cell), axis.name, coordinate)
            else:
                fits = relaxation.to in (ANY, NOTHING) or self._admits(relaxation.specifier, cell, axis)
            if not fits:
                pin = self._pin(*self._place(cell), axis.name) if relaxation is None else relaxation.specifier
                return self._conflict(cell, axis, pin)
        return None

    def undated(self, cell: Cell) -> Obstacle | None:
        """Return the obstacle of a recipe that needs a date which the index does not give."""
        if cell.recipe == "fresh":
            return None
        for axis in self.matrix.packages:
            coordinate = cell.on(axis.name)
            if all(release.uploaded is None for release in self._releases(axis.name, coordinate.version)):
                because = f"the index gives no upload time for {axis.package} {coordinate.version}"
                return Obstacle(kind="undated", between=(coordinate.text,), because=because)
        return None

    def moved(self, cell: Cell, axis: str) -> bool:
        """Return whether a coordinate lies outside what the subject's published requirement admits."""
        return self._moved(*self._place(cell), axis, cell.on(axis).version)

    def releases(self, cell: Cell, axis: PackageAxis) -> tuple[Release, ...]:
        """Return the releases that the cell's coordinate on that axis stands for, oldest first."""
        return self._releases(axis.name, cell.on(axis.name).version)

    def patch(self, cell: Cell) -> Version:
        """Return the interpreter patch that the cell is locked for."""
        return self._patches[cell.on(self._python).version]

    def _place(self, cell: Cell) -> tuple[Version, Version]:
        return cell.on(self._subject.name).version, cell.on(self._python).version

    def _published_pin(self, subject: Version, python: Version, axis: str) -> SpecifierSet | None:
        """The subject's published specifier on an axis's package; None when it does not ask for it."""
        asked = named(self.requirements(subject, python), self._names[axis])
        if not asked:
            return None
        return SpecifierSet(",".join(str(one.specifier) for one in asked if str(one.specifier)))

    def _lies_outside(self, subject: Version, python: Version, axis: str, coordinate: Version) -> bool:
        pin = self._pin(subject, python, axis)
        return pin is not None and not _admitted(pin, (r.version for r in self._releases(axis, coordinate)))

    def _pin_fits(self, subject: Version, python: Version, axis: str, coordinate: Version) -> bool:
        pin = self._pin(subject, python, axis)
        return pin is None or _admitted(pin, self._usable(axis, coordinate, python, False))

    def _admits(self, pin: SpecifierSet, cell: Cell, axis: PackageAxis) -> bool:
        return _admitted(pin, self._usable(axis.name, cell.on(axis.name).version, cell.on(self._python).version, False))

    def _conflict(self, cell: Cell, axis: PackageAxis, pin: SpecifierSet | None) -> Obstacle:
        subject, other = cell.on(self._subject.name), cell.on(axis.name)
        return Obstacle(
            kind="conflicting-pin",
            between=(subject.text, other.text),
            because=f"{self._subject.package} {subject.version} requires {axis.package} {pin}, not {other.version}",
        )

    def _published(self, version: Version) -> Published | None:
        return next((r.published for r in self._releases(self._subject.name, version)), None)

    def _requirements(self, version: Version, python: Version) -> tuple[Asked, ...]:
        # A cell that was run may be of a series that the matrix has no longer: then the series itself.
        patch = self._patches.get(python, python)
        return active(self.published(version), marker_values(patch, self.matrix.platform))

    def _members(self, axis_name: str, version: Version) -> tuple[Release, ...]:
        axis = self._axes[axis_name]
        return members(version, axis.select, self.catalogue.package(self._names[axis_name]))

    def _usable_versions(self, axis: str, version: Version, python: Version, ignores: bool) -> tuple[Version, ...]:
        patch, tags = self._patches[python], accepted_tags(python, self.matrix.platform)
        return tuple(
            release.version
            for release in self._releases(axis, version)
            if any(
                not artifact.yanked
                and (ignores or admits(artifact.requires_python, patch))
                and (not artifact.is_wheel or not tags.isdisjoint(artifact.tags))
                for artifact in release.artifacts
            )
        )

    def _unusable_obstacle(self, axis_name: str, version: Version, python: Version, ignores: bool) -> Obstacle:
        axis, releases = self._axes[axis_name], self._releases(axis_name, version)
        here = f"Python {python}"
        between = (f"{axis.short}{version}", f"{self.matrix.interpreters.short}{python}")
        if not releases:
            because = f"the index has no release {version} of {axis.package}"
            return Obstacle(kind="no-artifact", between=between[:1], because=because)
        files = [artifact for release in releases for artifact in release.artifacts if not artifact.yanked]
        if not files:
            return Obstacle(kind="yanked", between=between[:1], because=f"{axis.package} {version} is yanked")
        if not ignores and not any(admits(f.requires_python, self._patches[python]) for f in files):
            asked = sorted({str(f.requires_python) for f in files if f.requires_python is not None})
            because = f"{axis.package} {version} requires Python {' or '.join(asked)}, not {python}"
            return Obstacle(kind="requires-python", between=between, because=because)
        because = f"{axis.package} {version} has no file for {here} on {self.matrix.platform}"
        return Obstacle(kind="no-artifact", between=between, because=because)


def _admitted(specifier: SpecifierSet, versions: Iterable[Version]) -> bool:
    return any(specifier.contains(version, prereleases=True) for version in versions)
