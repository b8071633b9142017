"""The `site` room's history: how the verdict of each cell changed from run to run, for pages and
feeds.
"""

import datetime
from collections.abc import Iterator
from typing import Literal

from compat.results.answer import Answer
from compat.results.compare import Change, compare
from compat.results.judge import judge
from compat.results.runs import Ran, in_order
from compat.results.snapshot import Snapshot
from compat.run.outcome import Failed, is_doubtful
from compat.value import Value

Beside = Literal["lock", "suite"]


class Event(Value, frozen=True, kw_only=True):
    """A change of a cell's verdict: the moment of the run that brought it, the verdict before, and
    the one from then on.

    `beside` is what else had changed since the run before: another suite may find more, in the same
    versions.
    """

    moment: datetime.datetime
    entry: Answer
    change: Change
    before: Answer
    verdict: Answer
    beside: tuple[Beside, ...] = ()


def events(snapshot: Snapshot) -> tuple[Event, ...]:
    """Return every change up to the snapshot's day, the newest first; a cell's first verdict is a
    change of kind `new`.

    Staleness is no change: nothing ran.
    """
    every = (event for entry in snapshot.known for event in of_cell(entry, snapshot))
    return tuple(sorted(every, key=lambda event: (-event.moment.timestamp(), event.entry.id)))


def of_cell(entry: Answer, snapshot: Snapshot) -> Iterator[Event]:
    """Yield the changes of one cell, the oldest first; the result of all its runs is known.

    Who is at fault for a failure is derived from all runs.
    """
    if not entry.is_tested:
        return
    present = snapshot.present
    runs = in_order(run for run in entry.runs if run.started.date() <= present.day)
    if runs[1:]:
        present = snapshot.attribution.context(entry.cell, present)

    def after_runs(number: int) -> Answer:
        if not number:
            return Answer(cell=entry.cell)
        if number == len(runs):
            return entry
        return judge(entry.cell, runs[:number], present)

    before: Answer | None = after_runs(0)
    for number, run in enumerate(runs, 1):
        if number > 1 and _is_repeated(runs[number - 2], run):
            before = None
            continue
        before = before or after_runs(number - 1)
        after = after_runs(number)
        change = compare(before, after)
        if change.kind != "same":
            last, digests = runs[max(0, number - 2)], list[tuple[Beside, str, str]]()
            digests.append(("lock", last.lock_digest, run.lock_digest))
            digests.append(("suite", last.suite_digest, run.suite_digest))
            beside = tuple(name for name, old, new in digests if old and new and old != new)
            yield Event(
                moment=run.started,
                entry=entry,
                change=change,
                before=before,
                verdict=after,
                beside=beside,
            )
        before = after


def _is_repeated(last: Ran, run: Ran) -> bool:
    # Whether a run says what the one before it said, word for word: no verdict changes by it. A
    # doubtful outcome counts once a second run confirms it. Equal capabilities are one object in
    # the index.
    return (
        run.capabilities is last.capabilities
        and run.outcomes == last.outcomes
        and (run.lock_digest, run.suite_digest) == (last.lock_digest, last.suite_digest)
        and (run.tier, run.involved) == (last.tier, last.involved)
        and not any(isinstance(o, Failed) and is_doubtful(o) for o in run.outcomes)
    )
