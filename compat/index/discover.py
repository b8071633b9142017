"""Discovery: reads the releases of a matrix's packages into the Catalogue that it needs."""

import contextlib
import datetime
import difflib
import functools
import itertools
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from typing import Annotated, Any, TypeVar

import msgspec
from packaging.requirements import Requirement
from packaging.specifiers import Specifier, SpecifierSet
from packaging.tags import Tag
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from compat.declare.matrix import NOTHING, PLATFORMS, Matrix, PackageAxis, widened
from compat.declare.parsing import name_of_line, parsed
from compat.errors import DeclarationError, Fault, IndexUnreachable, NoPage, UnsoundFile
from compat.index.release import (
    Artifact,
    Catalogue,
    Package,
    Published,
    Release,
    ReleaseSource,
    Required,
    releases_of,
    usable_wheels,
)
from compat.value import StrictValue, decode, encode_hook

# Stores a Catalogue as a text beside the matrix, and reads it back.
#
# A matrix's locks, records and policy must not change with the day's index. A stored catalogue
# makes publishing and proposing repeatable, without a network. It has no index addresses of files.

P = TypeVar("P", bound=Package)
FORMAT = 2  # 2 adds the requirements of the subject's releases


class _Kept(StrictValue, frozen=True, kw_only=True, omit_defaults=True):
    format: Annotated[int, msgspec.Meta(ge=FORMAT, le=FORMAT)]
    packages: tuple[Package, ...]
    required: tuple[Required, ...] | None = None
    prereleases: tuple[Package, ...] = ()
    newer: tuple[Package, ...] = ()
    lowest: tuple[Package, ...] = ()


def encode_catalogue(catalogue: Catalogue, matrix: Matrix) -> str:
    packages = []
    for axis in matrix.packages:
        package = catalogue.of(axis)
        releases = package.selected(axis.select)
        packages.append(msgspec.structs.replace(package, releases=releases))
    return _one_file_a_line(
        _Kept(
            format=FORMAT,
            packages=_placeless(packages),
            required=_placeless(catalogue.required),
            prereleases=_placeless(catalogue.prereleases),
            newer=_placeless(catalogue.newer),
            lowest=_placeless(catalogue.lowest),
        )
    )


def decode_catalogue(text: str, source: str) -> Catalogue:
    return _decoded(text, source, "is no catalogue", is_whole=True)


def encode_packages(packages: Iterable[Package]) -> str:
    return _one_file_a_line(_Kept(format=FORMAT, packages=_placeless(packages)))


def decode_packages(text: str, source: str) -> tuple[Package, ...]:
    return _decoded(text, source, "has no packages").packages


def _decoded(text: str, source: str, trouble: str, *, is_whole: bool = False) -> Catalogue:
    try:
        stored = decode(text, _Kept)
        if is_whole and stored.required is None:
            raise ValueError("Object missing required field `required`")
        beside = (stored.prereleases, stored.newer, stored.lowest)
        return Catalogue(
            tuple(map(_read, stored.packages)),
            tuple(map(_read, stored.required or ())),
            *(tuple(map(_read, packages)) for packages in beside),
        )
    except (ValueError, RecursionError) as fault:
        hint = "compat matrix discover MATRIX --write makes it anew"
        raise DeclarationError.of(f"{trouble}: {fault}", path=source, hint=hint) from fault


def catalogue_with_axes(text: str, source: str, matrix: Matrix) -> Catalogue:
    """Raises DeclarationError for a text that is no catalogue or that lacks one of the axes."""
    catalogue = decode_catalogue(text, source)
    known = {package.name for package in catalogue.packages}
    axes = [axis.package for axis in matrix.packages]
    lacking = [package for package in axes if canonicalize_name(package) not in known]
    if lacking:
        hint = f"compat matrix discover {matrix.name} --write asks the index for it"
        raise DeclarationError.of(f"lacks {', '.join(lacking)}", path=source, hint=hint)
    return catalogue


def _placeless(packages: Iterable[P]) -> tuple[P, ...]:
    replace = msgspec.structs.replace

    def bare(release: Release) -> Release:
        fields: Any = {"url": "", "tags": frozenset(), "sha256": None, "has_metadata": None}
        return replace(release, artifacts=tuple(replace(a, **fields) for a in release.artifacts))

    return tuple(
        replace(package, releases=tuple(map(bare, package.releases)), stale_since=None)
        for package in packages
    )


