"""Runs a batch of cells: locks missing locks, gives cells to workers, records one by one."""

import datetime
import hashlib
import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol

from msgspec.structs import replace
from packaging.version import Version

from compat.declare.matrix import Tier
from compat.errors import CompatError
from compat.files import code_of, read_if_present, write
from compat.lock.lockfile import Lock, Locker, Refusal
from compat.lock.recipe import requires_as_declared
from compat.plan.cell import parse_cell
from compat.plan.plan import Infeasible, cell_status, facts_for
from compat.plan.platform import python_name, python_remedy
from compat.results.judge import (
    JudgedRun,
    asked_about,
    judged,
    record_of,
    record_of_resolution_failure,
)
from compat.results.record import Record, blocked_import
from compat.run.cached import Scratch, remove_dead_folders
from compat.run.cell_run import CellRun
from compat.run.evidence import Evidence, Isolation
from compat.run.installation import Activity, Enter
from compat.run.job import Bench, Job, canary
from compat.run.outcome import Failed, Passed, is_spurious, is_suite_fault
from compat.site.wording import count
from compat.value import Value
from compat.workspace import Workspace

if TYPE_CHECKING:
    from compat.fleet.cluster import Remote


# This machine as a fleet: a few workers, each with its canary and circuit breaker.

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
            if day is None or read_if_present(day) != today.encode():
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
        self._waiting: queue.Queue[Job] = queue.Queue()

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


LockResult = Lock | Refusal | Infeasible


# Reports a batch of these cells on so many workers while it is entered.
Reporting = Callable[[Sequence[str], int], AbstractContextManager[Reporter]]


class Machine(Protocol):
    """What a batch needs of its machine.

    `host` is the machine's class, never its name. `run_url` is the address of the CI run that this
    belongs to; empty elsewhere. `cancel` is set when its cells are to stop.
    """

    host: str
    level: Isolation
    run_url: str
    cancel: threading.Event
    progress: Reporting

    def run(self, cells: Sequence[str], options: "RunOptions") -> "BatchResult": ...

    def clock(self) -> datetime.datetime: ...

    def cells(self) -> Path:
        """Return the folder in which cells are made."""

    def bench(self, job: Job, worker: str, keep: bool) -> Bench: ...

    def missing_interpreter(self, lock: Lock) -> Version | None:
        """Return the Python series that the lock needs, if this machine lacks it, else None."""

    def locker(self) -> Locker: ...

    def redacted(self, text: str) -> str: ...

    def tell(self, line: str) -> None: ...

    def fleet(
        self, benches: Callable[[int, Job], Bench], options: "RunOptions"
    ) -> "Local | Remote":
        """Return the fleet for the cells; `benches` is for workers of this machine."""


class RunOptions(Value, frozen=True, kw_only=True):
    """How a batch runs.

    With `is_search`, a cancelled run is not recorded. `wheels` are (sha256, path) of a checkout's;
    a cell installs the one that its lock pins.
    """

    workers: int = 1
    tier: Tier = "full"
    attempts: int = 1
    keep: bool = False
    is_search: bool = False
    wheels: tuple[tuple[str, str], ...] = ()


def never(*_: object) -> NoReturn:
    raise AssertionError("what has a lock is not locked")


class BatchResult(Value, frozen=True, kw_only=True):
    """The results of a batch.

    `unanswered` are cells whose run says nothing because the machine failed. `unrun` counts those
    that no worker ran or could store; `untried` says why one did not run. `absent` are those of
    them whose Python is not installed. `set_aside` are conflicting files that others stored
    meanwhile.
    """

    outcomes: Mapping[str, str]
    records: tuple[Record, ...]
    unanswered: tuple[str, ...]
    unrun: int
    untried: Mapping[str, str]
    suite_faults: tuple[Failed, ...]
    lost_workers: Mapping[int, str]
    folder: Path
    set_aside: tuple[str, ...] = ()
    absent: frozenset[str] = frozenset()

    @property
    def is_incomplete(self) -> bool:
        lost = self.unrun or self.unanswered or self.untried or self.lost_workers
        return bool(lost or self.set_aside)


