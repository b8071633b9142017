"""This machine as the commands that run cells need it, and the order to stop."""

import datetime
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from packaging.version import Version

from compat import pipeline
from compat.cli.arguments import Exit
from compat.cli.lockers import locker_of
from compat.cli.machine import (
    bench_of,
    host_class,
    level_of,
    missing_interpreter,
    now,
    run_url,
    sandbox_folder,
    without_places,
)
from compat.cli.options import refuse_faulty_suite
from compat.cli.progress import Progress
from compat.errors import DeclarationError
from compat.fleet.batch import BatchResult, RunOptions
from compat.fleet.local import Fleet, Local
from compat.lock.lockfile import Lock, Locker
from compat.lock.sources import SourceRelease
from compat.run.evidence import Isolation
from compat.run.job import Bench, Job
from compat.workspace import Workspace


class MachineSearch:
    """A search of a matrix that runs cells on this machine until it is stopped.

    Raises DeclarationError where the matrix's suite cannot be run as it is declared.
    """

    def __init__(self, workspace: Workspace, isolation: str) -> None:
        refuse_faulty_suite(workspace)
        self._workspace = workspace
        self._interruption = Interruption()
        self.machine = ThisMachine(workspace, level_of(isolation))
        self.cancel = self._interruption.cancel

    def progress(self, cells: Iterable[str], workers: int = 1) -> Progress:
        return Progress(dict.fromkeys(cells), workers)

    def run(self, cells: Sequence[str], options: RunOptions | None = None) -> BatchResult:
        options = options or RunOptions()
        with self.progress(cells, options.workers) as progress:
            return pipeline.run(
                self._workspace, cells, self.machine, options, self.cancel, progress
            )

    def refuse_suite_fault(self, cell: str, result: BatchResult) -> None:
        """Raise DeclarationError for a cell that left no record, as its suite is at fault."""
        if result.suite_faults:
            raise DeclarationError.of(
                f"{cell} has no record, the suite or its declaration is at fault",
                path=f"matrices/{self._workspace.name}",
            )

    def exit_if_interrupted(self) -> None:
        if self._interruption.signal:
            raise Exit(128 + self._interruption.signal)

    def exit(self, code: int) -> NoReturn:
        self.exit_if_interrupted()
        raise Exit(code)


class ThisMachine:
    """This machine at one isolation level, as a batch needs it."""

    def __init__(
        self, workspace: Workspace, level: Isolation, shown: Sequence[SourceRelease] = ()
    ) -> None:
        self._workspace = workspace
        self._shown = shown
        self.level: Isolation = level
        self.host = host_class()
        self.run_url = run_url()

    def clock(self) -> datetime.datetime:
        return now()

    def cells(self) -> Path:
        return sandbox_folder(self.level) / "cells"

    def bench(self, job: Job, worker: str, keep: bool) -> Bench:
        return bench_of(job, worker, self._workspace.index, self.level, keep)

    def missing_interpreter(self, lock: Lock) -> Version | None:
        return missing_interpreter(lock)

    def locker(self) -> Locker:
        return locker_of(self._workspace, "uv", self.level, self._shown)

    def redacted(self, text: str) -> str:
        return without_places(text)

    def workers(self, options: RunOptions, cancel: threading.Event) -> int:
        return options.workers

    @property
    def means(self) -> str:
        return f"isolation {self.level}"

    def fleet(
        self,
        benches: Callable[[int, Job], Bench],
        cancel: threading.Event,
        options: RunOptions,
    ) -> Fleet:
        return Local(
            benches, self.clock, cancel, workers=options.workers, attempts=options.attempts
        )


class Interruption:
    """The order to stop, and the signal that gave it; 0 while there is none."""

    def __init__(self) -> None:
        self.cancel = threading.Event()
        self.signal = 0
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)

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
            2,
            b"stopping the cells that run; the same signal again ends compat at once\n",
        )
