"""Which strings a declaration may hold, and their parsers."""

import re
from contextlib import suppress
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from compat.declare.faults import shown

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
