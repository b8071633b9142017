"""Parses what pip, uv, poetry, pipenv, pip-tools and conda print into facts, each with its place.

Single-line formats are in `resolvers.toml`; lists of requirements are parsed here.
"""

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import islice
from typing import Any, Literal

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from compat.lock.lockfile import Cause, Pin, Refusal
from compat.value import Value

PYTHON = "python"
_MOST = 400  # matches of one format in a text
_QUOTES = re.compile('["`\u2018\u2019\u201c\u201d]')

NAME = r"[A-Za-z](?:[\w.-]{0,80}\w)?"
# Of extras, a group, and a marker.
EXTRAS = r"(?:\[[\w.,\s-]{1,80}\])?(?::[a-z][\w-]{1,30}(?= ))?(?:\{[^}]{1,90}\})?"
CLAUSE = r"(?:[<>=!~^]={0,2} ?\d[\w.*+!-]{0,40}|\*)"
RANGE = rf"(?:{CLAUSE}(?:(?:, ?| and | ?\|\|? ?){CLAUSE}){{0,12}})"
_PY = r"\d{1,2}\.\d{1,3}(?:\.\d{1,3})?(?:[ab]\d|rc\d)?"
NUMBER = r"v?\d{1,6}(?:\.\w{1,12}){0,5}(?:[-+]\w{1,20})?"
_PART = rf"[<>=!~]={{0,2}} ?{NUMBER}(?:\.\*)?"
_WORDS = {
    "%NUMBER": NUMBER,
    "%SPAN": rf"{_PART}(?:(?:, ?| and ){_PART}){{0,5}}",
    "%PART": _PART,
    "%OF": r"(?: package| library| module)?(?: versions?)?",
    "%NAME": NAME,
    "%EXTRAS": EXTRAS,
    "%RANGE": RANGE,
    "%VERSION": r"v?\d[\w.+!-]{0,40}?",
    "%BARE": r"(?:[<>=!~]={0,2}[\w.*+!]+(?:,[<>=!~]={0,2}[\w.*+!]+)*)?",
    "%PY": _PY,
    "%N": r"'?(?P<n>[A-Za-z][\w.-]{1,40}?)(?:\[[\w,]+\])?'?",
    "%V": rf"'?(?P<v>{NUMBER})'?",
}


def compiled(text: str) -> "re.Pattern[str]":
    """Compile an expression of a grammar, whose shared parts are words such as `%NAME`."""
    for word, meaning in _WORDS.items():
        text = text.replace(word, meaning)
    return re.compile(text)


@cache
def grammar_of(package: str, name: str) -> dict[str, Any]:
    """The tables of a package's grammar; each expression is compiled."""
    from importlib.resources import files  # both cost what a question without a message need not

    from compat.declare.parsing import toml_document

    tables = toml_document((files(package) / name).read_bytes(), name)
    tables["patterns"] = {name: compiled(text) for name, text in tables["patterns"].items()}
    for table in tables.values():
        for entry in table if isinstance(table, list) else ():
            if "pattern" in entry:
                entry["pattern"] = compiled(entry["pattern"])
    return tables


_grammar = partial(grammar_of, "compat.lock", "resolvers.toml")


class Demand(Value, frozen=True):
    """A range of a package that `who` at `version` requires; without `who`, that somebody does."""

    what: str
    range: str
    line: int
    who: str = ""
    version: str = ""

    @property
    def requirement(self) -> str:
        return f"{self.what}{self.range.replace(' ', '')}"

    @property
    def asker(self) -> str:
        return f"{self.who}{'==' if self.version[:1].isdigit() else ''}{self.version}"


class Requires(Demand, frozen=True):
    """What a package's metadata requires, or its code at import (`is_check`)."""

    is_check: bool = False


class Asked(Demand, frozen=True):
    """What the user requires: no package's requirement."""


class Have(Value, frozen=True):
    """A present version: installed, or used in this run."""

    what: str
    version: str
    line: int


class Absent(Demand, frozen=True):
    """An installer found no file: `why`, the existing tags, and the versions it saw."""

    why: Literal["version", "wheel", "platform", "yanked", "wheel-tag"] = "version"
    tags: tuple[str, ...] = ()
    versions: tuple[str, ...] | None = None


class Unbuilt(Demand, frozen=True):
    """A source release that failed to build; `what` is empty where the installer omits it."""


