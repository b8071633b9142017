"""The command that asks the package index what exists: discover."""

from typing import Annotated

from compat import files, pipeline
from compat.cli import options
from compat.cli.arguments import Option, given
from compat.cli.output import envelope, note, say
from compat.pipeline import Discovered
from compat.plan.product import axis_coordinates
from compat.site.wording import count
from compat.workspace import Workspace


def discover_command(
    matrix: options.MatrixName,
    write: Annotated[bool, Option("--write", help="Keep the catalogue beside the matrix.")] = False,
) -> None:
    """Fetch the releases that the index has for each axis.

    Examples: compat matrix discover tff; compat matrix discover tff --json; compat matrix discover
    tff --write
    """
    workspace = options.workspace_of(matrix)
    discovered = pipeline.discovered(workspace, write)
    axes = {
        axis.name: [
            str(coordinate.version) for coordinate in axis_coordinates(axis, workspace.rediscovered)
        ]
        for axis in workspace.matrix.axes
    }
    if given.as_json:
        envelope({"matrix": matrix, "axes": axes})
        return
    for name, versions in axes.items():
        say(
            f"{name}: {count(len(versions), 'coordinate')}, {versions[0]} to {versions[-1]}"
            if versions
            else f"{name}: none"
        )
        print(f"  {' '.join(versions)}")
    _print_difference(workspace, discovered, write)
    if workspace.index.left_out:
        ignored = count(len(workspace.index.left_out), "local index", "local indexes")
        note(f"warning: ignored {ignored} from pip's configuration")


def _print_difference(workspace: Workspace, discovered: Discovered, write: bool) -> None:
    before, after = discovered.before, discovered.after
    path = f"matrices/{workspace.name}/{workspace.catalogue_path.name}"
    if before == after:
        note(f"{path} is current")
    elif write and before:
        print(files.unified_diff(path, before, after), end="")
    elif write:
        print(f"{path}: new")
    else:
        lines = files.unified_diff(path, before, after).splitlines()
        added = sum(line.startswith("+") for line in lines[2:])
        gone = sum(line.startswith("-") for line in lines[2:])
        note(
            f"{path} would change: {count(added, 'line')} new, {gone} gone; --write keeps"
            " what the index has now"
        )
