"""The `site` room's wording: versions, recipes, dates, causes and the facts of a lock."""

import datetime
import re
from collections.abc import Callable, Iterable, Sequence

from packaging.version import Version

from compat.advise.commands import platform_words
from compat.declare.matrix import Matrix
from compat.errors import count as count
from compat.errors import listed as listed
from compat.lock.lockfile import Lock
from compat.plan.cell import Cell, Recipe
from compat.results.answer import EXCUSED, Answer, Blame
from compat.results.record import INSTALLED, Record
from compat.results.runs import Ran
from compat.run.outcome import Cause, Failed, Outcome, Stage
from compat.value import Value

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
RECIPE_WORDS: dict[Recipe, str] = {
    "fresh": "as published, today",
    "dated": "as published, when it was new",
    "relaxed": "with changed dependency pins",
    "lowest": "with the lowest declared versions, today",
    "prerelease": "with a pre-release, today",
}
UNCHANGED_WORDS = "as published: no dependency pin had to change"
_STAGES: dict[Stage, str] = {
    "plan": "It is ruled out before anything runs",
    "lock": "No set of packages satisfies it",
    "install": "The packages do not install",
    "import": "The import fails",
    "collect": "The tests cannot be collected",
    "test": "A test fails",
}
_FAULTS: dict[Blame, str] = {
    "combination": "fails in this combination",
    "unexplained": "fails in this combination; the cause is not known yet",
    "release": "fails in every combination of this release",
    "index": "not available today: the package index no longer has what it needs",
}
# A date in a sentence; what is a part of a name, a version or a path is none.
_ISO_DATE = re.compile(r"(?<![\w./+-])\d{4}-\d\d-\d\d(?![\w/+-]|\.\w)")
_FOLDERS = re.compile(r"(?:[\w.-]+/)+(?=[\w.-]+/[\w.-]+:\d)")
# {0} stands for the subject. The second form needs none: it is used where the subject is empty, and
# in brackets after a named subject.
_CAUSES: dict[Cause, tuple[str, str]] = {
    "requires-python": ("{0} does not admit this Python", "Python version not supported"),
    "no-artifact": ("the package index has no {0}", "no matching file on the package index"),
    "conflicting-pin": ("the pin on {0} excludes this version", "conflicting pin"),
    "yanked": ("{0} was withdrawn from the index", "yanked release"),
    "excluded": ("the rule {0} excludes it", "excluded by a rule"),
    "no-interpreter": ("the interpreter {0} was missing", "missing interpreter"),
    "undated": ("the index does not say when {0} came out", "unknown release date"),
    "conflict": ("the requirements on {0} contradict each other", "conflicting requirements"),
    "hash-mismatch": ("the index serves another file for {0} than was locked", "hash mismatch"),
    "build": ("{0} has no wheel here and does not build from source", "build from source failed"),
    "build-tool": ("building a package from source fails by {0}", "build tool failed"),
    "source-only": (
        "{0} has no wheel here, and no build of it is allowed",
        "no wheel, and no build allowed",
    ),
    "unsupported": ("{0} does not support this platform", "platform not supported"),
    "environment-mismatch": ("the installed version is not {0}", "wrong versions installed"),
    "report-mismatch": ("its report contradicts itself: {0}", "contradictory report"),
    "missing-module": ("the module {0} is missing", "missing module"),
    "missing-attribute": (
        "{0} is missing: it was removed, renamed, or not added yet",
        "missing name",
    ),
    "binary-incompatible": (
        "a compiled module was built for another version of {0}",
        "binary incompatibility",
    ),
    "syntax": ("the code does not parse on this Python ({0})", "syntax error on this Python"),
    "type-error": ("{0} raises TypeError: wrong arguments", "TypeError: wrong arguments"),
    "version-guard": (
        "a version check rejects the installed version ({0})",
        "version rejected by a package",
    ),
    "assertion": ("{0} gives a wrong result", "wrong result"),
    "error": ("{0} raises an exception", "exception"),
    "segfault": ("the interpreter crashes (segmentation fault) in {0}", "segmentation fault"),
    "abort": ("the interpreter aborts in {0}", "interpreter aborted"),
    "illegal-instruction": (
        "{0} uses an instruction that the processor lacks",
        "illegal instruction",
    ),
    "fatal-python": ("Python itself stops with a fatal error in {0}", "fatal error of Python"),
    "premature-exit": ("the process ends by itself in {0}", "process ended early"),
    "no-tests": ("no test ran ({0})", "no test ran"),
    "test-runner": ("the test runner does not start here ({0})", "test runner does not start"),
    "wall-time": ("{0} takes longer than the limit", "time limit reached"),
    "silence": ("{0} hangs without output", "hung without output"),
    "memory": ("the memory limit was reached in {0}", "memory limit reached"),
    "disk": ("the disk limit was reached in {0}", "disk limit reached"),
    "output": ("{0} prints more than the limit", "output limit reached"),
    "processes": ("{0} starts more processes than the limit", "process limit reached"),
    "network": ("the network failed ({0})", "network failure"),
    "index": ("the package index failed ({0})", "package index failure"),
    "cache": ("the cached files of {0} differ from the index", "damaged package cache"),
    "sandbox": ("the sandbox failed ({0})", "sandbox failure"),
    "killed": ("the process was killed in {0}", "process killed"),
    "worker": ("the machine failed ({0})", "machine failure"),
    "cancelled": ("the run was cancelled ({0})", "run cancelled"),
    "suite-fault": (
        "the suite or the declaration is at fault ({0})",
        "fault in the suite or the declaration",
    ),
}
# What a record says where no test ran.
_NO_TESTS = {
    "no report": "pytest ended before it collected any",
    "none collected": "pytest collected none",
    "none ran": "all were skipped",
}


