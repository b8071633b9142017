"""The `site` room's appearances: one symbol, word, sentence and CSS class for each state, for
pages, badges and API.
"""

from collections.abc import Sequence
from typing import Literal, get_args

from compat.plan.cell import Recipe
from compat.results.snapshot import Entry
from compat.results.verdict import Kind
from compat.run.outcome import Failed
from compat.value import Value

State = Literal[
    "works", "decayed", "relaxed", "partial", "flaky", "broken", "unknown", "infeasible"
]
STATES: tuple[State, ...] = get_args(State)


class StatusStyle(Value, frozen=True, kw_only=True):
    """How a state is shown.

    `sentence` completes "These versions ..."; `css` is the class of an element in it.
    """

    state: State
    symbol: str
    word: str
    sentence: str
    css: str


LOOKS: dict[State, StatusStyle] = {
    look.state: look
    for look in (
        StatusStyle(
            state="works",
            symbol="✓",
            word="works",
            sentence="work together as published: a plain install passes the suite",
            css="works",
        ),
        StatusStyle(
            state="decayed",
            symbol="†",
            word="works only with packages of its time",
            sentence="work only with packages of their time; a plain install of today does not",
            css="decayed",
        ),
        StatusStyle(
            state="relaxed",
            symbol="✓+",
            word="works with changed dependency pins",
            sentence="work together when dependency pins of the release are changed",
            css="relaxed",
        ),
        StatusStyle(
            state="partial",
            symbol="◐",
            word="partly works",
            sentence="work in part: some capabilities fail",
            css="partial",
        ),
        StatusStyle(
            state="flaky",
            symbol="≈",
            word="flaky",
            sentence="pass and fail by chance: the same files gave different results",
            css="flaky",
        ),
        StatusStyle(
            state="broken",
            symbol="✗",
            word="broken",
            sentence="do not work together: a run failed",
            css="broken",
        ),
        StatusStyle(
            state="unknown",
            symbol="?",
            word="not tested",
            sentence="were not tested yet",
            css="unknown",
        ),
        StatusStyle(
            state="infeasible",
            symbol="⊘",
            word="ruled out",
            sentence="cannot work: their metadata or a rule excludes it",
            css="infeasible",
        ),
    )
}
# Their words already say by which recipe the cell works.
NAMES_RECIPE: tuple[State, ...] = ("decayed", "relaxed")
# A broken cell that nothing could be installed in looks different from one that ran and failed.
REFUSED = StatusStyle(
    state="broken",
    symbol="⊗",
    word="does not install",
    sentence="cannot be installed together",
    css="broken refused",
)
# Not tested, but the release's own metadata admits the versions.
DECLARED = StatusStyle(
    state="unknown",
    symbol="○",
    word="declared",
    sentence="are admitted by the release's metadata, and were not tested yet",
    css="unknown declared",
)
# It ran, but a package that was not asked about is in the way of an answer.
BLOCKED = StatusStyle(
    state="unknown",
    symbol="⊝",
    word="no answer yet",
    sentence="have no answer yet: a package that was not asked about is in the way",
    css="unknown blocked",
)
# Staleness goes with any tested state: the symbol follows its symbol, the class is added to its
# class.
STALE = ("◷", "stale", "the newest run is old, or the suite or the lock has changed since")
# Where another recipe of the place says nothing, one recipe's verdict alone gives this state.
_ALONE: dict[Kind, State] = {
    "works": "works",
    "partial": "partial",
    "flaky": "flaky",
    "broken": "broken",
    "unknown": "unknown",
    "infeasible": "infeasible",
}


def cell_state(entry: Entry, siblings: Sequence[Entry] = ()) -> State:
    """Return the state of one cell; `siblings` are the entries of its place, by which a dated one
    is decayed.
    """
    if entry.verdict.kind == "works" and entry.cell.recipe == "relaxed":
        return "relaxed"
    if entry.verdict.kind == "works" and entry.cell.recipe == "dated":
        fresh = next((one for one in siblings if one.cell.recipe == "fresh"), None)
        return (
            "decayed"
            if fresh is not None and fresh.verdict.kind in ("broken", "infeasible", "partial")
            else "works"
        )
    return _ALONE[entry.verdict.kind]


def style_of(entry: Entry, siblings: Sequence[Entry] = ()) -> StatusStyle:
    """Return how one cell is shown."""
    state, outcome = cell_state(entry, siblings), entry.verdict.outcome
    if (
        state == "broken"
        and isinstance(outcome, Failed)
        and outcome.stage in ("plan", "lock", "install")
    ):
        return REFUSED
    if state == "unknown" and entry.verdict.latest is not None:
        return BLOCKED
    if state == "unknown" and any(_is_admitted(one) for one in (entry, *siblings)):
        return DECLARED
    return LOOKS[state]


def representative(entries: Sequence[Entry]) -> Entry:
    """Return the cell of a place that speaks for it: the best answer that a user can have, the most
    usual first.

    As published works, today before of its time; then relaxed; then in part, by chance, not; a
    flaky fresh cell is not outdone by an older one. What nothing is known of comes before what is
    ruled out: it may still be tried.
    """
    fresh = next((one for one in entries if one.cell.recipe == "fresh"), None)
    if fresh is not None and fresh.verdict.kind == "flaky":
        return fresh
    return min(entries, key=_rank)


def place_look(entries: Sequence[Entry]) -> StatusStyle:
    """Return how a place is shown: its three recipes folded into one."""
    return style_of(representative(entries), entries)


def _is_admitted(entry: Entry) -> bool:
    return entry.planned and entry.cell.recipe == "fresh" and entry.obstacle is None


_KIND_RANK: dict[Kind, int] = {
    "works": 0,
    "partial": 1,
    "flaky": 2,
    "broken": 3,
    "unknown": 4,
    "infeasible": 5,
}
_RECIPE_RANK: dict[Recipe, int] = {"fresh": 0, "dated": 1, "relaxed": 2}


def _rank(entry: Entry) -> tuple[int, int]:
    return _KIND_RANK[entry.verdict.kind], _RECIPE_RANK[entry.cell.recipe]
