"""Records of older formats, turned step by step into the keys of today's."""

from collections.abc import Callable, Mapping
from typing import Any

from compat.results.involved import involved, involved_in_refusal
from compat.run.outcome import Failed, parse_outcome

Raw = dict[str, Any]


def _with_involved(raw: Raw) -> Raw:
    """Format 1 did not say which packages a failure speaks of: as far as its outcome and what was
    installed tell.
    """
    outcome = parse_outcome(_renamed(raw["outcome"]))
    if isinstance(outcome, Failed) and outcome.stage == "lock":
        packages = involved_in_refusal(outcome.subject, raw["log"])
    else:
        packages = involved(outcome, [item["name"] for item in raw["installed"]], {})
    return {**raw, "involved": list(packages)}


def _with_remarks(raw: Raw) -> Raw:
    return {**raw, "remarks": []}


def _with_new_names(raw: Raw) -> Raw:
    seconds = dict(raw["step_seconds"])
    seconds["overhead"] = seconds.pop("ours")
    return {
        **raw,
        "outcome": _renamed(raw["outcome"]),
        "attempts": [{**a, "outcome": _renamed(a["outcome"])} for a in raw["attempts"]],
        "capabilities": [
            {**c, "cause": RENAMED_CAUSES.get(c["cause"], c["cause"])} for c in raw["capabilities"]
        ],
        "step_seconds": seconds,
    }


def _with_tier(raw: Raw) -> Raw:
    """Format 4 knew no tiers: each run asked for the whole suite."""
    return {**raw, "tier": "full"}


def _renamed(outcome: str) -> str:
    head, bracket, parts = outcome.partition("(")
    stage, colon, cause = head.partition(":")
    return f"{stage}{colon}{RENAMED_CAUSES.get(cause, cause)}{bracket}{parts}"


# Causes that were renamed in format 4, by their names before.
RENAMED_CAUSES = {"not-as-asked": "environment-mismatch"}
# From a format to the next: `UPGRADES[1]` turns the keys of format 1 into those of format 2.
UPGRADES: Mapping[int, Callable[[Raw], Raw]] = {
    1: _with_involved,
    2: _with_remarks,
    3: _with_new_names,
    4: _with_tier,
}
