"""The command that says what is wrong with an environment: doctor."""

import os
import re
import stat
import sys
from pathlib import Path
from shlex import quote
from typing import Any

from packaging.version import Version

from compat.advise.commands import Whereabouts, commands
from compat.advise.diagnosis import Diagnosis, diagnosis, touches
from compat.advise.doctor.facts import MOST_READ, PYTHON
from compat.advise.doctor.infer import Finding
from compat.advise.message import Message, read_message
from compat.advise.package_list import MOST_CHARACTERS, PackageList, listed_versions, read_list
from compat.advise.problem import KnownFacts, Problem, files_of_known
from compat.advise.request import label
from compat.advise.tested_set import DifferingPin
from compat.cli.arguments import Exit, argument, given, option
from compat.cli.environment import environment_beside, own_packages, packages_of, with_python
from compat.cli.installs import known_elsewhere, say_elsewhere
from compat.cli.options import (
    OTHER_PLATFORM,
    matrices_folder,
    matrix_names,
    workspace_of,
)
from compat.cli.output import envelope, note, say
from compat.declare.matrix import InterpreterAxis
from compat.declare.platforms import PlatformName
from compat.errors import UsageError, reason
from compat.results.answer import Answer, verdict_clause
from compat.results.learnt import kept_blames
from compat.site.wording import cause_sentence, count
from compat.workspace import Workspace

# So many lines of each kind fit on a screen.
_PROBLEMS, _DIFFERENCES, _NOTES = 4, 6, 3
# More pins than this are no line that people paste; then a new environment is the smaller change.
_MOST_PINS = 8


class _Asked:
    """What the user has: a list of packages, a message, or both, and how packages are installed.
    `read` is what the doctor finds in it without any matrix.
    """

    def __init__(
        self, packages: PackageList, text: str, python: Version | None, installer: str
    ) -> None:
        self.packages, self.installer = packages, installer
        self.read = read_message(
            text, python or packages.python, packages.versions, packages.ranges
        )
        self.message: Message | None = self.read if text.strip() else None


def doctor_command(
    matrix: str = argument(
        "A folder of matrices/; else each whose subject is there.", metavar="[MATRIX]"
    ),
    python: str = option(
        "Another interpreter or virtual environment; beside --freeze or --message also a "
        "version such as 3.9.",
        metavar="PATH",
    ),
    freeze: str = option(
        "A list instead: pip freeze, pip list, requirements, a lock of uv or poetry; - is "
        "the standard input.",
        metavar="FILE",
    ),
    message: str = option(
        "What pip, uv or Python said; - is the standard input, which is read without this "
        "option, too, where something is piped in.",
        metavar="FILE",
    ),
    platform: str = OTHER_PLATFORM,
) -> None:
    """Explain a failing environment or error message, and what to change.

    Reads a message of pip, uv, poetry, conda or Python, a list of packages, or the environment of
    this command. Needs no matrix and no network: nothing is run or imported. A matrix of this
    folder that is about these packages adds what its runs showed.

    Ends with 0 when a run of exactly this combination works, else with 1.

    Examples: pip install demo 2>&1 | compat doctor; compat doctor --message error.txt; compat
    doctor tff --freeze requirements.txt --python 3.9; compat doctor tff --platform macos-arm64
    """
    asked = _asked(python, freeze, message)
    workspaces = _workspaces(matrix, asked)
    answers = [
        (workspace, diagnosis(known_facts(workspace), asked.packages, asked.message))
        for workspace in workspaces
    ]
    elsewhere = [_elsewhere(workspace, asked, platform) for workspace, _ in answers]
    if given.as_json:
        envelope(_payload(asked, answers, elsewhere))
    else:
        _print(asked, answers)
        for lines in elsewhere:
            say_elsewhere(lines)
    raise Exit(0 if answers and all(works(answer) for _, answer in answers) else 1)


