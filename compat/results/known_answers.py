"""Which cells are known to be refused though nothing of them ran: those that a resolver refused,
and those that contain a clause.
"""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from compat.lock.demands import Demands
from compat.results.clauses import Clause, ClauseBook
from compat.results.plain_answers import KnownRefusal, PlainAnswer
from compat.results.planned_entries import PlannedEntries
from compat.results.snapshot import Entry, Snapshot
from compat.results.verdict import verdict_of
from compat.run.outcome import is_spurious


def with_answers(
    known: Snapshot, answers: Mapping[str, PlainAnswer], clauses: Iterable[Clause] = ()
) -> Snapshot:
    """Return the snapshot with what resolvers had said by its day, by cell, and what follows from
    the clauses that were known then.
    """
    on_day = {cell: answer for cell, answer in answers.items() if answer.on <= known.day}
    book = ClauseBook(clause for clause in clauses if clause.on <= known.day)
    if not on_day and not book.clauses:
        return known
    refusal_of = refusals(known, on_day, book)

    def refused(entry: Entry) -> Entry:
        return _refused(known, entry, refusal_of(entry))

    entries = known.entries
    changed = (
        entries.mapped(refused) if isinstance(entries, PlannedEntries) else map(refused, entries)
    )
    return Snapshot(known.ask, known.catalogue, changed, known.present, on_day)


def _refused(known: Snapshot, entry: Entry, refusal: KnownRefusal | None) -> Entry:
    if refusal is None:
        return entry
    cell, lock_digest = entry.cell.id, entry.lock_digest
    present = known.attribution.context(entry.cell, known.present)
    verdict = verdict_of(cell, entry.history, present, lock_digest, entry.obstacle, refusal)
    return msgspec.structs.replace(entry, refusal=refusal, verdict=verdict)


def refusals(
    known: Snapshot, answers: Mapping[str, PlainAnswer], book: ClauseBook
) -> Callable[[Entry], KnownRefusal | None]:
    """Return what tells of an entry what is known against its cell.

    A refusal that says something about our builds alone, such as one for want of a build, is none.
    A clause speaks only of cells that the plan leaves open, that nobody asked about, and of which
    no run counts.
    """
    asked = {cell: refusal for cell, answer in answers.items() if (refusal := _of(answer))}
    interpreters = known.matrix.interpreters.name
    demands = Demands(known.feasibility) if book.clauses else None

    def refusal_of(entry: Entry) -> KnownRefusal | None:
        cell = entry.cell
        if demands is None or cell.id in asked:
            return asked.get(cell.id)
        if not entry.planned or entry.obstacle is not None or entry.is_tested:
            return None
        answer = answers.get(cell.id)
        if answer is not None and answer.refusal is None:
            return None
        clauses = book.answer(demands.of(cell), str(cell.on(interpreters).version))
        return refusal_by(clauses[0]) if clauses else None

    return refusal_of


def refusal_by(clause: Clause) -> KnownRefusal:
    """Return what a clause says against each cell that contains it."""
    return KnownRefusal(
        outcome=clause.failed,
        because=clause.because,
        on=clause.on,
        ground="clause",
        witness=clause.cell,
        facts=clause.facts,
    )


def _of(answer: PlainAnswer) -> KnownRefusal | None:
    refusal = answer.refusal
    if refusal is None or is_spurious(refusal):
        return None
    return KnownRefusal(
        outcome=refusal,
        because=answer.because,
        on=answer.on,
        ground="asked",
        witness=answer.cell,
    )
