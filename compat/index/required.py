"""Discovery one level deep: the packages that the subject's releases pin, as far as a plan can
learn from them.

A pin that no release satisfies, or whose releases have no file for a Python or refuse a coordinate,
makes a cell impossible whatever a resolver does. Loose requirements are passed over: of many
releases one will do.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from compat.declare.matrix import NOTHING, Matrix
from compat.errors import IndexUnreachable, NoPage
from compat.index.release import Artifact, Package, Published, Release, Required
from compat.index.source import ReleaseSource
from compat.value import Value

_PINS = ("==", "===", "~=")

Each = Callable[[Callable[[str], Required | None], Iterable[str]], Iterable[Required | None]]


class Pins(Value, frozen=True, kw_only=True):
    """What the subject's releases ask of other packages: pins by name, and the names that rules set
    free.
    """

    pins: dict[str, tuple[SpecifierSet, ...]]
    free: frozenset[str]

    def admit(self, name: str, release: Release) -> bool:
        return any(
            pin.contains(release.version, prereleases=True) for pin in self.pins.get(name, ())
        )


def is_pin(specifier: SpecifierSet) -> bool:
    return any(part.operator in _PINS for part in specifier)


def required(
    matrix: Matrix, subject: Package, source: ReleaseSource, each: Each
) -> tuple[Required, ...]:
    """Return the packages that the subject's selected releases pin, by name; axes' packages are
    left out.
    """
    axes = {str(axis.normalised_name) for axis in matrix.packages}
    pins = _pins(matrix, subject)
    names = sorted((pins.pins.keys() | pins.free) - axes)
    asked = frozenset({*names, *axes})

    architecture = matrix.platform.partition("-")[0]
    own = "pp" if matrix.platform.endswith("-pypy") else "cp"
    series = frozenset(f"{own}{patch.major}{patch.minor}" for patch in matrix.interpreters.patches)

    def of(name: str) -> Required | None:
        try:
            package = source.package(name)
        except NoPage:
            package = Package(name=name, releases=())
        releases = tuple(_fitting_files(r, architecture, series) for r in package.releases)
        package = msgspec.structs.replace(package, releases=releases)
        return _required(package, pins, asked, source)

    return tuple(entry for entry in each(of, names) if entry is not None)


def _pins(matrix: Matrix, subject: Package) -> Pins:
    pins: dict[str, set[SpecifierSet]] = {}
    names: set[str] = set()
    for release in subject.selected(matrix.subject_axis.select):
        for requirement in _parsed(
            () if release.published is None else release.published.requires_dist
        ):
            name = canonicalize_name(requirement.name)
            names.add(name)
            if is_pin(requirement.specifier):
                pins.setdefault(name, set()).add(requirement.specifier)
    free: set[str] = set()
    for relaxation in (r for rule in matrix.rules for r in rule.relaxations):
        name = canonicalize_name(relaxation.package)
        if name not in names or relaxation.to in (None, NOTHING):
            continue
        if is_pin(relaxation.specifier):
            pins.setdefault(name, set()).add(relaxation.specifier)
        else:
            free.add(name)
    return Pins(
        pins={name: tuple(specifiers) for name, specifiers in pins.items()}, free=frozenset(free)
    )


def _required(
    package: Package, pins: Pins, asked: frozenset[str], source: ReleaseSource
) -> Required | None:
    admitted = [release for release in package.releases if pins.admit(package.name, release)]
    is_free = package.name in pins.free
    candidates = package.releases if is_free else tuple(admitted)
    # Requirements on each other rarely come and go: the oldest and the newest release tell whether
    # there are any.
    telling = any(
        _relevant(release, asked, source) for release in (*candidates[:1], *candidates[-1:])
    )
    whole = is_free and telling
    if not whole and package.name not in pins.pins:
        return None
    listed = package.releases if whole else tuple(admitted)
    if telling:
        listed = tuple(_with_metadata(release, asked, source) for release in listed)
    return Required(
        package=msgspec.structs.replace(package, releases=listed),
        pins=tuple(sorted(map(str, pins.pins.get(package.name, ())))),
        whole=whole,
    )


def _relevant(release: Release, asked: frozenset[str], source: ReleaseSource) -> bool:
    published = _with_metadata(release, asked, source).published
    return published is not None and bool(published.requires_dist)


def _with_metadata(release: Release, asked: frozenset[str], source: ReleaseSource) -> Release:
    wheel = next((artifact for artifact in release.artifacts if artifact.is_wheel), None)
    if wheel is None:
        return release
    try:
        published = source.published(wheel)
    except IndexUnreachable as trouble:
        from compat.index.metadata import DAMAGED

        # A wheel that cannot be read is nothing known of this release; an index that is down is
        # trouble.
        if isinstance(trouble.__cause__, DAMAGED):
            return release
        raise
    if published is None:
        return release
    texts = published.requires_dist
    relevant = tuple(
        t for t in texts if any(canonicalize_name(r.name) in asked for r in _parsed((t,)))
    )
    asks = Published(requires_python=published.requires_python, requires_dist=relevant)
    return msgspec.structs.replace(release, published=asks)


def _fitting_files(release: Release, architecture: str, series: frozenset[str]) -> Release:
    artifacts = (a for a in release.artifacts if not a.is_wheel or _is_for(a, architecture, series))
    files = tuple(msgspec.structs.replace(artifact, uploaded=None) for artifact in artifacts)
    return msgspec.structs.replace(release, artifacts=files)


def _is_for(wheel: Artifact, architecture: str, series: frozenset[str]) -> bool:
    return any(
        (tag.interpreter in series or tag.interpreter.startswith("py3") or tag.abi == "abi3")
        and (
            tag.platform == "any"
            or (
                tag.platform.startswith(("manylinux", "linux"))
                and tag.platform.endswith(architecture)
            )
        )
        for tag in wheel.tags
    )


def _parsed(texts: Iterable[str]) -> Iterator[Requirement]:
    for text in texts:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if requirement.url is None and "extra" not in str(requirement.marker or ""):
            yield requirement
