"""Between which two days a working world became a broken one: bisection over locks.

Each lock is one that a resolver would have made on that day, by the upload dates of the index. A
date that lies makes a day's lock another one, or refused; it cannot make a working world broken.
"""

import datetime
from collections.abc import Callable
from itertools import pairwise

from compat.lock.lockfile import Lock
from compat.search.shrink import Trial
from compat.value import Value

DAY = datetime.timedelta(days=1)
# So many days in a row that cannot be locked or say nothing end the search: what it has is narrow
# enough to go on with. Chosen on 2026-11-23; a lock takes a second.
MOST_SKIPPED = 6


class DatedLock(Value, frozen=True, kw_only=True):
    """What the resolver made of the index as it was at a moment."""

    on: datetime.datetime
    lock: Lock


def narrowed(
    good: DatedLock,
    bad: DatedLock,
    lock_at: Callable[[datetime.datetime], Lock | None],
    run: Callable[[Lock], Trial],
    is_near: Callable[[Lock, Lock], bool],
) -> tuple[DatedLock, DatedLock]:
    """Return the last day that was seen to work and the first that was seen to fail, as near to
    each other as `is_near` asks for or the days allow.

    `lock_at` returns None for a day that cannot be locked. Equal locks are run once.
    """
    skipped: list[datetime.datetime] = []
    trials: dict[str, Trial] = {good.lock.digest: "works", bad.lock.digest: "fails"}
    while len(skipped) <= MOST_SKIPPED and not is_near(good.lock, bad.lock):
        moment = _between(good.on, bad.on, skipped)
        if moment is None:
            break
        lock = lock_at(moment)
        if lock is not None and lock.digest not in trials:
            trials[lock.digest] = run(lock)
        if lock is None or trials[lock.digest] == "unresolved":
            skipped.append(moment)
        elif trials[lock.digest] == "works":
            good = DatedLock(on=moment, lock=lock)
        else:
            bad = DatedLock(on=moment, lock=lock)
    return good, bad


def _between(
    start: datetime.datetime, end: datetime.datetime, skipped: list[datetime.datetime]
) -> datetime.datetime | None:
    # The midnight in the middle of the widest stretch without a skipped day; None when none is
    # left.
    marks = sorted([start, end, *(day for day in skipped if start < day < end)])
    stretches = sorted(pairwise(marks), key=lambda s: s[0] - s[1])
    for first, last in stretches:
        middle = first + (last - first) / 2
        midnight = middle.replace(hour=0, minute=0, second=0, microsecond=0)
        for moment in (midnight, midnight + DAY):
            if first < moment < last:
                return moment
    return None
