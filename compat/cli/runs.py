"""The command that runs cells: which, where, and what they came to."""

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import chain
from typing import Annotated

import typer

from compat import files, pipeline
from compat.cli.benches import (
    bench_of,
    host_class,
    job_of,
    level_of,
    missing_interpreter,
    workers_that_fit,
)
from compat.cli.choices import CellToRun, choose, outside
from compat.cli.lockers import locker_of
from compat.cli.output import about, envelope, note, say
from compat.cli.progress import Progress
from compat.cli.setting import (
    ExtraIndexUrl,
    IndexUrl,
    Json,
    MatrixName,
    Root,
    Setting,
    now,
    run_url,
    sandbox_folder,
    without_places,
)
from compat.cli.shows import table_of
from compat.cli.stand import Stand
from compat.errors import CompatError, DeclarationError, UsageError
from compat.fleet.local import JudgedRun, Local
from compat.lock.lockfile import Lock, Refusal
from compat.lock.text import encode_lock
from compat.pipeline import LockAnswer
from compat.plan.cell import parse_cell
from compat.plan.plan import Infeasible
from compat.results.judged import RefusedCell, record_of, record_of_refusal
from compat.run.canary import canary
from compat.run.evidence import Isolation
from compat.run.job import Bench, Job
from compat.run.outcome import Failed, is_spurious, is_suite_fault
from compat.run.scratch import Scratch, remove_dead_folders
from compat.site.wording import count


def run_command(
    matrix: MatrixName,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[CELL]...", help="Cell ids or globs.")
    ] = None,
    due: Annotated[
        bool, typer.Option("--due", help="Cells whose result is missing or stale (the default).")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="The handful of telling cells that the matrix names.")
    ] = False,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, help="Cells at once, as memory and disk allow.")
    ] = 1,
    attempts: Annotated[
        int, typer.Option("--attempts", min=1, max=100, help="Run each cell so often.")
    ] = 1,
    isolation: Annotated[
        str, typer.Option("--isolation", help="L3, L2, L1 or L0; else the highest allowed.")
    ] = "",
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the cells' folders in place.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be run.")] = False,
    as_json: Json = False,
    root: Root = None,
    index_url: IndexUrl = None,
    extra_index_url: ExtraIndexUrl = None,
) -> None:
    """Install cells, run the suite in each, judge what happened, and remember it.

    Cells without a lock are locked first, while others run. Where nothing is known of a matrix yet,
    the feasible fresh cells run, if they are few. A glob names cells of the plan; those that are
    infeasible are left out and counted.

    Ends with 0 when all passed or nothing is due, 1 when some did not pass or there is no cell to
    run, 2 when the suite or its declaration is at fault (nothing is recorded then), 3 when some
    could not be run, 130 or 143 when it was interrupted.

    Examples: compat run tff --quick; compat run tff --due --dry-run; compat run tff
    'py3.9-*-tff0.33.0+relaxed'
    """
    if sum((bool(words), due, quick)) > 1:
        raise UsageError.of("name cells, or --due, or --quick: one of the three")
    setting = Setting(matrix, root, index_url, extra_index_url)
    trouble = pipeline.suite_trouble(setting.folder, setting.ask.matrix)
    if trouble:
        raise DeclarationError(*trouble)
    stand = Stand(setting)
    choices = choose(stand, words or (), quick)
    chosen = choices.cells
    for remark in (
        *choices.remarks,
        *([outside(choices.infeasible)] if choices.infeasible else []),
    ):
        note(remark)
    if dry_run:
        _dry(setting, stand, chosen, jobs, as_json)
        return
    if not chosen:
        if as_json:
            envelope({"cells": []})
        return
    work = Work(setting, stand, level_of(isolation), keep, attempts)
    code = work.run(chosen, workers_that_fit(jobs, setting))
    stand.refresh()
    if as_json:
        cells = [choice.cell for choice in chosen]
        envelope(
            {"cells": [{**stand.row(cell), "result": work.outcomes.get(cell)} for cell in cells]}
        )
    else:
        table_of(stand, [choice.cell for choice in chosen])
        _tell_times(stand, [choice.cell for choice in chosen])
        note(
            f"Next: compat show {setting.folder.name} CELL shows a cell's proof and how to"
            " reproduce it."
        )
    work.tell_troubles()
    raise typer.Exit(code)