class Refused(Value, frozen=True):
    """A release, of a package that pip omits, that is for other Pythons."""

    version: str
    range: str
    line: int


class Trouble(Value, frozen=True):
    """Errors unrelated to versions: network, disk, permissions, a shadowed module."""

    kind: str
    sentence: str
    line: int


Fact = Value
Match = re.Match[str]
Made = Iterator[Fact]


def plain_quotes(text: str) -> str:
    """A text of the same length with `'` for each kind of quote, as the formats expect."""
    return _QUOTES.sub("'", text)


def facts_in(flat: str, line_at: Callable[[int], int] = int) -> Made:
    """The facts in a text whose blanks are single and whose quotes are plain.

    Their `line` is where they begin in it, or the number that `line_at` returns for that place.
    """
    for entry in _grammar()["format"]:
        for match in islice(entry["pattern"].finditer(flat), _MOST):
            for kind in entry["facts"]:
                yield from _stated(kind, _Match(match, entry), line_at(match.start()))
    yield from _requested_lists(flat, line_at)


def package_name(text: str) -> str:
    name = str(canonicalize_name(re.sub(r"\[.*|\{.*", "", text.strip())))
    return PYTHON if name in ("cpython", "python") else name


class _Match:
    """The fields of one match, by the letters of `resolvers.toml`."""

    def __init__(self, match: Match, entry: dict[str, Any]) -> None:
        self.groups, self.entry = match.groupdict(), entry
        wanted = entry.get("range", "").format(self["v"]) or self["r"].strip(",")
        self.range = wanted or (f"=={self['v']}" if self["v"] else "")

    def __getitem__(self, group: str) -> str:
        return (self.groups.get(group) or "").rstrip(".")

    @property
    def what(self) -> str:
        return self.entry.get("what") or package_name(self["n"])


def _stated(kind: str, match: _Match, line: int) -> Made:
    match kind:
        case "Requires":
            is_check = match.entry.get("check", False)
            who = package_name(match["who"])
            yield Requires(match.what, match.range, line, who, match["w"], is_check)
        case "Asked":
            yield Asked(match.what, match.range, line)
        case "Other":
            yield Asked(package_name(match["h"]), match["hv"], line)
        case "Have" if match["h"]:
            yield Have(what=package_name(match["h"]), version=match["hv"], line=line)
        case "Refused":
            yield Refused(version=match["v"], range=match["r"], line=line)
        case "Unbuilt":
            yield Unbuilt(match.what, match.range, line)
        case "Absent" if not _meet(match["has"], match.range):
            yield _absent(match, line)
        case "Asker":  # of a package that pip does not find: `demo==1.0->-r requirements.txt`
            first = match["origin"].partition("->")[0].strip()
            asker = re.match(rf"({NAME}){EXTRAS}(?:==(\d[\w.+!-]*)$)?", first)
            if asker and asker[1] not in ("r", "c"):
                who = package_name(asker[1])
                yield Requires(match.what, match.range, line, who, asker[2] or "")
        case "Joined":  # pip-tools joins the ranges of several packages, and saw releases
            clauses = [clause for clause in match["r"].split(",") if clause]
            for clause in clauses if len(clauses) > 1 and match["all"] else ():
                yield Requires(match.what, clause, line)


def _meet(one: str, other: str) -> bool:
    """Whether two ranges meet: what another range ruled out is not absent."""
    try:
        both = SpecifierSet(one) & SpecifierSet(other)
    except InvalidSpecifier:
        return False
    return bool(one) and not both.is_unsatisfiable()


def _absent(match: _Match, line: int) -> Fact:
    if match["n"].endswith(".txt") or match.what == PYTHON:
        words = f"{match['n']} names no package: the command or the list is not as pip takes it."
        return Trouble(kind="machine", sentence=words, line=line)
    visited = match.groups.get("all")
    versions = None if visited is None else tuple(re.findall(r"(?:^|, ?)(\d[^,\s]*)", visited))
    versions = versions if match.groups.get("none") is None else ()
    tags = tuple(re.findall(r"\w+", match["tags"].replace(" and ", " ")))
    why = match.entry["why"]
    return Absent(match.what, match.range, line, why=why, tags=tags, versions=versions)


