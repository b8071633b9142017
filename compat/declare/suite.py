"""The `declare` room's look at a suite: what can be known to be wrong with it before any cell is
made.
"""

import ast
import configparser
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatch

from compat.declare.collectable import TEST_FILES
from compat.declare.core_capabilities import core_findings
from compat.declare.faults import Finding, faults_of, shown
from compat.declare.matrix import Matrix
from compat.declare.suite_imports import (
    Brought,
    asked_names,
    is_collected,
    unrequired_imports,
)
from compat.declare.suite_plugins import SETTINGS, unloaded_plugins
from compat.errors import Fault


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
    if not _has_tests(matrix, texts, names):
        if matrix.suite.tests:
            message = f"{shown(matrix.suite.tests)} has no file of tests that pytest collects"
            return _declared(source, "tests", message, "name a folder with a test_*.py, or a file")
        message = f"{shown(matrix.suite.path)} has no file of tests"
        return _declared(source, "path", message, "add at least one test_*.py")
    folder = "" if matrix.suite.tests else f"{source.rpartition('/')[0]}/{matrix.suite.path}/"
    return (
        *_without_pytest(matrix, source),
        *_unparsable(matrix, texts, folder),
        *_settings(texts, folder),
        *unloaded_plugins(matrix, texts, folder, brought),
        *unrequired_imports(matrix, texts, folder, brought),
        *faults_of(source, core_findings(matrix.suite.core, texts)),
    )


def _has_tests(matrix: Matrix, texts: Mapping[str, str], names: Iterable[str]) -> bool:
    if matrix.suite.tests in texts or "python_files" in texts.get(SETTINGS, ""):
        return True
    return any(fnmatch(name, pattern) for name in names for pattern in TEST_FILES)


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
        if not name.endswith(".py") or (matrix.suite.tests and not is_collected(name)):
            continue
        try:
            ast.parse(text, feature_version=(oldest[0], oldest[1]))
        except (SyntaxError, ValueError) as fault:
            line = f":{fault.lineno}" if isinstance(fault, SyntaxError) and fault.lineno else ""
            reason = fault.msg if isinstance(fault, SyntaxError) else str(fault)
            message = (
                f"does not parse on Python {oldest[0]}.{oldest[1]}, the matrix's oldest: {reason}"
            )
            yield Fault(code="suite", path=f"{folder}{name}{line}", message=message)


def _settings(texts: Mapping[str, str], folder: str) -> Iterator[Fault]:
    if SETTINGS not in texts:
        return
    try:
        configparser.RawConfigParser(allow_no_value=True).read_string(texts[SETTINGS])
    except configparser.Error as fault:
        reason = str(fault).replace("\n", " ").replace("'<string>', ", "")
        yield Fault(code="suite", path=f"{folder}{SETTINGS}", message=f"is not valid INI: {reason}")


def _declared(source: str, key: str, message: str, hint: str) -> tuple[Fault, ...]:
    return faults_of(source, [Finding("suite", ("suite", key), message, hint)])
