"""Installs a lock into a cell's environment, and checks each file against its RECORD."""

import contextlib
import importlib.metadata
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec
from uv import find_uv_bin

from compat.declare.parsing import parse_release
from compat.lock.lockfile import Pin, encode_pin, lock_digest
from compat.lock.sources import suite_only_of
from compat.lock.uv import index_arguments
from compat.run.builds import BUILD_SECONDS, Order, Workshop, build_all
from compat.run.bytecode import BytecodeStore, sources
from compat.run.cached import forget_wheels
from compat.run.evidence import Ended, Limits, Step, StepName
from compat.run.installed import Environment, Seals, Wrong
from compat.run.isolation import Room
from compat.run.job import Bench, Job
from compat.run.supervise import run_limited

# Runs the commands of a cell's steps, each isolated and limited, and records their ends.

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


class Installation:
    """The install step of one cell: the environment, the builds, and the lock's pins."""

    def __init__(
        self, environment: Environment, steps: StepRunner, bytecode: BytecodeStore
    ) -> None:
        self.environment, self.steps = environment, steps
        self.job, self.bench, self.cell = steps.job, steps.bench, steps.cell
        self.misrecorded = self._misrecorded_beside = tuple[Wrong, ...]()
        # Files that differ from the locked hash, and files that no wheel may install.
        self.damaged: tuple[str, ...] = ()
        self.refused: tuple[str, ...] = ()
        # The packages of the suite and of pytest, separate from the library's.
        self.runner: Environment | None = None
        self.pins = self.job.lock.pins
        self._bytecode = bytecode
        interpreter = f"{self.bench.tag} uv {importlib.metadata.version('uv')}"
        self._seals = Seals(Path(self.bench.bytecode).with_name("seals"), interpreter)

    def install(self) -> bool:
        """Make the environment and install the lock with hashes, including pins for this Python.

        Packages that only the suite and pytest need are then moved out, or are shared already. No
        code of any package runs, except in the builds beforehand, each in its own folder.
        """
        uv, inputs = find_uv_bin(), self.job.lock.inputs
        self.runner = self._shared_runner()
        if self.runner is not None:
            self.pins = self.job.lock.library_pins
        local_wheels = self._local_wheels()
        forced = inputs.injected_pin if inputs.install_as_python is not None else None
        named = set(map(parse_release, self.job.builds))
        sources = [
            pin
            for pin in self.pins
            if pin.name in self.job.lock.builds
            and (pin.name, pin.version) in named
            and pin != forced
        ]
        self.steps.enter("install")
        wheels = self._build_wheels(sources)
        if len(wheels) < len(sources):
            return False
        apart = [forced, *sources, *local_wheels]
        self._write_pins("pins.txt", [pin for pin in self.pins if pin not in apart])
        make = [
            *(uv, "venv", "--no-config", "--quiet", "--no-python-downloads"),
            *(f"--python={self.bench.python}", "venv"),
        ]
        install = [
            *(uv, "pip", "install", "--no-config", "--no-progress", "--color=never", "--no-deps"),
            *("--only-binary=:all:", f"--python={self.cell / 'venv' / 'bin' / 'python'}"),
            # Code of the cell that can write to the environment gets copies, never links.
            *([] if self.bench.level == "L3" else ["--link-mode=copy"]),
        ]
        places = (
            ["--no-index", f"--find-links={self.job.links}"]
            if self.job.links
            else index_arguments(self.bench.index, inputs.index)
        )
        hashed = [*install, "--require-hashes", *places]
        commands = [[*hashed, "-r", "pins.txt"]]
        if forced is not None and forced not in local_wheels:
            self._write_pins("given.txt", [forced])
            admitted = f"--python-version={inputs.install_as_python}"
            commands.append([*hashed, admitted, "-r", "given.txt"])
        local = [*install, "--no-index", "--offline"]
        built = [[*local, *map(str, wheels)]] if wheels else []
        built += [[*local, *self._write_local(local_wheels)]] if local_wheels else []
        fetched = [pin for pin in self.pins if pin not in (*sources, *local_wheels)]
        if not self._install_checked(make, commands, built, fetched):
            return False
        if self.runner is None:
            self._split()
        return True

    @property
    def _shelf(self) -> Path | None:
        """The shared runner of this lock for all cells of a Python with the same needs, below a
        folder that no step of a cell can write to. Only files that a cell cannot change (L3) and
        wheels of the index are shared.
        """
        lock = self.job.lock
        pins = lock.suite_pins
        own = {*lock.builds, *(pin.name for pin in self._local_wheels())}
        if not pins or self.bench.level != "L3" or own & {pin.name for pin in pins}:
            return None
        name = f"{self.bench.tag}-{self.bench.magic.hex()}-{lock_digest(pins)}"
        return Path(self.bench.bytecode).with_name("runners") / name

    def _shared_runner(self) -> Environment | None:
        """The runner that another cell has left, each file checked against its RECORD again."""
        shelf = self._shelf
        if shelf is None or not shelf.is_dir():
            return None
        runner = Environment(shelf, self.environment.site)
        wrong = runner.compare_shared()
        pins = self.job.lock.suite_pins
        names = {distribution.name for distribution in runner.distributions}
        if names == {pin.name for pin in pins} and not (
            self._seals.unknown(pins) or self._seals.broken(runner, pins, wrong)
        ):
            self._misrecorded_beside = wrong
            return runner
        # A running cell keeps its mounts.
        with contextlib.suppress(OSError):
            shelf.rename(tempfile.mkdtemp(prefix="damaged-", dir=shelf.parent))
        return None

    def _split(self) -> None:
        job, shelf = self.job, self._shelf
        requires = {item.name: item.requires for item in self.environment.distributions}
        only = suite_only_of(job.lock, job.subject, job.suite.requirements, requires)
        if not only:
            return
        self.runner = runner = Environment(self.cell / "runner", self.environment.site)
        self.environment.split(only, runner)
        if shelf is not None:
            # Complete now: nothing is added later to files that cells share.
            every = {path for path, _ in sources(runner.distributions)}
            python = Path(self.bench.python)
            self._bytecode.harvest(runner.packages, runner.distributions, every, python)
            self._bytecode.lend(runner.packages, runner.distributions)
            with contextlib.suppress(OSError):
                shelf.parent.mkdir(parents=True, exist_ok=True)
                runner.cell.rename(shelf)
                runner.cell = shelf

    def _install_checked(
        self, make: list[str], commands: list[list[str]], built: list[list[str]], fetched: list[Pin]
    ) -> bool:
        """Install, check each file against its RECORD, and each `fetched` wheel against its
        download.

        A cached wheel without a recorded download is fetched again, so a remaining difference is
        the wheel's own fault: of 548 unpacked wheels that were checked on 22 November 2026, 3 had
        one wrong line in their RECORD.
        """
        new, cache = self._seals.unknown(fetched), Path(dict(self.bench.variables)["UV_CACHE_DIR"])
        forget_wheels(cache, new)
        variables = dict(self.bench.variables)
        # Built wheels never enter the cache that cells share.
        own = variables | {"UV_CACHE_DIR": str(self.cell / "cache")}
        self.steps.enter("environment")
        if not self.steps.run("install", make, variables, network=True):
            return False
        self.steps.enter("install")
        self.environment.is_bare()
        # Later commands see no installed wheel: uv queries the interpreter of the environment, and
        # installed code could answer.
        for number, command in enumerate((*commands, *built)):
            with self.environment.beside() if number else contextlib.nullcontext():
                if command in built:
                    is_well = self.steps.run("install", command, own, network=False, own_only=True)
                else:
                    # From the cache alone where it has every pin, else from the index. The hashes
                    # prove that cached files are the index's, so no query per package is needed (it
                    # took 60 of a small cell's 90 ms in November 2026).
                    cached = [*command, "--offline"]
                    is_well = self.steps.run(
                        "install", cached, variables, network=False, instead=command
                    )
                if not is_well:
                    return False
        self.refused = self.environment.evict()
        wrong = self.environment.compare()
        damaged = self._seals.broken(self.environment, fetched, wrong)
        if damaged:
            self._seals.forget(damaged)
            forget_wheels(cache, damaged)
            self.damaged = tuple(f"{pin.name}=={pin.version}" for pin in damaged)
            return False
        self._seals.keep(self.environment, new, wrong)
        self.misrecorded = wrong + self._misrecorded_beside
        return True

    def _build_wheels(self, pins: list[Pin]) -> list[Path]:
        bench, inputs, log = self.bench, self.job.lock.inputs, self.steps.evidence / "install.log"
        orders = [Order(pin=pin, python=inputs.python, as_of=inputs.as_of) for pin in pins]
        shop = Workshop(
            python=bench.python, level=bench.level, index=bench.index, variables=bench.variables,
            limits=self.steps.limits("install"), readable=bench.readable,
            shelf=str(Path(bench.bytecode).with_name("builds")),
        )  # fmt: skip
        note = partial(self.steps.note, "install", log=log)
        return build_all(orders, self.cell / "builds", log, shop, note, self.steps.cancel)

    def _local_wheels(self) -> dict[Pin, Path]:
        paths = dict(self.job.wheels)
        local = ((pin, digest) for pin in self.pins for digest in pin.hashes if digest in paths)
        return {pin: Path(paths[digest]) for pin, digest in local}

    def _write_local(self, local_wheels: dict[Pin, Path]) -> list[str]:
        """Return the options that install local wheels, each with its locked hash."""
        lines = [
            f"{pin.name} @ {path.as_uri()} --hash=sha256:{digest}\n"
            for pin, path in local_wheels.items()
            for digest in pin.hashes
        ]
        (self.cell / "local.txt").write_text("".join(lines), encoding="utf-8")
        python = self.job.lock.inputs.install_as_python
        as_python = [] if python is None else [f"--python-version={python}"]
        return ["--require-hashes", *as_python, "-r", "local.txt"]

    def _write_pins(self, name: str, pins: list[Pin]) -> None:
        (self.cell / name).write_text(
            "".join(f"{encode_pin(pin)}\n" for pin in pins), encoding="utf-8"
        )


def own_copies(site: Path, folders: Iterable[str]) -> tuple[Path, ...]:
    """Replace links, which other cells share, before any code runs; return existing folders."""
    owned = []
    for name in folders:
        folder = site / name
        if not folder.is_dir() or folder.resolve() != site.resolve() / name:
            continue
        for path in [path for path in folder.rglob("*") if path.is_file()]:
            copy = path.with_name(f"{path.name}.own")
            shutil.copy2(path, copy, follow_symlinks=False)
            copy.replace(path)
        owned.append(folder)
    return tuple(owned)
