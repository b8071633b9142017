"""Runs the commands of a cell's steps, each isolated and limited, and records their ends."""

import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from compat.run.builds import BUILD_SECONDS
from compat.run.evidence import Ended, Limits, Step, StepName
from compat.run.isolation import Room
from compat.run.job import Bench, Job
from compat.run.supervise import run_limited

_LOG_TAIL = 200_000

# A cell's current step, for display: the install includes making the environment, and after the
# suite the cell's files are checked.
Activity = Literal["environment", "install", "import", "suite", "check"]
Enter = Callable[[Activity, Path], None]


class StepRunner:
    """The steps of one cell so far, each the sum of its commands, and their logs in a folder."""

    def __init__(
        self, job: Job, bench: Bench, cell: Path, evidence: Path, cancel: threading.Event,
        enter: Enter,
    ) -> None:  # fmt: skip
        self.job, self.bench, self.cell = job, bench, cell
        self.evidence, self.cancel = evidence, cancel
        # Where the tests start.
        self.place = cell / "home"
        self.steps: list[Step] = []
        self.writable: tuple[Path, ...] = ()
        self.readable: tuple[Path, ...] = ()
        self.enter: Callable[[Activity], None] = lambda activity: enter(activity, cell)

    def run(
        self,
        name: StepName,
        command: list[str],
        variables: Mapping[str, str],
        *,
        network: bool,
        instead: list[str] | None = None,
        own_only: bool = False,
    ) -> bool:
        """If it fails by itself, `instead` runs in its place with a network, and nothing is
        recorded. An install with `own_only` writes to its cell, not to the shared cache.
        """
        log = self.evidence / f"{name}.log"
        part = self.evidence / f"{name}.part.log"
        is_install, home = name == "install", self.cell / "home"
        sandbox = Path(self.bench.sandbox)
        shelf = Path(self.bench.bytecode).with_name("builds")
        own = (sandbox, shelf) if is_install else (self.cell, *self.readable)
        written = (self.cell if own_only else sandbox,)
        readable = (*self.bench.readable, self.job.links, *map(str, own))
        room = Room(
            cwd=self.cell if is_install else self.place if name == "suite" else home,
            variables=tuple(sorted(variables.items())),
            log=part,
            writable=written if is_install else (home, *self.writable),
            readable=tuple(Path(folder) for folder in readable if folder),
            network=network,
            temporary=None if is_install else home / "tmp",
            links=is_install,
        )
        ended = run_limited(
            command, room, self.limits(name), level=self.bench.level, cancel=self.cancel
        )
        is_well = ended.by == "exit" and ended.exit_code == 0
        # A command that a limit or a signal ended has installed half of the packages: do not add to
        # that.
        if (
            instead is not None
            and not is_well
            and ended.by == "exit"
            and ended.exit_code is not None
        ):
            part.unlink()
            return self.run(name, instead, variables, network=True)
        with log.open("ab") as whole, part.open("rb") as piece:
            shutil.copyfileobj(piece, whole)
        self.note(name, ended, log)
        part.unlink()
        return is_well

    def note(self, name: StepName, ended: Ended, log: Path) -> None:
        before = next((step for step in self.steps if step.name == name), None)
        if before is not None:
            self.steps.remove(before)
            ended = msgspec.structs.replace(
                ended,
                seconds=before.ended.seconds + ended.seconds,
                peak_memory_mb=max(before.ended.peak_memory_mb, ended.peak_memory_mb),
                survivors=before.ended.survivors + ended.survivors,
            )
        text = log.read_bytes()[-_LOG_TAIL:].decode("utf-8", errors="replace")
        self.steps.append(Step(name=name, ended=ended, log=text))

    def limits(self, name: StepName) -> Limits:
        suite = self.job.suite
        return Limits(
            wall_seconds=BUILD_SECONDS if name == "install" else suite.seconds,
            silence_seconds=BUILD_SECONDS if name == "install" else suite.silence_seconds,
            memory_mb=suite.memory_mb,
            processes=500,
            output_mb=5,
            disk_mb=suite.disk_mb,
        )
