"""What is expected of cells between two tested neighbours that agree: same outcome and same cause,
all other coordinates equal, and nothing contrary between.

It is an expectation, no proof: the verdict of such a cell stays `unknown`, so that it stands behind
every tested one and moves nothing.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

import msgspec
from packaging.version import Version

from compat.plan.cell import Cell, Coordinate
from compat.plan.product import axis_coordinates
from compat.results.snapshot import Entry, Snapshot
from compat.results.verdict import Verdict
from compat.run.outcome import brief

_Place = tuple[str, tuple[Version, ...]]


def with_expectations(known: Snapshot) -> Snapshot:
    """Return the snapshot with what the cells between tested neighbours are expected to come to."""
    expected: dict[str, Verdict] = {}
    unsure: set[str] = set()
    for cell, verdict in _expectations(known):
        before = expected.setdefault(cell, verdict)
        if before.expected != verdict.expected:
            unsure.add(cell)
    if not expected:
        return known

    def awaited(entry: Entry) -> Entry:
        cell = entry.cell.id
        if cell not in expected or cell in unsure:
            return entry
        return msgspec.structs.replace(entry, verdict=expected[cell])

    return known.mapped(awaited, known.plain, known.disproofs)


def _expectations(known: Snapshot) -> Iterator[tuple[str, Verdict]]:
    tested = [e for e in known.known if e.verdict.evidence == "tested" and e.planned]
    if len(tested) < 2:  # without a catalogue none is planned, and no axis has coordinates
        return
    for number, axis in enumerate(known.matrix.axes):
        lines: dict[tuple[object, ...], list[Entry]] = defaultdict(list)
        for entry in tested:
            recipe, place = _place(entry)
            lines[recipe, place[:number], place[number + 1 :]].append(entry)
        coordinates = axis_coordinates(axis, known.catalogue)
        places = {coordinate.version: n for n, coordinate in enumerate(coordinates)}
        for line in lines.values():
            line.sort(key=lambda entry: places[entry.cell.versions[number]])
            for low, high in pairwise(line):
                first, last = (places[entry.cell.versions[number]] for entry in (low, high))
                if last - first < 2 or not _agree(low, high):
                    continue
                between = [
                    known.by_id.get(_beside(low.cell, coordinate).id)
                    for coordinate in coordinates[first + 1 : last]
                ]
                cells = [entry for entry in between if entry is not None and _is_open(entry)]
                # A cell between with an answer of its own says that the line is not even.
                if len(cells) == len(between):
                    yield from ((e.cell.id, _verdict(e, low, high, axis.name)) for e in cells)


def _place(entry: Entry) -> _Place:
    return entry.cell.recipe, entry.cell.versions


def _beside(cell: Cell, coordinate: Coordinate) -> Cell:
    """The cell with that coordinate in the place of its own."""
    coordinates = (coordinate if own.axis == coordinate.axis else own for own in cell.coordinates)
    return Cell(matrix=cell.matrix, coordinates=tuple(coordinates), recipe=cell.recipe)


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
