"""Parsers of what a declaration may hold: TOML texts, names and versions; and their faults."""

import datetime
import difflib
import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from compat.errors import DeclarationError, Fault

# Faults of declarations: where, what is allowed, and what was probably meant.

MOST_FAULTS = 50

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]{1,60}")
_LONGEST = 60

Part = str | int
Path = tuple[Part, ...]
# Types of TOML by their names in a schema; a boolean is an integer to Python, too.
KINDS: dict[str, tuple[type, str]] = {
    "boolean": (bool, "a boolean"),
    "string": (str, "a string"),
    "integer": (int, "an integer"),
    "number": (float, "a number"),
    "date-time": (datetime.datetime, "a date with a time"),
    "date": (datetime.date, "a date"),
    "time": (datetime.time, "a time"),
    "array": (list, "an array"),
    "object": (dict, "a table"),
}


class Finding(NamedTuple):
    """A fault inside a document that is not named yet."""

    code: str
    path: Path
    message: str
    hint: str = ""


def faults_of(
    source: str, findings: Iterable[Finding], *, complete: bool = True
) -> tuple[Fault, ...]:
    """Return at most 50 faults by place, and how many more there are; `complete`: no other is."""

    def order(finding: Finding) -> list[tuple[int, int, str]]:
        return [(0, p, "") if isinstance(p, int) else (1, 0, p) for p in finding.path]

    faults = [
        Fault(code=code, path=fault_location(source, path), message=message, hint=hint)
        for code, path, message, hint in sorted(findings, key=order)
    ]
    if (rest := len(faults) - MOST_FAULTS) > 0:
        message = f"... and {rest if complete else f'at least {rest}'} more"
        faults[MOST_FAULTS:] = [Fault(code="more-faults", path=source, message=message)]
    return tuple(faults)


def suite_faults_at(source: str, path: Path, message: str, hint: str = "") -> tuple[Fault, ...]:
    return faults_of(source, [Finding("suite", ("suite", *path), message, hint)])


def unknown_axis(path: Path, name: str, allowed: Iterable[str], kind: str = "axis") -> Finding:
    return Finding(
        "unknown-axis",
        path,
        f"{shown(name)} is no {kind} of the matrix; {choice(name, sorted(allowed))}",
    )


def repeated(keys: Iterable[tuple[Path, str]]) -> Iterator[Finding]:
    first: dict[str, Path] = {}
    for path, key in keys:
        if first.setdefault(key, path) != path:
            yield Finding(
                "duplicate", path, f"{shown(key)} stands at {key_path(first[key])} already"
            )


def key_path(parts: Iterable[Part]) -> str:
    """Return the path of a key as in TOML: `rules[2].when.tf`; arrays count from 0."""
    path = ""
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
            continue
        path += ("." if path else "") + (
            part if _BARE_KEY.fullmatch(part) else json.dumps(_cut(part))
        )
    return path


def fault_location(source: str, parts: Iterable[Part] = ()) -> str:
    path = key_path(parts)
    return f"{source}: {path}" if path else source


def shown(value: object) -> str:
    """Return a declared value for a message: short, quoted, escaped."""
    match value:
        case str():
            return repr(_cut(value))
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case datetime.date() | datetime.time():
            return value.isoformat()
    return kind_of(value)


def kind_of(value: object) -> str:
    return next(name for kind, name in KINDS.values() if isinstance(value, kind))


def choice(word: str, allowed: Iterable[str]) -> str:
    """Return the allowed words, and the one that was probably meant."""
    words = list(allowed)
    if not words:
        return "none is declared"
    near = difflib.get_close_matches(_cut(word).lower(), words, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    return f"allowed: {', '.join(words)}{meant}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


# Reads TOML: bytes to a plain document, or the fault.

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# About 75 times the largest declaration; TOML of this size is read in a quarter of a second.
MOST_BYTES = 256 * 1024
DEEPEST = 16
_TOO_DEEP = f"is nested deeper than {DEEPEST} levels"

_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "UTF-8 with a byte order mark"),
    (b"\xff\xfe", "UTF-16 or UTF-32"),
    (b"\xfe\xff", "UTF-16 or UTF-32"),
)
# A string up to its closing quote or the end of its line: enough to distinguish keys from strings.
_QUOTED = re.compile(r""""(?:[^"\\\n]+|\\.)*(?:"|\\?$)|'[^'\n]*(?:'|$)""", re.MULTILINE)
# tomllib takes quadratic time and memory in the parts of a dotted key (CPython 3.11).
_LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]+[ \t]*\.[ \t]*){{{DEEPEST + 1}}}")


