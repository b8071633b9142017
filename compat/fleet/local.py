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

from msgspec.structs import replace

from compat.files import code_of, read_if_there, write
from compat.results.judged import JudgedRun, judged
from compat.run.canary import canary
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

    def locking(self, cell: str) -> None:
        """Called before the resolver runs for a cell; `locked` follows."""

    def locked(self, cell: str) -> None:
        """Called after the resolver, whatever its answer; the cell is not running."""

    def counted(self, cell: str, why: str) -> None:
        """Called when a cell ends without reaching a worker."""

    def tell(self, line: str) -> None: ...


class Station:
    """How one worker runs a job: a daily canary first, then the attempts at the cell."""

    def __init__(
        self,
        bench: Callable[[Job], Bench],
        now: Callable[[], datetime.datetime],
        attempts: int,
    ) -> None:
        self._bench, self._now, self._attempts = bench, now, attempts
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
                place = Path(bench.sandbox, "cells", bench.worker).parent / "canary"
                known = canary(place, job.lock.inputs.python, job.lock.inputs.platform)
                # Workers start at the same moment, and leave their evidence under this name.
                own = replace(known, cell=f"canary-{bench.worker.replace('/', '-')}")
                outcome = self._tried(own, 1, cancel, lambda *_: None)[-1].outcome
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
            return judged(_run_cell(job, self._bench(job), self._now(), cancel, enter))

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
        suspicion = ""
        if isinstance(attempts, CellFault):
            suspicion = "a fault of compat itself"
        elif isinstance(outcome := attempts[-1].outcome, Failed):
            is_of_cell = outcome.cause in ("cancelled", "suite-fault")
            is_machine = is_spurious(outcome) or outcome.cause in _OF_A_SHORT_MACHINE
            if not is_of_cell and (outcome.stage == "install" or is_machine):
                suspicion = f"{outcome.stage}-fail:{outcome.cause}"
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


class Crew:
    """What all workers of a run share; `stopped` says why each stopped worker did."""

    def __init__(self, cancel: threading.Event, attempts: int) -> None:
        self._cancel, self._attempts = cancel, attempts
        # More jobs may follow until it is closed.
        self._closed = threading.Event()
        self._lost = 0
        self._keep: Keep
        self._reporter: Reporter
        self.stopped: dict[int, str] = {}

    def _release(self, number: int, settled: Iterable[tuple[Job, Attempts]]) -> None:
        for job, attempts in settled:
            try:
                if not isinstance(attempts, CellFault):
                    self._keep(job, attempts)
                    self._reporter.ended(number, job, attempts)
                    continue
                why = str(attempts)
            except Exception as fault:
                why = f"its result could not be stored: {fault}"
            self._lost += 1
            self._reporter.faulted(number, job, why)


class Local(Crew):
    """Workers with one queue. A worker stops when its canary fails or its breaker opens."""

    def __init__(
        self,
        benches: Callable[[int, Job], Bench],
        now: Callable[[], datetime.datetime],
        cancel: threading.Event,
        workers: int = 1,
        attempts: int = 1,
    ) -> None:
        super().__init__(cancel, attempts)
        self._benches, self._now, self._workers = benches, now, workers
        # The jobs that no worker has taken yet.
        self._waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()

    @property
    def is_spent(self) -> bool:
        """Whether every worker has stopped, so that new jobs will not run."""
        return len(self.stopped) >= self._workers

    def run(self, jobs: Iterable[Job], keep: Keep, reporter: Reporter) -> int:
        """Run the jobs as they arrive, made lazily while earlier cells run; `keep` is called once
        for each that ended. Return how many have no stored result.
        """
        self._keep, self._reporter = keep, reporter
        # A worker starts on demand for a job: there are never more workers than jobs.
        threads: list[threading.Thread] = []
        try:
            for job in jobs:
                self._waiting.put(job)
                if (number := len(threads)) < self._workers:
                    threads.append(
                        threading.Thread(target=self._work, args=(number,), name=f"worker-{number}")
                    )
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

    def _work(self, number: int) -> None:
        breaker = Breaker()
        station = Station(partial(self._benches, number), self._now, self._attempts)
        while (job := self._next()) is not None:
            settled = list[tuple[Job, Attempts]]()
            if why := station.trouble(job, self._cancel):
                self._waiting.put(job)
            else:
                self._reporter.began(number, job)
                enter = partial(self._reporter.entered, number, job)
                settled = breaker.take(job, station.attempted(job, self._cancel, enter))
                if why := breaker.why:
                    station.distrust()
            if why:
                for unjudged, _ in breaker.held():
                    self._waiting.put(unjudged)
                self.stopped[number] = why
                self._reporter.stopped(number, why)
                return
            self._release(number, settled)
        self._release(number, breaker.held())
