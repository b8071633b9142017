"""What a refusal teaches: the smallest set of facts that explains it, found by leaving facts out
and asking the resolver again.

Deletion finds a minimal unsatisfiable set in one question a fact, as what cannot be locked from few
facts cannot be locked from more (Bakker and others, "Diagnosing and solving over-determined
constraint satisfaction problems", IJCAI 1993). What the resolver's derivation names is tried first.
"""

import datetime
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from compat.lock.demands import (
    Demands,
    Facts,
    is_requirement,
    keeps_prereleases,
    package_of_fact,
)
from compat.lock.lockfile import Inputs, Lock, Refusal
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.results.clauses import Clause, ClauseBook
from compat.run.outcome import Failed, is_spurious
from compat.value import Value

# How many of the shapes of known clauses are tried before all facts of a cell are asked about: each
# is a small question, the other a large one. Chosen on 2026-11-23.
_SHAPES = 3
# How many reasons of a refusal are looked for while each is only the want of a build.
_MOST_REASONS = 3
# A build that failed says nothing about the facts alone.
_OF_BUILDS = ("build", "build-tool", "unsupported")

Ask = Callable[[Inputs], Lock | Refusal]


class Lesson(Value, frozen=True, kw_only=True):
    """What a question about a cell came to.

    `clauses` answer it: one for each release of the subject that it could have; empty where the
    cell can be locked as far as its facts go, or where a build stood in the way. `refusal` is what
    the resolver said of all facts of the cell together, None where it found packages or was not
    asked that. `questions` is how often it was asked.
    """

    cell: Cell
    clauses: tuple[Clause, ...]
    refusal: Refusal | None
    questions: int


