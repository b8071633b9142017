"""Verdicts -> the `[[known]]` entries that say more than is so: a capability works where one says
that it fails.
"""

from collections.abc import Iterator, Mapping

from compat.declare.faults import Finding
from compat.declare.matrix import Matrix
from compat.errors import UsageError
from compat.plan.cell import parse_cell
from compat.results.snapshot import holds
from compat.results.verdict import Verdict


def refuted(matrix: Matrix, verdicts: Mapping[str, Verdict]) -> Iterator[Finding]:
    """Yield a finding for each entry about a capability that a cell of its own range refutes; the
    first cell is named.

    A flaky cell refutes nothing.
    """
    for number, issue in enumerate(matrix.known):
        cells = [
            cell
            for cell, verdict in sorted(verdicts.items())
            if issue.capability in _working(verdict) and _is_in_range(cell, matrix, number)
        ]
        if cells:
            more = f" and {len(cells) - 1} more" if len(cells) > 1 else ""
            message = (
                f"{issue.capability} works in {cells[0]}{more}, where this entry says why it fails"
            )
            yield Finding("refuted", ("known", number), message, "narrow its `when`, or remove it")


def _working(verdict: Verdict) -> set[str]:
    if verdict.kind == "flaky":
        return set()
    return {capability.id for capability in verdict.capabilities if capability.status == "yes"}


def _is_in_range(cell: str, matrix: Matrix, number: int) -> bool:
    try:
        return holds(matrix.known[number], parse_cell(cell, matrix))
    except UsageError:
        return False  # Its axes have changed since.
