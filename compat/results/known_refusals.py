"""Which fresh cells are known to be refused: those that a resolver refused, and those whose release
requires the very pin for which it refused another one.
"""

from collections.abc import Iterable, Mapping

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import Matrix
from compat.errors import UsageError
from compat.plan.cell import Cell, parse_cell
from compat.plan.feasible import Feasibility
from compat.results.plain_answers import KnownRefusal, PlainAnswer
from compat.results.snapshot import Entry, Snapshot
from compat.results.verdict import verdict_of
from compat.run.outcome import is_spurious

# On a Python, the exact requirement that cannot be had there, and the answer that says so.
_Lost = dict[tuple[Version, str, SpecifierSet], PlainAnswer]


def with_answers(known: Snapshot, answers: Mapping[str, PlainAnswer]) -> Snapshot:
    """Return the snapshot with what resolvers had said of plain installs on its day, by cell."""
    on_day = {cell: answer for cell, answer in answers.items() if answer.on <= known.day}
    if not on_day:
        return known
    refusals = known_refusals(known, on_day)
    entries = (_refused(known, entry, refusals.get(entry.cell.id)) for entry in known.entries)
    return Snapshot(known.ask, known.catalogue, entries, known.present, on_day)


def _refused(known: Snapshot, entry: Entry, refusal: KnownRefusal | None) -> Entry:
    if refusal is None:
        return entry
    cell, lock_digest = entry.cell.id, entry.lock_digest
    present = known.attribution.context(entry.cell, known.present)
    verdict = verdict_of(cell, entry.history, present, lock_digest, entry.obstacle, refusal)
    return msgspec.structs.replace(entry, refusal=refusal, verdict=verdict)


def known_refusals(known: Snapshot, answers: Mapping[str, PlainAnswer]) -> dict[str, KnownRefusal]:
    """Return what is known against fresh cells, by id.

    A refusal that says something about our builds alone, such as one for want of a build, is none.
    Of another cell's refusal only that of an exact pin counts, on the same Python, and only against
    a cell whose every installable release publishes that pin.
    """
    asked = {cell: refusal for cell, answer in answers.items() if (refusal := _of(answer))}
    lost = _lost_pins(known.matrix, (answers[cell] for cell in asked))
    unasked = (
        entry.cell
        for entry in known.entries
        if entry.planned
        and entry.obstacle is None
        and entry.cell.recipe == "fresh"
        and entry.cell.id not in answers
    )
    inferred = {
        cell.id: refusal
        for cell in (unasked if lost else ())
        if (refusal := _by_pin(known.feasibility, cell, lost))
    }
    return asked | inferred


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


def _lost_pins(matrix: Matrix, answers: Iterable[PlainAnswer]) -> _Lost:
    lost: _Lost = {}
    for answer in sorted(answers, key=lambda answer: (answer.on, answer.cell)):
        refusal = answer.refusal
        if refusal is None or refusal.cause != "no-artifact":
            continue
        try:
            requirement = Requirement(refusal.subject)
            python = parse_cell(answer.cell, matrix).on(matrix.interpreters.name).version
        except (InvalidRequirement, UsageError):
            continue
        clauses = list(requirement.specifier)
        if [clause.operator for clause in clauses] == ["=="]:
            name = canonicalize_name(requirement.name)
            lost[python, name, requirement.specifier] = answer
    return lost


def _by_pin(facts: Feasibility, cell: Cell, lost: _Lost) -> KnownRefusal | None:
    """The refusal of a cell that nobody asked about, by a pin that each of its releases has."""
    python = cell.on(facts.matrix.interpreters.name).version
    releases = facts.usable(cell, facts.matrix.subject_axis)
    required = [
        {(python, asked.name, asked.specifier) for asked in facts.requirements(r.version, python)}
        for r in releases
    ]
    shared = set.intersection(*required) if required else set()
    for pin in sorted(lost.keys() & shared, key=str):
        answer = lost[pin]
        refusal = answer.refusal
        if refusal is not None:
            return KnownRefusal(
                outcome=refusal,
                because=answer.because,
                on=answer.on,
                ground="same-pin",
                witness=answer.cell,
            )
    return None
