"""What runs inside a cell is written for the oldest interpreter of any matrix, and needs nothing
that a cell lacks.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.corpus import each

ROOT = Path(__file__).parents[2]
INCELL = sorted((ROOT / "compat" / "run" / "incell").glob("*.py"))
SUITES = sorted((ROOT / "matrices").glob("*/suite/**/*.py"))
# Beyond the standard library and the suite's own modules.
MAY_IMPORT = {
    "incell": {"pytest", "probe", "compat_plugin", "compat_raised", "launch"},
    "tff": {
        "pytest",
        "grpc",
        "jax",
        "ml_dtypes",
        "numpy",
        "pkg_resources",
        "tensorflow",
        "tensorflow_federated",
    },
    "grpcio-tools": {"pytest", "google", "grpc", "grpc_tools"},
    "mcp": {"pytest", "anyio", "mcp", "pydantic", "starlette"},
    "pip-tools": {"pytest", "pkg_resources", "piptools"},
    "scikit-learn": {"pytest", "numpy", "pandas", "scipy", "sklearn"},
    "setuptools": {
        *("pytest", "setuptools", "apscheduler", "fs", "gunicorn", "lightning_utilities"),
        *("opentelemetry", "passlib", "plaster", "pybtex", "pyfiglet", "pyramid", "razorpay"),
        *("textx", "zc"),
    },
}


def owner_of(path: Path) -> str:
    return "incell" if path in INCELL else path.relative_to(ROOT / "matrices").parts[0]


def imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            yield (node.module or "").partition(".")[0]


def capabilities(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and function.name.startswith("test_"):
            marks = [
                mark for mark in function.decorator_list if "mark.capability" in ast.unparse(mark)
            ]
            assert len(marks) == 1, f"{function.name} shows {len(marks)} capabilities, not one"
            assert isinstance(marks[0], ast.Call)
            yield function.name, marks[0]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_there_is_something_to_look_at() -> None:
    assert {path.name for path in INCELL} == {
        *("__init__.py", "launch.py", "plugin.py", "probe.py", "compat_raised.py")
    }
    assert {owner_of(path) for path in SUITES} == set(MAY_IMPORT) - {"incell"}


@each("path", [*INCELL, *SUITES], ids=name_of)
def test_it_compiles_under_python_3_7(path: Path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 7))


@each("path", [*INCELL, *SUITES], ids=name_of)
def test_it_imports_only_what_a_cell_has(path: Path) -> None:
    owner = owner_of(path)
    own = {found.stem for found in path.parent.glob("*.py")} if owner != "incell" else set()
    strange = set(imports(ast.parse(path.read_text(encoding="utf-8")))) - set(
        sys.stdlib_module_names
    )
    assert strange - own <= MAY_IMPORT[owner]


def test_what_is_taken_from_a_neighbour_in_the_cell_stands_there() -> None:
    trees = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in INCELL}
    public = {
        stem: {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        for stem, tree in trees.items()
    }
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("compat_"):
                taken = {alias.name for alias in node.names}
                assert taken <= {"MESSAGE"} | public[node.module or ""]
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert node.value.id not in public or node.attr in public[node.value.id]


@pytest.mark.parametrize("owner", sorted(set(MAY_IMPORT) - {"incell"}))
def test_each_test_of_a_suite_shows_one_capability_and_says_what_it_means(owner: str) -> None:
    ids = []
    for path in SUITES:
        if owner_of(path) != owner:
            continue
        for name, mark in capabilities(ast.parse(path.read_text(encoding="utf-8"))):
            told = {keyword.arg: ast.literal_eval(keyword.value) for keyword in mark.keywords}
            assert (
                {"title", "says"} <= set(told) <= {"title", "says", "looks_for", "helper", "of"}
            ), name
            if "of" in told:
                assert (told["of"], bool(told.get("helper"))) == ("helper", True), name
            assert told["says"].endswith("."), name
            ids.append(ast.literal_eval(mark.args[0]))
    assert "import" in ids
    assert len(ids) == len(set(ids))
