"""`compat check`, `compat matrix schema` and `compat matrix discover`."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat import files, pipeline
from compat.cli.arguments import Exit, argument, given, matrices_folder, matrix_names, option
from compat.cli.options import (
    MATRIX_NAME,
    faults_of_suite,
    workspace_of,
)
from compat.cli.output import answer, envelope, note, raw, say
from compat.declare.load import matrix_schema, policy_schema, schema_text
from compat.declare.parsing import faults_of
from compat.errors import DeclarationError, Fault, IndexUnreachable, UsageError
from compat.index.discover import THREADS
from compat.index.settings import has_extras
from compat.lock.lockfile import stored_lock
from compat.results.judge import refuted
from compat.site.wording import count
from compat.workspace import Workspace

Places = tuple[tuple[int, Version], ...]


def twice(workspace: Workspace) -> Iterator[str]:
    """Yield one line for each package of the matrix or its locks that several indexes have.

    An index that does not answer is a line too: the declarations are valid whatever it says.
    """
    urls = workspace.index.urls
    if len(urls) < 2:
        return
    matrix = workspace.matrix
    requirements = (*matrix.requirements, *matrix.suite.requirements)
    locks = (stored_lock(path) for _, path in workspace.lock_paths())
    of_axes = {axis.normalised_name for axis in matrix.packages}
    asked = {canonicalize_name(Requirement(text).name) for text in requirements}

    # By their places: an address may hold a password, or a name that is nobody's business.
    titles = [*(f"extra index {number + 1}" for number in range(len(urls) - 1)), "the main index"]
    names = sorted({*of_axes, *asked, *(pin.name for lock in locks for pin in lock.pins)})

    def places(name: str) -> Places | IndexUnreachable:
        try:
            return workspace.source.places(name)
        except IndexUnreachable as fault:
            return fault

    with ThreadPoolExecutor(THREADS) as pool:
        known = list(zip(names, pool.map(places, names), strict=True))
    for name, where in known:
        if isinstance(where, IndexUnreachable):
            yield f"cannot check whether {name} is on two indexes: {where.faults[0].message}"
        elif len(where) > 1:
            named = [(titles[number], version) for number, version in where]
            newest = ", ".join(f"{version} on {place}" for place, version in named)
            rule = f"{named[0][0]} is used"
            if workspace.index.merged:
                why = 'because of indexes = "all" in matrix.toml'
                rule = f"the newest version of all is used, {why}"
            yield f"{name} is on {len(where)} indexes (newest: {newest}); {rule}"


def discover_command(
    matrix: str = MATRIX_NAME, write: bool = option("Store the catalogue in the matrix's folder.")
) -> None:
    """Fetch the releases that the index has for each axis.

    Examples: compat matrix discover tff; compat matrix discover tff --json; compat matrix discover
    tff --write
    """
    workspace = workspace_of(matrix)
    before, after = pipeline.discovered(workspace, write)
    axes = {
        axis.name: [*map(str, workspace.rediscovered.coordinates(axis))]
        for axis in workspace.matrix.axes
    }
    envelope({"matrix": matrix, "axes": axes})
    for name, versions in axes.items():
        ends = f", {versions[0]} to {versions[-1]}" if versions else ""
        say(f"{name}: {count(len(versions), 'version') if versions else 'none'}{ends}")
        say(f"  {' '.join(versions)}")
    path = f"matrices/{workspace.name}/{workspace.catalogue_path.name}"
    if before == after:
        note(f"{path} is current")
    elif write and before:
        raw(files.unified_diff(path, before, after))
    elif write:
        say(f"{path}: new")
    else:
        signs = [line[:1] for line in files.unified_diff(path, before, after).splitlines()[2:]]
        change = f"{count(signs.count('+'), 'line')} added, {signs.count('-')} removed"
        note(f"{path} would change: {change}; --write stores what the index has now")
    if workspace.index.left_out:
        ignored = count(len(workspace.index.left_out), "local index", "local indexes")
        note(f"warning: ignored {ignored} from pip's configuration")


def check_command(matrix: str = argument("One matrix (default: all).", metavar="[MATRIX]")) -> None:
    """Check declarations, suites and known issues.

    Compares known issues with the records. With extra indexes, also reports each package that
    exists on two of them and which one applies.

    Examples: compat check; compat check tff
    """
    names = [matrix] if matrix else matrix_names(matrices_folder())
    workspaces = [workspace_of(name) for name in names]
    checked = [workspace.matrix.name for workspace in workspaces]
    faults: list[Fault] = []
    for workspace in workspaces:
        declared, known = workspace.matrix, workspace.at_hand
        entries = (*known.known, *known.lanes) if declared.known else ()
        against = refuted(declared, (entry for entry in entries if entry.runs))
        faults += faults_of_suite(workspace)
        faults += faults_of(f"matrices/{workspace.name}/matrix.toml", against)
    if faults:
        raise DeclarationError(*faults)
    if given.index_url or has_extras(given.extra_index_url or ()):
        for line in dict.fromkeys(line for workspace in workspaces for line in twice(workspace)):
            note(f"warning: {line}")
    answer({"matrices": checked}, f"valid: {', '.join(checked)}")


def schema_command(write: bool = option("Write the schemas to matrices/.")) -> None:
    """Compare the JSON schemas of the declarations with the code.

    Examples: compat matrix schema; compat matrix schema --write
    """
    try:
        folder = matrices_folder()
    except UsageError:  # a new repository is to have one
        start: Path = given.root or Path.cwd()
        if not start.is_dir():
            raise
        folder = start / "matrices"
    changed: list[str] = []
    for name, content in (
        ("matrix.schema.json", matrix_schema()),
        ("policy.schema.json", policy_schema()),
    ):
        text = schema_text(content)
        before = (files.read_if_present(folder / name) or b"").decode(errors="replace")
        raw(files.unified_diff(f"matrices/{name}", before, text))
        changed += [name] if before != text else []
        if write:
            files.write(folder / name, text)
    note(f"schemas {'written' if write else 'would change'}" if changed else "schemas are current")
    envelope({"changed": changed})
    raise Exit(1 if changed and not write else 0)
