"""A suite is looked at before any cell is made: what cannot run is a fault of the declaration."""

from collections.abc import Callable

import msgspec
import pytest
from support.world import matrix_of, world

from compat.declare.matrix import Matrix
from compat.declare.suite import suite_faults

MATRIX = matrix_of(world("platforms"))  # its oldest interpreter is Python 3.7
GOOD = {"test_all.py": "def test_one():\n    pass\n", "pytest.ini": "[pytest]\naddopts = -q\n"}


def asking(*requirements: str) -> Matrix:
    suite = msgspec.structs.replace(MATRIX.suite, requirements=requirements)
    return msgspec.structs.replace(MATRIX, suite=suite)


def lines(
    texts: dict[str, str] | None,
    matrix: Matrix | None = None,
    tell: Callable[[], frozenset[str]] = frozenset,
) -> list[str]:
    source = "matrices/demo/matrix.toml"
    return [
        fault.line() for fault in suite_faults(matrix or asking("pytest>=7"), texts, source, tell)
    ]


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


# Plugins that nothing brings. What is in doubt stays unsaid, as a fault keeps every cell from
# running.


def brought(*names: str) -> Callable[[], frozenset[str]]:
    return lambda: frozenset(names)


@pytest.mark.parametrize(
    ("setting", "word", "distribution", "module"),
    [
        ("addopts = -q --cov", "--cov", "pytest-cov", "pytest_cov"),
        ("addopts = --cov=demo", "--cov=demo", "pytest-cov", "pytest_cov"),
        ("addopts = -n 2", "-n", "pytest-xdist", "xdist"),
        ("addopts = -q -nauto", "-nauto", "pytest-xdist", "xdist"),
        ("asyncio_mode = auto", "asyncio_mode", "pytest-asyncio", "pytest_asyncio"),
        ("timeout = 5", "timeout", "pytest-timeout", "pytest_timeout"),
    ],
)
def test_a_setting_needs_its_plugin_asked_for_and_loaded(
    setting: str, word: str, distribution: str, module: str
) -> None:
    texts = GOOD | {"pytest.ini": f"[pytest]\n{setting}\n"}
    (line,) = lines(texts)
    assert line == (
        f"matrices/demo/suite/pytest.ini:2: {word} needs {distribution}, which suite.requirements"
        f" do not ask for (add '{distribution}' there and '-p {module}' to addopts in pytest.ini,"
        f" or delete {word})"
    )
    asked = asking("pytest", distribution)
    (line,) = lines(texts, asked)
    assert "a cell loads only the plugins that the suite names" in line
    assert line.endswith(f"(add '-p {module}' to addopts)")
    addopts = f"{setting} -p {module}" if "addopts" in setting else f"{setting}\naddopts=-p{module}"
    assert lines(GOOD | {"pytest.ini": f"[pytest]\n{addopts}\n"}, asked) == []
    conftest = {"conftest.py": f"pytest_plugins = ['{module}']\n"}
    assert lines(texts | conftest, asked) == []


@pytest.mark.parametrize(
    "text",
    [
        "[pytest]\naddopts = -q -m 'not slow' --tb=short --durations=5 -p no:typeguard\n",
        "[pytest]\naddopts = 'unclosed --cov\n",
        "[tool]\naddopts = --cov\n",
        "[pytest]\nmarkers =\n    timeout: slow ones\n    --cov: odd\n",
    ],
)
def test_settings_without_a_need_of_a_plugin_are_no_fault(text: str) -> None:
    assert lines(GOOD | {"pytest.ini": text}) == []


def test_a_plugin_that_the_library_brings_has_only_to_be_loaded() -> None:
    texts = GOOD | {"pytest.ini": "[pytest]\nmarkers = a-n\naddopts = -n 2\n"}
    (line,) = lines(texts, tell=brought("pytest-xdist"))
    assert line.startswith("matrices/demo/suite/pytest.ini:3: -n needs")


def test_settings_are_told_apart_by_case_and_options_may_be_a_list() -> None:
    (line,) = lines(GOOD | {"pytest.ini": "[pytest]\nDJANGO_SETTINGS_MODULE = x\n"})
    assert "DJANGO_SETTINGS_MODULE needs pytest-django" in line
    listed = "[tool.pytest.ini_options]\naddopts = ['-q', '--cov']\n"
    (line,) = lines({"test_all.py": "", "pyproject.toml": listed})
    assert "pyproject.toml:2: --cov needs pytest-cov" in line


def test_an_option_of_the_suite_itself_is_no_fault() -> None:
    own = {"conftest.py": "def pytest_addoption(parser):\n    parser.addoption('--timeout')\n"}
    assert lines(GOOD | own | {"pytest.ini": "[pytest]\naddopts = --timeout=3\n"}) == []


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("pyproject.toml", "[tool.pytest.ini_options]\nasyncio_mode = 'auto'\n", 2),
        ("setup.cfg", "[tool:pytest]\nx = 1\nasyncio_mode = auto\n", 3),
        ("tox.ini", "[tox]\n[pytest]\nasyncio_mode=auto\n", 3),
    ],
)
def test_settings_that_a_cell_does_not_read_are_to_be_moved(
    name: str, text: str, line: int
) -> None:
    texts = {"test_all.py": "", name: text}
    (message,) = lines(texts, asking("pytest", "pytest-asyncio"))
    assert message == (
        f"matrices/demo/suite/{name}:{line}: asyncio_mode needs pytest-asyncio, but a cell reads"
        " pytest.ini alone (move the settings there, with '-p pytest_asyncio' in addopts)"
    )
    (message,) = lines(texts)
    assert "pytest-asyncio, which" in message
    assert lines(GOOD | texts) == []  # pytest itself would read pytest.ini alone


@pytest.mark.parametrize("text", ["not [toml", "[tool]\npytest = 3\n", "[tool.pytest]\n", ""])
def test_a_pyproject_without_settings_of_pytest_is_no_fault(text: str) -> None:
    assert lines({"test_all.py": "", "pyproject.toml": text}) == []
