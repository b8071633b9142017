"""Which dependencies of a library are worth an axis, and which of their versions: each with its
reason.
"""

from collections.abc import Iterable, Sequence

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from compat.declare.selector import Selector
from compat.index.release import Package, Release
from compat.plan.platform import accepted_tags
from compat.value import Value

# So many versions of a dependency tell where it starts and stops to work, and a first matrix stays
# one that runs within minutes. Chosen on 2026-11-23.
MOST_SERIES = 4
_LOWER = (">=", ">", "~=", "==", "===")
_UPPER = ("<", "<=", "~=", "==", "===")


class Weighed(Value, frozen=True, kw_only=True):
    """A dependency as a possible axis.

    `requirement` is what the library declares. `selector` selects the `coordinates`, oldest first;
    `moves` are the reasons why it may break the library, most telling first, and none where there
    is only one version to ask about. `left_out` says why it is no axis in any case; else it is
    empty. `is_bounded` says that what is declared shuts some of the coordinates out as too new.
    """

    name: str
    requirement: str = ""
    selector: Selector = Selector()
    coordinates: tuple[Version, ...] = ()
    moves: tuple[str, ...] = ()
    left_out: str = ""
    weight: int = 0
    is_bounded: bool = False

    @property
    def because(self) -> str:
        return self.left_out or ", ".join(self.moves)


def settled_releases(package: Package) -> tuple[Release, ...]:
    selector = Selector()
    return tuple(
        release
        for release in package.selected(selector)
        if release.has_usable_file and not release.yanked
    )


class Target(Value, frozen=True, kw_only=True):
    """Where cells run: the series of Python, and the platform."""

    series: tuple[Version, ...]
    platform: str

    def has_wheel(self, release: Release) -> bool:
        return any(wheel_for(release, series, self.platform) for series in self.series)


def wheel_for(release: Release, series: Version, platform: str) -> bool:
    """Return whether a Python on a platform finds a wheel of a release, that is not withdrawn."""
    accepted = accepted_tags(series, platform)
    wheels = (a for a in release.artifacts if a.is_wheel and not a.yanked and not a.set_aside)
    return any(not accepted.isdisjoint(wheel.tags) for wheel in wheels)


def weighed(requirement: Requirement, package: Package | None, target: Target) -> Weighed:
    """Return how much a dependency matters; None for a package that the index does not have.

    Releases without a wheel for the target are passed over: a cell builds nothing unasked.
    """
    name, text = canonicalize_name(requirement.name), str(requirement)
    if requirement.url is not None:
        return Weighed(name=name, requirement=text, left_out="it is no release of the index")
    if package is None:
        return Weighed(name=name, requirement=text, left_out="the package index does not have it")
    if any(
        part.operator in ("==", "===") and "*" not in part.version for part in requirement.specifier
    ):
        return Weighed(name=name, requirement=text, left_out="it is pinned to one version")
    lowest = lower_bound(requirement.specifier)
    later = [
        release
        for release in settled_releases(package)
        if (lowest is None or release.version >= lowest) and target.has_wheel(release)
    ]
    # What lies between the lower bound and the oldest wheel is not to be had.
    lowest = max(lowest, later[0].version) if lowest is not None and later else lowest
    selector = newest_series([release.version for release in later], lowest)
    coordinates = tuple(sorted({selector.coordinate(r.version) for r in later if _in(selector, r)}))
    if len(coordinates) < 2:
        return Weighed(
            name=name,
            requirement=text,
            selector=selector,
            coordinates=coordinates,
            left_out="only one series of it meets what is declared",
        )
    moves, weight = _moves(requirement, later)
    return Weighed(
        name=name,
        requirement=text,
        selector=selector,
        coordinates=coordinates,
        moves=moves,
        weight=weight,
        is_bounded=bool(_shut_out(requirement, later)),
    )


def lower_bound(specifier: SpecifierSet) -> Version | None:
    """Return the version that a requirement starts at; None where it has no lower bound."""
    versions = []
    for part in specifier:
        if part.operator in _LOWER:
            try:
                versions.append(Version(part.version.removesuffix(".*")))
            except InvalidVersion:
                continue
    return max(versions, default=None)


def newest_series(
    versions: Sequence[Version], lowest: Version | None = None, most: int = MOST_SERIES
) -> Selector:
    # Return the selector of a few series: all minor ones from the lower bound on, else the major
    # ones, else the newest minor ones.
    minors, majors = _series("minor", versions), _series("major", versions)
    if len(minors) <= most:
        return _from(lowest or min(minors, default=None), "minor")
    if len(majors) >= 2 and len(majors) <= most:
        return _from(lowest or majors[0], "major")
    newest = majors if len(majors) > most else minors
    return _from(newest[-most], "major" if newest is majors else "minor")


def minor_series_from(versions: Sequence[Version], most: int) -> Selector:
    return _from(_series("minor", versions)[-most:][0], "minor")


def _from(lowest: Version | None, keep: str) -> Selector:
    specifier = SpecifierSet("" if lowest is None else f">={lowest}")
    return Selector(specifier=specifier, keep="major" if keep == "major" else "minor")


def _series(keep: str, versions: Iterable[Version]) -> list[Version]:
    selector = _from(None, keep)
    return sorted({selector.coordinate(version) for version in versions})


def _in(selector: Selector, release: Release) -> bool:
    return selector.keeps(release.version)


def _moves(requirement: Requirement, later: Sequence[Release]) -> tuple[tuple[str, ...], int]:
    moves: list[str] = []
    weight = 0
    versions = [release.version for release in later]
    shut_out = _shut_out(requirement, later)
    if shut_out:
        moves.append(f"{shut_out[-1].version} is shut out by what is declared")
        weight += 40
    elif any(part.operator in (*_UPPER, "!=") for part in requirement.specifier):
        moves.append("what is declared shuts versions out")
        weight += 30
    majors = _series("major", versions)
    if len(majors) > 1:
        moves.append(f"{len(majors)} major versions since {versions[0]}")
        weight += 20
    if any("any" not in {tag.platform for tag in a.tags} for a in later[-1].artifacts if a.tags):
        moves.append("it is compiled for each Python")
        weight += 10
    minors = _series("minor", versions)
    if len(majors) == 1:
        moves.append(f"{len(minors)} series since {versions[0]}")
    return tuple(moves), weight + min(len(minors), 9)


def _shut_out(requirement: Requirement, later: Sequence[Release]) -> list[Release]:
    admitted = [r.version for r in later if requirement.specifier.contains(r.version)]
    return [r for r in later if admitted and r.version > max(admitted)]
