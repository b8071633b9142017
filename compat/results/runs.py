"""The runs of a cell, in order, and which of them count.

A spurious outcome says nothing about the versions; a doubtful one counts once a second run agrees.
"""

import datetime
import math
import statistics
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import Any

from compat.declare.matrix import TIERS, Matrix, Tier
from compat.plan.cell import Cell, readable_cell
from compat.results.record import Capability, Record, StepSeconds
from compat.run.evidence import Isolation, Metric
from compat.run.outcome import Failed, Outcome, Stage, is_doubtful, is_spurious, lacks_instruction
from compat.value import StrictValue, Value

BEFORE_TESTS: tuple[Stage, ...] = ("plan", "lock", "install", "import")
# runs of the same lock and suite with a doubtful outcome before it counts
WITNESSES = 2


class Run(Value, frozen=True, kw_only=True):
    """A run as in the table of answers. Those with the same results share their capabilities."""

    cell: str
    started: datetime.datetime
    outcome: Outcome
    outcomes: tuple[Outcome, ...]
    seconds: float
    lock_digest: str
    suite_digest: str
    isolation: Isolation
    tier: Tier
    capabilities: tuple[Capability, ...]
    involved: tuple[str, ...]
    metrics: tuple[Metric, ...]


# What is judged: a record, or its row in the table.
Ran = Record | Run


class CellRuns(Sequence[Run]):
    """The runs of one cell, oldest first, read on first use; their existence is known before."""

    def __init__(self, read: Callable[[], tuple[Run, ...]]) -> None:
        self._read = read

    @cached_property
    def _rows(self) -> tuple[Run, ...]:
        return self._read()

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]


class Counted(StrictValue, frozen=True, kw_only=True):
    """A run that counts for the versions, and its counting outcomes."""

    run: Ran
    outcomes: tuple[Outcome, ...]


class History:
    """The counting runs of a cell up to a day, oldest first, and a newer run that does not count.

    They are read on first use. A cancelled run tested nothing, so it is no `unanswered` one.
    """

    def __init__(self, runs: Sequence[Ran] = (), day: datetime.date = datetime.date.max) -> None:
        self.runs = runs
        self._day = day

    @cached_property
    def ordered(self) -> list[Ran]:
        return in_order(run for run in self.runs if run.started.date() <= self._day)

    @cached_property
    def counted(self) -> tuple[Counted, ...]:
        # The counting outcomes. A doubtful one, such as a time limit or out of memory, counts when
        # two runs on the same lock and suite agree: attempts of one run share a machine and are
        # minutes apart. Where a third run lacked a processor instruction, no silence on that lock
        # and suite counts: a process that waits for a crashed one is silent.
        runs = [(run, run.outcomes) for run in self.ordered]
        if not any(is_spurious(o) or is_doubtful(o) for _, outcomes in runs for o in outcomes):
            return tuple(Counted(run=run, outcomes=outcomes) for run, outcomes in runs if outcomes)
        struck = Counter(
            (*files_of(run), cause)
            for run, outcomes in runs
            for cause in {o.cause for o in outcomes if isinstance(o, Failed) and is_doubtful(o)}
        )
        lacking = {files_of(run) for run, outcomes in runs if any(map(lacks_instruction, outcomes))}

        def counts(run: Ran, outcome: Outcome) -> bool:
            if isinstance(outcome, Failed):
                if outcome.cause == "silence" and files_of(run) in lacking:
                    return False
                if is_doubtful(outcome):
                    return struck[(*files_of(run), outcome.cause)] >= WITNESSES
            return not is_spurious(outcome)

        counted = ((run, tuple(o for o in outcomes if counts(run, o))) for run, outcomes in runs)
        return tuple(Counted(run=run, outcomes=outcomes) for run, outcomes in counted if outcomes)

    @cached_property
    def unanswered(self) -> Ran | None:
        newest = next((run for run in reversed(self.ordered) if not _is_cancelled(run)), None)
        is_answered = any(counted.run is newest for counted in reversed(self.counted))
        return None if is_answered else newest

    @property
    def unanswering(self) -> str:
        """The uncounted run's date and outcome, and why it does not count; empty without one."""
        run = self.unanswered
        if run is None:
            return ""
        outcome, why = run.outcomes[-1], "says nothing about the versions"
        if is_doubtful(outcome):
            why = "needs a second run to confirm"
        elif _is_flood(outcome):
            alike = [r for r in self.ordered if files_of(r) == files_of(run)]
            last = [end for r in alike if not _is_cancelled(r) for end in r.outcomes][-2:]
            why += ", though code in the cell can choose to end so"
            if len(last) == 2 and all(map(_is_flood, last)):
                why += "; it did twice in a row, so look at what runs there"
        return f"of {run.started.date()}, result {outcome}, which {why}"

    @cached_property
    def deciding(self) -> tuple[Counted, ...]:
        """The runs behind the answer, oldest first: those of the whole suite alone, if any."""
        newest = files_of(self.counted[-1].run)
        alike = [counted for counted in self.counted if files_of(counted.run) == newest]
        whole = [counted for counted in alike if counted.run.tier == "full"]
        return tuple(whole or alike)

    @property
    def answered(self) -> "History":
        return History([counted.run for counted in self.counted])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, History) and self._whole == other._whole

    def __hash__(self) -> int:
        return hash(self._whole)

    @property
    def _whole(self) -> tuple[tuple[Counted, ...], Ran | None]:
        return self.counted, self.unanswered


def in_order(runs: Iterable[Ran]) -> list[Ran]:
    ordered = sorted(runs, key=_place)
    if all(_place(run) != _place(other) for run, other in pairwise(ordered)):
        return ordered
    return sorted(ordered, key=lambda run: (*_place(run), repr(run.capabilities)))


def files_of(run: Ran) -> tuple[str, str]:
    return run.lock_digest, run.suite_digest


def is_whole(run: Ran) -> bool:
    """Return whether the whole suite could add nothing: it ran, or no test was reached."""
    return run.tier == "full" or not _reached_tests(run)


def is_other_suite(run: Ran, suite_digest: str) -> bool:
    """Return whether the run had another suite; one without a suite or a reached test had none."""
    return _reached_tests(run) and run.suite_digest not in ("", suite_digest)


def _reached_tests(run: Ran) -> bool:
    last = run.outcomes[-1]
    return not (isinstance(last, Failed) and last.stage in BEFORE_TESTS)


def _is_flood(outcome: Outcome) -> bool:
    return (
        isinstance(outcome, Failed)
        and outcome.stage in ("import", "collect", "test")
        and outcome.cause in ("output", "disk", "processes")
    )


def _is_cancelled(run: Ran) -> bool:
    last = run.outcomes[-1]
    return isinstance(last, Failed) and last.cause == "cancelled"


def _place(run: Ran) -> tuple[datetime.datetime, str, str, tuple[str, ...]]:
    return (run.started, *files_of(run), tuple(map(str, run.outcomes)))


# Estimates how long a run of a cell takes.


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
