"""The command's part that takes what another machine learnt of refusals: clauses and probes."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from compat.cli.machine import without_places
from compat.cli.output import envelope, note, report
from compat.cli.plain import MOST_DAYS, republished
from compat.errors import DeclarationError, Fault
from compat.lock.demands import Demands
from compat.plan.cell import Cell
from compat.plan.plan import every_cell
from compat.results.clause_file import (
    CLAUSES,
    PROBES,
    keep_clauses,
    keep_probes,
    kept_clauses,
    kept_probes,
)
from compat.results.clauses import Clause
from compat.results.plain_answers import PlainAnswer
from compat.site.wording import count
from compat.workspace import Workspace


def take_learnt(workspace: Workspace, folder: Path, as_json: bool) -> int:
    """Take the sound clauses and probes of a folder that another machine filled; return the exit
    code.

    A clause is sound when its facts are among those that its own cell has here, on a Python that
    the clause names, and it is of the last days. Clauses about files are not taken: they rest on a
    run, whose record is what another machine hands in. Raises DeclarationError for a damaged file.
    """
    intake = _LearntIntake(workspace)
    clauses = tuple(intake.sound_clauses(kept_clauses(folder, workspace.matrix).conflicts))
    probes = tuple(intake.sound_probes(kept_probes(folder).values()))
    if clauses:
        before = workspace.learnt.clauses
        both = msgspec.structs.replace(before, conflicts=(*before.conflicts, *clauses))
        keep_clauses(workspace.folder, workspace.matrix, both)
    if probes:
        keep_probes(workspace.folder, probes)
    if as_json:
        envelope({"clauses": clauses, "probes": probes}, intake.faults)
    report(intake.faults)
    tally = f"{count(len(clauses), 'clause')} and {count(len(probes), 'probe')} kept"
    note(f"{tally}, {len(intake.faults)} refused")
    return 1 if intake.faults else 0


class _LearntIntake:
    """What is sound by this checkout, and what was refused."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        facts = workspace.facts_of(workspace.kept_or_asked)
        self._cells: dict[str, Cell] = {cell.id: cell for cell in every_cell(facts)}
        self._demands = Demands(facts)
        self.faults: list[Fault] = []

    def sound_clauses(self, clauses: Iterable[Clause]) -> Iterable[Clause]:
        known = set(self._workspace.learnt.clauses.conflicts)
        for clause in clauses:
            if clause not in known and not self._refused(CLAUSES, clause, self._unfit(clause)):
                because = without_places(clause.because)
                yield msgspec.structs.replace(clause, because=because)

    def sound_probes(self, probes: Iterable[PlainAnswer]) -> Iterable[PlainAnswer]:
        known = self._workspace.learnt.asked
        for probe in probes:
            before = known.get(probe.cell)
            is_older = before is not None and probe.on < before.on
            why = f"is of {probe.on}, and a newer one is kept" if is_older else ""
            if probe != before and not self._refused(PROBES, probe, why):
                yield republished(probe)

    def _refused(self, name: str, learnt: Clause | PlainAnswer, why: str) -> bool:
        age = (self._workspace.day - learnt.on).days
        if learnt.cell not in self._cells:
            why = "is not a cell of this matrix"
        elif not -1 <= age <= MOST_DAYS:
            why = f"is of {learnt.on}, and what was learnt in the last {MOST_DAYS} days is taken"
        if why:
            place = f"{name}: {learnt.cell}"
            self.faults.append(Fault(code=DeclarationError.code, path=place, message=why))
        return bool(why)

    def _unfit(self, clause: Clause) -> str:
        cell = self._cells.get(clause.cell)
        if cell is None:
            return ""
        python = str(cell.on(self._workspace.matrix.interpreters.name).version)
        held = self._demands.of(cell)
        if python not in clause.pythons or not any(set(clause.facts) <= facts for facts in held):
            return "names facts that its own cell does not have here"
        return ""
