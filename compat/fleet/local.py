"""This machine as a fleet: a few workers, each with its canary and its circuit breaker, and one
order to stop.
"""

import datetime
import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from compat.results.judged import JudgedRun, judged
from compat.run.cell_run import CellRun
from compat.run.evidence import Evidence
from compat.run.job import Bench, Job
from compat.run.outcome import Failed, Passed, is_spurious
from compat.run.steps import Activity, Enter

# So many cells in a row that fail at their install, or by the machine, say more about the worker
# than about the cells.
BREAKER = 5
_RETRIED = frozenset(("network", "index", "sandbox", "worker", "killed"))
# By these a machine that is short of memory ends every cell; one alone may be the cell's own doing.
_OF_A_SHORT_MACHINE = frozenset(("memory", "killed"))
# How soon a worker that waits for a job sees that there will be none.
_PATIENCE_SECONDS = 0.2


RunCell = Callable[[Job, Bench, datetime.datetime, threading.Event, Enter], Evidence]


class Reporter(Protocol):
    """Progress of a run, told from the thread of each worker; workers count from 0."""

    def began(self, worker: int, job: Job) -> None:
        """Called before the first attempt at a cell, and not for the worker's canary."""

    def entered(self, worker: int, job: Job, activity: Activity, cell: Path) -> None:
        """Called when the cell begins something else, at each attempt anew; not for the canary.

        `cell` is the folder of the cell. What is below it may be the cell's own work: hostile.
        """

    def ended(self, worker: int, job: Job, attempts: tuple[JudgedRun, ...]) -> None:
        """Called after the last attempt at a cell; `attempts` are all that were made."""

    def faulted(self, worker: int, job: Job, why: str) -> None:
        """Called in place of `ended` when compat itself failed with a cell; the worker goes on."""

    def stopped(self, worker: int, why: str) -> None:
        """Called once when a worker takes no more cells before all are done."""


class SilentReporter:
    """A Reporter that says nothing."""

    def began(self, worker: int, job: Job) -> None:
        """Say nothing."""

    def entered(self, worker: int, job: Job, activity: Activity, cell: Path) -> None:
        """Say nothing."""

    def ended(self, worker: int, job: Job, attempts: tuple[JudgedRun, ...]) -> None:
        """Say nothing."""

    def faulted(self, worker: int, job: Job, why: str) -> None:
        """Say nothing."""

    def stopped(self, worker: int, why: str) -> None:
        """Say nothing."""


class _Waiting:
    """The jobs that no worker has taken yet. More may come until it is closed."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._closed = threading.Event()

    def put(self, job: Job) -> None:
        """Let a worker have the job."""
        self._jobs.put(job)

    def close(self) -> None:
        """Say that no more will come."""
        self._closed.set()

    def take(self, cancel: threading.Event) -> Job | None:
        """Return the next job when there is one; None when none will come, or at the order to
        stop.
        """
        while not cancel.is_set():
            # Asked before the queue: what came just before the end is still seen.
            is_closed = self._closed.is_set()
            try:
                return self._jobs.get(timeout=0 if is_closed else _PATIENCE_SECONDS)
            except queue.Empty:
                if is_closed:
                    return None
        return None

    def left(self) -> int:
        """Return how many there are."""
        return self._jobs.qsize()


class _Fault:
    """An exception in compat's own handling of a cell, as it is told."""

    def __init__(self, fault: Exception) -> None:
        self._text = f"{type(fault).__name__} in compat itself: {fault}"

    def __str__(self) -> str:
        return self._text


_Held = tuple[Job, tuple[JudgedRun, ...] | _Fault]


