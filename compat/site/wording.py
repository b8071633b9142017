"""The `site` room's wording: how coordinates, places, recipes, dates and causes are said in plain
sentences.
"""

import datetime
from collections.abc import Iterable, Sequence

from packaging.version import Version

from compat.declare.matrix import Matrix
from compat.plan.cell import Cell, Recipe
from compat.run.outcome import Cause, Failed, Outcome, Stage

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
RECIPES: dict[Recipe, tuple[str, str]] = {
    "fresh": ("as published, today", "What does a plain install give a user today?"),
    "dated": ("as published, when it was new", "Did it work when it was new?"),
    "relaxed": ("with pins lifted", "What would work if a pin of the release were lifted?"),
}
_STAGES: dict[Stage, str] = {
    "plan": "It is ruled out before anything runs",
    "lock": "No set of packages satisfies it",
    "install": "The packages do not install",
    "import": "The import fails",
    "collect": "The tests cannot be collected",
    "test": "A test fails",
}
# {0} stands for the subject; a sentence without it is used where the subject is empty.
_CAUSES: dict[Cause, tuple[str, str]] = {
    "requires-python": ("{0} does not admit this Python", "a package does not admit this Python"),
    "no-artifact": ("the package index has no {0}", "the package index lacks a file that it needs"),
    "conflicting-pin": ("the pin on {0} excludes this version", "a pin excludes this version"),
    "yanked": ("{0} was withdrawn from the index", "a release was withdrawn from the index"),
    "excluded": ("the rule {0} excludes it", "a rule excludes it"),
    "no-interpreter": ("the interpreter {0} was not there", "the interpreter was not there"),
    "undated": (
        "the index does not say when {0} came out",
        "the index does not say when a release came out",
    ),
    "conflict": (
        "the requirements on {0} contradict each other",
        "the requirements contradict each other",
    ),
    "hash-mismatch": (
        "the index serves another file for {0} than was locked",
        "a file is not the one that was locked",
    ),
    "build": (
        "{0} has no wheel here and does not build from source",
        "a package does not build from source",
    ),
    "build-tool": (
        "building a package from source fails by {0}",
        "the tools of a source build fail",
    ),
    "source-only": (
        "{0} has no wheel here, and no build of it is allowed",
        "a package has no wheel here, and no build of it is allowed",
    ),
    "unsupported": (
        "{0} does not support this platform",
        "a package does not support this platform",
    ),
    "environment-mismatch": (
        "what got installed is not {0}",
        "what got installed is not what was asked for",
    ),
    "report-mismatch": ("its report contradicts itself: {0}", "its report contradicts itself"),
    "missing-module": ("the module {0} is not there", "a module is not there"),
    "missing-attribute": (
        "{0} is missing: the name was removed or renamed",
        "a name was removed or renamed",
    ),
    "binary-incompatible": (
        "a compiled module was built for another version of {0}",
        "a compiled module was built for another version of a package",
    ),
    "syntax": (
        "the code does not parse on this Python ({0})",
        "the code does not parse on this Python",
    ),
    "type-error": (
        "a call does not fit what it calls, at {0}",
        "a call does not fit what it calls",
    ),
    "version-guard": (
        "{0} refuses the version that it meets",
        "a package refuses the version that it meets",
    ),
    "assertion": ("{0} gives a wrong result", "a result is wrong"),
    "error": ("{0} raises an exception", "an exception is raised"),
    "segfault": (
        "the interpreter crashes (segmentation fault) in {0}",
        "the interpreter crashes (segmentation fault)",
    ),
    "abort": ("the interpreter aborts in {0}", "the interpreter aborts"),
    "illegal-instruction": (
        "{0} uses an instruction that the processor lacks",
        "an instruction is unknown here",
    ),
    "fatal-python": (
        "Python itself stops with a fatal error in {0}",
        "Python itself stops with a fatal error",
    ),
    "premature-exit": ("the process ends by itself in {0}", "the process ends before it should"),
    "no-tests": ("no test ran ({0})", "no test ran"),
    "wall-time": ("{0} takes longer than the limit", "it takes longer than the limit"),
    "silence": ("{0} hangs without a sign of life", "it hangs without a sign of life"),
    "memory": ("the memory limit was reached in {0}", "the memory limit was reached"),
    "disk": ("the disk limit was reached in {0}", "the disk limit was reached"),
    "output": ("{0} prints more than the limit", "it prints more than the limit"),
    "processes": (
        "{0} starts more processes than the limit",
        "it starts more processes than the limit",
    ),
    "network": ("the network failed ({0})", "the network failed"),
    "index": ("the package index failed ({0})", "the package index failed"),
    "sandbox": ("the sandbox failed ({0})", "the sandbox failed"),
    "killed": ("the process was killed in {0}", "the process was killed"),
    "worker": ("the machine was in trouble ({0})", "the machine was in trouble"),
    "cancelled": ("the run was cancelled ({0})", "the run was cancelled"),
    "suite-fault": (
        "the suite or the declaration is at fault ({0})",
        "the suite or the declaration is at fault",
    ),
}


def cause_sentence(outcome: Outcome) -> str:
    """Return what an outcome means, as one sentence."""
    if not isinstance(outcome, Failed):
        return "Every test that applies passes."
    with_subject, alone = _CAUSES[outcome.cause]
    subject = outcome.by or outcome.subject
    why = with_subject.replace("{0}", cut_text(subject)) if subject else alone
    test = f" ({cut_text(outcome.subject)})" if outcome.by and outcome.subject else ""
    place = f", at {cut_text(outcome.at)}" if outcome.at else ""
    return f"{_STAGES[outcome.stage]}{test}: {why}{place}."


def cut_text(text: str, most: int = 160) -> str:
    """Return a text from outside, cut where it is long."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def day(date: datetime.date) -> str:
    """Return a date as readers say it: `3 November 2026`."""
    return f"{date.day} {_MONTHS[date.month - 1]} {date.year}"


def month(date: datetime.date) -> str:
    """Return the name of a date's month."""
    return _MONTHS[date.month - 1]


def seconds(value: float) -> str:
    """Return a duration: `0.4 s`, `31 s`, `4 min`."""
    if value < 9.95:
        return f"{value:.1f} s"
    return f"{value:.0f} s" if value < 119.5 else f"{value / 60:.0f} min"


def count(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: `1 cell`, `12 cells`, `27,132 cells`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(words: Sequence[str], most: int = 6) -> str:
    """Return words as a list in a sentence: `a`, `a and b`, `a, b and 4 more`."""
    shown = list(words[:most])
    if len(words) > most:
        return f"{', '.join(shown)} and {len(words) - most} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def place_words(cell: Cell, matrix: Matrix) -> str:
    """Return the place of a cell in words, the subject first: `demo 1.2 with base 2.1 on Python
    3.9`.
    """
    subject, at = matrix.subject_axis, {one.axis: one.version for one in cell.coordinates}
    others = [f"{axis.package} {at[axis.name]}" for axis in matrix.packages if axis is not subject]
    company = f" with {listed(others)}" if others else ""
    return f"{subject.package} {at[subject.name]}{company} on Python {at[matrix.interpreters.name]}"


def python_of(cell: Cell, matrix: Matrix) -> Version:
    """Return the Python series of a cell."""
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
