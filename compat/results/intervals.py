"""What is expected of cells between two tested neighbours that agree: same outcome and same cause,
all other coordinates equal, and nothing contrary between. Of two that work in part the capabilities
agree one by one: what fails in both is expected to fail between them, too.

It is an expectation, no proof: the verdict of such a cell stays `unknown`, so that it stands behind
every tested one and moves nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import msgspec

from compat.plan.cell import Cell, axis_coordinates, readable_cell
from compat.results.answer import Answer
from compat.results.judge import holds
from compat.results.snapshot import Snapshot
from compat.run.outcome import PLACED, Failed, Outcome, brief

# What a tested cell says for others: its kind, and the cause or the capabilities that fail; empty
# where it says nothing.
Signature = tuple[str, ...]
# The ids of two tested neighbours in reading order, and the axis on which they stand beside each
# other.
_Ends = tuple[str, str, str]
# A line by its axis, and what stands before and after the version in the ids of its cells.
_Line = tuple[str, str, str]
_MOST_NAMED = 4


def with_expectations(known: Snapshot) -> Snapshot:
    if not known.catalogue.packages:  # without one none is planned, and no axis has coordinates
        return known
    by_id = known.by_id

    def tested(cell_id: str) -> Signature | None:
        entry = by_id.get(cell_id)
        return tested_signature(entry) if entry is not None and entry.is_known else None

    def is_even(cell_id: str) -> bool:
        entry = by_id.get(cell_id)
        return entry is not None and is_silent(entry)

    lines = Lines(known, tested, is_even)

    def awaited(entry: Answer) -> Answer:
        if not is_open(entry):
            return entry
        expected = [
            _expected(entry, by_id[low], by_id[high], axis)
            for low, high, axis in lines.around(entry.cell)
        ]
        return expected[0] if len({each.expected for each in expected}) == 1 else entry

    return known.mapped(awaited)


class Lines:
    """The cells that differ on one axis alone, in its order; what lies between those that were
    tested is looked at once for each line.
    """

    def __init__(
        self,
        known: Snapshot,
        tested: Callable[[str], Signature | None],
        is_even: Callable[[str], bool],
    ) -> None:
        """Take the axes of a snapshot; by its id what a cell came to, None where it was not tested,
        and whether it says nothing of its own.
        """
        self._known = known
        self._tested = tested
        self._is_even = is_even
        self._axes = {
            axis.name: [coordinate.text for coordinate in axis_coordinates(axis, known.catalogue)]
            for axis in known.matrix.axes
        }
        self._between: dict[_Line, dict[str, _Ends]] = {}

    def through(self, cell: Cell) -> Iterator[list[str]]:
        return map(self._cells, self._lines(cell))

    def around(self, cell: Cell) -> Iterator[_Ends]:
        for line in self._lines(cell):
            if line not in self._between:
                self._between[line] = dict(self._pairs(line[0], self._cells(line)))
            ends = self._between[line].get(cell.id)
            if ends is not None and not self._is_known_to_fail(cell, ends):
                yield ends

    def _is_known_to_fail(self, cell: Cell, ends: _Ends) -> bool:
        """Whether people declared that a cell fails that would be expected to work, and not of both
        ends: where it holds of these, too, they work in spite of it.
        """
        kind = (self._tested(ends[0]) or ("broken",))[0]
        cells = [readable_cell(end, self._known.matrix) for end in ends[:2]]
        about = (
            issue
            for issue in self._known.holding(cell)
            # What works in part may lack one capability more.
            if issue.fault == "combination" and (kind == "works" or not issue.capability)
        )
        return kind != "broken" and any(
            not all(end is not None and holds(issue, end) for end in cells) for issue in about
        )

    def forget(self, cell: Cell) -> None:
        """Take that something has become known of a cell."""
        for line in self._lines(cell):
            self._between.pop(line, None)

    def _lines(self, cell: Cell) -> Iterator[_Line]:
        own = [coordinate.text for coordinate in cell.coordinates]
        recipe = cell.id.removeprefix(cell.place)
        for number, axis in enumerate(self._axes):
            before = "".join(f"{text}-" for text in own[:number])
            after = "".join(f"-{text}" for text in own[number + 1 :]) + recipe
            yield axis, before, after

    def _cells(self, line: _Line) -> list[str]:
        axis, before, after = line
        return [f"{before}{text}{after}" for text in self._axes[axis]]

    def _pairs(self, axis: str, cells: Sequence[str]) -> Iterator[tuple[str, _Ends]]:
        signatures = ((n, self._tested(cell)) for n, cell in enumerate(cells))
        tested = [(n, signature) for n, signature in signatures if signature is not None]
        for (first, low), (last, high) in pairwise(tested):
            if last - first < 2 or not agreement(low, high):
                continue
            between = cells[first + 1 : last]
            # A cell between with an answer of its own says that the line is not even.
            if all(map(self._is_even, between)):
                yield from ((cell, (cells[first], cells[last], axis)) for cell in between)


def tested_signature(entry: Answer) -> Signature | None:
    """Return what a planned cell came to in a run of the whole suite; None where it did not run."""
    is_tested = entry.planned and entry.evidence == "tested"
    return signature_of(entry) if is_tested else None


def signature_of(verdict: Answer) -> Signature:
    """Return what a neighbour must have come to, too; empty where it says nothing for others."""
    if verdict.kind not in ("works", "partial", "broken"):
        return ()
    if verdict.kind == "broken":
        return verdict.kind, "" if verdict.outcome is None else _cause(verdict.outcome)
    return verdict.kind, *verdict.failing("combination", "unexplained")


def agreement(low: Signature, high: Signature) -> Signature:
    """Return what two tested neighbours let expect of what lies between them; empty where that is
    nothing. A capability is a line of its own: what fails in one of them alone says nothing about
    it, and changes nothing in what fails in both.
    """
    if low == high:
        return low
    if low[:1] != ("partial",) or high[:1] != ("partial",):
        return ()
    shared = sorted({*low[1:]} & {*high[1:]})
    return ("partial", *shared) if shared else ()


def _cause(outcome: Outcome) -> str:
    """What a broken neighbour has to share. Of a place it is the package: from release to release
    lines move, and so does the first of many files that a Python cannot run.
    """
    if isinstance(outcome, Failed) and outcome.cause in PLACED:
        package = outcome.subject.partition("/")[0]
        return str(Failed(stage=outcome.stage, cause=outcome.cause, subject=package))
    return str(brief(outcome))


def is_open(entry: Answer) -> bool:
    return is_silent(entry) and entry.refusal is None and not entry.runs


def is_silent(entry: Answer) -> bool:
    """Return whether a planned cell says nothing about its line: it did not run, or what its runs
    came to (another package in the way, a time limit once) does not count for its versions; nor
    does it that a resolver only wants a build.
    """
    return entry.planned and entry.evidence == "none" and entry.obstacle is None


def _expected(entry: Answer, low: Answer, high: Answer, axis: str) -> Answer:
    kind, outcome, other = low.kind, low.outcome, high.outcome
    ends = f"{low.cell.id} and {high.cell.id}"
    same = f"both came to {outcome}" if outcome == other else f"came to {outcome} and to {other}"
    if kind == "works":
        same = "both work"
    elif kind == "partial":
        same = _in_part(signature_of(low), signature_of(high))
    reason = f"inferred: of the versions of {axis} around it, {ends} {same}; nothing between speaks"
    return msgspec.structs.replace(
        entry,
        evidence="inferred",
        expected=kind,
        stale=low.stale or high.stale,
        reasons=(f"{reason} against it",),
    )


def _in_part(low: Signature, high: Signature) -> str:
    shared = agreement(low, high)[1:]
    open_ids = sorted({*low[1:]} ^ {*high[1:]})
    words = "both work in part"
    if shared:
        words += f": {_some(shared)} {'fails' if len(shared) == 1 else 'fail'} in both"
    if open_ids:
        words += f", and {_some(open_ids)} in one of them alone, which stays open"
    return words


def _some(ids: Sequence[str]) -> str:
    rest = len(ids) - _MOST_NAMED
    return ", ".join(ids[:_MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")
