"""The `declare` room's list of the tests that pytest collects whatever is installed."""

import ast
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch

from compat.declare.suite_plugins import SETTINGS

# What pytest collects by itself: https://docs.pytest.org/en/stable/explanation/goodpractices.html
TEST_FILES = ("test_*.py", "*_test.py")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# A suite with one of these chooses among its tests, or finds them in a way of its own; and so do
# such settings.
_CHOOSING = (
    *(
        "collect_ignore",
        "pytest_ignore_collect",
        "pytest_collect",
        "pytest_pycollect",
        "pytest_itemcollected",
    ),
)
# What makes one file choose; in a file that is none of tests, whoever imports it.
_CHOOSING_HERE = ("importorskip", "allow_module_level", "__test__")
# Folders that pytest passes over, https://docs.pytest.org/en/stable/reference/reference.html
_PASSED_OVER = {"build", "dist", "node_modules", "venv", "CVS", "_darcs", "{arch}"}
_CHOSEN = re.compile(
    r"python_files|python_classes|python_functions|norecursedirs|testpaths|collect_imported"
    r"|(?<!\S)-(?!r)[a-zA-Z]*[kmx][a-zA-Z]*\b"
    r"|--(deselect|ignore|maxfail|exitfirst|last-failed|lf|ff|sw|stepwise)"
)


def collectable_tests(texts: Mapping[str, str]) -> frozenset[str]:
    """Return the tests that pytest has to collect from the suite whatever is installed, as
    `file::class::function`.

    `texts` are its files by their path below it. Only what nothing can leave out is named: plain
    test functions and methods at the top of their file, where no setting, no hook and no
    module-level skip or deletion has a say.
    """
    python = {name: text for name, text in texts.items() if name.endswith(".py")}
    tests = {name: text for name, text in python.items() if is_test_file(name)}
    chooses = any(word in text for text in python.values() for word in _CHOOSING) or any(
        word in text
        for name, text in python.items()
        for word in _CHOOSING_HERE
        if name not in tests
    )
    settings = (
        line for line in texts.get(SETTINGS, "").splitlines() if not line.startswith(("#", ";"))
    )
    if chooses or any(map(_CHOSEN.search, settings)):
        return frozenset()
    return frozenset(
        f"{name}::{test}"
        for name, text in tests.items()
        if not any(word in text for word in _CHOOSING_HERE)
        and _PASSED_OVER.isdisjoint(name.split("/"))
        for test in _plain_tests(text)
    )


def is_test_file(name: str) -> bool:
    return any(fnmatch(name.rpartition("/")[2], pattern) for pattern in TEST_FILES)


def _plain_tests(text: str) -> Iterator[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    names = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del)
    }
    for node in tree.body:
        if isinstance(node, _FUNCTIONS) and _is_plain(node, "test") and node.name not in names:
            yield node.name
        if isinstance(node, ast.ClassDef) and _is_plain(node, "Test") and not _has_init(node):
            methods = (inner for inner in node.body if isinstance(inner, _FUNCTIONS))
            yield from (
                f"{node.name}::{method.name}" for method in methods if _is_plain(method, "test")
            )


def _is_plain(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, prefix: str) -> bool:
    marks = (
        ast.unparse(decorator).startswith(("pytest.mark.", "mark."))
        for decorator in node.decorator_list
    )
    return node.name.startswith(prefix) and all(marks)


def _has_init(node: ast.ClassDef) -> bool:
    # Whether pytest passes over the class, or may: it has a constructor, its own or one that it
    # inherits.
    return bool(node.bases) or any(
        isinstance(inner, _FUNCTIONS) and inner.name == "__init__" for inner in node.body
    )
