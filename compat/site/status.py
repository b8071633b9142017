"""The `site` room's words: the state of a cell, and what a plain install gives."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

from msgspec.structs import replace
from packaging.version import Version

from compat.advise.answer import Advisor
from compat.advise.request import Request, exactly
from compat.declare.matrix import PLATFORMS, PlatformName
from compat.lock.recipe import LockedFloor
from compat.results.answer import (
    BRIEF_WORDS,
    STATE_WORDS,
    Answer,
    Kind,
    by_evidence,
    is_refused,
    representative,
)
from compat.results.compare import VariantCell
from compat.results.installs import INSTALLABLE, Install, InstallGroup, InstallState, newest_on
from compat.run.outcome import Failed, is_spurious, parse_outcome
from compat.site.wording import cause_sentence, listed, ranges
from compat.value import Value, grouped

State = Literal[
    "works", "decayed", "relaxed", "partial", "flaky", "broken", "unknown", "infeasible"
]
STATES: tuple[State, ...] = get_args(State)


class StatusStyle(Value, frozen=True, kw_only=True):
    """How a state is shown.

    `sentence` completes "These versions ..."; `brief` is the word where there is no room, on a
    badge; `css` is the class of an element in it.
    """

    state: State
    symbol: str
    word: str
    brief: str
    sentence: str
    css: str


# Name, state, symbol and sentence, in the order of a legend.
_TABLE: tuple[tuple[str, State, str, str], ...] = (
    ("works", "works", "✓",
     "work together as published: a plain install passes everything that this release supports"),
    ("dated", "works", "✓†",
     "work together as published, with packages of their time; a plain install of today is not"
     " known to work"),
    ("decayed", "decayed", "†",
     "work only with packages of their time; a plain install of today does not"),
    ("relaxed", "relaxed", "✓+",
     "work together when dependency pins of the release are changed"),
    ("partial", "partial", "◐",
     "work in part: some capabilities fail in this combination"),
    ("flaky", "flaky", "≈",
     "pass and fail by chance: the same files gave different results"),
    ("broken", "broken", "✗",
     "do not work together: a run failed"),
    ("refused", "broken", "⊗",
     "cannot be installed together"),
    ("blocked", "unknown", "⊝",
     "have no answer yet: blocked by a package that is neither the subject nor on an axis"),
    ("expected", "unknown", "≃",
     "were not tested; tested neighbours on both sides work"),
    ("expected-partial", "unknown", "≃◐",
     "were not tested; tested neighbours on both sides work in part"),
    ("expected-broken", "unknown", "≃✗",
     "were not tested; tested neighbours on both sides fail for the same cause"),
    ("declared", "unknown", "○",
     "are admitted by the release's metadata, and were not tested yet"),
    ("unknown", "unknown", "?",
     "were not tested yet"),
    ("infeasible", "infeasible", "⊘",
     "cannot work: their metadata or a rule excludes it"),
)  # fmt: skip
# The same where only the core of the suite was run, in the same order, each after its own.
_SMOKE: dict[str, tuple[str, str]] = {
    "works": ("✓°", "install and import as published, and the core of the suite passes"),
    "dated": ("✓†°", "pass the core of the suite as published, with packages of their time"),
    "decayed": ("†°", "pass the core of the suite, and only with packages of their time"),
    "relaxed": ("+°", "pass the core of the suite when dependency pins of the release are changed"),
    "partial": ("◐°", "import, and a part of the suite's core fails in this combination"),
    "flaky": ("≈°", "pass and fail by chance: the core of the suite gave different results"),
    "broken": ("✗°", "do not work together: a run of the suite's core failed"),
    "refused": ("⊗°", "cannot be installed together, as a run of the suite's core showed"),
}


STYLES: dict[str, StatusStyle] = {
    key: StatusStyle(
        state=state,
        symbol=symbol,
        word=STATE_WORDS[key],
        brief=BRIEF_WORDS.get(key, STATE_WORDS[key]),
        sentence=sentence,
        css=" ".join(dict.fromkeys((state, name, *smoke))),
    )
    for name, state, *of_all in _TABLE
    for key, smoke, (symbol, sentence) in (
        (name, (), of_all),
        *((f"{name}-smoke", ("smoke",), _SMOKE[n]) for n in _SMOKE if n == name),
    )
}
KIND_WORDS: dict[Kind, str] = {kind: STATE_WORDS[kind] for kind in get_args(Kind)}
# By the expected result of a cell.
EXPECTED: dict[Kind, StatusStyle] = {
    "works": STYLES["expected"],
    "partial": STYLES["expected-partial"],
    "broken": STYLES["expected-broken"],
}
# Their words already say by which recipe the cell works.
NAMES_RECIPE: tuple[State, ...] = ("decayed", "relaxed")
# Staleness goes with any tested state: in a terminal the sign follows its symbol, on a page the
# class is added to its class.
STALE = ("◷", "stale")


def cell_state(entry: Answer, siblings: Sequence[Answer] = ()) -> State:
    if entry.kind == "works" and entry.recipe == "relaxed":
        return "relaxed"
    if entry.kind == "works" and entry.recipe == "dated":
        fresh = _fresh(siblings)
        fails = fresh is not None and fresh.kind in ("broken", "infeasible", "partial")
        return "decayed" if fails else "works"
    return entry.kind


def style_of(entry: Answer, siblings: Sequence[Answer] = ()) -> StatusStyle:
    state = cell_state(entry, siblings)
    if state == "works" and entry.recipe == "dated":
        fresh = _fresh(siblings)
        is_proven_today = fresh is not None and fresh.kind == "works"
        return STYLES[by_evidence("works" if is_proven_today else "dated", entry)]
    if state == "broken" and is_refused(entry):
        return STYLES[by_evidence("refused", entry)]
    if state == "unknown" and entry.blocked_by:
        return STYLES["blocked"]
    if state == "unknown" and entry.expected is not None:
        return EXPECTED[entry.expected]
    if state == "unknown" and is_admitted((entry, *siblings)):
        return STYLES["declared"]
    return STYLES[by_evidence(state, entry)]


def style_then(entry: Answer, then: Answer, siblings: Sequence[Answer]) -> StatusStyle:
    # What its runs added up to then, beside what plan, lock and others say of the cell now.
    beside = ("obstacle", "refusal", "lock_digest", "planned", "lifted", "history")
    return style_of(replace(then, **{name: getattr(entry, name) for name in beside}), siblings)


def place_style(entries: Sequence[Answer]) -> StatusStyle:
    # Of several Pythons together, one that a release does not admit says nothing of another.
    spoken = representative(entries)
    return style_of(spoken, [e for e in entries if e.cell.place == spoken.cell.place])


def is_admitted(entries: Iterable[Answer]) -> bool:
    return any(
        entry.planned
        and entry.cell.recipe == "fresh"
        and entry.obstacle is None
        and (entry.refusal is None or is_spurious(entry.refusal.outcome))
        for entry in entries
    )


def _fresh(entries: Iterable[Answer]) -> Answer | None:
    return next((entry for entry in entries if entry.cell.recipe == "fresh"), None)


# The words about plain installs and variants, for pages, API and commands alike.


def floor_words(floor: LockedFloor) -> str:
    if floor.is_exact:
        return f"{floor.installed} installed"
    if floor.installed is None:
        return "nothing installed"
    because = f" ({floor.because})" if floor.because else ""
    return f"{floor.installed} installed, {floor.lowest} is not tested{because}"


def variant_blame(matrix: str, cell: VariantCell) -> str:
    return f"compat blame {matrix} {cell.against} {cell.cell}"


def no_prerelease_words(package: str) -> str:
    return f"no pre-release of {package} is newer than its final releases"


# What a resolver found is "checked", what ran is "tested"; neither word replaces the other.
_RUN: dict[InstallState, str] = {
    "works": "It installs, and the suite finds no failure of this combination.",
    "works-smoke": "It installs, imports and passes the core of the suite; the rest was not run.",
    "partial": "It installs and imports; some capabilities fail.",
    "partial-smoke": "It installs and imports; a part of the suite's core fails.",
    "flaky": "It installs; the suite passes and fails by chance.",
    "flaky-smoke": "It installs; the core of the suite passes and fails by chance.",
    "broken": "It was run and fails.",
    "broken-smoke": "A run of the suite's core failed; the rest was not run.",
}
# The style that has symbol and class of these, the word, and the sentence.
_NOT_RUN: dict[InstallState, tuple[str, str, str]] = {
    "resolves": ("declared", "resolves, not run",
                 "A resolver finds packages that satisfy every requirement; nothing was run."),
    "refused": ("refused", "refused",
                "A resolver finds no packages that satisfy every requirement."),
    "needs-build": ("blocked", "needs a build from source",
                    "A package has no wheel here; whether it builds from source was not tried."),
    "ruled-out": ("infeasible", "ruled out by metadata",
                  "By metadata, its requirements are not available here."),
    "not-admitted": ("infeasible", "Python not supported",
                     "The release's own metadata does not admit this Python."),
    "not-asked": ("unknown", "not resolved yet", "No resolver has run yet."),
    "by-metadata": ("declared", "installs by metadata",
                    "Wheel tags and known requirements allow it; no resolver has run."),
    "no-wheel": ("infeasible", "no wheel",
                 "A package has no file for this platform and Python."),
}  # fmt: skip
INSTALL_STYLES: dict[InstallState, StatusStyle] = {
    **{state: replace(STYLES[state], sentence=says) for state, says in _RUN.items()},
    **{
        state: replace(STYLES[name], word=word, sentence=says)
        for state, (name, word, says) in _NOT_RUN.items()
    },
}

# What uv says where an index has a release, and no file of it fits; the cause is the same as where
# it has none. Seen with uv 0.13.9 on 2026-11-23.
_NO_WHEEL = "has no wheels with a matching"
# For these the message of the run or the resolver is more precise than the state.
_EXPLAINED: tuple[InstallState, ...] = ("refused", "broken", "broken-smoke", "needs-build")
_METADATA: tuple[InstallState, ...] = ("ruled-out", "not-admitted", "not-asked")


def plain_command(package: str, release: str) -> str:
    return f"pip install {package}=={release}"


def platform_title(name: PlatformName) -> str:
    return PLATFORMS[name].title


def install_reason(about: Install | InstallGroup) -> str:
    """Return why, as one sentence without a date: what failed, or what the metadata of this release
    refuses. For a package without a file on a platform, also its newest release with one.
    """
    install = about if isinstance(about, Install) else about.example
    style = INSTALL_STYLES[about.state]
    if install.platform:
        if about.state == "no-wheel":
            if not install.newest:
                lacking = f"no version of {install.lacking} that is known has one"
                return f"{install.because}; {lacking}"
            return (
                f"{install.because}; the newest {install.lacking} with a file for that platform is"
                f" {install.newest}, for Python {listed(install.newest_pythons)}"
            )
        if about.state == "needs-build" or install.evidence == "declared":
            return install.because or style.sentence
        outcome = None if about.state == "resolves" else parse_outcome(install.outcome)
        known = cause_sentence(outcome) if isinstance(outcome, Failed) else style.sentence
        return known or install.because
    if about.state in _EXPLAINED and "-fail:" in about.outcome:
        failed = parse_outcome(about.outcome)
        words = install.because
        if isinstance(failed, Failed) and failed.cause == "no-artifact" and _NO_WHEEL in words:
            return f"The package index has no wheel of {failed.subject} for this Python."
        return cause_sentence(failed)
    if isinstance(about, Install) and about.state in _METADATA and about.because:
        return about.because
    return style.sentence


def install_line(install: Install) -> str:
    word, reason = INSTALL_STYLES[install.state].word, install_reason(install)
    if install.platform:
        on = "" if install.on is None else f" on {install.on}"
        evidence = "checked" if install.evidence == "asked" else install.evidence
        return f"{word} ({evidence}{on}): {reason}"
    on = ""
    if install.on is not None:
        on = f" ({'tested' if install.ground == 'run' else 'checked'} on {install.on})"
    witness = install.witness
    inferred = f" Inferred from {witness}, which has the same conflict." if witness else ""
    return f"{word}{on}: {reason}{inferred}"


def installable_words(installs: Iterable[Install], platform: PlatformName, package: str) -> str:
    own, title = tuple(installs), platform_title(platform)
    best = newest_on(own, platform, INSTALLABLE)
    if best is None:
        buildable: tuple[InstallState, ...] = ("needs-build",)
        words, built = "", newest_on(own, platform, buildable)
        if built is not None:
            words = f"; the newest that may, once something is built there: {built.release}"
            words += f", on Python {listed(built.pythons)}"
        return f"No release of {package} installs on {title} as published, by what is known{words}."
    return (
        f"The newest release of {package} that installs on {title} as published, by what is known:"
        f" {best.release}, on Python {listed(best.pythons)}"
        f" ({INSTALL_STYLES[best.state].word}, {best.example.evidence})."
    )


def by_python(releases: Mapping[str, Sequence[str]], every: Sequence[str]) -> list[tuple[str, str]]:
    """Return Pythons with the same releases together, each with its ranges of releases."""
    alike = grouped((ranges(versions, every), python) for python, versions in releases.items())
    return [(listed(pythons), versions) for versions, pythons in alike.items()]


def works_instead(advisor: Advisor, install: Install) -> Answer | None:
    matrix = advisor.snapshot.matrix
    asked = {matrix.interpreters.name: install.python, matrix.subject: install.release}
    wants = tuple(
        exactly(axis, Version(asked[axis.name])) for axis in matrix.axes if axis.name in asked
    )
    return advisor.first(Request(wants=wants))
