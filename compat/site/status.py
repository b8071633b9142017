"""The `site` room's states of a cell: symbol, word, sentence and CSS class for pages and badges."""

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

from msgspec.structs import replace

from compat.results.answer import (
    BRIEF_WORDS,
    STATE_WORDS,
    Answer,
    Kind,
    by_evidence,
    is_refused,
    representative,
)
from compat.run.outcome import is_spurious
from compat.value import Value

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