class RefusalLearner:
    """Clauses, and the resolver that more of them are learnt from. Several threads may use it."""

    def __init__(
        self,
        facts: Feasibility,
        ask: Ask,
        clauses: Iterable[Clause],
        day: datetime.date,
        redacted: Callable[[str], str],
    ) -> None:
        self._python = facts.matrix.interpreters.name
        self._demands = Demands(facts)
        self._resolve = ask
        self._day = day
        self.redacted = redacted
        self._guard = threading.Lock()
        self._book = ClauseBook(clauses)
        self._asked: dict[tuple[str, Facts], Refusal | None] = {}

    @property
    def clauses(self) -> tuple[Clause, ...]:
        """All that is known now."""
        with self._guard:
            return self._book.clauses

    def forget(self, clauses: Iterable[Clause]) -> None:
        """Remove clauses that were disproved."""
        with self._guard:
            self._book = self._book.without(clauses)

    def answer(self, cell: Cell) -> tuple[Clause, ...]:
        """Return the clauses that answer a cell; none where nothing is known. Asks nobody."""
        with self._guard:
            return self._book.answer(self._demands.of(cell), self._series(cell))

    def learn(self, cell: Cell) -> Lesson:
        """Ask about a cell, and keep what its refusal teaches.

        Raises IndexUnreachable and ToolFailed as the locker does.
        """
        with self._guard:
            sets = self._demands.of(cell)
        questions = _Questions(self, cell)
        clauses: list[Clause] = []
        refusal: Refusal | None = None
        # The newest release is what a resolver takes first.
        for held in reversed(sets):
            with self._guard:
                known = self._book.answer([held], self._series(cell))
            if not known:
                learnt, refusal = self._learnt(held, questions)
                self._keep(learnt)
                known = learnt[-1:]
            if not known:
                clauses = []
                break
            clauses += known
        return Lesson(cell=cell, clauses=tuple(clauses), refusal=refusal, questions=questions.count)

    def is_refused(self, clause: Clause, cell: Cell) -> bool:
        """Ask whether the facts of a clause alone are still refused on the cell's Python, for a
        reason that says something about the versions.
        """
        return _is_hard(self.ask(cell, frozenset(clause.facts)))

    def ask(self, cell: Cell, held: Facts) -> Refusal | None:
        """Ask whether these facts can be locked, each set once; None when they can."""
        key = (self._series(cell), held)
        if key not in self._asked:
            answer = self._resolve(self._demands.inputs(cell, held))
            is_refusal = isinstance(answer, Refusal) and answer.cause not in _OF_BUILDS
            self._asked[key] = answer if is_refusal and isinstance(answer, Refusal) else None
        return self._asked[key]

    def _learnt(
        self, held: Facts, questions: "_Questions"
    ) -> tuple[tuple[Clause, ...], Refusal | None]:
        """The clauses that these facts hold, the one that says most last; and what the resolver
        says of all of them.
        """
        fixed = frozenset(fact for fact in held if keeps_prereleases(fact))
        for shape in self._shapes(held):
            if _is_hard(questions.refusal(shape | fixed)):
                return (self._minimal(shape | fixed, fixed, questions),), None
        first = refusal = questions.refusal(held)
        clauses: list[Clause] = []
        while refusal is not None and len(clauses) < _MOST_REASONS:
            clauses.append(self._minimal(self._suspects(held, fixed, questions), fixed, questions))
            if not is_spurious(clauses[-1].failed):
                break
            # What waits for a build may be impossible for another reason, too.
            held = (held - frozenset(clauses[-1].facts)) | fixed
            refusal = questions.refusal(held)
        return tuple(clauses), first

    def _suspects(self, held: Facts, fixed: Facts, questions: "_Questions") -> Facts:
        """Those of refused facts that the derivation names, where they are refused alone."""
        refusal = questions.refusal(held)
        assert refusal is not None, "only what was refused has suspects"
        named = frozenset(fact for fact in held if package_of_fact(fact) in refusal.named)
        for suspects in (frozenset(filter(is_requirement, named)) | fixed, named | fixed):
            again = questions.refusal(suspects)
            if again is not None and (_is_hard(again) or not _is_hard(refusal)):
                return suspects
        return held

    def _minimal(self, suspects: Facts, fixed: Facts, questions: "_Questions") -> Clause:
        """The clause that is left when no fact can be left out any more."""
        needed = suspects
        needs_hard = _is_hard(questions.refusal(suspects))
        for group in self._groups(suspects - fixed):
            trial = needed - group
            if trial == needed or not trial:
                continue
            refusal = questions.refusal(trial)
            if refusal is not None and (_is_hard(refusal) or not needs_hard):
                needed = trial
        refusal = questions.refusal(needed)
        assert refusal is not None, "what is left was refused"
        failed = Failed(stage="lock", cause=refusal.cause, subject=self.redacted(refusal.subject))
        return Clause(
            facts=tuple(sorted(needed)),
            pythons=(self._series(questions.cell),),
            outcome=str(failed),
            because=self.redacted(refusal.because) or "it finds no solution",
            cell=questions.cell.id,
            on=self._day,
        )

    def _groups(self, suspects: Facts) -> Iterator[Facts]:
        """What to leave out: of many facts halves first; then each, what says least first.

        A clause without a coordinate answers most, so the pins of coordinates go first.
        """
        ordered = sorted(suspects, key=lambda fact: (".*" not in fact, fact))
        if len(ordered) > 8:
            for size in (len(ordered) // 2, len(ordered) // 4):
                for start in range(0, len(ordered), size):
                    yield frozenset(ordered[start : start + size])
        yield from (frozenset((fact,)) for fact in ordered)

    def _shapes(self, held: Facts) -> Sequence[Facts]:
        """What the cell asks of the packages that clauses speak of together, the usual first."""
        by_package: dict[str, set[str]] = {}
        for fact in filter(is_requirement, held):
            by_package.setdefault(package_of_fact(fact), set()).add(fact)
        shapes: Counter[frozenset[str]] = Counter()
        for clause in self.clauses:
            shapes[frozenset(map(package_of_fact, clause.facts))] += 1
        likely = [packages for packages, _ in shapes.most_common() if packages <= by_package.keys()]
        return [
            frozenset(fact for package in packages for fact in by_package[package])
            for packages in likely[:_SHAPES]
        ]

    def _keep(self, clauses: Iterable[Clause]) -> None:
        with self._guard:
            self._book = ClauseBook((*self._book.clauses, *clauses))

    def _series(self, cell: Cell) -> str:
        return str(cell.on(self._python).version)


class _Questions:
    """The questions about one cell, counted."""

    def __init__(self, learner: RefusalLearner, cell: Cell) -> None:
        self._learner = learner
        self.cell = cell
        self._sets: set[Facts] = set()

    @property
    def count(self) -> int:
        return len(self._sets)

    def refusal(self, held: Facts) -> Refusal | None:
        self._sets.add(held)
        return self._learner.ask(self.cell, held)


def _is_hard(refusal: Refusal | None) -> bool:
    """Whether it was refused for a reason that says something about the versions, whatever could be
    built.
    """
    return refusal is not None and not is_spurious(Failed(stage="lock", cause=refusal.cause))
