"""Classifies Evidence as an Outcome. This is the only module that judges a run, and it can judge
stored evidence again. A suite's own fault is reported with its remedy, never as the library's.
"""

import re
import signal

from packaging.utils import canonicalize_name

from compat.lock.resolvers import tool_at_fault
from compat.run.evidence import Evidence, Installed, Raised, Step, StepName
from compat.run.outcome import (
    DEATHS,
    EXCEPTIONS,
    INSTALL,
    PLACED,
    Cause,
    Failed,
    Outcome,
    Passed,
    Stage,
    match_signature,
)

# pytest exits with this code when its options or settings are invalid:
# https://docs.pytest.org/en/stable/reference/exit-codes.html
_USAGE_ERROR = 4
_OF_FILES = ("Failed", "UsageError", "CollectError", "FileNotFoundError")
_NO_MODULE = re.compile(r"No module named '([^']+)'")
# The environment is mounted read-only at L3; errno 30 is EROFS.
_READ_ONLY = re.compile(r"\[Errno 30\] .*'[^']*/site-packages/(?P<folder>[^']+)/[^'/]+'$")
# Where pytest resolves the warnings in settings, and what it raises for an unknown module.
_IN_FILTERS = "in _resolve_warning_category"
_NO_SUCH_MODULE = re.compile(r"^ModuleNotFoundError: No module named '([^'.]+)'$", re.MULTILINE)
_LOST = re.compile(r"add what brings the modules? (?P<names>.+) to suite\.requirements")
_REFUSED = re.compile(r"(?:error|ERROR): (?!usage:)(?:\S*/)?(?P<why>[^\n]{1,200})")


def undeclared_write(stage: Stage, raised: Raised) -> Failed | None:
    refused = None if raised.of_suite else _READ_ONLY.search(raised.message)
    if refused is None:
        return None
    remedy = f'add "{refused["folder"]}" to suite.writes: the library writes there'
    return _fault(stage, remedy, "matrix.toml")


def _before_session(evidence: Evidence, step: Step) -> Failed | None:
    """The suite's fault that ended pytest before a session began."""
    has_pytest = any(item.name == "pytest" for item in evidence.installed)
    if not has_pytest and "No module named pytest" in step.log:
        return _fault("collect", "add pytest to suite.requirements", "matrix.toml")
    if step.ended.exit_code == _USAGE_ERROR and not evidence.collect_errors:
        refused = _REFUSED.search(step.log)
        why = refused["why"].strip() if refused else "it refuses how it is called"
        return _fault("collect", f"correct pytest's arguments or settings: {why}", "pytest.ini")
    # Settings may name a warning of a module that is not installed.
    lost = _NO_SUCH_MODULE.search(step.log) if _IN_FILTERS in step.log else None
    if lost is None or _is_brought(evidence, lost[1]):
        return None
    remedy = f"add what brings the module {lost[1]} to suite.requirements"
    return _fault("collect", f"{remedy}, as filterwarnings names it", "pytest.ini")


def own_fault(stage: Stage, evidence: Evidence, raised: Raised) -> Failed | None:
    """Return the fault of the suite's own code: a syntax error, or an import that nothing provides.

    A missing module of the subject, a coordinate or an installed package is the library's fault:
    this version lacks it.
    """
    if not raised.of_suite:
        return None
    # pytest's own errors for a file that it collects, such as an unregistered mark, and errors that
    # the file raises itself.
    if (raised.is_own or raised.type in _OF_FILES) and (stage == "collect" or raised.file):
        return _fault(stage, f"mend the tests: {raised.message}", raised.where)
    if raised.type in ("SyntaxError", "IndentationError", "TabError"):
        return _fault(stage, "mend the file: it does not parse on this Python", raised.where)
    every = (raised, *evidence.collect_errors, *(t.raised for t in evidence.tests if t.raised))
    lost = dict.fromkeys(name for each in every if (name := _lost(evidence, each)))
    if not _lost(evidence, raised):
        return None
    *others, last = lost
    words = f"modules {', '.join(others)} and {last}" if others else f"module {last}"
    return _fault(stage, f"add what brings the {words} to suite.requirements", raised.where)


