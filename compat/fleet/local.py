"""This machine as a fleet: a few workers, each with its canary and its circuit breaker, and one
order to stop.
"""

import datetime
import queue
import threading
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from compat.fleet.station import Attempts, Breaker, CellFault, RunCell, Station
from compat.results.judged import JudgedRun
from compat.run.job import Bench, Job
from compat.run.steps import Activity

# How soon a worker that waits for a job sees that there will be none.
_PATIENCE_SECONDS = 0.2


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


class Fleet(Protocol):
    """Workers that run jobs."""

    @property
    def is_spent(self) -> bool:
        """Whether every worker has stopped, so that a job that comes now will not be run."""

    @property
    def stopped(self) -> dict[int, str]:
        """Why each worker that took no more cells stopped."""

    def run(
        self,
        jobs: Iterable[Job],
        canary: Callable[[Job], Job],
        keep: Callable[[Job, tuple[JudgedRun, ...]], None],
        reporter: Reporter,
    ) -> int:
        """Run the jobs as they come; `keep` is called once for each that ended.

        Making the next job may take its time: the cells before it run meanwhile. Return how many
        have no result that was kept.
        """


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
        return self._jobs.qsize()


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
        self._run_cell = run_cell
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
        breaker = Breaker()
        station = Station(
            partial(self._benches, number),
            lambda job: _of_worker(canary(job), number),
            self._now,
            attempts=self._attempts,
            run_cell=self._run_cell,
        )
        while (job := waiting.take(self._cancel)) is not None:
            if trouble := station.trouble(job, self._cancel):
                waiting.put(job)
                for unjudged, _ in breaker.held():
                    waiting.put(unjudged)
                self._stop(number, trouble, reporter)
                return
            reporter.began(number, job)
            attempts = station.attempted(job, self._cancel, partial(reporter.entered, number, job))
            settled = breaker.take(job, attempts)
            if breaker.why:
                station.distrust()
                for unjudged, _ in breaker.held():
                    waiting.put(unjudged)
                self._stop(number, breaker.why, reporter)
                return
            self._release(settled, number, keep, reporter)
        self._release(breaker.held(), number, keep, reporter)

    def _stop(self, number: int, why: str, reporter: Reporter) -> None:
        self._stopped[number] = why
        reporter.stopped(number, why)

    def _release(
        self,
        settled: Iterable[tuple[Job, Attempts]],
        number: int,
        keep: Callable[[Job, tuple[JudgedRun, ...]], None],
        reporter: Reporter,
    ) -> None:
        """Hand on what need not be held back; what has no result that is kept is told."""
        for job, attempts in settled:
            if not handed_on(job, attempts, number, keep, reporter):
                self._lost += 1


def handed_on(
    job: Job,
    attempts: Attempts,
    number: int,
    keep: Callable[[Job, tuple[JudgedRun, ...]], None],
    reporter: Reporter,
) -> bool:
    """Keep and tell what a cell came to; return whether it has a result that is kept."""
    if isinstance(attempts, CellFault):
        reporter.faulted(number, job, str(attempts))
        return False
    try:
        keep(job, attempts)
        reporter.ended(number, job, attempts)
    except Exception as fault:
        reporter.faulted(number, job, f"its result could not be kept: {fault}")
        return False
    return True


def _of_worker(canary: Job, number: int) -> Job:
    """The canary under a name of the worker's own: workers start at the same moment, and leave
    their evidence by it.
    """
    return msgspec.structs.replace(canary, cell=f"{canary.cell}-{number}")
