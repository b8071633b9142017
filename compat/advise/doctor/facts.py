"""The facts that parsers find in a message, each with the line that states it."""

import re
from bisect import bisect_right
from functools import cache
from typing import Any, Literal

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from compat.declare.parsing import poetry_range
from compat.lock.resolvers import grammar_of, plain_quotes
from compat.value import Value

# Only the end of a longer message is read: tools print the error there.
MOST_READ = 50_000
_ESCAPES = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_DRAWN = re.compile("[\u2500-\u257f\u25b6\u00d7\u276f\u2501]+>?")


@cache
def grammar() -> dict[str, Any]:
    tables = grammar_of("compat.advise.doctor", "grammar.toml")
    return tables | {"lists": {n: frozenset(text.split()) for n, text in tables["lists"].items()}}


def pattern(name: str) -> "re.Pattern[str]":
    matched: re.Pattern[str] = grammar()["patterns"][name]
    return matched


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
    """A callable was called with an unknown argument (`+`), without a required one (`!`), with too
    many (`#`), or for another number of results (`=`).
    """

    function: str
    kind: Literal["+", "!", "#", "="]
    argument: str
    line: int


class Binary(Value, frozen=True):
    """A compiled file does not fit: `by` is compiled, and `what` is its target."""

    kind: str
    what: str
    by: str
    line: int
    needs: str = ""


class Changed(Value, frozen=True):
    """The user went from one release of a package to another."""

    what: str
    old: str
    new: str
    line: int


class Text:
    """The lines of a message without frames, colours and notices, and all of them joined by single
    blanks, because tools wrap lines anywhere.
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
            piece = "" if line in noted else " ".join(plain_quotes(line).split())
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
    if re.match(r"[~^](?!=)\d", part):
        return poetry_range(part)
    if part[:1].isdigit():
        part = f"=={part}"
    # `2.7*` of conda, and `>=1.9.*` of old metadata
    part = re.sub(r"(?<=\d)\*$", ".*", part)
    if part.startswith(("<", ">")):
        part = part.removesuffix(".*")
    return part


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
