"""The verdicts of cells, kept in the index beside their runs: a cell of which nothing has changed
is not judged again.

A verdict is kept under the digest of all that it follows from besides the runs, and goes with them:
whatever writes a cell's runs takes away what is kept of it. Nothing is lost with it.
"""

import datetime
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

import msgspec

from compat.plan.obstacle import Obstacle
from compat.results.ran import Ran
from compat.results.record import Capability
from compat.results.run_group import Kind
from compat.results.run_overview import RunOverview, overview_of
from compat.results.run_row import RunFacts, RunRow
from compat.results.score import CapabilityFault, Score
from compat.results.verdict import EvaluationContext, EvidenceKind, History, Verdict, verdict_of
from compat.run.outcome import Failed, Passed
from compat.value import Value

# What is judged is written by so many at a time; what remains is quickly judged again.
_TOGETHER = 100
# So many are read one by one in less time than all that is kept.
_FEW = 500
# By the id of a cell: the digest of what it follows from, and what follows.
KeptFacts = Mapping[str, tuple[bytes, bytes]]


class JudgedRuns(NamedTuple):
    """What is judged: the runs of a cell, the history that they make on the day, the digest of the
    cell's lock, and what the plan says against it.
    """

    cell: str
    runs: Sequence[Ran]
    history: History
    lock_digest: str | None
    obstacle: Obstacle | None


class Judgement(NamedTuple):
    """The verdict of a cell, and what else its runs say; None where there is no run up to the
    day.
    """

    verdict: Verdict
    overview: RunOverview | None


# How a verdict is judged: `alone`, by the runs of its cell, with what else they say; `attributed`,
# beside the other cells of its release.
JudgedKind = Literal["alone", "attributed"]
Judge = Callable[[JudgedKind, JudgedRuns, EvaluationContext], Judgement]


def judged_anew(kind: JudgedKind, judged: JudgedRuns, present: EvaluationContext) -> Judgement:
    cell, runs, history, lock_digest, obstacle = judged
    verdict = verdict_of(cell, history, present, lock_digest, obstacle)
    is_alone = kind == "alone"
    return Judgement(
        verdict, overview_of(runs, history, present, lock_digest) if is_alone else None
    )


class FactKeeper(Protocol):
    """Where facts about cells are kept as long as nothing is written of their runs."""

    def kept(self, kind: str) -> KeptFacts:
        """Return what is kept of that kind."""

    def kept_of(self, kind: str, cell: str) -> tuple[bytes, bytes] | None:
        """Return what is kept of that kind of one cell."""

    def keep(self, kind: str, facts: Sequence[tuple[str, bytes, bytes]]) -> None:
        """Keep facts, each with its cell and the digest of what it follows from."""

    def told(self, number: int) -> RunFacts:
        """Return what runs were told, by its number."""


class _KeptVerdict(Value, frozen=True, array_like=True):
    """A verdict in little room, with the days on which it holds. `told` is the number of what the
    run came to from which it has its capabilities. Of its score the words are left out.
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
    blocked_by: str
    score: tuple[int, int, int, int, int, bool]
    reasons: tuple[str, ...]
    overview: RunOverview | None


class KeptVerdicts:
    """The verdicts of cells on which runs count, as far as they are kept."""

    def __init__(self, keeper: FactKeeper, code: bytes, present: EvaluationContext) -> None:
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
        self._scores: dict[tuple[int, int, int, int, int, bool], Score] = {}

    def of(self, kind: JudgedKind, judged: JudgedRuns, present: EvaluationContext) -> Judgement:
        """Return what `judged_anew` does; the runs are read only where that is not kept."""
        if not judged.runs:
            return judged_anew(kind, judged, present)
        key = self._key(judged, present)
        digest, body = self._fact(kind, judged.cell) or (b"", b"")
        if digest == key:
            known = _decoder.decode(body)
            if known.first <= present.day <= known.last:
                return Judgement(self._verdict(judged.cell, known), known.overview)
        judgement = judged_anew(kind, judged, present)
        if (fact := _encoded(judgement, judged, present)) is not None:
            new = self._new.setdefault(kind, [])
            new.append((judged.cell, key, fact))
            if len(new) >= _TOGETHER:
                self._keeper.keep(kind, new)
                new.clear()
        return judgement

    def _key(self, judged: JudgedRuns, present: EvaluationContext) -> bytes:
        key = hashlib.blake2b(self._with_faults(present.faults), digest_size=16)
        key.update(msgspec.msgpack.encode((judged.lock_digest, judged.obstacle)))
        return key.digest()

    def _fact(self, kind: str, cell: str) -> tuple[bytes, bytes] | None:
        self._questions += 1
        if self._questions <= _FEW:
            return self._keeper.kept_of(kind, cell)
        if kind not in self._kept:
            self._kept[kind] = self._keeper.kept(kind)
        return self._kept[kind].get(cell)

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
        score = self._scores.get(kept.score)
        if score is None:
            numbers = dict(zip(_SCORE_FIELDS, kept.score, strict=True))
            score = self._scores[kept.score] = msgspec.convert(numbers, Score)
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
            blocked_by=kept.blocked_by,
            score=score,
            helpers=helpers,
            reasons=kept.reasons,
        )


def _encoded(judgement: Judgement, judged: JudgedRuns, present: EvaluationContext) -> bytes | None:
    """A judgement as it is kept; None where no run counts, or one is yet to come on the day: what
    is kept follows from all runs of the cell.
    """
    verdict, history = judgement.verdict, judged.history
    run = history.deciding[-1].run if history.counted else None
    if not isinstance(run, RunRow) or judged.runs[-1].started.date() > present.day:
        return None
    newest = run.started.date()
    fresh_until = newest + datetime.timedelta(days=present.fresh_days)
    # Of an old one the reasons say how many days old it is today.
    is_old = present.day > fresh_until
    first = present.day if is_old else judged.runs[-1].started.date()
    fact = _KeptVerdict(
        first=first,
        last=present.day if is_old else fresh_until,
        kind=verdict.kind,
        evidence=verdict.evidence,
        failed=verdict.outcome if isinstance(verdict.outcome, Failed) else None,
        since=verdict.since or newest,
        latest=newest,
        stale=verdict.stale,
        told=run.told.number,
        faults=verdict.faults,
        changing=verdict.changing,
        blocked_by=verdict.blocked_by,
        score=tuple(getattr(verdict.score, name) for name in _SCORE_FIELDS),
        reasons=verdict.reasons,
        overview=judgement.overview,
    )
    return msgspec.msgpack.encode(fact)


_SCORE_FIELDS = tuple(name for name in Score.__struct_fields__ if name != "words")
_decoder = msgspec.msgpack.Decoder(_KeptVerdict)
