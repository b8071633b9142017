"""This machine as the commands that run cells need it, and the order to stop."""

import datetime
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import Version

from compat import pipeline
from compat.cli import machine
from compat.cli.arguments import Exit
from compat.cli.options import LockerName
from compat.cli.output import note
from compat.cli.progress import Progress
from compat.declare.parsing import minor_series, parse_release
from compat.errors import DeclarationError, ToolFailed
from compat.fleet.batch import BatchResult, Local, Reporting, RunOptions
from compat.index.release import Published
from compat.lock.lockfile import Inputs, Lock, Locker, Pin, Refusal
from compat.lock.piptools import PipToolsLocker
from compat.lock.sources import Build, NamedBuilds, SourceRelease
from compat.lock.uv import UvLocker
from compat.plan.platform import python_name, python_remedy
from compat.run.builds import BUILD_SECONDS, Builder, Workshop
from compat.run.evidence import Isolation, Limits
from compat.run.job import Bench, Job
from compat.workspace import Workspace

if TYPE_CHECKING:
    from compat.fleet.cluster import Remote


def locker_of(
    workspace: Workspace,
    name: LockerName,
    level: Isolation | None = None,
    shown: Sequence[SourceRelease] = (),
) -> Locker:
    """Return the locker of that name; builds run at the level, else at the highest available. uv
    also sees the `shown` releases, which no index has.
    """
    if name == "pip-tools":
        return PipToolsLocker(
            workspace.index,
            workspace.source,
            machine.environ(),
            machine.interpreter,
            machine.cache_folder(),
        )
    builder = Builder(lambda python: workshop_of(workspace, python, level or machine.level_of("")))
    return uv_locker(workspace, builder, shown)


def probing_locker(workspace: Workspace) -> Locker:
    """Return a locker for probes: it builds each source distribution once a Python, whatever the
    date, so its locks are not for installing.
    """
    builder = Builder(lambda python: workshop_of(workspace, python, machine.level_of("")))
    known: dict[tuple[Pin, str], Published] = {}

    def build(inputs: Inputs, pin: Pin) -> Published | Refusal:
        key = (pin, minor_series(inputs.python))
        asks = known.get(key) or builder(inputs, pin)
        if not isinstance(asks, Refusal):
            known[key] = asks
        return asks

    return uv_locker(workspace, build)


def uv_locker(
    workspace: Workspace, build: Build | None = None, shown: Sequence[SourceRelease] = ()
) -> Locker:
    """Return uv, which assumes no requirements of what needs a build that `build` does not make.

    Without it, failures hold whatever the builds would report, and locks are not for installing
    here.
    """
    environment = {"UV_CACHE_DIR": str(machine.sandbox_folder() / "uv"), **machine.environ()}
    named = tuple(map(parse_release, workspace.matrix.builds))
    builds = NamedBuilds(named, workspace.source, build)
    find_python = partial(machine.interpreter, platform=workspace.matrix.platform)
    return UvLocker(workspace.index, environment, find_python, builds, shown)


def workshop_of(workspace: Workspace, patch: Version, level: Isolation) -> Workshop:
    python = machine.interpreter(patch, workspace.matrix.platform)
    suite = workspace.matrix.suite
    if python is None:
        series = python_name(patch, workspace.matrix.platform)
        hint = python_remedy(series)
        raise ToolFailed.of(
            f"a build for Python {series} needs that Python, and this machine has none", hint=hint
        )
    return Workshop(
        python=python,
        level=level,
        index=workspace.index,
        variables=machine.install_variables(workspace.index, level),
        limits=Limits(
            wall_seconds=BUILD_SECONDS,
            silence_seconds=BUILD_SECONDS,
            memory_mb=suite.memory_mb,
            processes=500,
            output_mb=5,
            disk_mb=suite.disk_mb,
        ),
        shelf=str(machine.level_folder(level) / "builds"),
        readable=machine.readable_paths(python),
    )


class Interruption:
    """The order to stop, and its signal; 0 while there is none."""

    def __init__(self) -> None:
        self.cancel = threading.Event()
        self.signal = 0
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)

    def exit_if_interrupted(self) -> None:
        if self.signal:
            raise Exit(128 + self.signal)

    def _stop(self, number: int, _: object) -> None:
        """Order the end; at the second signal end at once: keepers kill their cells, the next run
        sweeps the folders.

        Bypasses Python's streams, which the signal may have interrupted.
        """
        if self.signal:
            # The progress on a terminal hides the cursor.
            os.write(2, b"\x1b[?25h\n" if sys.stderr.isatty() else b"")
            os._exit(128 + number)
        self.signal = number
        self.cancel.set()
        os.write(2, b"stopping the cells that run; the same signal again ends compat at once\n")


class ThisMachine:
    """This machine at one isolation level, as a batch needs it, until it is ordered to stop."""

    def __init__(
        self,
        workspace: Workspace,
        level: Isolation,
        shown: Sequence[SourceRelease] = (),
        interruption: Interruption | None = None,
    ) -> None:
        self._workspace = workspace
        self._shown = shown
        self.interruption = interruption or Interruption()
        self.cancel = self.interruption.cancel
        self.progress: Reporting = lambda cells, workers: Progress(dict.fromkeys(cells), workers)
        self.level: Isolation = level
        self.host = machine.host_class()
        self.run_url = machine.run_url()

    def run(self, cells: Sequence[str], options: RunOptions | None = None) -> BatchResult:
        return pipeline.run(self._workspace, cells, self, options or RunOptions())

    def run_of_search(self, cell: str, options: RunOptions) -> BatchResult:
        """Run one cell; raise DeclarationError where the suite is at fault."""
        result = self.run([cell], options)
        if result.suite_faults:
            raise DeclarationError.of(
                f"{cell} has no record, the suite or its declaration is at fault",
                path=f"matrices/{self._workspace.name}",
            )
        return result

    def clock(self) -> datetime.datetime:
        return machine.now()

    def cells(self) -> Path:
        return machine.sandbox_folder(self.level) / "cells"

    def bench(self, job: Job, worker: str, keep: bool) -> Bench:
        return machine.bench_of(job, worker, self._workspace.index, self.level, keep)

    def missing_interpreter(self, lock: Lock) -> Version | None:
        version = lock.inputs.python
        is_there = machine.interpreter(version, lock.inputs.platform) is not None
        return None if is_there else Version(f"{version.major}.{version.minor}")

    def locker(self) -> Locker:
        return locker_of(self._workspace, "uv", self.level, self._shown)

    def redacted(self, text: str) -> str:
        return machine.without_paths(text)

    def tell(self, line: str) -> None:
        note(line)

    def workers(self, options: RunOptions) -> int:
        return options.workers

    @property
    def means(self) -> str:
        return f"isolation {self.level}"

    def fleet(self, benches: Callable[[int, Job], Bench], options: RunOptions) -> "Local | Remote":
        workers, attempts = options.workers, options.attempts
        return Local(benches, self.clock, self.cancel, workers=workers, attempts=attempts)
