"""Patterns that turn a resolver's failure text into a cause and a subject, in order.

Data, with examples in tests.
"""

import re
import textwrap
from collections.abc import Sequence

import msgspec
from packaging.utils import canonicalize_name

from compat.lock.lockfile import Cause, Pin, Refusal

_WORD = r"[A-Za-z0-9][\w.\[\]-]*"
_SPEC = r"(?:\s*(?:[<>=!~]=?=?)\s*[\w.*+!-]+(?:\s*,\s*[<>=!~]=?=?\s*[\w.*+!-]+)*)?"


# A cause and a form of failure text, with a group `subject`: the requirement that cannot be met.
Pattern = tuple[Cause, re.Pattern[str]]


def _pattern(cause: Cause, text: str) -> Pattern:
    # uv puts a requirement's marker between name and specifier: numpy{python_version < '3.12'}>=1.
    requirement = rf"(?P<subject>(?P<name>{_WORD})(?:\{{[^}}]*\}})?{_SPEC})"
    # "all of: a<1 a>=2 have no wheels" is about one package; its first range represents all.
    ranges = rf"{requirement}(?: (?P=name){_SPEC})*"
    return cause, re.compile(text.replace("REQS", ranges).replace("REQ", requirement))


# uv prints a derivation. Its first sentence is its root and joins two or three facts in no fixed
# order. The first matching pattern decides: a missing file blocks its dependents, and a conflict is
# about the dependency. Each verb has its plural.
_UV = (
    _pattern("build", r"Failed to (?:download and )?build `(?P<subject>[^`]+)`"),
    _pattern("requires-python", r"does not satisfy Python[^ ]*(?: and REQS depends? on Python)"),
    _pattern(
        "no-artifact", r"there (?:is|are) no versions? of REQ(?= and |,| you)(?! depends? on)"
    ),
    _pattern("no-artifact", r"REQ was not found in the (?:\w+ )+(?:registry|locations|index)"),
    _pattern("no-artifact", r"REQS (?:has|have) no (?:\w+ )?(?:wheels|source distributions?)"),
    _pattern("yanked", r"REQS (?:was|were) yanked"),
    _pattern(
        "no-artifact",
        rf"only {_WORD}{_SPEC} is available and (?:(?:all versions of )?{_WORD}{_SPEC} depends? on"
        r"|you require) REQ",
    ),
    _pattern("conflict", r"depends? on (?:one of:? )?REQ"),
    _pattern(
        "no-artifact",
        r"only the following versions of (?P<of>[\w.-]+) are available:.*? you require"
        rf" (?P<subject>(?P=of){_SPEC})",
    ),
    _pattern("no-artifact", r"only the following versions of (?P<subject>[\w.-]+) are available"),
    _pattern("conflict", r"you require REQ"),
)
_PIP = (
    _pattern("requires-python", r"Package '(?P<subject>[^']+)' requires a different Python"),
    _pattern("no-artifact", r"Could not find a version that satisfies the requirement REQ"),
    _pattern("no-artifact", r"No matching distribution found for REQ"),
    _pattern("conflict", r"Cannot install (?!-r )REQ"),
    _pattern("build", r"Failed to build '?(?P<subject>[^'\s]+)'?"),
    _pattern(
        "build",
        r"Getting requirements to build wheel(?: for (?P<subject>[\w.-]+))? did not run"
        r" successfully",
    ),
)
# In a traceback pip shows who requires what; its own sentence names only lines of a file. A
# requirement without a parent is the caller's (pip 25.3, pip-tools 7.5; tried on 2026-11-22).
_PIP_DEMAND = re.compile(
    r"SpecifierRequirement\('(?P<what>[^'\n]+)'\), parent="
    r"(?:None|LinkCandidate\('(?P<link>[^'#\s]+))"
)
# pip's own set-up of a build broke, not the build: that is infrastructure.
_PIP_SET_UP = re.compile(r"installing (?:build|backend) dependencies")
_PIP_IGNORED = re.compile(
    r"versions that require a different python version: (?P<versions>.*?)(?: ERROR:|$)"
)
_DEPENDENT = re.compile(rf"({_WORD}){_SPEC} depends? on")
# uv's conclusion, up to its next fact.
_CONCLUSION = re.compile(r",? we can conclude.*?(?= (?:And )?[Bb]ecause |$)")
_DEMANDS = (
    re.compile(rf"(?P<who>you require )(?:{_WORD}{_SPEC} and )?(?P<name>{_WORD})(?P<what>{_SPEC})"),
    re.compile(rf"(?P<who>{_WORD}{_SPEC} depends? on )(?P<name>{_WORD})(?P<what>{_SPEC})"),
)
# The text before a specifier, or around a package without one.
_NAMED = re.compile(
    rf"({_WORD})(?=(?:\{{[^}}]*\}})?\s*[<>=!~]=?)|(?:depends? on|versions? of|require) ({_WORD})"
)
_HIDDEN = re.compile(r"`([\w.-]+)` was filtered by `exclude-newer")
_WHEELS_ONLY = re.compile(r"Wheels are required for `([\w.-]+)`")
_REASON_ENDS = (
    *(", we can conclude", " we can conclude", " hint:", " cause: "),
    *(" ERROR: ", " Traceback (most recent call last)"),
)
_LONGEST = 300  # characters of a reason
_URL = re.compile(r"\b(?:https?|file)://\S+")
_PATH = re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+[\w.+-]*")


