"""Worlds: tiny indexes with a story, as TOML; read into a matrix and a source of releases."""

import datetime
import hashlib
from pathlib import Path
from typing import Any

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from compat.declare.load import decode_matrix
from compat.declare.matrix import Matrix
from compat.index.discover import discover
from compat.index.release import Artifact, Catalogue, Package, Published, Release
from support.memory_source import MemorySource

WORLDS = Path(__file__).parent.parent / "worlds"
# Two Pythons, the majors of a framework, and every release of what stands on it.
FRAME_MATRIX = """
name = "demo"
title = "Demo"
subject = "demo"
platform = "x86_64-manylinux_2_28"
margin_days = 10
suite = { path = "suite" }
axes = [
  { kind = "interpreter", name = "python", short = "py", releases = ["3.8.18", "3.9.18"] },
  { kind = "package", name = "frame", short = "fr", package = "frame", select = {keep = "major"} },
  { kind = "package", name = "demo", short = "demo", package = "demo" },
]
"""
BEGINNING = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.timezone.utc)


def world(name: str) -> dict[str, Any]:
    """Return the document of a world."""
    return msgspec.toml.decode((WORLDS / f"{name}.toml").read_bytes(), type=dict[str, Any])


def matrix_of(document: dict[str, Any]) -> Matrix:
    """Return the world's matrix."""
    return decode_matrix(document["matrix"].encode(), "world")


def source_of(document: dict[str, Any]) -> MemorySource:
    """Return the world's index.

    A release comes out thirty days after the one before it, unless its time is unknown.
    """
    packages: dict[str, Package] = {}
    published: dict[str, Published] = {}
    for listed in document["packages"]:
        releases = []
        for number, release in enumerate(listed["releases"]):
            when = (
                None
                if release.get("uploaded")
                else BEGINNING + datetime.timedelta(days=30 * number)
            )
            artifacts = tuple(_artifact(name, release, when) for name in sorted(release["files"]))
            asked = Published(
                requires_python=artifacts[0].requires_python,
                requires_dist=tuple(release.get("requires", ())),
            )
            published |= {artifact.filename: asked for artifact in artifacts if artifact.is_wheel}
            releases.append(Release(version=Version(release["version"]), artifacts=artifacts))
        packages[listed["name"]] = Package(name=listed["name"], releases=tuple(releases))
    return MemorySource(packages, published)


def catalogue_of(document: dict[str, Any]) -> Catalogue:
    """Return what the world's matrix discovers."""
    return discover(matrix_of(document), source_of(document))


def _artifact(filename: str, release: dict[str, Any], when: datetime.datetime | None) -> Artifact:
    return Artifact(
        filename=filename,
        url=f"/files/{filename}",
        tags=parse_wheel_filename(filename)[3] if filename.endswith(".whl") else frozenset(),
        requires_python=SpecifierSet(release["requires_python"])
        if "requires_python" in release
        else None,
        uploaded=when,
        sha256=hashlib.sha256(filename.encode()).hexdigest(),
        yanked=filename in release.get("yanked", ()),
        yank_reason=release.get("yank_reason", ""),
    )
