"""Clauses: the smallest sets of facts that cannot be locked together, as values and as the text of
the one file that keeps them; and which of them answers a cell.

As a solver keeps the clause of a conflict (Marques-Silva and Sakallah, "GRASP", IEEE Transactions
on Computers 48, 1999), each answers every cell that contains it, whatever else that cell asks.
"""

import datetime
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Annotated

import msgspec

from compat.declare.matrix import Matrix
from compat.errors import DeclarationError
from compat.lock.demands import Facts, is_fact
from compat.results.record import is_cell_id
from compat.run.outcome import Failed, is_spurious, parse_outcome
from compat.value import StrictValue

CLAUSES_FORMAT = 1

_Words = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
_Facts = Annotated[tuple[_Words, ...], msgspec.Meta(min_length=1, max_length=100)]
_Series = Annotated[str, msgspec.Meta(pattern=r"^\d+\.\d+$")]
_Pythons = Annotated[tuple[_Series, ...], msgspec.Meta(min_length=1, max_length=50)]


class Clause(StrictValue, frozen=True, kw_only=True):
    """Facts that no resolver could lock together, on each of these Python series, on that day.

    None of the facts can be left out. `facts` are those of `lock/demands.py`, sorted; `cell` is the
    one that was asked about when this was learnt. `outcome` and `because` are what the resolver
    said of these facts alone.
    """

    facts: _Facts
    pythons: _Pythons
    outcome: _Words
    because: _Words
    cell: str
    on: datetime.date

    @property
    def failed(self) -> Failed:
        """The outcome, as a value."""
        outcome = parse_outcome(self.outcome)
        assert isinstance(outcome, Failed), "a clause is of a refusal"
        return outcome

    @property
    def sentence(self) -> str:
        """From what is known that a cell cannot be locked, in one sentence."""
        facts = " and ".join(self.facts)
        asked = "requires what cannot be had" if len(self.facts) == 1 else "cannot all be had"
        return (
            f"{asked} on Python {', '.join(self.pythons)}: {facts}; a resolver said so of"
            f" {self.cell} on {self.on}: {self.because}"
        )


class ClauseBook:
    """Clauses, ready to be asked about many cells."""

    def __init__(self, clauses: Iterable[Clause] = ()) -> None:
        """Take the clauses; of those with the same facts the Pythons are put together."""
        self.clauses = united(clauses)
        often = Counter(fact for clause in self.clauses for fact in clause.facts)
        self._by_rarest: dict[str, list[tuple[Facts, Clause]]] = defaultdict(list)
        for clause in self.clauses:
            rarest = min(clause.facts, key=lambda fact: (often[fact], fact))
            self._by_rarest[rarest].append((frozenset(clause.facts), clause))

    def answer(self, sets: Iterable[Facts], python: str) -> tuple[Clause, ...]:
        """Return a clause for each of these sets of facts; none where one of them has no clause.

        A cell has a set for each release of the subject that a resolver could take.
        """
        answers = [self._of(facts, python) for facts in sets]
        clauses = tuple(clause for clause in answers if clause is not None)
        return clauses if len(clauses) == len(answers) else ()

    def _of(self, facts: Facts, python: str) -> Clause | None:
        """The clause with the fewest facts that these contain, the first by their order; one for
        want of a build only where there is no other.
        """
        contained = [
            clause
            for fact in facts & self._by_rarest.keys()
            for needed, clause in self._by_rarest[fact]
            if python in clause.pythons and needed <= facts
        ]
        return min(
            contained,
            key=lambda clause: (is_spurious(clause.failed), len(clause.facts), clause.facts),
            default=None,
        )


def united(clauses: Iterable[Clause]) -> tuple[Clause, ...]:
    """Return the clauses sorted by their facts; those of the same facts and outcome as one.

    What it says of cell, day and words is of the one that was learnt first.
    """
    alike: dict[tuple[tuple[str, ...], str], list[Clause]] = defaultdict(list)
    for clause in clauses:
        alike[clause.facts, clause.outcome].append(clause)
    return tuple(_united(alike[key]) for key in sorted(alike))


def _united(clauses: list[Clause]) -> Clause:
    first = min(clauses, key=lambda clause: (clause.on, clause.cell))
    pythons = sorted({p for clause in clauses for p in clause.pythons}, key=_series)
    return msgspec.structs.replace(first, pythons=tuple(pythons))


def _series(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


class _KeptClauses(StrictValue, frozen=True, kw_only=True):
    """What they hold for: on another platform, or with more builds, more can be locked."""

    format: Annotated[int, msgspec.Meta(ge=CLAUSES_FORMAT, le=CLAUSES_FORMAT)]
    platform: str
    builds: tuple[str, ...]
    clauses: tuple[Clause, ...]


def encode_clauses(clauses: Iterable[Clause], matrix: Matrix) -> str:
    """Return the text of the clauses of a matrix: one a line, sorted by their facts."""
    lines = ",\n".join(msgspec.json.encode(clause).decode() for clause in united(clauses))
    builds = msgspec.json.encode(sorted(matrix.builds)).decode()
    platform = msgspec.json.encode(matrix.platform).decode()
    head = f'{{"format": {CLAUSES_FORMAT}, "platform": {platform},\n"builds": {builds},\n'
    return f'{head}"clauses": [\n{lines}\n]}}\n'


def decode_clauses(text: str, source: str, matrix: Matrix) -> tuple[Clause, ...]:
    """Return the clauses of the text; none where they were learnt for another platform, or with
    fewer builds from source.

    Raises DeclarationError, naming `source`, when the text has something else.
    """
    try:
        document = msgspec.json.decode(text, type=_KeptClauses)
        for clause in document.clauses:
            _refuse_unsound_clause(clause)
        keys = [(clause.facts, clause.outcome) for clause in document.clauses]
        if keys != sorted(set(keys)):
            raise ValueError("clauses must stand in the order of their facts, each once")
    except (ValueError, RecursionError) as fault:
        hint = "compat learn MATRIX makes it anew once it is deleted"
        raise DeclarationError.of(f"has no clauses: {fault}", path=source, hint=hint) from None
    is_same = document.platform == matrix.platform and set(matrix.builds) <= set(document.builds)
    return document.clauses if is_same else ()


def _refuse_unsound_clause(clause: Clause) -> None:
    """Raise ValueError for what the types cannot say."""
    if not is_cell_id(clause.cell):
        raise ValueError(f"{clause.cell[:80]!r} is not the id of a cell")
    wrong = next((fact for fact in clause.facts if not is_fact(fact)), None)
    if wrong is not None:
        raise ValueError(f"{clause.cell}: {wrong[:80]!r} is not a fact")
    if list(clause.facts) != sorted(set(clause.facts)):
        raise ValueError(f"{clause.cell}: facts must be sorted, each once")
    if list(clause.pythons) != sorted(set(clause.pythons), key=_series):
        raise ValueError(f"{clause.cell}: Pythons must be sorted, each once")
    outcome = parse_outcome(clause.outcome)
    if not isinstance(outcome, Failed) or outcome.stage != "lock":
        raise ValueError(f"{clause.cell}: no resolver comes to {clause.outcome[:80]}")
