"""Whether cells can be locked: by what is known where that says it, else by a resolver, of whose
answer others are told, too.

A refusal is kept as a clause, and found packages as a lock that may fit other cells. Most open
cells can be locked, so that is asked first: one question, where the facts alone would take several.
"""

import datetime
import threading
from collections.abc import Callable, Hashable
from functools import cache

import msgspec

from compat.index.release import Package
from compat.lock.demands import KnownLocks
from compat.lock.lockfile import Cutoff, Inputs, Lock, Locker, Refusal
from compat.lock.recipe import inputs_of, lock_cell
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.results.clauses import Clause
from compat.results.learnt import LOCKED, PlainAnswer, answer_of
from compat.results.record import involved_in_refusal
from compat.run.outcome import Failed
from compat.search.learning import RefusalLearner
from compat.value import Value


class Probed(Value, frozen=True, kw_only=True):
    """What is known of a cell now.

    `answer` is what a resolver said of it, or would say; None where only `clauses` answer it, or
    nothing does. `questions` is how often a resolver was asked.
    """

    cell: Cell
    clauses: tuple[Clause, ...] = ()
    answer: PlainAnswer | None = None
    questions: int = 0

    @property
    def is_locked(self) -> bool:
        """Whether the cell can be locked."""
        return self.answer is not None and self.answer.outcome == LOCKED

    @property
    def refusals(self) -> tuple[Failed, ...]:
        """Why it cannot be locked: by what clauses say, and by what a resolver said of it."""
        refusals = [clause.failed for clause in self.clauses[:1]]
        if self.answer is not None and self.answer.refusal is not None:
            refusals.append(self.answer.refusal)
        return tuple(refusals)

    @property
    def involved(self) -> tuple[str, ...]:
        """The packages that the resolver speaks of where it refuses the cell, or another for it."""
        words = [(clause.failed.subject, clause.because) for clause in self.clauses[:1]]
        if self.answer is not None and self.answer.refusal is not None:
            words = [(self.answer.refusal.subject, self.answer.because)]
        return involved_in_refusal(*words[0]) if words else ()


class CellProber:
    """The cells of a matrix, a resolver, and all that it said. Several threads may use it."""

    def __init__(
        self,
        facts: Feasibility,
        learner: RefusalLearner,
        locker: Locker,
        package_of: Callable[[str], Package],
        day: datetime.date,
    ) -> None:
        self._facts = facts
        self._learner = learner
        self._locker = locker
        # A page of an index takes tenths of a second to read.
        self._package_of = cache(package_of)
        self._day = day
        self._guard = threading.Lock()
        self._locks = KnownLocks(self._package_of)
        self._inputs: dict[str, Inputs | None] = {}
        self._compared: dict[str, int] = {}

    def add(self, lock: Lock) -> None:
        self._locks.add(lock)

    def demand(self, cell: Cell) -> Hashable:
        """Return what a cell asks for, whatever its date: the same value where it is the same."""
        inputs = self._question(cell)
        if inputs is None:
            return cell.id
        return inputs.python, inputs.requirements, inputs.overrides, inputs.excludes

    def known(self, cell: Cell) -> Probed | None:
        """Return what is known of a cell without a question; None where nothing is."""
        clauses = self._learner.answer(cell)
        if clauses:
            return Probed(cell=cell, clauses=clauses)
        inputs = self._question(cell)
        if inputs is None:
            return None
        compared = self._compared.get(cell.id, 0)
        number = self._locks.number(inputs)
        lock = self._locks.answering(inputs, compared) if number > compared else None
        if lock is None:
            self._compared[cell.id] = number
            return None
        because = f"what it asks for is met by the packages found for {lock.inputs.cell}"
        answer = PlainAnswer(cell=cell.id, on=self._day, outcome=LOCKED, because=because)
        return Probed(cell=cell, answer=answer)

    def probe(self, cell: Cell) -> Probed:
        """Return what is known of a cell, once a resolver was asked where nothing was.

        Raises IndexUnreachable and ToolFailed as the locker does.
        """
        known = self.known(cell)
        inputs = self._question(cell)
        if known is not None or inputs is None:
            return known or self.learn(cell)
        watched = _Counted(self._locker)
        margin = self._facts.matrix.margin_days
        result = lock_cell(watched, inputs, self._package_of, margin)
        answer = answer_of(cell.id, result, self._day, self._learner.redacted)
        if isinstance(result, Lock):
            self._locks.add(result)
            return Probed(cell=cell, answer=answer, questions=watched.questions)
        lesson = self.learn(cell)
        questions = watched.questions + lesson.questions
        return Probed(cell=cell, clauses=lesson.clauses, answer=answer, questions=questions)

    def learn(self, cell: Cell) -> Probed:
        lesson = self._learner.learn(cell)
        answer = None
        if lesson.refusal is not None:
            answer = answer_of(cell.id, lesson.refusal, self._day, self._learner.redacted)
        return Probed(cell=cell, clauses=lesson.clauses, answer=answer, questions=lesson.questions)

    def _question(self, cell: Cell) -> Inputs | None:
        """What to ask about a cell; None where the plan says that it cannot be installed.

        What a rule relaxes has no date: a lock widens such dates as far as it needs anyway.
        """
        with self._guard:
            if cell.id not in self._inputs:
                self._inputs[cell.id] = self._asked(cell)
            return self._inputs[cell.id]

    def _asked(self, cell: Cell) -> Inputs | None:
        if self._facts.obstacle(cell) is not None:
            return None
        relaxed = self._facts.relaxations(cell)
        inputs = inputs_of(self._facts, cell, with_suite=False, free=relaxed)
        free = tuple(Cutoff(package=cutoff.package, until=None) for cutoff in inputs.cutoffs)
        return msgspec.structs.replace(inputs, cutoffs=free)


class _Counted:
    """A locker whose questions are counted."""

    def __init__(self, locker: Locker) -> None:
        self._locker = locker
        self.questions = 0

    def lock(self, inputs: Inputs) -> Lock | Refusal:
        self.questions += 1
        return self._locker.lock(inputs)
