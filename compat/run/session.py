"""The steps of one cell: make it, install the lock, import the subject, run the suite, and write
down what happened.
"""

import contextlib
import datetime
import shutil
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec
from uv import find_uv_bin

from compat.declare.text import parse_release
from compat.files import new_folder, remove_tree
from compat.lock.lockfile import Pin
from compat.lock.text import encode_pin
from compat.lock.uv import index_arguments
from compat.run import incell
from compat.run.builds import BUILD_SECONDS, Order, Workshop, build_all
from compat.run.bytecode import harvest, lend
from compat.run.events import LARGEST, SuiteReport, read_modules, read_probe, read_report
from compat.run.evidence import Ended, Evidence, Installed, Limits, Raised, Step, StepName
from compat.run.foreign import read_bytes
from compat.run.installed import (
    Environment,
    Wrong,
    installed,
    is_known_misrecorded,
    remember,
    renamed_modules,
    top_modules,
)
from compat.run.isolation import Room
from compat.run.job import Bench, Job
from compat.run.suitefiles import suite_digest, suite_tests
from compat.run.supervise import run_limited

_INSTALL_SECONDS = BUILD_SECONDS  # a source build of an old package may take many
_LOG_TAIL = 200_000
# What a step finds in its cell and must leave as it is; at L3 it is mounted read-only.
_KEPT = ("venv", "plugin", "suite")
# The plugin has a name of its own: the suite and the subject may have a module `plugin`.
_IN_CELL = (("probe.py", "probe.py"), ("launch.py", "launch.py"), ("plugin.py", "compat_plugin.py"))
_LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*")


