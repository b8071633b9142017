"""The steps of one cell: make it, install the lock, import the subject, run the suite, and write down what happened."""

import contextlib
import datetime
import hashlib
import shutil
import stat
import threading
import time
from collections.abc import Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path

import msgspec
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from uv import find_uv_bin

from compat.declare.capabilities import with_table
from compat.declare.matrix import Suite
from compat.files import new_folder, remove_tree
from compat.index.settings import IndexSettings
from compat.lock.lockfile import Lock, Pin
from compat.lock.text import encode_pin
from compat.lock.uv import dates
from compat.run import incell
from compat.run.bytecode import harvest, lend
from compat.run.events import Report, read_probe, read_report
from compat.run.evidence import Ended, Evidence, Installed, Isolation, Limits, Raised, Step, StepName
from compat.run.isolation import Room
from compat.run.supervise import run

_INSTALL_SECONDS = 1800  # a source build of an old package may take many
_LOG_TAIL = 200_000


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be run: a lock, the suite, the subject's package and module, and where the suite stands.

    Without a suite folder the run ends after the import. With `links`, a folder of wheels, no index is asked.
    """

    matrix: str
    cell: str
    subject: str
    module: str
    lock: Lock
    suite: Suite
    suite_folder: str
    links: str = ""


class Bench(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker runs cells with: its folders, the interpreter, the isolation level, and how it reaches the index.

    `tag` and `magic` name the interpreter's bytecode. `variables` are what an install may see of the caller's
    environment; a suite sees nothing of it. An install writes into `sandbox`, which holds uv's cache and the cells,
    so that one mount serves both and files are hard links; a suite writes into its own cell only. Of what is `hidden`,
    cells see no more than is `readable`, where the level allows. `keep` leaves the cell's folder in place.
    """

    worker: str
    evidence: str
    bytecode: str
    sandbox: str
    python: str
    tag: str
    magic: bytes
    level: Isolation
    index: IndexSettings
    variables: tuple[tuple[str, str], ...]
    host: str
    hidden: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    keep: bool = False