def toml_document(content: bytes, source: str) -> dict[str, Any]:
    """Raises DeclarationError, also beyond 256 KiB, 16 levels, and integers of 64 bits."""
    if len(content) > MOST_BYTES:
        raise _refusal(
            "too-large", source, f"has {len(content)} bytes; allowed: at most {MOST_BYTES}"
        )
    text = _text(content, source)
    if not text.strip():
        raise _refusal("empty", source, "is empty")
    if _LONG_KEY.search(_QUOTED.sub("q", text)):
        raise _refusal("too-deep", source, f"has a dotted key of more than {DEEPEST} parts")
    try:
        parsed = tomllib.loads(text)
    except RecursionError as cause:
        raise _refusal("too-deep", source, _TOO_DEEP) from cause
    except tomllib.TOMLDecodeError as error:
        end = f"at the end, line {text.count(chr(10)) + 1}"
        message = str(error).replace("at end of document", end)
        raise _refusal("toml-syntax", source, f"is not TOML: {message}") from error
    except ValueError as cause:
        # Python refuses to read more than 4300 digits.
        raise _refusal("bad-value", source, "has an integer of too many digits") from cause
    # What later readers would choke on; a stack of its own, because the document may be deep.
    waiting: list[tuple[Path, Any]] = [((), parsed)]
    while waiting:
        path, value = waiting.pop()
        if len(path) > DEEPEST:
            raise _refusal("too-deep", source, _TOO_DEEP)
        if isinstance(value, dict | list):
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [((*path, key), inner) for key, inner in pairs]
        elif isinstance(value, int) and abs(value) >= 2**63:
            place = fault_location(source, path)
            raise _refusal("bad-value", place, "is an integer beyond 64 bits")
    return parsed


def _text(content: bytes, source: str) -> str:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            raise _refusal(
                "encoding", source, f"is {encoding}; allowed: UTF-8 without a byte order mark"
            )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _refusal(
            "encoding", source, f"is not UTF-8: byte 0x{content[error.start]:02x} in line {line}"
        ) from error


def _refusal(code: str, path: str, message: str) -> DeclarationError:
    return DeclarationError(Fault(code=code, path=path, message=message))


# Beyond this no real version goes, and integers of more than 4,300 digits are refused by Python
# itself. A specifier may leave out many releases one by one. The parser of requirements recurses on
# brackets.
LONGEST_VERSION = 100
LONGEST_SPECIFIER = 2_000
LONGEST_REQUIREMENT = 300

# How tools name the Pythons that are not CPython's usual ones, such as 3.13t and pypy3.10.
_BUILD = re.compile(r"(?P<pypy>pypy-?)?(?P<version>3\.\d{1,2}(?:\.\d{1,2})?)(?(pypy)|t)")

# `$` alone lets a trailing line break pass.
_END = r"$(?!\n)"
# Neither control characters nor line separators nor bidirectional overrides: these texts reach
# terminals and pages.
_LINE = r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]*"


def _meta(pattern: str, description: str, **more: Any) -> msgspec.Meta:
    return msgspec.Meta(pattern=f"^{pattern}{_END}", description=description, **more)


