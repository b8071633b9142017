"""One run of one cell: install the lock, import the subject, run the suite, write the evidence."""

import contextlib
import datetime
import re
import shutil
import threading
import time
from pathlib import Path

import msgspec
from packaging.utils import canonicalize_name

from compat.files import new_folder, remove_tree
from compat.plan.platform import python_name
from compat.run import incell
from compat.run.bytecode import BytecodeStore
from compat.run.classify import missing_module
from compat.run.events import (
    EVENTS,
    LARGEST,
    read_bytes,
    read_modules,
    read_probe,
    read_report,
    with_failed_files,
)
from compat.run.evidence import Evidence, Installed, Raised
from compat.run.installation import Enter, Installation, StepRunner, own_copies
from compat.run.installed import (
    Distribution,
    Environment,
    bringing,
    installed,
    renamed_modules,
    top_modules,
)
from compat.run.job import Bench, Job, processor_level
from compat.run.suitefiles import (
    LEFT_OUT,
    left_out_tests,
    packages_above,
    suite_core,
    suite_digest,
    suite_notes,
    suite_tests,
)

# What a step must not change in its cell; mounted read-only at L3.
_KEPT = ("venv", "plugin", "suite")
# One is renamed: the suite and the subject may have a module `plugin`.
_IN_CELL = (
    ("probe.py", "probe.py"),
    ("launch.py", "launch.py"),
    ("plugin.py", "compat_plugin.py"),
    ("compat_raised.py", "compat_raised.py"),
)
# What an installer writes into a script's first lines: https://docs.python.org/3/library/venv.html
_INTERPRETER = re.compile(rb"/[^\n'\"]*/venv/bin/python[0-9.]*")
_NOT_COPIED = shutil.ignore_patterns("__pycache__", ".*")


