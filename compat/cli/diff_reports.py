"""What a comparison of a checkout with a release leaves for CI. It says no more than the exit code
of `compat diff` does: what breaks is a failure, nothing else is.
"""

from collections.abc import Iterator, Mapping, Sequence

from compat.cli.difference_words import (
    HEADINGS,
    change_words,
    difference_counts,
    difference_reasons,
    differing,
    moved_words,
)
from compat.cli.reports import Report, ReportCase, ReportSuite
from compat.fleet.checkout_run import CheckoutCells, Comparison
from compat.github.markdown import code, inline
from compat.results.compare import CellDifference
from compat.results.record import Capability, Record
from compat.run.outcome import Failed, parse_outcome

_MOST_CELLS = 10  # that a row names


def diff_report(cells: CheckoutCells, comparison: Comparison, heading: str, release: str) -> Report:
    """Return what became of each place: a suite for each cell of the checkout, a case for each
    capability; in the summary each reason once, with its cells.

    `release` is the package and the version that the checkout stands beside.
    """
    titles = {known.id: known.title for known in cells.workspace.described}
    return Report(
        command=f"compat diff {cells.workspace.name}",
        suites=tuple(
            _suite(known, cells.records.get(known.cell, ()), titles, release)
            for known in comparison.differences
        ),
        heading=f"{heading}: {difference_counts(comparison)}",
        columns=("", "what", "cells"),
        rows=tuple(
            (inline(HEADINGS[kind]), inline(sentence, 500), _cells(names))
            for kind, sentence, names in differing(comparison, titles, release)
        ),
        sentences=tuple(moved_words(comparison)),
    )


def _cells(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_CELLS} more" if len(names) > _MOST_CELLS else ""
    return ", ".join(map(code, names[:_MOST_CELLS])) + more


def _suite(
    known: CellDifference,
    records: Sequence[Record],
    titles: Mapping[str, str],
    release: str,
) -> ReportSuite:
    last = records[-1] if records else None
    return ReportSuite(
        cell=known.cell,
        cases=tuple(_cases(known, last, titles, release)),
        started=None if last is None else last.started,
        seconds=None if last is None else last.seconds,
    )


def _cases(
    known: CellDifference, last: Record | None, titles: Mapping[str, str], release: str
) -> Iterator[ReportCase]:
    because = "; ".join(difference_reasons(known, titles, release))
    if known.difference == "unknown":
        yield ReportCase(name="run", tag="error", message=f"without an answer; {because}")
        return
    if known.difference == "flaky":
        why = f"flaky: runs of the same files disagree; {because}"
        yield ReportCase(name="run", tag="skipped", message=why)
        return
    worse = {change.id: change for change in known.capabilities if change.is_worse}
    now = {} if last is None else {each.id: each for each in last.capabilities}
    for name in sorted({*now, *worse}):
        if name in worse:
            why = change_words(worse[name], titles.get(name, ""))
            yield ReportCase(name=name, tag="failure", message=why, kind=worse[name].cause)
        else:
            yield _other_case(now[name], release)
    outcome = parse_outcome(known.outcome_after) if known.outcome_after else None
    stage = outcome.stage if isinstance(outcome, Failed) else "plan"
    log = "" if last is None else last.log
    if known.difference == "breaks" and not worse:
        yield ReportCase(name=stage, tag="failure", message=because, log=log)
    elif not now and isinstance(outcome, Failed):
        yield ReportCase(name=stage, tag="skipped", message=because)
    elif not now:
        yield ReportCase(name="suite")


def _other_case(capability: Capability, release: str) -> ReportCase:
    name = capability.id
    if capability.status == "yes":
        return ReportCase(name=name)
    if capability.status == "absent":
        lacking = ", ".join(capability.missing) or "it"
        why = f"the checkout does not have {lacking}"
    else:
        why = f"fails: {capability.subject or capability.cause}"
    why = f"{why}; it is not known to work with {release} either"
    return ReportCase(name=name, tag="skipped", message=why)