# Lists of the user's requirements, and their items: a name, and its range in a second group.
_NAMED = rf"(?:^|, | and )({NAME})()(?=,| and |$)"
_PINNED = rf"(?<![\w-])({NAME}){EXTRAS}(?: |(?===))({RANGE}|\d[\w.*+!]{{0,30}})"
_TERM = rf"({NAME}){EXTRAS}(?:\{{[^}}]*\}})?({RANGE})?\.?(?=,| and |$| \()"
_WORD = rf"(?:^| )'?({NAME}){EXTRAS} ?({CLAUSE}(?:,{CLAUSE})*)'?(?= |$)"


def _requested_lists(flat: str, line_at: Callable[[int], int]) -> Made:
    """The user's requirements as a tool lists them: pip's `Cannot install`, uv's `you require`."""
    patterns = _grammar()["patterns"]
    for listed, each in (
        ("cannot_install", _PINNED),
        ("cannot_install", _NAMED),
        ("you_require", _TERM),
        ("command", _WORD),
    ):
        for match in islice(patterns[listed].finditer(flat), _MOST):
            items = dict.fromkeys(re.findall(each, match[1]))
            names = [name for name, _ in items]
            for name, wanted in items:
                # Releases that pip tried, by what they require: none of them is the user's wish.
                is_tried = names.count(name) > 1 and re.search(rf"{name}\S* \d\S* depends on", flat)
                if name not in ("line", "and", "r"):
                    wish = "" if is_tried else wanted
                    yield Asked(package_name(name), wish, line_at(match.start()))
    for match in islice(patterns["asked_python"].finditer(flat), _MOST):
        line = line_at(match.start())
        yield Asked(what=PYTHON, range=match[1], line=line)
        tail = flat[match.end() : match.end() + 200]
        who = re.match(rf" and ({NAME}){EXTRAS}([<>=!~][^ ]*)? depends? on Python", tail)
        before = flat[max(0, match.start() - 700) : match.start()]
        above = re.findall(rf"({NAME})\{{[^}}]*\}}[<>=]", before)
        name, version = (who[1], who[2] or "") if who else (above[-1] if above else "", "")
        yield Requires(PYTHON, match[2], line, package_name(name), version)


# ---- builds, and names


def build_trouble(text: str) -> Iterator[tuple[dict[str, Any], str]]:
    """The entries of `resolvers.toml` that a build's report shows, with the build tool at fault."""
    for entry in _grammar()["build"]:
        if match := entry["pattern"].search(text):
            yield entry, entry.get("tool") or match.groupdict().get("tool") or ""


# A requirement or an exact version inside a resolver's sentence, and a package that it names.
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_REQUIREMENT = re.compile(rf"({_NAME})(?:\[[^\]]*\]|\{{[^}}]*\}})?\s*(?:[<>=!~]=|[<>])")
_MENTIONED = re.compile(
    rf"({_NAME}) (?:depends? on|(?:was|were) yanked|was not found|(?:has|have) no)"
    rf"|(?:depends? on|versions? of|you require) ({_NAME})"
)
# In "demo==1.0 depends on dep" the version is where a name could be.
_VERSION = re.compile(r"\d+(?:\.\w+)*")


def packages_in(sentence: str) -> tuple[str, ...]:
    """The packages that a resolver's sentence or a requirement names, those with a range first."""
    plain = [sentence] if re.fullmatch(_NAME, sentence) else []
    names = (
        next(filter(None, match.groups()))
        for pattern in (_REQUIREMENT, _MENTIONED)
        for match in pattern.finditer(sentence)
    )
    return tuple(
        dict.fromkeys(canonicalize_name(n) for n in (*plain, *names) if not _VERSION.fullmatch(n))
    )


# Judges a resolver's failure text: its facts become a cause, a subject and a reason.

