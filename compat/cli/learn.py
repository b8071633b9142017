"""The command that asks a resolver about open cells, and keeps what their refusals teach."""

import threading
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from compat import questions
from compat.cli.arguments import Exit, Option, given
from compat.cli.disproofs import tell_disproofs
from compat.cli.lock import Jobs
from compat.cli.lockers import probing_locker, refusing_locker
from compat.cli.machine import now, without_places
from compat.cli.options import (
    CellNames,
    MatrixName,
    workspace_of,
)
from compat.cli.output import envelope, note, report, say
from compat.errors import CompatError
from compat.fleet.explore import is_unasked
from compat.fleet.inquiry import Inquired, closed, inquire
from compat.plan.cell import Cell, parse_cell
from compat.plan.named import named_cells
from compat.results.clause_file import keep_clauses, keep_probes
from compat.results.clauses import KeptClauses
from compat.results.coverage import coverage, coverage_lines
from compat.results.plain_answers import PlainAnswer
from compat.results.snapshot import Snapshot
from compat.run.outcome import Failed, is_spurious
from compat.search.learning import RefusalLearner
from compat.search.open_cells import OpenCells
from compat.search.probing import Probed
from compat.site.wording import count
from compat.workspace import Workspace

# Keeping is quick beside a question; an interrupted run loses no more than this many answers.
_KEEP_EVERY = 10
Minutes = Annotated[
    int, Option("--minutes", min=1, max=1440, help="How long new questions are begun.")
]


def learn_command(
    matrix: MatrixName,
    words: CellNames = None,
    minutes: Minutes = 20,
    jobs: Jobs = 1,
) -> None:
    """Resolve untested cells, and generalise each conflict to other cells.

    Without cells: first the refusals that are known, then the open cells, those of the largest
    group first. No cell is run; builds that the matrix names are made, isolated. Clauses are kept
    in clauses.json, what the resolver says of single cells in probes.json.

    Ends with 0; with 3 when some questions got no answer.

    Examples: compat matrix learn tff --minutes 20 --jobs 2; compat matrix learn tff
    'py3.9-*+relaxed'
    """
    workspace = workspace_of(matrix)
    session = _Session(workspace, minutes, given.as_json)
    before = coverage(workspace.snapshot)
    if words:
        named = named_cells(workspace.facts_of(workspace.kept_or_asked), words)
        session.ask(named, jobs)
    else:
        session.learn(_refused(workspace), jobs)
        session.ask(open_cells(workspace.snapshot), jobs)
        session.learn_files()
    session.keep()
    after = coverage(workspace.snapshot)
    if given.as_json:
        envelope(session.payload() | {"before": before, "after": after}, session.faults)
    else:
        session.tell()
        for line in coverage_lines(before, after):
            note(line)
    raise Exit(3 if session.faults else 0)


def open_cells(snapshot: Snapshot) -> tuple[Cell, ...]:
    """Return the planned cells of which nothing is known, and that no resolver was asked about."""
    return tuple(
        entry.cell
        for entry in snapshot.entries
        if entry.planned
        and (entry.verdict.evidence == "none" or entry.verdict.expected is not None)
        and entry.obstacle is None
        and is_unasked(snapshot, entry)
        and not entry.runs
    )


def _refused(workspace: Workspace) -> Iterable[Cell]:
    """A cell of each cause of a known refusal, on each Python: the others say the same."""
    python = workspace.matrix.interpreters.name
    refusals: dict[tuple[str, str], Cell] = {}
    answers = {cell: answer.refusal for cell, answer in workspace.learnt.asked.items()}
    runs = {cell: rows[-1].outcomes[-1] for cell, rows in workspace.runs.items()}
    for name, outcome in sorted((answers | runs).items()):
        if not isinstance(outcome, Failed) or outcome.stage != "lock" or is_spurious(outcome):
            continue
        cell = parse_cell(name, workspace.matrix)
        refusals.setdefault((str(outcome), cell.on(python).text), cell)
    return refusals.values()