def lost_modules(outcome: Outcome) -> tuple[str, ...]:
    words = _LOST.search(outcome.subject) if isinstance(outcome, Failed) else None
    return tuple(re.split(r", | and ", words["names"])) if words else ()


def missing_in(text: str) -> list[str]:
    return [name.partition(".")[0] for name in _NO_MODULE.findall(text)]


def internal_error(evidence: Evidence) -> Failed | None:
    """Return a crash of pytest, unless the subject raised it: then a plain run crashes, too."""
    raised = evidence.internal_error
    if raised is None or raised.where.partition("/")[0] in evidence.modules:
        return None
    where = evidence.started_test or "a test"
    remedy = (
        f"mend {where}: pytest itself ends in it (INTERNALERROR, {raised.type}: {raised.message})"
    )
    return _fault("test", remedy, raised.where)


def _is_brought(evidence: Evidence, module: str) -> bool:
    packages = {evidence.subject, evidence.module.partition(".")[0], *evidence.modules}
    packages |= {item.name for item in (*evidence.expected, *evidence.installed)}
    return canonicalize_name(module) in map(canonicalize_name, packages)


def _lost(evidence: Evidence, raised: Raised) -> str:
    missing = missing_module(raised) if raised.of_suite else ""
    return "" if "." in missing or not missing or _is_brought(evidence, missing) else missing


def missing_module(raised: Raised) -> str:
    match = _NO_MODULE.match(raised.message) if raised.type == "ModuleNotFoundError" else None
    return "" if match is None else match[1]


def _fault(stage: Stage, remedy: str, place: str) -> Failed:
    return Failed(stage=stage, cause="suite-fault", subject=remedy, at=place)


_SIGNALS: dict[int, Cause] = {
    signal.SIGSEGV: "segfault",
    signal.SIGBUS: "segfault",
    signal.SIGABRT: "abort",
    signal.SIGILL: "illegal-instruction",
}
_OUR_PLUGIN = re.compile(
    r"INTERNALERROR> .*?(?P<at>compat_(?:plugin|raised)\.py)(?:[\",:]|$)", re.MULTILINE
)


def classify(evidence: Evidence) -> Outcome:
    """The first failure in the order of the stages. Without a suite (a canary) an import passes."""
    fault = _install(evidence) or _difference("install", evidence.expected, evidence.installed)
    if fault is None and evidence.modified_files:
        # This check comes first, whatever the step's exit: the rest depends on it.
        is_suite = any(step.name == "suite" for step in evidence.steps)
        subject = f"wrote to {evidence.modified_files[0]}"
        stage: Stage = "test" if is_suite else "import"
        return Failed(stage=stage, cause="environment-mismatch", subject=subject)
    fault = fault or _import(evidence)
    if fault or not evidence.suite_digest:
        return fault or Passed()
    return (
        _suite_end(evidence)
        or _collection(evidence)
        or _report(evidence)
        or _tests(evidence)
        or _difference("test", evidence.installed, evidence.installed_after)
        or Passed()
    )


def _install(evidence: Evidence) -> Failed | None:
    step = _ended(evidence, "install", "install")
    if isinstance(step, Failed):
        return step
    if evidence.damaged:
        return Failed(stage="install", cause="cache", subject=evidence.damaged[0])
    if step.ended.exit_code == 0:
        return None
    if (killed := _killed("install", step, "")) is not None:
        return killed
    cause, subject = match_signature(INSTALL, step.log) or ("error", "")
    tool = tool_at_fault(step.log) if cause == "build" else ""
    if tool:
        return Failed(stage="install", cause="build-tool", subject=subject, by=tool)
    return Failed(stage="install", cause=cause, subject=subject)