def _one_file_a_line(stored: _Kept) -> str:
    # With a line break before each package, release and file: compact, and a diff shows additions.
    # msgspec writes an empty frozenset even where it is the default.
    text = msgspec.json.encode(stored, enc_hook=encode_hook).decode().replace(',"tags":[]', "")
    for mark, indent in (('{"name":', "    "), ('{"version":', "  ")):
        text = text.replace(mark, f"\n{indent}{mark}")
    return text + "\n"


def _read(package: P) -> P:
    replace = msgspec.structs.replace
    releases = [
        replace(
            release,
            artifacts=tuple(
                replace(artifact, tags=_tags(artifact.filename))
                for artifact in sorted(release.artifacts, key=lambda a: a.filename)
            ),
        )
        for release in sorted(package.releases, key=lambda r: r.version)
    ]
    name = canonicalize_name(package.name)
    return replace(package, name=name, releases=tuple(releases), stale_since=None)


@functools.lru_cache(maxsize=8192)
def _tags(filename: str) -> frozenset[Tag]:
    if not filename.endswith(".whl"):
        return frozenset()
    try:
        return parse_wheel_filename(filename)[3]
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion) as fault:
        raise ValueError(str(fault)) from fault


THREADS = 8  # enough to hide an index's latency, few enough not to look like an attack


def discover(
    matrix: Matrix, source: ReleaseSource, known: tuple[Required, ...] | None = None
) -> Catalogue:
    """Return the package of each package axis, in axis order; the subject's selected releases carry
    their metadata.

    The subject's pinned packages are queried too, unless `known`: they take long and change slowly.
    Raises IndexUnreachable on the first missing answer, because half a catalogue would pass for a
    whole one. Raises DeclarationError when the index has no such package: the matrix has a wrong
    name.
    """
    subject = matrix.subject_axis
    names: list[str] = list(dict.fromkeys(a.normalised_name for a in matrix.packages))
    with ThreadPoolExecutor(THREADS) as pool:
        pages = dict(zip(names, pool.map(lambda name: _page(source, name), names), strict=True))
        packages = {name: package for name, package in pages.items() if package is not None}
        if len(packages) < len(names):
            raise DeclarationError(*_unknown(matrix, packages, source))
        asked = packages[subject.normalised_name]
        read = pool.map(lambda r: _release_with_metadata(r, source), asked.selected(subject.select))
        filled = {release.version: release for release in read}
        releases = tuple(filled.get(release.version, release) for release in asked.releases)
        packages[asked.name] = msgspec.structs.replace(asked, releases=releases)
        pinned = known
        if pinned is None:
            pinned = required(matrix, packages[asked.name], source, pool)
    return Catalogue(
        packages=tuple(packages[name] for name in names),
        required=pinned,
        prereleases=tuple(_awaited(matrix, a, packages, source) for a in matrix.prerelease_axes),
        newer=tuple(
            newer
            for axis in matrix.packages
            if axis is not subject
            and (newer := _newer(axis, packages[axis.normalised_name])).releases
        ),
        lowest=tuple(
            _lowest(matrix, axis, packages[axis.normalised_name], packages[asked.name])
            for axis in (matrix.packages if matrix.lowest else ())
            if axis is not subject
        ),
    )


def _lowest(matrix: Matrix, axis: PackageAxis, package: Package, subject: Package) -> Package:
    # The package with the excluded releases that some release of the subject declares as the
    # lowest: the first of all, and the first with a wheel for each Python.
    known = msgspec.structs.replace(axis.select, specifier=SpecifierSet())
    releases = [r for r in package.selected(known) if r.has_usable_file]
    asked = (
        requirement.specifier
        for release in subject.selected(matrix.subject_axis.select)
        for requirement in filter(None, map(parsed, release.requires))
        if canonicalize_name(requirement.name) == package.name
    )
    lowest: dict[Version, Release] = {}
    for specifier in dict.fromkeys(each for each in asked if lowest_of(each) is not None):
        admitted = [r for r in releases if specifier.contains(r.version, prereleases=True)]
        lowest |= {release.version: release for release in admitted[:1]}
        for patch in matrix.interpreters.patches:
            fits = (
                release
                for release in admitted
                for wheel in usable_wheels(fitting_files(matrix, release, (patch,)))
                if wheel.requires_python is None or patch in wheel.requires_python
            )
            lowest |= {release.version: release for release in itertools.islice(fits, 1)}
    own = {release.version for release in package.selected(axis.select)}
    versions = sorted(version for version in lowest if version not in own)
    patches = matrix.interpreters.patches
    return Package(
        name=package.name,
        releases=tuple(fitting_files(matrix, lowest[version], patches) for version in versions),
    )


