"""The index as values: artifacts, releases, packages, and the Catalogue of one moment.

Their names in JSON are those of a stored catalogue, see `kept.py`.
"""

import datetime
import re
from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag
from packaging.version import Version

from compat.declare.matrix import Axis, PackageAxis, Selector
from compat.errors import NoPage
from compat.value import StrictValue, Value


class _Kept(StrictValue, frozen=True, omit_defaults=True):
    """Base of what a catalogue stores: default fields are omitted."""


class Artifact(
    _Kept,
    frozen=True,
    rename={"filename": "name", "requires_python": "python"},
):
    """One file of a release: a wheel (with its tags, PEP 425) or an sdist (no tags).

    `has_metadata` is whether the index announces a separate metadata file (PEP 658), None when it
    does not say. `uploaded` is None when the index gives no time (PEP 700 is optional),
    `requires_python` when it is missing or unreadable. `set_aside` says why the file must not be
    used although the index lists it. `yank_reason` says why it is yanked; both are mostly empty.
    """

    filename: str
    url: str = ""
    tags: frozenset[Tag] = frozenset()
    uploaded: datetime.datetime | None = None
    requires_python: SpecifierSet | None = None
    yanked: bool = False
    yank_reason: str = ""
    set_aside: str = ""
    sha256: str | None = None
    has_metadata: bool | None = None

    def is_seen(self, until: datetime.datetime | None) -> bool:
        """Whether the file existed before a moment; None means now."""
        return until is None or (self.uploaded is not None and self.uploaded < until)

    @property
    def is_wheel(self) -> bool:
        return bool(self.tags)


class Published(
    _Kept,
    frozen=True,
    rename={"requires_python": "python", "requires_dist": "requires"},
):
    """What a release's metadata requires: `Requires-Python` and `Requires-Dist` as written."""

    requires_python: SpecifierSet | None = None
    requires_dist: tuple[str, ...] = ()


class Release(
    _Kept,
    frozen=True,
    rename={"artifacts": "files", "published": "asks"},
):
    """All artifacts of one version by file name; `published` of the subject and its pins only."""

    version: Version
    artifacts: tuple[Artifact, ...] = ()
    published: Published | None = None

    @property
    def uploaded(self) -> datetime.datetime | None:
        """When the first file appeared; None when the index gives no times."""
        return min((a.uploaded for a in self.artifacts if a.uploaded is not None), default=None)

    @property
    def yanked(self) -> bool:
        return all(artifact.yanked for artifact in self.artifacts)

    @property
    def yank_reason(self) -> str:
        """Why it is yanked, in its project's words; empty where no reason is given."""
        return next((a.yank_reason for a in self.artifacts if a.yank_reason), "")

    @property
    def requires(self) -> tuple[str, ...]:
        """Its requirements as written; none where they are not read."""
        return () if self.published is None else self.published.requires_dist

    @property
    def has_usable_file(self) -> bool:
        return any(not artifact.yanked and not artifact.set_aside for artifact in self.artifacts)


class Package(_Kept, frozen=True):
    """All releases of a package (name as in PEP 503), oldest first.

    `stale_since` is the time of a cached answer that is used while the index is unreachable.
    """

    name: str
    releases: tuple[Release, ...]
    stale_since: datetime.datetime | None = None

    @property
    def first_uploaded(self) -> datetime.datetime | None:
        return earliest_upload(self.releases)

    def selected(self, selector: Selector) -> tuple[Release, ...]:
        return tuple(release for release in self.releases if selector.keeps(release.version))

    def coordinates(self, selector: Selector) -> tuple[Version, ...]:
        """Return the exact versions, or series where the selector selects these, oldest first."""
        releases = self.selected(selector)
        versions = {release.version for release in releases}
        own = versions.intersection(selector.also)
        return tuple(sorted({*own, *map(selector.series, versions)}))

    def members(self, coordinate: Version, selector: Selector) -> tuple[Release, ...]:
        return tuple(
            release
            for release in self.releases
            # The first query for each coordinate in turn, as it costs a tenth of the other.
            if selector.stands_for(coordinate, release.version) and selector.keeps(release.version)
        )


