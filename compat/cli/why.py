"""`compat find reason`: what keeps the lowest version of an axis where it is, from what is kept
beside the matrix.
"""

from packaging.version import Version

from compat.cli.arguments import argument, given, option
from compat.cli.options import (
    AT,
    ISOLATION_LEVEL,
    MATRIX_NAME,
    kept_version,
    needs_extra,
    workspace_of,
)
from compat.cli.output import envelope, prose, say, table
from compat.declare.faults import choice
from compat.declare.matrix import InterpreterAxis, PackageAxis
from compat.errors import UsageError
from compat.results.snapshot import Snapshot
from compat.search.needs import kept_needs
from compat.search.why import Keeper, PythonFloor, package_floor, python_floor, subject_coordinates
from compat.site.why_words import (
    BLIND_SPOTS,
    below_sentence,
    below_words,
    changed_sentence,
    keeper_sentence,
    package_sentence,
    place_lines,
    short_answer,
    tried_words,
    unreached_sentence,
)
from compat.site.wording import count
from compat.workspace import Workspace

_OWN: tuple[Keeper, ...] = ("code", "type", "annotation", "guard")


def why_command(
    matrix: str = MATRIX_NAME,
    axis: str = argument("The axis, for example python.", metavar="AXIS"),
    at: list[str] | None = AT,
    write: bool = option("Read the wheels that were not read yet, and keep what they need."),
    try_it: bool = option(
        "Run a cell below with annotations postponed in a changed copy.", "--try"
    ),
    isolation: str = ISOLATION_LEVEL,
) -> None:
    """Explain what pins an axis's minimum version.

    For python: whether it is declared only, or needed by annotations, by types that run or by code,
    at which lines, and what came of the cells below. For a package: the requirement, and what fails
    below it. What vermin reads in the wheels is kept in needs.json; it detects and does not prove.

    With --try a cell below is run in which the release's annotations are postponed. That is kept as
    evidence about a changed copy, never as a result of the release.

    Examples: compat find reason tff python --at tff=0.36.0
    """
    workspace = workspace_of(matrix)
    versions = dict(map(kept_version, at or ()))
    chosen = _axis(workspace, axis, versions)
    known = workspace.known
    release = _release(known, versions)
    if isinstance(chosen, PackageAxis):
        if write or try_it:
            raise UsageError.of("--write and --try are for the Python axis", path=f"--at {axis}")
        _tell_package(known, chosen, release)
        return
    needs = kept_needs(workspace.folder)
    if write or try_it:
        needs_extra("sources", "vermin")
    if write:
        from compat.cli.why_needs import needs_read

        needs = needs_read(workspace, needs, release)
    if try_it:
        from compat.cli.why_needs import needs_tried

        needs = needs_tried(workspace, needs, versions, isolation)
    coordinates = subject_coordinates(known) if release is None else (release,)
    floors = [python_floor(known, needs, version) for version in coordinates]
    if given.as_json:
        from compat.site.api.why_documents import python_document

        documents = [python_document(floor) for floor in floors]
        envelope({"read_by": needs.read_by, "releases": documents, "limits": BLIND_SPOTS})
        return
    if release is None:
        names = ("release", "declared", "code", "types", "annotations (places/files)", "guards")
        more = ("kept by", "works on", "below", "postponed, below")
        table((*names, *more), map(_row, floors))
    else:
        _print_python(floors[0], known.matrix.subject_axis.package)
    unread = sum(floor.needs is None for floor in floors)
    if unread:
        prose(
            f"{count(unread, 'release')} not read yet; `compat find reason"
            f" {known.matrix.name} python"
            " --write` reads the wheels"
        )
    elif needs.read_by:
        prose(f"Detected by {needs.read_by}. {BLIND_SPOTS}")


def _axis(
    workspace: Workspace, name: str, versions: dict[str, Version]
) -> InterpreterAxis | PackageAxis:
    axes = {axis.name: axis for axis in workspace.matrix.axes}
    for named in (name, *versions):
        if named not in axes:
            message = f"matrix {workspace.name!r} has no axis {named!r}"
            raise UsageError.of(message, hint=choice(named, list(axes)))
    chosen = axes[name]
    if chosen == workspace.matrix.subject_axis:
        raise UsageError.of(
            f"{name!r} is the release that is asked about, so ask for another axis",
            hint=f"compat find reason {workspace.name} python --at {name}=VERSION",
        )
    return chosen


def _release(snapshot: Snapshot, versions: dict[str, Version]) -> Version | None:
    axis = snapshot.matrix.subject_axis
    asked = versions.get(axis.name)
    if asked is None:
        return None
    coordinates = subject_coordinates(snapshot)
    if asked not in coordinates:
        ends = f"it has {coordinates[0]} to {coordinates[-1]}" if coordinates else ""
        raise UsageError.of(f"axis {axis.name!r} has no version {asked}", hint=ends)
    return asked


def _print_python(floor: PythonFloor, subject: str) -> None:
    declared = f"says {floor.requires_python}" if floor.requires_python else "is not declared"
    say(f"{subject} {floor.release}: requires-python {declared}")
    say(keeper_sentence(floor))
    say(*place_lines(floor) if floor.keepers else (), indent=2)
    if floor.unreached:
        say(unreached_sentence(floor))
    say(*(below_sentence(cell, "Python") for cell in floor.below))
    if not floor.below:
        say(f"The release itself was not run on a Python older than {floor.series}.")
    say(*(changed_sentence(floor, run) for run in floor.changed))


def _row(floor: PythonFloor) -> tuple[str, ...]:
    return (
        floor.release,
        floor.bounds.get("declared", "none"),
        *(_need(floor, kind) for kind in _OWN),
        short_answer(floor),
        floor.works_on,
        below_words(floor),
        tried_words(floor),
    )


def _need(floor: PythonFloor, kind: Keeper) -> str:
    if floor.needs is None:
        return "?"
    series = floor.bounds.get(kind, "-")
    groups = [g for g in floor.needs.needs if g.kind == kind and g.series == series]
    return f"{series} ({groups[0].places}/{groups[0].files})" if groups else series


def _tell_package(snapshot: Snapshot, axis: PackageAxis, release: Version | None) -> None:
    coordinates = subject_coordinates(snapshot) if release is None else (release,)
    floors = [package_floor(snapshot, axis, version) for version in coordinates]
    if given.as_json:
        from compat.site.api.why_documents import package_document

        envelope({"releases": [package_document(floor) for floor in floors]})
        return
    for floor in floors:
        say(package_sentence(floor))
        if release is not None:
            say(*(below_sentence(cell, axis.package) for cell in floor.below), indent=2)
            if not floor.below:
                say(
                    f"  No cell below {axis.package} {floor.lower} has run."
                    if floor.lower
                    else "  No lower bound, so no cell lies below it."
                )
