"""The verdicts of cells, kept in the index beside their runs: a cell of which nothing has changed
is not judged again.

A verdict is kept under the digest of all that it follows from besides the runs, and goes with them:
whatever writes a cell's runs takes away what is kept of it. Nothing is lost with it.
"""

import datetime
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from compat.plan.obstacle import Obstacle
from compat.results.record import Capability
from compat.results.run_group import Kind
from compat.results.run_row import RunFacts, RunRow
from compat.results.score import CapabilityFault, Score
from compat.results.verdict import EvaluationContext, EvidenceKind, History, Verdict
from compat.run.outcome import Failed, Passed
from compat.value import Value

# What is judged is written by so many at a time; what remains is quickly judged again.
_TOGETHER = 500
# So many are judged in less time than all that is kept is read.
_FEW = 500
# By the id of a cell: the digest of what it follows from, and what follows.
KeptFacts = Mapping[str, tuple[bytes, bytes]]

# Returns what the last argument would, where it is kept: see `KeptVerdicts.of`.
Judge = Callable[
    [str, History, EvaluationContext, tuple[str | None, Obstacle | None], Callable[[], Verdict]],
    Verdict,
]


class FactKeeper(Protocol):
    """Where facts about cells are kept as long as nothing is written of their runs."""

    def kept(self, kind: str) -> KeptFacts:
        """Return what is kept of that kind."""

    def keep(self, kind: str, facts: Sequence[tuple[str, bytes, bytes]]) -> None:
        """Keep facts, each with its cell and the digest of what it follows from."""

    def told(self, number: int) -> RunFacts:
        """Return what runs were told, by its number."""


class _KeptVerdict(Value, frozen=True, array_like=True):
    """A verdict in little room, with the days on which it holds. `told` is the number of what the
    run came to from which it has its capabilities.
    """

    first: datetime.date
    last: datetime.date
    kind: Kind
    evidence: EvidenceKind
    failed: Failed | None
    since: datetime.date
    latest: datetime.date
    stale: bool
    told: int
    faults: tuple[CapabilityFault, ...]
    changing: tuple[str, ...]
    score: Score
    reasons: tuple[str, ...]


class KeptVerdicts:
    """The verdicts of cells on which runs count, as far as they are kept."""

    def __init__(self, keeper: FactKeeper, code: bytes, present: EvaluationContext) -> None:
        """Take where they are kept, the code that they follow from, and what holds for all cells on
        any day.
        """
        self._keeper = keeper
        self._helpers = present.helpers
        asked, helpers = sorted(present.asked), sorted(present.helpers)
        sources = (present.suite_digest, present.fresh_days, asked, helpers)
        self._base = hashlib.blake2b(code + msgspec.msgpack.encode(sources)).digest()
        self._questions = 0
        self._kept: dict[str, KeptFacts] = {}
        self._new: dict[str, list[tuple[str, bytes, bytes]]] = {}
        self._faults: dict[int, tuple[tuple[CapabilityFault, ...], bytes]] = {}
        self._capabilities: dict[int, tuple[tuple[Capability, ...], ...]] = {}

    def of(
        self,
        kind: str,
        history: History,
        present: EvaluationContext,
        beside: tuple[str | None, Obstacle | None],
        judge: Callable[[], Verdict],
    ) -> Verdict:
        """Return what the function would, of the history that all runs of one cell make; `beside`
        is its lock's digest and its obstacle.
        """
        self._questions += 1
        run = history.deciding[-1].run if history.counted else None
        if not isinstance(run, RunRow) or self._questions <= _FEW:
            return judge()
        if kind not in self._kept:
            self._kept[kind] = self._keeper.kept(kind)
        key = hashlib.blake2b(self._with_faults(present.faults), digest_size=16)
        key.update(msgspec.msgpack.encode(beside))
        digest, body = self._kept[kind].get(run.cell, (b"", b""))
        if digest == key.digest():
            known = _decoder.decode(body)
            if known.first <= present.day <= known.last:
                return self._verdict(run.cell, known)
        verdict = judge()
        new = self._new.setdefault(kind, [])
        new.append((run.cell, key.digest(), _encoded(verdict, present, run)))
        if len(new) >= _TOGETHER:
            self._keeper.keep(kind, new)
            new.clear()
        return verdict

    def _with_faults(self, faults: tuple[CapabilityFault, ...]) -> bytes:
        """The digest of what holds for all cells of a release; they share their faults."""
        known = self._faults.get(id(faults))
        if known is None:
            digest = hashlib.blake2b(self._base + msgspec.msgpack.encode(faults)).digest()
            known = self._faults[id(faults)] = faults, digest
        return known[1]

    def _verdict(self, cell: str, kept: _KeptVerdict) -> Verdict:
        if kept.told not in self._capabilities:
            every = self._keeper.told(kept.told).capabilities
            helpers = tuple(c for c in every if c.id in self._helpers)
            asked = tuple(c for c in every if c.id not in self._helpers) if helpers else every
            self._capabilities[kept.told] = asked, helpers
        capabilities, helpers = self._capabilities[kept.told]
        return Verdict(
            cell=cell,
            kind=kept.kind,
            evidence=kept.evidence,
            outcome=Passed() if kept.failed is None else kept.failed,
            since=kept.since,
            latest=kept.latest,
            stale=kept.stale,
            capabilities=capabilities,
            faults=kept.faults,
            changing=kept.changing,
            score=kept.score,
            helpers=helpers,
            reasons=kept.reasons,
        )


def _encoded(verdict: Verdict, present: EvaluationContext, run: RunRow) -> bytes:
    newest = run.started.date()
    fresh_until = newest + datetime.timedelta(days=present.fresh_days)
    # Of an old one the reasons say how many days old it is today.
    is_old = present.day > fresh_until
    first, last = (present.day, present.day) if is_old else (newest, fresh_until)
    held = _KeptVerdict(
        first=first,
        last=last,
        kind=verdict.kind,
        evidence=verdict.evidence,
        failed=verdict.outcome if isinstance(verdict.outcome, Failed) else None,
        since=verdict.since or newest,
        latest=newest,
        stale=verdict.stale,
        told=run.told.number,
        faults=verdict.faults,
        changing=verdict.changing,
        score=verdict.score,
        reasons=verdict.reasons,
    )
    return msgspec.msgpack.encode(held)


_decoder = msgspec.msgpack.Decoder(_KeptVerdict)
