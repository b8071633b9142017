"""A user's request for a matrix: the versions and capabilities in words such as `python==3.10`."""

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Literal, get_args

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import Specifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from compat.declare.matrix import Axis, InterpreterAxis, Matrix
from compat.errors import UsageError
from compat.index.release import Catalogue
from compat.value import Value

# The first criterion: fewest failures, the newest versions, the most days of runs, the fewest
# changed pins, no changed pins at all, the oldest versions.
Goal = Literal["best", "newest", "stable", "closest", "published", "minimum"]
GOALS: tuple[Goal, ...] = get_args(Goal)
# More patches than any interpreter series has had.
_PATCHES = 60


class Want(Value, frozen=True):
    """The requirement on one axis."""

    axis: Axis
    specifier: SpecifierSet

    def is_met_by(self, version: Version, locked: Version) -> bool:
        own = patches(version) if isinstance(self.axis, InterpreterAxis) else [locked]
        return meets(self.specifier, version, own)

    @property
    def bounds(self) -> tuple[Version, ...]:
        """The versions that it names; texts that are no version, as `===` accepts, are omitted."""
        named = (_version(clause.version.removesuffix(".*")) for clause in self.specifier)
        return tuple(version for version in named if version is not None)

    @property
    def is_possible(self) -> bool:
        """Whether a version could satisfy it: one at, above or below those that it names."""
        above = (
            Version(".".join(map(str, (*bound.release[:part], bound.release[part] + 1))))
            for bound in (Version(f"{version.base_version}.0.0") for version in self.bounds)
            for part in range(len(bound.release))
        )
        candidates = (Version("0"), *self.bounds, *above)
        return len(self.bounds) < len(self.specifier) or any(
            meets(self.specifier, self.axis.coordinate(each), (each,)) for each in candidates
        )


class Request(Value, frozen=True):
    """A user's versions, the required capabilities, and the goal.

    `wants` has at most one an axis, in axis order; `packages` has those on no axis.
    """

    wants: tuple[Want, ...] = ()
    packages: tuple[tuple[str, SpecifierSet], ...] = ()
    needs: tuple[str, ...] = ()
    goal: Goal = "best"


def request_of(
    words: Iterable[str],
    matrix: Matrix,
    capabilities: Sequence[str],
    needs: Iterable[str] = (),
    goal: Goal = "best",
    locked: Callable[[], Collection[str]] = tuple,
) -> Request:
    """An axis is named by its name, its short name or its package's, with a version as in
    `python==3.10`, `python 3.10` or `python3.10`. `locked` returns the packages of all locks.
    Raises UsageError for what is no requirement, and for an unknown package or capability, with the
    nearest known one.
    """
    asked: dict[str, SpecifierSet] = {}
    beside: dict[str, SpecifierSet] = {}
    spelt: dict[str, str] = {}
    axes: dict[str, Axis] = {}
    for axis in matrix.axes:
        spoken = (axis.name, axis.short, label(axis))
        axes |= {canonicalize_name(spelling): axis for spelling in spoken}
    for word in _joined(words, axes):
        try:
            requirement = Requirement(word)
        except InvalidRequirement as error:
            hint = "requirements look like python==3.10 or 'name>=1,<2'"
            raise UsageError.of(f"{word[:80]!r} is not a requirement", hint=hint) from error
        if requirement.extras or requirement.marker is not None or requirement.url:
            message = f"{word[:80]!r} has more than a name and versions"
            raise UsageError.of(message, hint="leave out extras and markers")
        name = canonicalize_name(requirement.name)
        spelt[name] = requirement.name
        into, key = (asked, axes[name].name) if name in axes else (beside, name)
        into[key] = into.get(key, SpecifierSet()) & requirement.specifier
    known = {*axes, *locked()} if beside else set()
    for package in beside:
        if package not in known:
            near = difflib.get_close_matches(package, known, n=1)
            labels = ", ".join(map(label, matrix.axes))
            hint = f"did you mean {near[0]}?" if near else f"its axes are {labels}"
            message = f"matrix {matrix.name!r} has no axis and no lock with {spelt[package]!r}"
            raise UsageError.of(message, hint=hint)
    wants = tuple(
        Want(axis=axis, specifier=asked[axis.name]) for axis in matrix.axes if axis.name in asked
    )
    for want in wants:
        if not want.is_possible:
            clauses = " and ".join(sorted(map(str, want.specifier)))
            raise UsageError.of(
                f"no version of {label(want.axis)} is {clauses}", hint="ask about one at a time"
            )
    needs = tuple(dict.fromkeys(needs))
    for need in needs:
        if need not in capabilities:
            near = difflib.get_close_matches(need, capabilities, n=1)
            hint = f"did you mean {near[0]}?" if near else _known(capabilities)
            raise UsageError.of(f"no capability {need!r}", hint=hint)
    return Request(wants=wants, packages=tuple(beside.items()), needs=needs, goal=goal)