class Batch:
    """Cells that run together, and their results so far."""

    def __init__(
        self,
        workspace: Workspace,
        machine: Machine,
        options: RunOptions,
        add: Callable[[Record, Sequence[JudgedRun]], object],
        locking: Callable[[], Callable[[str], LockResult]] = never,
        keep_lock: Callable[[str, Lock], None] = never,
    ) -> None:
        """`add` takes each record with its attempts; a resolution failure has none. `locking`
        queries the index, so it is called only when needed; a batch of locks needs only `add`.
        """
        self._workspace, self._machine, self._options = workspace, machine, options
        self._add, self._locking, self._keep_lock = add, locking, keep_lock
        self._outcomes: dict[str, str] = {}
        self._records: list[Record] = []
        # The workers append to it.
        self._unanswered: list[str] = []
        self._untried: dict[str, str] = {}
        self._absent: set[str] = set()
        self._suite_faults: list[Failed] = []

    def run(self, cells: Sequence[str], locks: Mapping[str, Lock] | None = None) -> BatchResult:
        """Run the cells; each record is stored as it arrives. `locks` have names of no cells."""
        names = [*dict.fromkeys((*cells, *(locks or ())))]
        with self._machine.progress(names, self._options.workers) as self._reporter:
            self._workspace.store.sweep()
            # All locks are read before anything runs, so that a damaged one stops the command at
            # once. A lock of outdated declarations is made again, like a missing one; so is one
            # whose import failed because of a package that may move.
            own = {cell: lock for cell in cells if (lock := self._workspace.lock(cell)) is not None}
            for cell, lock in [*own.items()]:
                if why := self._why_outdated(cell, lock):
                    self._reporter.tell(f"re-locking {cell}: {why}")
                    del own[cell]
            locks = own if locks is None else {**own, **locks}
            folder = self._machine.cells()
            if dead := remove_dead_folders(folder):
                self._reporter.tell(f"removed {count(dead, 'folder')} of runs that were killed")
            self._scratch = Scratch(folder, keep=self._options.keep)
            self._fleet = self._machine.fleet(self._bench, self._options)
            try:
                jobs = self._jobs(locks, [cell for cell in cells if cell not in locks])
                unrun = self._fleet.run(jobs, self._store, self._reporter)
            finally:
                self._scratch.close()
        return BatchResult(
            outcomes=self._outcomes,
            records=tuple(self._records),
            unanswered=tuple(self._unanswered),
            unrun=unrun,
            untried=self._untried,
            suite_faults=tuple(self._suite_faults),
            lost_workers=dict(sorted(self._fleet.stopped.items())),
            folder=self._scratch.folder,
            absent=frozenset(self._absent),
        )

    def _why_outdated(self, name: str, lock: Lock) -> str:
        workspace = self._workspace
        if workspace.stored_catalogue is not None:
            facts = workspace.facts_of(workspace.stored_catalogue)
            cell = parse_cell(name, facts.matrix)
            facts = facts_for(facts, cell)
            # A cell that is ruled out is run as it was declared.
            is_ruled_out = isinstance(cell_status(facts, cell), Infeasible)
            if not is_ruled_out and not requires_as_declared(facts, cell, lock):
                return "its requirements changed"
        if asked := asked_about(name, workspace.context):
            digest = workspace.lock_digests[name]
            for run in workspace.records(name):
                blocker = blocked_import(run.outcome, run.involved, asked)
                if run.lock_digest == digest and blocker:
                    return f"its import failed by {blocker}"
        return ""

    def _jobs(self, locks: Mapping[str, Lock], unlocked: Sequence[str]) -> Iterator[Job]:
        options, matrix = self._options, self._workspace.matrix
        package = matrix.subject_axis.package
        for cell, lock in chain(locks.items(), self._locked(unlocked)):
            missing = self._machine.missing_interpreter(lock)
            if missing is not None:
                name = python_name(missing, lock.inputs.platform)
                remedy = python_remedy(name)
                self._untried[cell] = f"this machine has no Python {name}; {remedy}"
                self._absent.add(cell)
                self._reporter.counted(cell, f"plan-fail:no-interpreter(py{missing}): {remedy}")
                continue
            yield Job(
                matrix=self._workspace.name,
                cell=cell,
                subject=package,
                module=matrix.suite.module or package.replace("-", "_"),
                lock=lock,
                suite=matrix.suite,
                suite_folder=str(self._workspace.suite_folder),
                builds=matrix.builds,
                tier=options.tier,
                wheels=options.wheels,
                # The project's own tests come from its checkout.
                newer=() if options.wheels else self._workspace.newer_tests(lock),
            )

    def _locked(self, cells: Sequence[str]) -> Iterator[tuple[str, Lock]]:
        if not cells:
            return
        lock = self._locking()

        def answer(cell: str) -> LockResult | CompatError | None:
            if self._machine.cancel.is_set() or self._fleet.is_spent:
                return None
            self._reporter.locking(cell)
            try:
                return lock(cell)
            except CompatError as error:
                return error
            finally:
                self._reporter.locked(cell)

        with ThreadPoolExecutor(self._options.workers, thread_name_prefix="locker") as pool:
            answers = {pool.submit(answer, cell): cell for cell in cells}
            for future in as_completed(answers):
                made_lock = self._settled(answers[future], future.result())
                if made_lock is not None:
                    yield answers[future], made_lock

    def _settled(self, cell: str, answer: LockResult | CompatError | None) -> Lock | None:
        is_error = isinstance(answer, CompatError)
        if answer is None or (is_error and self._machine.cancel.is_set()):
            self._untried[cell] = "the run was stopped"
            return None
        if isinstance(answer, CompatError):
            self._untried[cell] = "; ".join(fault.line() for fault in answer.faults)
            self._reporter.counted(cell, self._untried[cell])
            return None
        match answer:
            case Lock() as lock:
                self._keep_lock(cell, lock)
                return lock
            case Infeasible(obstacle=obstacle):
                # Nothing ran, so nothing is recorded: the plan reports it each time.
                between = ", ".join(obstacle.between)
                failed = Failed(stage="plan", cause=obstacle.kind, subject=between)
                self._outcomes[cell] = str(failed)
                self._reporter.counted(cell, f"{failed}: {obstacle.because}")
            case Refusal(cause="suite-fault") as refusal:
                why = f"{refusal.subject}: {refusal.because}"
                fault = Failed(stage="lock", cause=refusal.cause, subject=why)
                self._suite_faults.append(fault)
                self._reporter.counted(cell, f"{refusal}: {refusal.because}")
            case Refusal() as refusal:
                machine, workspace = self._machine, self._workspace
                redacted = replace(refusal, because=machine.redacted(refusal.because))
                record = record_of_resolution_failure(
                    cell, workspace.name, redacted, machine.clock(), workspace.context,
                    machine.host, machine.run_url,
                )  # fmt: skip
                self._add(record, ())
                self._outcomes[cell] = str(record.outcome)
                self._reporter.counted(cell, f"{record.outcome}: {refusal.because}")
        return None

    def _bench(self, worker: int, job: Job) -> Bench:
        is_kept = self._options.keep and job.matrix != "canary"
        return self._machine.bench(job, f"{self._scratch.folder.name}/{worker}", is_kept)

    def _store(self, job: Job, attempts: tuple[JudgedRun, ...]) -> None:
        outcomes = [attempt.outcome for attempt in attempts]
        fault = next(filter(is_suite_fault, outcomes), None)
        if isinstance(fault, Failed):
            self._suite_faults.append(fault)
            self._reporter.tell(
                f"error: {job.cell} has no record, the suite or its declaration is at fault:"
                f" {fault}"
            )
            return
        last = outcomes[-1]
        if self._options.is_search and isinstance(last, Failed) and last.cause == "cancelled":
            self._unanswered.append(job.cell)
            return
        url, redacted = self._machine.run_url, self._machine.redacted
        record = record_of(attempts, tool=job.lock.tool, run_url=url, redacted=redacted)
        self._add(record, attempts)
        self._records.append(record)
        if is_spurious(record.outcome):
            self._unanswered.append(job.cell)
        self._outcomes[job.cell] = str(record.outcome)
