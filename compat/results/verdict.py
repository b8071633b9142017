"""The `results` room's judgement: what the records of a cell add up to.

The only place where that is decided.
"""

import datetime
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Literal

from compat.declare.suite_table import Tier
from compat.plan.obstacle import Obstacle
from compat.results.involved import third_package
from compat.results.plain_answers import KnownRefusal
from compat.results.ran import Ran
from compat.results.record import Capability
from compat.results.run_group import AlikeGroups, Kind, RunGroup
from compat.results.score import Blame, CapabilityFault, Score
from compat.run.outcome import Failed, Outcome, Stage, is_doubtful, is_spurious, lacks_instruction
from compat.value import StrictValue

EvidenceKind = Literal["tested", "smoke", "asked", "inferred", "declared", "none"]
# What a verdict rests on, by the tier of its runs.
_EVIDENCE: dict[Tier, EvidenceKind] = {"full": "tested", "smoke": "smoke"}
FRESH_DAYS = 90
BEFORE_TESTS: tuple[Stage, ...] = ("plan", "lock", "install", "import")
# in how many runs a doubtful outcome must occur, same lock and suite, before it says something
WITNESSES = 2
_ALIKE = AlikeGroups()


class EvaluationContext(StrictValue, frozen=True, kw_only=True):
    """What holds at the moment of asking: the suite as it is now, the day, and how many days a
    record stays fresh.

    `asked` are the packages that the matrix asks about, its subject's and its coordinates', by
    normalised name. `helpers` are the ids under which the suite tests files of its own: they say
    nothing about the subject. `faults` says whose fault it is where a capability fails in the cell
    that is asked about; one that it does not name is unexplained.
    """

    suite_digest: str
    day: datetime.date
    fresh_days: int = FRESH_DAYS
    asked: frozenset[str] = frozenset()
    helpers: frozenset[str] = frozenset()
    faults: tuple[CapabilityFault, ...] = ()


class Verdict(StrictValue, frozen=True, kw_only=True):
    """What is known of a cell, and from what.

    `evidence` is `tested` where a run of the whole suite counts, `smoke` where only runs of its
    core do, `asked` where a resolver refused the cell, `inferred` where that follows from what is
    known of others, `declared` where the plan rules it out. `expected` is what tested neighbours
    let expect of a cell that is `unknown`. `since` is
    the day since when the kind holds without interruption, `latest` that of the newest run that
    counts. `outcome` is what the newest run that counts came to; of a flaky cell, the newest
    failure. `faults` says of each capability that fails whose fault that is, `changing` which came
    and went. `blocked_by` is the package, neither subject nor on an axis, that keeps the cell from
    an answer. `reasons` are sentences. `helpers` are what the tests of the suite's own files came
    to: no part of the kind.
    """

    cell: str
    kind: Kind
    evidence: EvidenceKind
    outcome: Outcome | None = None
    since: datetime.date | None = None
    latest: datetime.date | None = None
    stale: bool = False
    capabilities: tuple[Capability, ...] = ()
    faults: tuple[CapabilityFault, ...] = ()
    changing: tuple[str, ...] = ()
    blocked_by: str = ""
    score: Score = Score()
    helpers: tuple[Capability, ...] = ()
    reasons: tuple[str, ...] = ()
    expected: Kind | None = None

    @property
    def answer(self) -> Kind:
        """What it is, and where that is unknown what it is expected to be."""
        return self.expected or self.kind

    def failing(self, *faults: Blame) -> tuple[str, ...]:
        """Return the ids of the capabilities that fail by one of these faults, sorted."""
        return tuple(sorted(fault.id for fault in self.faults if fault.fault in faults))


def verdict(
    cell: str,
    runs: Iterable[Ran],
    present: EvaluationContext,
    *,
    lock_digest: str | None = None,
    obstacle: Obstacle | None = None,
) -> Verdict:
    """Return what the runs of a cell add up to, in whatever order they come.

    `lock_digest` is that of the cell's lock now, None when it has none; `obstacle` is what the plan
    says against it. A run that says nothing about the versions, one of another cell and one from
    the future change nothing.
    """
    own = [run for run in runs if run.cell == cell]
    return verdict_of(cell, History(own, present.day), present, lock_digest, obstacle)


