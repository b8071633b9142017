"""The `declare` room's settings of pytest for a project's own tests: what its repository says, as a
cell can take it.

https://docs.pytest.org/en/stable/reference/customize.html
"""

import configparser
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from compat.declare.toml import toml_document
from compat.errors import DeclarationError
from compat.value import Value

# Where pytest looks, in its order, and the section that makes a file one of settings.
SETTINGS_FILES = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
_SECTIONS = {"setup.cfg": "tool:pytest"}
# The tests are named to pytest, and it has no cache in a cell.
_DROPPED_KEYS = re.compile(r"testpaths$|cache_dir$|reruns|retries$|retry_|randomly_|xdist_")
# Options for coverage, for several processes, for another order or a part of the tests, and for
# retries, and those that end a run early: with them a cell would say something else, or less.
_DROPPED = re.compile(
    r"--(no-)?cov(-|=|$)|-n(\d+|=|auto|logical|$)|--(numprocesses|maxprocesses|dist)(=|$)"
    r"|--(reruns|retries|retry|rerun|only-rerun|randomly|random-order|splits?|testmon)(-|=|$)"
    r"|--(force-flaky|max-runs|min-passes|no-(success-)?flaky-report|group|cumulative-timing)(=|$)"
    r"|-x$|--(exitfirst|maxfail|stepwise|sw|lf|ff|nf|last-failed)(=|$)"
    r"|--(failed-first|new-first|cache-clear|cache-show)(=|$)|--junit-?xml(=|$)"
)
_WITH_A_WORD = re.compile(
    r"--cov(-report|-config|-fail-under)?$|-n$|--(numprocesses|maxprocesses|dist|maxfail)$"
    r"|--reruns(-delay)?$|--junit-?xml$|--(retries|retry-delay|splits|group|max-runs|min-passes)$"
    r"|--(only-rerun|rerun-except|randomly-seed|random-order-(bucket|seed)|cumulative-timing)$"
)
_NOTE = "# compat: "


class ProjectSettings(Value, frozen=True, kw_only=True):
    """Settings of pytest by key, each a text or a list of texts."""

    values: Mapping[str, Any]


def settings_in(name: str, text: str) -> ProjectSettings | None:
    """Return the settings of pytest that a file holds; None where it has none or is unreadable."""
    if name == "pyproject.toml":
        return _of_pyproject(text)
    parser = configparser.RawConfigParser(allow_no_value=True, strict=False)
    # Keys of pytest are told apart by case.
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    section = _SECTIONS.get(name, "pytest")
    if parser.has_section(section):
        return ProjectSettings(values={key: value or "" for key, value in parser.items(section)})
    return ProjectSettings(values={}) if name.endswith("pytest.ini") else None


def cell_settings(
    settings: ProjectSettings | None, arguments: Sequence[str], names: frozenset[str]
) -> str:
    """Return the text of the pytest.ini that a cell gets: the project's settings with the arguments
    added, without what a cell cannot take, which is noted in it.

    `names` are the packages that the suite asks for. Hypothesis gets a fixed seed, so that equal
    cells are asked equal questions.
    """
    values = {} if settings is None else dict(settings.values)
    addopts = values.pop("addopts", "")
    options, left_out = _kept(addopts if isinstance(addopts, list) else _split(addopts))
    left_out += [key for key in values if _DROPPED_KEYS.match(key) and key != "testpaths"]
    options += [*(["--hypothesis-seed=0"] if "hypothesis" in names else []), *arguments]
    notes = [f"{_NOTE}options of pytest left out: {' '.join(left_out)}"] if left_out else []
    lines = [*notes, "[pytest]", *([f"addopts = {shlex.join(options)}"] if options else [])]
    for key, value in values.items():
        if not _DROPPED_KEYS.match(key):
            lines += _lines(key, value)
    return "\n".join(lines) + "\n"


def noted_settings(text: str) -> tuple[str, ...]:
    return tuple(line.removeprefix(_NOTE) for line in text.splitlines() if line.startswith(_NOTE))


def _of_pyproject(text: str) -> ProjectSettings | None:
    try:
        table: Any = toml_document(text.encode(), "pyproject.toml")
    except DeclarationError:
        return None
    table = table.get("tool", {})
    pytest = table.get("pytest") if isinstance(table, dict) else None
    if not isinstance(pytest, dict):
        return None
    # pytest 9 reads the table itself, too; see "native TOML" in its documentation.
    values = pytest.get("ini_options", pytest)
    return ProjectSettings(values=values) if isinstance(values, dict) else None


def _split(text: Any) -> list[str]:
    try:
        return shlex.split(str(text))
    except ValueError:
        return []


def _kept(options: Sequence[str]) -> tuple[list[str], list[str]]:
    taken: list[str] = []
    left_out: list[str] = []
    takes_word = False
    for option in map(str, options):
        is_word = takes_word and not option.startswith("-")
        takes_word = False
        if is_word or _DROPPED.match(option):
            left_out.append(option)
            takes_word = bool(_WITH_A_WORD.match(option))
        else:
            taken.append(option)
    return taken, left_out


def _lines(key: str, value: Any) -> Iterator[str]:
    if isinstance(value, bool):
        value = str(value).lower()
    parts = value if isinstance(value, list) else str(value).splitlines()
    if len(parts) < 2:
        yield f"{key} = {''.join(map(str, parts))}"
        return
    yield f"{key} ="
    yield from (f"    {part}" for part in map(str, parts) if part.strip())
