"""What is known of cells of which nothing ran: what a resolver said of them, and what follows from
the clauses that they contain.
"""

import datetime
from collections.abc import Callable, Iterator, Mapping
from functools import cache

from compat.lock.demands import Demands, Facts
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.results.answer import Answer, KnownRefusal
from compat.results.clauses import Clause, ClauseBook, Disproof, FileClause, KeptClauses
from compat.results.intervals import with_expectations
from compat.results.involved import third_package
from compat.results.judge import judged_again
from compat.results.plain_answers import LOCKED, PlainAnswer
from compat.results.snapshot import Snapshot
from compat.run.outcome import STAGES, Failed, Outcome, is_spurious

_NOTHING = KeptClauses()
# The clauses that cells contain, by the ids of these.
_Contained = Mapping[str, tuple[Clause | FileClause, ...]]


def with_answers(
    known: Snapshot,
    answers: Mapping[str, PlainAnswer],
    clauses: KeptClauses = _NOTHING,
) -> Snapshot:
    """Return the snapshot with what resolvers had said by its day, by cell, and what follows from
    the clauses that were known then and that nothing has disproved since, or from tested
    neighbours that agree.
    """
    on_day = {cell: answer for cell, answer in answers.items() if answer.on <= known.day}
    before = KeptClauses(
        conflicts=tuple(clause for clause in clauses.conflicts if clause.on <= known.day),
        files=tuple(clause for clause in clauses.files if clause.on <= known.day),
    )
    if not on_day and before == _NOTHING:
        return with_expectations(known)

    # Only cells without an answer of their own ask about clauses.
    @cache
    def consequences() -> Consequences:
        return Consequences(known.feasibility, before)

    @cache
    def disproofs() -> tuple[Disproof, ...]:
        if before == _NOTHING:
            return ()
        contained = _contained(known, on_day, consequences())
        return tuple(_disproofs(known, on_day, contained))

    @cache
    def standing() -> Consequences | None:
        return None if before == _NOTHING else consequences().without(disproofs())

    def answered(entry: Answer) -> Answer:
        return _answered(known, entry, on_day, standing)

    return with_expectations(known.with_plain(on_day, disproofs).mapped(answered))


class Consequences:
    """What clauses say of cells: of many, each fact is worked out once."""

    def __init__(self, facts: Feasibility, clauses: KeptClauses) -> None:
        self.clauses = clauses
        self._facts = facts
        self._book = ClauseBook(clauses.conflicts)
        self._demands = Demands(facts)
        self._interpreters = facts.matrix.interpreters.name

    def without(self, disproofs: tuple[Disproof, ...]) -> "Consequences":
        return Consequences(self._facts, self.clauses.without(disproofs)) if disproofs else self

    def of(self, cell: Cell) -> KnownRefusal | None:
        clauses = self._book.answer(self._sets(cell), self._python(cell))
        refusal = _by_clause(clauses[0]) if clauses else None
        axes = (a.normalised_name for a in self._facts.matrix.packages if cell.recipe == "relaxed")
        # A file that fails says more than the want of a build or of a package that may move.
        if refusal and not (
            is_spurious(refusal.outcome) or third_package(refusal.involved, frozenset(axes))
        ):
            return refusal
        return next((_by_file(f) for f in self.clauses.files if self._holds(f, cell)), refusal)

    def contained(self, cell: Cell) -> tuple[tuple[Clause, ...], tuple[FileClause, ...]]:
        conflicts = self._book.contained(self._sets(cell), self._python(cell))
        return tuple(conflicts), tuple(f for f in self.clauses.files if self._holds(f, cell))

    def _sets(self, cell: Cell) -> tuple[Facts, ...]:
        return self._demands.of(cell) if self._book.clauses else ()

    def _python(self, cell: Cell) -> str:
        return str(cell.on(self._interpreters).version)

    def _holds(self, file: FileClause, cell: Cell) -> bool:
        if self._python(cell) not in file.pythons:
            return False
        usable = self._facts.usable(cell, self._facts.matrix.subject_axis)
        return bool(usable) and all(str(release.version) in file.releases for release in usable)


Standing = Callable[[], Consequences | None]


