"""Learns from resolution failures and failed imports about other cells.

The smallest set of facts that explains a resolution failure is found by leaving facts out and
resolving again: deletion needs one resolution a fact, because more facts never help (Bakker and
others, "Diagnosing and solving over-determined constraint satisfaction problems", IJCAI 1993). Most
open cells can be locked, so the whole cell is resolved first. For a failed import it records the
files: wheels with the same file fail as well.
"""

import datetime
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache

import msgspec
from packaging.version import Version

from compat.declare.parsing import minor_series
from compat.index.release import Artifact, Package, Release
from compat.lock.demands import (
    Demands,
    Facts,
    KnownLocks,
    is_requirement,
    keeps_prereleases,
    package_of_fact,
)
from compat.lock.lockfile import Cutoff, Inputs, Lock, Locker, Refusal
from compat.lock.recipe import inputs_of, lock_cell
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.plan.platform import accepted_tags
from compat.results.answer import Answer
from compat.results.learnt import LOCKED, Clause, ClauseBook, FileClause, PlainAnswer, answer_of
from compat.results.record import involved_in_failure
from compat.results.snapshot import Snapshot
from compat.run.outcome import Cause, Failed, is_spurious
from compat.search.exploration import difference
from compat.value import Value, grouped

# How many shapes of known clauses are tried before all facts of a cell are resolved: each is a
# small resolution, the other a large one. Chosen on 2026-11-23.
_SHAPES = 3
# How many reasons of a failure are searched for while each is only a missing build.
_MOST_REASONS = 3
# A failed build says nothing about the facts alone.
_OF_BUILDS = ("build", "build-tool", "unsupported")


class Probed(Value, frozen=True, kw_only=True):
    """What is known of a cell now: by `clauses`, one for each release of the subject that it could
    have, by the resolver's or the expected `answer`, by both, or by neither.
    """

    cell: Cell
    clauses: tuple[Clause, ...] = ()
    answer: PlainAnswer | None = None

    @property
    def is_locked(self) -> bool:
        return self.answer is not None and self.answer.outcome == LOCKED

    @property
    def refusals(self) -> tuple[Failed, ...]:
        refusals = [clause.failed for clause in self.clauses[:1]]
        if self.answer is not None and self.answer.refusal is not None:
            refusals.append(self.answer.refusal)
        return tuple(refusals)

    @property
    def involved(self) -> tuple[str, ...]:
        words = [(clause.failed.subject, clause.because) for clause in self.clauses[:1]]
        if self.answer is not None and self.answer.refusal is not None:
            words = [(self.answer.refusal.subject, self.answer.because)]
        return involved_in_failure(*words[0]) if words else ()