def _newer(axis: PackageAxis, package: Package) -> Package:
    selected = [release.version for release in package.selected(axis.select)]
    releases = tuple(
        release
        for release in package.releases
        if selected
        and release.version > max(selected)
        and not release.version.is_prerelease
        and release.has_usable_file
        and not axis.select.keeps(release.version)
        and widened(axis, release.version) is not None
    )
    return Package(name=package.name, releases=releases)


def _awaited(
    matrix: Matrix, axis: PackageAxis, packages: dict[str, Package], source: ReleaseSource
) -> Package:
    # The package of a variant with the newest pre-release that is newer than every final release,
    # within the variant's range; without a release where there is none.
    lane, name = matrix.prereleases, axis.normalised_name
    assert lane is not None, "only a lane has such axes"
    until = None
    if lane.as_of is not None:
        until = datetime.datetime.combine(lane.as_of, datetime.time(), datetime.timezone.utc)

    def is_out(release: Release) -> bool:
        uploaded = release.uploaded
        return until is None or (uploaded is not None and uploaded < until)

    known = packages[name]
    awaited = _page(source.elsewhere(lane.index), name) if lane.index else known
    finals = [r.version for r in known.releases if not r.version.is_prerelease and is_out(r)]
    candidates = [
        release
        for release in (() if awaited is None else awaited.releases)
        if release.version.is_prerelease
        and release.has_usable_file
        and is_out(release)
        and all(release.version > version for version in finals)
    ]
    return Package(name=name, releases=tuple(candidates[-1:]))


def _page(source: ReleaseSource, name: str) -> Package | None:
    with contextlib.suppress(NoPage):
        return source.package(name)
    return None


def _unknown(
    matrix: Matrix, packages: dict[str, Package], source: ReleaseSource
) -> Iterator[Fault]:
    texts = [*matrix.requirements, *matrix.suite.requirements]
    subject = packages.get(matrix.subject_axis.normalised_name)
    for release in () if subject is None else subject.selected(matrix.subject_axis.select)[-1:]:
        texts += _release_with_metadata(release, source).requires
    texts += (r.package for rule in matrix.rules for r in rule.relaxations)
    missing = {a.normalised_name for a in matrix.packages} - packages.keys()
    names = {name_of_line(text) for text in {*texts, matrix.suite.module}}
    known = sorted(names - missing - {""})
    for number, axis in enumerate(matrix.axes):
        if not isinstance(axis, PackageAxis) or axis.normalised_name in packages:
            continue
        near = difflib.get_close_matches(axis.normalised_name, known, n=1)
        yield Fault(
            code="unknown-package",
            path=f"matrices/{matrix.name}/matrix.toml: axes[{number}].package",
            message=f"the package index has no package {axis.package!r}",
            hint=f"did you mean {near[0]!r}?" if near else "check the name, and the index address",
        )


def _release_with_metadata(release: Release, source: ReleaseSource) -> Release:
    """Sets wheels with another package's METADATA aside, with the reason."""
    artifacts = list(release.artifacts)
    for number, artifact in enumerate(release.artifacts):
        if not artifact.is_wheel:
            continue
        try:
            published = source.published(artifact)
        except UnsoundFile as fault:
            artifacts[number] = msgspec.structs.replace(artifact, set_aside=fault.faults[0].message)
            continue
        return msgspec.structs.replace(release, artifacts=tuple(artifacts), published=published)
    return msgspec.structs.replace(release, artifacts=tuple(artifacts))


def catalogue_notes(catalogue: Catalogue) -> Iterator[str]:
    for package in catalogue.packages:
        if package.stale_since is not None:
            page = f"its page of {package.stale_since:%Y-%m-%d %H:%M} UTC"
            yield f"warning: the index did not answer for {package.name}; using {page}"
        for artifact in (each for release in package.releases for each in release.artifacts):
            if artifact.set_aside:
                yield f"warning: a file is set aside: {artifact.set_aside}"


def is_pin(specifier: SpecifierSet) -> bool:
    return any(part.operator in ("==", "===", "~=") for part in specifier)


def required(
    matrix: Matrix, subject: Package, source: ReleaseSource, pool: ThreadPoolExecutor
) -> tuple[Required, ...]:
    axes = {str(axis.normalised_name) for axis in matrix.packages}
    pins, free = _pins(matrix, subject)
    names = sorted((pins.keys() | free) - axes)
    asked = frozenset({*names, *axes})

    def of(name: str) -> Required | None:
        patches, own = matrix.interpreters.patches, pins.get(name, set())
        releases = tuple(
            _with_files(release, fitting_files(matrix, release, patches).artifacts)
            for release in releases_of(source.package, name)
        )
        admitted = tuple(r for r in releases if any(pin.contains(r.version, True) for pin in own))
        candidates = releases if name in free else admitted
        # Requirements on each other rarely change: the oldest and the newest release show whether
        # there are any.
        ends = (_with_requirements(r, asked, source) for r in (*candidates[:1], *candidates[-1:]))
        telling = any(release.requires for release in ends)
        whole = name in free and telling
        if not whole and not own:
            return None
        chosen = releases if whole else admitted
        if telling:
            chosen = tuple(_with_requirements(release, asked, source) for release in chosen)
        texts = tuple(sorted(map(str, own)))
        return Required(name=name, releases=chosen, pins=texts, whole=whole)

    return tuple(entry for entry in pool.map(of, names) if entry is not None)