def _asked(python: str, freeze: str, message: str) -> _Asked:
    named_version = re.fullmatch(r"3\.\d{1,2}(?:\.\d{1,2})?", python)
    if named_version and not (freeze or message or _is_piped()):
        raise UsageError.of(
            "a version needs a list beside it", path="--python", hint="--freeze FILE, or a path"
        )
    if freeze == message == "-":
        raise UsageError.of("--freeze and --message cannot both be the standard input")
    if not (message or freeze or (python and not named_version)) and _is_piped():
        message = "-"
    text = _text(message, MOST_READ) if message else ""
    if message and not text.strip():
        message = ""
    version = Version(python) if named_version else None
    installer = "python -m pip install"
    if freeze:
        packages = read_list(_text(freeze, MOST_CHARACTERS), version)
        if not (packages.versions or packages.ranges):
            raise UsageError.of(
                "names no package with a version or a range",
                path=freeze,
                hint="`pip freeze` or `uv pip freeze` prints such a list",
            )
        installer = "pip install"
    elif python and not named_version:
        packages = packages_of(Path(python))
        executable = f"{python}/bin/python" if Path(python).is_dir() else python
        has_pip = "pip" in packages.versions
        installer = (
            f"{quote(executable)} -m pip install"
            if has_pip
            else f"uv pip install --python {quote(executable)}"
        )
    elif message:
        packages = PackageList(
            versions=listed_versions(text), python=read_message(text, version).python
        )
        installer = "uv pip install" if "No solution found" in text else "pip install"
    else:
        packages = own_packages()
    return _Asked(with_python(packages, version), text if message else "", version, installer)


