"""The command that runs cells: which, where, and what they came to."""

import signal
import threading
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated

import msgspec
import typer

from compat import files, pipeline
from compat.cli.benches import bench_of, fitting, host_class, job_of, level_of, missing_interpreter
from compat.cli.output import envelope, note, say
from compat.cli.progress import Progress
from compat.cli.setting import (
    ExtraIndexUrl,
    IndexUrl,
    Json,
    MatrixName,
    Root,
    Setting,
    cache_folder,
    now,
    run_url,
    without_places,
)
from compat.cli.shows import table_of
from compat.cli.stand import Stand
from compat.errors import DeclarationError, UsageError
from compat.fleet.local import Attempt, Local
from compat.lock.lockfile import Lock, Refusal
from compat.lock.text import encode_lock
from compat.plan.cell import parse_cell
from compat.plan.plan import Infeasible
from compat.results.due import due as due_cells
from compat.results.judged import Refused, record_of, record_of_refusal
from compat.run.canary import canary
from compat.run.evidence import Isolation
from compat.run.outcome import Failed, is_suite_fault
from compat.run.session import Bench, Job

_USUAL_SECONDS = 120.0


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A cell that is to be run, and why."""

    cell: str
    reason: str


def run(
    matrix: MatrixName,
    words: Annotated[list[str] | None, typer.Argument(metavar="[CELL]...", help="Cell ids or globs.")] = None,
    due: Annotated[bool, typer.Option("--due", help="Cells with something new to tell (the default).")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="The handful of telling cells that the matrix names.")] = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Cells at once, as memory and disk allow.")] = 1,
    attempts: Annotated[int, typer.Option("--attempts", min=1, max=100, help="Run each cell so often.")] = 1,
    isolation: Annotated[str, typer.Option("--isolation", help="L3, L2, L1 or L0; else the highest allowed.")] = "",
    keep: Annotated[bool, typer.Option("--keep", help="Leave the cells' folders in place.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be run.")] = False,
    as_json: Json = False,
    root: Root = None,
    index_url: IndexUrl = None,
    extra_index_url: ExtraIndexUrl = None,
) -> None:
    """Install cells, run the suite in each, judge what happened, and remember it.

    Ends with 0 when all passed, 1 when some did not, 2 when the suite or its declaration is at fault (nothing is
    recorded then), 3 when some could not be run, 130 or 143 when it was interrupted.

    Examples: compat run tff --quick; compat run tff --due --dry-run; compat run tff 'py3.9-*-tff0.33.0+relaxed'
    """
    if sum((bool(words), due, quick)) > 1:
        raise UsageError.of("name cells, or --due, or --quick: one of the three")
    setting = Setting(matrix, root, index_url, extra_index_url)
    trouble = pipeline.suite_trouble(setting.folder, setting.ask.matrix)
    if trouble:
        raise DeclarationError(*trouble)
    stand = Stand(setting)
    chosen = _chosen(setting, stand, words or (), quick)
    if dry_run:
        _dry(setting, stand, chosen, jobs, as_json)
        return
    work = Work(setting, stand, level_of(isolation), keep, attempts)
    code = work.run(chosen, fitting(jobs, setting))
    stand.refresh()
    if as_json:
        envelope({"cells": [stand.row(choice.cell) for choice in chosen]})
    else:
        table_of(stand, [choice.cell for choice in chosen])
        _tell_times(stand, [choice.cell for choice in chosen])
        note(f"Next: compat show {setting.folder.name} CELL shows a cell's proof and how to reproduce it.")
    raise typer.Exit(code)


class Work:
    """One run of chosen cells: locks what has no lock, runs what can be run, keeps every record as it comes."""

    def __init__(self, setting: Setting, stand: Stand, level: Isolation, keep: bool, attempts: int) -> None:
        """Take where we stand, and how cells are to be run."""
        self.setting = setting
        self.stand = stand
        self.level = level
        self.keep = keep
        self.attempts = attempts
        self.cancel = threading.Event()
        self.signal = 0
        self.outcomes: dict[str, str] = {}
        self.unrun = 0
        self.suite_faults = 0

    def run(self, chosen: Sequence[Choice], workers: int) -> int:
        """Run the cells and return the exit code."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        self.stand.store.sweep(now())
        jobs = [job for choice in chosen if (job := self._job(choice.cell)) is not None]
        fleet = Local(self._bench, now, self.cancel, workers=workers, attempts=self.attempts)
        note(f"{len(jobs)} cells to run at isolation {self.level}, {workers} at once")
        with Progress(len(jobs), self.stand.usual_seconds() or _USUAL_SECONDS, workers) as progress:
            self.unrun += fleet.run(jobs, self._canary, self._keep, progress)
        if self.signal:
            return 128 + self.signal
        if self.suite_faults:
            return 2
        if self.unrun:
            return 3
        return 0 if all(outcome == "pass" for outcome in self.outcomes.values()) else 1

    def _stop(self, number: int, _: object) -> None:
        self.signal = number
        self.cancel.set()

    def _job(self, cell: str) -> Job | None:
        """The job of a cell; None, with the reason told and kept, when it cannot be run."""
        if self.cancel.is_set():
            return None
        lock = self._lock(cell)
        if lock is None:
            return None
        missing = missing_interpreter(lock)
        if missing is not None:
            self.unrun += 1
            note(f"{cell}  plan-fail:no-interpreter(py{missing}): `uv python install {missing}` gets one")
            return None
        return job_of(self.setting, cell, lock)

    def _lock(self, cell: str) -> Lock | None:
        path = pipeline.lock_path(self.setting.folder, cell)
        if path.exists():
            return pipeline.kept_lock(path)
        setting = self.setting
        wanted = parse_cell(cell, setting.ask.matrix)
        answer = pipeline.locked(setting.facts, wanted, setting.locker("uv"), setting.source)
        match answer.result:
            case Lock() as lock:
                files.write(path, encode_lock(lock))
                return lock
            case Infeasible(obstacle=obstacle):
                failed = Failed(stage="plan", cause=obstacle.kind, subject=", ".join(obstacle.between))
                self._refused(cell, failed, obstacle.because)
            case Refusal() as refusal:
                failed = Failed(stage="lock", cause=refusal.cause, subject=refusal.subject)
                self._refused(cell, failed, refusal.because)
        return None

    def _refused(self, cell: str, failed: Failed, because: str) -> None:
        refused = Refused(outcome=failed, because=without_places(because), at=now())
        self.stand.store.add(
            record_of_refusal(cell, self.setting.folder.name, refused, self.stand.present, host_class(), run_url())
        )
        self.outcomes[cell] = str(failed)
        note(f"{cell}  {failed}: {because}")

    def _bench(self, worker: int, job: Job) -> Bench:
        return bench_of(job, worker, self.setting.index, self.level, self.keep and job.matrix != "canary")

    def _canary(self, job: Job) -> Job:
        return canary(cache_folder() / "canary", job.lock.inputs.python)

    def _keep(self, job: Job, attempts: tuple[Attempt, ...]) -> None:
        fault = next((attempt.outcome for attempt in attempts if is_suite_fault(attempt.outcome)), None)
        if fault is not None:
            self.suite_faults += 1
            note(f"compat: {job.cell} has no record, the suite or its declaration is at fault: {fault}")
            return
        last = attempts[-1].outcome
        if isinstance(last, Failed) and last.cause == "cancelled":
            self.unrun += 1
        evidence = [attempt.evidence for attempt in attempts]
        record = record_of(evidence, tool=job.lock.tool, run_url=run_url(), redacted=without_places)
        self.stand.store.add(record)
        self.outcomes[job.cell] = str(record.outcome)


