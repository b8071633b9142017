"""What a checkout breaks and mends, in words: for the terminal and for the reports of CI."""

from collections.abc import Iterator, Mapping

from compat.fleet.checkout_run import Comparison
from compat.results.compare import CapabilityDifference, CellDifference, Difference
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
_MOST_NAMED = 3  # capabilities with one fate that a line names
_PLURALS = {"works": "work", "is": "are", "has": "have", "fails:": "fail:"}
# A capability and what became of it, which together are a sentence.
_Reason = tuple[str, str]


def difference_counts(comparison: Comparison) -> str:
    total = len(comparison.differences)
    kinds = [known.difference for known in comparison.differences]
    parts = [f"{kinds.count(kind)} {words}" for kind, words in COUNTED.items() if kind in kinds]
    return f"{count(total, 'cell')}: {', '.join(parts)}" if total else "no cell to compare"


def differing(
    comparison: Comparison, titles: Mapping[str, str], release: str
) -> Iterator[tuple[Difference, str, list[str]]]:
    """Yield what differs, what breaks first: the kind, the reason, and the cells it is about. More
    than a few capabilities that fail alike in the same cells are one reason.

    `titles` are those of capabilities by their ids, `release` is the package and its version.
    """
    for kind in HEADINGS:
        reasons: dict[_Reason, list[str]] = {}
        for known in comparison.differences:
            if known.difference == kind:
                for reason in _reasons(known, titles, release):
                    reasons.setdefault(reason, []).append(known.cell)
        for sentence, names in _folded(reasons):
            yield kind, sentence, names


def _folded(reasons: Mapping[_Reason, list[str]]) -> Iterator[tuple[str, list[str]]]:
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (name, fate), cells in reasons.items():
        alike.setdefault((fate, tuple(cells)), []).append(name)
    for (fate, places), names in alike.items():
        if len(names) > _MOST_NAMED:
            head, _, tail = fate.partition(" ")
            yield f"{listed(names, _MOST_NAMED)} {_PLURALS[head]} {tail}", list(places)
        else:
            yield from ((f"{name} {fate}".lstrip(), list(places)) for name in names)


def moved_words(comparison: Comparison) -> Iterator[str]:
    for known in comparison.differences:
        if known.moved and known.difference in HEADINGS:
            yield f"{known.cell} has other packages, too: {listed(known.moved, _MOST_MOVED)}"


def difference_reasons(
    known: CellDifference, titles: Mapping[str, str], release: str
) -> Iterator[str]:
    for name, fate in _reasons(known, titles, release):
        yield f"{name} {fate}".lstrip()


def _reasons(known: CellDifference, titles: Mapping[str, str], release: str) -> Iterator[_Reason]:
    is_broken = known.difference == "breaks"
    for change in known.capabilities:
        if change.is_worse or not is_broken:
            yield _name(change, titles.get(change.id, "")), _fate(change)
    if any(change.is_worse for change in known.capabilities) or not known.outcome_after:
        if not known.capabilities:
            words = STATE_WORDS[known.before], STATE_WORDS[known.after]
            both = f"{words[0]} with {release}, {words[1]} with the checkout"
            yield "", known.because or both
        return
    if is_broken and known.before == "infeasible":
        yield "", f"could not be installed with {release}, and can be now; {_cause(known)}"
    elif is_broken or not known.capabilities:
        yield "", f"{STATE_WORDS[known.before]} with {release}; {_cause(known)}"


def _cause(known: CellDifference) -> str:
    return cause_sentence(parse_outcome(known.outcome_after))


def change_words(change: CapabilityDifference, title: str) -> str:
    return f"{_name(change, title)} {_fate(change)}"


def _name(change: CapabilityDifference, title: str) -> str:
    return f"{change.id} ({title})" if title and title != change.id else change.id


def _fate(change: CapabilityDifference) -> str:
    if not change.is_worse:
        return "works now"
    if change.after == "absent":
        return f"is not there any more: {change.subject}"
    if change.after is None:
        return "has no result any more: the tests did not come to it"
    return f"fails: {change.subject or change.cause}"
