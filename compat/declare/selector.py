"""The `declare` room's table `select`: which releases of a package become coordinates."""

from typing import Annotated, Literal

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat.value import StrictValue


class Selector(StrictValue, frozen=True):
    """Which releases of a package become coordinates.

    `keep` is `each` release, or the series of each `minor` (X.Y) or `major` (X). A series is locked
    to the newest patch that the recipe allows, or with `patch` to the oldest one; `also` names
    releases that are coordinates of their own beside their series. `prereleases` lets in alphas,
    betas, candidates and development releases.
    """

    specifier: SpecifierSet = msgspec.field(default_factory=SpecifierSet)
    keep: Literal["each", "minor", "major"] = "each"
    also: Annotated[tuple[Version, ...], msgspec.Meta(max_length=50)] = ()
    patch: Literal["newest", "oldest"] = "newest"
    prereleases: bool = False

    def keeps(self, version: Version) -> bool:
        """Return whether a release of this version is kept.

        Pre-releases, which by PEP 440 development releases are too, are kept only where the
        selector says so. Local versions never are: no public index takes them.
        """
        if version.local is not None or (version.is_prerelease and not self.prereleases):
            return False
        return self.specifier.contains(version, prereleases=True)

    def is_exact(self, coordinate: Version) -> bool:
        return self.keep == "each" or coordinate in self.also

    def stands_for(self, coordinate: Version, version: Version) -> bool:
        if coordinate in self.also:
            return coordinate == version
        return self.series(version) == coordinate

    def coordinate(self, version: Version) -> Version:
        """Return the coordinate of a version: its own, else its series."""
        return version if version in self.also else self.series(version)

    def series(self, version: Version) -> Version:
        """Return the series of a version, which is itself where each release is kept.

        A version's epoch (PEP 440) goes into its series.
        """
        match self.keep:
            case "each":
                return version
            case "minor":
                return Version(f"{version.epoch}!{version.major}.{version.minor}")
            case "major":
                return Version(f"{version.epoch}!{version.major}")