def exactly(axis: Axis, version: Version) -> Want:
    return Want(axis=axis, specifier=SpecifierSet(f"=={version}"))


def meets(specifier: SpecifierSet, at: Version, releases: Iterable[Version]) -> bool:
    """Return whether a coordinate satisfies the specifier.

    `releases` are those of the coordinate, or the locked one. A specifier with no more numbers than
    the coordinate is about the coordinate, so that `==2.11`, `<=2.11` and `!=2.11` mean the series
    2.11. One with more numbers is about releases.
    """
    coarse = [clause for clause in specifier if _numbers(clause) <= len(at.release)]
    fine = [clause for clause in specifier if _numbers(clause) > len(at.release)]
    if not all(clause.contains(at, prereleases=True) for clause in coarse):
        return False
    return not fine or any(
        all(clause.contains(release, prereleases=True) for clause in fine) for release in releases
    )


def unavailable(want: Want, catalogue: Catalogue) -> str:
    axis, bounds = want.axis, want.bounds
    if axis.package is None:
        series = [*axis.series]
        return (
            f"the matrix has no {label(axis)} {want.specifier}: it has {series[0]} to {series[-1]}"
        )
    every = [release.version for release in catalogue.of(axis).releases]
    newest = max(
        (*every, *(release.version for release in catalogue.newer_than(axis))), default=None
    )
    if newest is None:
        return f"the index has no release of {axis.package}"
    if bounds and min(bounds) > newest:
        return f"{axis.package} has no release {want.specifier}: the newest is {newest}"
    if bounds and min(every) <= min(bounds) and max(bounds) <= max(every):
        return f"{axis.package} has no release {want.specifier}"
    return f"the matrix has no {axis.package} {want.specifier}: it has {min(every)} to {max(every)}"


def releases_of(axis: Axis, at: Version, catalogue: Catalogue | None) -> tuple[Version, ...]:
    """Return the releases of a coordinate; of an interpreter, any possible patch. Without a
    catalogue it is its only one.
    """
    if catalogue is None:
        return (at,)
    if isinstance(axis, InterpreterAxis):
        return patches(at)
    return tuple(member.version for member in catalogue.members(axis, at))


def wanted_coordinates(
    request: Request, known: Mapping[str, Iterable[Version]], catalogue: Catalogue | None
) -> dict[str, frozenset[Version]]:
    return {
        want.axis.name: frozenset(
            version
            for version in known[want.axis.name]
            if meets(want.specifier, version, releases_of(want.axis, version, catalogue))
        )
        for want in request.wants
    }


@cache
def patches(series: Version) -> tuple[Version, ...]:
    return tuple(Version(f"{series}.{patch}") for patch in range(_PATCHES))


def label(axis: Axis) -> str:
    return axis.package or "Python"


def _joined(words: Iterable[str], axes: Collection[str]) -> Iterator[str]:
    """Yield the words, an axis with a version after it, in one word or two, as `axis==version`."""
    names = "|".join(map(re.escape, sorted(axes, key=len, reverse=True)))
    spoken = re.compile(rf"({names}) ?v?(\d[\w.]*)", re.IGNORECASE)
    joined: list[str] = []
    for word in words:
        if joined and re.fullmatch(r"v?\d[\w.]*", word):
            joined[-1] += f" {word}"
        else:
            joined.append(word)
    for word in joined:
        parts = spoken.fullmatch(word)
        yield f"{parts[1]}=={parts[2]}" if parts else word


def _known(capabilities: Sequence[str]) -> str:
    match capabilities:
        case []:
            return "the suite marks no test with a capability, and no run names one"
        case [only]:
            return f"the suite has one, {only}"
    return f"the suite has {len(capabilities)}, such as {capabilities[0]}"


def _numbers(specifier: Specifier) -> int:
    """How many numbers a specifier's version has; other text, as `===` accepts, has more."""
    version = _version(specifier.version.removesuffix(".*"))
    return 1_000 if version is None else len(version.release)


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None