def fallen(known: Snapshot, clauses: KeptClauses) -> tuple[str, ...]:
    """Return the cells that have no answer any more because clauses of these are disproved,
    sorted.
    """
    every = Consequences(known.feasibility, clauses)
    standing = every.without(known.disproofs)
    return tuple(
        sorted(
            entry.cell.id
            for entry in known.entries
            if entry.evidence == "none"
            and _is_open(entry)
            and every.of(entry.cell) is not None
            and standing.of(entry.cell) is None
        )
    )


def _answered(
    known: Snapshot, entry: Answer, answers: Mapping[str, PlainAnswer], standing: Standing
) -> Answer:
    refusal = _known(entry, answers.get(entry.cell.id), standing)
    if refusal is None:
        return entry
    # Whose fault a failure would be is asked where something ran.
    present = known.attribution.context(entry.cell, known.present) if entry.runs else known.present
    return judged_again(entry, present, refusal)


def _known(entry: Answer, answer: PlainAnswer | None, standing: Standing) -> KnownRefusal | None:
    """What is known of a cell: what a resolver said of it, else what follows.

    A refusal that says something about our builds alone, such as one for want of a build, is none.
    """
    asked = None if answer is None else answer.refusal
    if answer is not None and asked is not None and not is_spurious(asked):
        return KnownRefusal(
            outcome=asked,
            because=answer.because,
            on=answer.on,
            ground="asked",
            witness=answer.cell,
        )
    clauses = standing() if _is_open(entry) else None
    return None if clauses is None else clauses.of(entry.cell)


def _is_open(entry: Answer) -> bool:
    return entry.planned and entry.obstacle is None and not entry.is_tested


def _contained(
    known: Snapshot, answers: Mapping[str, PlainAnswer], consequences: Consequences
) -> _Contained:
    """The clauses that known cells contain, whatever these came to; of most that is none."""
    locked = sorted(cell for cell, answer in answers.items() if answer.outcome == LOCKED)
    beside = (entry for cell in locked if (entry := known.by_id.get(cell)) is not None)
    planned = {e.cell.id: e.cell for e in (*known.known, *beside) if e.planned}
    every = ((cell_id, *consequences.contained(cell)) for cell_id, cell in planned.items())
    return {cell: (*conflicts, *files) for cell, conflicts, files in every if conflicts or files}


def _disproofs(
    known: Snapshot, answers: Mapping[str, PlainAnswer], contained: _Contained
) -> Iterator[Disproof]:
    disproved: set[Clause | FileClause] = set()
    for cell, clauses in contained.items():
        answer, reached = answers.get(cell), _reached(known.by_id[cell])
        if answer is not None and answer.outcome == LOCKED:
            reached.append((answer.on, STAGES.index("install")))
        for day, stage in reached:
            for clause in sorted(clauses, key=str):
                is_later = clause.on <= day and stage > _stage_of(clause)
                if is_later and clause not in disproved:
                    disproved.add(clause)
                    yield Disproof(clause=clause, cell=cell, on=day)


def _stage_of(clause: Clause | FileClause) -> int:
    return STAGES.index("lock" if isinstance(clause, Clause) else "import")


def _reached(entry: Answer) -> list[tuple[datetime.date, int]]:
    """The day of each run of a lock that counts, and the number of the stage that it reached."""
    return [
        (counted.run.started.date(), max(map(_stage, counted.outcomes)))
        for counted in entry.counted
        if counted.run.lock_digest
    ]


def _stage(outcome: Outcome) -> int:
    """The number of the stage in which a run failed; of one that passed, one more than there
    are.
    """
    return STAGES.index(outcome.stage) if isinstance(outcome, Failed) else len(STAGES)


def _by_clause(clause: Clause) -> KnownRefusal:
    return KnownRefusal(
        outcome=clause.failed,
        because=clause.because,
        on=clause.on,
        ground="clause",
        witness=clause.cell,
        facts=clause.facts,
    )


def _by_file(clause: FileClause) -> KnownRefusal:
    return KnownRefusal(
        outcome=clause.failed,
        because=f"it works in {clause.works}",
        on=clause.on,
        ground="file",
        witness=clause.cell,
        facts=(clause.path,),
    )
