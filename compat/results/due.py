"""The `results` room's agenda: which cells to run now, and why. When nothing has changed it is empty."""

import datetime
from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from compat.results.record import Ran, Value
from compat.results.verdict import Present, counting, in_order, is_other_suite, staleness

Reason = Literal["never-run", "lock-changed", "suite-changed", "spurious-last", "stale"]
REASONS: tuple[Reason, ...] = get_args(Reason)
# What is most telling comes first; a changed lock and a changed suite tell the same.
_RANK: dict[Reason, int] = {"never-run": 0, "lock-changed": 1, "suite-changed": 1, "spurious-last": 2, "stale": 3}


class Due(Value, frozen=True, kw_only=True):
    """A cell that is worth a run now, and why; `last` is the day of its newest run, None when there is none."""

    cell: str
    reason: Reason
    last: datetime.date | None = None


def due(locks: Mapping[str, str | None], runs: Iterable[Ran], present: Present) -> tuple[Due, ...]:
    """Return the cells to run, the most telling first, then by id.

    `locks` has each cell that could be run, with its lock's digest, or None where it has no lock to compare.
    """
    by_cell: dict[str, list[Ran]] = {cell: [] for cell in locks}
    for run in runs:
        if run.cell in by_cell and run.started.date() <= present.day:
            by_cell[run.cell].append(run)
    found = (_due(cell, by_cell[cell], present, lock) for cell, lock in locks.items())
    return tuple(sorted((one for one in found if one), key=lambda one: (_RANK[one.reason], one.cell)))


def _due(cell: str, runs: list[Ran], present: Present, lock: str | None) -> Due | None:
    if not runs:
        return Due(cell=cell, reason="never-run")
    last = in_order(runs)[-1]
    reason = _reason(last, runs, present, lock)
    return None if reason is None else Due(cell=cell, reason=reason, last=last.started.date())


def _reason(last: Ran, runs: list[Ran], present: Present, lock: str | None) -> Reason | None:
    if lock is not None and last.lock_digest != lock:
        return "lock-changed"
    if is_other_suite(last, present):
        return "suite-changed"
    counted = counting(runs, present.day)
    if not counted or counted[-1].run is not last:
        return "spurious-last"
    return "stale" if staleness(last, present, lock) else None