def _is_piped() -> bool:
    """Whether somebody gives us a text: a pipe or a file; an empty device or a terminal is none."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _text(place: str, most: int) -> str:
    """The text of a file or of the standard input; of a longer message the end is taken, and of a
    list all that a reader must refuse.
    """
    if place == "-":
        data = sys.stdin.buffer.read(8 * MOST_CHARACTERS)
    else:
        try:
            with Path(place).open("rb") as file:
                data = file.read(8 * MOST_CHARACTERS)
        except OSError as fault:
            raise UsageError.of(f"cannot be read: {reason(fault)}", path=place) from fault
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    text = data.decode(encoding, errors="replace")
    return text if most == MOST_CHARACTERS else text[-most:]


def _workspaces(matrix: str, asked: _Asked) -> list[Workspace]:
    if matrix:
        return [workspace_of(matrix)]
    try:
        names = matrix_names(matrices_folder())
    except UsageError:
        return []  # nobody needs a repository to ask about a message
    declared = [workspace_of(name) for name in names]
    return [each for each in declared if touches(each.matrix, asked.packages, asked.message)]


def known_facts(workspace: Workspace) -> KnownFacts:
    """Return what is known of a matrix. Raises UsageError for one without a kept catalogue."""
    if workspace.kept_catalogue is None:
        hint = f"compat matrix discover {workspace.name} --write keeps one"
        raise UsageError.of(f"matrix {workspace.name!r} has no kept catalogue", hint=hint)
    known = workspace.snapshot
    files = files_of_known(known, workspace.lock_digests, workspace.lock_text, workspace.records)
    return KnownFacts(
        snapshot=known,
        pins=files.pins,
        words=cause_sentence,
        guards=files.guards,
        blames=kept_blames(workspace.folder),
    )


def _elsewhere(workspace: Workspace, asked: _Asked, platform: str) -> dict[PlatformName, list[str]]:
    if not platform:
        return {}
    release = asked.packages.versions.get(workspace.matrix.subject_axis.normalised_name)
    return known_elsewhere(workspace, release, asked.packages.python, platform)


def works(answer: Diagnosis) -> bool:
    """Whether the command ends with 0: a run of exactly this set passed."""
    return answer.state == "proven" and answer.proof is not None and answer.proof.kind == "works"


def _print(asked: _Asked, answers: list[tuple[Workspace, Diagnosis]]) -> None:
    packages = asked.packages
    if asked.message is None and packages.is_whole and (beside := environment_beside()):
        note(f"looked at its own environment; --python {beside} looks at the active one")
    if packages.unread_count:
        lines = count(packages.unread_count, "line")
        note(f"warning: {lines} not understood, such as {packages.unread[0][:80]!r}")
    faults_told = _general(asked, answers)
    if faults_told or asked.message is not None or not answers:
        if faults_told:
            say(f"broken: {faults_told[0].packages[0]}")
        elif asked.message is not None:
            say("unknown: no problem of versions was recognised in this message")
        else:
            read = count(len(asked.packages.versions) + len(asked.packages.ranges), "package")
            say(
                f"unproven: {read} read, nothing is known against them, and no matrix here"
                " covers them"
            )
        for finding in faults_told[:_PROBLEMS]:
            place = f" (line {finding.lines[0]})" if any(finding.lines) and asked.message else ""
            say(f"  {finding.sentence}{place}")
            if finding.advice:
                say(f"    {finding.advice}")
        if len(faults_told) > _PROBLEMS:
            say(f"  and {count(len(faults_told) - _PROBLEMS, 'more problem')}: --json has all")
        for finding in asked.read.findings:
            if not finding.is_fault:
                say(f"  Note: {finding.sentence}")
        command = _remedy(asked, faults_told[0]) if faults_told else ""
        if command:
            say("  Smallest known fix (untested):")
            say(f"    {command}")
    for workspace, answer in answers:
        if faults_told or asked.message is not None:
            say("")
        say(f"{workspace.matrix.title}: {answer.state}")
        say(f"  {_place(workspace, asked)}")
        if answer.proof is not None:
            say(f"  {_proof_words(answer.proof)}")
        elif answer.state == "unproven":
            say("  This exact set is untested.")
        known = [
            problem for problem in answer.problems if problem.ground not in ("message", "index")
        ]
        for problem in known[:_PROBLEMS]:
            say(f"  {problem.sentence}")
            if problem.because:
                say(f"    {' '.join(problem.because.split())}")
        more = len(known) - _PROBLEMS
        if more > 0:
            say(f"  and {count(more, 'more problem')}: --json has all")
        say(*(f"Note: {line}" for line in answer.notes[:_NOTES]), indent=2)
        if not works(answer):
            _print_change(workspace, asked, answer)


def _general(asked: _Asked, answers: list[tuple[Workspace, Diagnosis]]) -> tuple[Finding, ...]:
    """What holds without a matrix. Of a list, what a matrix says of the same package comes first;
    and a run that works refutes what was only inferred.
    """
    faults = tuple(finding for finding in asked.read.findings if finding.is_fault)
    if asked.message is not None:
        return faults
    stated = {
        name for _, answer in answers for problem in answer.problems for name in problem.packages
    }
    if any(answer.proof is not None for _, answer in answers):
        return ()
    return tuple(finding for finding in faults if not stated & set(finding.packages[:1]))


def _remedy(asked: _Asked, finding: Finding) -> str:
    """The command that mends a finding: a release that was checked against the index, else the
    range, or another Python.
    """
    if finding.pin:
        return f"{asked.installer} {' '.join(map(quote, finding.pin.split()))}"
    if finding.python:
        return f"uv venv --python {finding.python}"
    if finding.direction == "rebuild" and finding.needs:
        return f"{asked.installer} --force-reinstall --no-cache-dir {quote(finding.needs)}"
    if not finding.needs or finding.needs.startswith(PYTHON):
        return ""
    return f"{asked.installer} {quote(finding.needs)}"


def _place(workspace: Workspace, asked: _Asked) -> str:
    packages = asked.packages
    parts = []
    for axis in workspace.matrix.axes:
        version = (
            packages.python
            if isinstance(axis, InterpreterAxis)
            else packages.versions.get(axis.normalised_name)
        )
        parts.append(f"{label(axis)} {version or 'unknown'}")
    if not packages.versions:
        return f"{', '.join(parts)}; from a message alone"
    return f"{', '.join(parts)}; {count(len(packages.versions), 'package')} read"


def _proof_words(entry: Answer) -> str:
    score = f": {entry.score.words}" if entry.score.words else ""
    return f"{entry.cell.id} {verdict_clause(entry)}{score}; tested on {entry.latest}"


def _print_change(workspace: Workspace, asked: _Asked, answer: Diagnosis) -> None:
    neighbour = answer.neighbour
    if neighbour is None:
        say("  Nothing of this matrix is proven so far.")
        return
    if neighbour.entry == answer.proof:
        return
    if answer.pins:
        say("  Smallest change, by what is known; the result was not run:")
        say(f"    {_pip(asked, answer.pins)}")
    differ = neighbour.differences if asked.packages.versions else ()
    say(f"  Nearest tested set: {_proof_words(neighbour.entry)}")
    if asked.packages.versions:
        say(f"    {_difference_words(neighbour.is_other_python, differ)}")
    pins = [(difference.package, difference.tested) for difference in differ]
    if pins and len(pins) <= _MOST_PINS and not neighbour.is_other_python:
        say("    to get it:")
        say(f"    {_pip(asked, pins, '--no-deps ')}")
        return
    lock = workspace.lock(neighbour.entry.cell.id)
    if lock is not None and (pins or neighbour.is_other_python or not asked.packages.versions):
        say("    to get it in a new environment:")
        place = Whereabouts(lock=f"matrices/{workspace.name}/locks/{lock.inputs.cell}.txt")
        say(*commands(lock, place, workspace.matrix).uv, indent=4)


def _difference_words(is_other_python: bool, differ: tuple[DifferingPin, ...]) -> str:
    changed = [difference for difference in differ if difference.installed is not None]
    shown = [f"{d.package} {d.tested} instead of {d.installed}" for d in changed[:_DIFFERENCES]]
    more = len(changed) - _DIFFERENCES
    lacking = len(differ) - len(changed)
    parts = (
        "on another Python" if is_other_python else "",
        ", ".join(shown) + (f" and {more} more" if more > 0 else ""),
        count(lacking, "further package") if lacking else "",
    )
    return "; ".join(filter(None, parts)) or "the same packages"


def _pip(asked: _Asked, pins: Any, options: str = "") -> str:
    return f"{asked.installer} {options}{' '.join(quote(f'{name}=={v}') for name, v in pins)}"


def _payload(
    asked: _Asked,
    answers: list[tuple[Workspace, Diagnosis]],
    elsewhere: list[dict[PlatformName, list[str]]],
) -> dict[str, Any]:
    packages = asked.packages
    return {
        "python": packages.python,
        "packages": len(packages.versions),
        "unread": packages.unread,
        "findings": [_finding(asked, finding) for finding in asked.read.findings],
        "answers": [
            {
                "matrix": workspace.name,
                "state": answer.state,
                "works": works(answer),
                "proof": None if answer.proof is None else answer.proof.cell.id,
                "problems": [_problem(problem) for problem in answer.problems],
                "notes": answer.notes,
                "pins": dict(answer.pins),
                "command": _pip(asked, answer.pins) if answer.pins else "",
                "platforms": lines,
                "nearest": None
                if answer.neighbour is None
                else {
                    "cell": answer.neighbour.entry.cell.id,
                    "is_other_python": answer.neighbour.is_other_python,
                    "differences": answer.neighbour.differences,
                },
            }
            for (workspace, answer), lines in zip(answers, elsewhere, strict=True)
        ],
    }


def _finding(asked: _Asked, finding: Finding) -> dict[str, Any]:
    names = ("cause", "packages", "direction", "sentence", "advice", "needs", "lines", "is_fault")
    return {name: getattr(finding, name) for name in names} | {"command": _remedy(asked, finding)}


def _problem(problem: Problem) -> dict[str, Any]:
    names = ("cause", "packages", "sentence", "ground", "because", "link")
    return {name: getattr(problem, name) for name in names}