def refusal_of_uv(text: str) -> Refusal | None:
    if "No solution found" not in text and "Failed to" not in text:
        return None
    story = _story(text, r"(?:No solution found[^:]*?dependencies:?|error:)")
    decisive = _decisive(_root(story))
    if decisive is None:
        return None
    refusal = _refusal(*decisive, story, tuple(_HIDDEN.findall(text)))
    wheelless = tuple(dict.fromkeys(_WHEELS_ONLY.findall(text)))
    words = (before or after for before, after in _NAMED.findall(story.partition(" hint:")[0]))
    names = tuple(sorted({canonicalize_name(word.partition("[")[0]) for word in words}))
    refusal = msgspec.structs.replace(refusal, named=names, wheelless=wheelless)
    match refusal.cause:
        case "build":
            tool, own = tool_at_fault(text), tool_message(own_error(text))
            because = f"{refusal.because}: {own}" if own else refusal.because
            cause: Cause = "build-tool" if tool else "build"
            return msgspec.structs.replace(refusal, cause=cause, because=because)
        case "no-artifact" if _name(refusal.subject) in wheelless:
            return msgspec.structs.replace(refusal, cause="source-only")
        case "conflict":
            return _with_other_demand(refusal, story)
    return refusal


def _root(story: str) -> str:
    return story.partition(" we can conclude")[0]


def _decisive(root: str) -> tuple[Cause, re.Match[str]] | None:
    """A missing file of some versions is irrelevant beside a conflict over the package: it only
    rounds off the range in uv's text.
    """
    dependents = set(_DEPENDENT.findall(root))
    for cause, text in _UV:
        for match in text.finditer(root):
            if cause != "no-artifact" or _name(match["subject"]) not in dependents:
                return cause, match
    return None


def _with_other_demand(refusal: Refusal, story: str) -> Refusal:
    root = _root(story)
    facts = _CONCLUSION.sub("", story[len(root) :])
    for pattern in _DEMANDS:
        for match in pattern.finditer(facts):
            demand = f"{match['name']}{match['what']}"
            if match["name"] == _name(refusal.subject) and demand not in root:
                because = f"{refusal.because}, and {match['who']}{demand}"
                return msgspec.structs.replace(refusal, because=cut_reason(because))
    return refusal


def _name(requirement: str) -> str:
    return re.split(r"[<>=!~\[{\s]", requirement)[0]


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
    """pip reports a version that requires another Python as missing, and lists it before among the
    ignored ones.
    """
    story = _story(text, r"ERROR:")
    if _PIP_SET_UP.search(story):
        return None
    matches = [(cause, match) for cause, form in _PIP if (match := form.search(story))]
    first = min(matches, key=lambda known: known[1].start(), default=None)
    refusal = _pip_conflict(text) if first is None else _refusal(*first, story, ())
    if refusal is None:
        return None
    # pip does not show which releases lack a wheel: any package that it mentions may.
    spoken_of = (refusal.subject, *(match["what"] for match in _PIP_DEMAND.finditer(text)))
    names = (canonicalize_name(_name(requirement)) for requirement in spoken_of)
    refusal = msgspec.structs.replace(refusal, wheelless=tuple(dict.fromkeys(names)))
    ignored = _PIP_IGNORED.search(story)
    if ignored is None or refusal.cause != "no-artifact":
        return refusal
    _, exact, version = refusal.subject.partition("==")
    if not exact or f"{version} Requires-Python" not in ignored["versions"]:
        return refusal
    return msgspec.structs.replace(
        refusal,
        cause="requires-python",
        because=tool_message(f"{refusal.subject} asks for another Python"),
    )