def verdict_of(
    cell: str,
    history: "History",
    present: EvaluationContext,
    lock_digest: str | None,
    obstacle: Obstacle | None,
    refusal: KnownRefusal | None = None,
) -> Verdict:
    """Return what the history of a cell adds up to; see `verdict`.

    `refusal` says what a resolver came to; it counts where no run does.
    """
    counted, asked = history.counted, asked_about(cell, present)
    if not counted:
        return _untested(cell, obstacle, refusal, history.unanswering, asked)
    group, since = _newest_group(counted, asked, present)
    outdated = staleness(history, present, lock_digest)
    return Verdict(
        cell=cell,
        kind=group.kind,
        evidence="none" if group.kind == "unknown" else _EVIDENCE[group.tier],
        outcome=group.outcome,
        since=since,
        latest=group.newest.started.date(),
        stale=bool(outdated),
        capabilities=group.capabilities,
        faults=group.faults,
        changing=tuple(sorted(group.changing)),
        blocked_by=group.blocked_by if group.kind == "unknown" else "",
        score=group.score,
        helpers=tuple(
            capability
            for capability in group.newest.capabilities
            if capability.id in present.helpers
        ),
        reasons=(*group.reasons, *outdated, *_ruled_out(obstacle)),
    )


class Counted(StrictValue, frozen=True, kw_only=True):
    """A run that says something about the versions, and those of its outcomes that do."""

    run: Ran
    outcomes: tuple[Outcome, ...]


class History:
    """The runs of a cell that count, oldest first, and the newest run of all where it came after
    them and does not.

    A run that was cancelled asked nothing, so it is no `unanswered` one.
    """

    def __init__(self, runs: Sequence[Ran] = (), day: datetime.date = datetime.date.max) -> None:
        """Take the runs of a cell, in whatever order they come, and up to which day they count;
        they are looked at when something is asked of the history.
        """
        self._runs = runs
        self._day = day

    @cached_property
    def _ordered(self) -> list[Ran]:
        return in_order(run for run in self._runs if run.started.date() <= self._day)

    @cached_property
    def counted(self) -> tuple[Counted, ...]:
        """The runs that count."""
        return _counting(self._ordered)

    @cached_property
    def unanswered(self) -> Ran | None:
        """The newest run of all, where it does not count."""
        newest = next((run for run in reversed(self._ordered) if not _is_cancelled(run)), None)
        is_answered = any(counted.run is newest for counted in reversed(self.counted))
        return None if is_answered else newest

    @property
    def unanswering(self) -> str:
        """When the run was that does not count, what it came to, and why that does not; empty where
        there is none. A package can flood a limit on purpose: what does so again is named.
        """
        run = self.unanswered
        if run is None:
            return ""
        outcome, why = run.outcomes[-1], "says nothing about the versions"
        if is_doubtful(outcome):
            why = "counts once a second run comes to it"
        elif _is_flood(outcome):
            alike = [
                r for r in self._ordered if _digests(r) == _digests(run) and not _is_cancelled(r)
            ]
            last = [each for other in alike for each in other.outcomes][-2:]
            why += ", though code in the cell can choose to end so"
            if len(last) == 2 and all(map(_is_flood, last)):
                why += "; it did twice in a row, so look at what runs there"
        return f"of {run.started.date()}, came to {outcome}, which {why}"

    @cached_property
    def deciding(self) -> tuple[Counted, ...]:
        """Those on the newest run's lock and suite that the verdict rests on, oldest first: where a
        run of the whole suite is among them, those alone. Raises IndexError where none counts.
        """
        newest = _digests(self.counted[-1].run)
        alike = [counted for counted in self.counted if _digests(counted.run) == newest]
        whole = [counted for counted in alike if counted.run.tier == "full"]
        return tuple(whole or alike)

    @property
    def answered(self) -> "History":
        """The same without a newer run that does not count."""
        return History([counted.run for counted in self.counted])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, History) and self._whole == other._whole

    def __hash__(self) -> int:
        return hash(self._whole)

    @property
    def _whole(self) -> tuple[tuple[Counted, ...], Ran | None]:
        return self.counted, self.unanswered


