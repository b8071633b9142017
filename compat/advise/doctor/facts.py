"""The facts that parsers find in a message, each with the line that states it."""

import re
from bisect import bisect_right
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from compat.declare.toml import toml_document
from compat.value import Value

# Only the end of a longer message is read: tools print the error there.
MOST_READ = 50_000
PYTHON = "python"
_ESCAPES = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_DRAWN = re.compile("[\u2500-\u257f\u25b6\u00d7\u276f\u2501]+>?")
_QUOTES = re.compile('["`\u2018\u2019\u201c\u201d]')

NAME = r"[A-Za-z](?:[\w.-]{0,80}\w)?"
EXTRAS = r"(?:\[[\w.,\s-]{1,80}\])?"
CLAUSE = r"(?:[<>=!~^]=?=? ?\d[\w.*+!-]{0,40}|\*)"
RANGE = rf"(?:{CLAUSE}(?:(?:, ?| and | ?\|\|? ?){CLAUSE}){{0,12}})"
_PY = r"\d{1,2}\.\d{1,3}(?:\.\d{1,3})?(?:[ab]\d|rc\d)?"
NUMBER = r"v?\d{1,6}(?:\.\w{1,12}){0,5}(?:[-+]\w{1,20})?"
_PART = rf"[<>=!~]=?=? ?{NUMBER}(?:\.\*)?"
_WORDS = {
    "%NUMBER": NUMBER,
    "%SPAN": rf"{_PART}(?:(?:, ?| and ){_PART}){{0,5}}",
    "%PART": _PART,
    "%OF": r"(?: package| library| module)?(?: versions?)?",
    "%NAME": NAME,
    "%EXTRAS": EXTRAS,
    "%RANGE": RANGE,
    "%VERSION": r"v?\d[\w.+!-]{0,40}?",
    "%BARE": r"(?:[<>=!~]=?=?[\w.*+!]+(?:,[<>=!~]=?=?[\w.*+!]+)*)?",
    "%PY": _PY,
    "%N": r"'?(?P<n>[A-Za-z][\w.-]{1,40}?)(?:\[[\w,]+\])?'?",
    "%V": rf"'?(?P<v>{NUMBER})'?",
}


def compiled(text: str) -> "re.Pattern[str]":
    """Compile an expression of `grammar.toml`, whose shared parts are words such as `%NAME`."""
    for word, meaning in _WORDS.items():
        text = text.replace(word, meaning)
    return re.compile(text)


@cache
def grammar() -> dict[str, Any]:
    content = (files("compat.advise.doctor") / "grammar.toml").read_bytes()
    tables = toml_document(content, "grammar.toml")
    tables["patterns"] = {name: compiled(text) for name, text in tables["patterns"].items()}
    tables["lists"] = {name: frozenset(text.split()) for name, text in tables["lists"].items()}
    for table in tables.values():
        for entry in table if isinstance(table, list) else ():
            if "pattern" in entry:
                entry["pattern"] = compiled(entry["pattern"])
    return tables


def pattern(name: str) -> "re.Pattern[str]":
    matched: re.Pattern[str] = grammar()["patterns"][name]
    return matched


class Requires(Value, frozen=True):
    """`who` at `version` requires a range of `what`; `where` is metadata, or a check at import."""

    who: str
    version: str
    what: str
    range: str
    line: int
    is_check: bool = False


class Asked(Value, frozen=True):
    """The user requires a range of a package: no package's requirement."""

    what: str
    range: str
    line: int
    who: str = ""
    version: str = ""


class Have(Value, frozen=True):
    """A present version: installed, or used in this run."""

    what: str
    version: str
    line: int


class Absent(Value, frozen=True):
    """An installer found no file: `why`, the existing tags, and the versions it saw."""

    what: str
    range: str
    why: Literal["version", "wheel", "platform", "yanked", "wheel-tag"]
    line: int
    tags: tuple[str, ...] = ()
    versions: tuple[str, ...] | None = None


class Refused(Value, frozen=True):
    """Releases of `who` (empty where pip omits the name) that are for other Pythons."""

    who: str
    version: str
    range: str
    line: int


class Unbuilt(Value, frozen=True):
    """A source release that failed to build, and the build tool that does not fit."""

    what: str
    version: str
    line: int
    why: str = ""


