"""Evidence -> whether the suite or its declaration is at fault, and the remedy; never the
library.
"""

import re
from collections.abc import Iterable

from packaging.utils import canonicalize_name

from compat.run.evidence import Evidence, Raised
from compat.run.outcome import Failed, Outcome, Stage

# pytest ends with it when its options or its file of settings cannot be taken:
# https://docs.pytest.org/en/stable/reference/exit-codes.html
_USAGE_ERROR = 4
_OF_FILES = ("Failed", "UsageError", "CollectError", "FileNotFoundError")
_NO_MODULE = re.compile(r"No module named '([^']+)'")
# The environment is mounted read-only at L3, errno 30 is EROFS.
_READ_ONLY = re.compile(r"\[Errno 30\] .*'[^']*/site-packages/(?P<folder>[^']+)/[^'/]+'$")
# Where pytest resolves the warnings that settings name, and what it raises for one of no module.
_IN_FILTERS = "in _resolve_warning_category"
_NO_SUCH_MODULE = re.compile(r"^ModuleNotFoundError: No module named '([^'.]+)'$", re.MULTILINE)
_LOST = re.compile(r"add what brings the modules? (?P<names>.+) to suite\.requirements")
_REFUSED = re.compile(r"(?:error|ERROR): (?!usage:)(?:\S*/)?(?P<why>[^\n]{1,200})")


def misspelt_module(evidence: Evidence) -> Failed | None:
    """Return the fault of a `suite.module` that the subject's distribution does not have, though it
    has others.
    """
    raised, name = evidence.imported, evidence.module.partition(".")[0]
    missing = "" if raised is None or raised.where else missing_module(raised)
    if not name or missing.partition(".")[0] != name:
        return None
    if not evidence.modules or name in evidence.modules:
        return None
    has = ", ".join(evidence.modules[:5])
    return _fault(
        "import",
        f"set suite.module: {evidence.subject} has no module {name}, it has {has}",
        "matrix.toml",
    )


def undeclared_write(stage: Stage, raised: Raised) -> Failed | None:
    refused = None if raised.of_suite else _READ_ONLY.search(raised.message)
    if refused is None:
        return None
    remedy = f'add "{refused["folder"]}" to suite.writes: the library writes there'
    return _fault(stage, remedy, "matrix.toml")


def without_pytest(evidence: Evidence) -> Failed | None:
    has_pytest = any(item.name == "pytest" for item in evidence.installed)
    if has_pytest or "No module named pytest" not in _suite_log(evidence):
        return None
    return _fault("collect", "add pytest to suite.requirements", "matrix.toml")


def refused_options(evidence: Evidence) -> Failed | None:
    step = next((step for step in evidence.steps if step.name == "suite"), None)
    if step is None or step.ended.exit_code != _USAGE_ERROR or evidence.collect_errors:
        return None
    refused = _REFUSED.search(step.log)
    why = refused["why"].strip() if refused else "it refuses how it is called"
    return _fault("collect", f"mend what pytest is told: {why}", "pytest.ini")


def lost_in_settings(evidence: Evidence) -> Failed | None:
    """Return the fault of settings of pytest that name a warning of a module which nothing here
    brings, so that pytest ends before a session begins.
    """
    log = _suite_log(evidence)
    lost = _NO_SUCH_MODULE.search(log) if _IN_FILTERS in log else None
    if lost is None or _is_brought(evidence, lost[1]):
        return None
    remedy = f"add what brings the module {lost[1]} to suite.requirements"
    return _fault("collect", f"{remedy}, as filterwarnings names it", "pytest.ini")


def own_fault(stage: Stage, evidence: Evidence, raised: Raised) -> Failed | None:
    """Return the fault of the suite's own code: it does not parse, or imports what nothing here
    brings.

    A module of the subject, of a coordinate or of anything installed is the library's: this version
    lacks it.
    """
    if not raised.of_suite:
        return None
    # What pytest itself says of a file that it collects, such as of a mark that nothing registers,
    # and what the file says itself, or does not find beside itself.
    if (raised.is_own or raised.type in _OF_FILES) and (stage == "collect" or raised.file):
        return _fault(stage, f"mend the tests: {raised.message}", raised.where)
    if raised.type in ("SyntaxError", "IndentationError", "TabError"):
        return _fault(stage, "mend the file: it does not parse on this Python", raised.where)
    every = (raised, *evidence.collect_errors, *(t.raised for t in evidence.tests if t.raised))
    lost = [name for each in every if (name := _lost(evidence, each))]
    if not _lost(evidence, raised):
        return None
    return _fault(
        stage, f"add what brings the {modules_words(lost)} to suite.requirements", raised.where
    )


def lost_modules(outcome: Outcome) -> tuple[str, ...]:
    words = _LOST.search(outcome.subject) if isinstance(outcome, Failed) else None
    return tuple(re.split(r", | and ", words["names"])) if words else ()


def missing_in(text: str) -> list[str]:
    return [name.partition(".")[0] for name in _NO_MODULE.findall(text)]


def modules_words(names: Iterable[str]) -> str:
    *others, last = dict.fromkeys(names)
    return f"modules {', '.join(others)} and {last}" if others else f"module {last}"


def internal_error(evidence: Evidence) -> Failed | None:
    """Return the fault of tests in which pytest itself ends, unless code of the subject raised it:
    a plain run ends there, too.
    """
    raised = evidence.internal_error
    if raised is None or raised.where.partition("/")[0] in evidence.modules:
        return None
    where = evidence.started_test or "a test"
    remedy = (
        f"mend {where}: pytest itself ends in it (INTERNALERROR, {raised.type}: {raised.message})"
    )
    return _fault("test", remedy, raised.where)


def failing_helper(evidence: Evidence) -> Failed | None:
    for test in evidence.tests:
        if test.helper and test.status == "failed":
            name = test.capability or test.test
            place = "" if test.raised is None else test.raised.where
            return _fault("test", f"mend the suite's own helper: {name} fails", place)
    return None


def _suite_log(evidence: Evidence) -> str:
    return next((step.log for step in evidence.steps if step.name == "suite"), "")


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
