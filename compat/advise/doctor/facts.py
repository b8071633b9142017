"""The facts that parsers find in a message, each with the line that states it."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache, cached_property
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


class Pattern:
    """A regular expression that is compiled where a text has a word that each match of it has."""

    def __init__(self, text: str) -> None:
        self.pattern = text
        self._is_lower = text.startswith("(?i)")
        words = _needed(text)
        self._words = tuple(map(str.lower, words)) if self._is_lower else words

    def may_match(self, text: str) -> bool:
        text = text.lower() if self._is_lower and self._words else text
        return not self._words or any(word in text for word in self._words)

    @cached_property
    def compiled(self) -> "re.Pattern[str]":
        text = self.pattern
        for word, meaning in _WORDS.items():
            text = text.replace(word, meaning)
        return re.compile(text)

    def match(self, text: str) -> "re.Match[str] | None":
        return self.compiled.match(text) if self.may_match(text) else None

    def search(self, text: str, *places: int) -> "re.Match[str] | None":
        return self.compiled.search(text, *places) if self.may_match(text) else None

    def finditer(self, text: str) -> "Iterator[re.Match[str]]":
        return self.compiled.finditer(text) if self.may_match(text) else iter(())


_PIECE = re.compile(
    r"\\.|%[A-Z]+|\[(?:\\.|[^\]\\])+\]|\((?:\?(?:P<\w+>|<?[=!:]|P=\w+|i\)))?|[)|]|[*+?]\??|\{[\d,]+\}\??|.",
    re.DOTALL,
)


def _needed(text: str) -> tuple[str, ...]:
    """Words of which each match of an expression has one; empty where none is known."""
    # Of each open group: how it began, the words of its alternatives before this one, those that
    # this one needs, and its present run of letters.
    stack: list[list[Any]] = [["", [], [], ""]]
    last: tuple[str, ...] = ()

    def end_run(top: list[Any], is_short: bool = False) -> None:
        top[2].append((top[3][: -1 if is_short else None],))
        top[3] = ""

    for piece in (*_PIECE.findall(text), "|"):
        top, before, last = stack[-1], last, ()
        if piece in ("|", ")"):
            end_run(top)
            top[1] += max(top[2], key=lambda words: min(map(len, words)))
            top[2] = []
            if piece == ")":
                stack.pop()
                is_text = top[0] not in ("(?=", "(?!", "(?<=", "(?<!") and all(top[1])
                last = tuple(top[1]) if is_text else ()
                stack[-1][2] += [last] if last else []
        elif piece[0] == "(":
            end_run(top)
            if piece != "(?i)":
                stack.append([piece, [], [], ""])
        elif piece[0] in "*+?{" and piece != "{":
            is_optional = piece[0] in "*?" or piece.startswith(("{0", "{,"))
            if before and is_optional:
                top[2].pop()
            elif not before:
                end_run(top, is_optional)
        elif (len(piece) > 1 and (piece[0] in "%[" or piece[1].isalnum())) or piece in ".^$":
            end_run(top)
        else:
            top[3] += piece[-1]
    return tuple(stack[0][1]) if all(stack[0][1]) else ()


@cache
def grammar() -> dict[str, Any]:
    content = (files("compat.advise.doctor") / "grammar.toml").read_bytes()
    tables = toml_document(content, "grammar.toml")
    tables["patterns"] = {name: Pattern(text) for name, text in tables["patterns"].items()}
    tables["lists"] = {name: frozenset(text.split()) for name, text in tables["lists"].items()}
    for table in tables.values():
        for entry in table if isinstance(table, list) else ():
            if "pattern" in entry:
                entry["pattern"] = Pattern(entry["pattern"])
    return tables


def pattern(name: str) -> Pattern:
    compiled: Pattern = grammar()["patterns"][name]
    return compiled


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
    return pattern("margin").compiled.sub(
        "", plain.strip("\u2502| ") if is_framed else plain.rstrip()
    )


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
