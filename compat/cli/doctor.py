"""The command that says what is wrong with an environment: doctor.

What only a matrix or an environment needs is imported there: a message alone is answered without.
"""

import contextlib
import os
import re
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import msgspec
from packaging.version import Version

from compat.advise.doctor.facts import MOST_READ
from compat.advise.doctor.infer import Case, Finding, case_of
from compat.advise.package_list import MOST_CHARACTERS, PackageList, listed_versions, read_list
from compat.cli.arguments import Exit, argument, matrices_folder, matrix_names, option
from compat.cli.output import envelope, fields, note, say
from compat.errors import UsageError, count, reason
from compat.lock.resolvers import PYTHON

if TYPE_CHECKING:
    from compat.advise.diagnosis import Diagnosis, KnownFacts
    from compat.results.answer import Answer
    from compat.workspace import Workspace

# So many lines of each kind fit on a screen.
_PROBLEMS, _DIFFERENCES, _NOTES = 4, 6, 3
# More pins than this are no line that people paste; then a new environment is the smaller change.
_MOST_PINS = 8


class _Asked:
    """What the user has: a list of packages, a message, or both, and how packages are installed.
    `read` is what the doctor finds in it without any matrix.
    """

    def __init__(self, python: str, freeze: str, message: str) -> None:
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
        if not text.strip():
            message = text = ""
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
            from compat.cli.environment import packages_of

            packages = packages_of(Path(python))
            executable = quote(f"{python}/bin/python" if Path(python).is_dir() else python)
            installer = f"uv pip install --python {executable}"
            if "pip" in packages.versions:
                installer = f"{executable} -m pip install"
        elif message:
            packages = PackageList(versions=listed_versions(text))
            installer = "uv pip install" if "No solution found" in text else "pip install"
        else:
            from compat.cli.environment import packages_of

            packages = packages_of(None)
        if version is not None:
            packages = msgspec.structs.replace(packages, python=version)
        self.installer = installer
        self.read = case_of(text, version or packages.python, packages.versions, packages.ranges)
        if packages.python is None and text:
            packages = msgspec.structs.replace(packages, python=self.read.python)
        self.packages = packages
        self.message: Case | None = self.read if text else None

    def may_concern(self, declaration: str) -> bool:
        """Whether a name in a matrix's declaration is in the message or in the list: reading the
        matrix itself takes longer than the answer.
        """
        text = self.message.text.flat.lower().replace("_", "-") if self.message is not None else ""
        names = re.findall(r'^(?:package|module|subject) = "(.+)"', declaration, re.MULTILINE)
        stems = {re.sub(r"[-_.]+", "-", name.lower()) for name in names}
        listed = {*self.packages.versions, *self.packages.ranges} if not text else ()
        return any(stem in text or any(stem in each for each in listed) for stem in stems)


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
) -> None:
    """Explain a failing environment or error message, and what to change.

    Reads an error message, a package list or this command's environment. Needs no matrix or
    network, and runs nothing. Adds results of a matrix in this folder. Exits 0 if a run of exactly
    this combination passes, else 1.

    Examples: pip install demo 2>&1 | compat doctor; compat doctor --message error.txt; compat
    doctor tff --freeze requirements.txt --python 3.9
    """
    asked = _Asked(python, freeze, message)
    packages = asked.packages
    answers = _answers(matrix, asked)
    findings = [
        {**fields(finding, _FINDING), "command": _remedy(asked, finding)}
        for finding in asked.read.findings
    ]
    rows = []
    for workspace, answer in answers:
        near = answer.neighbour
        row: dict[str, Any] = {
            "matrix": workspace.name,
            "state": answer.state,
            "works": works(answer),
            "proof": None if answer.proof is None else answer.proof.cell.id,
            "problems": [fields(problem, _PROBLEM) for problem in answer.problems],
            "notes": answer.notes,
            "pins": dict(answer.pins),
            "command": _pip(asked, answer.pins) if answer.pins else "",
            "nearest": None,
        }
        if near is not None:
            other = {"is_other_python": near.is_other_python, "differences": near.differences}
            row["nearest"] = {"cell": near.entry.cell.id, **other}
        rows.append(row)
    document = {"python": packages.python, "packages": len(packages.versions)}
    envelope({**document, "unread": packages.unread, "findings": findings, "answers": rows})
    _print(asked, answers)
    raise Exit(0 if answers and all(works(answer) for _, answer in answers) else 1)


