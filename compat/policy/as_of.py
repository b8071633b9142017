"""The `policy` room's view of one day: what had been released by then, and where the floors are."""

import datetime
from functools import cached_property

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat.declare.matrix import Axis, InterpreterAxis, Matrix, PackageAxis
from compat.declare.parsing import minor_series
from compat.declare.policy import Hold, Policy
from compat.index.release import Catalogue, Package, Published, Release
from compat.plan.platform import admits, marker_values
from compat.plan.product import axis_coordinates
from compat.plan.requirements import active, named
from compat.policy.window import (
    DAY,
    Slot,
    allowed_on,
    hold_on,
    known_bad,
    move_day,
    slots,
    version_releases,
    window_of,
)
from compat.results.answer import Answer
from compat.results.snapshot import Snapshot


class AsOf:
    """A snapshot, asked about a day.

    A day before the snapshot's own is looked back at: only what had been released by then counts,
    floors are what the newest release of that day declared itself, and holds, which came later, are
    left out. Runs count whenever they were made.
    """

    def __init__(self, snapshot: Snapshot, policy: Policy, day: datetime.date) -> None:
        self.snapshot = snapshot
        self.policy = policy
        self.day = day
        self.looks_back = day < snapshot.day
        self.matrix: Matrix = snapshot.matrix
        self.catalogue = until(snapshot.catalogue, day)
        self.others: tuple[Axis, ...] = tuple(
            axis for axis in self.matrix.axes if axis.name != self.matrix.subject
        )

    @property
    def as_of_today(self) -> str:
        """What marks a fact without a date in a look back, such as what the index has."""
        return f" (as of {self.snapshot.day})" if self.looks_back else ""

    @cached_property
    def newest(self) -> tuple[Version, Release] | None:
        axis = self.matrix.subject_axis
        package = self.catalogue.of(axis)
        for coordinate in reversed(axis_coordinates(axis, self.catalogue)):
            for release in reversed(package.members(coordinate.version, axis.select)):
                if release.has_usable_file:
                    return coordinate.version, release
        return None

    @property
    def newest_python(self) -> Version:
        """The newest series that the newest release admits, else that of the matrix.

        What the release asks of packages is read for it.
        """
        published = None if self.newest is None else self.newest[1].published
        python = None if published is None else published.requires_python
        patches = self.matrix.interpreters.patches
        return Version(
            minor_series(max([patch for patch in patches if admits(python, patch)] or patches))
        )

    @property
    def called(self) -> str:
        return (
            f"{self.matrix.subject_axis.package}"
            f" {self.newest[1].version if self.newest else '(none)'}"
        )

    @cached_property
    def existing(self) -> dict[str, tuple[Version, ...]]:
        return {axis.name: self._existing(axis) for axis in self.matrix.axes}

    @cached_property
    def asked(self) -> dict[str, frozenset[Version]]:
        catalogue = self.snapshot.catalogue
        return {
            axis.name: frozenset(
                coordinate.version for coordinate in axis_coordinates(axis, catalogue)
            )
            for axis in self.matrix.axes
        }

    @cached_property
    def slots(self) -> dict[str, tuple[Slot, ...]]:
        return {
            axis.name: slots(
                version_releases(axis, self.catalogue),
                window_of(self.policy, axis.name),
                self.policy,
            )
            for axis in self.others
        }

    @cached_property
    def floors(self) -> dict[str, Version]:
        if not self.looks_back:
            names = {axis.name for axis in self.others}
            return {floor.axis: floor.at for floor in self.matrix.floors if floor.axis in names}
        declared = {axis.name: self._declared(axis) for axis in self.others}
        return {name: version for name, version in declared.items() if version is not None}

    @cached_property
    def cells(self) -> tuple[Answer, ...]:
        # The entries of the newest release whose coordinates all existed; looking back, without the
        # recipe `fresh`.
        admitted = {name: frozenset(versions) for name, versions in self.existing.items()}
        admitted[self.matrix.subject] = frozenset(() if self.newest is None else self.newest[:1])
        return tuple(
            entry
            for entry in self.snapshot.having(admitted)
            if entry.planned and not (self.looks_back and entry.cell.recipe == "fresh")
        )

    def calendar(
        self, axis: str, day: datetime.date | None = None, up_to: Version | None = None
    ) -> Slot | None:
        """Return what the window allows as the axis's floor on the day, holds left aside.

        With `up_to` nothing newer than that counts.
        """
        known = (slot for slot in self.slots[axis] if up_to is None or slot.version <= up_to)
        return allowed_on(day or self.day, known, self.bad(axis))

    def hold(self, axis: str) -> Hold | None:
        return None if self.looks_back else hold_on(self.policy, axis, self.day)

    def lifted(self, axis: str, version: Version) -> datetime.date | None:
        """Return the first day of the cadence after all holds on a version; None without any."""
        last = max((hold.until for hold in self.holds(axis, version)), default=None)
        return None if last is None else move_day(last + DAY, self.policy)

    def holds(self, axis: str, version: Version) -> tuple[Hold, ...]:
        holds = () if self.looks_back else self.policy.holds
        return tuple(
            hold
            for hold in holds
            if hold.axis == axis and hold.at < version and self.day <= hold.until
        )

    def bad(self, axis: str) -> frozenset[Version]:
        return known_bad(self.policy, axis)

    def asks(self, axis: Axis) -> SpecifierSet | None:
        """Return what the newest release's own metadata asks of an axis; None when nothing."""
        published = None if self.newest is None else self.newest[1].published
        if published is None:
            return None
        if isinstance(axis, InterpreterAxis):
            return published.requires_python
        return self._pin(published, axis)

    def releases(self, axis: Axis, version: Version) -> tuple[Version, ...]:
        # Return the releases under a coordinate of a package axis, oldest first; none of an
        # interpreter.
        if isinstance(axis, InterpreterAxis):
            return ()
        package = self.catalogue.of(axis)
        return tuple(release.version for release in package.members(version, axis.select))

    def _pin(self, published: Published, axis: PackageAxis) -> SpecifierSet | None:
        patch = max(
            patch
            for patch in self.matrix.interpreters.patches
            if Version(minor_series(patch)) == self.newest_python
        )
        markers = marker_values(patch, self.matrix.platform)
        asked = named(active(published, markers), axis.normalised_name)
        return (
            SpecifierSet(
                ",".join(
                    str(requirement.specifier)
                    for requirement in asked
                    if str(requirement.specifier)
                )
            )
            if asked
            else None
        )

    def _declared(self, axis: Axis) -> Version | None:
        asked = self.asks(axis)
        if asked is None:
            return None
        if isinstance(axis, InterpreterAxis):
            patches = {Version(minor_series(patch)): patch for patch in axis.patches}
            admitted = (
                v for v in self.existing[axis.name] if asked.contains(patches[v], prereleases=True)
            )
        else:
            admitted = (
                v
                for v in self.existing[axis.name]
                if any(asked.filter(self.releases(axis, v), True))
            )
        return min(admitted, default=None)

    def _existing(self, axis: Axis) -> tuple[Version, ...]:
        known = tuple(coordinate.version for coordinate in axis_coordinates(axis, self.catalogue))
        if isinstance(axis, PackageAxis):
            return known
        planned = {
            release.version
            for release in version_releases(axis, self.catalogue)
            if release.released > self.day
        }
        return tuple(version for version in known if version not in planned)


def package_words(axis: Axis) -> str:
    return "Python" if isinstance(axis, InterpreterAxis) else axis.package


def until(catalogue: Catalogue, day: datetime.date) -> Catalogue:
    """Return the catalogue as it was at the end of that day: without files that came later, or
    whose time is unknown.

    A package whose index gives no times at all is kept whole.
    """
    return Catalogue(packages=tuple(_until(package, day) for package in catalogue.packages))


def _until(package: Package, day: datetime.date) -> Package:
    if package.first_uploaded is None:
        return package
    releases = []
    for release in package.releases:
        files = tuple(
            file
            for file in release.artifacts
            if file.uploaded is not None and file.uploaded.date() <= day
        )
        if files:
            releases.append(msgspec.structs.replace(release, artifacts=files))
    return msgspec.structs.replace(package, releases=tuple(releases))