class CellRun:
    """One run of one cell, step by step."""

    def __init__(
        self,
        job: Job,
        bench: Bench,
        started: datetime.datetime,
        cancel: threading.Event,
        enter: Enter = lambda activity, cell: None,
    ) -> None:
        self.job, self.bench, self.started, self.cancel = job, bench, started, cancel
        self.cell = Path(bench.sandbox) / "cells" / bench.worker / job.cell
        evidence = Path(bench.evidence) / job.matrix / job.cell / f"{started:%Y%m%dT%H%M%SZ}"
        self.steps = StepRunner(job, bench, self.cell, evidence, cancel, enter)
        self.bytecode = BytecodeStore(Path(bench.bytecode), bench.tag, bench.magic)
        name = python_name(job.lock.inputs.python, job.lock.inputs.platform)
        site = f"venv/lib/{name if name.startswith('pypy') else f'python{name}'}/site-packages"
        self.environment = Environment(self.cell, site)
        # Packages that only the suite and pytest need; hidden from the import step.
        self.runner: Environment | None = None

    @property
    def python(self) -> Path:
        return self.cell / "venv" / "bin" / "python"

    @property
    def _environments(self) -> tuple[Environment, ...]:
        return (self.environment, *([] if self.runner is None else [self.runner]))

    @property
    def _own_environments(self) -> tuple[Environment, ...]:
        return tuple(
            each for each in self._environments if self.cell in (each.cell, each.cell.parent)
        )

    @property
    def _distributions(self) -> tuple[Distribution, ...]:
        return tuple(item for each in self._environments for item in each.distributions)

    def run(self) -> Evidence:
        begin = time.monotonic()
        remove_tree(self.cell)
        self.steps.evidence = new_folder(self.steps.evidence)
        for folder in (self.cell / "home" / "tmp", self.cell / "plugin"):
            folder.mkdir(parents=True)
        try:
            facts = self._facts()
            is_failed = any(trial.status == "failed" for trial in facts.tests)
            if facts.imported or facts.collect_errors or is_failed:
                facts = msgspec.structs.replace(facts, owners=renamed_modules(self._distributions))
            evidence = msgspec.structs.replace(
                facts,
                seconds=time.monotonic() - begin,
                steps=tuple(self.steps.steps),
                processor=processor_level(),
            )
            text = msgspec.json.format(msgspec.json.encode(evidence), indent=1)
            (self.steps.evidence / "evidence.json").write_bytes(text)
            return evidence
        finally:
            if not self.bench.keep:
                # The rest is removed with the process's folder; the evidence is complete without
                # it.
                with contextlib.suppress(OSError):
                    remove_tree(self.cell)

    def _facts(self) -> Evidence:
        job = self.job
        expected = tuple(
            Installed(name=pin.name, version=str(pin.version)) for pin in job.lock.pins
        )
        facts = Evidence(
            cell=job.cell, matrix=job.matrix, subject=job.subject, lock_digest=job.lock.digest,
            suite_digest=suite_digest(Path(job.suite_folder)) if job.suite_folder else "",
            started=self.started, seconds=0.0, host=self.bench.host, isolation=self.bench.level,
            steps=(), expected=expected, module=job.module, tier=job.tier,
        )  # fmt: skip
        installation = Installation(self.environment, self.steps, self.bytecode)
        if not installation.install():
            return msgspec.structs.replace(facts, damaged=installation.damaged)
        self.runner = installation.runner
        # pytest looks for plugins only for a project's own tests.
        loading = self._environments if self.job.suite.tests else ()
        facts = msgspec.structs.replace(
            facts,
            installed=installed(self._distributions),
            modules=top_modules(self.environment.distributions, self.job.subject),
            startup=tuple(text for each in self._environments for text in each.startup()),
            plugins=tuple(text for each in loading for text in each.plugins()),
            refused=installation.refused,
            misrecorded=tuple(
                f"{w.package or 'no package'}: {w.path}" for w in installation.misrecorded
            ),
        )
        if set(facts.installed) != set(expected):
            return facts
        facts = msgspec.structs.replace(facts, lent=self._lend())
        self._prepare()
        seconds, raised = self._import()
        facts = msgspec.structs.replace(
            facts,
            import_seconds=seconds,
            imported=raised,
            modified_files=self._changed(),
            installed_after=facts.installed,
        )
        is_imported = seconds is not None and raised is None
        if facts.modified_files or not is_imported or not self.job.suite_folder:
            return self._after(facts)
        for each in self._own_environments:
            each.remove_bytecode()
        if self._learn("import.json"):
            self._lend()
            self._settle()
        facts = read_report(self._suite(), facts)
        facts = msgspec.structs.replace(facts, modified_files=self._changed())
        self._learn("events.jsonl")
        return self._after(facts)

    def _after(self, facts: Evidence) -> Evidence:
        left_out = [*facts.left_out, *(("newer", name) for name in self.job.newer)]
        notes = suite_notes(self.job.suite, self.job.suite_folder, left_out)
        lost = "" if facts.imported is None else missing_module(facts.imported).partition(".")[0]
        beside = self.runner.distributions if self.runner is not None and lost else ()
        if package := bringing(beside, lost):
            subject = self.job.subject
            why = f"neither {subject} nor what it needs requires it"
            notes = (f"only the tests bring {package}: {why}", *notes)
        installed_mb = self.environment.installed_mb()
        facts = msgspec.structs.replace(facts, installed_mb=installed_mb, suite_notes=notes)
        if facts.modified_files:
            for each in self._environments:
                each.compare()
            facts = msgspec.structs.replace(facts, installed_after=installed(self._distributions))
        if facts.collected is None:
            return facts
        asked, unasked = self._asked(facts)
        if facts.collect_errors and self._goes_on:
            facts = with_failed_files(facts, asked)
        if facts.collect_errors:
            return facts
        collected = {trial.function for trial in facts.tests}
        missing = asked - collected - {facts.started_test.partition("[")[0]}
        return msgspec.structs.replace(
            facts, uncollected=tuple(sorted(missing)), unasked=tuple(sorted(unasked))
        )

    @property
    def _goes_on(self) -> bool:
        return bool(self.job.suite.tests) and self.job.tier == "full"

    def _asked(self, facts: Evidence) -> tuple[frozenset[str], frozenset[str]]:
        """Read from the suite's own files: the cell's reports are not trusted."""
        if self.job.tier == "full":
            folder = Path(self.job.suite_folder)
            tests = suite_tests(folder, self.job.suite.tests)
            return tests - left_out_tests(
                folder, tests, facts.left_out, self.job.newer
            ), frozenset()
        ids, tests = self._core()
        strange = (t.test for t in facts.tests if (t.capability or t.function) not in ids)
        return tests, frozenset(strange)

    def _core(self) -> tuple[frozenset[str], frozenset[str]]:
        return suite_core(Path(self.job.suite_folder), self.job.suite.core)

    def _prepare(self) -> None:
        # Scripts of pytest's packages start with this cell's interpreter.
        folder = self.cell / "plugin" / "bin"
        folder.mkdir()
        scripts = None if self.runner is None else self.runner.cell / "venv" / "bin"
        for script in sorted(scripts.iterdir()) if scripts and scripts.is_dir() else ():
            content = script.read_bytes()
            if not content.startswith(b"#!"):
                (folder / script.name).symlink_to(script)
                continue
            own = _INTERPRETER.sub(bytes(self.python), content, count=1)
            (folder / script.name).write_bytes(own)
            (folder / script.name).chmod(0o755)
        for source, name in _IN_CELL:
            shutil.copy(Path(incell.__file__).parent / source, self.cell / "plugin" / name)
        if self.job.suite_folder:
            suite = self.cell / "suite"
            shutil.copytree(self.job.suite_folder, suite, ignore=_NOT_COPIED)
            if not (suite / "pytest.ini").exists():
                (suite / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
            if self.job.suite.tests:
                # Tests name files from the top of their project; the suite itself is read-only.
                self.steps.place = shutil.copytree(suite, self.cell / "home" / "project")
        self.steps.writable = own_copies(self.environment.packages, self.job.suite.writes)
        self._settle()

    def _settle(self) -> None:
        self.environment.settle(*_KEPT)
        if self.runner is not None:
            self.runner.settle("venv")

    def _changed(self) -> tuple[str, ...]:
        changed = self.environment.changed(*_KEPT)
        return changed if self.runner is None else (*changed, *self.runner.changed("venv"))

    def _learn(self, report: str) -> bool:
        """No process of the cell is alive now."""
        if self.cancel.is_set():
            return False
        used = read_modules(self.cell, f"home/{report}.modules")
        python = Path(self.bench.python)
        new = (
            self.bytecode.harvest(each.packages, each.distributions, used, python)
            for each in self._own_environments
        )
        return sum(new) > 0

    def _lend(self) -> int:
        begin = time.monotonic()
        lent = sum(
            self.bytecode.lend(each.packages, each.distributions) for each in self._own_environments
        )
        # It is a part of the install.
        step = next(step for step in self.steps.steps if step.name == "install")
        seconds = step.ended.seconds + time.monotonic() - begin
        ended = msgspec.structs.replace(step.ended, seconds=seconds)
        longer = msgspec.structs.replace(step, ended=ended)
        self.steps.steps[self.steps.steps.index(step)] = longer
        return lent

    def _import(self) -> tuple[float | None, Raised | None]:
        out = self.cell / "home" / "import.json"
        probe = self.cell / "plugin" / "probe.py"
        command = [str(self.python), "-I", "-B", str(probe), str(out), self.job.module]
        self.steps.enter("import")
        self.steps.run("import", command, self._variables(), network=False)
        return read_probe(self.cell, "home/import.json")

    def _suite(self) -> bytes:
        # The packages of the suite and of pytest come after those of the library on the path.
        if self.runner is not None:
            self.environment.join(self.runner)
            self.steps.readable = (self.runner.cell,)
        suite = self.cell / "suite"
        variables = self._variables() | {"COMPAT_EVENTS": str(self.cell / EVENTS)}
        if self.job.tier == "smoke":
            variables["COMPAT_CORE"] = "\n".join(sorted(self._core()[0]))
        if self.job.suite.tests:
            subject = canonicalize_name(self.job.subject)
            variables["COMPAT_LEFT_OUT"] = " ".join(n for n in LEFT_OUT if n != subject)
            if "-n" in self.job.suite.arguments:
                variables["COMPAT_PROCESSES"] = "1"
            variables["COMPAT_NEWER"] = "\n".join(self.job.newer)
            if self.bench.level in ("L3", "L2"):
                variables["COMPAT_OFFLINE"] = "1"
            packages = packages_above(suite, self.job.suite.tests)
            variables["COMPAT_PACKAGES"] = "\n".join(
                f"{name}={suite / path}" for name, path in packages.items()
            )
        command = [
            *(str(self.python), str(self.cell / "plugin" / "launch.py"), "-p", "compat_plugin"),
            *("-p", "no:cacheprovider", "-q", "--tb=short"),
            *(["--continue-on-collection-errors"] if self._goes_on else []),
            *("-c", str(suite / "pytest.ini"), f"--rootdir={suite}"),
            *(f"--ignore={suite / name}" for name in self.job.newer if "::" not in name),
            str(suite / self.job.suite.tests),
        ]
        self.steps.enter("suite")
        self.steps.run("suite", command, variables, network=False)
        self.steps.enter("check")
        try:
            events = read_bytes(self.cell, EVENTS, LARGEST)
        except OSError:
            return b""
        (self.steps.evidence / "events.jsonl").write_bytes(events)
        return events

    def _variables(self) -> dict[str, str]:
        home = self.cell / "home"
        base = {
            "PATH": f"{self.cell}/venv/bin:{self.cell}/plugin/bin:/usr/bin:/bin",
            "HOME": str(home),
            "TMPDIR": str(home / "tmp"),
            "LANG": "C.UTF-8",
            # The interpreter would write bytecode beside the sources, which later steps must not
            # trust.
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONFAULTHANDLER": "1",
            "PYTHONHASHSEED": "0",
            "PYTHONNOUSERSITE": "1",
            "PYTHONUNBUFFERED": "1",
        }
        return base | dict(line.split("=", 1) for line in self.job.suite.environment)
