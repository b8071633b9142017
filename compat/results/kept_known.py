"""The entries of all known cells of a matrix, kept in one piece: a question about all of them must
not judge each of them anew.

They are kept beside the runs under the digest of all that they follow from, so that whatever
changes takes away the whole. Nothing is lost with it.
"""

import datetime
import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Generic, Protocol, TypeVar

import msgspec

from compat.plan.cell import Cell, readable_cell
from compat.plan.kept_plan import PlannedFates
from compat.plan.plan import Infeasible
from compat.results.entry import Entry
from compat.results.plain_answers import KnownRefusal
from compat.results.planned_entries import KnownKeeper
from compat.results.ran import Ran
from compat.results.record import Capability
from compat.results.run_group import Kind
from compat.results.run_overview import RunOverview
from compat.results.score import CapabilityFault, Score
from compat.results.verdict import EvidenceKind, History, Verdict
from compat.run.outcome import Failed, Passed
from compat.value import Value

T = TypeVar("T", bound=Hashable)
KIND = "known"
# No cell has this id: what is kept under it speaks of all.
_ALL = ""
# The entries of so many are read in less time than one of them is judged.
_FEW = 5_000
_NO_OUTCOME, _PASSED, _FIRST_FAILED = range(3)


class _KeptEntry(Value, frozen=True, array_like=True):
    """An entry in little room. `place` is the number of the cell's slot in the plan, or its id
    where the plan has none; other numbers are places in what entries share.
    """

    place: int | str
    lock_digest: str | None
    is_unchanged: bool
    refusal: KnownRefusal | None
    overview: RunOverview | None
    kind: Kind
    evidence: EvidenceKind
    outcome: int
    since: datetime.date | None
    latest: datetime.date | None
    stale: bool
    capabilities: int
    faults: int
    changing: tuple[str, ...]
    blocked_by: str
    score: int
    helpers: int
    reasons: tuple[str, ...]
    expected: Kind | None


class _KeptEntries(Value, frozen=True, array_like=True):
    """The entries, and what they share."""

    entries: tuple[_KeptEntry, ...]
    outcomes: tuple[Failed, ...]
    capabilities: tuple[tuple[Capability, ...], ...]
    faults: tuple[tuple[CapabilityFault, ...], ...]
    scores: tuple[Score, ...]


class _Shared(Generic[T]):
    """What entries share, numbered as it comes; what is the same object is compared once."""

    def __init__(self) -> None:
        self._by_identity: dict[int, tuple[T, int]] = {}
        self.numbers: dict[T, int] = {}

    def number(self, shared: T) -> int:
        known = self._by_identity.get(id(shared))
        if known is None:
            number = self.numbers.setdefault(shared, len(self.numbers))
            known = self._by_identity[id(shared)] = shared, number
        return known[1]

    @property
    def every(self) -> tuple[T, ...]:
        return tuple(self.numbers)


class KeptRuns(Protocol):
    """The runs of each cell, and where facts are kept beside them; see `RunsByCell`."""

    @property
    def changes(self) -> int:
        """How often the runs have changed."""

    def __len__(self) -> int:
        """Return how many cells have runs."""

    def get(self, cell: str, default: tuple[()]) -> Sequence[Ran]:
        """Return the runs of a cell."""

    def kept_of(self, kind: str, cell: str) -> tuple[bytes, bytes] | None:
        """Return what is kept of that kind of one cell."""

    def keep(self, kind: str, facts: Sequence[tuple[str, bytes, bytes]]) -> None:
        """Keep facts, each with the digest of what it follows from."""