class Local:
    """Workers that take jobs from one queue.

    A worker whose canary dies, or whose breaker opens, takes no more.
    """

    def __init__(
        self,
        benches: Callable[[int, Job], Bench],
        now: Callable[[], datetime.datetime],
        cancel: threading.Event,
        *,
        workers: int = 1,
        attempts: int = 1,
        run_cell: RunCell | None = None,
    ) -> None:
        """Take what gives each worker its bench for a job, the clock, and the order to stop.

        `attempts` is how often each cell is run; 1, but for asking whether equal runs end equally.
        `run_cell` is how.
        """
        self._benches = benches
        self._now = now
        self._cancel = cancel
        self._workers = workers
        self._attempts = attempts
        self._run_cell = run_cell or _run_cell
        self._lost = 0
        self._stopped: dict[int, str] = {}

    @property
    def is_spent(self) -> bool:
        """Whether every worker has stopped, so that a job that comes now will not be run."""
        return len(self._stopped) >= self._workers

    @property
    def stopped(self) -> dict[int, str]:
        """Why each worker that took no more cells stopped."""
        return dict(sorted(self._stopped.items()))

    def run(
        self,
        jobs: Iterable[Job],
        canary: Callable[[Job], Job],
        keep: Callable[[Job, tuple[JudgedRun, ...]], None],
        reporter: Reporter,
    ) -> int:
        """Run the jobs as they come; `keep` is called once for each that ended, in its worker.

        Making the next job may take its time: the cells before it run meanwhile. A worker starts
        when a job comes for it, so that there are never more workers than jobs. Return how many
        have no result that was kept.
        """
        waiting = _Waiting()
        threads: list[threading.Thread] = []
        try:
            for job in jobs:
                waiting.put(job)
                if len(threads) < self._workers:
                    work = (len(threads), waiting, canary, keep, reporter)
                    threads.append(
                        threading.Thread(
                            target=self._work, args=work, name=f"worker-{len(threads)}"
                        )
                    )
                    threads[-1].start()
        finally:
            waiting.close()
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.2)
        return waiting.left() + self._lost

    def _work(
        self,
        number: int,
        waiting: _Waiting,
        canary: Callable[[Job], Job],
        keep: Callable[[Job, tuple[JudgedRun, ...]], None],
        reporter: Reporter,
    ) -> None:
        suspects: list[str] = []
        held: list[_Held] = []
        canary_passed = False
        while (job := waiting.take(self._cancel)) is not None:
            if not canary_passed:
                trouble = self._canary_trouble(number, canary, job)
                if trouble:
                    waiting.put(job)
                    self._stop(number, trouble, reporter)
                    return
                canary_passed = True
            reporter.began(number, job)
            attempts = self._attempted(number, job, reporter)
            suspicion = _suspicion(attempts)
            suspects = [*suspects, suspicion] if suspicion else []
            held.append((job, attempts))
            if len(suspects) >= BREAKER:
                for unjudged, _ in held:
                    waiting.put(unjudged)
                self._stop(number, _broken(suspects), reporter)
                return
            if not suspects:
                self._release(held, number, keep, reporter)
        self._release(held, number, keep, reporter)

    def _canary_trouble(self, number: int, canary: Callable[[Job], Job], job: Job) -> str:
        """Run the worker's canary; return what is wrong with the worker, empty when nothing is."""
        try:
            outcome = self._once(number, _of_worker(canary(job), number)).outcome
        except Exception as fault:
            return f"its canary cell met {_Fault(fault)}"
        return "" if isinstance(outcome, Passed) else f"its canary cell came to {outcome}"

    def _stop(self, number: int, why: str, reporter: Reporter) -> None:
        self._stopped[number] = why
        reporter.stopped(number, why)

    def _attempted(
        self, number: int, job: Job, reporter: Reporter
    ) -> tuple[JudgedRun, ...] | _Fault:
        """Run a cell as often as asked; once more when what ended it says nothing about the cell
        and may pass.

        A fault of compat itself ends this cell and no other: what a package left behind may have
        caused it.
        """
        try:
            return self._runs(
                number, job, lambda activity, cell: reporter.entered(number, job, activity, cell)
            )
        except Exception as fault:
            return _Fault(fault)

    def _runs(self, number: int, job: Job, enter: Enter) -> tuple[JudgedRun, ...]:
        attempts = [self._once(number, job, enter)]
        while not self._cancel.is_set() and len(attempts) < self._attempts:
            attempts.append(self._once(number, job, enter))
        last = attempts[-1].outcome
        if isinstance(last, Failed) and last.cause in _RETRIED and not self._cancel.is_set():
            attempts.append(self._once(number, job, enter))
        return tuple(attempts)

    def _release(
        self,
        held: list[_Held],
        number: int,
        keep: Callable[[Job, tuple[JudgedRun, ...]], None],
        reporter: Reporter,
    ) -> None:
        """Let go of what was held back while the breaker might have opened; what has no result that
        is kept is told.
        """
        for job, attempts in held:
            if isinstance(attempts, _Fault):
                self._lost += 1
                reporter.faulted(number, job, str(attempts))
                continue
            try:
                keep(job, attempts)
                reporter.ended(number, job, attempts)
            except Exception as fault:
                self._lost += 1
                reporter.faulted(number, job, f"its result could not be kept: {fault}")
        held.clear()

    def _once(self, number: int, job: Job, enter: Enter = lambda activity, cell: None) -> JudgedRun:
        bench = self._benches(number, job)
        return judged(self._run_cell(job, bench, self._now(), self._cancel, enter))


def _of_worker(canary: Job, number: int) -> Job:
    """The canary under a name of the worker's own: workers start at the same moment, and leave
    their evidence by it.
    """
    return msgspec.structs.replace(canary, cell=f"{canary.cell}-{number}")


def _run_cell(
    job: Job, bench: Bench, started: datetime.datetime, cancel: threading.Event, enter: Enter
) -> Evidence:
    return CellRun(job, bench, started, cancel, enter).run()


def _suspicion(attempts: tuple[JudgedRun, ...] | _Fault) -> str:
    """What a cell failed of that may be the worker's doing; empty when nothing of the kind did."""
    if isinstance(attempts, _Fault):
        return "a fault of compat itself"
    outcome = attempts[-1].outcome
    if not isinstance(outcome, Failed) or outcome.cause in ("cancelled", "suite-fault"):
        return ""
    of_machine = is_spurious(outcome) or outcome.cause in _OF_A_SHORT_MACHINE
    return (
        f"{outcome.stage}-fail:{outcome.cause}" if outcome.stage == "install" or of_machine else ""
    )


def _broken(suspects: Sequence[str]) -> str:
    """Say what the cells failed of for which a worker stops, the most frequent first."""
    counts = Counter(suspects).most_common()
    causes = ", ".join(
        cause if number == len(suspects) else f"{cause} ({number})" for cause, number in counts
    )
    return f"{len(suspects)} cells in a row failed: {causes}"