class ClauseLearner:
    """Clauses, and the resolver from which more are learnt, for use by several threads."""

    def __init__(
        self,
        facts: Feasibility,
        ask: Callable[[Inputs], Lock | Refusal],
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
        with self._guard:
            return self._book.clauses

    def forget(self, clauses: Iterable[Clause]) -> None:
        with self._guard:
            self._book = ClauseBook({*self._book.clauses}.difference(clauses))

    def answer(self, cell: Cell) -> tuple[Clause, ...]:
        with self._guard:
            return self._book.answer(self._demands.of(cell), self._series(cell))

    def learn(self, cell: Cell) -> Probed:
        """Raises IndexUnreachable and ToolFailed as the locker does."""
        with self._guard:
            sets = self._demands.of(cell)
        clauses: list[Clause] = []
        refusal: Refusal | None = None
        # A resolver takes the newest release first.
        for held in reversed(sets):
            with self._guard:
                known = self._book.answer([held], self._series(cell))
            if not known:
                learnt, refusal = self._learnt(cell, held)
                with self._guard:
                    self._book = ClauseBook((*self._book.clauses, *learnt))
                known = learnt[-1:]
            if not known:
                clauses = []
                break
            clauses += known
        answer = None if refusal is None else self.answer_of(cell, refusal)
        return Probed(cell=cell, clauses=tuple(clauses), answer=answer)

    def answer_of(self, cell: Cell, result: Lock | Refusal) -> PlainAnswer:
        return answer_of(cell.id, result, self._day, self.redacted)

    def is_refused(self, clause: Clause, cell: Cell) -> bool:
        """Return whether the facts of a clause alone fail for a reason in the versions."""
        return _is_hard(self.ask(cell, frozenset(clause.facts)))

    def ask(self, cell: Cell, held: Facts) -> Refusal | None:
        key = (self._series(cell), held)
        if key not in self._asked:
            answer = self._resolve(self._demands.inputs(cell, held))
            is_refusal = isinstance(answer, Refusal) and answer.cause not in _OF_BUILDS
            self._asked[key] = answer if is_refusal and isinstance(answer, Refusal) else None
        return self._asked[key]

    def _learnt(self, cell: Cell, held: Facts) -> tuple[tuple[Clause, ...], Refusal | None]:
        fixed = frozenset(filter(keeps_prereleases, held))
        by_package = grouped((package_of_fact(f), f) for f in filter(is_requirement, held))
        shapes = Counter(frozenset(map(package_of_fact, clause.facts)) for clause in self.clauses)
        likely = [packages for packages, _ in shapes.most_common() if packages <= by_package.keys()]
        for packages in likely[:_SHAPES]:
            shape = fixed.union(*(by_package[package] for package in packages))
            if _is_hard(self.ask(cell, shape)):
                return (self._minimal(cell, shape, fixed),), None
        first = refusal = self.ask(cell, held)
        clauses: list[Clause] = []
        while refusal is not None and len(clauses) < _MOST_REASONS:
            named = frozenset(fact for fact in held if package_of_fact(fact) in refusal.named)
            suspects = held
            for fewer in (frozenset(filter(is_requirement, named)) | fixed, named | fixed):
                again = self.ask(cell, fewer)
                if again is not None and (_is_hard(again) or not _is_hard(refusal)):
                    suspects = fewer
                    break
            clauses.append(self._minimal(cell, suspects, fixed))
            if not is_spurious(clauses[-1].failed):
                break
            # A cell that waits for a build may be impossible for another reason, too.
            held = (held - frozenset(clauses[-1].facts)) | fixed
            refusal = self.ask(cell, held)
        return tuple(clauses), first

    def _minimal(self, cell: Cell, suspects: Facts, fixed: Facts) -> Clause:
        needed, needs_hard = suspects, _is_hard(self.ask(cell, suspects))
        # A clause without a coordinate answers most, so the pins of coordinates go first; of many
        # facts, halves and quarters.
        ordered = sorted(suspects - fixed, key=lambda fact: (".*" not in fact, fact))
        sizes = (len(ordered) // 2, len(ordered) // 4, 1) if len(ordered) > 8 else (1,)
        for size in sizes:
            for start in range(0, len(ordered), size):
                trial = needed.difference(ordered[start : start + size])
                if trial == needed or not trial:
                    continue
                refusal = self.ask(cell, trial)
                if refusal is not None and (_is_hard(refusal) or not needs_hard):
                    needed = trial
        refusal = self.ask(cell, needed)
        assert refusal is not None, "what is left was refused"
        failed = Failed(stage="lock", cause=refusal.cause, subject=self.redacted(refusal.subject))
        return Clause(
            facts=tuple(sorted(needed)),
            pythons=(self._series(cell),),
            outcome=str(failed),
            because=self.redacted(refusal.because) or "it finds no solution",
            cell=cell.id,
            on=self._day,
        )

    def _series(self, cell: Cell) -> str:
        return str(cell.on(self._python).version)


def _is_hard(refusal: Refusal | None) -> bool:
    return refusal is not None and not is_spurious(Failed(stage="lock", cause=refusal.cause))


class CellProber:
    """The cells of a matrix, a resolver, and its answers, for use by several threads."""

    def __init__(
        self,
        facts: Feasibility,
        learner: ClauseLearner,
        locker: Locker,
        package_of: Callable[[str], Package],
        day: datetime.date,
    ) -> None:
        self._facts = facts
        self._learner = learner
        self._locker = locker
        # An index page takes tenths of a second to read.
        self._package_of = cache(package_of)
        self._day = day
        self._guard = threading.Lock()
        self._locks = KnownLocks(self._package_of)
        self._inputs: dict[str, Inputs | None] = {}

    def add(self, lock: Lock) -> None:
        self._locks.add(lock)

    def known(self, cell: Cell) -> Probed | None:
        clauses = self._learner.answer(cell)
        if clauses:
            return Probed(cell=cell, clauses=clauses)
        inputs = self._question(cell)
        lock = None if inputs is None else self._locks.answering(inputs)
        if lock is None:
            return None
        because = f"what it asks for is met by the packages found for {lock.inputs.cell}"
        answer = PlainAnswer(cell=cell.id, on=self._day, outcome=LOCKED, because=because)
        return Probed(cell=cell, answer=answer)

    def probe(self, cell: Cell) -> Probed:
        known = self.known(cell)
        inputs = self._question(cell)
        if known is not None or inputs is None:
            return known or self._learner.learn(cell)
        margin = self._facts.matrix.margin_days
        result = lock_cell(self._locker, inputs, self._package_of, margin)
        answer = self._learner.answer_of(cell, result)
        if isinstance(result, Lock):
            self._locks.add(result)
            return Probed(cell=cell, answer=answer)
        return Probed(cell=cell, clauses=self._learner.learn(cell).clauses, answer=answer)

    def _question(self, cell: Cell) -> Inputs | None:
        """A relaxed package has no date: a lock widens such dates as far as needed anyway."""
        with self._guard:
            if cell.id not in self._inputs:
                inputs = None
                if self._facts.obstacle(cell) is None:
                    relaxed = self._facts.relaxations(cell)
                    inputs = inputs_of(self._facts, cell, with_suite=False, free=relaxed)
                    free = tuple(Cutoff(package=c.package, until=None) for c in inputs.cutoffs)
                    inputs = msgspec.structs.replace(inputs, cutoffs=free)
                self._inputs[cell.id] = inputs
            return self._inputs[cell.id]


ContentsOf = Callable[[Artifact], dict[str, str]]
# Failures that a newer Python can fix: it parses the line, or the line can run.
_OF_PYTHON: tuple[Cause, ...] = ("syntax", "type-error", "missing-attribute")


def file_clauses(snapshot: Snapshot, contents_of: ContentsOf) -> tuple[FileClause, ...]:
    """Of two runs that differ in the Python alone: one fails in a file that a newer one imports."""
    clauses: dict[tuple[str, str], FileClause] = {}
    listed: dict[str, dict[str, str]] = {}
    series = dict.fromkeys(map(minor_series, sorted(snapshot.matrix.interpreters.patches)))

    def contents(release: Release, entry: Answer) -> dict[str, str]:
        python = entry.cell.on(snapshot.matrix.interpreters.name).version
        tags = accepted_tags(python, snapshot.matrix.platform)
        wheels = [artifact for artifact in release.artifacts if artifact.is_wheel]
        fitting = [wheel for wheel in wheels if not tags.isdisjoint(wheel.tags)]
        artifact = next(iter(fitting or wheels), None)
        if artifact is None:
            return {}
        if artifact.filename not in listed:
            listed[artifact.filename] = contents_of(artifact)
        return listed[artifact.filename]

    for entry, failed, works in _failing(snapshot):
        path = failed.place.rpartition(":")[0]
        usable = snapshot.feasibility.usable(entry.cell, snapshot.matrix.subject_axis)
        digests = {contents(release, entry).get(path, "") for release in usable}
        if len(digests) != 1 or not (digest := digests.pop()):
            continue
        before = clauses.get((path, digest))
        python = entry.cell.on(snapshot.matrix.interpreters.name).version
        if before is not None and str(python) in before.pythons:
            continue
        releases = [
            str(release.version)
            for release in snapshot.catalogue.of(snapshot.matrix.subject_axis).releases
            if contents(release, entry).get(path) == digest
        ]
        clauses[path, digest] = FileClause(
            path=path,
            sha256=digest,
            releases=tuple(releases),
            pythons=tuple(name for name in series if Version(name) <= python),
            outcome=str(failed),
            cell=entry.cell.id,
            works=works.cell.id,
            on=entry.counted[-1].run.started.date(),
        )
    return tuple(clauses[key] for key in sorted(clauses))


def _failing(snapshot: Snapshot) -> Iterator[tuple[Answer, Failed, Answer]]:
    axis = snapshot.matrix.interpreters.name
    tested = sorted(
        (entry for entry in snapshot.known if entry.is_tested and entry.planned),
        key=lambda entry: entry.cell.on(axis).version,
    )
    for entry in reversed(tested):
        failed = entry.outcome
        if not isinstance(failed, Failed) or failed.stage != "import":
            continue
        if failed.cause not in _OF_PYTHON or ":" not in failed.place:
            continue
        cell = entry.cell
        for other in tested:
            if (
                other.kind in ("works", "partial")
                and other.cell.recipe == cell.recipe
                and difference(cell, other.cell) == {axis}
                and cell.on(axis).version < other.cell.on(axis).version
            ):
                yield entry, failed, other
                break
