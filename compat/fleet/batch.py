"""A batch of cells on this machine: locks missing locks, runs the cells, records one by one."""

import datetime
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Protocol

from msgspec.structs import replace
from packaging.version import Version

from compat.declare.suite_table import Tier
from compat.errors import CompatError
from compat.fleet.local import Local, Reporter
from compat.lock.lockfile import Lock, Locker, Refusal
from compat.lock.recipe import asks_as_declared
from compat.plan.cell import parse_cell
from compat.plan.plan import Infeasible, facts_for, fate_of
from compat.plan.platform import python_name, python_remedy
from compat.results.judge import asked_about
from compat.results.judged import JudgedRun, record_of, record_of_refusal
from compat.results.record import Record, blocked_import
from compat.run.evidence import Isolation
from compat.run.job import Bench, Job
from compat.run.outcome import Failed, is_spurious, is_suite_fault
from compat.run.scratch import Scratch, remove_dead_folders
from compat.site.wording import count
from compat.value import Value
from compat.workspace import Workspace

if TYPE_CHECKING:
    from compat.fleet.cluster import Remote

LockResult = Lock | Refusal | Infeasible


# Reports a batch of these cells on so many workers while it is entered.
Reporting = Callable[[Sequence[str], int], AbstractContextManager[Reporter]]


class Machine(Protocol):
    """`host` is the machine's class, never its name. `run_url` is the address of the CI run that
    this belongs to; empty elsewhere. `cancel` is set when its cells are to stop.
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
    """With `is_search`, a cancelled run is not recorded. `wheels` are (sha256, path) of a
    checkout's; a cell installs the one that its lock pins.
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
    """`unanswered` are cells whose run says nothing because the machine failed. `unrun` counts
    those that no worker ran or could store; `untried` says why one did not run. `absent` are those
    of them whose Python is not installed. `set_aside` are conflicting files that others stored
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
        if workspace.kept_catalogue is not None:
            facts = workspace.facts_of(workspace.kept_catalogue)
            cell = parse_cell(name, facts.matrix)
            facts = facts_for(facts, cell)
            # A cell that is ruled out is run as it was declared.
            is_ruled_out = isinstance(fate_of(facts, cell), Infeasible)
            if not is_ruled_out and not asks_as_declared(facts, cell, lock):
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
                record = record_of_refusal(
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
