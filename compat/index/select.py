"""Which releases of a package a Selector keeps, and under which coordinate each of them stands."""

from packaging.version import Version

from compat.declare.matrix import Selector
from compat.index.release import Package, Release


def selected(selector: Selector, package: Package) -> tuple[Release, ...]:
    """Return the releases that the selector keeps, oldest first.

    Pre-releases, which by PEP 440 development releases are too, are kept only where the selector
    says so. Local versions never are: no public index takes them. Yanked releases stay: the plan
    says what that means.
    """
    return tuple(release for release in package.releases if _keeps(selector, release.version))


def coordinates(selector: Selector, package: Package) -> tuple[Version, ...]:
    """Return the coordinates of the selected releases, each once, oldest first.

    A coordinate is an exact version, or the series X.Y or X where the selector keeps minors or
    majors.
    """
    return tuple(
        sorted({coordinate(release.version, selector) for release in selected(selector, package)})
    )


def members(at: Version, selector: Selector, package: Package) -> tuple[Release, ...]:
    """Return the selected releases that stand under the coordinate `at`, oldest first; none is not
    an error.
    """
    return tuple(
        release
        for release in selected(selector, package)
        if coordinate(release.version, selector) == at
    )


def coordinate(version: Version, selector: Selector) -> Version:
    """Return the coordinate of a version: itself, or its series.

    A version's epoch (PEP 440) goes into its series.
    """
    match selector.keep:
        case "each":
            return version
        case "minor":
            return Version(f"{version.epoch}!{version.major}.{version.minor}")
        case "major":
            return Version(f"{version.epoch}!{version.major}")


def _keeps(selector: Selector, version: Version) -> bool:
    if version.local is not None:
        return False
    if version.is_prerelease and not selector.prereleases:
        return False
    return selector.specifier.contains(version, prereleases=True)