def _pip_conflict(text: str) -> Refusal | None:
    _, impossible, demands = text.partition("ResolutionImpossible: [")
    sentences: dict[str, str] = {}
    for match in _PIP_DEMAND.finditer(demands.partition("\n")[0]) if impossible else ():
        demand = match["what"].partition(";")[0].strip()
        demand = demand.replace(_name(demand), canonicalize_name(_name(demand)), 1)
        file = (match["link"] or "").rpartition("/")[2]
        release = "==".join(file.removesuffix(".tar.gz").split("-")[:2])
        sentences[demand] = f"{release} depends on {demand}" if file else f"you require {demand}"
    if len(sentences) < 2:
        return None
    depended = [demand for demand, text in sentences.items() if not text.startswith("you ")]
    return Refusal(
        cause="conflict",
        subject=(depended or list(sentences))[0],
        because=cut_reason(tool_message(" and ".join(sentences.values()))),
    )


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


def _refusal(cause: Cause, match: re.Match[str], story: str, hidden: tuple[str, ...]) -> Refusal:
    subject = re.sub(r"\{[^}]*\}|\s+", "", match["subject"] or "").rstrip(",.:")
    return Refusal(cause=cause, subject=subject, because=_because(story, match), hidden=hidden)


def _because(story: str, match: re.Match[str]) -> str:
    begin = max(
        story.rfind(mark, 0, match.start()) + len(mark) if mark in story[: match.start()] else 0
        for mark in ("Because ", "And because ", "ERROR: ", "cause: ")
    )
    end = min(
        (position for mark in _REASON_ENDS if (position := story.find(mark, match.start())) > 0),
        default=len(story),
    )
    return cut_reason(tool_message(story[begin:end]))


# Build dependencies that no version of a cell decides: bundled, or found on the machine.
_TOOLS = (
    re.compile(
        r"ModuleNotFoundError: No module named"
        r" '(?P<tool>pkg_resources|setuptools|distutils|wheel|pip|Cython)\b"
    ),
    # Removed in setuptools 58 (September 2021): https://setuptools.pypa.io/en/stable/history.html
    re.compile(r"error in \S+ setup command: use_2to3 is invalid(?P<tool>)"),
    re.compile(r"command '(?P<tool>[^']+)' failed: No such file or directory"),
    re.compile(r"unable to execute '(?P<tool>[^']+)': No such file or directory"),
    re.compile(r"\bUnknown compiler\(s\): \[\[(?P<tool>[^\],]+)"),
    # What old tools miss in a newer Python, such as 3.12.
    re.compile(r"AttributeError: module 'pkgutil' has no attribute 'ImpImporter'(?P<tool>)"),
)
_DEFAULT_TOOL = "setuptools"
_OWN = re.compile(
    r"^[\s│]*(?P<error>(?:[A-Za-z_][\w.]*(?:Error|Exception)\b|error|ERROR): .+?)\s*$", re.MULTILINE
)
_STEP = re.compile(r"Failed to (?:download and )?build ")


def tool_at_fault(text: str) -> str:
    """Return the build tool that is missing or does not fit; empty: the package is at fault."""
    if not _STEP.search(text):
        return ""
    match = next((match for pattern in _TOOLS if (match := pattern.search(text))), None)
    return "" if match is None else match["tool"].strip("'\"") or _DEFAULT_TOOL


def own_error(text: str) -> str:
    begin = _STEP.search(text)
    return "" if begin is None else _last_error(text[begin.end() :])


def error_before_failure(text: str) -> str:
    end = _STEP.search(text)
    return _last_error(text if end is None else text[: end.start()].rpartition("\n")[0])


def _last_error(text: str) -> str:
    errors = [match["error"] for match in _OWN.finditer(text)]
    return textwrap.shorten(errors[-1], 300, placeholder=" ...") if errors else ""
