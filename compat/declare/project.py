"""What a project's pyproject.toml and settings declare about its dependencies and tests."""

import ast
import configparser
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from packaging.dependency_groups import resolve_dependency_groups
from packaging.errors import ExceptionGroup
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from compat.declare.matrix import Matrix, decode_custom
from compat.declare.parsing import (
    choice,
    name_of_line,
    parse_requirement,
    poetry_range,
    suite_faults_at,
    toml_document,
)
from compat.errors import DeclarationError
from compat.value import Value

PYPROJECT = "pyproject.toml"


class Project(Value, frozen=True, kw_only=True):
    """What a project declares.

    `dependencies` is None if the build back end decides (`dynamic`) or there is no `[project]`.
    `groups` is `[dependency-groups]`. `listed` are requirements from other places (requirements
    files, tox, wheel metadata), by place.
    """

    name: str = ""
    requires_python: SpecifierSet | None = None
    dependencies: tuple[str, ...] | None = None
    extras: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    groups: Mapping[str, Any] = msgspec.field(default_factory=dict)
    listed: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)

    def of_group(self, name: str) -> tuple[str, ...]:
        """Resolves includes (PEP 735) and own extras. Raises ValueError for an unknown group."""
        if canonicalize_name(name) not in map(canonicalize_name, self.groups):
            message = f"{PYPROJECT} has no dependency group {name!r}"
            raise ValueError(f"{message}; {choice(name, self.groups)}")
        try:
            return self._resolved(resolve_dependency_groups(self.groups, name), {""})
        except (ValueError, TypeError, LookupError, ExceptionGroup) as error:
            first = error.exceptions[0] if isinstance(error, ExceptionGroup) else error
            raise ValueError(f"dependency group {name!r} cannot be read: {first}") from error

    def of_extra(self, name: str) -> tuple[str, ...]:
        """Extras that it names are resolved. Raises ValueError for an unknown one."""
        return self._resolved(self._extra(name), {canonicalize_name(name)})

    def of_list(self, name: str) -> tuple[str, ...]:
        return self._resolved(self.listed[name], {""})

    def _resolved(self, texts: Iterable[str], seen: set[str]) -> tuple[str, ...]:
        resolved: list[str] = []
        for text in texts:
            with suppress(InvalidRequirement):
                own = Requirement(re.sub(r"^\.(?=\[)", self.name, text))
                if canonicalize_name(own.name) == canonicalize_name(self.name):
                    extras = {*map(canonicalize_name, own.extras)} - seen
                    for extra in sorted(extras):
                        resolved += self._resolved(self._extra(extra), {*seen, *extras})
                    continue
            resolved.append(text)
        return tuple(resolved)

    def _extra(self, name: str) -> tuple[str, ...]:
        for extra, texts in self.extras.items():
            if canonicalize_name(extra) == canonicalize_name(name):
                return texts
        raise ValueError(f"{PYPROJECT} has no extra {name!r}; {choice(name, self.extras)}")


class _Table(Value, frozen=True, kw_only=True, rename="kebab"):
    """The table `[project]`, as far as it is read."""

    name: str = ""
    requires_python: SpecifierSet | None = None
    dependencies: tuple[str, ...] | None = None
    optional_dependencies: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    dynamic: tuple[str, ...] = ()


class _Document(Value, frozen=True, kw_only=True, rename="kebab"):
    """A pyproject.toml, as far as it is read."""

    project: _Table | None = None
    dependency_groups: dict[str, Any] = msgspec.field(default_factory=dict)
    tool: dict[str, Any] = msgspec.field(default_factory=dict)


def project_of(content: bytes, source: str = PYPROJECT) -> Project:
    """Raises DeclarationError. Of tools' own tables only Poetry's name and groups are read."""
    try:
        document = msgspec.convert(
            toml_document(content, source), _Document, dec_hook=decode_custom
        )
    except msgspec.ValidationError as error:
        raise DeclarationError.of(str(error), path=source) from error
    table, poetry = document.project or _Table(), document.tool.get("poetry")
    poetry = poetry if isinstance(poetry, dict) else {}
    is_static = document.project is not None and "dependencies" not in table.dynamic
    return Project(
        name=table.name or str(poetry.get("name", "")),
        requires_python=table.requires_python,
        dependencies=() if is_static and table.dependencies is None else table.dependencies,
        extras=table.optional_dependencies,
        groups=_poetry_groups(poetry) | document.dependency_groups,
    )


