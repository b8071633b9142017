"""Clauses: the smallest sets of facts that cannot be locked together, their text in one file, and
which of them answers a cell.

As a solver stores the clause of a conflict (Marques-Silva and Sakallah, "GRASP", IEEE Transactions
on Computers 48, 1999), each answers every cell that contains it, whatever its other facts.
"""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import msgspec
from packaging.version import Version

from compat.declare.matrix import Matrix
from compat.errors import DeclarationError
from compat.results.record import is_cell_id
from compat.run.outcome import Failed, Stage, is_spurious, parse_outcome
from compat.value import StrictValue, encode

# The code that computes the facts of cells is imported only where needed: reading clauses does not
# need it.
if TYPE_CHECKING:
    from compat.lock.demands import Facts

CLAUSES_FORMAT = 1

_Words = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
_Facts = Annotated[tuple[_Words, ...], msgspec.Meta(min_length=1, max_length=100)]
_Series = Annotated[str, msgspec.Meta(pattern=r"^\d+\.\d+$")]
_Pythons = Annotated[tuple[_Series, ...], msgspec.Meta(min_length=1, max_length=50)]


class Clause(StrictValue, frozen=True, kw_only=True):
    """Facts that no resolver could lock together, on each of these Python series, on that day.

    None of the facts can be left out. `facts` are those of `lock/demands.py`, sorted; `cell` is the
    one from which this was learnt. `outcome` and `because` are the resolver's for these facts
    alone.
    """

    facts: _Facts
    pythons: _Pythons
    outcome: _Words
    because: _Words
    cell: str
    on: datetime.date

    @property
    def failed(self) -> Failed:
        return _failed(self.outcome)


class FileClause(StrictValue, frozen=True, kw_only=True):
    """A line of a file that fails at import on these Python series, in every release with the file.

    `sha256` is as in a wheel's RECORD; `releases` are those of the subject whose wheel has it.
    `cell` failed with `outcome`; `works`, with a newer Python alone, got past the import.
    """

    path: _Words
    sha256: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{43}$")]
    releases: Annotated[tuple[_Words, ...], msgspec.Meta(min_length=1, max_length=1000)]
    pythons: _Pythons
    outcome: _Words
    cell: str
    works: str
    on: datetime.date

    @property
    def failed(self) -> Failed:
        return _failed(self.outcome)


class KeptClauses(StrictValue, frozen=True, kw_only=True):
    """All clauses of a matrix: sets of facts that cannot be locked, and files that fail."""

    conflicts: tuple[Clause, ...] = ()
    files: tuple[FileClause, ...] = ()

    def without(self, disproofs: Iterable[Disproof]) -> KeptClauses:
        gone = {disproof.clause for disproof in disproofs}
        return self._those(lambda clause: clause not in gone)

    def until(self, day: datetime.date) -> KeptClauses:
        return self._those(lambda clause: clause.on <= day)

    def _those(self, holds: Callable[[Clause | FileClause], bool]) -> KeptClauses:
        return KeptClauses(
            conflicts=tuple(filter(holds, self.conflicts)), files=tuple(filter(holds, self.files))
        )


class Disproof(StrictValue, frozen=True, kw_only=True):
    """A clause, and a cell that contains it but did not fail by it, on a later day."""

    clause: Clause | FileClause
    cell: str
    on: datetime.date


class ClauseBook:
    """Clauses, indexed for many cells."""

    def __init__(self, clauses: Iterable[Clause] = ()) -> None:
        """Merges the Pythons of clauses with the same facts."""
        self.clauses = united(clauses)
        often = Counter(fact for clause in self.clauses for fact in clause.facts)
        self._by_rarest: dict[str, list[tuple[Facts, Clause]]] = defaultdict(list)
        for clause in self.clauses:
            rarest = min(clause.facts, key=lambda fact: (often[fact], fact))
            self._by_rarest[rarest].append((frozenset(clause.facts), clause))

    def answer(self, sets: Iterable[Facts], python: str) -> tuple[Clause, ...]:
        """A cell has a set for each release of the subject that a resolver could take."""
        # The one with the fewest facts, the first by their order; one of a missing build only where
        # there is no other.
        answers = [
            min(
                self._all_of(facts, python),
                key=lambda clause: (is_spurious(clause.failed), len(clause.facts), clause.facts),
                default=None,
            )
            for facts in sets
        ]
        clauses = tuple(filter(None, answers))
        return clauses if len(clauses) == len(answers) else ()

    def contained(self, sets: Iterable[Facts], python: str) -> frozenset[Clause]:
        each = [frozenset(self._all_of(facts, python)) for facts in sets]
        return frozenset.intersection(*each) if each else frozenset()

    def _all_of(self, facts: Facts, python: str) -> Iterator[Clause]:
        for fact in facts & self._by_rarest.keys():
            for needed, clause in self._by_rarest[fact]:
                if python in clause.pythons and needed <= facts:
                    yield clause


def united(clauses: Iterable[Clause]) -> tuple[Clause, ...]:
    """Cell, day and text are those of the one that was learnt first."""
    alike: dict[tuple[tuple[str, ...], str], list[Clause]] = defaultdict(list)
    for clause in clauses:
        alike[clause.facts, clause.outcome].append(clause)
    every = []
    for _, own in sorted(alike.items()):
        first = min(own, key=lambda clause: (clause.on, clause.cell))
        pythons = sorted({p for clause in own for p in clause.pythons}, key=Version)
        every.append(msgspec.structs.replace(first, pythons=tuple(pythons)))
    return tuple(every)