_HIDDEN = re.compile(r"`([\w.-]+)` was filtered by `exclude-newer")
_WHEELS_ONLY = re.compile(r"Wheels are required for `([\w.-]+)`")
_OFFERED = re.compile(r"only the following versions of ([\w.-]+) are available")
# uv's conclusion, up to its next fact.
_CONCLUSION = re.compile(r",? we can conclude.*?(?= (?:And )?[Bb]ecause |$)")
# pip's own set-up of a build broke, not the build: that is infrastructure.
_PIP_SET_UP = re.compile(r"installing (?:build|backend) dependencies")
_REASON_ENDS = (
    *(", we can conclude", " we can conclude", " hint:", " cause: "),
    *(" ERROR: ", " Traceback (most recent call last)"),
)
_LONGEST = 300  # characters of a reason
_URL = re.compile(r"\b(?:https?|file)://\S+")
_PATH = re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+[\w.+-]*")
# What a fact says of a resolution. A missing file blocks its dependents, and a conflict is about
# the dependency, so the first in this order decides.
_CAUSES: dict[type[Fact], Cause] = {
    Unbuilt: "build",
    Absent: "no-artifact",
    Requires: "conflict",
    Asked: "conflict",
}
_WEIGHTS: tuple[Cause, ...] = ("build", "requires-python", "no-artifact", "yanked", "conflict")
Judged = tuple[Cause, Demand]


def _judged(text: str) -> list[Judged]:
    judged: list[Judged] = []
    for fact in facts_in(plain_quotes(text)):
        cause = _CAUSES.get(type(fact))
        if cause is not None and isinstance(fact, Demand) and not getattr(fact, "is_check", False):
            cause = "yanked" if isinstance(fact, Absent) and fact.why == "yanked" else cause
            judged.append(("requires-python" if fact.what == PYTHON else cause, fact))
    return judged


def refusal_of_uv(text: str) -> Refusal | None:
    """uv's first sentence joins two or three facts in no fixed order; the weightiest decides."""
    if "No solution found" not in text and "Failed to" not in text:
        return None
    story = _story(text, r"(?:No solution found[^:]*?dependencies:?|error:)")
    derivation = story.partition(" hint:")[0]
    root = derivation.partition(" we can conclude")[0]
    decisive = _decisive(root)
    if decisive is None:
        return None
    cause, fact = decisive
    refusal = msgspec.structs.replace(
        _refusal(cause, fact, story),
        hidden=tuple(_HIDDEN.findall(text)),
        named=tuple(sorted(packages_in(derivation))),
        wheelless=tuple(dict.fromkeys(_WHEELS_ONLY.findall(text))),
    )
    match cause:
        case "build":
            tool, own = tool_at_fault(text), tool_message(own_error(text))
            because = f"{refusal.because}: {own}" if own else refusal.because
            cause = "build-tool" if tool else "build"
            return msgspec.structs.replace(refusal, cause=cause, because=because)
        case "no-artifact" if fact.what in refusal.wheelless:
            return msgspec.structs.replace(refusal, cause="source-only")
        case "conflict":
            others = [f for _, f in _judged(_CONCLUSION.sub("", derivation[len(root) :]))]
            for other in sorted(others, key=lambda each: bool(each.who)):
                if other.what == fact.what and other.requirement not in root:
                    because = cut_reason(f"{refusal.because}, and {_sentence(other)}")
                    return msgspec.structs.replace(refusal, because=because)
    return refusal


def _decisive(root: str) -> Judged | None:
    """A missing file of some versions is irrelevant beside a conflict over the package."""
    judged = _judged(root)
    dependents = {fact.who for _, fact in judged}
    weighed = [(c, f) for c, f in judged if c != "no-artifact" or f.what not in dependents]
    first = min(
        weighed, key=lambda j: (_WEIGHTS.index(j[0]), isinstance(j[1], Asked)), default=None
    )
    offered = _OFFERED.search(root)
    if offered is None or (first is not None and not isinstance(first[1], Asked)):
        return first
    alone = Demand(what=offered[1], range="", line=offered.start())
    asked = next((fact for _, fact in weighed if fact.what == offered[1]), alone)
    return "no-artifact", asked


def _sentence(fact: Demand) -> str:
    return f"{f'{fact.asker} depends on' if fact.who else 'you require'} {fact.requirement}"


def requested_builds(text: str) -> tuple[str, ...]:
    """Return the releases, `NAME==VERSION`, that `needs_builds` says a build would have to make."""
    listed = re.findall(r"add (.+?) to builds in matrix\.toml", text)
    return tuple(
        dict.fromkeys(release for each in listed for release in each.strip('"').split('", "'))
    )


def needs_builds(refusal: Refusal, pins: Sequence[Pin]) -> Refusal:
    releases = [f"{pin.name}=={pin.version}" for pin in pins]
    names = ", ".join(releases)
    has, listed = "have" if pins[1:] else "has", ", ".join(f'"{release}"' for release in releases)
    because = (
        f"{names} {has} no wheel for this cell, only a source distribution; add {listed} to builds"
        " in matrix.toml to allow the build"
    )
    return msgspec.structs.replace(
        refusal, cause="source-only", subject=releases[0], because=because
    )