def listed_in(name: str, text: str) -> dict[str, tuple[str, ...]]:
    """Return the requirements in a requirements file or a tox.ini, by place."""
    if name != "tox.ini":
        return {name: tuple(_lines(text))}
    parser = configparser.RawConfigParser(allow_no_value=True, strict=False)
    with suppress(configparser.Error):
        parser.read_string(text)
    listed = {}
    for section in parser.sections():
        deps, extras = (parser.get(section, key, fallback="") or "" for key in ("deps", "extras"))
        names = ",".join(re.split(r"[,\s]+", extras.strip()))
        own = [f".[{names}]"] if names else []
        listed[f"{name} [{section}]"] = (*_lines(deps), *own)
    return listed


def name_in_setup(texts: Mapping[str, str]) -> str:
    """Return the name in a setup.cfg or a setup.py; empty if it is not a literal."""
    parser = configparser.RawConfigParser(allow_no_value=True, strict=False)
    with suppress(configparser.Error):
        parser.read_string(texts.get("setup.cfg", ""))
    if name := parser.get("metadata", "name", fallback=""):
        return name
    with suppress(SyntaxError, ValueError):
        for node in ast.walk(ast.parse(texts.get("setup.py", ""))):
            for keyword in node.keywords if isinstance(node, ast.Call) else ():
                if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
                    return str(keyword.value.value)
    return ""


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        # An environment of tox asks under a factor, `py38: pytest`.
        words = re.sub(r"^[\w{},.!-]+:\s+|\s+#.*|\s+--hash.*|\\$", "", line.strip())
        # `-e .[a]` asks for extras of the project itself, whose name stands elsewhere.
        if own := re.fullmatch(r"(?:-e\s*|--editable[ =])?(\.\[.+\])", words):
            yield own[1]
        with suppress(InvalidRequirement):
            if Requirement(words).url is None:
                yield words