def _pins(matrix: Matrix, subject: Package) -> tuple[dict[str, set[SpecifierSet]], set[str]]:
    # Pins of the subject's releases by package, and the packages that rules set free.
    pins: dict[str, set[SpecifierSet]] = {}
    names: set[str] = set()
    for release in subject.selected(matrix.subject_axis.select):
        for requirement in _parsed(release.requires):
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
    return pins, free


def _with_requirements(release: Release, asked: frozenset[str], source: ReleaseSource) -> Release:
    wheel = next((artifact for artifact in release.artifacts if artifact.is_wheel), None)
    if wheel is None:
        return release
    try:
        published = source.published(wheel)
    except IndexUnreachable as trouble:
        from compat.index.metadata import DAMAGED

        # An unreadable wheel leaves this release unknown; an index that is down is an error.
        if isinstance(trouble.__cause__, DAMAGED):
            return release
        raise
    if published is None:
        return release
    texts = published.requires_dist
    relevant = tuple(t for t in texts for r in _parsed((t,)) if canonicalize_name(r.name) in asked)
    asks = Published(requires_python=published.requires_python, requires_dist=relevant)
    return msgspec.structs.replace(release, published=asks)


def fitting_files(matrix: Matrix, release: Release, patches: Iterable[Version]) -> Release:
    architecture = matrix.platform.partition("-")[0]
    own = "pp" if matrix.platform.endswith("-pypy") else "cp"
    series = {f"{own}{patch.major}{patch.minor}" for patch in patches}
    platforms = {"any", f"manylinux*{architecture}", f"linux*{architecture}"}
    files = (a for a in release.artifacts if not a.is_wheel or _is_for(a, series, platforms))
    return msgspec.structs.replace(release, artifacts=tuple(files))


def _is_for(wheel: Artifact, series: set[str], platforms: set[str]) -> bool:
    return any(
        (tag.interpreter in series or tag.interpreter.startswith("py3") or tag.abi == "abi3")
        and any(fnmatchcase(tag.platform, pattern) for pattern in platforms)
        for tag in wheel.tags
    )


def lowest_of(clauses: Iterable[Specifier], exact: bool = False) -> Version | None:
    """Return the lowest version of a range (`>=`, `>`, `~=`, `==1.*`), or of an `exact` one."""
    bounds = [
        Version(part.version.removesuffix(".*"))
        for part in clauses
        if part.operator in (">=", ">", "~=")
        or (part.operator == "==" and (exact or part.version.endswith(".*")))
    ]
    return max(bounds, default=None)


def _parsed(texts: Iterable[str]) -> Iterator[Requirement]:
    for requirement in filter(None, map(parsed, texts)):
        if requirement.url is None and "extra" not in str(requirement.marker or ""):
            yield requirement


def wheels_elsewhere(
    matrix: Matrix, required: Iterable[Required], source: ReleaseSource
) -> tuple[Package, ...]:
    platforms = {tag for name in matrix.platforms for tag in PLATFORMS[name].tags}
    series = {f"cp{patch.major}{patch.minor}" for patch in matrix.interpreters.patches}

    def of(entry: Required) -> Package:
        known = {r.version: {a.filename for a in r.artifacts} for r in entry.releases}
        releases = releases_of(source.package, entry.name)
        fitting = []
        for release in (r for r in releases if r.version in known):
            own = known[release.version]
            more = [
                a
                for a in release.artifacts
                if a.filename not in own and _is_for(a, series, platforms)
            ]
            if more:
                fitting.append(_with_files(release, more))
        return Package(name=entry.name, releases=tuple(fitting))

    with ThreadPoolExecutor(THREADS) as pool:
        return tuple(package for package in pool.map(of, required) if package.releases)


def _with_files(release: Release, artifacts: Iterable[Artifact]) -> Release:
    files = tuple(msgspec.structs.replace(artifact, uploaded=None) for artifact in artifacts)
    return msgspec.structs.replace(release, artifacts=files, published=None)