_PACKAGE = "[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?"
Name = Annotated[
    str,
    _meta(
        "[a-z][a-z0-9_-]{0,39}",
        "a name: a lower-case letter, then at most 39 letters, digits, '-' or '_'",
    ),
]
Short = Annotated[str, _meta("[a-z]{1,20}", "a short name: 1 to 20 lower-case letters")]
PackageName = Annotated[str, _meta(_PACKAGE, "a package name of the index")]
ExtraName = Annotated[str, _meta(_PACKAGE, "the name of an extra, such as 'standard'")]
Reason = Annotated[
    str,
    _meta(_LINE, "a reason: one line without control characters", min_length=10, max_length=600),
]
Title = Annotated[
    str, _meta(_LINE, "a title: one line without control characters", min_length=1, max_length=80)
]
RequirementText = Annotated[
    str,
    msgspec.Meta(
        min_length=1,
        max_length=LONGEST_REQUIREMENT,
        description="a requirement such as 'pytest>=7' (PEP 508)",
        extra_json_schema={"format": "requirement"},
    ),
]
Requirements = Annotated[tuple[RequirementText, ...], msgspec.Meta(max_length=50)]
Build = Annotated[
    str, _meta(_PACKAGE + "==[A-Za-z0-9.!+_-]{1,100}", "one release, such as 'demo==1.0'")
]
Builds = Annotated[tuple[Build, ...], msgspec.Meta(max_length=200)]
Platform = Annotated[
    str,
    _meta(
        "(x86_64|aarch64)-manylinux_2_[0-9]{1,2}(-free-threaded|-pypy)?",
        "a platform: 'x86_64-manylinux_2_<minor>' or 'aarch64-manylinux_2_<minor>', and"
        " where Pythons are not CPython's usual ones '-free-threaded' or '-pypy' at its end",
    ),
]
ModuleName = Annotated[
    str,
    _meta(
        r"([A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*){0,9})?",
        "a module that can be imported, such as 'demo' or 'demo.core'; empty: the package's own"
        " name",
        max_length=100,
    ),
]
Setting = Annotated[
    str,
    _meta(
        r"[A-Z][A-Z0-9_]{0,59}=[^\x00-\x1f\x7f-\x9f]{0,200}",
        "a variable of the environment, NAME=value",
    ),
]
CellText = Annotated[
    str, _meta("[a-z0-9][a-z0-9.+!-]{0,199}", "the id of a cell, such as 'py3.9-dep2-demo1.0'")
]
SuitePath = Annotated[
    str,
    _meta(
        "([A-Za-z0-9_][A-Za-z0-9_/-]{0,99})?",
        "a folder below the matrix's own: letters, digits, '_', '-' and '/'",
    ),
]
InstalledFolder = Annotated[
    str,
    _meta(
        "[A-Za-z_][A-Za-z0-9_]{0,99}(/[A-Za-z0-9_-]{1,99}){0,9}",
        "a folder below site-packages, such as `demo/data`",
    ),
]
TestsPath = Annotated[
    str,
    _meta(
        r"((?!.*(\.\.|//|/$))[A-Za-z0-9_][A-Za-z0-9_./-]{0,199})?",
        "a folder or a file of tests below the repository, such as 'tests'",
    ),
]
Argument = Annotated[
    str,
    _meta(r"[^\x00-\x1f\x7f-\x9f]{1,100000}", "an argument of pytest, such as '-m' or 'not slow'"),
]
GroupName = Annotated[
    str, _meta(_PACKAGE, "a dependency group or an extra of the repository's pyproject.toml")
]
Groups = Annotated[tuple[GroupName, ...], msgspec.Meta(max_length=20)]
# Printable ASCII without quotes and angle brackets: links are put into pages and terminals.
Link = Annotated[
    str, _meta("https://[!#-;=?-~]+", "a link that starts with https://", max_length=500)
]


def parse_version(text: str) -> Version:
    """Return the version (PEP 440), or raise ValueError with an example of a good one."""
    _refuse_longer(text, LONGEST_VERSION, "version")
    with suppress(InvalidVersion):
        return Version(text)
    if (build := _BUILD.fullmatch(text)) is not None:
        name = "pypy" if build["pypy"] else "free-threaded"
        raise ValueError(
            f"{shown(text)} names a build of Python besides its version: write"
            f" {build['version']!r}, and end `platform` with '-{name}'"
        )
    raise ValueError(f"{shown(text)} is not a version such as '2.14.1'") from None


def parse_release(text: str) -> tuple[str, Version]:
    """Parse `name==version`, or raise ValueError with an example of a good version."""
    name, _, version = text.partition("==")
    return canonicalize_name(name), parse_version(version)


def parse_specifier(text: str) -> SpecifierSet:
    """Return the specifier (PEP 440), or raise ValueError with an example of a good one."""
    _refuse_longer(text, LONGEST_SPECIFIER, "version specifier")
    with suppress(InvalidSpecifier):
        return SpecifierSet(text)
    raise ValueError(f"{shown(text)} is not a version specifier such as '>=2.3,<3'") from None


def parse_requirement(text: str) -> Requirement:
    """Raises ValueError, also for one with a URL: locks hold releases of the index."""
    _refuse_longer(text, LONGEST_REQUIREMENT, "requirement")
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        raise ValueError(f"{shown(text)} is not a requirement such as 'pytest>=7'") from error
    if requirement.url is not None:
        raise ValueError(
            f"{shown(text)} names a URL; only releases of the index can be required, as in"
            " 'pytest>=7'"
        )
    return requirement


def _refuse_longer(text: str, longest: int, kind: str) -> None:
    if len(text) > longest:
        raise ValueError(
            f"{shown(text)} has {len(text):,} characters; a {kind} may have at most {longest:,}"
        )


@lru_cache(maxsize=20_000)
def parsed(text: str) -> Requirement | None:
    """Return a published requirement; None for an unreadable one, which resolvers ignore."""
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def poetry_range(text: str) -> str:
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


def name_of_line(text: str) -> str:
    """Return the normalised name in a requirement, readable or not."""
    return canonicalize_name(re.split(r"[^\w.-]", text.strip(), maxsplit=1)[0])


def minor_series(version: Version) -> str:
    return f"{version.major}.{version.minor}"