def _answers(matrix: str, asked: _Asked) -> "list[tuple[Workspace, Diagnosis]]":
    """The results of the named matrix, else of each whose subject fails or is mentioned."""
    declared: dict[str, str] = {}
    with contextlib.suppress(UsageError):  # outside of a repository
        folder = matrices_folder()
        paths = {name: folder / name / "matrix.toml" for name in matrix_names(folder)}
        declared = {name: path.read_text("utf-8", "replace") for name, path in paths.items()}
    if not (matrix or any(map(asked.may_concern, declared.values()))):
        return []
    from compat.advise.diagnosis import concerns, diagnosis, touches
    from compat.cli.options import workspace_of

    packages, message = asked.packages, asked.message
    if matrix:
        workspace = workspace_of(matrix)
        return [(workspace, diagnosis(known_facts(workspace), packages, message))]
    answers = []
    for workspace in map(workspace_of, declared):
        if touches(workspace.matrix, packages, message):
            answer = diagnosis(known_facts(workspace), packages, message)
            if message is not None or concerns(workspace.matrix, answer, packages):
                answers.append((workspace, answer))
    return sorted(answers, key=lambda pair: pair[1].state == "unproven")


_FINDING = "cause packages direction sentence advice needs lines is_fault"
_PROBLEM = "cause packages sentence ground because link"


def _is_piped() -> bool:
    """Whether somebody gives us a text: a pipe or a file; an empty device or a terminal is none."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _text(place: str, most: int) -> str:
    """The text of a file or of the standard input; a longer message is cut at its start, and a
    longer list is read until it is refused.
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


def known_facts(workspace: "Workspace") -> "KnownFacts":
    """Return what is known of a matrix. Raises UsageError for one without a kept catalogue."""
    from compat.advise.diagnosis import KnownFacts, files_of_known
    from compat.results.learnt import stored_blames
    from compat.site.wording import cause_sentence

    if workspace.stored_catalogue is None:
        hint = f"compat matrix discover {workspace.name} --write stores one"
        raise UsageError.of(f"matrix {workspace.name!r} has no stored catalogue", hint=hint)
    known = workspace.snapshot
    files = files_of_known(known, workspace.lock_digests, workspace.lock_text, workspace.records)
    return KnownFacts(
        snapshot=known,
        pins=files.versions,
        words=cause_sentence,
        guards=files.guards,
        blames=stored_blames(workspace.folder),
    )


def works(answer: "Diagnosis") -> bool:
    """Whether the command ends with 0: a run of exactly this set passed."""
    return answer.state == "proven" and answer.proof is not None and answer.proof.kind == "works"


