"""Plain installs on the command line: `compat matrix lock --plain` asks a resolver and keeps its
answers, `compat show --plain` shows them, and `compat ci record --plain` takes those of another
machine.
"""

import datetime
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

import msgspec
from packaging.version import Version

from compat import files, pipeline
from compat.advise.ranks import positions
from compat.advise.request import Request, wanted_coordinates
from compat.cli.machine import without_places
from compat.cli.output import envelope, note, report, say
from compat.errors import CompatError, DeclarationError, Fault, NothingToDo
from compat.lock.lockfile import Lock, Locker
from compat.lock.recipe import inputs_of, lock_cell
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.plan.plain_cells import plain_questions
from compat.results.clause_file import keep_plain
from compat.results.plain_answers import LOCKED, PlainAnswer, answer_of, decode_answers
from compat.results.plain_installs import plain_causes, plain_installs
from compat.run.outcome import Failed, is_spurious
from compat.site.plain_words import PLAIN_STYLES, plain_line, plain_reason
from compat.site.wording import count, listed, ranges
from compat.workspace import Workspace

# Without --most: at two seconds a question, which uv takes with a warm cache, about half an hour.
# Chosen on 2026-11-23; the largest matrix here has 238 questions.
MOST_QUESTIONS = 1000
# Of another machine so many refusals are asked about again, at about a second each.
_MOST_AGAIN = 300
# Answers of another machine that are older are not of its run. The same as for records.
MOST_DAYS = 7


def ask_plain(workspace: Workspace, resolver: Locker, jobs: int, most: int, as_json: bool) -> int:
    """Ask, keep and print each answer, and return the exit code."""
    cells = _in_turn(workspace, _cells(workspace))[:most]
    if not cells:
        because = "no release admits a Python and coordinates of it"
        message = f"matrix {workspace.name!r} has no plain install to ask about: {because}"
        raise NothingToDo.of(message)

    def asked(cell: Cell) -> tuple[PlainAnswer, Lock | None] | CompatError:
        try:
            return pipeline.asked_plain(workspace, cell, resolver, without_places)
        except CompatError as error:
            return error

    answers: list[PlainAnswer] = []
    errors: list[CompatError] = []
    # The facts about the plan are worked out before the threads share them.
    assert workspace.feasibility is not None
    with ThreadPoolExecutor(jobs, thread_name_prefix="locker") as pool:
        for answer in pool.map(asked, cells):
            if isinstance(answer, CompatError):
                errors.append(answer)
                report(answer.faults)
                continue
            _keep(workspace, *answer)
            answers.append(answer[0])
            if not as_json:
                _print_answer(answer[0])
    faults = [fault for error in errors for fault in error.faults]
    if as_json:
        envelope({"answers": answers}, faults)
    else:
        _print_tally(answers, len(errors))
    other = any(answer.refusal is not None for answer in answers)
    return max((error.exit_code for error in errors), default=1 if other else 0)


def _cells(workspace: Workspace) -> list[Cell]:
    questions = plain_questions(workspace.feasibility)
    return [question.cell for question in questions if question.cell is not None]


def _in_turn(workspace: Workspace, cells: Iterable[Cell]) -> list[Cell]:
    """The cells in the order in which they are asked: those never asked, newest release first, then
    the oldest answers.
    """
    answers = workspace.learnt.plain
    newest_first = list(cells)[::-1]
    unasked = [cell for cell in newest_first if cell.id not in answers]
    known = [cell for cell in newest_first if cell.id in answers]
    return [*unasked, *sorted(known, key=lambda cell: answers[cell.id].on)]


def _keep(workspace: Workspace, answer: PlainAnswer, lock: Lock | None) -> None:
    if lock is not None and lock != workspace.lock(answer.cell):
        workspace.keep_lock(answer.cell, lock)
    keep_plain(workspace.folder, [answer])
    workspace.refresh()


def _print_answer(answer: PlainAnswer) -> None:
    say(f"{answer.cell}  {answer.outcome}{f': {answer.because}' if answer.because else ''}")


def _print_tally(answers: list[PlainAnswer], errors: int) -> None:
    tally = Counter(answer.outcome for answer in answers)
    for outcome, number in tally.most_common():
        note(f"{number:>5,}  {outcome}")
    without = f", {errors:,} without an answer" if errors else ""
    note(f"{count(len(answers) + errors, 'plain install')} asked{without}")


def show_plain(workspace: Workspace, as_json: bool) -> None:
    """Print what is known of plain installs: each cause once, or with JSON each install too."""
    installs = plain_installs(workspace.snapshot)
    causes = plain_causes(installs)
    if as_json:
        envelope({"matrix": workspace.name, "installs": installs, "causes": causes})
        return
    releases = list(dict.fromkeys(install.release for install in installs))
    for cause in causes:
        on = "" if cause.on is None else f", as of {_days(cause.on)}"
        say(
            f"{count(cause.count, 'plain install')}: {PLAIN_STYLES[cause.state].word}{on}:"
            f" {plain_reason(cause)}"
        )
        if "-fail:" in cause.outcome:
            say(f"  {cause.outcome}, such as: {cause.example}")
        for python, versions in cause.releases.items():
            say(f"  Python {python}: {ranges(versions, releases)}")