def extras_in(requires_dist: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the requirements of each extra in built metadata that hold on this Python."""
    extras: dict[str, list[str]] = {}
    for text in requires_dist:
        with suppress(InvalidRequirement):
            requirement = Requirement(text)
            marker, requirement.marker = requirement.marker, None
            for name in re.findall(r"""extra == ["']([^"']+)["']""", str(marker or "")):
                if marker is not None and marker.evaluate({"extra": name}):
                    extras.setdefault(name, []).append(str(requirement))
    return {name: tuple(texts) for name, texts in extras.items()}


def _poetry_groups(poetry: dict[str, Any]) -> dict[str, list[str]]:
    """The groups of Poetry as requirements, without paths and git.

    https://python-poetry.org/docs/dependency-specification/
    """
    with suppress(AttributeError, TypeError, KeyError):
        groups = poetry.get("group", {}).items()
        tables = {name: group.get("dependencies", {}) for name, group in groups}
        tables |= {"dev": poetry["dev-dependencies"]} if "dev-dependencies" in poetry else {}
        return {name: list(_of_poetry(table)) for name, table in tables.items()}
    return {}


def _of_poetry(table: Mapping[str, Any]) -> Iterator[str]:
    for name, value in table.items():
        asked = value if isinstance(value, Mapping) else {"version": value}
        version = asked.get("version")
        if name == "python" or not isinstance(version, str):
            continue
        extras = f"[{','.join(map(str, asked['extras']))}]" if "extras" in asked else ""
        markers = [str(asked["markers"])] if "markers" in asked else []
        if "python" in asked:
            specifiers = SpecifierSet(poetry_range(str(asked["python"])))
            markers += sorted(f"python_version {s.operator} '{s.version}'" for s in specifiers)
        marker = "".join(f"({text}) and " for text in markers).removesuffix(" and ")
        yield f"{name}{extras}{poetry_range(version)}{f'; {marker}' if marker else ''}"


# Where pytest looks, in its order (https://docs.pytest.org/en/stable/reference/customize.html), and
# the section that makes a file one of settings.
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


# Settings of pytest by key, each a text or a list of texts.
ProjectSettings = Mapping[str, Any]


def settings_in(name: str, text: str) -> ProjectSettings | None:
    """Return the settings of pytest in a file; None if it has none or is unreadable."""
    if name == "pyproject.toml":
        with suppress(DeclarationError, AttributeError):
            table = toml_document(text.encode(), name).get("tool", {}).get("pytest")
            # pytest 9 reads the table itself, too; see "native TOML" in its documentation.
            values = table.get("ini_options", table)
            return values if isinstance(values, dict) else None
        return None
    parser = configparser.RawConfigParser(allow_no_value=True, strict=False)
    # Keys of pytest are case-sensitive.
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    section = _SECTIONS.get(name, "pytest")
    if parser.has_section(section):
        return {key: value or "" for key, value in parser.items(section)}
    return {} if name.endswith("pytest.ini") else None


def cell_settings(
    settings: ProjectSettings | None, arguments: Sequence[str], names: frozenset[str]
) -> str:
    """Return the pytest.ini of a cell: the project's settings and the arguments, with a note of
    what a cell cannot take.

    `names` are the packages that the suite requires. Hypothesis gets a fixed seed, so that equal
    cells run equal examples.
    """
    values, words = dict(settings or {}), [*arguments]
    while "-o" in words[:-1]:
        # pytest takes it from a command line, and not from addopts.
        place = words.index("-o")
        key, equals, value = words[place + 1].partition("=")
        values |= {key: value} if equals else {}
        del words[place : place + 2]
    addopts = values.pop("addopts", "")
    options, left_out = _kept(addopts if isinstance(addopts, list) else split_options(addopts))
    left_out += [key for key in values if _DROPPED_KEYS.match(key) and key != "testpaths"]
    options += [*(["--hypothesis-seed=0"] if "hypothesis" in names else []), *words]
    notes = [f"{_NOTE}options of pytest left out: {' '.join(left_out)}"] if left_out else []
    lines = [*notes, "[pytest]", *([f"addopts = {shlex.join(options)}"] if options else [])]
    for key, value in values.items():
        if _DROPPED_KEYS.match(key):
            continue
        text = str(value).lower() if isinstance(value, bool) else str(value)
        parts = list(map(str, value)) if isinstance(value, list) else text.splitlines()
        if len(parts) < 2:
            lines.append(f"{key} = {''.join(parts)}")
        else:
            lines += [f"{key} =", *(f"    {part}" for part in parts if part.strip())]
    return "\n".join(lines) + "\n"


def noted_settings(text: str) -> tuple[str, ...]:
    return tuple(line.removeprefix(_NOTE) for line in text.splitlines() if line.startswith(_NOTE))


def split_options(text: Any) -> list[str]:
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


def with_groups(matrix: Matrix, content: bytes | None, source: str) -> Matrix:
    """Add what the suite's groups and extras require, without packages that have an axis.
    Raises DeclarationError for an unknown one, and for what no lock can hold.
    """
    suite = matrix.suite
    if not suite.groups and not suite.extras:
        return matrix
    if content is None:
        key = "groups" if suite.groups else "extras"
        message = f"there is no {PYPROJECT} in the repository, beside the folder matrices/"
        raise DeclarationError(*suite_faults_at(source, (key,), message))
    project = project_of(content)
    texts, axes = list(suite.requirements), {axis.normalised_name for axis in matrix.packages}
    for key, names in (("groups", suite.groups), ("extras", suite.extras)):
        for number, name in enumerate(names):
            try:
                asked = project.of_group(name) if key == "groups" else project.of_extra(name)
                for text in (text for text in asked if name_of_line(text) not in axes):
                    parse_requirement(text)
                    texts.append(text)
            except ValueError as error:
                faults = suite_faults_at(source, (key, number), str(error))
                raise DeclarationError(*faults) from error
    asked_for = msgspec.structs.replace(suite, requirements=tuple(dict.fromkeys(texts)))
    return msgspec.structs.replace(matrix, suite=asked_for)
