"""Reads what releases require from their wheels: what `compat find reason` stores."""

import platform
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version as installed_version

from packaging.version import Version

from compat.errors import CompatError, NothingToDo
from compat.files import write
from compat.index.metadata import SourceReader, wheel_to_read
from compat.search.needs import NEEDS, Needs, ReleaseNeeds, encode_needs, release_needs
from compat.search.why import subject_coordinates, subject_release
from compat.workspace import Workspace


class WheelNeeds:
    """What releases of a matrix's subject require of Python, read from their wheels."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._sources = SourceReader(workspace.index)

    def read(
        self, releases: Iterable[Version], tell: Callable[[str], None]
    ) -> tuple[ReleaseNeeds, ...]:
        """Return the releases' requirements; `tell` gets a line for each unreadable wheel."""
        needs = []
        for version in releases:
            try:
                modules, wheel = self._modules(version)
            except CompatError as trouble:
                tell(f"{version} was not read: {trouble}")
                continue
            needs.append(release_needs(version, wheel, modules))
            tell(f"{version}: {needs[-1].modules} modules")
        return tuple(needs)

    def _modules(self, version: Version) -> tuple[Mapping[str, bytes], str]:
        # As the index lists it: the cached catalogue has no addresses of files.
        package = self._workspace.source.package(self._workspace.matrix.subject_axis.package)
        release = next((r for r in package.releases if r.version == version), None)
        wheel = None if release is None else wheel_to_read(release)
        if wheel is None:
            raise NothingToDo.of(f"the index has no wheel of {version}")
        return self._sources.sources(wheel), wheel.filename


def reader_name() -> str:
    """Return the name of the source reader; its Python bounds the syntax that it can read."""
    series = ".".join(platform.python_version_tuple()[:2])
    return f"vermin {installed_version('vermin')} on Python {series}"


def releases_to_read(workspace: Workspace, needs: Needs, asked: Version | None) -> list[Version]:
    snapshot = workspace.known
    if asked is not None:
        release = subject_release(snapshot, asked)
        return [] if release is None else [release.version]
    every = (subject_release(snapshot, version) for version in subject_coordinates(snapshot))
    versions = [release.version for release in every if release is not None]
    return [version for version in versions if needs.of(version) is None]


def keep_needs(workspace: Workspace, needs: Needs) -> None:
    write(workspace.folder / NEEDS, encode_needs(needs))