class CellRun:
    """One run of one cell, step by step."""

    def __init__(
        self, job: Job, bench: Bench, started: datetime.datetime, cancel: threading.Event
    ) -> None:
        """Take the job and the bench; nothing is touched yet."""
        self.job = job
        self.bench = bench
        self.started = started
        self.cancel = cancel
        self.cell = Path(bench.sandbox) / "cells" / bench.worker / job.cell
        self.evidence = Path(bench.evidence) / job.matrix / job.cell / f"{started:%Y%m%dT%H%M%SZ}"
        self.steps: list[Step] = []
        version = job.lock.inputs.python
        site = f"venv/lib/python{version.major}.{version.minor}/site-packages"
        self.environment = Environment(self.cell, site)
        self.misrecorded: tuple[Wrong, ...] = ()

    @property
    def python(self) -> Path:
        """The cell's interpreter."""
        return self.cell / "venv" / "bin" / "python"

    @property
    def site(self) -> Path:
        """The cell's site-packages."""
        return self.cell / self.environment.site

    def run(self) -> Evidence:
        """Run all steps as far as they go, write the evidence, and leave no cell behind unless it
        is to be kept.
        """
        begin = time.monotonic()
        remove_tree(self.cell)
        self.evidence = new_folder(self.evidence)
        for folder in (self.cell / "home" / "tmp", self.cell / "plugin"):
            folder.mkdir(parents=True)
        try:
            facts = self._facts()
            if (
                facts.imported
                or facts.collect_errors
                or any(trial.status == "failed" for trial in facts.tests)
            ):
                facts = msgspec.structs.replace(
                    facts, owners=renamed_modules(self.environment.distributions)
                )
            evidence = msgspec.structs.replace(
                facts, seconds=time.monotonic() - begin, steps=tuple(self.steps)
            )
            (self.evidence / "evidence.json").write_bytes(evidence.to_json())
            return evidence
        finally:
            if not self.bench.keep:
                # What is left goes with the process's folder; the evidence is complete without it.
                with contextlib.suppress(OSError):
                    remove_tree(self.cell)

    def _facts(self) -> Evidence:
        wanted = tuple(
            Installed(name=pin.name, version=str(pin.version)) for pin in self.job.lock.pins
        )
        asked = suite_digest(Path(self.job.suite_folder)) if self.job.suite_folder else ""
        facts = Evidence(
            cell=self.job.cell,
            matrix=self.job.matrix,
            subject=self.job.subject,
            lock_digest=self.job.lock.digest,
            suite_digest=asked,
            started=self.started,
            seconds=0.0,
            host=self.bench.host,
            isolation=self.bench.level,
            steps=(),
            wanted=wanted,
            module=self.job.module,
        )
        if not self._install():
            return facts
        distributions = self.environment.distributions
        facts = msgspec.structs.replace(
            facts,
            installed=installed(distributions),
            modules=top_modules(distributions, self.job.subject),
            startup=self.environment.startup(),
            misrecorded=tuple(map(_shown, self.misrecorded)),
        )
        if set(facts.installed) != set(wanted):
            return facts
        facts = msgspec.structs.replace(facts, lent=self._lend())
        self._prepare()
        seconds, raised = self._import()
        facts = msgspec.structs.replace(
            facts,
            import_seconds=seconds,
            imported=raised,
            tampered=self._changed(),
            installed_after=facts.installed,
        )
        if facts.tampered or seconds is None or raised is not None or not self.job.suite_folder:
            return self._after(facts)
        self.environment.remove_bytecode()
        if self._learn("import.json"):
            lend(self.site, self.bench.tag, self.bench.magic, Path(self.bench.bytecode))
            self.environment.settle(*_KEPT)
        report = self._suite()
        facts = msgspec.structs.replace(
            facts, **msgspec.structs.asdict(report), tampered=self._changed()
        )
        self._learn("events.jsonl")
        return self._after(facts)

    def _after(self, facts: Evidence) -> Evidence:
        """Look again at what is installed when it was changed, and name the tests that were not
        collected.
        """
        if facts.tampered:
            self.environment.compare()
            facts = msgspec.structs.replace(
                facts, installed_after=installed(self.environment.distributions)
            )
        if facts.collected is None or facts.collect_errors:
            return facts
        collected = {trial.test.partition("[")[0] for trial in facts.tests}
        missing = (
            suite_tests(Path(self.job.suite_folder))
            - collected
            - {facts.started_test.partition("[")[0]}
        )
        return msgspec.structs.replace(facts, uncollected=tuple(sorted(missing)))

    def _prepare(self) -> None:
        """Lay out what the steps run besides the environment, all of it as it has to stay."""
        for source, name in _IN_CELL:
            shutil.copy(Path(incell.__file__).parent / source, self.cell / "plugin" / name)
        if self.job.suite_folder:
            suite = self.cell / "suite"
            shutil.copytree(self.job.suite_folder, suite, ignore=_LEFT_OUT)
            if not (suite / "pytest.ini").exists():
                (suite / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        self.environment.settle(*_KEPT)

    def _changed(self) -> tuple[str, ...]:
        """Return which files a step has changed that it must leave, whatever the step came to."""
        return self.environment.changed(*_KEPT)

    def _learn(self, report: str) -> bool:
        """Keep bytecode of the modules that a step loaded; return whether any came to the store.

        Nothing of the cell is alive now.
        """
        if self.cancel.is_set():
            return False
        used, bench = read_modules(self.cell, f"home/{report}.modules"), self.bench
        return (
            harvest(
                self.site, used, Path(bench.python), bench.tag, bench.magic, Path(bench.bytecode)
            )
            > 0
        )

    def _install(self) -> bool:
        """Make the environment and install the lock, with hashes; the given pin under a Python that
        it admits.

        No code of any package runs in it, except in the builds that come first, each in a folder of
        its own.
        """
        uv, inputs = find_uv_bin(), self.job.lock.inputs
        forced = inputs.given if inputs.given_python is not None else None
        sources = self._sources()
        wheels = self._built(sources)
        if len(wheels) < len(sources):
            return False
        self._write_pins(
            "pins.txt", [pin for pin in self.job.lock.pins if pin != forced and pin not in sources]
        )
        make = [
            uv,
            "venv",
            "--no-config",
            "--quiet",
            "--no-python-downloads",
            f"--python={self.bench.python}",
            "venv",
        ]
        install = [
            uv,
            "pip",
            "install",
            "--no-config",
            "--no-progress",
            "--color=never",
            "--no-deps",
            "--only-binary=:all:",
            f"--python={self.python}",
            *self._linked(),
        ]
        hashed = [*install, "--require-hashes", *self._places()]
        commands = [[*hashed, "-r", "pins.txt"]]
        if forced is not None:
            self._write_pins("given.txt", [forced])
            commands.append([*hashed, f"--python-version={inputs.given_python}", "-r", "given.txt"])
        built = [*install, "--no-index", "--offline", *map(str, wheels)] if wheels else []
        return self._recorded(make, commands, built)

    def _recorded(self, make: list[str], commands: list[list[str]], built: list[str]) -> bool:
        """Install, and hold each file against its RECORD; what differs is downloaded and installed
        once more.

        The first time it may be the cache that differs. What a fresh download of the locked hash
        brings is the wheel's own: of 548 unpacked wheels that were looked at on 22 November 2026,
        3 had one wrong line in their RECORD.
        """
        if not self._made(make, commands, built):
            return False
        known = Path(self.bench.sandbox) / "misrecorded"
        self.misrecorded = wrong = self.environment.compare()
        if not is_known_misrecorded(known, wrong):
            pins, packages = (
                {pin.name for pin in self.job.lock.pins},
                {item.package.partition("=")[0] for item in wrong},
            )
            # A file that no RECORD names can have come with any package.
            names = sorted(packages if packages <= pins else pins)
            clean = [find_uv_bin(), "cache", "clean", "--no-config", "--quiet", *names]
            shutil.rmtree(self.cell / "venv")
            if not self._step("install", clean, dict(self.bench.variables), network=True):
                return False
            if not self._made(make, commands, built):
                return False
            self.misrecorded = self.environment.compare()
            remember(known, self.misrecorded)
        return True

    def _made(self, make: list[str], commands: list[list[str]], built: list[str]) -> bool:
        """Make the environment and install into it.

        What a build made never enters the cache that cells share.

        The installer asks the environment's interpreter about itself, which runs the start-up files
        of what is installed already: so they are put aside while more is installed.
        """
        variables = dict(self.bench.variables)
        own = variables | {"UV_CACHE_DIR": str(self.cell / "cache")}
        if not self._step("install", make, variables, network=True):
            return False
        self.environment.is_bare()
        for command in commands:
            with self.environment.startup_put_aside():
                if not self._step("install", command, variables, network=True):
                    return False
        with self.environment.startup_put_aside():
            return not built or self._step("install", built, own, network=False)

    def _linked(self) -> list[str]:
        """Where code of the cell can write to the environment, its files are copies of the cache's,
        never links.
        """
        return [] if self.bench.level == "L3" else ["--link-mode=copy"]

    def _sources(self) -> list[Pin]:
        """The pins to build: the lock found no wheel for them, and people named their builds."""
        named, lock = set(map(parse_release, self.job.builds)), self.job.lock
        forced = lock.inputs.given if lock.inputs.given_python is not None else None
        return [
            p
            for p in lock.pins
            if p.name in lock.builds and (p.name, p.version) in named and p != forced
        ]

    def _built(self, pins: list[Pin]) -> list[Path]:
        """Return the wheels of the pins, up to the first whose build fails."""
        bench, inputs, log = self.bench, self.job.lock.inputs, self.evidence / "install.log"
        orders = [Order(pin=pin, python=inputs.python, as_of=inputs.as_of) for pin in pins]
        shop = Workshop(
            python=bench.python, level=bench.level, index=bench.index, variables=bench.variables,
            limits=self._limits("install"), hidden=bench.hidden, readable=bench.readable,
            shelf=f"{bench.sandbox}/builds",
        )  # fmt: skip
        return build_all(
            orders,
            self.cell / "builds",
            log,
            shop,
            lambda ended: self._note("install", ended, log),
            self.cancel,
        )

    def _lend(self) -> int:
        """Lend the cell the bytecode of its sources; the time counts as part of the install."""
        begin = time.monotonic()
        lent = lend(self.site, self.bench.tag, self.bench.magic, Path(self.bench.bytecode))
        install = next(step for step in self.steps if step.name == "install")
        seconds = install.ended.seconds + time.monotonic() - begin
        ended = msgspec.structs.replace(install.ended, seconds=seconds)
        self.steps[self.steps.index(install)] = msgspec.structs.replace(install, ended=ended)
        return lent

    def _places(self) -> list[str]:
        if self.job.links:
            return ["--no-index", f"--find-links={self.job.links}"]
        return index_arguments(self.bench.index)

    def _write_pins(self, name: str, pins: list[Pin]) -> None:
        (self.cell / name).write_text(
            "".join(f"{encode_pin(pin)}\n" for pin in pins), encoding="utf-8"
        )

    def _import(self) -> tuple[float | None, Raised | None]:
        out = self.cell / "home" / "import.json"
        command = [
            str(self.python),
            "-I",
            "-B",
            str(self.cell / "plugin" / "probe.py"),
            str(out),
            self.job.module,
        ]
        self._step("import", command, self._environment(), network=False)
        return read_probe(self.cell, "home/import.json")

    def _suite(self) -> SuiteReport:
        suite = self.cell / "suite"
        environment = self._environment() | {
            "COMPAT_EVENTS": str(self.cell / "home" / "events.jsonl")
        }
        command = [
            str(self.python),
            str(self.cell / "plugin" / "launch.py"),
            "-p",
            "compat_plugin",
            "-p",
            "no:cacheprovider",
            "-q",
            "--tb=short",
            "-c",
            str(suite / "pytest.ini"),
            f"--rootdir={suite}",
            str(suite),
        ]
        self._step("suite", command, environment, network=False)
        try:
            events = read_bytes(self.cell, "home/events.jsonl", LARGEST)
        except OSError:
            return SuiteReport()
        (self.evidence / "events.jsonl").write_bytes(events)
        return read_report(events)

    def _environment(self) -> dict[str, str]:
        """All that a cell sees: nothing of the caller's own."""
        home = self.cell / "home"
        base = {
            "PATH": f"{self.cell / 'venv' / 'bin'}:/usr/bin:/bin",
            "HOME": str(home),
            "TMPDIR": str(home / "tmp"),
            "LANG": "C.UTF-8",
            # What the interpreter would leave beside the sources is nothing that a later step
            # should trust.
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONFAULTHANDLER": "1",
            "PYTHONHASHSEED": "0",
            "PYTHONNOUSERSITE": "1",
            "PYTHONUNBUFFERED": "1",
            # A plugin that is installed for another's sake can break an old pytest before anything
            # runs.
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        return base | dict(line.split("=", 1) for line in self.job.suite.environment)

    def _step(
        self, name: StepName, command: list[str], variables: Mapping[str, str], *, network: bool
    ) -> bool:
        """Run one command as (a part of) a step; return whether it ended well."""
        log = self.evidence / f"{name}.log"
        part = self.evidence / f"{name}.part.log"
        is_install, home = name == "install", self.cell / "home"
        readable = (*self.bench.readable, self.job.links, *([] if is_install else [str(self.cell)]))
        room = Room(
            cwd=self.cell if is_install else home,
            variables=tuple(sorted(variables.items())),
            log=part,
            writable=(Path(self.bench.sandbox) if is_install else home,),
            readable=tuple(Path(folder) for folder in readable if folder),
            hidden=tuple(Path(folder) for folder in self.bench.hidden),
            network=network,
        )
        ended = run_limited(
            command, room, self._limits(name), level=self.bench.level, cancel=self.cancel
        )
        with log.open("ab") as whole, part.open("rb") as piece:
            shutil.copyfileobj(piece, whole)
        part.unlink()
        self._note(name, ended, log)
        return ended.by == "exit" and ended.exit_code == 0

    def _note(self, name: StepName, ended: Ended, log: Path) -> None:
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

    def _limits(self, name: StepName) -> Limits:
        suite = self.job.suite
        return Limits(
            wall_seconds=_INSTALL_SECONDS if name == "install" else suite.seconds,
            silence_seconds=_INSTALL_SECONDS if name == "install" else suite.silence_seconds,
            memory_mb=suite.memory_mb,
            processes=500,
            output_mb=5,
            disk_mb=suite.disk_mb,
        )


def _shown(wrong: Wrong) -> str:
    return f"{wrong.package or 'no package'}: {wrong.path}"