class LacksName(Value, frozen=True):
    """A module or class lacks a name. `since` is the release that removed it, if stated."""

    module: str
    name: str
    line: int
    is_class: bool = False
    file: str = ""
    since: str = ""


class NoModule(Value, frozen=True):
    """A module was not found."""

    module: str
    line: int


class BadCall(Value, frozen=True):
    """A callable was called with an unknown argument (`+`), without a required one (`!`), or with
    too many (`#`).
    """

    function: str
    kind: Literal["+", "!", "#"]
    argument: str
    line: int


class Binary(Value, frozen=True):
    """A compiled file does not fit: `by` is compiled, and `what` is its target."""

    kind: str
    what: str
    by: str
    line: int
    needs: str = ""


class Syntax(Value, frozen=True):
    """Python cannot parse a line of a file."""

    source: str
    file: str
    line: int
    text: str = ""


class Changed(Value, frozen=True):
    """The user went from one release of a package to another."""

    what: str
    old: str
    new: str
    line: int


class Trouble(Value, frozen=True):
    """Errors unrelated to versions: network, disk, permissions, a shadowed module."""

    kind: str
    sentence: str
    line: int


Fact = Value


class Text:
    """A message as it is parsed: its lines without frames, colours and notices.

    Also all of them joined by single blanks, because tools wrap lines anywhere.
    """

    def __init__(self, text: str) -> None:
        text = _ESCAPES.sub("", text[-MOST_READ:]).replace("\\\\", "/").replace("\r", "\n")
        # A word longer than any name or path is no part of a format, and would take quadratic time.
        text = re.sub(r"\S{300,}", lambda word: f"{word[0][:150]} {word[0][-150:]}", text)
        self.lines = [] if not text.strip() else [_bare(line) for line in text.split("\n")]
        self.notices = [line for line in self.lines if pattern("notice").search(line)]
        noted, length = set(self.notices), 0
        self._starts: list[int] = []
        pieces: list[str] = []
        for line in self.lines:
            piece = "" if line in noted else " ".join(_QUOTES.sub("'", line).split())
            self._starts.append(length)
            if piece:
                pieces.append(piece)
                length += len(piece) + 1
        self.flat = " ".join(pieces)

    def line_at(self, offset: int) -> int:
        return max(1, bisect_right(self._starts, offset))


def _bare(line: str) -> str:
    plain = _DRAWN.sub(" ", line)
    is_framed = plain.strip()[:1] in "\u2502|"
    return pattern("margin").sub("", plain.strip("\u2502| ") if is_framed else plain.rstrip())


def specifier(text: str) -> SpecifierSet | None:
    """Parse a range in any tool's notation; None for other text."""
    # The last alternative (`~2.7 || ^3.4`), which is the newest.
    text = text.rpartition("||")[2].strip().strip("()'\"").replace(" and ", ",").replace("|", ",")
    if not text or text in ("*", "any"):
        return SpecifierSet()
    text = re.sub(r"(?<![<>=!~])=(?!=)", "==", text)
    parts = [part.strip() for part in text.split(",") if part.strip()]
    try:
        return SpecifierSet(",".join(filter(None, map(_clause, parts))))
    except InvalidSpecifier:
        return None


def _clause(part: str) -> str:
    part = part.replace(" ", "")
    match part[:1]:
        case "^":
            return _caret(part[1:])
        case "~" if not part.startswith("~="):
            return f"~={part[1:]}" if part.count(".") else f"=={part[1:]}.*"
    if part[:1].isdigit():
        part = f"=={part}"
    # `2.7*` of conda, and `>=1.9.*` of old metadata
    part = re.sub(r"(?<=\d)\*$", ".*", part)
    if part.startswith(("<", ">")):
        part = part.removesuffix(".*")
    return part


def _caret(version: str) -> str:
    numbers = [int(n) for n in re.findall(r"\d+", version)][:3]
    place = next((i for i, n in enumerate(numbers) if n), len(numbers) - 1)
    upper = [*numbers[:place], numbers[place] + 1] if numbers else [1]
    return f">={version},<{'.'.join(map(str, upper))}"


@cache
def requirement_of(text: str) -> Requirement | None:
    try:
        requirement = Requirement(text)
    except (InvalidRequirement, InvalidVersion):
        return None
    requirement.name = canonicalize_name(requirement.name)
    return requirement


def version_of(text: str) -> Version | None:
    try:
        return Version(text.strip().rstrip(".,;:)'"))
    except InvalidVersion:
        return None
