"""This machine as a fleet: a few workers, each with its canary and circuit breaker."""

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

# This many cells in a row that fail at their install, or because of the machine, point to the
# worker and not to the cells.
BREAKER = 5
_RETRIED = frozenset(("network", "index", "cache", "sandbox", "worker", "killed"))
# A machine short of memory ends every cell with these; a single one may be the cell's fault.
_OF_A_SHORT_MACHINE = frozenset(("memory", "killed"))
# Seconds until an idle worker notices that no job will follow.
_PATIENCE_SECONDS = 0.2

RunCell = Callable[[Job, Bench, datetime.datetime, threading.Event, Enter], Evidence]


class CellFault(str):
    """An exception in compat's own handling of a cell, as it is reported."""

    __slots__ = ()

    @classmethod
    def of(cls, fault: Exception) -> "CellFault":
        return cls(f"{type(fault).__name__} in compat itself: {fault}")


Attempts = tuple[JudgedRun, ...] | CellFault
Keep = Callable[[Job, tuple[JudgedRun, ...]], None]


class Reporter(Protocol):
    """Progress of a run, reported from the thread of each worker; workers count from 0."""

    def began(self, worker: int, job: Job) -> None:
        """Called before the first attempt at a cell, and not for the worker's canary."""

    def entered(self, worker: int, job: Job, activity: Activity, cell: Path) -> None:
        """Called at each activity of an attempt, not for the canary; below `cell` is hostile."""

    def ended(self, worker: int, job: Job, attempts: tuple[JudgedRun, ...]) -> None:
        """Called after the last attempt at a cell; `attempts` are all of them."""

    def faulted(self, worker: int, job: Job, why: str) -> None:
        """Called in place of `ended` when compat itself failed with a cell; the worker goes on."""

    def stopped(self, worker: int, why: str) -> None:
        """Called once when a worker stops before all jobs are done."""


class Station:
    """How one worker runs a job: a daily canary first, then the attempts at the cell."""

    def __init__(
        self,
        bench: Callable[[Job], Bench],
        canary: Callable[[Job], Job],
        now: Callable[[], datetime.datetime],
        *,
        attempts: int = 1,
        run_cell: RunCell | None = None,
    ) -> None:
        self._bench, self._canary, self._now = bench, canary, now
        self._attempts = attempts
        self._run_cell = run_cell or _run_cell
        self._passed: dict[str, Path | None] = {}

    def trouble(self, job: Job, cancel: threading.Event) -> str:
        """Run the canary once a day and interpreter; return the worker's fault, else empty."""
        try:
            bench, today = self._bench(job), self._now().date().isoformat()
            if bench.python in self._passed:
                return ""
            parts = (bench.python, bench.tag, bench.level, bench.sandbox)
            digest = hashlib.sha256("\0".join(parts).encode() + code_of("run")).hexdigest()
            day = Path(bench.canaries, digest[:32]) if bench.canaries else None
            if day is None or read_if_there(day) != today.encode():
                outcome = self._tried(self._canary(job), 1, cancel, lambda *_: None)[-1].outcome
                if not isinstance(outcome, Passed):
                    return f"its canary cell failed: {outcome}"
                if day is not None:
                    write(day, today)
            self._passed[bench.python] = day
        except Exception as fault:
            return f"its canary cell met {CellFault.of(fault)}"
        return ""

    def distrust(self) -> None:
        """Require new canaries: the worker is at fault, whatever their result before."""
        for day in self._passed.values():
            if day is not None:
                day.unlink(missing_ok=True)
        self._passed.clear()

    def attempted(self, job: Job, cancel: threading.Event, enter: Enter) -> Attempts:
        """An error of compat itself ends only this cell: a package may have caused it."""
        try:
            return self._tried(job, self._attempts, cancel, enter)
        except Exception as fault:
            return CellFault.of(fault)

    def _tried(
        self, job: Job, times: int, cancel: threading.Event, enter: Enter
    ) -> tuple[JudgedRun, ...]:
        def once() -> JudgedRun:
            return judged(self._run_cell(job, self._bench(job), self._now(), cancel, enter))

        attempts = [once()]
        while not cancel.is_set() and len(attempts) < times:
            attempts.append(once())
        last = attempts[-1].outcome
        if isinstance(last, Failed) and last.cause in _RETRIED and not cancel.is_set():
            attempts.append(once())
        return tuple(attempts)


def _run_cell(
    job: Job, bench: Bench, started: datetime.datetime, cancel: threading.Event, enter: Enter
) -> Evidence:
    return CellRun(job, bench, started, cancel, enter).run()