class _KeptText(StrictValue, frozen=True, kw_only=True):
    """The premises of clauses, and these. A file without `replaced` has today's."""

    format: Annotated[int, msgspec.Meta(ge=CLAUSES_FORMAT, le=CLAUSES_FORMAT)]
    platform: str
    builds: tuple[str, ...]
    replaced: tuple[str, ...] | None = None
    clauses: tuple[Clause, ...]
    files: tuple[FileClause, ...] = ()


def encode_clauses(clauses: KeptClauses, matrix: Matrix) -> str:
    from compat.lock.demands import replaceable

    files = sorted(clauses.files, key=_file_key)
    head = {
        "format": CLAUSES_FORMAT,
        "platform": matrix.platform,
        "builds": sorted(matrix.builds),
        "replaced": replaceable(matrix),
    }
    conflicts = ",\n".join(encode(clause).decode() for clause in united(clauses.conflicts))
    of_files = ",\n".join(encode(clause).decode() for clause in files)
    begin = encode(head).decode().removesuffix("}")
    return f'{begin},\n"clauses": [\n{conflicts}\n],\n"files": [\n{of_files}\n]}}\n'


def decode_clauses(text: str, source: str, matrix: Matrix) -> KeptClauses:
    """Leaves out conflicts of another platform, or with fewer builds. Raises DeclarationError."""
    from compat.lock.demands import (
        as_asked,
        is_fact,
        is_requirement,
        package_of_fact,
        replaceable,
    )

    with refused(source, "clauses"):
        document = msgspec.json.decode(text, type=_KeptText)
        for clause in document.clauses:
            _refuse_unsound(clause, "lock", clause.cell)
            wrong = next((fact for fact in clause.facts if not is_fact(fact)), None)
            if wrong is not None:
                raise ValueError(f"{clause.cell}: {wrong[:80]!r} is not a fact")
            if list(clause.facts) != sorted(set(clause.facts)):
                raise ValueError(f"{clause.cell}: facts must be sorted, each once")
        for file in document.files:
            _refuse_unsound(file, "import", file.cell, file.works)
            if file.failed.place.rpartition(":")[0] != file.path:
                raise ValueError(f"{file.cell}: {file.outcome[:80]} is not in {file.path[:80]}")
            releases = list(map(Version, file.releases))
            if releases != sorted(set(releases)):
                raise ValueError(f"{file.cell}: releases must be sorted, each once")
        keys = [(clause.facts, clause.outcome) for clause in document.clauses]
        file_keys = [_file_key(file) for file in document.files]
        if keys != sorted(set(keys)) or file_keys != sorted(set(file_keys)):
            raise ValueError("clauses must stand in order, each once")
    if document.platform != matrix.platform or not set(matrix.builds) <= set(document.builds):
        return KeptClauses(files=document.files)
    conflicts = document.clauses
    if document.replaced is not None:
        replaced_since, now = {*replaceable(matrix)}.difference(document.replaced), list[Clause]()
        for clause in conflicts if replaced_since else ():
            spoken = {package_of_fact(fact) for fact in clause.facts if not is_requirement(fact)}
            facts = {*clause.facts, *map(as_asked, replaced_since - spoken)}
            now.append(msgspec.structs.replace(clause, facts=tuple(sorted(facts))))
        conflicts = united(now) if replaced_since else conflicts
        # A package that no rule replaces any more is unreplaced in every cell.
        always = {*map(as_asked, {*document.replaced}.difference(replaceable(matrix)))}
        conflicts = united(
            msgspec.structs.replace(c, facts=tuple(f for f in c.facts if f not in always))
            for c in conflicts
        )
    return KeptClauses(conflicts=conflicts, files=document.files)


@contextmanager
def refused(source: str, what: str, command: str = "run MATRIX --budget 20m") -> Iterator[None]:
    try:
        yield
    except (ValueError, RecursionError) as fault:
        hint = f"compat {command} makes it again once it is deleted"
        raise DeclarationError.of(f"has no {what}: {fault}", path=source, hint=hint) from fault


def _failed(text: str) -> Failed:
    outcome = parse_outcome(text)
    assert isinstance(outcome, Failed), "a clause is of a failure"
    return outcome


def _file_key(clause: FileClause) -> tuple[str, str]:
    return clause.path, clause.sha256


def _refuse_unsound(clause: Clause | FileClause, stage: Stage, *cells: str) -> None:
    wrong = next((cell for cell in cells if not is_cell_id(cell)), None)
    if wrong is not None:
        raise ValueError(f"{wrong[:80]!r} is not the id of a cell")
    if list(clause.pythons) != sorted(set(clause.pythons), key=Version):
        raise ValueError(f"{clause.cell}: Pythons must be sorted, each once")
    outcome = parse_outcome(clause.outcome)
    if not isinstance(outcome, Failed) or outcome.stage != stage:
        who = "resolver" if stage == "lock" else "import"
        raise ValueError(f"{clause.cell}: no {who} reports {clause.outcome[:80]}")