def _print(asked: _Asked, answers: "list[tuple[Workspace, Diagnosis]]") -> None:
    packages, has_message = asked.packages, asked.message is not None
    if not has_message and packages.is_whole:
        active = os.environ.get("VIRTUAL_ENV", "")
        if active and Path(active).resolve() != Path(sys.prefix).resolve():
            note(f"read its own environment; --python {active} reads the active one")
    if packages.unread_count:
        lines = count(packages.unread_count, "line")
        note(f"warning: {lines} not understood, such as {packages.unread[0][:80]!r}")
    faults_told = [finding for finding in asked.read.findings if finding.is_fault]
    if not has_message:
        # Results of a matrix about the same package come first, and a passing run refutes what was
        # only inferred.
        problems = (problem for _, answer in answers for problem in answer.problems)
        stated = {name for problem in problems for name in problem.packages}
        faults_told = [f for f in faults_told if not stated & {*f.packages[:1]}]
        if any(answer.proof is not None for _, answer in answers):
            faults_told = []
    if faults_told or has_message or not answers:
        read = count(len(packages.versions) + len(packages.ranges), "package")
        if faults_told:
            say(f"broken: {faults_told[0].packages[0]}")
        elif has_message:
            say("unknown: no version problem recognised in this message")
        else:
            say(f"unproven: {read} read, no known problems, and no matrix here covers them")
        places = [
            f" (line {f.lines[0]})" if has_message and any(f.lines) else "" for f in faults_told
        ]
        pairs = zip(faults_told, places, strict=True)
        _say_problems([(f"{fault.sentence}{place}", fault.advice) for fault, place in pairs])
        notes = (finding.sentence for finding in asked.read.findings if not finding.is_fault)
        say(*(f"Note: {sentence}" for sentence in notes), indent=2)
        command = _remedy(asked, faults_told[0]) if faults_told else ""
        if command:
            say("  Smallest known fix (untested):", f"    {command}")
    for workspace, answer in answers:
        from compat.advise.request import label

        if faults_told or has_message:
            say("")
        say(f"{workspace.matrix.title}: {answer.state}")
        versions = packages.versions
        known = [
            (axis, versions.get(axis.normalised_name) if axis.package else packages.python)
            for axis in workspace.matrix.axes
        ]
        axes = ", ".join(f"{label(axis)} {version or 'unknown'}" for axis, version in known)
        read = f"{count(len(packages.versions), 'package')} read"
        say(f"  {axes}; {read if packages.versions else 'from a message alone'}")
        if answer.proof is not None:
            say(f"  {_proof_words(answer.proof)}")
        elif answer.state == "unproven":
            say("  This exact set is untested.")
        others = [p for p in answer.problems if p.ground != "message"]
        _say_problems([(p.sentence, " ".join(p.because.split())) for p in others])
        say(*(f"Note: {line}" for line in answer.notes[:_NOTES]), indent=2)
        if not works(answer):
            _print_change(workspace, asked, answer)


def _say_problems(problems: Sequence[tuple[str, str]]) -> None:
    for sentence, more in problems[:_PROBLEMS]:
        say(f"  {sentence}", *([f"    {more}"] if more else []))
    if problems[_PROBLEMS:]:
        say(f"  and {count(len(problems) - _PROBLEMS, 'more problem')}: --json has all")


def _remedy(asked: _Asked, finding: Finding) -> str:
    """The command that mends a finding: a release that was checked against the index, else the
    range, or another Python.
    """
    if finding.pin:
        return f"{asked.installer} {' '.join(map(quote, finding.pin.split()))}"
    if finding.python:
        is_old = finding.python[:1] == "2"  # uv has no Python 2
        return f"{'conda create -n old python=' if is_old else 'uv venv --python '}{finding.python}"
    if finding.direction == "rebuild" and finding.needs:
        return f"{asked.installer} --force-reinstall --no-cache-dir {quote(finding.needs)}"
    if not finding.needs or finding.needs.startswith(PYTHON):
        return ""
    is_named_alone = not re.search("[<=>!~]", finding.needs)
    upgrade = "--upgrade " if is_named_alone and finding.direction != "install" else ""
    return f"{asked.installer} {upgrade}{quote(finding.needs)}"


def _proof_words(entry: "Answer") -> str:
    from compat.results.answer import verdict_clause

    score = f": {entry.score.words}" if entry.score.words else ""
    return f"{entry.cell.id} {verdict_clause(entry)}{score}; tested on {entry.latest}"


def _print_change(workspace: "Workspace", asked: _Asked, answer: "Diagnosis") -> None:
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
    from compat.advise.commands import commands

    lock = workspace.lock(neighbour.entry.cell.id)
    if lock is not None and (pins or is_other or not has_list):
        say("    to get it in a new environment:")
        place = f"matrices/{workspace.name}/locks/{lock.inputs.cell}.txt"
        say(*commands(lock, place, workspace.matrix).uv, indent=4)


def _pip(asked: _Asked, pins: Any, options: str = "") -> str:
    return f"{asked.installer} {options}{' '.join(quote(f'{name}=={v}') for name, v in pins)}"