def releases_of(package_of: Callable[[str], Package], name: str) -> tuple[Release, ...]:
    """Return the releases of a package; none where the index has no page for it."""
    try:
        return package_of(name).releases
    except NoPage:
        return ()


def release_of(package_of: Callable[[str], Package], name: str, version: Version) -> Release | None:
    return next((r for r in releases_of(package_of, name) if r.version == version), None)


def earliest_upload(releases: Iterable[Release]) -> datetime.datetime | None:
    return min((r.uploaded for r in releases if r.uploaded is not None), default=None)


class Required(Package, frozen=True):
    """A package that releases of the subject pin: every release that one of `pins` admits, or
    `whole` with all.

    Only a release's files for the declared platform count, and only its requirements on the axes'
    packages and on other required ones. Unread metadata is unknown.
    """

    pins: tuple[str, ...] = ()
    whole: bool = False


class Catalogue(Value, frozen=True):
    """The index at one moment as a matrix needs it: a Package for each package axis, and the pins.

    `prereleases` has the one release to try, or none, for each package of that variant. `newer` has
    the releases after all those that a bounded axis selects. `lowest` has the lowest declared
    releases that an axis excludes, where the matrix has that variant.
    """

    packages: tuple[Package, ...]
    required: tuple[Required, ...] = ()
    prereleases: tuple[Package, ...] = ()
    newer: tuple[Package, ...] = ()
    lowest: tuple[Package, ...] = ()

    def package(self, name: str) -> Package:
        for package in self.packages:
            if package.name == name:
                return package
        raise KeyError(name)

    def prerelease(self, axis: PackageAxis) -> Release | None:
        own = (package for package in self.prereleases if package.name == axis.normalised_name)
        return next((release for package in own for release in package.releases), None)

    def newer_than(self, axis: Axis) -> tuple[Release, ...]:
        """Return the releases after those that an axis selects, that a higher bound admits."""
        own = (package.releases for package in self.newer if package.name == axis.normalised_name)
        return next(own, ())

    def with_package(self, package: Package) -> "Catalogue":
        packages = (package if p.name == package.name else p for p in self.packages)
        return msgspec.structs.replace(self, packages=tuple(packages))

    def of(self, axis: Axis) -> Package:
        return self.package(axis.normalised_name)

    def coordinates(self, axis: Axis) -> tuple[Version, ...]:
        if isinstance(axis, PackageAxis):
            return self.of(axis).coordinates(axis.select)
        return tuple(axis.series)

    def members(self, axis: Axis, coordinate: Version) -> tuple[Release, ...]:
        """Return the releases of a coordinate; the interpreter has none."""
        if isinstance(axis, PackageAxis):
            return self.of(axis).members(coordinate, axis.select)
        return ()

    def release_day(self, axis: Axis, coordinate: Version) -> datetime.datetime | None:
        return earliest_upload(self.members(axis, coordinate))


def usable_wheels(release: Release) -> tuple[Artifact, ...]:
    wheels = (artifact for artifact in release.artifacts if artifact.is_wheel)
    return tuple(wheel for wheel in wheels if not (wheel.yanked or wheel.set_aside))


def lowest_python(release: Release) -> Version | None:
    """Return the lowest series that the wheels' tags admit (PEP 425); None where any will do."""
    names = {tag.interpreter for wheel in usable_wheels(release) for tag in wheel.tags}
    known = (re.fullmatch("(?:cp|py)3([0-9]*)", name) for name in names)
    minors = [int(match[1] or 0) for match in known if match]
    return Version(f"3.{min(minors)}") if any(minors) and min(minors) else None


class ReleaseSource(Protocol):
    """Provides the releases of packages."""

    def package(self, name: str) -> Package:
        """Return all releases of the package; raise IndexUnreachable without a reliable answer."""

    def elsewhere(self, index_url: str) -> "ReleaseSource":
        """Return a source that queries only that index, in the same way."""

    def published(self, artifact: Artifact) -> Published | None:
        """Return the metadata's requirements; None for an sdist, where it is not reliable."""