def refusal_of_pip(text: str) -> Refusal | None:
    """pip reports a version for another Python as missing, and lists it before among the ignored
    ones. Only in a traceback it shows who requires what.
    """
    story = _story(text, r"ERROR:")
    if _PIP_SET_UP.search(story):
        return None
    judged = _judged(story)
    wishes = [fact for _, fact in judged if isinstance(fact, Asked | Requires)]
    wishes.sort(key=lambda wish: wish.line)
    listed = re.search(r"Cannot install (?!-r )", story)
    place = -1 if listed is None else listed.start()
    stated = [(c, f) for c, f in judged if c != "conflict" or (f.line == place and not f.who)]
    first = min(stated, key=lambda each: each[1].line, default=None)
    if first is not None:
        refusal = _refusal(*first, story)
    else:
        sentences = {wish.requirement: _sentence(wish) for wish in wishes}
        if len(sentences) < 2:
            return None
        depended = [wish.requirement for wish in wishes if wish.who]
        because = cut_reason(tool_message(" and ".join(sentences.values())))
        subject = (depended or [*sentences])[0]
        refusal = Refusal(cause="conflict", subject=subject, because=because)
    # pip does not show which releases lack a wheel: any package that it mentions may.
    spoken_of = dict.fromkeys(f.what for f in ([first[1]] if first else []) + wishes)
    refusal = msgspec.structs.replace(refusal, wheelless=tuple(spoken_of))
    _, _, version = refusal.subject.partition("==")
    facts = facts_in(plain_quotes(story))
    is_ignored = any(isinstance(fact, Refused) and fact.version == version for fact in facts)
    if refusal.cause != "no-artifact" or not is_ignored:
        return refusal
    because = tool_message(f"{refusal.subject} asks for another Python")
    return msgspec.structs.replace(refusal, cause="requires-python", because=because)


def tool_message(text: str) -> str:
    return " ".join(_PATH.sub("<path>", _URL.sub("<url>", text)).split())


def cut_reason(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return text[: _LONGEST - 3].rpartition(" ")[0].rstrip(",;:") + "..."


def last_words(text: str) -> str:
    message = tool_message(text)
    return message if len(message) <= _LONGEST else message[-_LONGEST:].partition(" ")[2]


def _story(text: str, start: str) -> str:
    match = re.search(start, text)
    lines = text[match.start() if match else 0 :].splitlines()
    return " ".join(" ".join(line.strip(" │╰├─▶\u00d7\t") for line in lines).split())


def _refusal(cause: Cause, fact: Demand, story: str) -> Refusal:
    """A refusal whose reason is the sentence of a fact."""
    place, subject = fact.line, fact.asker if fact.what == PYTHON else fact.requirement
    begin = max(
        story.rfind(mark, 0, place) + len(mark) if mark in story[:place] else 0
        for mark in ("Because ", "And because ", "ERROR: ", "cause: ")
    )
    end = min(
        (position for mark in _REASON_ENDS if (position := story.find(mark, place)) > 0),
        default=len(story),
    )
    because = cut_reason(tool_message(story[begin:end]))
    return Refusal(cause=cause, subject=subject, because=because)


_OWN = re.compile(
    r"^[\s│]*(?P<error>(?:[A-Za-z_][\w.]*(?:Error|Exception)\b|error|ERROR): .+?)\s*$", re.MULTILINE
)
_STEP = re.compile(r"Failed to (?:download and )?build ")


def tool_at_fault(text: str) -> str:
    """Return the build tool that is missing or does not fit; empty: the package is at fault."""
    tools = (tool for _, tool in build_trouble(text)) if _STEP.search(text) else ()
    return next(filter(None, tools), "")


def own_error(text: str) -> str:
    begin = _STEP.search(text)
    return "" if begin is None else _last_error(text[begin.end() :])


def error_before_failure(text: str) -> str:
    end = _STEP.search(text)
    return _last_error(text if end is None else text[: end.start()].rpartition("\n")[0])


def _last_error(text: str) -> str:
    errors = [match["error"] for match in _OWN.finditer(text)]
    return textwrap.shorten(errors[-1], 300, placeholder=" ...") if errors else ""
