"""The plan of the house: who may import whom, who may touch the world, and how large things may
grow.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
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
        "questions",
        "cli",
    ),
    "__main__",
)
WORLD = frozenset(
    [
        "requests",
        "requests_cache",
        "remotezip",
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
    "compat/site/exports/database.py": {"pathlib", "sqlite3", "tempfile"},
    "compat/loopback.py": {"http"},
    "compat/files.py": {"os", "shutil", "tempfile", "pathlib"},
    "compat/fleet/batch.py": {"pathlib"},
    "compat/fleet/canary_days.py": {"pathlib"},
    "compat/fleet/cluster.py": {"pathlib"},
    "compat/fleet/dask_worker.py": {"pathlib", "time"},
    "compat/fleet/remote.py": {"pathlib", "time"},
    "compat/fleet/laboratory.py": {"pathlib"},
    "compat/fleet/local.py": {"pathlib"},
    "compat/pipeline.py": {"pathlib"},
    "compat/workspace.py": {"pathlib"},
    "compat/site/publication.py": {"os", "pathlib"},
    "compat/index/interpreters.py": {"pathlib"},
    "compat/index/metadata.py": {"pathlib", "remotezip", "requests", "shutil", "tempfile"},
    "compat/index/pages.py": {"pathlib", "requests", "requests_cache", "sqlite3"},
    "compat/index/pypi.py": {"pathlib", "requests"},
    "compat/index/settings.py": {"subprocess"},
    "compat/index/transport.py": {"requests", "tempfile", "time"},
    "compat/index/trouble.py": {"requests"},
    "compat/lock/kept_lock.py": {"pathlib"},
    "compat/lock/piptools.py": {"pathlib", "tempfile"},
    "compat/lock/sources.py": {"pathlib"},
    "compat/lock/tool.py": {"pathlib", "subprocess"},
    "compat/lock/uv.py": {"pathlib", "tempfile"},
    "compat/lock/view.py": {"http"},
    "compat/github/repository.py": {"pathlib", "subprocess"},
    "compat/github/rest.py": {"requests", "time"},
    "compat/run/foreign.py": {"os", "pathlib"},
    "compat/run/incell/launch.py": {"os"},
    "compat/run/installed.py": {"os", "pathlib"},
    "compat/run/suitefiles.py": {"pathlib"},
    "compat/run/incell/plugin.py": {"os", "time"},
    "compat/run/incell/raised.py": {"os", "tempfile"},
    "compat/run/incell/probe.py": {"os", "time"},
    "compat/run/builds.py": {"os", "pathlib", "shutil", "tempfile"},
    "compat/run/bytecode.py": {"os", "pathlib", "tempfile"},
    "compat/run/cache_items.py": {"os", "pathlib"},
    "compat/run/checkout.py": {"pathlib"},
    "compat/run/source_tree.py": {"pathlib", "shutil", "subprocess"},
    "compat/run/cgroup.py": {"os", "pathlib", "time"},
    "compat/run/compiling.py": {"os"},
    "compat/run/disk.py": {"os", "pathlib", "time"},
    "compat/run/isolation.py": {"pathlib", "shutil"},
    "compat/run/keeper.py": {"os", "socket", "time"},
    "compat/run/logfile.py": {"os", "pathlib"},
    "compat/run/processes.py": {"os", "time"},
    "compat/run/processor.py": {"pathlib"},
    "compat/run/meter.py": {"os", "pathlib", "time"},
    "compat/run/supervise.py": {"os", "pathlib", "subprocess", "tempfile", "time"},
    "compat/results/clause_file.py": {"pathlib"},
    "compat/results/platform_files.py": {"pathlib"},
    "compat/results/record_files.py": {"os", "pathlib"},
    "compat/results/record_batches.py": {"os", "pathlib"},
    "compat/results/record_packing.py": {"os", "pathlib"},
    "compat/results/index_update.py": {"sqlite3"},
    "compat/results/intake.py": {"os", "pathlib"},
    "compat/results/index.py": {"pathlib", "sqlite3"},
    "compat/run/canary.py": {"pathlib"},
    "compat/run/events.py": {"pathlib"},
    "compat/run/interpreter.py": {"subprocess"},
    "compat/run/unpacked.py": {"pathlib", "tempfile"},
    "compat/run/placed_suite.py": {"pathlib"},
    "compat/run/postpone.py": {"pathlib"},
    "compat/search/needs.py": {"pathlib"},
    "compat/run/scratch.py": {"os", "pathlib", "tempfile"},
    "compat/run/cell_run.py": {"pathlib", "shutil", "time"},
    "compat/run/installation.py": {"pathlib", "shutil", "tempfile"},
    "compat/run/steps.py": {"pathlib", "shutil"},
    "compat/site/writer.py": {"os", "pathlib"},
    "compat/site/pages/render.py": {"pathlib"},
    "compat/site/serve.py": {"http", "pathlib"},
    "compat/site/verify.py": {"os", "pathlib"},
    "compat/cli/app.py": {"os"},
    "compat/cli/explore.py": {"pathlib", "time"},
    "compat/cli/blame.py": {"time"},
    "compat/cli/doctor.py": {"os", "pathlib"},
    "compat/cli/environment.py": {"os", "pathlib"},
    "compat/cli/init.py": {"pathlib"},
    "compat/cli/learnt_intake.py": {"pathlib"},
    "compat/cli/lock_intake.py": {"os", "pathlib"},
    "compat/cli/shard_intake.py": {"pathlib"},
    "compat/cli/plain.py": {"pathlib"},
    "compat/cli/platform_intake.py": {"pathlib"},
    "compat/cli/platforms.py": {"pathlib"},
    "compat/cli/progress.py": {"pathlib", "time"},
    "compat/cli/machine.py": {"os", "pathlib", "platformdirs", "shutil"},
    "compat/cli/nox_sessions.py": {"pathlib"},
    "compat/cli/options.py": {"pathlib"},
    "compat/cli/publish.py": {"pathlib", "time"},
    "compat/cli/record.py": {"pathlib"},
    "compat/cli/run.py": {"pathlib"},
    "compat/cli/this_machine.py": {"os", "pathlib"},
    "compat/cli/reports.py": {"pathlib"},
    "compat/cli/schedule.py": {"pathlib"},
    "compat/cli/show.py": {"pathlib"},
    "compat/cli/verify.py": {"pathlib"},
    "compat/cli/fleet_machine.py": {"pathlib"},
    "compat/cli/clean.py": {"pathlib"},
    "compat/cli/worker.py": {"pathlib", "subprocess"},
    "compat/cli/propose.py": {"pathlib"},
    "compat/cli/pull_requests.py": {"requests"},
}
CLOCKS = {"now", "today", "utcnow", "environ", "getenv"}
MODULES = sorted(HOUSE.rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(HOUSE.parent).as_posix()


def room_of(path: Path) -> str:
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


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


@pytest.mark.parametrize("path", MODULES, ids=name_of)
class TestEveryModule:
    def test_imports_only_its_own_room_and_those_before_it(self, path: Path) -> None:
        room = room_of(path)
        if room == "__init__":
            return
        assert room in ROOMS, f"{room} is not a room of the house"
        allowed = ROOMS[: ROOMS.index(room) + 1]
        for name in imports(tree_of(path)):
            if name.startswith("compat."):
                assert name.split(".")[1] in allowed, (
                    f"{name_of(path)} imports {name}, which is downstream"
                )

    def test_touches_the_world_only_as_the_table_says(self, path: Path) -> None:
        touched = {name.split(".")[0] for name in imports(tree_of(path))} & WORLD
        assert touched == EDGES.get(name_of(path), set())

    def test_reads_clock_and_environment_only_in_cli(self, path: Path) -> None:
        # In-cell code is a process of its own: its caller, not a module of ours, gives it its
        # environment.
        if room_of(path) == "cli" or path.parent.name == "incell":
            return
        read = {
            node.attr for node in ast.walk(tree_of(path)) if isinstance(node, ast.Attribute)
        } & CLOCKS
        assert not read, f"{name_of(path)} reads {read}: only cli/ may"

    def test_opens_with_one_sentence_that_says_what_it_is(self, path: Path) -> None:
        first, *_ = (ast.get_docstring(tree_of(path)) or "").splitlines() or [""]
        assert len(first) > 20

    def test_has_a_docstring_on_everything_public(self, path: Path) -> None:
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        tree = tree_of(path)
        scopes = [
            tree,
            *(
                node
                for node in tree.body
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
            ),
        ]
        public = [node for scope in scopes for node in scope.body if isinstance(node, kinds)]
        bare = [
            node.name for node in public if not _private(node.name) and not ast.get_docstring(node)
        ]
        assert not bare, f"{name_of(path)} says nothing about {', '.join(bare)}"

    def test_is_no_longer_than_400_lines(self, path: Path) -> None:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400

    def test_has_functions_of_at_most_60_lines_and_6_parameters(self, path: Path) -> None:
        for function in functions(tree_of(path)):
            lines = (function.end_lineno or 0) - function.lineno + 1
            assert lines <= 60, f"{name_of(path)}: {function.name} has {lines} lines"
            arguments = function.args
            count = len([*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs])
            count -= bool(arguments.args and arguments.args[0].arg in ("self", "cls"))
            assert count <= 6 or room_of(path) == "cli", (
                f"{name_of(path)}: {function.name} takes {count} parameters"
            )

    def test_never_names_the_libraries_of_the_matrices(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8").lower()
        for word in ("tensorflow", "jaxlib", "keras"):
            assert word not in text, (
                f"{name_of(path)} names {word}; what is a matrix's own stands in matrices/"
            )


@pytest.mark.parametrize(
    "path", [path for path in MODULES if path.name == "__init__.py"], ids=name_of
)
def test_a_package_says_what_it_is_and_re_exports_nothing(path: Path) -> None:
    tree = tree_of(path)
    assert len(tree.body) == 1
    assert ast.get_docstring(tree)


def test_the_table_of_edges_names_only_modules_that_exist() -> None:
    assert set(EDGES) <= {name_of(path) for path in MODULES}


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert not {path.stem for path in MODULES} & {
        "utils",
        "util",
        "helpers",
        "helper",
        "models",
        "core",
        "common",
        "manager",
    }


def test_a_public_name_has_one_meaning() -> None:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    owners: dict[str, list[str]] = {}
    for path in MODULES:
        for node in tree_of(path).body:
            if isinstance(node, kinds) and not _private(node.name):
                owners.setdefault(node.name, []).append(name_of(path))
    assert not {name: paths for name, paths in owners.items() if len(paths) > 1}


def test_two_modules_share_no_name() -> None:
    # A command's module is named after the command, whatever the room behind it calls its own.
    stems = [path.stem for path in MODULES if room_of(path) != "cli" and path.stem[0] != "_"]
    assert not {stem for stem in stems if stems.count(stem) > 1}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_local_says_what_it_holds(path: Path) -> None:
    functions_of = functions(tree_of(path))
    stored = {
        node.id
        for function in functions_of
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    assert not stored & FILLERS


def test_half_of_all_functions_are_short() -> None:
    lengths = sorted(
        (f.end_lineno or 0) - f.lineno + 1 for path in MODULES for f in functions(tree_of(path))
    )
    assert lengths[len(lengths) // 2] <= 12


def _private(name: str) -> bool:
    return name.startswith("_") or (name.startswith("visit_") or name == "do_GET")