def _days(days: tuple[datetime.date, datetime.date]) -> str:
    first, last = days
    return str(last) if first == last else f"{first} to {last}"


def advised_plain(workspace: Workspace, request: Request) -> list[str]:
    """Return what a plain install does of the one release that a request names, a line for each
    answer; nothing where it names none.
    """
    snapshot = workspace.snapshot
    wanted = {want.axis.name for want in request.wants}
    subject, python = snapshot.matrix.subject, snapshot.matrix.interpreters.name
    if subject not in wanted:
        return []
    asked = wanted_coordinates(request, positions(snapshot), snapshot.catalogue)
    if len(asked[subject]) != 1:
        return []
    lines: dict[str, list[str]] = {}
    for install in plain_installs(snapshot):
        pair = (Version(install.release), Version(install.python))
        if pair[0] in asked[subject] and (python not in wanted or pair[1] in asked[python]):
            lines.setdefault(plain_line(install), []).append(install.python)
    return [f"Python {listed(pythons)}: {line}" for line, pythons in lines.items()]


def take_plain(workspace: Workspace, path: Path, as_json: bool) -> int:
    """Keep the sound answers of a file that another machine made, name the others, and return the
    exit code.

    An answer is sound when it is about a plain install of this checkout, of today or at most
    MOST_DAYS days old, newer than the one that is kept, and, where it says that a resolver found
    packages, its lock is kept here, else a resolver refuses it here, too.
    """
    handed = decode_answers(files.read(path).decode(errors="replace"), path.name)
    planned = {cell.id: cell for cell in _cells(workspace)}
    again = AskedAgain(workspace)
    taken: list[PlainAnswer] = []
    faults: list[Fault] = []
    for answer in handed.values():
        before = workspace.learnt.plain.get(answer.cell)
        if answer == before:
            continue
        why = "" if answer.cell in planned else "is not a plain install of this matrix"
        why = why or untimely(answer, before, workspace.day)
        if not why and answer.refusal is None and answer.cell not in workspace.lock_digests:
            why = "says that packages were found, and its lock is not here"
        try:
            if why:
                raise DeclarationError.of(why)
            own = again.checked(answer, workspace.feasibility, planned[answer.cell])
            taken += [own] if own else []
        except DeclarationError as error:
            place = f"{path.name}: {answer.cell}"
            faults += (msgspec.structs.replace(fault, path=place) for fault in error.faults)
    if taken:
        keep_plain(workspace.folder, taken)
        workspace.refresh()
    if as_json:
        envelope({"kept": taken, "refused": [fault.path for fault in faults]}, faults)
    report(faults)
    again.tell()
    note(f"{count(len(taken), 'answer')} kept, {len(faults)} refused")
    return 1 if faults else 0


class AskedAgain:
    """What another machine says that a resolver refused, asked again here."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._asked = self._left = 0

    @cached_property
    def locker(self) -> Locker:
        """It builds nothing: other people's code has no business where records are kept."""
        from compat.cli.lockers import refusing_locker

        return refusing_locker(self._workspace)

    def may_ask(self, questions: int = 1) -> bool:
        """Count questions; False when there are too many, and what they are about is left out."""
        if self._asked + questions > _MOST_AGAIN:
            self._left += 1
            return False
        self._asked += questions
        return True

    def checked(self, answer: PlainAnswer, facts: Feasibility, cell: Cell) -> PlainAnswer | None:
        """Return the answer in the words of this machine; None when there are too many to ask.

        What waits for a build says nothing about the versions, and a build that the matrix names is
        taken on its word. Raises DeclarationError for a refusal that is none here.
        """
        refusal, matrix = answer.refusal, facts.matrix
        if refusal is None or is_spurious(refusal) or refusal.subject in matrix.builds:
            return republished(answer)
        if refusal.cause in ("build", "unsupported"):
            raise DeclarationError.of("is refused for a build that the matrix does not name")
        if not self.may_ask():
            return None
        inputs = inputs_of(facts, cell, with_suite=False)
        package_of = self._workspace.source.package
        result = lock_cell(self.locker, inputs, package_of, matrix.margin_days)
        own = answer_of(cell.id, result, answer.on, without_places)
        if own.refusal is None:
            raise DeclarationError.of(f"is {refusal} there, and a resolver finds packages here")
        return own

    def tell(self) -> None:
        if self._left:
            note(f"compat: {self._left:,} more were not kept: too many to ask a resolver again")


def untimely(answer: PlainAnswer, before: PlainAnswer | None, day: datetime.date) -> str:
    """Return why an answer of another machine is not of its run; empty when it can be."""
    if not -1 <= (day - answer.on).days <= MOST_DAYS:
        return f"is of {answer.on}, and answers of the last {MOST_DAYS} days are taken"
    if before is not None and answer.on < before.on:
        return f"is of {answer.on}, and one of {before.on} is kept"
    return ""


def republished(answer: PlainAnswer) -> PlainAnswer:
    """An answer of another machine, its words redacted here once more."""
    refusal = answer.refusal
    if refusal is None:
        return PlainAnswer(cell=answer.cell, on=answer.on, outcome=LOCKED)
    failed = Failed(stage="lock", cause=refusal.cause, subject=without_places(refusal.subject))
    because = without_places(answer.because)
    return PlainAnswer(cell=answer.cell, on=answer.on, outcome=str(failed), because=because)