def cause_sentence(outcome: Outcome) -> str:
    if not isinstance(outcome, Failed):
        return "Every test that applies passes."
    test = f" ({cut_text(outcome.subject)})" if outcome.by and outcome.subject else ""
    place = f", at {cut_text(outcome.at)}" if outcome.at else ""
    return f"{_STAGES[outcome.stage]}{test}: {reason_words(outcome)}{place}."


def without_path(sentence: str) -> str:
    """Return a sentence about a cause as a heading: without its place, and of a path its end."""
    heading, _, place = sentence.partition(", at ")
    return _FOLDERS.sub("", f"{heading}." if place else heading)


def reason_words(outcome: Failed) -> str:
    with_subject, alone = _CAUSES[outcome.cause]
    subject = outcome.by or _NO_TESTS.get(outcome.subject, outcome.subject)
    return with_subject.replace("{0}", cut_text(subject)) if subject else alone


def cause_words(cause: str) -> str:
    """Return a cause in a few words: `wrong result`; one that is not ours as it is."""
    return next((words for known, (_, words) in _CAUSES.items() if known == cause), cause)


def fault_words(fault: Blame) -> str:
    return _FAULTS[fault]


def failing_words(verdict: Answer, title: Callable[[str], str]) -> tuple[str, ...]:
    """Return what does not work in a cell, what fails by the combination first: `FedProx (wrong
    result)`. `title` gives what the suite calls a capability, by its id.
    """
    excused = verdict.failing(*EXCUSED)
    failing = (capability for capability in verdict.capabilities if capability.status == "no")
    return tuple(
        f"{title(capability.id)} ({cause_words(capability.cause)})"
        if capability.cause
        else title(capability.id)
        for capability in sorted(failing, key=lambda c: (c.id in excused, c.id))
    )


def plain_dates(text: str) -> str:
    """Return a sentence of data as pages have it, with `2026-11-03` as `3 November 2026`."""
    return _ISO_DATE.sub(_plain_date, text)


def _plain_date(match: re.Match[str]) -> str:
    try:
        return day(datetime.date.fromisoformat(match[0]))
    except ValueError:
        return match[0]


def cut_text(text: str, most: int = 160) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def day(date: datetime.date) -> str:
    return f"{date.day} {_MONTHS[date.month - 1]} {date.year}"