def counting(runs: Iterable[Ran], day: datetime.date) -> tuple[Counted, ...]:
    """Return the runs up to that day that count, oldest first.

    A spurious outcome never counts. A doubtful one, such as a time limit or a lack of memory,
    counts when two runs on the same lock and suite came to it: attempts of one run are of one
    machine, minutes apart. Where a third says that the processor lacked an instruction, no silence
    on that lock and suite counts: who waits for what has crashed is silent.
    """
    return _counting(in_order(run for run in runs if run.started.date() <= day))


def _counting(runs: Sequence[Ran]) -> tuple[Counted, ...]:
    ordered = [(run, run.outcomes) for run in runs]
    if not any(isinstance(o, Failed) and _may_not_count(o) for _, every in ordered for o in every):
        return tuple(Counted(run=run, outcomes=outcomes) for run, outcomes in ordered if outcomes)
    struck = Counter(
        (run.lock_digest, run.suite_digest, cause)
        for run, outcomes in ordered
        for cause in {
            outcome.cause
            for outcome in outcomes
            if isinstance(outcome, Failed) and is_doubtful(outcome)
        }
    )

    lacking = {_digests(run) for run, outcomes in ordered if any(map(lacks_instruction, outcomes))}

    def counts(run: Ran, outcome: Outcome) -> bool:
        if isinstance(outcome, Failed) and outcome.cause == "silence" and _digests(run) in lacking:
            return False
        if isinstance(outcome, Failed) and is_doubtful(outcome):
            return struck[run.lock_digest, run.suite_digest, outcome.cause] >= WITNESSES
        return not is_spurious(outcome)

    counted = (
        (run, tuple(outcome for outcome in outcomes if counts(run, outcome)))
        for run, outcomes in ordered
    )
    return tuple(Counted(run=run, outcomes=outcomes) for run, outcomes in counted if outcomes)


def in_order(runs: Iterable[Ran]) -> list[Ran]:
    """Return the runs by when they started; those of the same moment in an order of their own, not
    of their coming.
    """
    ordered = list(runs)
    if len(ordered) < 2:
        return ordered
    if all(run.started < other.started for run, other in pairwise(ordered)):
        return ordered
    ordered.sort(key=_place)
    if all(_place(run) != _place(other) for run, other in pairwise(ordered)):
        return ordered
    return sorted(ordered, key=lambda run: (*_place(run), repr(run.capabilities)))


def staleness(
    history: History, present: EvaluationContext, lock_digest: str | None
) -> tuple[str, ...]:
    """Return why the newest run that counts no longer answers today's question; empty when it
    does.
    """
    reasons = list(_outdated(history.deciding[-1].run, present, lock_digest))
    if history.unanswered is not None:
        reasons.append(f"a newer run, {history.unanswering}")
    return tuple(reasons)


def is_whole(run: Ran) -> bool:
    """Return whether the whole suite could say no more about the run's files: it was asked for, or
    nothing came as far as a test.
    """
    last = run.outcomes[-1]
    return run.tier == "full" or (isinstance(last, Failed) and last.stage in BEFORE_TESTS)


def _may_not_count(outcome: Failed) -> bool:
    return is_spurious(outcome) or is_doubtful(outcome)


def _digests(run: Ran) -> tuple[str, str]:
    return run.lock_digest, run.suite_digest


def _is_flood(outcome: Outcome) -> bool:
    return (
        isinstance(outcome, Failed)
        and outcome.stage in ("import", "collect", "test")
        and outcome.cause in ("output", "disk", "processes")
    )


def _is_cancelled(run: Ran) -> bool:
    last = run.outcomes[-1]
    return isinstance(last, Failed) and last.cause == "cancelled"