class Work:
    """One run of chosen cells: locks what has no lock, runs what can be run, keeps every record as
    it comes.
    """

    def __init__(
        self, setting: Setting, stand: Stand, level: Isolation, keep: bool, attempts: int
    ) -> None:
        """Take where we stand, and how cells are to be run."""
        self.setting = setting
        self.stand = stand
        self.level = level
        self.keep = keep
        self.attempts = attempts
        self.cancel = threading.Event()
        self.signal = 0
        self.outcomes: dict[str, str] = {}
        # Cells that the network, the disk or the sandbox ended; the workers add to it.
        self.unanswered: list[str] = []
        self.unrun = 0
        self.suite_faults = 0
        self.unlocked = 0
        self.lost_workers: dict[int, str] = {}

    def run(self, chosen: Sequence[CellToRun], workers: int) -> int:
        """Run the cells and return the exit code."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        self.stand.store.sweep(now())
        # All locks are read before anything runs, so that a damaged one stops the command at once.
        locks = self._locks(chosen)
        unlocked = [choice.cell for choice in chosen if choice.cell not in locks]
        cells = sandbox_folder() / "cells"
        if dead := remove_dead_folders(cells):
            note(f"compat: removed {count(dead, 'folder')} of runs that were killed")
        self.scratch = Scratch(cells, keep=self.keep)
        try:
            self._run(locks, unlocked, chosen, workers)
        finally:
            self.scratch.close()
        if self.signal:
            return 128 + self.signal
        if self.suite_faults:
            return 2
        if self.unrun or self.unanswered or self.unlocked or self.lost_workers:
            return 3
        return 0 if all(outcome == "pass" for outcome in self.outcomes.values()) else 1

    def _run(
        self, locks: dict[str, Lock], unlocked: list[str], chosen: Sequence[CellToRun], workers: int
    ) -> None:
        fleet = Local(self._bench, now, self.cancel, workers=workers, attempts=self.attempts)
        note(f"{_workload(self.stand, chosen, workers)}; isolation {self.level}")
        with Progress(len(chosen), _seconds(self.stand, chosen, workers)) as progress:
            jobs = self._jobs(locks, self._locked(unlocked, workers, fleet, progress), progress)
            self.unrun = fleet.run(jobs, self._canary, self._keep, progress)
        self.lost_workers = fleet.stopped

    def tell_troubles(self) -> None:
        """Say last what a reader of the end of a log must not miss: workers that stopped, cells
        without a result.
        """
        for worker, why in self.lost_workers.items():
            note(f"compat: worker {worker} stopped and took no more cells: {why}")
        if self.unrun:
            note(
                f"compat: {count(self.unrun, 'cell has', 'cells have')} no result, as compat could"
                " not run all of them"
            )
        if self.unanswered:
            cells = count(len(self.unanswered), "cell has", "cells have")
            note(
                f"compat: {cells} no answer: the network, the disk or the sandbox failed; run them"
                " again"
            )
        if self.keep:
            note(
                f"compat: the cells are in {self.scratch.folder}; remove the folder when you are"
                " done"
            )

    def _stop(self, number: int, _: object) -> None:
        """Order the end; the second time end at once: the keepers kill their cells, the next run
        sweeps the folders.

        Writes past Python's own streams, as the signal may have come while they were being written
        to.
        """
        if self.signal:
            # The progress on a terminal hides the cursor.
            os.write(2, b"\x1b[?25h\n" if sys.stderr.isatty() else b"")
            os._exit(128 + number)
        self.signal = number
        self.cancel.set()
        os.write(
            2, b"compat: ending the cells that run; the same signal again ends compat at once\n"
        )

    def _locks(self, chosen: Sequence[CellToRun]) -> dict[str, Lock]:
        """The locks that there are already, in the order of the cells."""
        paths = {
            choice.cell: pipeline.lock_path(self.setting.folder, choice.cell) for choice in chosen
        }
        return {cell: pipeline.kept_lock(path) for cell, path in paths.items() if path.exists()}

    def _jobs(
        self, locks: dict[str, Lock], locked: Iterator[tuple[str, Lock]], progress: Progress
    ) -> Iterator[Job]:
        """Yield a job for each cell that can run here: those with locks, then as locks are made."""
        for cell, lock in chain(locks.items(), locked):
            missing = missing_interpreter(lock)
            if missing is None:
                yield job_of(self.setting, cell, lock)
            else:
                self.unlocked += 1
                remedy = f"`uv python install {missing}` gets one"
                progress.counted(f"{cell}  plan-fail:no-interpreter(py{missing}): {remedy}")

    def _locked(
        self, cells: Sequence[str], workers: int, fleet: Local, progress: Progress
    ) -> Iterator[tuple[str, Lock]]:
        """Lock cells side by side and yield the locks as they are made; tell what has none."""
        if not cells:
            return
        setting = self.setting
        facts, resolver = setting.facts, locker_of(setting, "uv", self.level)

        def answer(cell: str) -> LockAnswer | CompatError | None:
            if self.cancel.is_set() or fleet.is_spent:
                return None
            try:
                return pipeline.locked(
                    facts, parse_cell(cell, facts.matrix), resolver, setting.source
                )
            except CompatError as error:
                return error

        with ThreadPoolExecutor(workers, thread_name_prefix="locker") as pool:
            answers = {pool.submit(answer, cell): cell for cell in cells}
            for future in as_completed(answers):
                lock = self._settled(answers[future], future.result(), progress)
                if lock is not None:
                    yield answers[future], lock

    def _settled(
        self, cell: str, answer: LockAnswer | CompatError | None, progress: Progress
    ) -> Lock | None:
        """Keep the lock and return it; tell and keep the reason where there is none."""
        if answer is None or (isinstance(answer, CompatError) and self.cancel.is_set()):
            self.unlocked += 1
            return None
        if isinstance(answer, CompatError):
            self.unlocked += 1
            for fault in answer.faults:
                progress.counted(f"{cell}  {fault.line()}")
            return None
        match answer.result:
            case Lock() as lock:
                files.write(pipeline.lock_path(self.setting.folder, cell), encode_lock(lock))
                return lock
            case Infeasible(obstacle=obstacle):
                # Nothing ran, so there is nothing to remember: the plan says it each time.
                failed = Failed(
                    stage="plan", cause=obstacle.kind, subject=", ".join(obstacle.between)
                )
                self.outcomes[cell] = str(failed)
                progress.counted(f"{cell}  {failed}: {obstacle.because}")
            case Refusal() as refusal:
                failed = Failed(stage="lock", cause=refusal.cause, subject=refusal.subject)
                self._refused(cell, failed, refusal.because)
                progress.counted(f"{cell}  {failed}: {refusal.because}")
        return None

    def _refused(self, cell: str, failed: Failed, because: str) -> None:
        refused = RefusedCell(outcome=failed, because=without_places(because), at=now())
        self.stand.store.add(
            record_of_refusal(
                cell, self.setting.folder.name, refused, self.stand.present, host_class(), run_url()
            )
        )
        self.outcomes[cell] = str(failed)

    def _bench(self, worker: int, job: Job) -> Bench:
        is_kept = self.keep and job.matrix != "canary"
        return bench_of(
            job, f"{self.scratch.folder.name}/{worker}", self.setting.index, self.level, is_kept
        )

    def _canary(self, job: Job) -> Job:
        return canary(self.scratch.folder / "canary", job.lock.inputs.python)

    def _keep(self, job: Job, attempts: tuple[JudgedRun, ...]) -> None:
        fault = next(
            (attempt.outcome for attempt in attempts if is_suite_fault(attempt.outcome)), None
        )
        if fault is not None:
            self.suite_faults += 1
            note(
                f"compat: {job.cell} has no record, the suite or its declaration is at fault:"
                f" {fault}"
            )
            return
        evidence = [attempt.evidence for attempt in attempts]
        record = record_of(evidence, tool=job.lock.tool, run_url=run_url(), redacted=without_places)
        self.stand.store.add(record)
        if is_spurious(record.outcome):
            self.unanswered.append(job.cell)
        self.outcomes[job.cell] = str(record.outcome)


def _tell_times(stand: Stand, cells: Sequence[str]) -> None:
    """Say where the time of the newest runs went."""
    steps = [records[-1].step_seconds for cell in cells if (records := stand.records(cell))]
    parts = {
        "install": sum(step.install or 0 for step in steps),
        "import": sum(step.import_ or 0 for step in steps),
        "suite": sum(step.suite or 0 for step in steps),
        "compat itself": sum(step.overhead or 0 for step in steps),
    }
    whole = sum(parts.values())
    if whole:
        told = ", ".join(
            f"{name} {seconds:.0f} s ({100 * seconds / whole:.0f} %)"
            for name, seconds in parts.items()
        )
        note(f"Time in cells: {told}")


def _workload(stand: Stand, chosen: Sequence[CellToRun], workers: int) -> str:
    """Say how many cells there are to run, and how long that takes as far as anybody knows."""
    unlocked = sum(choice.cell not in stand.locks for choice in chosen)
    what = f"{count(len(chosen), 'cell')} to {'lock and run' if unlocked == len(chosen) else 'run'}"
    if 0 < unlocked < len(chosen):
        what = f"{what}, {unlocked:,} of them to be locked first"
    seconds = _seconds(stand, chosen, workers)
    unknown = "no cell of the matrix ran yet, so nobody knows how long that takes"
    return f"{what}, {workers} at a time: {unknown if seconds is None else about(seconds)}"


def _seconds(stand: Stand, chosen: Sequence[CellToRun], workers: int) -> float | None:
    cells = [parse_cell(choice.cell, stand.setting.ask.matrix) for choice in chosen]
    return stand.durations.together(cells, workers)


def _dry(
    setting: Setting, stand: Stand, chosen: Sequence[CellToRun], jobs: int, as_json: bool
) -> None:
    workers = workers_that_fit(jobs, setting)
    megabytes = min(workers, len(chosen)) * setting.ask.matrix.suite.disk_mb
    if as_json:
        cells = [{"id": choice.cell, "reason": choice.reason} for choice in chosen]
        seconds = _seconds(stand, chosen, workers)
        minutes = None if seconds is None else round(seconds / 60, 1)
        envelope({"cells": cells, "minutes": minutes, "most_mb": megabytes, "jobs": workers})
        return
    for choice in chosen:
        say(f"{choice.cell}  {choice.reason}")
    if chosen:
        say(f"{_workload(stand, chosen, workers)}; at most {megabytes:,} MB of disk at once")
