"""Judges a resolver's failure text: its facts become a cause, a subject and a reason."""

import re
import textwrap
from collections.abc import Sequence

import msgspec

from compat.lock.lockfile import Cause, Pin, Refusal
from compat.lock.resolvers import (
    PYTHON,
    Absent,
    Asked,
    Demand,
    Fact,
    Refused,
    Requires,
    Unbuilt,
    build_trouble,
    facts_in,
    packages_in,
    plain_quotes,
)

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


def builds_asked_for(text: str) -> tuple[str, ...]:
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
