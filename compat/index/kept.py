"""The `index` room's memory: a Catalogue as a text that is kept beside the matrix, and back.

What a matrix's locks, records and policy are judged by must not move with the index of the day: a
kept catalogue makes publishing and proposing repeatable, and they need no network. It names no
index: where a file lies is not kept.
"""

import datetime
import functools
from collections.abc import Iterable
from typing import Annotated

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import Tag
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from compat.declare.matrix import Matrix
from compat.errors import DeclarationError
from compat.index.release import Artifact, Catalogue, Package, Published, Release, Required
from compat.value import StrictValue, Value

FORMAT = 2  # 2 keeps what the subject's releases require


class _File(Value, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    name: str
    uploaded: datetime.datetime | None = None
    python: str = ""
    yanked: bool = False
    yank_reason: str = ""
    set_aside: str = ""


class _Asks(Value, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    python: str = ""
    requires: tuple[str, ...] = ()


class _Release(Value, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    version: str
    files: tuple[_File, ...] = ()
    asks: _Asks | None = None


class _Package(StrictValue, frozen=True, kw_only=True):
    name: str
    releases: tuple[_Release, ...]


class _Required(Value, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    name: str
    releases: tuple[_Release, ...]
    pins: tuple[str, ...] = ()
    whole: bool = False


class _Kept(StrictValue, frozen=True, kw_only=True):
    format: Annotated[int, msgspec.Meta(ge=FORMAT, le=FORMAT)]
    packages: tuple[_Package, ...]
    required: tuple[_Required, ...]
    prereleases: tuple[_Package, ...] = ()
    newer: tuple[_Package, ...] = ()
    lowest: tuple[_Package, ...] = ()


class _KeptPackages(StrictValue, frozen=True, kw_only=True):
    format: Annotated[int, msgspec.Meta(ge=FORMAT, le=FORMAT)]
    packages: tuple[_Package, ...]


def encode_catalogue(catalogue: Catalogue, matrix: Matrix) -> str:
    """Return the text of what a matrix needs of a catalogue: the selected releases, and the
    required ones.
    """
    packages = []
    for axis in matrix.packages:
        package = catalogue.of(axis)
        releases = tuple(map(_kept_release, package.selected(axis.select)))
        packages.append(_Package(name=package.name, releases=releases))
    required = tuple(
        _Required(
            name=required.package.name,
            releases=tuple(map(_kept_release, required.package.releases)),
            pins=required.pins,
            whole=required.whole,
        )
        for required in catalogue.required
    )
    awaited, newer, lowest = (
        tuple(
            _Package(name=package.name, releases=tuple(map(_kept_release, package.releases)))
            for package in beside
        )
        for beside in (catalogue.prereleases, catalogue.newer, catalogue.lowest)
    )
    stored = _Kept(
        format=FORMAT,
        packages=tuple(packages),
        required=required,
        prereleases=awaited,
        newer=newer,
        lowest=lowest,
    )
    body = msgspec.json.decode(msgspec.json.encode(stored))
    for key in ("prereleases", "newer", "lowest"):
        if not body[key]:
            del body[key]
    return _one_file_a_line(body)


def decode_catalogue(text: str, source: str) -> Catalogue:
    """Return the catalogue of the text; raise DeclarationError, naming `source`, when it is
    none.
    """
    try:
        stored = msgspec.json.decode(text, type=_Kept)
        required = tuple(
            Required(package=_package(k), pins=k.pins, whole=k.whole) for k in stored.required
        )
        return Catalogue(
            packages=tuple(map(_package, stored.packages)),
            required=required,
            prereleases=tuple(map(_package, stored.prereleases)),
            newer=tuple(map(_package, stored.newer)),
            lowest=tuple(map(_package, stored.lowest)),
        )
    except (ValueError, RecursionError) as fault:
        hint = "compat matrix discover MATRIX --write makes it anew"
        raise DeclarationError.of(f"is no catalogue: {fault}", path=source, hint=hint) from fault


def encode_packages(packages: Iterable[Package]) -> str:
    stored = tuple(
        _Package(name=package.name, releases=tuple(map(_kept_release, package.releases)))
        for package in packages
    )
    body = msgspec.json.decode(msgspec.json.encode(_KeptPackages(format=FORMAT, packages=stored)))
    return _one_file_a_line(body)


def decode_packages(text: str, source: str) -> tuple[Package, ...]:
    """Return the packages of the text; raise DeclarationError, naming `source`, when it has
    none.
    """
    try:
        return tuple(map(_package, msgspec.json.decode(text, type=_KeptPackages).packages))
    except (ValueError, RecursionError) as fault:
        hint = "compat matrix discover MATRIX --write makes it anew"
        raise DeclarationError.of(f"has no packages: {fault}", path=source, hint=hint) from fault


def catalogue_with_axes(text: str, source: str, matrix: Matrix) -> Catalogue:
    """Return the catalogue of the text, which has every axis of the matrix.

    Raises DeclarationError, as `decode_catalogue` does, also when it was written before the matrix
    got one of its axes.
    """
    catalogue = decode_catalogue(text, source)
    known = {package.name for package in catalogue.packages}
    axes = [axis.package for axis in matrix.packages]
    lacking = [package for package in axes if canonicalize_name(package) not in known]
    if lacking:
        hint = f"compat matrix discover {matrix.name} --write asks the index for it"
        raise DeclarationError.of(f"lacks {', '.join(lacking)}", path=source, hint=hint)
    return catalogue


def _kept_release(release: Release) -> _Release:
    asks = release.published
    return _Release(
        version=str(release.version),
        files=tuple(
            _File(
                name=artifact.filename,
                uploaded=artifact.uploaded,
                python="" if artifact.requires_python is None else str(artifact.requires_python),
                yanked=artifact.yanked,
                yank_reason=artifact.yank_reason,
                set_aside=artifact.set_aside,
            )
            for artifact in release.artifacts
        ),
        asks=(
            None
            if asks is None
            else _Asks(
                python="" if asks.requires_python is None else str(asks.requires_python),
                requires=asks.requires_dist,
            )
        ),
    )


def _one_file_a_line(body: dict[str, object]) -> str:
    # The JSON with a line break before each package, release and file: small, and a diff shows what
    # came.
    text = msgspec.json.encode(body).decode()
    for mark, indent in (('{"name":', "    "), ('{"version":', "  ")):
        text = text.replace(mark, f"\n{indent}{mark}")
    return text + "\n"


def _package(package: _Package | _Required) -> Package:
    return Package(
        name=canonicalize_name(package.name),
        releases=tuple(sorted(map(_release, package.releases), key=_order)),
    )


def _order(release: Release) -> Version:
    return release.version


def _release(release: _Release) -> Release:
    try:
        version = Version(release.version)
    except InvalidVersion as fault:
        raise ValueError(str(fault)) from fault
    asks = release.asks
    return Release(
        version=version,
        artifacts=tuple(
            sorted(map(_artifact, release.files), key=lambda artifact: artifact.filename)
        ),
        published=(
            None
            if asks is None
            else Published(requires_python=_specifier(asks.python), requires_dist=asks.requires)
        ),
    )


def _artifact(file: _File) -> Artifact:
    return Artifact(
        filename=file.name,
        url="",
        tags=_tags(file.name),
        requires_python=_specifier(file.python),
        uploaded=file.uploaded,
        yanked=file.yanked,
        yank_reason=file.yank_reason,
        set_aside=file.set_aside,
    )


def _tags(filename: str) -> frozenset[Tag]:
    if not filename.endswith(".whl"):
        return frozenset()
    # The wheels of a release begin alike, and those for a platform end alike: each half is read
    # once.
    first, *last = filename.rsplit("-", 3)
    try:
        _tags_of_wheel(f"{first}-py3-none-any.whl")
        return _tags_of_wheel("-".join(("any", "1", *last)))
    except ValueError:
        # What is wrong is said of the whole name.
        return _tags_of_wheel(filename)


@functools.lru_cache(maxsize=8192)
def _tags_of_wheel(filename: str) -> frozenset[Tag]:
    try:
        return parse_wheel_filename(filename)[3]
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion) as fault:
        raise ValueError(str(fault)) from fault


@functools.lru_cache(maxsize=1024)
def _specifier(text: str) -> SpecifierSet | None:
    try:
        return SpecifierSet(text) if text else None
    except InvalidSpecifier as fault:
        raise ValueError(str(fault)) from fault
