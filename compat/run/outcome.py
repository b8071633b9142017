"""Outcomes: what one run of a cell came to, as a stage and a cause, printed and parsed by the same code."""

import re
from typing import Literal, get_args

import msgspec

Stage = Literal["plan", "lock", "install", "import", "collect", "test"]
Cause = Literal[
    "requires-python", "no-artifact", "conflicting-pin", "yanked", "excluded", "no-interpreter", "undated",
    "conflict", "hash-mismatch", "build", "unsupported", "not-as-asked",
    "missing-module", "missing-attribute", "syntax", "type-error", "version-guard",
    "assertion", "error",
    "segfault", "abort", "illegal-instruction", "fatal-python", "premature-exit",
    "no-tests",
    "wall-time", "silence", "memory", "disk", "output", "processes",
    "network", "index", "sandbox", "worker", "cancelled",
]  # fmt: skip
STAGES: tuple[Stage, ...] = get_args(Stage)
CAUSES: tuple[Cause, ...] = get_args(Cause)
# These say something about the machine, the network or our limits, nothing about the versions.
SPURIOUS: frozenset[Cause] = frozenset(
    ("memory", "disk", "output", "processes", "network", "index", "sandbox", "worker", "cancelled")
)
# Spurious until the same lock and suite end so twice.
DOUBTFUL: frozenset[Cause] = frozenset(("wall-time", "silence"))
_FORM = re.compile(r"(?P<stage>[a-z]+)-fail:(?P<cause>[a-z-]+)(?:\((?P<subject>.*)\))?", re.DOTALL)


class Passed(msgspec.Struct, frozen=True, kw_only=True):
    """The only green outcome: tests ran, and none failed."""

    def __str__(self) -> str:
        """Return `pass`."""
        return "pass"


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """A run that did not pass: its stage, the cause, and the subject (a package, a place, a test; may be empty)."""

    stage: Stage
    cause: Cause
    subject: str = ""

    def __str__(self) -> str:
        """Return `stage-fail:cause(subject)`."""
        head = f"{self.stage}-fail:{self.cause}"
        return f"{head}({self.subject})" if self.subject else head


Outcome = Passed | Failed


def parse_outcome(text: str) -> Outcome:
    """Return the outcome that prints as `text`; raise ValueError naming what does not fit."""
    if text == "pass":
        return Passed()
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"{text[:80]!r} is neither 'pass' nor 'stage-fail:cause(subject)'")
    stage = next((known for known in STAGES if known == match["stage"]), None)
    cause = next((known for known in CAUSES if known == match["cause"]), None)
    if stage is None or cause is None:
        raise ValueError(f"{text[:80]!r} names no known stage and cause")
    return Failed(stage=stage, cause=cause, subject=match["subject"] or "")


def is_spurious(outcome: Outcome) -> bool:
    """Return whether the outcome says nothing about the versions, however often it is seen."""
    return isinstance(outcome, Failed) and outcome.cause in SPURIOUS


def is_doubtful(outcome: Outcome) -> bool:
    """Return whether the outcome says something only when it is seen twice on the same lock and suite."""
    return isinstance(outcome, Failed) and outcome.cause in DOUBTFUL
