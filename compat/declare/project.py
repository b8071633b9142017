"""The `declare` room's reading of a project's own pyproject.toml: what it says of its dependencies
and of its tests.

https://packaging.python.org/en/latest/specifications/pyproject-toml/
"""

import ast
import configparser
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from packaging.dependency_groups import resolve_dependency_groups
from packaging.errors import ExceptionGroup
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from compat.declare.faults import choice, fault_place
from compat.declare.parsing import parse_specifier
from compat.declare.toml import toml_document
from compat.errors import DeclarationError
from compat.value import Value

PYPROJECT = "pyproject.toml"


class Project(Value, frozen=True, kw_only=True):
    """What a pyproject.toml says of a project.

    `dependencies` is None where the file leaves them to the build backend (`dynamic`), or has no
    table `[project]`; `requires_python` is None where it says nothing. `extras` are requirements as
    they are written; `groups` is the table `[dependency-groups]`. `listed` are requirements that
    stand elsewhere (files of pip, environments of tox, the metadata of its wheel), by that place.
    """

    name: str = ""
    requires_python: SpecifierSet | None = None
    dependencies: tuple[str, ...] | None = None
    extras: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    groups: Mapping[str, Any] = msgspec.field(default_factory=dict)
    listed: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)

    def of_group(self, name: str) -> tuple[str, ...]:
        """Return the requirements of a dependency group, with those of what it includes (PEP 735);
        what it asks of the project itself stands for the requirements of those extras.

        Raises ValueError for a group that is not there, or that cannot be read.
        """
        if canonicalize_name(name) not in map(canonicalize_name, self.groups):
            message = f"{PYPROJECT} has no dependency group {name!r}"
            raise ValueError(f"{message}; {choice(name, self.groups)}")
        try:
            return self._resolved(resolve_dependency_groups(self.groups, name), {""})
        except (ValueError, TypeError, LookupError, ExceptionGroup) as error:
            first = error.exceptions[0] if isinstance(error, ExceptionGroup) else error
            raise ValueError(f"dependency group {name!r} cannot be read: {first}") from error

    def of_extra(self, name: str) -> tuple[str, ...]:
        """Return the requirements of an extra, with those of the project's extras that it names;
        raise ValueError for one that is not there.
        """
        return self._resolved(self._extra(name), {canonicalize_name(name)})

    def _resolved(self, texts: Iterable[str], seen: set[str]) -> tuple[str, ...]:
        resolved: list[str] = []
        for text in texts:
            with suppress(InvalidRequirement):
                own = Requirement(text)
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


def project_of(content: bytes, source: str = PYPROJECT) -> Project:
    """Return what a pyproject.toml says; raise DeclarationError where it cannot be read.

    Of what a tool keeps in a table of its own the groups of Poetry alone are known.
    """
    document = toml_document(content, source)
    table = _table(document, "project", source)
    dependencies = table.get("dependencies")
    if dependencies is None and table and "dependencies" not in table.get("dynamic", ()):
        dependencies = []
    extras = _table(table, "optional-dependencies", source)
    try:
        python = table.get("requires-python")
        return Project(
            name=_text(table.get("name", ""), "project.name"),
            requires_python=python and parse_specifier(_text(python, "project.requires-python")),
            dependencies=None
            if dependencies is None
            else _texts(dependencies, "project.dependencies"),
            extras={
                name: _texts(texts, f"project.optional-dependencies.{name}")
                for name, texts in extras.items()
            },
            groups=_poetry_groups(document) | _table(document, "dependency-groups", source),
        )
    except ValueError as error:
        raise DeclarationError.of(str(error), path=source) from error


def listed_in(name: str, text: str) -> dict[str, tuple[str, ...]]:
    """Return the requirements in a file of pip or in a tox.ini, by the place that they stand at."""
    if name != "tox.ini":
        return {name: tuple(_lines(text))}
    parser = configparser.RawConfigParser(allow_no_value=True, strict=False)
    with suppress(configparser.Error):
        parser.read_string(text)
    return {
        f"{name} [{section}]": tuple(_lines(parser.get(section, "deps", fallback="") or ""))
        for section in parser.sections()
    }


def name_in_setup(texts: Mapping[str, str]) -> str:
    """Return the name that a setup.cfg or a setup.py gives a project; empty where none is plain."""
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
        with suppress(InvalidRequirement):
            if Requirement(words).url is None:
                yield words


def extras_in(requires_dist: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the requirements of each extra that built metadata has, their marker gone where it
    holds for that extra on this Python.
    """
    extras: dict[str, list[str]] = {}
    for text in requires_dist:
        with suppress(InvalidRequirement):
            requirement = Requirement(text)
            marker, requirement.marker = requirement.marker, None
            for name in re.findall(r"""extra == ["']([^"']+)["']""", str(marker or "")):
                if marker is not None and marker.evaluate({"extra": name}):
                    extras.setdefault(name, []).append(str(requirement))
    return {name: tuple(texts) for name, texts in extras.items()}


def _poetry_groups(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """The groups of Poetry as requirements; what has no version there (a path, git) is left out.

    https://python-poetry.org/docs/dependency-specification/
    """
    with suppress(AttributeError, TypeError, KeyError):
        poetry = document["tool"]["poetry"]
        tables = {name: group.get("dependencies", {}) for name, group in poetry["group"].items()}
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
            specifiers = SpecifierSet(_poetry_range(str(asked["python"])))
            markers += sorted(f"python_version {s.operator} '{s.version}'" for s in specifiers)
        marker = "".join(f"({text}) and " for text in markers).removesuffix(" and ")
        yield f"{name}{extras}{_poetry_range(version)}{f'; {marker}' if marker else ''}"


def _poetry_range(text: str) -> str:
    """A constraint of Poetry as a specifier; alternatives are left open."""
    if "||" in text or text.strip() == "*":
        return ""
    return ",".join(_poetry_bound(part.strip()) for part in text.split(",") if part.strip())


def _poetry_bound(text: str) -> str:
    if text[0] not in "^~" or text.startswith("~="):
        return text if text[0] in "<>=!~" else f"=={text}"
    lowest = text[1:].strip()
    parts = [int(part) for part in lowest.split(".") if part.isdecimal()]
    # A caret lets all change after the first part that is not 0, a tilde after the second.
    stays = next((n for n, part in enumerate(parts) if part), len(parts) - 1)
    stays = stays if text[0] == "^" else min(1, len(parts) - 1)
    return f">={lowest},<{'.'.join(map(str, [*parts[:stays], parts[stays] + 1]))}"


def _table(document: Mapping[str, Any], key: str, source: str) -> dict[str, Any]:
    table = document.get(key, {})
    if not isinstance(table, dict):
        raise DeclarationError.of("is not a table", path=fault_place(source, (key,)))
    return table


def _text(value: object, key: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{key} is not a string")
    return value


def _texts(value: object, key: str) -> tuple[str, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ValueError(f"{key} is not an array of strings")
    return tuple(_text(text, key) for text in value)
