"""What is expected of cells between two tested neighbours that agree: same outcome and same cause,
all other coordinates equal, and nothing contrary between.

It is an expectation, no proof: the verdict of such a cell stays `unknown`, so that it stands behind
every tested one and moves nothing.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from compat.plan.cell import Cell
from compat.plan.product import axis_coordinates
from compat.results.snapshot import Entry, Snapshot
from compat.results.verdict import Verdict
from compat.run.outcome import brief

# Two tested neighbours in reading order, and the axis on which they stand beside each other.
_Ends = tuple[Entry, Entry, str]


def with_expectations(known: Snapshot) -> Snapshot:
    """Return the snapshot with what the cells between tested neighbours are expected to come to."""
    if not known.catalogue.packages:  # without one none is planned, and no axis has coordinates
        return known
    lines = _Lines(known)

    def awaited(entry: Entry) -> Entry:
        if not _is_open(entry):
            return entry
        expected = [_verdict(entry, *ends) for ends in lines.around(entry.cell)]
        if len({verdict.expected for verdict in expected}) != 1:
            return entry
        return msgspec.structs.replace(entry, verdict=expected[0])

    return known.mapped(awaited)


class _Lines:
    """The cells that differ on one axis alone, in its order; each such line is looked at once."""

    def __init__(self, known: Snapshot) -> None:
        self._known = known
        self._axes = [
            (axis.name, [coordinate.text for coordinate in axis_coordinates(axis, known.catalogue)])
            for axis in known.matrix.axes
        ]
        self._between: dict[tuple[str, str, str], dict[str, _Ends]] = {}

    def around(self, cell: Cell) -> Iterator[_Ends]:
        """Yield the tested neighbours that agree about an open cell, on each axis that has some."""
        own = [coordinate.text for coordinate in cell.coordinates]
        recipe = cell.id.removeprefix(cell.place)
        for number, (axis, texts) in enumerate(self._axes):
            before = "".join(f"{text}-" for text in own[:number])
            after = "".join(f"-{text}" for text in own[number + 1 :]) + recipe
            line = axis, before, after
            if line not in self._between:
                cells = [f"{before}{text}{after}" for text in texts]
                self._between[line] = dict(self._pairs(axis, cells))
            if cell.id in self._between[line]:
                yield self._between[line][cell.id]

    def _pairs(self, axis: str, cells: Sequence[str]) -> Iterator[tuple[str, _Ends]]:
        """The open cells of a line that stand between two tested ones that agree."""
        by_id, ids = self._known.by_id, self._known.known_ids
        known = ((n, by_id.get(cell)) for n, cell in enumerate(cells) if cell in ids)
        tested = [(n, e) for n, e in known if e and e.planned and e.verdict.evidence == "tested"]
        for (first, low), (last, high) in pairwise(tested):
            if last - first < 2 or not _agree(low, high):
                continue
            between = [by_id.get(cell) for cell in cells[first + 1 : last]]
            # A cell between with an answer of its own says that the line is not even.
            if all(entry is not None and _is_open(entry) for entry in between):
                yield from ((cell, (low, high, axis)) for cell in cells[first + 1 : last])


def _is_open(entry: Entry) -> bool:
    refusal = entry.refusal
    is_answered = entry.verdict.evidence != "none" or entry.obstacle is not None
    return entry.planned and not is_answered and refusal is None and not entry.runs


def _agree(low: Entry, high: Entry) -> bool:
    signature = _signature(low)
    return signature is not None and signature == _signature(high)


def _signature(entry: Entry) -> tuple[str, ...] | None:
    """What two neighbours must have in common; None where the entry says nothing for others."""
    verdict = entry.verdict
    if verdict.kind not in ("works", "partial", "broken"):
        return None
    if verdict.kind == "broken":
        return verdict.kind, "" if verdict.outcome is None else str(brief(verdict.outcome))
    return verdict.kind, *verdict.failing("combination", "unexplained")


def _verdict(entry: Entry, low: Entry, high: Entry, axis: str) -> Verdict:
    kind, outcome = low.verdict.kind, low.verdict.outcome
    ends = f"{low.cell.id} and {high.cell.id}"
    same = "both work" if kind == "works" else f"both came to {outcome}"
    reason = f"inferred: of the versions of {axis} around it, {ends} {same}; nothing between speaks"
    return Verdict(
        cell=entry.cell.id,
        kind="unknown",
        evidence="inferred",
        expected=kind,
        stale=low.verdict.stale or high.verdict.stale,
        reasons=(f"{reason} against it",),
    )