def is_other_suite(run: Ran, present: EvaluationContext) -> bool:
    """Return whether the run was of another suite than today's; one that came as far as no test,
    or had no suite, was of none.
    """
    last = run.outcomes[-1]
    came_to_tests = not (isinstance(last, Failed) and last.stage in BEFORE_TESTS)
    return came_to_tests and run.suite_digest not in ("", present.suite_digest)


def _outdated(run: Ran, present: EvaluationContext, lock_digest: str | None) -> Iterator[str]:
    if lock_digest is not None and run.lock_digest != lock_digest:
        yield "the cell's lock has changed since"
    if is_other_suite(run, present):
        yield "the suite has changed since"
    days = (present.day - run.started.date()).days
    if days > present.fresh_days:
        yield (
            f"the newest run that counts is {days} days old, and fresh are at most"
            f" {present.fresh_days}"
        )


def _newest_group(
    counted: Sequence[Counted], asked: frozenset[str], present: EvaluationContext
) -> tuple[RunGroup, datetime.date]:
    """The group of the newest run, and the day from which on every run left the cell with the kind
    that it has now.
    """
    runs = [(counted_run.run, counted_run.outcomes) for counted_run in counted]
    alike = _ALIKE.of(runs, asked, present.helpers, present.faults)
    if alike is not None:
        return alike, counted[0].run.started.date()
    groups: defaultdict[tuple[str, str], RunGroup] = defaultdict(
        lambda: RunGroup(asked, present.helpers, present.faults)
    )
    kind, since = None, counted[0].run.started.date()
    for counted_run in counted:
        group = groups[_digests(counted_run.run)]
        group.add(counted_run.run, counted_run.outcomes)
        if group.kind != kind:
            kind, since = group.kind, counted_run.run.started.date()
    return group, since


def asked_about(cell: str, present: EvaluationContext) -> frozenset[str]:
    """Return the packages by which alone a cell can be broken; empty where any can.

    A relaxed cell asks whether the subject works with its coordinates once other packages may move,
    so it is no answer that one of those others fails or conflicts. Fresh and dated cells ask about
    the published requirements.
    """
    return present.asked if cell.endswith("+relaxed") else frozenset()


def _untested(
    cell: str,
    obstacle: Obstacle | None,
    refusal: KnownRefusal | None,
    unanswering: str,
    asked: frozenset[str],
) -> Verdict:
    if obstacle is not None and (blocker := third_package((obstacle.package,), asked)):
        reason = f"blocked by {blocker}: {obstacle.because}"
        return Verdict(
            cell=cell, kind="unknown", evidence="none", blocked_by=blocker, reasons=(reason,)
        )
    if obstacle is not None:
        reasons = (obstacle.because,) if refusal is None else (obstacle.because, refusal.sentence)
        return Verdict(cell=cell, kind="infeasible", evidence="declared", reasons=reasons)
    if refusal is not None:
        blocker = third_package(refusal.involved, asked)
        # The plan found files of each asked package; that one release has none is not the reason.
        is_part = bool(asked) and refusal.outcome.cause in ("no-artifact", "requires-python")
        if blocker or is_part or is_spurious(refusal.outcome):
            reason = f"blocked by {blocker}: {refusal.sentence}" if blocker else refusal.sentence
            return Verdict(
                cell=cell, kind="unknown", evidence="none", blocked_by=blocker, reasons=(reason,)
            )
        return Verdict(
            cell=cell,
            kind="broken",
            evidence="asked" if refusal.ground == "asked" else "inferred",
            outcome=refusal.outcome,
            since=refusal.on,
            reasons=(refusal.sentence,),
        )
    why = "no run of it counts so far"
    reason = f"{why}: the newest, {unanswering}" if unanswering else why
    return Verdict(cell=cell, kind="unknown", evidence="none", reasons=(reason,))


def _ruled_out(obstacle: Obstacle | None) -> tuple[str, ...]:
    return () if obstacle is None else (f"the plan rules it out now: {obstacle.because}",)


def _place(run: Ran) -> tuple[datetime.datetime, str, str, tuple[str, ...]]:
    return (
        run.started,
        run.lock_digest,
        run.suite_digest,
        tuple(str(outcome) for outcome in run.outcomes),
    )