class KeptKnown(KnownKeeper):
    """The entries of all known cells, as far as they are kept."""

    def __init__(
        self,
        fates: PlannedFates,
        runs: KeptRuns,
        day: datetime.date,
        sources: Callable[[], Iterable[bytes]],
    ) -> None:
        self.fates = fates
        self._runs = runs
        self._day = day
        self._sources = sources

    @cached_property
    def _digest(self) -> bytes:
        digest = hashlib.blake2b(digest_size=16)
        for source in (f"{self._day} {self._runs.changes}".encode(), *self._sources()):
            digest.update(hashlib.blake2b(source).digest())
        return digest.digest()

    @cached_property
    def entries(self) -> Mapping[int | str, Entry] | None:
        """The entries in their order, by the number of their slot, or by the id of a cell outside
        the plan; None where they are not kept.
        """
        digest, body = self._runs.kept_of(KIND, _ALL) or (b"", b"")
        return self._decoded(_decoder.decode(body)) if digest == self._digest else None

    @property
    def at_hand(self) -> Mapping[int | str, Entry] | None:
        """The same where they are read already, or that takes no time."""
        is_read = "entries" in self.__dict__
        return self.entries if is_read or len(self._runs) <= _FEW else None

    def keep(self, entries: Iterable[Entry]) -> None:
        """Keep the entries of all known cells."""
        body = msgspec.msgpack.encode(self._encoded(entries))
        self._runs.keep(KIND, [(_ALL, self._digest, body)])

    def of(self, kind: str, make: Callable[[], bytes]) -> bytes:
        """Return what `make` returns, which must follow from what is known alone: as it is kept
        under that name, else made now and kept.
        """
        digest, body = self._runs.kept_of(kind, _ALL) or (b"", b"")
        if digest != self._digest:
            body = make()
            self._runs.keep(kind, [(_ALL, self._digest, body)])
        return body

    def _encoded(self, entries: Iterable[Entry]) -> _KeptEntries:
        outcomes: _Shared[Failed] = _Shared()
        capabilities: _Shared[tuple[Capability, ...]] = _Shared()
        faults: _Shared[tuple[CapabilityFault, ...]] = _Shared()
        scores: _Shared[Score] = _Shared()

        def kept(entry: Entry) -> _KeptEntry:
            verdict = entry.verdict
            outcome = _PASSED if isinstance(verdict.outcome, Passed) else _NO_OUTCOME
            if isinstance(verdict.outcome, Failed):
                outcome = _FIRST_FAILED + outcomes.number(verdict.outcome)
            return _KeptEntry(
                place=self.fates.place(entry.cell.id),
                lock_digest=entry.lock_digest,
                is_unchanged=entry.is_unchanged,
                refusal=entry.refusal,
                overview=entry.overview,
                kind=verdict.kind,
                evidence=verdict.evidence,
                outcome=outcome,
                since=verdict.since,
                latest=verdict.latest,
                stale=verdict.stale,
                capabilities=capabilities.number(verdict.capabilities),
                faults=faults.number(verdict.faults),
                changing=verdict.changing,
                blocked_by=verdict.blocked_by,
                score=scores.number(verdict.score),
                helpers=capabilities.number(verdict.helpers),
                reasons=verdict.reasons,
                expected=verdict.expected,
            )

        every = tuple(map(kept, entries))
        return _KeptEntries(every, outcomes.every, capabilities.every, faults.every, scores.every)

    def _decoded(self, kept: _KeptEntries) -> dict[int | str, Entry]:
        outcomes = (None, Passed(), *kept.outcomes)
        capabilities, faults, scores = kept.capabilities, kept.faults, kept.scores

        def entry_of(kept_entry: _KeptEntry) -> Entry:
            place, obstacle = kept_entry.place, None
            cell: Cell | None
            if isinstance(place, int):
                fate = self.fates.fate(place)
                cell = fate.cell
                obstacle = fate.obstacle if isinstance(fate, Infeasible) else None
            else:
                cell = readable_cell(place, self.fates.matrix)
                assert cell is not None, "an entry was made of it"
            runs = self._runs.get(cell.id, ())
            verdict = Verdict(
                cell=cell.id,
                kind=kept_entry.kind,
                evidence=kept_entry.evidence,
                outcome=outcomes[kept_entry.outcome],
                since=kept_entry.since,
                latest=kept_entry.latest,
                stale=kept_entry.stale,
                capabilities=capabilities[kept_entry.capabilities],
                faults=faults[kept_entry.faults],
                changing=kept_entry.changing,
                blocked_by=kept_entry.blocked_by,
                score=scores[kept_entry.score],
                helpers=capabilities[kept_entry.helpers],
                reasons=kept_entry.reasons,
                expected=kept_entry.expected,
            )
            return Entry(
                cell=cell,
                verdict=verdict,
                obstacle=obstacle,
                lock_digest=kept_entry.lock_digest,
                runs=runs,
                history=History(runs, self._day),
                overview=kept_entry.overview,
                refusal=kept_entry.refusal,
                planned=isinstance(place, int),
                is_unchanged=kept_entry.is_unchanged,
            )

        return {kept_entry.place: entry_of(kept_entry) for kept_entry in kept.entries}


_decoder = msgspec.msgpack.Decoder(_KeptEntries)
