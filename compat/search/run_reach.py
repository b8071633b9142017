"""How many cells a run is expected to answer: its own, and those between it and a tested neighbour,
where both come to the same (`results/intervals.py`).

A line that has no tested cell is worth most at its ends, as a second run may then answer all that
lies between; between two neighbours that came to something else the middle is, as in a bisection.
A run may come to no answer, as another package is in the way or the time ran out, which is likelier
beside such a cell.
"""

from collections.abc import Iterable, Sequence

from compat.plan.cell import Cell
from compat.results.answer import Kind
from compat.results.infer import (
    Lines,
    Signature,
    agreement,
    is_open,
    is_silent,
    tested_signature,
)
from compat.results.snapshot import Snapshot

# How likely a run comes to an answer as far as no neighbour has run: of the first 90 cells of the
# largest matrix here that ran, 73 did (24 November 2026).
_ANSWERS = 0.8
# Of a cell that runs now.
_NOT_YET: Signature = ("",)


class RunReach:
    """The lines of a matrix, what was tested on them, and what follows from a run."""

    def __init__(self, known: Snapshot) -> None:
        self._tested: dict[str, Signature] = {}
        # Cells of which nothing of their own is known, and those of them that are expected to come
        # to something.
        self._open: dict[str, Cell] = {}
        self._expected: set[str] = set()
        # Cells without an answer that is to come, those of them that ran, and those that run now.
        self._silent: set[str] = set()
        self._blocked: set[str] = set()
        self._running: set[str] = set()
        for entry in known.entries:
            cell_id, signature = entry.cell.id, tested_signature(entry)
            if signature is not None:
                self._tested[cell_id] = signature
            elif is_open(entry) or entry.expected is not None:
                self._open[cell_id] = entry.cell
                if entry.expected is not None:
                    self._expected.add(cell_id)
            elif is_silent(entry):
                self._silent.add(cell_id)
                if entry.runs:
                    self._blocked.add(cell_id)
        self._lines = Lines(known, self._tested.get, self._is_even)
        self._worth: dict[str, tuple[float, float]] = {}
        self._agreed = self._compared = 0
        for entry in known.known:
            if entry.cell.id in self._tested:
                self._compare(entry.cell)

    def answers(self, cell: Cell, *, is_whole: bool = True) -> float:
        if cell.id not in self._worth:
            lines = list(self._lines.through(cell))
            others = sum(self._on_line(cell.id, line) for line in lines)
            self._worth[cell.id] = self._chance(cell.id, lines), others
        chance, others = self._worth[cell.id]
        return chance * (1 + others if is_whole else 1)

    def ran(self, cell: Cell, signature: Signature) -> dict[Cell, Kind]:
        """Take what a run of the whole suite came to; return the cells that are now expected to
        come to something, and to what.
        """
        self.answered([cell])
        self._tested[cell.id] = signature
        self._compare(cell)
        followers: dict[Cell, Kind] = {}
        for line in self._lines.through(cell):
            for cell_id in line:
                other = self._open.get(cell_id)
                if other is None or cell_id in self._expected:
                    continue
                kinds = {self._tested[low][0] for low, _, _ in self._lines.around(other)}
                if len(kinds) == 1:
                    followers[other] = kinds.pop()  # type: ignore[assignment]
        for other in followers:
            self._expected.add(other.id)
            self._forget(other)
        return followers

    def answered(self, cells: Iterable[Cell]) -> None:
        for cell in cells:
            self._open.pop(cell.id, None)
            self._running.discard(cell.id)
            self._expected.discard(cell.id)
            self._lines.forget(cell)
            self._forget(cell)

    def begun(self, cell: Cell) -> None:
        """Take that a cell runs now, so that the next one is chosen away from it."""
        self.answered([cell])
        self._running.add(cell.id)

    def blocked(self, cell: Cell) -> None:
        self.answered([cell])
        self._silent.add(cell.id)
        self._blocked.add(cell.id)

    def _is_even(self, cell_id: str) -> bool:
        return cell_id in self._open or cell_id in self._silent

    def _forget(self, cell: Cell) -> None:
        for line in self._lines.through(cell):
            for cell_id in line:
                self._worth.pop(cell_id, None)

    def _compare(self, cell: Cell) -> None:
        for line in self._lines.through(cell):
            place = line.index(cell.id)
            beside = next((other for other in line[place + 1 :] if other in self._tested), None)
            if beside is not None:
                self._compared += 1
                self._agreed += bool(agreement(self._tested[cell.id], self._tested[beside]))

    def _on_line(self, cell_id: str, line: Sequence[str]) -> float:
        place = line.index(cell_id)
        before, low = self._up_to(reversed(line[:place]))
        after, high = self._up_to(line[place + 1 :])
        chance = (1 + self._agreed) / (2 + self._compared)
        if (low and high and not agreement(low, high)) or low == high == _NOT_YET:
            # Somewhere between them it changes, and nobody knows where. Where an end runs now, it
            # does only if both come to something else: else they answer what lies between.
            halves = (before * (after + 1) + after * (before + 1)) / (before + after + 1)
            return halves * (1 - chance if _NOT_YET in (low, high) else 1)
        sides = ((before, low), (after, high))
        # Without a tested neighbour another run has to come, at the far end.
        return chance * sum(cells if end else max(0, cells - 1) / 2 for cells, end in sides)

    def _chance(self, cell_id: str, lines: Iterable[Sequence[str]]) -> float:
        """How likely a run comes to an answer, by what the next ones on each line did; near ones
        say most.
        """
        answers, weights = _ANSWERS, 1.0
        for line in lines:
            place = line.index(cell_id)
            for cells in (reversed(line[:place]), line[place + 1 :]):
                for distance, other in enumerate(cells, 1):
                    if other in self._tested or other in self._blocked:
                        answers += (other in self._tested) / distance
                        weights += 1 / distance
                        break
        return answers / weights

    def _up_to(self, cells: Iterable[str]) -> tuple[int, Signature | None]:
        waiting = 0
        for cell_id in cells:
            if cell_id in self._silent:
                continue
            if cell_id not in self._open:
                is_running = cell_id in self._running
                return waiting, _NOT_YET if is_running else self._tested.get(cell_id)
            waiting += cell_id not in self._expected
        return waiting, None
