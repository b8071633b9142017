"""`compat find reason`: what pins an axis's minimum version, from the stored results."""

from compat.cli.arguments import argument, given, option
from compat.cli.options import (
    AT,
    MATRIX_NAME,
    kept_version,
    needs_extra,
    workspace_of,
)
from compat.cli.output import envelope, note, prose, say, table
from compat.declare.matrix import PackageAxis
from compat.declare.parsing import choice
from compat.errors import UsageError
from compat.search import why
from compat.search.why import stored_needs
from compat.site import why_words
from compat.site.wording import count

_OWN: tuple[why.Keeper, ...] = ("code", "type", "annotation", "guard")


def why_command(
    matrix: str = MATRIX_NAME,
    axis: str = argument("The axis, for example python.", metavar="AXIS"),
    at: list[str] | None = AT,
    write: bool = option("Analyse new wheels and store the results."),
) -> None:
    """Explain what pins an axis's minimum version.

    For python: declared only, or needed by annotations, types that run or code, with lines and
    results below. For a package: the requirement, and what fails below. vermin detects, it does not
    prove; needs.json stores its results.

    Examples: compat find reason tff python --at tff=0.36.0
    """
    workspace = workspace_of(matrix)
    versions, known = dict(map(kept_version, at or ())), workspace.known
    axes, subject = {each.name: each for each in workspace.matrix.axes}, known.matrix.subject_axis
    for named in (axis, *versions):
        if named not in axes:
            message = f"matrix {workspace.name!r} has no axis {named!r}"
            raise UsageError.of(message, hint=choice(named, list(axes)))
    chosen, release = axes[axis], versions.get(subject.name)
    if chosen == subject:
        raise UsageError.of(
            f"{axis!r} is the library under test; name another axis",
            hint=f"compat find reason {workspace.name} python --at {axis}=VERSION",
        )
    if write and not isinstance(chosen, PackageAxis):
        needs_extra("sources", "vermin")
    if workspace.stored_catalogue is None:
        hint = f"compat matrix discover {workspace.name} --write stores one"
        raise UsageError.of(f"matrix {workspace.name!r} has no stored catalogue", hint=hint)
    coordinates = why.subject_coordinates(known)
    if release is not None and release not in coordinates:
        ends = f"it has {coordinates[0]} to {coordinates[-1]}" if coordinates else ""
        raise UsageError.of(f"axis {subject.name!r} has no version {release}", hint=ends)
    coordinates = coordinates if release is None else (release,)
    if isinstance(chosen, PackageAxis):
        if write:
            raise UsageError.of("--write is for the Python axis", path=f"--at {axis}")
        package = chosen.package
        lowest = [why.package_floor(known, chosen, version) for version in coordinates]
        if given.as_json:
            from compat.site.documents import package_document

            envelope({"releases": [package_document(bound) for bound in lowest]})
        for bound in lowest:
            say(why_words.package_sentence(bound))
            if release is not None:
                none = f"No cell below {package} {bound.lower} has run."
                none = none if bound.lower else "No lower bound, so no cell lies below it."
                say(
                    *[why_words.below_sentence(cell, package) for cell in bound.below] or [none],
                    indent=2,
                )
        return
    needs = stored_needs(workspace.folder)
    if write:
        from compat.fleet.laboratory import with_wheels

        needs, number = with_wheels(workspace, needs, release, note)
        note(f"{count(number, 'release')} read and stored")
    floors = [why.python_floor(known, needs, version) for version in coordinates]
    if given.as_json:
        from compat.site.documents import python_document

        documents = [python_document(floor) for floor in floors]
        envelope({"read_by": needs.read_by, "releases": documents, "limits": why_words.BLIND_SPOTS})
    elif release is None:
        names = ("release", "declared", "code", "types", "annotations (places/files)", "guards")
        more = ("pinned by", "works on", "below")
        rows = []
        for floor in floors:
            cells = [floor.release, floor.bounds.get("declared", "none")]
            for kind in _OWN:
                series = floor.bounds.get(kind, "-")
                of = [g for g in floor.needs or () if g.kind == kind and g.series == series]
                shown = f"{series} ({of[0].places}/{of[0].files})" if of else series
                cells.append("?" if floor.needs is None else shown)
            cells += [why_words.short_answer(floor), floor.works_on, why_words.below_words(floor)]
            rows.append(cells)
        table((*names, *more), rows)
    else:
        (floor,) = floors
        asked = floor.requires_python
        declared = f"is {asked}" if asked else "is not declared"
        say(f"{subject.package} {floor.release}: requires-python {declared}")
        say(why_words.keeper_sentence(floor))
        say(*why_words.combination_lines(floor) if floor.keepers else (), indent=2)
        if floor.unreached:
            say(why_words.unreached_sentence(floor))
        say(*(why_words.below_sentence(cell, "Python") for cell in floor.below))
        if not floor.below:
            say(f"The release itself was not run on a Python older than {floor.series}.")
    unread = sum(floor.needs is None for floor in floors)
    if unread:
        how = f"`compat find reason {known.matrix.name} python --write` reads the wheels"
        prose(f"{count(unread, 'release')} not read yet; {how}")
    elif needs.read_by:
        prose(f"Detected by {needs.read_by}. {why_words.BLIND_SPOTS}")
