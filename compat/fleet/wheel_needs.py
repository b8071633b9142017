"""Reads what releases require from their wheels, and runs a cell with postponed annotations: what
`compat find reason` stores beside the matrix.
"""

import platform
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version as installed_version

from packaging.version import Version

from compat.errors import CompatError, NothingToDo, UsageError
from compat.files import write
from compat.index.metadata import SourceReader, wheel_to_read
from compat.plan.cell import Cell
from compat.results.record import Record
from compat.run.outcome import Failed
from compat.search.needs import (
    NEEDS,
    ChangedRun,
    Needs,
    NeedsReader,
    ReleaseNeeds,
    changed_run,
    encode_needs,
    is_annotated,
)
from compat.search.why import subject_coordinates, subject_release
from compat.workspace import Workspace

_OLDEST_WITH_IMPORT = Version("3.7")  # PEP 563


class WheelNeeds:
    """What releases of a matrix's subject require of Python, read from their wheels."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._reader = NeedsReader()
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
            needs.append(self._reader.release_needs(version, wheel, modules))
            tell(f"{version}: {needs[-1].modules} modules")
        return tuple(needs)

    def files_to_postpone(self, release: Version, python: Version) -> tuple[str, ...]:
        return self._reader.files_to_postpone(self._modules(release)[0], python)

    def annotated_files(self, release: Version) -> tuple[str, ...]:
        modules, _ = self._modules(release)
        return tuple(sorted(path for path, source in modules.items() if is_annotated(source)))

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


def try_postponed(
    workspace: Workspace,
    cell: Cell,
    run_cell: Callable[[tuple[str, ...]], Record | None],
    tell: Callable[[str], None],
) -> ChangedRun | None:
    """Return the run of a cell with annotations postponed, None when it could not run.

    First where vermin found a need, then everywhere, as vermin does not find everything.
    """
    python = cell.on(workspace.matrix.interpreters.name).version
    if python < _OLDEST_WITH_IMPORT:
        raise UsageError.of(f"Python {python} cannot postpone annotations; 3.7 is the first")
    version = cell.on(workspace.matrix.subject).version
    release = subject_release(workspace.known, version)
    if release is None:
        raise NothingToDo.of(f"no release {version} that is not withdrawn")
    wheels = WheelNeeds(workspace)
    files = wheels.files_to_postpone(release.version, python)
    if files:
        tell(f"{cell.id}, with annotations postponed in {len(files)} files")
        record = run_cell(files)
        if record is None:
            return None
        if not isinstance(record.outcome, Failed) or record.outcome.stage != "import":
            return changed_run(record, release.version, "needed", len(files))
        tell(f"{record.outcome}; now with annotations postponed in all files")
    else:
        tell(f"no annotation was found to need more than Python {python}; postponing all")
    files = wheels.annotated_files(release.version)
    record = run_cell(files)
    return None if record is None else changed_run(record, release.version, "all", len(files))
