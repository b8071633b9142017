"""Verdicts -> the `[[known]]` entries that say more than is so: a capability works where one says
that it fails.
"""

from collections.abc import Iterable, Iterator

from compat.declare.faults import Finding
from compat.declare.matrix import KnownIssue, Matrix
from compat.plan.cell import Cell
from compat.results.answer import Answer
from compat.results.judge import Attribution, explains, holds

_CLAIMS = {
    "combination": "where this entry says why it fails",
    "release": "where this entry says that it fails in every combination of the release",
    "index": "where this entry says that the index no longer has what it needs",
}


def refuted(matrix: Matrix, answers: Iterable[Answer]) -> Iterator[Finding]:
    """Yield a finding for each entry about a capability that a cell of its own range refutes; the
    first cell is named, one with a fresh result before a stale one.

    A capability that came and went in a cell refutes nothing there.
    """
    cells = {each.cell: each for each in answers if not each.cell.unread}
    for number, refuting in Attribution(matrix, cells.values()).refuting.items():
        issue = matrix.known[number]
        first, *others = sorted(refuting, key=lambda cell: (cells[cell].stale, cell.id))
        yield _finding(number, issue, first, len(others), is_stale=cells[first].stale)
    for number, issue in enumerate(matrix.known):
        # What the records show of how a capability fails in the range of an entry: in several ways
        # where it names none, and never as it names.
        failures = {
            cell.id: capability.failed
            for cell, verdict in cells.items()
            for capability in verdict.capabilities
            if capability.id == issue.capability and capability.failed and holds(issue, cell)
        }
        by_cause = {failed.cause: cell for cell, failed in failures.items() if failed}
        ways = " and ".join(f"{cause} in {cell}" for cause, cell in sorted(by_cause.items()))
        if len(by_cause) > 1 and not issue.outcome:
            message = f"{issue.capability} fails in more than one way in this range: {ways}"
            hint = "`outcome` names the one that this explains, such as 'test-fail:assertion'"
            yield Finding("vague", ("known", number), message, hint)
        elif failures and not any(explains(issue, failed) for failed in failures.values()):
            message = (
                f"no failure of {issue.capability} in this range begins with {issue.outcome!r}"
            )
            yield Finding("unmatched", ("known", number, "outcome"), f"{message}: {ways}")


def _finding(number: int, issue: KnownIssue, cell: Cell, others: int, *, is_stale: bool) -> Finding:
    more = f" and {others} more" if others else ""
    message = f"{issue.capability} works in {cell.id}{more}, {_CLAIMS[issue.fault]}"
    hint = "narrow its `when`, or remove it"
    if is_stale:
        hint += "; or run the cell again, as its result is stale"
    return Finding("refuted", ("known", number), message, hint)
