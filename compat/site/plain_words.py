"""The `site` room's words about plain installs, for pages, the API's readers and the command line
alike; and the tested combination that works instead.
"""

from packaging.version import Version

from compat.advise.answer import Advisor
from compat.advise.proof import TestedCombination
from compat.advise.request import Request, exactly
from compat.results.plain_installs import PlainCause, PlainInstall, PlainState
from compat.run.outcome import Failed, parse_outcome
from compat.site.status import STYLES, StatusStyle
from compat.site.wording import cause_sentence
from compat.value import Value


class PlainStyle(Value, frozen=True, kw_only=True):
    """How an answer is shown: symbol, word, sentence, and the class of an element in it."""

    symbol: str
    word: str
    sentence: str
    css: str


def _as_run(style: StatusStyle, sentence: str) -> PlainStyle:
    return PlainStyle(symbol=style.symbol, word=style.word, sentence=sentence, css=style.css)


# What a resolver says is "asked", what ran is "tested"; neither word stands for the other.
PLAIN_STYLES: dict[PlainState, PlainStyle] = {
    "works": _as_run(
        STYLES["works"], "It installs, and the suite finds no failure of this combination."
    ),
    "works-smoke": _as_run(
        STYLES["works-smoke"],
        "It installs, imports and passes the core of the suite; the rest was not run.",
    ),
    "partial": _as_run(STYLES["partial"], "It installs and imports; some capabilities fail."),
    "partial-smoke": _as_run(
        STYLES["partial-smoke"], "It installs and imports; a part of the suite's core fails."
    ),
    "flaky": _as_run(STYLES["flaky"], "It installs; the suite passes and fails by chance."),
    "flaky-smoke": _as_run(
        STYLES["flaky-smoke"], "It installs; the core of the suite passes and fails by chance."
    ),
    "broken": _as_run(STYLES["broken"], "It was run and fails."),
    "broken-smoke": _as_run(
        STYLES["broken-smoke"], "A run of the suite's core failed; the rest was not run."
    ),
    "resolves": PlainStyle(
        symbol="○",
        word="resolves, not run",
        sentence="A resolver finds packages that satisfy every requirement; nothing was run.",
        css="unknown declared",
    ),
    "refused": PlainStyle(
        symbol="⊗",
        word="refused",
        sentence="A resolver finds no packages that satisfy every requirement.",
        css="broken refused",
    ),
    "needs-build": PlainStyle(
        symbol="⊝",
        word="needs a build from source",
        sentence="A package has no wheel here; whether it builds from source was not tried.",
        css="unknown blocked",
    ),
    "ruled-out": PlainStyle(
        symbol="⊘",
        word="ruled out by metadata",
        sentence="By their metadata, its requirements cannot be had here.",
        css="infeasible",
    ),
    "not-admitted": PlainStyle(
        symbol="⊘",
        word="Python not supported",
        sentence="The release's own metadata does not admit this Python.",
        css="infeasible",
    ),
    "not-asked": PlainStyle(
        symbol="?", word="not asked yet", sentence="No resolver was asked yet.", css="unknown"
    ),
}


# What uv says where an index has a release, and no file of it fits; the cause is the same as where
# it has none. Seen with uv 0.13.9 on 2026-11-23.
_NO_WHEEL = "has no wheels with a matching"
# What a failed run or a resolver says of these tells more than the state.
_EXPLAINED: tuple[PlainState, ...] = ("refused", "broken", "broken-smoke", "needs-build")


def plain_command(package: str, release: str) -> str:
    return f"pip install {package}=={release}"


def plain_reason(about: PlainInstall | PlainCause) -> str:
    """Return why, as one sentence without a date: what failed, or what the metadata says of this
    release.
    """
    if about.state in _EXPLAINED and "-fail:" in about.outcome:
        outcome = parse_outcome(about.outcome)
        words = about.because if isinstance(about, PlainInstall) else about.example
        if isinstance(outcome, Failed) and outcome.cause == "no-artifact" and _NO_WHEEL in words:
            return f"The package index has no wheel of {outcome.subject} for this Python."
        return cause_sentence(outcome)
    if isinstance(about, PlainInstall) and about.state in ("ruled-out", "not-admitted"):
        return about.because
    return PLAIN_STYLES[about.state].sentence


def plain_subject(install: PlainInstall) -> str:
    """Return what a refusal is about, such as `dep==1.0`; empty where it names nothing."""
    if "-fail:" not in install.outcome:
        return ""
    outcome = parse_outcome(install.outcome)
    return outcome.subject if isinstance(outcome, Failed) else ""


def plain_line(install: PlainInstall) -> str:
    """Return an answer as one line of text: word, cause, and the day of the run or the answer."""
    word, reason = PLAIN_STYLES[install.state].word, plain_reason(install)
    on = ""
    if install.on is not None:
        on = f" ({'tested' if install.ground == 'run' else 'asked'} on {install.on})"
    witness = install.witness
    inferred = f" Inferred from {witness}, which has the same conflict." if witness else ""
    return f"{word}{on}: {reason}{inferred}"


def works_instead(advisor: Advisor, install: PlainInstall) -> TestedCombination | None:
    """Return the best tested combination with that release on that Python; None without one."""
    matrix = advisor.snapshot.matrix
    asked = {matrix.interpreters.name: install.python, matrix.subject: install.release}
    wants = tuple(
        exactly(axis, Version(asked[axis.name])) for axis in matrix.axes if axis.name in asked
    )
    return advisor.first(Request(wants=wants))
