"""Stores a Catalogue as a text beside the matrix, and reads it back.

A matrix's locks, records and policy must not change with the day's index. A stored catalogue makes
publishing and proposing repeatable, without a network. It has no index addresses of files.
"""

import functools
from collections.abc import Iterable
from typing import Annotated, Any, TypeVar

import msgspec
from packaging.tags import Tag
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion

from compat.declare.matrix import Matrix
from compat.errors import DeclarationError
from compat.index.release import Catalogue, Package, Release, Required
from compat.value import StrictValue, decode, encode_hook

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
