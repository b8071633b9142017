"""The `declare` room's look at a suite: what can be known to be wrong with it before any cell is
made.
"""

import ast
import configparser
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatch

from compat.declare.faults import Finding, faults_of, shown
from compat.declare.matrix import Matrix
from compat.declare.suite_imports import Brought, asked_names, unrequired_imports
from compat.declare.suite_plugins import SETTINGS, unloaded_plugins
from compat.errors import Fault

# What pytest collects by itself: https://docs.pytest.org/en/stable/explanation/goodpractices.html
_TESTS = ("test_*.py", "*_test.py")
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
    *("importorskip", "allow_module_level", "__test__"),
)
_CHOSEN = re.compile(
    r"python_files|python_classes|python_functions|norecursedirs|testpaths|collect_imported"
    r"|(?<!\S)-[a-zA-Z]*[kmx][a-zA-Z]*\b"
    r"|--(deselect|ignore|maxfail|exitfirst|last-failed|lf|ff|sw|stepwise)"
)


def suite_faults(
    matrix: Matrix,
    texts: Mapping[str, str] | None,
    source: str,
    brought: Callable[[], Brought] = Brought,
) -> tuple[Fault, ...]:
    """Return what keeps a suite from running in any cell, or in those of the oldest interpreter.

    `texts` are its Python files and its settings of pytest by their path below it; None without a
    folder. `brought` tells what cells hold besides what the declaration names; it is called only
    where that matters.
    """
    if texts is None:
        message = f"{shown(matrix.suite.path)} is not a directory"
        return _declared(source, "path", message, "make it, with at least one test_*.py")
    names = [name.rpartition("/")[2] for name in texts]
    if not any(fnmatch(name, pattern) for name in names for pattern in _TESTS):
        message = f"{shown(matrix.suite.path)} has no file of tests"
        return _declared(source, "path", message, "add at least one test_*.py")
    folder = f"{source.rpartition('/')[0]}/{matrix.suite.path}"
    return (
        *_without_pytest(matrix, source),
        *_unparsable(matrix, texts, folder),
        *_settings(texts, folder),
        *unloaded_plugins(matrix, texts, folder, brought),
        *unrequired_imports(matrix, texts, folder, brought),
    )


def collectable_tests(texts: Mapping[str, str]) -> frozenset[str]:
    """Return the tests that pytest has to collect from the suite whatever is installed, as
    `file::class::function`.

    `texts` are its files by their path below it. Only what nothing can leave out is named: plain
    test functions and methods at the top of their file, where no setting, no hook and no
    module-level skip or deletion has a say.
    """
    chooses = any(word in text for text in texts.values() for word in _CHOOSING)
    if chooses or _CHOSEN.search(texts.get(SETTINGS, "")):
        return frozenset()
    return frozenset(
        f"{name}::{test}"
        for name, text in texts.items()
        if any(fnmatch(name.rpartition("/")[2], pattern) for pattern in _TESTS)
        for test in _plain_tests(text)
    )


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
    """Whether it is called like a test and nothing but marks of pytest stands above it."""
    marks = (
        ast.unparse(decorator).startswith(("pytest.mark.", "mark."))
        for decorator in node.decorator_list
    )
    return node.name.startswith(prefix) and all(marks)


def _has_init(node: ast.ClassDef) -> bool:
    """Whether pytest passes over the class, or may: it has a constructor, its own or one that it
    inherits.
    """
    return bool(node.bases) or any(
        isinstance(inner, _FUNCTIONS) and inner.name == "__init__" for inner in node.body
    )


def _without_pytest(matrix: Matrix, source: str) -> tuple[Fault, ...]:
    if "pytest" in asked_names(matrix):
        return ()
    message = "do not ask for pytest, which runs the suite in each cell"
    return _declared(source, "requirements", message, "add 'pytest'")


def _unparsable(matrix: Matrix, texts: Mapping[str, str], folder: str) -> Iterator[Fault]:
    """Yield the files that the matrix's oldest interpreter cannot parse, as far as this one can
    tell.
    """
    oldest = min(release.release[:2] for release in matrix.interpreters.releases)
    running = sys.version_info[:2]
    if oldest > running or any("collect_ignore" in text for text in texts.values()):
        return
    for name, text in sorted(texts.items()):
        if not name.endswith(".py"):
            continue
        try:
            ast.parse(text, feature_version=(oldest[0], oldest[1]))
        except (SyntaxError, ValueError) as fault:
            line = f":{fault.lineno}" if isinstance(fault, SyntaxError) and fault.lineno else ""
            reason = fault.msg if isinstance(fault, SyntaxError) else str(fault)
            message = (
                f"does not parse on Python {oldest[0]}.{oldest[1]}, the matrix's oldest: {reason}"
            )
            yield Fault(code="suite", path=f"{folder}/{name}{line}", message=message)


def _settings(texts: Mapping[str, str], folder: str) -> Iterator[Fault]:
    if SETTINGS not in texts:
        return
    try:
        configparser.RawConfigParser(allow_no_value=True).read_string(texts[SETTINGS])
    except configparser.Error as fault:
        reason = str(fault).replace("\n", " ").replace("'<string>', ", "")
        yield Fault(
            code="suite", path=f"{folder}/{SETTINGS}", message=f"is not valid INI: {reason}"
        )


def _declared(source: str, key: str, message: str, hint: str) -> tuple[Fault, ...]:
    return faults_of(source, [Finding("suite", ("suite", key), message, hint)])
