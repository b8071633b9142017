"""Parses the package lists of pip, uv, conda and poetry into versions by name.

Formats: `pip freeze` and `uv pip freeze`, requirements files with or without hashes (pip-tools,
poetry export), `pip list` and `uv pip list` as columns or JSON, `conda list`, and the lock files of
poetry, uv and pipenv. Lines that are not understood are reported unchanged, never guessed.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from packaging.markers import Marker
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from compat.advise.doctor.facts import requirement_of, version_of
from compat.errors import UsageError
from compat.value import Value

if TYPE_CHECKING:
    from compat.index.release import Published

# The longest list read: room for a lock with hashes of some hundred packages. A choice.
MOST_CHARACTERS = 4_000_000
_LONGEST_LINE = 2_000
_UNREAD_KEPT = 20
_NAME = r"[A-Za-z0-9](?:[\w.-]{0,98}[A-Za-z0-9])?"
_VERSION = r"v?\d[\w.+!-]{0,80}"
# `name  1.2.3` of pip, uv and conda; a third column is a folder, a build or a channel.
_COLUMNS = re.compile(rf"({_NAME})\s+\(?({_VERSION})\)?(?:\s+\S.{{0,300}})?")
_TWO_BLANKS = re.compile(r"\S(?: {2,}|\t+)\S")
_CONDA = re.compile(rf"({_NAME})=({_VERSION})(?:=[\w.+-]{{1,80}})?")
_PYTHON = re.compile(
    r"^(?:# python: |.{0,200}\bwith python |.{0,200}--python-version[= ]"
    r"|python(?: version)?(?::| is|==?| )\s{0,20})v?(3\.\d{1,2}(?:\.\d{1,2})?)\b",
    re.IGNORECASE | re.MULTILINE,
)
# A line with installation instructions, or a tool's text around its list.
_OPTION = re.compile(
    r"-{1,2}(?:i|index-url|extra-index-url|f|find-links|hash|no-binary"
    r"|only-binary|prefer-binary|pre|trusted-host|require-hashes|no-index)\b"
)
_RULE = re.compile(r"[-=─ ]{3,}")
_HEADING = re.compile(r"(?:package|name)\s+version\b", re.IGNORECASE)
_LOCKED = re.compile(r"^\[\[package\]\]\s*$", re.MULTILINE)
_KEY = re.compile(r'^(name|version) = "([^"\n]{1,120})"', re.MULTILINE)


class PackageList(Value, frozen=True):
    """The packages of an environment or a list: versions by normalised name (PEP 503).

    `ranges` are a list's requirements without an exact version, as written. `metadata` has each
    installed package's requirements, where readable; then the list is `is_whole`: missing packages
    are not installed. `unread` are the first lines that were not understood, `unread_count` is
    their total.
    """

    versions: dict[str, Version]
    python: Version | None = None
    metadata: "dict[str, Published]" = msgspec.field(default_factory=dict)
    is_whole: bool = False
    unread: tuple[str, ...] = ()
    unread_count: int = 0
    ranges: dict[str, str] = msgspec.field(default_factory=dict)


def read_list(text: str, python: Version | None = None) -> PackageList:
    """`python` decides markers; without it all hold. Raises UsageError for a too long text."""
    if len(text) > MOST_CHARACTERS:
        raise UsageError.of(
            f"is no list of packages: longer than {MOST_CHARACTERS // 1_000_000} million characters"
        )
    python = python or stated_python(text)
    pairs, unread = _pairs(text, python)
    needs = {line: requirement_of(line) for line in unread if len(line) <= _LONGEST_LINE}
    # Requirements without an exact version.
    wishes = {
        line: need
        for line, need in needs.items()
        if need and need.specifier and not need.url and _holds(need.marker, python)
    }
    unread = [line for line in unread if line not in wishes]
    versions: dict[str, Version] = {}
    for name, version in pairs:
        if name == "python":
            python = python or version
        else:
            versions.setdefault(name, version)
    return PackageList(
        versions=versions,
        python=python,
        unread=tuple(unread[:_UNREAD_KEPT]),
        unread_count=len(unread),
        ranges={need.name: str(need.specifier) for need in wishes.values()},
    )


def stated_python(text: str) -> Version | None:
    match = _PYTHON.search(text[:200_000])
    return None if match is None else Version(match[1])


def listed_versions(text: str) -> dict[str, Version]:
    """Return the exact pins, and columns with two blanks between, in another text."""
    versions: dict[str, Version] = {}
    for line in text.splitlines():
        stripped = line.strip().removeprefix("+ ")
        if re.search(r"\w==\d", stripped) or _TWO_BLANKS.search(stripped):
            for name, version in _pair(stripped, None) or ():
                versions.setdefault(name, version)
    return versions


def _pairs(text: str, python: Version | None) -> tuple[list[tuple[str, Version]], list[str]]:
    structured = _json(text) if text.lstrip()[:1] in ("[", "{") else None
    if structured is not None:
        return structured, []
    if _LOCKED.search(text):
        return list(_locked(text)), []
    pairs: list[tuple[str, Version]] = []
    unread: list[str] = []
    for line in _joined(text):
        if not line or _RULE.fullmatch(line) or _HEADING.match(line) or _OPTION.match(line):
            continue
        if re.fullmatch(r"python(?: version)?:? ?v?3[\d.]*", line, re.IGNORECASE):
            continue
        pair = _pair(line, python)
        if pair is None:
            unread.append(line)
        else:
            pairs += pair
    return pairs, unread


def _joined(text: str) -> Iterator[str]:
    held = ""
    for line in text.splitlines():
        held = f"{held} {line.strip()}".strip()
        if held.endswith("\\") and len(held) <= _LONGEST_LINE * 100:
            held = held[:-1].rstrip()
            continue
        yield re.sub(r"(?:^|\s)#.*", "", held).strip()
        held = ""
    if held:
        yield held


def _pair(line: str, python: Version | None) -> list[tuple[str, Version]] | None:
    """The package of a line, empty where a marker excludes it; None for an unknown format."""
    line = re.sub(r"\s--hash=.*", "", line)
    if len(line) > _LONGEST_LINE:
        return None
    requirement = requirement_of(line)
    if requirement is not None:
        if not _holds(requirement.marker, python):
            return []
        version = None
        if requirement.url:
            with suppress(InvalidWheelFilename, InvalidVersion):
                name = requirement.url.partition("#")[0].rpartition("/")[2]
                version = parse_wheel_filename(name)[1]
        else:
            clauses = list(requirement.specifier)
            exact = [c for c in clauses if c.operator in ("==", "===") and "*" not in c.version]
            version = version_of(exact[0].version) if len(clauses) == len(exact) == 1 else None
        return None if version is None else [(requirement.name, version)]
    # With more than three words and single blanks between, the columns are unknown.
    is_prose = len(line.split()) > 3 and not _TWO_BLANKS.search(line)
    match = _CONDA.fullmatch(line) or (None if is_prose else _COLUMNS.fullmatch(line))
    version = None if match is None else version_of(match[2])
    return None if match is None or version is None else [(canonicalize_name(match[1]), version)]


def _holds(marker: Marker | None, python: Version | None) -> bool:
    """Whether a marker admits the Python; where that is unknown, every marker does."""
    if marker is None or python is None:
        return True
    from compat.plan.platform import marker_values

    return marker.evaluate(marker_values(python, "x86_64-manylinux_2_31"))


def _json(text: str) -> list[tuple[str, Version]] | None:
    try:
        content: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    if isinstance(content, dict):
        default = content.get("default")
        locked = default.items() if isinstance(default, dict) else ()
        content = [{"name": n, **entry} for n, entry in locked if isinstance(entry, dict)]
    pairs: list[tuple[str, Version]] = []
    for entry in content if isinstance(content, list) else ():
        row = entry if isinstance(entry, dict) else {}
        name, version = row.get("name"), row.get("version")
        if isinstance(name, str) and isinstance(version, str) and re.fullmatch(_NAME, name):
            parsed = version_of(version.removeprefix("=="))
            pairs += [] if parsed is None else [(canonicalize_name(name), parsed)]
    return pairs if isinstance(content, list) else None


def _locked(text: str) -> Iterator[tuple[str, Version]]:
    for section in _LOCKED.split(text)[1:]:
        keys = dict(reversed(_KEY.findall(section.partition("\n[")[0])))
        version = version_of(keys.get("version", ""))
        if "name" in keys and version is not None:
            yield canonicalize_name(keys["name"]), version
