"""This machine as the commands that run cells need it, and the order to stop."""

import datetime
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from packaging.version import Version

from compat.cli.lockers import locker_of
from compat.cli.machine import (
    bench_of,
    host_class,
    missing_interpreter,
    now,
    run_url,
    sandbox_folder,
    without_places,
)
from compat.fleet.batch import RunOptions
from compat.fleet.local import Fleet, Local
from compat.lock.lockfile import Lock, Locker
from compat.lock.sources import SourceRelease
from compat.run.evidence import Isolation
from compat.run.job import Bench, Job
from compat.workspace import Workspace


class ThisMachine:
    """This machine at one isolation level, as a batch needs it."""

    def __init__(
        self, workspace: Workspace, level: Isolation, shown: Sequence[SourceRelease] = ()
    ) -> None:
        """Take the matrix whose cells run, and how far they are isolated; resolvers are `shown`
        releases that no index has.
        """
        self._workspace = workspace
        self._shown = shown
        self.level: Isolation = level
        self.host = host_class()
        self.run_url = run_url()

    def clock(self) -> datetime.datetime:
        """Return the moment, in UTC."""
        return now()

    def cells(self) -> Path:
        """Return the folder in which cells are made."""
        return sandbox_folder(self.level) / "cells"

    def bench(self, job: Job, worker: str, keep: bool) -> Bench:
        """Return what a worker runs the job with."""
        return bench_of(job, worker, self._workspace.index, self.level, keep)

    def missing_interpreter(self, lock: Lock) -> Version | None:
        """Return the series that the lock needs and this machine lacks; None when it is there."""
        return missing_interpreter(lock)

    def locker(self) -> Locker:
        """Return what resolves requirements; what it builds, it builds at the isolation level."""
        return locker_of(self._workspace, "uv", self.level, self._shown)

    def redacted(self, text: str) -> str:
        """Return the text as it may be published from this machine."""
        return without_places(text)

    def workers(self, options: RunOptions, cancel: threading.Event) -> int:
        """Return how many cells run at once: as the options say."""
        return options.workers

    @property
    def means(self) -> str:
        """By what means cells run here, in words."""
        return f"isolation {self.level}"

    def fleet(
        self,
        benches: Callable[[int, Job], Bench],
        cancel: threading.Event,
        options: RunOptions,
    ) -> Fleet:
        """Return workers of this machine."""
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