class _Session:
    """The questions of one command: what came of them, kept as they come."""

    def __init__(self, workspace: Workspace, minutes: int, is_quiet: bool) -> None:
        self._workspace = workspace
        self._is_quiet = is_quiet
        self._start, self._seconds = now(), minutes * 60
        facts = workspace.facts_of(workspace.kept_or_asked)
        self._known = workspace.learnt.clauses.conflicts
        self._files = workspace.learnt.clauses.files
        self._known_answers: Mapping[str, PlainAnswer] = workspace.learnt.asked
        self._learner = RefusalLearner(
            facts, refusing_locker(workspace).lock, self._known, workspace.day, without_places
        )
        self._prober = questions.prober(workspace, self._learner, probing_locker(workspace))
        self._guard = threading.Lock()
        self._answers: list[PlainAnswer] = []
        self._unkept = 0
        self._cells = self._questions = self._inferred = 0
        self._errors: list[CompatError] = []

    @property
    def faults(self) -> list[Any]:
        return [fault for error in self._errors for fault in error.faults]

    def learn(self, cells: Iterable[Cell], jobs: int) -> None:
        """Ask what refusals teach."""
        waiting = OpenCells(cells, self._workspace.matrix.subject)
        waiting.close(lambda cell: bool(self._learner.answer(cell)))
        inquire(waiting, self._prober.learn, self._by_clause, jobs, self._is_over, self._heard)

    def ask(self, cells: Iterable[Cell], jobs: int) -> None:
        """Ask whether cells can be locked; what is said now takes the place of what was said."""
        self._known_answers = {}
        waiting = OpenCells(cells, self._workspace.matrix.subject, self._prober.demand)
        for probed in closed(waiting, self._prober.known):
            self._inferred += 1
            self._take(probed)
        inquire(waiting, self._prober.probe, self._prober.known, jobs, self._is_over, self._heard)

    def learn_files(self) -> None:
        try:
            self._files = questions.files_learnt(self._workspace)
        except CompatError as error:
            self._errors.append(error)
            report(error.faults)

    def keep(self) -> None:
        self._keep()
        disproofs, fell = questions.settled(self._workspace)
        self._workspace.refresh()
        if not self._is_quiet:
            tell_disproofs(disproofs, fell)

    def _keep(self) -> None:
        clauses = KeptClauses(conflicts=self._learner.clauses, files=self._files)
        keep_clauses(self._workspace.folder, self._workspace.matrix, clauses)
        keep_probes(self._workspace.folder, self._answers)

    def payload(self) -> dict[str, Any]:
        return {
            "cells": self._cells,
            "questions": self._questions,
            "seconds": (now() - self._start).total_seconds(),
            "clauses": self._learner.clauses,
            "files": self._files,
            "learnt": len(self._learner.clauses) - len(self._known),
            "answers": self._answers,
        }

    def tell(self) -> None:
        learnt = len(self._learner.clauses) - len(self._known)
        seconds = (now() - self._start).total_seconds()
        note(
            f"{count(self._cells, 'cell')} asked about in {count(self._questions, 'question')} and"
            f" {seconds:.0f} s; {count(learnt, 'new clause')}, {len(self._learner.clauses)} in all;"
            f" {self._inferred:,} more open cells answered; {count(len(self._files), 'file')} that"
            " cannot be imported"
        )

    def _is_over(self) -> bool:
        return (now() - self._start).total_seconds() >= self._seconds

    def _by_clause(self, cell: Cell) -> Probed | None:
        clauses = self._learner.answer(cell)
        return Probed(cell=cell, clauses=clauses) if clauses else None

    def _heard(self, result: Inquired | CompatError) -> None:
        with self._guard:
            if isinstance(result, CompatError):
                self._errors.append(result)
                report(result.faults)
                return
            self._cells += 1
            self._questions += result.probed.questions
            self._inferred += len(result.answered)
            for probed in (result.probed, *result.answered):
                self._take(probed)
            self._unkept += 1
            if not self._is_quiet:
                say(_line(result))
            if self._unkept == _KEEP_EVERY:
                self._unkept = 0
                self._keep()

    def _take(self, probed: Probed) -> None:
        answer = probed.answer
        if answer is not None and (answer.cell not in self._known_answers or probed.is_locked):
            self._answers.append(answer)


def _line(result: Inquired) -> str:
    probed, cell = result.probed, result.probed.cell.id
    more = f"; {count(len(result.answered), 'more cell')} answered" if result.answered else ""
    if probed.clauses:
        facts = " and ".join(probed.clauses[0].facts)
        return f"{cell}  {probed.clauses[0].outcome}: {facts}{more}"
    if probed.answer is None:
        return f"{cell}  nothing is known against it"
    if probed.is_locked:
        return f"{cell}  can be locked{more}"
    return f"{cell}  {probed.answer.outcome}"
