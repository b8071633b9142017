"""The command that says what is wrong with an environment: doctor."""

import os
import re
import stat
import sys
from pathlib import Path
from shlex import quote
from typing import Any

import msgspec
from packaging.version import Version

from compat.advise.commands import Whereabouts, commands
from compat.advise.diagnosis import Diagnosis, KnownFacts, diagnosis, files_of_known, touches
from compat.advise.doctor.facts import MOST_READ, PYTHON
from compat.advise.doctor.infer import Finding
from compat.advise.message import Message, read_message
from compat.advise.package_list import MOST_CHARACTERS, PackageList, listed_versions, read_list
from compat.advise.request import label
from compat.cli.arguments import Exit, argument, given, option
from compat.cli.environment import environment_beside, own_packages, packages_of
from compat.cli.installs import known_elsewhere, say_elsewhere
from compat.cli.options import OTHER_PLATFORM, matrices_folder, matrix_names, workspace_of
from compat.cli.output import envelope, note, say
from compat.declare.matrix import InterpreterAxis, PackageAxis
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
        "A matrix (default: every matrix whose subject is installed).", metavar="[MATRIX]"
    ),
    python: str = option(
        "Interpreter, virtual environment, or (with --freeze or --message) a version such as 3.9.",
        metavar="PATH",
    ),
    freeze: str = option(
        "Package list: pip freeze, pip list, requirements, uv or poetry lock; - reads stdin.",
        metavar="FILE",
    ),
    message: str = option(
        "Error message of pip, uv or Python; - reads stdin (default if piped).",
        metavar="FILE",
    ),
    platform: str = OTHER_PLATFORM,
) -> None:
    """Explain a failing environment or error message, and what to change.

    Reads an error message, a package list or this command's environment. Needs no matrix or
    network, and runs nothing. Adds results of a matrix in this folder. Exits 0 if a run of exactly
    this combination passes, else 1.

    Examples: pip install demo 2>&1 | compat doctor; compat doctor --message error.txt; compat
    doctor tff --freeze requirements.txt --python 3.9; compat doctor tff --platform macos-arm64
    """
    asked = _asked(python, freeze, message)
    try:
        named = [matrix] if matrix else matrix_names(matrices_folder())
    except UsageError:
        named = []  # nobody needs a repository to ask about a message
    packages = asked.packages
    answers = [
        (workspace, diagnosis(known_facts(workspace), packages, asked.message))
        for workspace in map(workspace_of, named)
        if matrix or touches(workspace.matrix, packages, asked.message)
    ]
    elsewhere: list[dict[PlatformName, list[str]]] = [{} for _ in answers]
    for lines, (workspace, _) in zip(elsewhere, answers, strict=True):
        if platform:
            release = packages.versions.get(workspace.matrix.subject_axis.normalised_name)
            lines.update(known_elsewhere(workspace, release, packages.python, platform))
    if given.as_json:
        findings = [
            {**_fields(finding, *_FINDING), "command": _remedy(asked, finding)}
            for finding in asked.read.findings
        ]
        rows = []
        for lines, (workspace, answer) in zip(elsewhere, answers, strict=True):
            near = answer.neighbour
            row: dict[str, Any] = {
                "matrix": workspace.name,
                "state": answer.state,
                "works": works(answer),
                "proof": None if answer.proof is None else answer.proof.cell.id,
                "problems": [_fields(problem, *_PROBLEM) for problem in answer.problems],
                "notes": answer.notes,
                "pins": dict(answer.pins),
                "command": _pip(asked, answer.pins) if answer.pins else "",
                "platforms": lines,
                "nearest": None,
            }
            if near is not None:
                other = {"is_other_python": near.is_other_python, "differences": near.differences}
                row["nearest"] = {"cell": near.entry.cell.id, **other}
            rows.append(row)
        document = {"python": packages.python, "packages": len(packages.versions)}
        envelope({**document, "unread": packages.unread, "findings": findings, "answers": rows})
    else:
        _print(asked, answers)
        for lines in elsewhere:
            say_elsewhere(lines)
    raise Exit(0 if answers and all(works(answer) for _, answer in answers) else 1)


_FINDING = ("cause", "packages", "direction", "sentence", "advice", "needs", "lines", "is_fault")
_PROBLEM = ("cause", "packages", "sentence", "ground", "because", "link")


