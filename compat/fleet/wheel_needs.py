"""Reads what releases require from their wheels: what `compat find reason` stores."""

import platform
from collections.abc import Callable
from importlib.metadata import version as installed_version

from packaging.version import Version

from compat.errors import CompatError, NothingToDo
from compat.files import write
from compat.index.metadata import MetadataReader, ResponseLimits, wheel_to_read
from compat.search.needs import NEEDS, Needs, ReleaseNeeds, encode_needs, kept_needs, release_needs
from compat.search.why import subject_coordinates, subject_release
from compat.workspace import Workspace


def with_wheels(
    workspace: Workspace, needs: Needs, asked: Version | None, tell: Callable[[str], None]
) -> tuple[Needs, int]:
    """Return what is stored then, and how many wheels were read."""
    sources = MetadataReader(workspace.index, ResponseLimits())
    read = list[ReleaseNeeds]()
    subject, snapshot = workspace.matrix.subject_axis.package, workspace.known
    wanted = subject_coordinates(snapshot) if asked is None else (asked,)
    known = filter(None, (subject_release(snapshot, version) for version in wanted))
    for version in [r.version for r in known if asked or needs.of(r.version) is None]:
        try:
            # As the index lists it: the cached catalogue has no addresses of files.
            releases = workspace.source.package(subject).releases
            release = next((r for r in releases if r.version == version), None)
            wheel = None if release is None else wheel_to_read(release)
            if wheel is None:
                raise NothingToDo.of(f"the index has no wheel of {version}")
            modules = sources.sources(wheel)
        except CompatError as trouble:
            tell(f"{version} was not read: {trouble}")
            continue
        read.append(release_needs(version, wheel.filename, modules))
        tell(f"{version}: {read[-1].modules} modules")
    if read:
        # The Python of the reader bounds the syntax that it can read.
        series = ".".join(platform.python_version_tuple()[:2])
        name = f"vermin {installed_version('vermin')} on Python {series}"
        needs = kept_needs(workspace.folder).with_releases(read, name)
        write(workspace.folder / NEEDS, encode_needs(needs))
    return needs, len(read)
