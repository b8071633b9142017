"""Commands about declarations: check them, and their JSON schemas."""

from typing import Annotated

from compat import files
from compat.cli.arguments import Argument, Exit, Option, given
from compat.cli.options import (
    matrices_folder,
    matrix_names,
    schemas_folder,
    workspace_of,
)
from compat.cli.output import envelope, note, say
from compat.cli.suite_check import faults_of_suite
from compat.cli.twice import twice
from compat.declare.faults import faults_of
from compat.declare.schema import matrix_schema, policy_schema, schema_text
from compat.errors import DeclarationError, Fault
from compat.index.settings import has_extras
from compat.results.refuted import refuted
from compat.workspace import Workspace


def check_command(
    matrix: Annotated[str, Argument(metavar="[MATRIX]", help="One matrix; without it, all.")] = "",
) -> None:
    """Check declarations and suites, and known issues against the records.

    An index is asked only where extra ones are configured: then each package of a matrix or its
    locks that stands on two of them is told, with the one that counts.

    Examples: compat check; compat check tff
    """
    names = [matrix] if matrix else matrix_names(matrices_folder())
    workspaces = [workspace_of(name) for name in names]
    checked = [workspace.matrix.name for workspace in workspaces]
    faults = [
        fault
        for workspace in workspaces
        for fault in (*faults_of_suite(workspace), *_refuted(workspace))
    ]
    if faults:
        raise DeclarationError(*faults)
    if given.index_url or has_extras(given.extra_index_url or ()):
        for line in dict.fromkeys(line for workspace in workspaces for line in twice(workspace)):
            note(f"warning: {line}")
    if given.as_json:
        envelope({"matrices": checked})
    else:
        say(f"sound: {', '.join(checked)}")


def _refuted(workspace: Workspace) -> tuple[Fault, ...]:
    matrix, known = workspace.matrix, workspace.at_hand
    entries = (*known.known, *known.lanes) if matrix.known else ()
    verdicts = {entry.cell.id: entry.verdict for entry in entries if entry.runs}
    return faults_of(f"matrices/{workspace.name}/matrix.toml", refuted(matrix, verdicts))


def schema_command(
    write: Annotated[bool, Option("--write", help="Write the schemas into matrices/.")] = False,
) -> None:
    """Compare the JSON schemas of the declarations with the code.

    Examples: compat matrix schema; compat matrix schema --write
    """
    folder = schemas_folder()
    changed = False
    for name, content in (
        ("matrix.schema.json", matrix_schema()),
        ("policy.schema.json", policy_schema()),
    ):
        text = schema_text(content)
        before = (files.read_if_there(folder / name) or b"").decode(errors="replace")
        print(files.unified_diff(f"matrices/{name}", before, text), end="")
        changed = changed or before != text
        if write:
            files.write(folder / name, text)
    note(
        "schemas are current"
        if not changed
        else f"schemas {'written' if write else 'would change'}"
    )
    raise Exit(1 if changed and not write else 0)
