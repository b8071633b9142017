"""Estimates how long a run of a cell takes."""

import math
import statistics
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from statistics import median

from compat.declare.matrix import Matrix
from compat.declare.suite_table import TIERS, Tier
from compat.plan.cell import Cell, readable_cell
from compat.results.record import StepSeconds
from compat.results.runs import Ran, Run
from compat.value import Value


class Durations:
    """How long cells take: the median of their own runs, else of their neighbours', else of all."""

    def __init__(self, runs: Iterable[tuple[Cell, Sequence[Ran]]]) -> None:
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
        if cell in self._own:
            return self._own[cell]
        near = [seconds for key in _beside(cell) for seconds in self._beside.get(key, ())]
        return statistics.median(near) if near else self._all

    def together(self, cells: Sequence[Cell], workers: int) -> float | None:
        if self._all is None:
            return None
        return seconds_left((), map(self.of, cells), workers)


def by_step(seconds: float, like: StepSeconds) -> StepSeconds | None:
    """Split seconds in another run's proportions; None where that did not reach every step."""
    parts = (like.install, like.import_, like.suite, like.overhead)
    if None in parts or not (whole := sum(part or 0.0 for part in parts)):
        return None
    install, import_, suite, overhead = ((part or 0.0) * seconds / whole for part in parts)
    return StepSeconds(install=install, import_=import_, suite=suite, overhead=overhead)


def seconds_left(
    running: Iterable[float | None], waiting: Iterable[float | None], workers: int
) -> float | None:
    """Seconds until all is done; None if unknown. An overdue cell takes nothing off the others."""
    every = (*running, *waiting)
    parts = [max(0.0, seconds) for seconds in every if seconds is not None]
    if len(parts) < len(every):
        return None
    return max(sum(parts) / workers, max(parts, default=0.0))


def _beside(cell: Cell) -> Iterator[Hashable]:
    """The key shared by cells that differ in one coordinate, or only in their recipe."""
    yield cell.coordinates
    for number in range(len(cell.coordinates)):
        yield number, cell.coordinates[:number], cell.coordinates[number + 1 :], cell.recipe


def durations_by_tier(runs: Mapping[str, Sequence[Run]], matrix: Matrix) -> dict[Tier, Durations]:
    known = [(cell, rows) for name, rows in runs.items() if (cell := readable_cell(name, matrix))]
    return {
        tier: Durations((cell, [row for row in rows if row.tier == tier]) for cell, rows in known)
        for tier in TIERS
    }


# Fewer on one side do not show the usual value.
_FEWEST = 5
# The probability that values in random order look like a step, over all tried splits.
_CHANCE = 0.03
# This share of the pairs of a value before and one after must differ in the same direction: a step,
# no slope.
_LEAST_SHARE = 0.85
# Machines that others share differ by more than a half from hour to hour.
_LEAST_RATIO = 1.5


class ChangePoint(Value, frozen=True):
    """From this measurement on, values are lower or higher by the ratio of the medians."""

    index: int
    ratio: float
    is_lower: bool


def change_point(values: Sequence[float]) -> ChangePoint | None:
    """By the rank sum of both sides (Mann and Whitney, 1947); the medians must differ by a half."""
    splits = range(_FEWEST, len(values) - _FEWEST + 1)
    clearest = max(splits, key=lambda index: abs(_score(values, index)), default=None)
    if clearest is None:
        return None
    score = _score(values, clearest)
    # Of a normal distribution, corrected for the number of splits (Bonferroni).
    chance = math.erfc(abs(score) / math.sqrt(2)) * len(splits)
    before, after = values[:clearest], values[clearest:]
    share = _lower_share(before, after)
    low, high = sorted((median(before), median(after)))
    if chance > _CHANCE or max(share, 1 - share) < _LEAST_SHARE or low <= 0:
        return None
    ratio = high / low
    return ChangePoint(clearest, ratio, score > 0) if ratio >= _LEAST_RATIO else None


def _lower_share(before: Sequence[float], after: Sequence[float]) -> float:
    """The share of pairs with a lower value after; equal ones count half."""
    ordered = sorted(after)
    lower = sum((bisect_left(ordered, v) + bisect_right(ordered, v)) / 2 for v in before)
    return lower / (len(before) * len(after))


def _score(values: Sequence[float], index: int) -> float:
    """Standard deviations of the rank sum from a random order's; above 0 if values become lower."""
    first, second = index, len(values) - index
    pairs = first * second
    deviation = math.sqrt(pairs * (first + second + 1) / 12)
    return (_lower_share(values[:index], values[index:]) - 0.5) * pairs / deviation
