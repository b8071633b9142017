"""The `results` room's words for the state of a cell: pages, feeds, badges, data and the command
line have no others.
"""

from compat.results.answer import Answer
from compat.run.outcome import Failed

# Names tell some states more exactly than the verdict does: a plain install of today is not known
# to work beside packages of the release's time; nothing could be installed; a package that was not
# asked about is in the way of an answer; the release's own metadata admits what nobody tested;
# tested neighbours on both sides agree.
_WORDS = {
    "works": "works",
    "dated": "works with packages of its time",
    "decayed": "works only with packages of its time",
    "relaxed": "works with changed dependency pins",
    "partial": "partly works",
    "flaky": "flaky",
    "broken": "broken",
    "refused": "does not install",
    "blocked": "no answer yet",
    "expected": "expected to work (inferred)",
    "expected-partial": "expected to work in part (inferred)",
    "expected-broken": "expected to fail (inferred)",
    "declared": "declared",
    "unknown": "not tested",
    "infeasible": "ruled out",
}
# What is too long for a badge, in short.
_BRIEF = {
    "dated": "works as of its time",
    "expected": "expected to work",
    "expected-partial": "expected to work in part",
    "expected-broken": "expected to fail",
    "decayed": "works, old packages",
    "relaxed": "works, pins changed",
}
# States that a run of the suite's core alone can show; their words say so wherever they stand.
SMOKE_STATES = ("works", "dated", "decayed", "relaxed", "partial", "flaky", "broken", "refused")
STATE_WORDS = _WORDS | {f"{name}-smoke": f"{_WORDS[name]} (smoke)" for name in SMOKE_STATES}
BRIEF_WORDS = _BRIEF | {
    f"{name}-smoke": f"{_BRIEF[name]} (smoke)" for name in _BRIEF if name in SMOKE_STATES
}

# Those that need a verb where they follow the name of a cell.
_ADJECTIVES = frozenset(("expected", "flaky", "broken", "declared", "unknown", "infeasible"))


def verdict_clause(verdict: Answer) -> str:
    name = "refused" if is_refused(verdict) else verdict.kind
    words = STATE_WORDS[by_evidence(name, verdict)]
    return f"{'is ' if name in _ADJECTIVES else ''}{words}"


def by_evidence(name: str, verdict: Answer) -> str:
    """Return the name of a state as the verdict's evidence shows it: that of a run of the core
    alone has a name of its own.
    """
    is_smoke = verdict.evidence == "smoke" and name in SMOKE_STATES
    return f"{name}-smoke" if is_smoke else name


def is_refused(verdict: Answer) -> bool:
    outcome = verdict.outcome
    return (
        verdict.kind == "broken"
        and isinstance(outcome, Failed)
        and outcome.stage in ("plan", "lock", "install")
    )