class Breaker:
    """Holds back the results of a worker's cells while the worker may be at fault."""

    def __init__(self) -> None:
        self._suspects: list[str] = []
        self._held: list[tuple[Job, Attempts]] = []

    def take(self, job: Job, attempts: Attempts) -> list[tuple[Job, Attempts]]:
        suspicion = _suspicion(attempts)
        self._suspects = [*self._suspects, suspicion] if suspicion else []
        self._held.append((job, attempts))
        return [] if self._suspects else self.held()

    @property
    def why(self) -> str:
        number = len(self._suspects)
        if number < BREAKER:
            return ""
        counts = Counter(self._suspects).most_common()
        causes = (cause if times == number else f"{cause} ({times})" for cause, times in counts)
        return f"{number} cells in a row failed: {', '.join(causes)}"

    def held(self) -> list[tuple[Job, Attempts]]:
        held, self._held = self._held, []
        return held


class Local:
    """Workers with one queue. A worker stops when its canary fails or its breaker opens."""

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
        self._benches, self._now, self._cancel = benches, now, cancel
        self._workers, self._attempts, self._run_cell = workers, attempts, run_cell
        self._lost = 0
        self.stopped: dict[int, str] = {}  # why each stopped worker did
        # The jobs that no worker has taken yet; more may follow until it is closed.
        self._waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._closed = threading.Event()

    @property
    def is_spent(self) -> bool:
        """Whether every worker has stopped, so that new jobs will not run."""
        return len(self.stopped) >= self._workers

    def run(
        self, jobs: Iterable[Job], canary: Callable[[Job], Job], keep: Keep, reporter: Reporter
    ) -> int:
        """Run the jobs as they arrive, made lazily while earlier cells run; `keep` is called once
        for each that ended. Return how many have no stored result.
        """
        # A worker starts on demand for a job: there are never more workers than jobs.
        threads: list[threading.Thread] = []
        try:
            for job in jobs:
                self._waiting.put(job)
                if len(threads) < self._workers:
                    words, name = (len(threads), canary, keep, reporter), f"worker-{len(threads)}"
                    threads.append(threading.Thread(target=self._work, args=words, name=name))
                    threads[-1].start()
        finally:
            self._closed.set()
            for thread in threads:
                while thread.is_alive():
                    thread.join(_PATIENCE_SECONDS)
        return self._waiting.qsize() + self._lost

    def _next(self) -> Job | None:
        while not self._cancel.is_set():
            # Read before the queue, so that jobs just before the end are still seen.
            is_closed = self._closed.is_set()
            try:
                return self._waiting.get(timeout=0 if is_closed else _PATIENCE_SECONDS)
            except queue.Empty:
                if is_closed:
                    return None
        return None

    def _work(
        self, number: int, canary: Callable[[Job], Job], keep: Keep, reporter: Reporter
    ) -> None:
        def own_canary(job: Job) -> Job:
            # Workers start at the same moment, and leave their evidence under this name.
            known = canary(job)
            return msgspec.structs.replace(known, cell=f"{known.cell}-{number}")

        def release(settled: Iterable[tuple[Job, Attempts]]) -> None:
            for job, attempts in settled:
                if not handed_on(job, attempts, number, keep, reporter):
                    self._lost += 1

        breaker = Breaker()
        station = Station(
            partial(self._benches, number),
            own_canary,
            self._now,
            attempts=self._attempts,
            run_cell=self._run_cell,
        )
        while (job := self._next()) is not None:
            why = station.trouble(job, self._cancel)
            if why:
                self._waiting.put(job)
            else:
                reporter.began(number, job)
                enter = partial(reporter.entered, number, job)
                settled = breaker.take(job, station.attempted(job, self._cancel, enter))
                why = breaker.why
                if why:
                    station.distrust()
            if why:
                for unjudged, _ in breaker.held():
                    self._waiting.put(unjudged)
                self.stopped[number] = why
                reporter.stopped(number, why)
                return
            release(settled)
        release(breaker.held())


def handed_on(job: Job, attempts: Attempts, number: int, keep: Keep, reporter: Reporter) -> bool:
    if isinstance(attempts, CellFault):
        reporter.faulted(number, job, str(attempts))
        return False
    try:
        keep(job, attempts)
        reporter.ended(number, job, attempts)
    except Exception as fault:
        reporter.faulted(number, job, f"its result could not be stored: {fault}")
        return False
    return True


def _suspicion(attempts: Attempts) -> str:
    if isinstance(attempts, CellFault):
        return "a fault of compat itself"
    outcome = attempts[-1].outcome
    if not isinstance(outcome, Failed) or outcome.cause in ("cancelled", "suite-fault"):
        return ""
    is_of_machine = is_spurious(outcome) or outcome.cause in _OF_A_SHORT_MACHINE
    if outcome.stage != "install" and not is_of_machine:
        return ""
    return f"{outcome.stage}-fail:{outcome.cause}"
