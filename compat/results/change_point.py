"""The `results` room's change points: from which of a row of measurements on all are of another
size.
"""

from collections.abc import Sequence
from statistics import median

from compat.value import Value

# Fewer on one side separate by chance: of 17 values in random order the last four are the four
# smallest once in 2,380.
_FEWEST = 4
# Machines that others share differ by more than a half from hour to hour.
_LEAST_RATIO = 1.5
# A run of the same files differs by a tenth from the one before: what is closer is no gap.
_LEAST_GAP = 1.1


class ChangePoint(Value, frozen=True):
    """From the measurement with this index on, values are lower, or higher, by this ratio of the
    medians, which is above 1.
    """

    index: int
    ratio: float
    is_lower: bool


def change_point(values: Sequence[float]) -> ChangePoint | None:
    """Return where every value before differs from every value after by a tenth, and the medians
    by a half; the widest such gap, None where there is none.
    """
    splits = range(_FEWEST, len(values) - _FEWEST + 1)
    points = [
        point
        for index in splits
        if (point := _point(values, index)) is not None and _gap(values, point) >= _LEAST_GAP
    ]
    return max(points, key=lambda point: _gap(values, point), default=None)


def _point(values: Sequence[float], index: int) -> ChangePoint | None:
    before, after = values[:index], values[index:]
    is_lower = max(after) < min(before)
    if not is_lower and not max(before) < min(after):
        return None
    high, low = (before, after) if is_lower else (after, before)
    if median(low) <= 0:
        return None
    ratio = median(high) / median(low)
    return ChangePoint(index, ratio, is_lower) if ratio >= _LEAST_RATIO else None


def _gap(values: Sequence[float], point: ChangePoint) -> float:
    before, after = values[: point.index], values[point.index :]
    return min(before) / max(after) if point.is_lower else min(after) / max(before)
