"""How far a version lies from what was asked for, in releases."""

from collections.abc import Mapping, Sequence

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat.index.release import Package


def distances(releases: Sequence[Version], asked: Sequence[SpecifierSet]) -> Mapping[Version, int]:
    """Return how many releases each lies from the nearest that was asked for.

    A pinned version that the index has lost counts as one of them. Empty where anything will do.
    """
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
        # Nothing that was asked for is left: the bounds themselves say where it was.
        every, admitted = sorted({*releases, *bounds}), sorted(bounds)
    if not admitted:
        return {}
    places = {version: place for place, version in enumerate(every)}
    wanted = [places[version] for version in admitted]
    return {version: min(abs(place - places[version]) for place in wanted) for version in releases}


def final_versions(package: Package) -> list[Version]:
    """Return the final releases that have a file that is not yanked."""
    return [
        release.version
        for release in package.releases
        if not release.version.is_prerelease and release.has_usable_file
    ]