def _fields(value: object, *names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


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
    if version is not None:
        packages = msgspec.structs.replace(packages, python=version)
    return _Asked(packages, text if message else "", version, installer)


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


def known_facts(workspace: Workspace) -> KnownFacts:
    """Return what is known of a matrix. Raises UsageError for one without a kept catalogue."""
    if workspace.kept_catalogue is None:
        hint = f"compat matrix discover {workspace.name} --write stores one"
        raise UsageError.of(f"matrix {workspace.name!r} has no stored catalogue", hint=hint)
    known = workspace.snapshot
    files = files_of_known(known, workspace.lock_digests, workspace.lock_text, workspace.records)
    return KnownFacts(
        snapshot=known,
        pins=files.versions,
        words=cause_sentence,
        guards=files.guards,
        blames=kept_blames(workspace.folder),
    )


def works(answer: Diagnosis) -> bool:
    """Whether the command ends with 0: a run of exactly this set passed."""
    return answer.state == "proven" and answer.proof is not None and answer.proof.kind == "works"


def _print(asked: _Asked, answers: list[tuple[Workspace, Diagnosis]]) -> None:
    packages, has_message = asked.packages, asked.message is not None
    if not has_message and packages.is_whole and (beside := environment_beside()):
        note(f"read its own environment; --python {beside} reads the active one")
    if packages.unread_count:
        lines = count(packages.unread_count, "line")
        note(f"warning: {lines} not understood, such as {packages.unread[0][:80]!r}")
    faults_told = _general(asked, answers)
    if faults_told or has_message or not answers:
        read = count(len(packages.versions) + len(packages.ranges), "package")
        if faults_told:
            say(f"broken: {faults_told[0].packages[0]}")
        elif has_message:
            say("unknown: no version problem recognised in this message")
        else:
            say(f"unproven: {read} read, no known problems, and no matrix here covers them")
        for finding in faults_told[:_PROBLEMS]:
            place = f" (line {finding.lines[0]})" if any(finding.lines) and has_message else ""
            say(f"  {finding.sentence}{place}")
            if finding.advice:
                say(f"    {finding.advice}")
        if len(faults_told) > _PROBLEMS:
            say(f"  and {count(len(faults_told) - _PROBLEMS, 'more problem')}: --json has all")
        notes = (finding.sentence for finding in asked.read.findings if not finding.is_fault)
        say(*(f"Note: {sentence}" for sentence in notes), indent=2)
        command = _remedy(asked, faults_told[0]) if faults_told else ""
        if command:
            say("  Smallest known fix (untested):", f"    {command}")
    for workspace, answer in answers:
        if faults_told or has_message:
            say("")
        say(f"{workspace.matrix.title}: {answer.state}")
        axes = ", ".join(
            f"{label(axis)} {_version_of(axis, packages) or 'unknown'}"
            for axis in workspace.matrix.axes
        )
        read = f"{count(len(packages.versions), 'package')} read"
        say(f"  {axes}; {read if packages.versions else 'from a message alone'}")
        if answer.proof is not None:
            say(f"  {_proof_words(answer.proof)}")
        elif answer.state == "unproven":
            say("  This exact set is untested.")
        known = [p for p in answer.problems if p.ground != "message"]
        for problem in known[:_PROBLEMS]:
            say(f"  {problem.sentence}")
            if problem.because:
                say(f"    {' '.join(problem.because.split())}")
        if len(known) > _PROBLEMS:
            say(f"  and {count(len(known) - _PROBLEMS, 'more problem')}: --json has all")
        say(*(f"Note: {line}" for line in answer.notes[:_NOTES]), indent=2)
        if not works(answer):
            _print_change(workspace, asked, answer)


def _version_of(axis: InterpreterAxis | PackageAxis, packages: PackageList) -> Version | None:
    if isinstance(axis, InterpreterAxis):
        return packages.python
    return packages.versions.get(axis.normalised_name)


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
        say("  Smallest known fix (untested):")
        say(f"    {_pip(asked, answer.pins)}")
    has_list, is_other = bool(asked.packages.versions), neighbour.is_other_python
    differ = neighbour.differences if has_list else ()
    say(f"  Nearest tested set: {_proof_words(neighbour.entry)}")
    if has_list:
        changed = [difference for difference in differ if difference.installed is not None]
        shown = [f"{d.package} {d.tested} instead of {d.installed}" for d in changed[:_DIFFERENCES]]
        more, lacking = len(changed) - _DIFFERENCES, len(differ) - len(changed)
        parts = (
            "on another Python" if is_other else "",
            ", ".join(shown) + (f" and {more} more" if more > 0 else ""),
            count(lacking, "further package") if lacking else "",
        )
        say(f"    {'; '.join(filter(None, parts)) or 'the same packages'}")
    pins = [(difference.package, difference.tested) for difference in differ]
    if pins and len(pins) <= _MOST_PINS and not is_other:
        say("    to get it:", f"    {_pip(asked, pins, '--no-deps ')}")
        return
    lock = workspace.lock(neighbour.entry.cell.id)
    if lock is not None and (pins or is_other or not has_list):
        say("    to get it in a new environment:")
        place = Whereabouts(lock=f"matrices/{workspace.name}/locks/{lock.inputs.cell}.txt")
        say(*commands(lock, place, workspace.matrix).uv, indent=4)


def _pip(asked: _Asked, pins: Any, options: str = "") -> str:
    return f"{asked.installer} {options}{' '.join(quote(f'{name}=={v}') for name, v in pins)}"
