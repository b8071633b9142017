"""What the runs of one cell say beside their verdict, in little room: a question about all cells
must not read the runs of each.
"""

import datetime
from collections.abc import Sequence

from compat.results.ran import Ran
from compat.results.verdict import (
    EvaluationContext,
    History,
    in_order,
    is_other_suite,
    is_whole,
    staleness,
)
from compat.run.evidence import Isolation
from compat.value import Value


class ProofRuns(Value, frozen=True, array_like=True):
    """The runs that count on the lock that a cell has now: those of the whole suite, or of its core
    where there are no others.

    `count` is how many, `days` on how many days; of the newest of them `isolation` is its level,
    and `is_of_today` says whether it was of today's suite.
    """

    count: int
    days: int
    isolation: Isolation
    is_of_today: bool


class RunOverview(Value, frozen=True, array_like=True):
    """The runs of a cell up to a day, of which there is at least one.

    `first` is when the oldest started, `newest` the day of the newest. Of that one `is_of_lock`
    says whether it was on the lock that the cell has now, `is_of_suite` whether it has nothing to
    learn from today's suite, `counts` whether it is the newest that counts.

    Of those that count `outdated` says why they no longer answer, `is_whole` whether the whole
    suite could say no more, `asks_as_today` whether the newest was of today's suite, `has_failures`
    whether a capability failed in any. `proof` is None where the newest was on another lock.
    """

    first: datetime.datetime
    newest: datetime.date
    is_of_lock: bool
    is_of_suite: bool
    counts: bool
    outdated: tuple[str, ...]
    is_whole: bool
    asks_as_today: bool
    has_failures: bool
    proof: ProofRuns | None


def overview_of(
    runs: Sequence[Ran], history: History, present: EvaluationContext, lock_digest: str | None
) -> RunOverview | None:
    """Return the overview of a cell's runs, with the history that they make on the day; None where
    there is none up to it. `lock_digest` is that of the lock that the cell has now.
    """
    ordered = in_order(run for run in runs if run.started.date() <= present.day) if runs else []
    if not ordered:
        return None
    counted, last = history.counted, ordered[-1]
    # Runs that came to the same share one object in the index.
    distinct = {id(c.run.capabilities): c.run.capabilities for c in counted}.values()
    return RunOverview(
        first=ordered[0].started,
        newest=last.started.date(),
        is_of_lock=last.lock_digest == lock_digest,
        is_of_suite=not is_other_suite(last, present),
        counts=bool(counted) and counted[-1].run is last,
        outdated=staleness(history, present, lock_digest) if counted else (),
        is_whole=bool(counted) and is_whole(history.deciding[-1].run),
        asks_as_today=bool(counted) and not is_other_suite(counted[-1].run, present),
        has_failures=any(c.status == "no" for capabilities in distinct for c in capabilities),
        proof=_proof(history, present, lock_digest) if counted else None,
    )


def _proof(
    history: History, present: EvaluationContext, lock_digest: str | None
) -> ProofRuns | None:
    if history.counted[-1].run.lock_digest != lock_digest:
        return None
    tier = history.deciding[-1].run.tier
    runs = [
        counted.run
        for counted in history.counted
        if counted.run.lock_digest == lock_digest and tier in ("smoke", counted.run.tier)
    ]
    return ProofRuns(
        count=len(runs),
        days=len({run.started.date() for run in runs}),
        isolation=runs[-1].isolation,
        is_of_today=not is_other_suite(runs[-1], present),
    )
