"""The command's part that takes what another machine learnt of refusals: clauses and probes."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from compat.cli.installs import MOST_DAYS, AskedAgain, republished
from compat.cli.machine import without_places
from compat.cli.output import envelope, note, report
from compat.errors import DeclarationError, Fault
from compat.lock.demands import Demands
from compat.lock.recipe import asks_as_declared
from compat.plan.cell import Cell
from compat.plan.plan import every_cell
from compat.results.clauses import Clause, ClauseBook
from compat.results.learnt import (
    CLAUSES,
    PROBES,
    PlainAnswer,
    keep_clauses,
    keep_probes,
    kept_clauses,
    kept_probes,
)
from compat.run.outcome import Failed
from compat.search.learning import RefusalLearner
from compat.site.wording import count
from compat.workspace import Workspace


def take_learnt(workspace: Workspace, folder: Path, as_json: bool) -> int:
    """Take the sound clauses and probes of a folder that another machine filled; return the exit
    code.

    A clause is sound when it is of the last days, its facts are among those that its own cell has
    here, on a Python that the clause names, no cell with a lock has them, and the resolver refuses
    them here, too, on each of its Pythons. A probe is sound when a sound clause or the resolver
    says the same. Clauses about files are not taken: they rest on a run, whose record is what
    another machine hands in. Raises DeclarationError for a damaged file.
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
    intake.again.tell()
    tally = f"{count(len(clauses), 'clause')} and {count(len(probes), 'probe')} kept"
    note(f"{tally}, {len(intake.faults)} refused")
    return 1 if intake.faults else 0


class _LearntIntake:
    """What is sound by this checkout, and what was refused."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._facts = workspace.facts_of(workspace.kept_or_asked)
        self._cells: dict[str, Cell] = {cell.id: cell for cell in every_cell(self._facts)}
        self._on: dict[str, Cell] = {self._python(cell): cell for cell in self._cells.values()}
        self._demands = Demands(self._facts)
        self._sound: list[Clause] = []
        self.again = AskedAgain(workspace)
        ask = self.again.locker.lock
        self._learner = RefusalLearner(self._facts, ask, (), workspace.day, without_places)
        self.faults: list[Fault] = []

    def sound_clauses(self, clauses: Iterable[Clause]) -> Iterable[Clause]:
        known = self._workspace.learnt.clauses.conflicts
        self._sound += known
        settled = {(clause.facts, python) for clause in known for python in clause.pythons}
        for clause in sorted(clauses, key=lambda clause: (clause.facts, clause.outcome)):
            if settled.issuperset((clause.facts, python) for python in clause.pythons):
                continue
            if self._refused(CLAUSES, clause, self._unfit(clause)):
                continue
            if self.again.may_ask(len(clause.pythons)):
                own = self._refused_again(clause)
                if own is not None:
                    self._sound.append(own)
                    yield own

    def sound_probes(self, probes: Iterable[PlainAnswer]) -> Iterable[PlainAnswer]:
        known, book = self._workspace.learnt.asked, ClauseBook(self._sound)
        for probe in probes:
            before, cell = known.get(probe.cell), self._cells.get(probe.cell)
            is_older = before is not None and probe.on < before.on
            why = f"is of {probe.on}, and a newer one is kept" if is_older else ""
            if probe == before or self._refused(PROBES, probe, why) or cell is None:
                continue
            if self._facts.obstacle(cell) is not None:
                continue  # the plan says more of it
            clauses = book.answer(self._demands.of(cell), self._python(cell))
            try:
                if clauses and probe.refusal is None:
                    raise DeclarationError.of("says that packages were found, against a clause")
                own = (
                    republished(probe) if clauses else self.again.checked(probe, self._facts, cell)
                )
            except DeclarationError as error:
                self._refused(PROBES, probe, error.faults[0].message)
                continue
            if own is not None:
                yield own

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
        held = self._demands.of(cell)
        if self._python(cell) not in clause.pythons or not any(
            set(clause.facts) <= facts for facts in held
        ):
            return "names facts that its own cell does not have here"
        if strange := sorted({*clause.pythons} - self._on.keys()):
            return f"names Python {strange[0]}, which no cell of this matrix has"
        locked = next(self._locked_with(clause), None)
        return "" if locked is None else f"{locked} has a lock with {' and '.join(clause.facts)}"

    def _locked_with(self, clause: Clause) -> Iterator[str]:
        """The cells that hold all facts of a clause, and that a lock of what they ask now has."""
        for name in self._workspace.lock_digests:
            cell = self._cells.get(name)
            if cell is None or self._python(cell) not in clause.pythons:
                continue
            held = self._demands.of(cell)
            if (
                held
                and all(set(clause.facts) <= facts for facts in held)
                and self._facts.obstacle(cell) is None
                and (lock := self._workspace.lock(name)) is not None
                and asks_as_declared(self._facts, cell, lock)
            ):
                yield name

    def _refused_again(self, clause: Clause) -> Clause | None:
        """The clause in the words of the resolver here; None where it finds packages."""
        own = None
        for python in clause.pythons:
            refusal = self._learner.ask(self._on[python], frozenset(clause.facts))
            if refusal is None:
                why = f"is refused there, and not by a resolver here, on Python {python}"
                self._refused(CLAUSES, clause, why)
                return None
            subject = without_places(refusal.subject)
            failed = Failed(stage="lock", cause=refusal.cause, subject=subject)
            because = without_places(refusal.because) or "it finds no solution"
            own = msgspec.structs.replace(clause, outcome=str(failed), because=because)
        return own

    def _python(self, cell: Cell) -> str:
        return str(cell.on(self._workspace.matrix.interpreters.name).version)
