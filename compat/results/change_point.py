"""The `results` room's change points: from which of a row of measurements on most are of another
size.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from statistics import median

from compat.value import Value

# Fewer on one side say nothing of what is usual there.
_FEWEST = 5
# So often at most may values in random order look like a step, over all splits that were tried.
_CHANCE = 0.03
# So many of the pairs of a value before and one after must differ the same way: a step, no slope.
_LEAST_SHARE = 0.85
# Machines that others share differ by more than a half from hour to hour.
_LEAST_RATIO = 1.5


class ChangePoint(Value, frozen=True):
    """From the measurement with this index on, values are lower, or higher, by this ratio of the
    medians, which is above 1.
    """

    index: int
    ratio: float
    is_lower: bool


def change_point(values: Sequence[float]) -> ChangePoint | None:
    """Return where values change most clearly, by the rank sum of the two sides (Mann and Whitney,
    1947), and their medians differ by a half; None where chance may do as much.
    """
    splits = range(_FEWEST, len(values) - _FEWEST + 1)
    clearest = max(splits, key=lambda index: abs(_score(values, index)), default=None)
    if clearest is None:
        return None
    score = _score(values, clearest)
    # Of a normal distribution, and for as many trials as there were splits (Bonferroni).
    chance = math.erfc(abs(score) / math.sqrt(2)) * len(splits)
    before, after = values[:clearest], values[clearest:]
    share = _lower_share(before, after)
    low, high = sorted((median(before), median(after)))
    if chance > _CHANCE or max(share, 1 - share) < _LEAST_SHARE or low <= 0:
        return None
    ratio = high / low
    return ChangePoint(clearest, ratio, score > 0) if ratio >= _LEAST_RATIO else None


def _lower_share(before: Sequence[float], after: Sequence[float]) -> float:
    """The share of pairs of which the value after is lower; of equal ones the half."""
    ordered = sorted(after)
    lower = sum((bisect_left(ordered, v) + bisect_right(ordered, v)) / 2 for v in before)
    return lower / (len(before) * len(after))


def _score(values: Sequence[float], index: int) -> float:
    """How many standard deviations the rank sum lies from that of a random order; above 0 where
    values become lower.
    """
    first, second = index, len(values) - index
    pairs = first * second
    deviation = math.sqrt(pairs * (first + second + 1) / 12)
    return (_lower_share(values[:index], values[index:]) - 0.5) * pairs / deviation
