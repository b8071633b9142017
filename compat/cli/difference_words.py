"""What a checkout breaks and mends, in words: for the terminal and for the reports of CI."""

from collections.abc import Iterator, Mapping

from compat.fleet.checkout_compare import Comparison
from compat.results.checkout_diff import CapabilityDifference, CellDifference, Difference
from compat.results.state_words import STATE_WORDS
from compat.run.outcome import parse_outcome
from compat.site.wording import cause_sentence, count, listed

# What stands above the cells of each kind, where there are any; `same` is only counted.
HEADINGS: dict[Difference, str] = {
    "breaks": "Broken",
    "mends": "Mended",
    "flaky": "Flaky: runs of the same files disagree",
    "unknown": "Without an answer",
}
COUNTED: dict[Difference, str] = {
    "breaks": "broken",
    "mends": "mended",
    "same": "as before",
    "flaky": "flaky",
    "unknown": "without an answer",
}
_MOST_MOVED = 5  # packages that a line names


def difference_counts(comparison: Comparison) -> str:
    """Say how many places there are of each kind."""
    total = len(comparison.differences)
    kinds = [known.difference for known in comparison.differences]
    parts = [f"{kinds.count(kind)} {words}" for kind, words in COUNTED.items() if kind in kinds]
    return f"{count(total, 'cell')}: {', '.join(parts)}" if total else "no cell to compare"


def differing(
    comparison: Comparison, titles: Mapping[str, str], release: str
) -> Iterator[tuple[Difference, str, list[str]]]:
    """Yield what differs, what breaks first: the kind, the reason, and the cells it is about.

    `titles` are those of capabilities by their ids, `release` is the package and its version.
    """
    for kind in HEADINGS:
        reasons: dict[str, list[str]] = {}
        for known in comparison.differences:
            if known.difference == kind:
                for sentence in difference_reasons(known, titles, release):
                    reasons.setdefault(sentence, []).append(known.cell)
        for sentence, names in reasons.items():
            yield kind, sentence, names


def moved_words(comparison: Comparison) -> Iterator[str]:
    """Yield for each place that differs which packages moved besides."""
    for known in comparison.differences:
        if known.moved and known.difference in HEADINGS:
            yield f"{known.cell} has other packages, too: {listed(known.moved, _MOST_MOVED)}"


def difference_reasons(
    known: CellDifference, titles: Mapping[str, str], release: str
) -> Iterator[str]:
    """Yield why a place differs: each capability, else what the whole cell came to."""
    is_broken = known.difference == "breaks"
    for change in known.capabilities:
        if change.is_worse or not is_broken:
            yield change_words(change, titles.get(change.id, ""))
    if any(change.is_worse for change in known.capabilities) or not known.outcome_after:
        if not known.capabilities:
            words = STATE_WORDS[known.before], STATE_WORDS[known.after]
            yield known.because or f"{words[0]} with {release}, {words[1]} with the checkout"
        return
    if is_broken and known.before == "infeasible":
        yield f"could not be installed with {release}, and can be now; {_cause(known)}"
    elif is_broken or not known.capabilities:
        yield f"{STATE_WORDS[known.before]} with {release}; {_cause(known)}"


def _cause(known: CellDifference) -> str:
    return cause_sentence(parse_outcome(known.outcome_after))


def change_words(change: CapabilityDifference, title: str) -> str:
    """Say what became of a capability, and what was raised where."""
    name = f"{change.id} ({title})" if title and title != change.id else change.id
    if not change.is_worse:
        return f"{name} works now"
    if change.after == "absent":
        return f"{name} is not there any more: {change.subject}"
    if change.after is None:
        return f"{name} has no result any more: the tests did not come to it"
    return f"{name} fails: {change.subject or change.cause}"
