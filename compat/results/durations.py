"""The `results` room's expectation: how long a run of a cell will take."""

import statistics
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from compat.declare.matrix import Matrix
from compat.declare.suite_table import TIERS, Tier
from compat.plan.cell import Cell, readable_cell
from compat.results.record import StepSeconds
from compat.results.runs import Run


class Timed(Protocol):
    """What is asked of a run: how long it took, the install included."""

    @property
    def seconds(self) -> float:
        """How long it took; 0 when nothing ran."""


class Durations:
    """How long cells take: the median of their own runs, else of their neighbours', else of all."""

    def __init__(self, runs: Iterable[tuple[Cell, Sequence[Timed]]]) -> None:
        timed = ((cell, [run.seconds for run in own if run.seconds > 0]) for cell, own in runs)
        self._own: Mapping[Cell, float] = {
            cell: statistics.median(seconds) for cell, seconds in timed if seconds
        }
        beside: defaultdict[Hashable, list[float]] = defaultdict(list)
        for cell, seconds in self._own.items():
            for key in _beside(cell):
                beside[key].append(seconds)
        self._beside = beside
        self._all = statistics.median(self._own.values()) if self._own else None

    @property
    def is_empty(self) -> bool:
        return self._all is None

    def of(self, cell: Cell) -> float | None:
        """Return how many seconds a run of the cell is expected to take; None when none ran yet."""
        if cell in self._own:
            return self._own[cell]
        near = [seconds for key in _beside(cell) for seconds in self._beside.get(key, ())]
        return statistics.median(near) if near else self._all

    def together(self, cells: Sequence[Cell], workers: int) -> float | None:
        if self._all is None:
            return None
        each = [seconds for cell in cells if (seconds := self.of(cell)) is not None]
        return max(sum(each) / workers, max(each, default=0.0))


def by_step(seconds: float, like: StepSeconds) -> StepSeconds | None:
    """Return how many seconds each step takes of a run of so many, shared out as in another run;
    None where that one did not reach every step.
    """
    parts = (like.install, like.import_, like.suite, like.overhead)
    if None in parts or not (whole := sum(part or 0.0 for part in parts)):
        return None
    install, import_, suite, overhead = ((part or 0.0) * seconds / whole for part in parts)
    return StepSeconds(install=install, import_=import_, suite=suite, overhead=overhead)


def seconds_left(
    running: Iterable[float | None], waiting: Iterable[float | None], workers: int
) -> float | None:
    """Return the seconds until all is done: what is left of each cell that runs, and what each
    that waits will take; None when that is unknown of any.

    A cell that runs longer than expected has nothing left that anybody knows of; its time is never
    taken off the others'.
    """
    parts: list[float] = []
    for seconds in (*running, *waiting):
        if seconds is None:
            return None
        parts.append(max(0.0, seconds))
    return max(sum(parts) / workers, max(parts, default=0.0))


def _beside(cell: Cell) -> Iterator[Hashable]:
    """What cells have in common that differ in one coordinate, or only in their recipe."""
    yield cell.coordinates
    for number in range(len(cell.coordinates)):
        yield number, cell.coordinates[:number], cell.coordinates[number + 1 :], cell.recipe


def durations_by_tier(runs: Mapping[str, Sequence[Run]], matrix: Matrix) -> dict[Tier, Durations]:
    known = [(cell, rows) for name, rows in runs.items() if (cell := readable_cell(name, matrix))]
    return {
        tier: Durations((cell, [row for row in rows if row.tier == tier]) for cell, rows in known)
        for tier in TIERS
    }
