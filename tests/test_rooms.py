"""The plan of the house: who may import whom, who may touch the world, and how large it may be.

One test a rule; every module is parsed once, and a failure lists all that break the rule.
"""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

from measure import FILLERS

HOUSE = Path(__file__).parent.parent / "compat"
# Left to right: a module imports its own room and those before it.
ROOMS = (
    *("value", "errors", "files", "loopback", "declare", "index", "plan", "lock", "run", "results"),
    *(
        "search",
        "advise",
        "policy",
        "draft",
        "rewrite",
        "github",
        "site",
        "workspace",
        "fleet",
        "pipeline",
        "cli",
    ),
    "__main__",
)
WORLD = frozenset(
    [
        "requests",
        "subprocess",
        "os",
        "shutil",
        "tempfile",
        "time",
        "pathlib",
        "sqlite3",
        "http",
        "socket",
        "platformdirs",
    ]
)
EDGES = {
    "compat/site/exports.py": {"pathlib", "sqlite3", "tempfile"},
    "compat/site/edition.py": {"pathlib"},
    "compat/loopback.py": {"http"},
    "compat/files.py": {"os", "pathlib", "shutil", "subprocess", "tempfile"},
    "compat/fleet/batch.py": {"pathlib"},
    "compat/fleet/cluster.py": {"pathlib", "time"},
    "compat/fleet/laboratory.py": {"pathlib", "tempfile"},
    "compat/pipeline.py": {"pathlib"},
    "compat/workspace.py": {"pathlib"},
    "compat/site/publication.py": {"os", "pathlib"},
    "compat/index/interpreters.py": {"pathlib"},
    "compat/index/metadata.py": {"pathlib", "requests", "shutil", "tempfile", "time"},
    "compat/index/pypi.py": {"pathlib", "requests", "time"},
    "compat/index/settings.py": {"subprocess"},
    "compat/lock/lockfile.py": {"pathlib"},
    "compat/lock/piptools.py": {"http", "pathlib", "tempfile"},
    "compat/lock/sources.py": {"pathlib"},
    "compat/lock/uv.py": {"pathlib", "subprocess", "tempfile"},
    "compat/github/client.py": {"requests", "time"},
    "compat/github/measured.py": {"pathlib"},
    "compat/run/incell/launch.py": {"os"},
    "compat/run/installed.py": {"os", "pathlib", "shutil"},
    "compat/run/suitefiles.py": {"pathlib"},
    "compat/run/incell/plugin.py": {"os", "time"},
    "compat/run/incell/compat_raised.py": {"os", "tempfile"},
    "compat/run/incell/probe.py": {"os", "time"},
    "compat/run/builds.py": {"os", "pathlib", "shutil", "tempfile"},
    "compat/run/bytecode.py": {"os", "pathlib", "tempfile"},
    "compat/run/cached.py": {"os", "pathlib", "tempfile"},
    "compat/run/checkout.py": {"pathlib", "shutil"},
    "compat/run/compiling.py": {"os"},
    "compat/run/isolation.py": {"pathlib", "shutil"},
    "compat/run/keeper.py": {"os", "socket", "time"},
    "compat/run/meter.py": {"os", "pathlib", "time"},
    "compat/run/supervise.py": {"os", "pathlib", "subprocess", "tempfile", "time"},
    "compat/results/learnt.py": {"pathlib"},
    "compat/results/installs.py": {"pathlib"},
    "compat/results/record_files.py": {"os", "pathlib"},
    "compat/results/answers.py": {"os", "pathlib", "sqlite3"},
    "compat/run/job.py": {"pathlib"},
    "compat/run/events.py": {"os", "pathlib"},
    "compat/search/api_change.py": {"pathlib"},
    "compat/search/why.py": {"pathlib"},
    "compat/run/cell_run.py": {"pathlib", "shutil", "time"},
    "compat/run/installation.py": {"pathlib", "shutil", "tempfile"},
    "compat/site/render.py": {"pathlib"},
    "compat/site/serve.py": {"http", "pathlib"},
    "compat/cli/app.py": {"os"},
    "compat/cli/find.py": {"time"},
    "compat/cli/declarations.py": {"pathlib"},
    "compat/cli/diff.py": {"pathlib"},
    "compat/cli/doctor.py": {"os", "pathlib"},
    "compat/cli/environment.py": {"pathlib"},
    "compat/cli/floor.py": {"pathlib", "time"},
    "compat/cli/init.py": {"pathlib"},
    "compat/cli/installs.py": {"pathlib"},
    "compat/cli/publish.py": {"pathlib", "requests", "time"},
    "compat/cli/progress.py": {"pathlib", "time"},
    "compat/cli/machine.py": {"os", "pathlib", "platformdirs", "shutil"},
    "compat/cli/nox_sessions.py": {"pathlib"},
    "compat/cli/options.py": {"pathlib"},
    "compat/cli/record.py": {"os", "pathlib"},
    "compat/cli/run.py": {"pathlib"},
    "compat/cli/this_machine.py": {"os", "pathlib"},
    "compat/cli/reports.py": {"pathlib"},
    "compat/cli/show.py": {"pathlib"},
    "compat/cli/clean.py": {"pathlib"},
    "compat/cli/worker.py": {"pathlib", "subprocess"},
    "compat/cli/propose.py": {"pathlib"},
    "compat/cli/arguments.py": {"pathlib", "shutil"},
    "compat/cli/budget.py": {"time"},
    "compat/cli/completion.py": {"pathlib"},
    "compat/cli/output.py": {"shutil"},
    "compat/cli/upkeep.py": {"requests"},
}
CLOCKS = {"now", "today", "utcnow", "environ", "getenv"}
# Lines of compat/ that have landed. Lower it with each landing; it is never raised.
CEILING = 52_259
TEXTS = {path: path.read_text(encoding="utf-8") for path in sorted(HOUSE.rglob("*.py"))}


