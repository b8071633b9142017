"""Evidence -> Outcome. The one place that judges a run; it can judge old evidence again."""

import re
import signal

from compat.lock.refusals import tool_at_fault
from compat.run.evidence import Evidence, Installed, Raised, Step, StepName
from compat.run.outcome import PLACED, Cause, Failed, Outcome, Passed, Stage
from compat.run.signatures import DEATHS, EXCEPTIONS, INSTALL, match_signature
from compat.run.suitefault import (
    failing_helper,
    internal_error,
    lost_in_settings,
    misspelt_module,
    own_fault,
    refused_options,
    undeclared_write,
    without_pytest,
)

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
    """Return what the run came to: the first thing that went wrong, in the order of the stages;
    else it passed.

    A run that was asked for no suite (a canary) passes with its import.
    """
    return (
        _install(evidence)
        or _difference("install", evidence.expected, evidence.installed)
        or _untouched(evidence)
        or _import(evidence)
        or (_suite(evidence) if evidence.suite_digest else None)
        or Passed()
    )


def _suite(evidence: Evidence) -> Failed | None:
    return (
        _suite_end(evidence)
        or _collection(evidence)
        or _report(evidence)
        or _tests(evidence)
        or _difference("test", evidence.installed, evidence.installed_after)
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


def _untouched(evidence: Evidence) -> Failed | None:
    if not evidence.modified_files:
        return None
    stage: Stage = "test" if any(step.name == "suite" for step in evidence.steps) else "import"
    # It decides, however the step ended: the rest rests on it.
    return Failed(
        stage=stage, cause="environment-mismatch", subject=f"wrote to {evidence.modified_files[0]}"
    )


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
    if evidence.imported is not None:
        return (
            misspelt_module(evidence)
            or undeclared_write("import", evidence.imported)
            or _raised("import", evidence.imported, "")
        )
    return None


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
    if evidence.collected is None and (
        fault := without_pytest(evidence) or refused_options(evidence) or lost_in_settings(evidence)
    ):
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
    """What pytest, its exit code, its events and the suite's files say must agree.

    Code of the cell can write events, or end the process in its own way. Evidence from before 22
    November 2026 has no exit code of pytest.
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
    if (fault := failing_helper(evidence)) or not failed:
        return fault
    first, name = failed[0], failed[0].capability or failed[0].test
    if first.raised is None:
        return Failed(stage="test", cause="error", subject=name)
    return _raised("test", first.raised, name)


def _raised(stage: Stage, raised: Raised, name: str) -> Failed:
    suite_place, raised = raised.where, raised.origin
    cause, blamed = match_signature(EXCEPTIONS, f"{raised.type}: {raised.message}") or ("error", "")
    where = raised.where or suite_place
    # A path that lies below no package is a path of this machine: equal failures have equal places.
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
    """Be it the machine or the cell itself: nobody can tell which."""
    if _signal(step) not in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        return None
    return Failed(stage=stage, cause="killed", subject=subject)


def _signal(step: Step) -> int | None:
    """The signal that ended a process; a shell's exit code of 128 and more tells of one, too."""
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
    """The step, if it ended by itself; else the failure of one that never began, or that we
    ended: where it waited for a process that had crashed, by that crash.
    """
    step = next((step for step in evidence.steps if step.name == name), None)
    if step is None:
        return Failed(stage=stage, cause="worker", subject=f"the {name} step never began")
    if step.ended.by == "exit":
        return step
    dead = step.ended.dead_child
    if dead is not None:
        return Failed(stage=stage, cause=_SIGNALS[dead.signal], subject=subject, by=dead.program)
    return Failed(stage=stage, cause=step.ended.by, subject=subject)
