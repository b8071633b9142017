"""What a resolver's refusal says: ordered patterns over its text -> cause and subject.

Data, with examples in tests.
"""

import re
from typing import NamedTuple

import msgspec

from compat.lock.builders import own_error, tool_at_fault
from compat.lock.lockfile import Cause, Refusal

_WORD = r"[A-Za-z0-9][\w.\[\]-]*"
_SPEC = r"(?:\s*(?:[<>=!~]=?=?)\s*[\w.*+!-]+(?:\s*,\s*[<>=!~]=?=?\s*[\w.*+!-]+)*)?"


class Pattern(NamedTuple):
    """A way of saying no. `text` has a group `subject`; where several match, the earliest in the
    text decides.
    """

    cause: Cause
    text: re.Pattern[str]


def _pattern(cause: Cause, text: str) -> Pattern:
    return Pattern(cause, re.compile(text.replace("REQ", f"(?P<subject>{_WORD}{_SPEC})")))


# uv tells a derivation; its first clause is the root of it.
_UV = (
    _pattern("build", r"Failed to (?:download and )?build `(?P<subject>[^`]+)`"),
    _pattern("requires-python", r"does not satisfy Python[^ ]*(?: and REQ depends on Python)"),
    _pattern("no-artifact", r"there (?:is|are) no versions? of REQ(?= and |,| you)(?! depends)"),
    _pattern(
        "no-artifact", r"REQ was not found in the (?:package registry|provided package locations)"
    ),
    _pattern("no-artifact", r"REQ has no (?:wheels|source distribution|usable wheels)"),
    _pattern("yanked", r"REQ was yanked"),
    _pattern("no-artifact", rf"only {_WORD}{_SPEC} is available and {_WORD}{_SPEC} depends on REQ"),
    _pattern("no-artifact", r"only the following versions of (?P<subject>[\w.-]+) are available"),
    _pattern("conflict", r"REQ depends on"),
    _pattern("conflict", r"you require REQ"),
)
_PIP = (
    _pattern("requires-python", r"Package '(?P<subject>[^']+)' requires a different Python"),
    _pattern("no-artifact", r"Could not find a version that satisfies the requirement REQ"),
    _pattern("no-artifact", r"No matching distribution found for REQ"),
    _pattern("conflict", r"Cannot install REQ"),
    _pattern("build", r"Failed to build '?(?P<subject>[^'\s]+)'?"),
    _pattern(
        "build",
        r"Getting requirements to build wheel(?: for (?P<subject>[\w.-]+))? did not run"
        r" successfully",
    ),
)
# pip's own set-up of a build broke, not the build: that is infrastructure.
_PIP_SET_UP = re.compile(r"installing (?:build|backend) dependencies")
_PIP_IGNORED = re.compile(
    r"versions that require a different python version: (?P<versions>.*?)(?: ERROR:|$)"
)
_HIDDEN = re.compile(r"`([\w.-]+)` was filtered by `exclude-newer")
_WHEELS_ONLY = re.compile(r"Wheels are required for `([\w.-]+)`")
_LONGEST = 300  # characters of a reason
_URL = re.compile(r"\b(?:https?|file)://\S+")
_PATH = re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+[\w.+-]*")


def refusal_of_uv(text: str) -> Refusal | None:
    """Return the refusal that uv's standard error tells of; None when it tells of something
    else.
    """
    if "No solution found" not in text and "Failed to" not in text:
        return None
    story = _story(text, r"(?:No solution found[^:]*?dependencies:?|error:)")
    refusal = _first(_UV, story, tuple(_HIDDEN.findall(text)))
    if refusal is None or refusal.cause not in ("build", "no-artifact"):
        return refusal
    return _built(refusal, text) if refusal.cause == "build" else _source_only(refusal, text)


def _source_only(refusal: Refusal, text: str) -> Refusal:
    """The refusal with what to declare, where what it misses is there as a source distribution that
    is not named.
    """
    name = re.split(r"[<>=!~\[]", refusal.subject)[0]
    if name not in _WHEELS_ONLY.findall(text):
        return refusal
    release = refusal.subject if refusal.subject.startswith(f"{name}==") else f"{name}==VERSION"
    because = (
        f"{refusal.subject} has no wheel for this cell, only a source distribution, "
        f'and the matrix names no build of it; builds = ["{release}"] in matrix.toml allows one'
    )
    return msgspec.structs.replace(refusal, cause="source-only", because=because)


def _built(refusal: Refusal, text: str) -> Refusal:
    """The refusal with the builder's own words, and of a cause that says when its tool is at
    fault.
    """
    tool, own = tool_at_fault(text), tool_message(own_error(text))
    because = f"{refusal.because}: {own}" if own else refusal.because
    return msgspec.structs.replace(
        refusal, cause="build-tool" if tool else "build", because=because
    )


def refusal_of_pip(text: str) -> Refusal | None:
    """Return the refusal that pip's resolver tells of; None when it tells of something else.

    pip calls a version that asks for another Python missing, and lists it beforehand among those
    that it ignored.
    """
    story = _story(text, r"ERROR:")
    if _PIP_SET_UP.search(story):
        return None
    refusal, ignored = _first(_PIP, story, ()), _PIP_IGNORED.search(story)
    if refusal is None or ignored is None or refusal.cause != "no-artifact":
        return refusal
    _, exact, version = refusal.subject.partition("==")
    if not exact or f"{version} Requires-Python" not in ignored["versions"]:
        return refusal
    return msgspec.structs.replace(
        refusal,
        cause="requires-python",
        because=tool_message(f"{refusal.subject} asks for another Python"),
    )


def tool_message(text: str) -> str:
    """Return a tool's words fit for print and record: one line, without addresses of indexes and
    paths of a machine.
    """
    return " ".join(_PATH.sub("<path>", _URL.sub("<url>", text)).split())


def cut_reason(text: str) -> str:
    """Return the text, cut at the end of a word where it is longer than a record's reason should
    be.
    """
    if len(text) <= _LONGEST:
        return text
    return text[: _LONGEST - 3].rpartition(" ")[0].rstrip(",;:") + "..."


def _story(text: str, start: str) -> str:
    """The telling part of the output: from the first error on, margins and box-drawing gone."""
    match = re.search(start, text)
    lines = text[match.start() if match else 0 :].splitlines()
    return " ".join(" ".join(line.strip(" │╰├─▶\u00d7\t") for line in lines).split())


def _first(patterns: tuple[Pattern, ...], story: str, hidden: tuple[str, ...]) -> Refusal | None:
    matches = [
        (match.start(), rank, pattern, match)
        for rank, pattern in enumerate(patterns)
        if (match := pattern.text.search(story))
    ]
    if not matches:
        return None
    _, _, pattern, match = min(matches, key=lambda match: match[:2])
    subject = re.sub(r"\s+", "", match["subject"] or "").rstrip(",.:")
    return Refusal(
        cause=pattern.cause, subject=subject, because=_because(story, match), hidden=hidden
    )


def _because(story: str, match: re.Match[str]) -> str:
    """The sentence around a match, without the conclusion that the resolver draws from it."""
    begin = max(
        story.rfind(mark, 0, match.start()) + len(mark) if mark in story[: match.start()] else 0
        for mark in ("Because ", "And because ", "ERROR: ", "cause: ")
    )
    end = min(
        (
            position
            for mark in (", we can conclude", " we can conclude", " ERROR: ", " hint:", " cause: ")
            if (position := story.find(mark, match.start())) > 0
        ),
        default=len(story),
    )
    return cut_reason(tool_message(story[begin:end]))
