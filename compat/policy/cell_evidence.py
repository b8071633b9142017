"""The `policy` room's evidence: what the runs of a cell say about a floor, and what is missing.

A cell supports a floor when its verdict is `works`; tested, not stale, not flaky. What fails in
every combination of a release takes nothing from that; a failure of the combination does, though it
is declared why: an explanation is no remedy for users of the floor. Such runs count as witnesses
when they were of today's lock and suite, one a day, isolated and of the tier that the policy asks
for. A cell without such a run moves no floor, whether it works or is broken.
"""

import datetime
from collections.abc import Iterable, Iterator
from typing import Literal

from packaging.version import Version

from compat.declare.policy import Policy
from compat.policy.as_of import AsOf
from compat.policy.proposal import Against, CellEvidence, Objection
from compat.results.answer import Answer, EvidenceKind
from compat.results.judge import judge
from compat.results.runs import Ran, is_whole
from compat.results.snapshot import Snapshot
from compat.value import StrictValue

FloorState = Literal["proven", "green", "red", "open"]


class FloorEvidence(StrictValue, frozen=True, kw_only=True):
    """What is known of a floor at one version.

    `proven`: every corner is green with enough witnesses; `green`: green, with too few; `red`:
    every corner is broken; `open`: anything else. `red_days` is on how many days the least often
    broken corner was.
    """

    version: Version
    state: FloorState
    evidence: tuple[CellEvidence, ...]
    objections: tuple[Objection, ...]
    needs: tuple[str, ...]
    red_days: int = 0

    @property
    def is_green(self) -> bool:
        return self.state in ("proven", "green")

    @property
    def is_tested(self) -> bool:
        return any(cell.latest is not None for cell in self.evidence)


def no_evidence(version: Version, because: str) -> FloorEvidence:
    against = Objection(against="missing", because=because)
    return FloorEvidence(
        version=version, state="open", evidence=(), objections=(against,), needs=()
    )


def merged(
    floors: Iterable[FloorEvidence],
) -> tuple[tuple[CellEvidence, ...], tuple[Objection, ...], tuple[str, ...]]:
    several = tuple(floors)
    return (
        tuple(dict.fromkeys(cell for floor in several for cell in floor.evidence)),
        tuple(dict.fromkeys(objection for floor in several for objection in floor.objections)),
        tuple(dict.fromkeys(cell for floor in several for cell in floor.needs)),
    )


def cell_evidence(entry: Answer, as_of: AsOf) -> CellEvidence:
    snapshot, policy = as_of.snapshot, as_of.policy
    verdict = _without_trouble(entry, snapshot)
    because = "; ".join((*verdict.reasons, *_known(entry, as_of)))
    if verdict.kind == "partial" and (failing := verdict.failing("combination", "unexplained")):
        because = f"in this combination these fail: {', '.join(failing)}; {because}"
    days = _isolated_days(entry, policy)
    is_sound = verdict.kind == "works" and _is_enough(verdict.evidence, policy)
    return CellEvidence(
        cell=entry.cell.id,
        recipe=entry.recipe,
        verdict=verdict.kind,
        evidence=verdict.evidence,
        outcome="" if verdict.outcome is None else str(verdict.outcome),
        latest=verdict.latest,
        days=days,
        supports=is_sound and not verdict.stale and bool(days),
        stale=verdict.stale,
        because=because,
    )


def _known(entry: Answer, as_of: AsOf) -> Iterator[str]:
    known = as_of.snapshot.explained(entry)
    if known is None or (known.since is not None and known.since > as_of.day):
        return
    # Since when the index lacks something, nobody can tell.
    is_dated = known.since is not None and known.fault != "index"
    yield f"it is known{'' if is_dated else as_of.as_of_today}: {known.because}"


def objection(evidence: CellEvidence, policy: Policy) -> Objection | None:
    """Return what one cell leaves to object to; None where it supports the floor often enough."""

    def says(against: Against, because: str) -> Objection:
        return Objection(against=against, because=because, cells=(cell,))

    cell = evidence.cell
    if evidence.supports:
        return _too_few(evidence, policy.witnesses)
    if evidence.latest is None:
        return says("missing", f"no run of {cell} counts yet")
    if evidence.verdict == "flaky":
        return says("flaky", f"{cell} is flaky: {evidence.because}")
    if evidence.stale:
        return says("stale", f"{cell} must run again: {evidence.because}")
    if evidence.verdict in ("works", "partial") and not _is_enough(evidence.evidence, policy):
        return says("missing", f"{cell} was not run with the whole suite yet: {evidence.because}")
    if not evidence.days and evidence.verdict in ("works", "partial", "broken"):
        needed = f"{cell} has no run at isolation {policy.isolation}, which a floor needs"
        return says("isolation", f"{needed}: {evidence.because}")
    if evidence.verdict == "unknown":
        return says("missing", f"{cell} has no answer yet: {evidence.because}")
    if evidence.verdict == "partial":
        return says("red", f"{cell} works only in part: {evidence.because}")
    return says("red", f"{cell} does not work: {evidence.because}")


def is_red(evidence: CellEvidence) -> bool:
    return evidence.verdict == "broken" and bool(evidence.days) and not evidence.stale


def _without_trouble(entry: Answer, snapshot: Snapshot) -> Answer:
    # The verdict without the newer run that says nothing: trouble neither moves a floor nor stops
    # it.
    if entry.history.unanswered is None:
        return entry
    present = snapshot.attribution.context(entry.cell, snapshot.present)
    return judge(
        entry.cell,
        entry.history.answered,
        present,
        lock_digest=entry.lock_digest,
        obstacle=entry.obstacle,
    )


def _isolated_days(entry: Answer, policy: Policy) -> tuple[datetime.date, ...]:
    # The days of the isolated runs that made the verdict: those of the newest run's lock and suite.
    if not entry.counted:
        return ()
    runs = [counted.run for counted in entry.history.deciding]
    fit = (run for run in runs if _is_isolated(run, policy) and _is_asked_for(run, policy))
    return tuple(sorted({run.started.date() for run in fit}))


def _is_enough(evidence: EvidenceKind, policy: Policy) -> bool:
    return evidence == "tested" or (evidence == "smoke" and policy.tier == "smoke")


def _is_asked_for(run: Ran, policy: Policy) -> bool:
    return policy.tier == "smoke" or is_whole(run)


def _is_isolated(run: Ran, policy: Policy) -> bool:
    """Whether the cell was isolated as the policy asks; one that was never locked ran nothing."""
    return run.lock_digest == "" or run.isolation >= policy.isolation


def _too_few(evidence: CellEvidence, witnesses: int) -> Objection | None:
    if len(evidence.days) >= witnesses:
        return None
    after = evidence.days[-1] + datetime.timedelta(days=1)
    days = ", ".join(str(day) for day in evidence.days)
    runs = f"{evidence.cell} has supporting runs on {len(evidence.days)} of {witnesses} days"
    return Objection(
        against="witnesses",
        because=f"{runs} ({days}); a run from {after} on is the next that counts",
        cells=(evidence.cell,),
    )