@functools.cache
def trees() -> dict[Path, ast.Module]:
    """Return every module parsed, which a test run that only collects this file does not need."""
    return {path: ast.parse(text) for path, text in TEXTS.items()}


def name_of(path: Path) -> str:
    return path.relative_to(HOUSE.parent).as_posix()


def room_of(path: Path) -> str:
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


def imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            if node.module == "compat":
                yield from (f"compat.{alias.name}" for alias in node.names)


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def test_the_package_is_no_larger_than_what_has_landed() -> None:
    assert sum(len(text.splitlines()) for text in TEXTS.values()) <= CEILING


def test_a_module_imports_only_its_own_room_and_those_before_it() -> None:
    rooms = {path: room_of(path) for path in trees() if room_of(path) != "__init__"}
    assert set(rooms.values()) <= set(ROOMS)
    downstream = [
        f"{name_of(path)} imports {name}"
        for path, room in rooms.items()
        for name in imports(trees()[path])
        if name.startswith("compat.") and name.split(".")[1] not in ROOMS[: ROOMS.index(room) + 1]
    ]
    assert not downstream


def test_a_module_touches_the_world_only_as_the_table_says() -> None:
    touched = {
        name_of(path): {name.split(".")[0] for name in imports(tree)} & WORLD
        for path, tree in trees().items()
    }
    assert {name: edges for name, edges in touched.items() if edges} == EDGES


def test_only_cli_reads_clock_and_environment() -> None:
    # In-cell code is a process of its own: its caller, not a module of ours, gives it its
    # environment.
    assert not [
        f"{name_of(path)}:{node.lineno} reads {node.attr}"
        for path, tree in trees().items()
        if room_of(path) != "cli" and path.parent.name != "incell"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in CLOCKS
    ]


def test_a_module_opens_with_one_sentence_that_says_what_it_is() -> None:
    first = {
        name_of(path): (ast.get_docstring(tree) or "").split("\n")[0]
        for path, tree in trees().items()
    }
    assert not [name for name, line in first.items() if len(line) <= 20]


def test_a_public_class_says_what_it_means() -> None:
    assert not [
        f"{name_of(path)}: {node.name}"
        for path, tree in trees().items()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name[0] != "_" and not ast.get_docstring(node)
    ]


def test_a_function_has_at_most_60_lines() -> None:
    # In cli/ the options of a command are its signature.
    assert not [
        f"{name_of(path)}: {function.name}"
        for path, tree in trees().items()
        if room_of(path) != "cli"
        for function in functions(tree)
        if (function.end_lineno or 0) - function.lineno + 1 > 60
    ]


def test_no_module_names_the_libraries_of_the_matrices() -> None:
    assert not [
        f"{name_of(path)} names {word}"
        for path, text in TEXTS.items()
        for word in ("tensorflow", "jaxlib", "keras")
        if word in text.lower()
    ]


def test_a_package_says_what_it_is_and_re_exports_nothing() -> None:
    packages = {path: tree for path, tree in trees().items() if path.name == "__init__.py"}
    assert not [
        name_of(path)
        for path, tree in packages.items()
        if len(tree.body) != 1 or not ast.get_docstring(tree)
    ]


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert not {path.stem for path in trees()} & {
        *("utils", "util", "helpers", "helper", "models", "core", "common", "manager")
    }


def test_a_local_says_what_it_holds() -> None:
    assert not [
        f"{name_of(path)}:{node.lineno} {node.id}"
        for path, tree in trees().items()
        for function in functions(tree)
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in FILLERS
    ]


def test_no_queue_forgets_its_timeout() -> None:
    """`SimpleQueue.get(timeout=...)` of CPython 3.11 can wait forever if another thread takes the
    item for which it woke after its deadline: seen with two workers, of which one never ended.
    """
    assert [name_of(path) for path, text in TEXTS.items() if "SimpleQueue" in text] == []