def seconds(value: float) -> str:
    if value < 9.95:
        return f"{value:.1f} s"
    return f"{value:.0f} s" if value < 119.5 else f"{value / 60:.0f} min"


def combination_words(cell: Cell, matrix: Matrix) -> str:
    versions = {coordinate.axis: coordinate.label for coordinate in cell.coordinates}
    own = matrix.subject_axis
    ordered = (own, *(axis for axis in matrix.packages if axis is not own))
    subject, *others = [f"{axis.package} {versions[axis.name]}" for axis in ordered]
    company = f" with {listed(others)}" if others else ""
    return f"{subject}{company} on Python {versions[matrix.interpreters.name]}"


def checkout_words(name: str, known: Iterable[Answer]) -> str:
    """Say which checkout the row HEAD is, by the name of its records."""
    commit, _, digest = name.partition("-")
    what = f"commit {commit}{', with changes that are not committed' if digest else ''}"
    what = "a checkout without a commit" if commit == "wheel" else what
    last = max((answer.newest for answer in known if answer.newest is not None), default=None)
    return f"HEAD is {what}{f', tested on {day(last)}' if last else ''}."


def python_of(cell: Cell, matrix: Matrix) -> Version:
    return cell.on(matrix.interpreters.name).version


def ranges(chosen: Iterable[str], every: Sequence[str]) -> str:
    """Return labels as ranges of neighbours among all: `2.8 to 2.11, 2.14`; empty when none is
    chosen.
    """
    wanted, runs = set(chosen), list[list[str]]()
    for place, label in enumerate(every):
        if label not in wanted:
            continue
        if runs and place and runs[-1][-1] == every[place - 1]:
            runs[-1].append(label)
        else:
            runs.append([label])
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)


# The facts about installing a lock: where it installs, how much, how long, as its newest run
# measured it. Pages, data and the command line say them in the same words.


class LockFacts(Value, frozen=True, kw_only=True):
    """What is known of installing a lock; None for what no run of these files measured.

    `install_seconds` are those of the newest run, which takes part of the files from a cache.
    `installed_mb` is what the files of the environment take, in MiB. How much is downloaded is
    measured nowhere: package indexes need not state the sizes of files (PEP 700), and a run does
    not ask.
    """

    platform: str
    packages: int
    install_seconds: float | None
    installed_mb: float | None

    @property
    def words(self) -> tuple[str, ...]:
        known = [self.platform, f"{count(self.packages, 'package')}, each checked by its hash"]
        unknown = ["size of the download"]
        if self.installed_mb is None:
            unknown.insert(0, "size on disk")
        else:
            # As disks are sold and measured: of a million bytes each.
            megabytes = self.installed_mb * 2**20 / 1e6
            digits = 0 if megabytes >= 9.95 else 1
            is_small = megabytes < 999.5
            size = f"{megabytes:.{digits}f} MB" if is_small else f"{megabytes / 1e3:.1f} GB"
            known.append(f"{size} on disk")
        if self.install_seconds is None:
            unknown.insert(0, "time")
        else:
            spent = seconds(self.install_seconds)
            known.append(f"installed in {spent} by our newest run, files partly cached")
        return (*known, f"not measured: {listed(unknown)}")


def lock_facts(lock: Lock, runs: Sequence[Ran], records: Iterable[Record]) -> LockFacts:
    """Return what is known of a lock; `runs` are those of its cell, oldest first, `records` those
    on it, newest first, of which no more are taken than it needs.
    """
    digest = lock.digest
    on_lock = (run for run in reversed(runs) if run.lock_digest == digest)
    metrics = (metric for run in on_lock for metric in run.metrics)
    size = next((metric.value for metric in metrics if metric.name == INSTALLED), None)
    every = (record.step_seconds.install for record in records)
    spent = next((seconds_spent for seconds_spent in every if seconds_spent is not None), None)
    return LockFacts(
        platform=platform_words(lock.inputs),
        packages=len(lock.library_pins),
        install_seconds=spent,
        installed_mb=size,
    )
