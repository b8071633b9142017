"""What `compat find reason` does with --write and --try: it reads wheels and runs a changed copy.
Questions that are answered from what is kept do not import it.
"""

from packaging.version import Version

from compat import pipeline
from compat.cli.arguments import Exit
from compat.cli.output import note
from compat.cli.this_machine import MachineSearch
from compat.errors import NothingToDo, UsageError
from compat.fleet.wheel_needs import (
    WheelNeeds,
    keep_needs,
    reader_name,
    releases_to_read,
    try_postponed,
)
from compat.results.record import Record
from compat.search.needs import Needs, kept_needs
from compat.search.why import python_floor
from compat.site.wording import count
from compat.workspace import Workspace


def needs_read(workspace: Workspace, needs: Needs, release: Version | None) -> Needs:
    versions = releases_to_read(workspace, needs, release)
    read = WheelNeeds(workspace).read(versions, note)
    if read:
        needs = kept_needs(workspace.folder).with_releases(read, reader_name())
        keep_needs(workspace, needs)
    note(f"{count(len(read), 'release')} read and kept")
    return needs


def needs_tried(
    workspace: Workspace, needs: Needs, versions: dict[str, Version], isolation: str
) -> Needs:
    subject = workspace.matrix.subject
    if subject not in versions:
        raise UsageError.of("--try needs one release", hint=f"--at {subject}=VERSION")
    floor = python_floor(workspace.known, needs, versions[subject])
    python = workspace.matrix.interpreters.name
    cells = [
        entry.cell
        for entry in workspace.known.entries
        if entry.cell.on(python).version < Version(floor.series)
        and all(entry.cell.on(axis).version == version for axis, version in versions.items())
    ]
    locked = [cell for cell in cells if cell.id in workspace.lock_digests]
    if not locked:
        raise NothingToDo.of(
            f"no locked cell of {subject} {versions[subject]} lies below Python {floor.series}",
            hint="compat matrix lock MATRIX CELL makes one, relaxed, below requires-python",
        )
    cell = max(locked, key=lambda cell: cell.versions)
    search = MachineSearch(workspace, isolation)

    def run_cell(files: tuple[str, ...]) -> Record | None:
        with search.progress([cell.id]) as progress:
            result = pipeline.run_postponed(
                workspace, cell.id, files, search.machine, search.cancel, progress
            )
        is_answer = cell.id not in result.unanswered and not result.suite_faults
        return next(iter(result.records), None) if is_answer else None

    run = try_postponed(workspace, cell, run_cell, note)
    search.exit_if_interrupted()
    if run is None:
        note(f"{cell.id} could not be run, so nothing was learnt")
        raise Exit(3)
    # Minutes have passed, in which another command may have kept something.
    needs = kept_needs(workspace.folder).with_changed(run)
    keep_needs(workspace, needs)
    return needs
