"""This machine as a fleet: a few workers, each with its canary and its circuit breaker, and one
order to stop.
"""

import datetime
import hashlib
import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from compat.files import code_of, read_if_there, write
from compat.results.judged import JudgedRun, judged
from compat.run.cell_run import CellRun
from compat.run.evidence import Evidence
from compat.run.job import Bench, Job
from compat.run.outcome import Failed, Passed, is_spurious
from compat.run.steps import Activity, Enter


class CanaryDays:
    """The day on which the canary of one interpreter passed at one isolation level, by this code.

    A bench that names no folder for it remembers nothing.
    """

    def __init__(self, bench: Bench) -> None:
        parts = (bench.python, bench.tag, bench.level, bench.sandbox)
        digest = hashlib.sha256("\0".join(parts).encode() + code_of("run")).hexdigest()
        self._path = Path(bench.canaries, digest[:32]) if bench.canaries else None

    def passed_on(self, day: datetime.date) -> bool:
        text = None if self._path is None else read_if_there(self._path)
        return text == day.isoformat().encode()

    def keep(self, day: datetime.date) -> None:
        """Remember that it passed on that day."""
        if self._path is not None:
            write(self._path, day.isoformat())

    def forget(self) -> None:
        """Forget that it passed."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


# So many cells in a row that fail at their install, or by the machine, say more about the worker
# than about the cells.
BREAKER = 5
_RETRIED = frozenset(("network", "index", "cache", "sandbox", "worker", "killed"))
# By these a machine that is short of memory ends every cell; one alone may be the cell's own doing.
_OF_A_SHORT_MACHINE = frozenset(("memory", "killed"))


RunCell = Callable[[Job, Bench, datetime.datetime, threading.Event, Enter], Evidence]


class CellFault:
    """An exception in compat's own handling of a cell, as it is told."""

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    def of(cls, fault: Exception) -> "CellFault":
        return cls(f"{type(fault).__name__} in compat itself: {fault}")

    def __str__(self) -> str:
        return self._text


Attempts = tuple[JudgedRun, ...] | CellFault


class Station:
    """One worker's way with a job."""

    def __init__(
        self,
        bench: Callable[[Job], Bench],
        canary: Callable[[Job], Job],
        now: Callable[[], datetime.datetime],
        *,
        attempts: int = 1,
        run_cell: RunCell | None = None,
    ) -> None:
        """Take what gives the worker its bench for a job, the canary to go before a job, and the
        clock.

        `attempts` is how often each cell is run; `run_cell` is how.
        """
        self._bench = bench
        self._canary = canary
        self._now = now
        self._attempts = attempts
        self._run_cell = run_cell or _run_cell
        self._passed: dict[str, CanaryDays] = {}

    def trouble(self, job: Job, cancel: threading.Event) -> str:
        """Run the canary before the first job of an interpreter, unless it passed here today;
        return what is wrong with the worker, empty when nothing is.
        """
        try:
            bench, now = self._bench(job), self._now()
            if bench.python in self._passed:
                return ""
            days = CanaryDays(bench)
            if not days.passed_on(now.date()):
                outcome = self._once(self._canary(job), cancel).outcome
                if not isinstance(outcome, Passed):
                    return f"its canary cell came to {outcome}"
                days.keep(now.date())
            self._passed[bench.python] = days
        except Exception as fault:
            return f"its canary cell met {CellFault.of(fault)}"
        return ""

    def distrust(self) -> None:
        """Let canaries go first again: the worker is at fault, whatever they came to before."""
        for days in self._passed.values():
            days.forget()
        self._passed.clear()

    def attempted(self, job: Job, cancel: threading.Event, enter: Enter) -> Attempts:
        """Run a cell as often as asked; once more when what ended it says nothing about the cell
        and may pass.

        A fault of compat itself ends this cell and no other: what a package left behind may have
        caused it.
        """
        try:
            attempts = [self._once(job, cancel, enter)]
            while not cancel.is_set() and len(attempts) < self._attempts:
                attempts.append(self._once(job, cancel, enter))
            last = attempts[-1].outcome
            if isinstance(last, Failed) and last.cause in _RETRIED and not cancel.is_set():
                attempts.append(self._once(job, cancel, enter))
            return tuple(attempts)
        except Exception as fault:
            return CellFault.of(fault)

    def _once(
        self, job: Job, cancel: threading.Event, enter: Enter = lambda activity, cell: None
    ) -> JudgedRun:
        return judged(self._run_cell(job, self._bench(job), self._now(), cancel, enter))


class Breaker:
    """Holds back what a worker's cells came to while that may be the worker's doing."""

    def __init__(self) -> None:
        self._suspects: list[str] = []
        self._held: list[tuple[Job, Attempts]] = []

    def take(self, job: Job, attempts: Attempts) -> list[tuple[Job, Attempts]]:
        """Take what a cell came to, and return what need not be held back any more: with it, what
        was held before, or nothing.
        """
        suspicion = _suspicion(attempts)
        self._suspects = [*self._suspects, suspicion] if suspicion else []
        self._held.append((job, attempts))
        return [] if self._suspects else self.held()

    @property
    def why(self) -> str:
        """Why the worker takes no more cells; empty until the breaker opens."""
        if len(self._suspects) < BREAKER:
            return ""
        counts = Counter(self._suspects).most_common()
        causes = ", ".join(
            cause if number == len(self._suspects) else f"{cause} ({number})"
            for cause, number in counts
        )
        return f"{len(self._suspects)} cells in a row failed: {causes}"

    def held(self) -> list[tuple[Job, Attempts]]:
        held, self._held = self._held, []
        return held


def _run_cell(
    job: Job, bench: Bench, started: datetime.datetime, cancel: threading.Event, enter: Enter
) -> Evidence:
    return CellRun(job, bench, started, cancel, enter).run()


def _suspicion(attempts: Attempts) -> str:
    """What a cell failed of that may be the worker's doing; empty when nothing of the kind did."""
    if isinstance(attempts, CellFault):
        return "a fault of compat itself"
    outcome = attempts[-1].outcome
    if not isinstance(outcome, Failed) or outcome.cause in ("cancelled", "suite-fault"):
        return ""
    of_machine = is_spurious(outcome) or outcome.cause in _OF_A_SHORT_MACHINE
    return (
        f"{outcome.stage}-fail:{outcome.cause}" if outcome.stage == "install" or of_machine else ""
    )


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
