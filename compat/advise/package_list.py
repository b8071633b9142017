"""Parses the package lists of pip, uv, conda and poetry into versions by name.

Formats: `pip freeze` and `uv pip freeze`, requirements files with or without hashes (pip-tools,
poetry export), `pip list` and `uv pip list` as columns or JSON, `conda list`, and the lock files of
poetry, uv and pipenv. Lines that are not understood are reported unchanged, never guessed.
"""

import datetime
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.advise.doctor.facts import Text, grammar
from compat.run.outcome import Failed
from compat.value import Value

if TYPE_CHECKING:
    from compat.declare.matrix import Matrix
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from packaging.markers import Marker
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion

from compat.advise.doctor.facts import requirement_of, version_of
from compat.errors import UsageError

if TYPE_CHECKING:
    from compat.index.release import Published


# Whether a message shows a published cause of a failure.

# A text shows a cause when it has all parts of one of its signs, as `flat` writes them.
Sign = tuple[str, ...]
_LINE = re.compile(r":\d+$")
# The text of a traceback of each cause besides its subject; other causes have no typical text.
_ERRORS = {
    "type-error": "typeerror",
    "syntax": "syntaxerror",
    "version-guard": "importerror",
    "assertion": "assertionerror",
}


def shows(text: Text, signs_of_cause: tuple[Sign, ...]) -> bool:
    whole = _flat(text)

    def is_there(part: str) -> bool:
        sign = rf"(?<![\w-]){re.escape(part)}(?![\w-]|\.\w)"
        return re.search(sign, whole, re.ASCII) is not None

    return any(all(map(is_there, sign)) for sign in signs_of_cause)


def flat(text: str) -> str:
    """Return a text for the search of signs: without quotes, in lower case, with `-` for `_`."""
    return _flat(Text(text))


def _flat(text: Text) -> str:
    return text.flat.replace("'", "").lower().replace("_", "-")


def signs(failed: Failed) -> tuple[Sign, ...]:
    return tuple(tuple(map(flat, sign)) for sign in _signs(failed))


def _signs(failed: Failed) -> Iterator[Sign]:
    subject = failed.by or failed.subject
    if not subject:
        return
    tail = subject.rpartition(".")[2]
    match failed.cause:
        case "no-artifact" | "hash-mismatch" | "build" | "source-only":
            yield (subject,)
        case "missing-module":
            yield (f"no module named {subject}",)
        case "missing-attribute":
            yield (f"has no attribute {tail}", subject.partition(".")[0])
            yield (f"cannot import name {tail}",)
        case "conflict":
            yield ("conflict", subject)
            yield ("resolutionimpossible", subject)
        case cause if cause in _ERRORS:
            yield (_LINE.sub("", subject), _ERRORS[cause])


# Builds under another name: `demo-nightly` and `demo-gpu` are builds of demo. They hold its
# modules, but pip treats them as separate packages, and none satisfies a requirement on another.

# Suffixes that describe a build. The meaning of "-binary" or "-headless" differs by package.
_KINDS = frozenset(("nightly", "gpu", "cpu", "rocm"))
_DAY = re.compile(r"(?:dev|a|b|rc)(20\d{6})(?:\d{2})?(?!\d)")
# Nightly builds of one week mostly fit each other. A choice, not a measured value.
_MOST_DAYS = 7


class NamedBuild(Value, frozen=True):
    """An installed build under another, normalised name; `day` is that in its version."""

    name: str
    base: str
    version: Version

    @property
    def day(self) -> datetime.date | None:
        match = _DAY.search(str(self.version))
        try:
            return None if match is None else datetime.datetime.strptime(match[1], "%Y%m%d").date()
        except ValueError:
            return None

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def named_builds(
    versions: Mapping[str, Version], short: Mapping[str, str]
) -> tuple[NamedBuild, ...]:
    """`short` has names with which builds may begin, and names that only look like builds."""
    return tuple(
        NamedBuild(name=name, base=base, version=version)
        for name, version in versions.items()
        if (base := base_of(name, short)) != name
    )


def lying_over_each_other(
    versions: Mapping[str, Version], short: Mapping[str, str], bases: Collection[str]
) -> Iterator[tuple[str, tuple[NamedBuild, ...]]]:
    """Yield each package with its installed builds of different releases, including its own name.

    A nightly build towards 2.8.0 beside 2.8.0 may be a requirement of that release itself.
    """
    builds: dict[str, list[NamedBuild]] = {}
    for build in named_builds(versions, short):
        if build.base in bases:
            builds.setdefault(build.base, []).append(build)
    for base, others in builds.items():
        version = versions.get(base)
        plain = [] if version is None else [NamedBuild(name=base, base=base, version=version)]
        if len({build.version.base_version for build in (*plain, *others)}) > 1:
            yield base, (*plain, *others)


def of_other_days(
    subject: str, versions: Mapping[str, Version], short: Mapping[str, str]
) -> tuple[NamedBuild, ...]:
    """Return the subject's nightly build and those of other packages of other weeks, if any."""
    builds = [build for build in named_builds(versions, short) if build.day is not None]
    nightly = next((build for build in builds if build.base == subject), None)
    if nightly is None or nightly.day is None:
        return ()
    day = nightly.day
    far = [b for b in builds if b.day is not None and abs((b.day - day).days) > _MOST_DAYS]
    return (nightly, *far) if far else ()


def stand_ins(versions: Mapping[str, Version], short: Mapping[str, str]) -> dict[str, NamedBuild]:
    return {b.base: b for b in named_builds(versions, short) if b.base not in versions}


def base_of(name: str, short: Mapping[str, str]) -> str:
    tokens = name.split("-")
    rest = [token for token in tokens if token not in _KINDS]
    if len(rest) == len(tokens) or not rest or name in short:
        return name
    return "-".join((short.get(rest[0], rest[0]), *rest[1:]))


def short_names(matrix: "Matrix") -> dict[str, str]:
    others = {canonicalize_name(name): name for name in matrix.namesakes}
    return others | {axis.short: axis.normalised_name for axis in matrix.packages}


def is_own_name(name: str) -> bool:
    """Return whether a module of that name may be the user's or Python's own."""
    module = name.replace("-", "_").lower()
    return (
        module.startswith(("my_", "_"))
        or module in grammar()["lists"]["of_anybody"]
        or module in {known.lower() for known in sys.stdlib_module_names}
    )


# The longest list read: room for a lock with hashes of some hundred packages. A choice.
MOST_CHARACTERS = 4_000_000
_LONGEST_LINE = 2_000
_MOST_UNREAD = 20
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
        unread=tuple(unread[:_MOST_UNREAD]),
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