def _import(evidence: Evidence) -> Failed | None:
    step = _ended(evidence, "import", "import")
    if isinstance(step, Failed):
        return step
    if evidence.import_seconds is None or step.ended.signal is not None:
        return _death("import", step, "")
    expected = 0 if evidence.imported is None else 1
    if step.ended.exit_code != expected:
        word = "worked" if evidence.imported is None else "failed"
        subject = f"the probe says that the import {word} but exits with {step.ended.exit_code}"
        return Failed(stage="import", cause="report-mismatch", subject=subject)
    raised, name = evidence.imported, evidence.module.partition(".")[0]
    if raised is None:
        return None
    lacking = "" if raised.where else missing_module(raised).partition(".")[0]
    if name and lacking == name and evidence.modules and name not in evidence.modules:
        has = ", ".join(evidence.modules[:5])
        remedy = f"set suite.module: {evidence.subject} has no module {name}, it has {has}"
        return _fault("import", remedy, "matrix.toml")
    return undeclared_write("import", raised) or _raised("import", raised, "")


def _suite_end(evidence: Evidence) -> Failed | None:
    stage: Stage = "collect" if evidence.collected is None else "test"
    step = _ended(evidence, "suite", stage, evidence.started_test)
    if isinstance(step, Failed):
        return step
    broken = _OUR_PLUGIN.search(step.log) if step.ended.exit_code not in (0, 1) else None
    if broken is not None:
        versions = (item.version for item in evidence.installed if item.name == "pytest")
        what = f"pytest {next(versions, '')}".strip()
        return Failed(stage="collect", cause="test-runner", subject=what, at=broken["at"])
    if (fault := internal_error(evidence)) is not None:
        return fault
    if evidence.collected is None and (fault := _before_session(evidence, step)):
        return fault
    if evidence.finished or evidence.collect_errors:
        return None
    if evidence.collected is None and step.ended.exit_code is not None:
        if match_signature(DEATHS, step.log) or _killed(stage, step, ""):
            return _death(stage, step, "")
        return Failed(stage="collect", cause="no-tests", subject="no report")
    return _death(stage, step, evidence.started_test)


def _collection(evidence: Evidence) -> Failed | None:
    if evidence.collect_errors:
        first = evidence.collect_errors[0]
        if first.of_runner and evidence.collected is None:
            met = _raised("collect", first, "")
            what = met.thing or first.type
            return Failed(stage="collect", cause="test-runner", subject=what, at=met.place)
        return own_fault("collect", evidence, first) or _raised("collect", first, "")
    if not evidence.collected:
        return Failed(stage="collect", cause="no-tests", subject="none collected")
    if not any(test.status in ("passed", "failed") for test in evidence.tests):
        return Failed(stage="collect", cause="no-tests", subject="none ran")
    if len({test.test for test in evidence.tests}) < evidence.collected:
        return Failed(stage="test", cause="premature-exit", subject="some tests never ran")
    return None


def _report(evidence: Evidence) -> Failed | None:
    """Code of the cell can write events or exit in its own way: all must agree.

    Evidence from before 22 November 2026 has no exit code of pytest.
    """
    step = _ended(evidence, "suite", "test")
    if isinstance(step, Failed) or evidence.pytest_exit is None:
        return step if isinstance(step, Failed) else None
    code, failed = step.ended.exit_code, any(test.status == "failed" for test in evidence.tests)
    if step.ended.signal is not None:
        return _death("test", step, "after the last test")
    fault = evidence.report_fault
    if fault:
        pass
    elif code != evidence.pytest_exit:
        fault = f"pytest says exit code {evidence.pytest_exit} but exits with {code}"
    elif failed is not (code == 1):
        fault = f"exit code {code} with {'a' if failed else 'no'} failed test"
    elif len(evidence.tests) != evidence.collected:
        fault = "another number of tests ended than were collected"
    elif evidence.uncollected:
        fault = f"{evidence.uncollected[0]} was not collected"
    elif evidence.unasked:
        fault = f"{evidence.unasked[0]} ran and is not of the core"
    return Failed(stage="test", cause="report-mismatch", subject=fault) if fault else None