class CellRun:
    """One run of one cell, step by step."""

    def __init__(self, job: Job, bench: Bench, started: datetime.datetime, cancel: threading.Event) -> None:
        """Take the job and the bench; nothing is touched yet."""
        self.job = job
        self.bench = bench
        self.started = started
        self.cancel = cancel
        self.cell = Path(bench.sandbox) / "cells" / bench.worker / job.cell
        self.evidence = Path(bench.evidence) / job.matrix / job.cell / f"{started:%Y%m%dT%H%M%SZ}"
        self.steps: list[Step] = []

    @property
    def python(self) -> Path:
        """The cell's interpreter."""
        return self.cell / "venv" / "bin" / "python"

    @property
    def site(self) -> Path:
        """The cell's site-packages."""
        version = self.job.lock.inputs.python
        return self.cell / "venv" / "lib" / f"python{version.major}.{version.minor}" / "site-packages"

    def run(self) -> Evidence:
        """Run all steps as far as they go, write the evidence, and leave no cell behind unless it is to be kept."""
        begin = time.monotonic()
        remove_tree(self.cell)
        self.evidence = new_folder(self.evidence)
        for folder in (self.cell / "home" / "tmp", self.cell / "plugin"):
            folder.mkdir(parents=True)
        try:
            facts = self._facts()
            if facts.imported or facts.collect_errors or any(trial.status == "failed" for trial in facts.tests):
                facts = msgspec.structs.replace(facts, owners=renamed_modules(self.site))
            evidence = msgspec.structs.replace(facts, seconds=time.monotonic() - begin, steps=tuple(self.steps))
            (self.evidence / "evidence.json").write_bytes(encode_evidence(evidence))
            return evidence
        finally:
            if not self.bench.keep:
                # What is left goes with the process's folder; the evidence is complete without it.
                with contextlib.suppress(OSError):
                    remove_tree(self.cell)

    def _facts(self) -> Evidence:
        wanted = tuple(Installed(name=pin.name, version=str(pin.version)) for pin in self.job.lock.pins)
        asked = suite_digest(Path(self.job.suite_folder)) if self.job.suite_folder else ""
        facts = Evidence(
            cell=self.job.cell, matrix=self.job.matrix, subject=self.job.subject, lock_digest=self.job.lock.digest,
            suite_digest=asked, started=self.started, seconds=0.0,
            host=self.bench.host, isolation=self.bench.level, steps=(), wanted=wanted, module=self.job.module,
        )  # fmt: skip
        if not self._install():
            return facts
        modules = top_modules(self.site, self.job.subject)
        facts = msgspec.structs.replace(facts, installed=installed(self.site), modules=modules)
        if set(facts.installed) != set(wanted):
            return facts
        facts = msgspec.structs.replace(facts, lent=self._lend())
        since = time.time_ns()
        seconds, raised = self._import()
        facts = msgspec.structs.replace(facts, import_seconds=seconds, imported=raised)
        if seconds is None or raised is not None or not self.job.suite_folder:
            return facts
        report = self._suite()
        facts = msgspec.structs.replace(facts, installed_after=installed(self.site), **msgspec.structs.asdict(report))
        facts = msgspec.structs.replace(facts, tampered=tampered(self.site, since))
        if facts.tampered:
            # The cache that the next cell would be linked from is no longer what was downloaded.
            shutil.rmtree(Path(self.bench.sandbox) / "uv", ignore_errors=True)
        elif not self.cancel.is_set():
            harvest(self.site, Path(self.bench.python), self.bench.tag, self.bench.magic, Path(self.bench.bytecode))
        return facts

    def _install(self) -> bool:
        """Make the environment and install the lock, with hashes; the given pin under a Python that it admits."""
        uv, inputs = find_uv_bin(), self.job.lock.inputs
        forced = inputs.given if inputs.given_python is not None else None
        plain = [pin for pin in self.job.lock.pins if pin != forced]
        self._write_pins("pins.txt", plain)
        make = [uv, "venv", "--no-config", "--quiet", "--no-python-downloads", f"--python={self.bench.python}", "venv"]
        install = [
            uv, "pip", "install", "--no-config", "--no-progress", "--color=never", "--no-deps", "--require-hashes",
            f"--python={self.python}", *self._places(), *self._dates(),
        ]  # fmt: skip
        commands = [make, [*install, "-r", "pins.txt"]]
        if forced is not None:
            self._write_pins("given.txt", [forced])
            commands.append([*install, f"--python-version={inputs.given_python}", "-r", "given.txt"])
        return all(self._step("install", command, dict(self.bench.variables), network=True) for command in commands)

    def _dates(self) -> list[str]:
        """What a source build may see: the index as of the lock's date, with the tools of then.

        The given pin is no answer of the resolver's, so the date need not admit it. Folders of wheels have no dates.
        """
        inputs = self.job.lock.inputs
        seen = [] if self.job.links else dates(inputs)
        exempt = [f"--exclude-newer-package={inputs.given.name}=false"] if seen and inputs.given is not None else []
        return [*seen, *exempt]

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
        further = (f"--index={url}" for url in self.bench.index.extra_index_urls)
        return [f"--default-index={self.bench.index.index_url}", *further, "--index-strategy=unsafe-best-match"]

    def _write_pins(self, name: str, pins: list[Pin]) -> None:
        (self.cell / name).write_text("".join(f"{encode_pin(pin)}\n" for pin in pins), encoding="utf-8")

    def _import(self) -> tuple[float | None, Raised | None]:
        out = self.cell / "home" / "import.json"
        probe = Path(incell.__file__).parent / "probe.py"
        shutil.copy(probe, self.cell / "plugin" / "probe.py")
        command = [str(self.python), "-I", str(self.cell / "plugin" / "probe.py"), str(out), self.job.module]
        self._step("import", command, self._environment(), network=False)
        return read_probe(out)

    def _suite(self) -> Report:
        events = self.cell / "home" / "events.jsonl"
        shutil.copy(Path(incell.__file__).parent / "plugin.py", self.cell / "plugin" / "compat_plugin.py")
        suite = self.cell / "suite"
        shutil.copytree(self.job.suite_folder, suite, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        if not (suite / "pytest.ini").exists():
            (suite / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        environment = self._environment() | {"PYTHONPATH": str(self.cell / "plugin"), "COMPAT_EVENTS": str(events)}
        command = [
            str(self.python), "-m", "pytest", "-p", "compat_plugin", "-p", "no:cacheprovider", "-q", "--tb=short",
            "-c", str(suite / "pytest.ini"), f"--rootdir={suite}", str(suite),
        ]  # fmt: skip
        self._step("suite", command, environment, network=False)
        if events.exists():
            shutil.copy(events, self.evidence / "events.jsonl")
        return read_report(events)

    def _environment(self) -> dict[str, str]:
        """All that a cell sees: nothing of the caller's own."""
        home = self.cell / "home"
        base = {
            "PATH": f"{self.cell / 'venv' / 'bin'}:/usr/bin:/bin",
            "HOME": str(home),
            "TMPDIR": str(home / "tmp"),
            "LANG": "C.UTF-8",
            "PYTHONFAULTHANDLER": "1",
            "PYTHONHASHSEED": "0",
            "PYTHONNOUSERSITE": "1",
            "PYTHONUNBUFFERED": "1",
            # A plugin that is installed for another's sake can break an old pytest before anything runs.
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        return base | dict(line.split("=", 1) for line in self.job.suite.environment)

    def _step(self, name: StepName, command: list[str], variables: Mapping[str, str], *, network: bool) -> bool:
        """Run one command as (a part of) a step; return whether it ended well."""
        log = self.evidence / f"{name}.log"
        part = self.evidence / f"{name}.part.log"
        room = Room(
            cwd=self.cell,
            variables=tuple(sorted(variables.items())),
            log=part,
            writable=(Path(self.bench.sandbox) if name == "install" else self.cell,),
            readable=tuple(Path(folder) for folder in (*self.bench.readable, self.job.links) if folder),
            hidden=tuple(Path(folder) for folder in self.bench.hidden),
            network=network,
        )
        ended = run(command, room, self._limits(name), level=self.bench.level, cancel=self.cancel)
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


def installed(site: Path) -> tuple[Installed, ...]:
    """Return the distributions in a site-packages, sorted by name; versions in their normal form if they have one."""
    found = set()
    for distribution in distributions(path=[str(site)]):
        name = distribution.metadata["Name"] or "?"
        try:
            version = str(Version(distribution.version))
        except InvalidVersion:
            version = distribution.version
        found.add(Installed(name=canonicalize_name(name), version=version))
    return tuple(sorted(found, key=lambda item: (item.name, item.version)))


def renamed_modules(site: Path) -> tuple[tuple[str, str], ...]:
    """Return each top-level module that is not called like its package, with the package; sorted by module.

    One that several packages share, as namespaces are, goes by its own name.
    """
    owners: dict[str, set[str]] = {}
    for distribution in distributions(path=[str(site)]):
        package = canonicalize_name(distribution.metadata["Name"] or "?")
        for name in _top_level(distribution):
            if canonicalize_name(name) != package:
                owners.setdefault(name, set()).add(package)
    return tuple((name, found.pop() if len(found) == 1 else name) for name, found in sorted(owners.items()))


def top_modules(site: Path, package: str) -> tuple[str, ...]:
    """Return the names at the top of an installed distribution that can be imported, by its list of files."""
    names: set[str] = set()
    for distribution in distributions(path=[str(site)]):
        if canonicalize_name(distribution.metadata["Name"] or "?") == canonicalize_name(package):
            names |= _top_level(distribution)
    return tuple(sorted(names))


def _top_level(distribution: Distribution) -> set[str]:
    """The names that a distribution's list of files has at the top and that can be imported."""
    files = [path for path in distribution.files or () if path.suffix in (".py", ".so")]
    names = {path.parts[0] if len(path.parts) > 1 else path.name.partition(".")[0] for path in files}
    return {name for name in names if name.isidentifier()}


def tampered(site: Path, since_ns: int) -> tuple[str, ...]:
    """Return the files in a site-packages that were written since then although they are shared by hard links.

    What a program adds is its own; what it changes in place it changes in the installer's cache, for every later cell.
    """
    found = []
    for path in site.rglob("*"):
        state = path.lstat()
        if state.st_nlink > 1 and state.st_mtime_ns > since_ns and stat.S_ISREG(state.st_mode):
            found.append(path.relative_to(site).as_posix())
    return tuple(sorted(found))


def suite_digest(folder: Path) -> str:
    """Return the sha256 over the names and contents of a suite's files.

    A table made from records, between its marks in a document, has no part in it: it is no question but the answers.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and "__pycache__" not in parts and not any(part.startswith(".") for part in parts):
            digest.update("/".join(parts).encode() + b"\0" + hashlib.sha256(_asked(path)).digest())
    return digest.hexdigest()


def _asked(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix != ".md":
        return content
    try:
        return with_table(content.decode(), "").encode()
    except ValueError:
        return content


def encode_evidence(evidence: Evidence) -> bytes:
    """Return evidence as JSON."""
    return msgspec.json.format(msgspec.json.encode(evidence), indent=1)


def decode_evidence(text: bytes) -> Evidence:
    """Return the evidence that the JSON holds; raise msgspec.ValidationError for anything else."""
    return msgspec.json.decode(text, type=Evidence)
