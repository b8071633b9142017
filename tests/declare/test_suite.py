"""A suite is looked at before any cell is made: what cannot run is a fault of the declaration."""

import msgspec
import pytest
from support.world import matrix_of, world

from compat.declare.capabilities import suite_faults
from compat.declare.matrix import Matrix

MATRIX = matrix_of(world("platforms"))  # its oldest interpreter is Python 3.7
GOOD = {"test_all.py": "def test_one():\n    pass\n", "pytest.ini": "[pytest]\naddopts = -q\n"}


def asking(*requirements: str) -> Matrix:
    suite = msgspec.structs.replace(MATRIX.suite, requirements=requirements)
    return msgspec.structs.replace(MATRIX, suite=suite)


def lines(
    texts: dict[str, str] | None,
    matrix: Matrix | None = None,
) -> list[str]:
    source = "matrices/demo/matrix.toml"
    return [fault.line() for fault in suite_faults(matrix or asking("pytest>=7"), texts, source)]


def test_a_good_suite_has_no_faults() -> None:
    assert lines(GOOD) == []
    assert lines({"deep/some_test.py": ""}) == []


def test_a_missing_folder_and_one_without_tests_are_faults_of_the_declaration() -> None:
    (missing,) = lines(None)
    assert missing.startswith("matrices/demo/matrix.toml: suite.path: ")
    assert "is not a directory" in missing
    (empty,) = lines({"conftest.py": ""})
    assert "no file of tests" in empty


def test_a_suite_that_does_not_ask_for_pytest_is_a_fault() -> None:
    (line,) = lines(GOOD, asking("numpy"))
    assert line.startswith("matrices/demo/matrix.toml: suite.requirements: do not")
    assert lines(GOOD, asking("PyTest[x]<9")) == []


@pytest.mark.parametrize("text", ["def f(:\n", "match 1:\n    case 1: pass\n", "(x := 1)\n", "\0"])
def test_a_file_that_the_oldest_interpreter_cannot_parse_is_a_fault(text: str) -> None:
    (line,) = lines(GOOD | {"helper.py": text})
    assert line.startswith("matrices/demo/suite/helper.py")
    assert "parse on Python 3.7" in line


def test_a_suite_that_leaves_files_out_by_itself_may_hold_newer_syntax() -> None:
    assert (
        lines(
            GOOD
            | {"conftest.py": "collect_ignore = ['test_new.py']\n", "test_new.py": "(x := 1)\n"}
        )
        == []
    )


@pytest.mark.parametrize(
    "text", ["addopts = -q\n", "[pytest]\naddopts = -q\naddopts = -v\n", "[pytest]\n[pytest]\n"]
)
def test_settings_that_cannot_be_read_are_a_fault(text: str) -> None:
    (line,) = lines(GOOD | {"pytest.ini": text})
    assert line.startswith("matrices/demo/suite/pytest.ini: is not")