def _tests(evidence: Evidence) -> Failed | None:
    failed = [test for test in evidence.tests if test.status == "failed"]
    for test in failed:
        if test.raised is None:
            continue
        fault = own_fault("test", evidence, test.raised) or undeclared_write("test", test.raised)
        if fault is not None:
            return fault
    for test in failed:
        if test.helper:
            remedy = f"mend the suite's own helper: {test.capability or test.test} fails"
            return _fault("test", remedy, "" if test.raised is None else test.raised.where)
    if not failed:
        return None
    first, name = failed[0], failed[0].capability or failed[0].test
    if first.raised is None:
        return Failed(stage="test", cause="error", subject=name)
    return _raised("test", first.raised, name)


def _raised(stage: Stage, raised: Raised, name: str) -> Failed:
    suite_place, raised = raised.where, raised.origin
    cause, blamed = match_signature(EXCEPTIONS, f"{raised.type}: {raised.message}") or ("error", "")
    where = raised.where or suite_place
    # A path outside any package belongs to this machine; equal failures need equal places.
    place = where.rpartition("/")[2] if where.startswith("/") else where
    if name:
        return Failed(stage=stage, cause=cause, subject=name, by=blamed, at=place)
    if cause in PLACED and place:
        return Failed(stage=stage, cause=cause, subject=place)
    return Failed(stage=stage, cause=cause, subject=blamed or raised.type, at=place)


def _death(stage: Stage, step: Step, subject: str) -> Failed:
    number = _signal(step)
    if number in _SIGNALS:
        return Failed(stage=stage, cause=_SIGNALS[number], subject=subject)
    if (killed := _killed(stage, step, subject)) is not None:
        return killed
    signature = match_signature(DEATHS, step.log)
    if signature is not None:
        return Failed(stage=stage, cause=signature[0], subject=subject or signature[1])
    return Failed(stage=stage, cause="premature-exit", subject=subject)


def _killed(stage: Stage, step: Step, subject: str) -> Failed | None:
    """Killed by the machine or by the cell itself: the two cannot be distinguished."""
    if _signal(step) not in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        return None
    return Failed(stage=stage, cause="killed", subject=subject)


def _signal(step: Step) -> int | None:
    """The signal that ended a process; a shell's exit code of 128 and more encodes one, too."""
    code, number = step.ended.exit_code, step.ended.signal
    return code - 128 if number is None and code is not None and code > 128 else number


def _difference(
    stage: Stage, expected: tuple[Installed, ...], installeds: tuple[Installed, ...]
) -> Failed | None:
    if set(expected) == set(installeds):
        return None
    before = {item.name: item.version for item in expected}
    after = {item.name: item.version for item in installeds}
    names = sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))
    each = (f"{n} {before.get(n, 'none')} -> {after.get(n, 'none')}" for n in names[:3])
    changes = ", ".join(each)
    return Failed(stage=stage, cause="environment-mismatch", subject=changes)


def _ended(evidence: Evidence, name: StepName, stage: Stage, subject: str = "") -> Step | Failed:
    """The step, or the failure that ended it: of a crashed child, if it waited for one."""
    step = next((step for step in evidence.steps if step.name == name), None)
    if step is None:
        return Failed(stage=stage, cause="worker", subject=f"the {name} step never began")
    if step.ended.by == "exit":
        return step
    dead = step.ended.dead_child
    if dead is not None:
        return Failed(stage=stage, cause=_SIGNALS[dead.signal], subject=subject, by=dead.program)
    return Failed(stage=stage, cause=step.ended.by, subject=subject)