def _tell_times(stand: Stand, cells: Sequence[str]) -> None:
    """Say where the time of the newest runs went."""
    steps = [records[-1].step_seconds for cell in cells if (records := stand.records(cell))]
    parts = {
        "install": sum(step.install or 0 for step in steps),
        "import": sum(step.import_ or 0 for step in steps),
        "suite": sum(step.suite or 0 for step in steps),
        "compat itself": sum(step.ours or 0 for step in steps),
    }
    whole = sum(parts.values())
    if whole:
        told = ", ".join(f"{name} {seconds:.0f} s ({100 * seconds / whole:.0f} %)" for name, seconds in parts.items())
        note(f"Time in cells: {told}")


def _chosen(setting: Setting, stand: Stand, words: Sequence[str], quick: bool) -> list[Choice]:
    if quick:
        return [Choice(cell=cell, reason="quick") for cell in setting.ask.matrix.quick]
    if words:
        return [Choice(cell=cell, reason="named") for word in words for cell in _named(setting, stand, word)]
    agenda = due_cells(stand.candidates(), stand.runs(), stand.present)
    return [Choice(cell=one.cell, reason=one.reason) for one in agenda]


def _named(setting: Setting, stand: Stand, word: str) -> list[str]:
    """The locked cells that a word names; a plain id that has no lock yet is taken, too."""
    locked = stand.locks
    if word in locked:
        return [word]
    found = [cell for cell in locked if fnmatchcase(cell, word)]
    if found:
        return found
    if any(sign in word for sign in "*?["):
        raise UsageError.of(f"no locked cell is {word!r}", hint=f"compat lock {setting.folder.name} {word!r} locks it")
    return [parse_cell(word, setting.ask.matrix).id]


def _dry(setting: Setting, stand: Stand, chosen: Sequence[Choice], jobs: int, as_json: bool) -> None:
    workers = fitting(jobs, setting)
    each = stand.usual_seconds() or _USUAL_SECONDS
    seconds = sum(stand.seconds_of(choice.cell) or each for choice in chosen) / workers
    megabytes = min(workers, len(chosen)) * setting.ask.matrix.suite.disk_mb
    if as_json:
        cells = [{"id": choice.cell, "reason": choice.reason} for choice in chosen]
        envelope({"cells": cells, "minutes": round(seconds / 60, 1), "most_mb": megabytes, "jobs": workers})
        return
    for choice in chosen:
        say(f"{choice.cell}  {choice.reason}")
    say(f"{len(chosen)} cells, about {seconds / 60:.0f} minutes, {workers} at a time, at most {megabytes} MB at once")
