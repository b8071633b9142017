"""Derives answers from runs, plan and resolution failures, and attributes failing capabilities.
This is decided only here, by pure functions.

A failure in every combination of a release does not count against one of them, where a `[[known]]`
entry declares it and no cell refutes it. A cell counts by its newest counting runs, with any suite:
an old result can refute an excuse, and never supports one.
"""

from __future__ import annotations

import datetime
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property

from msgspec.structs import replace
from packaging.version import Version

from compat.declare.matrix import KnownIssue, Matrix, Tier
from compat.declare.parsing import Finding
from compat.lock.lockfile import Refusal
from compat.lock.resolvers import own_error
from compat.plan.cell import Cell
from compat.plan.feasible import Obstacle
from compat.results.answer import (
    EXCUSED,
    Answer,
    Blame,
    CapabilityFault,
    EvidenceKind,
    Kind,
    KnownFailure,
    Reason,
    Score,
    blame_of,
)
from compat.results.record import (
    INSTALLED,
    Attempt,
    Capability,
    Record,
    Status,
    StepSeconds,
    decisive,
    involved,
    involved_in_failure,
    third_package,
)
from compat.results.redact import redacted
from compat.results.runs import Counted, History, Ran, files_of, is_other_suite, is_whole
from compat.run.classify import classify
from compat.run.evidence import Evidence, Metric, StepName, Trial
from compat.run.outcome import (
    CRASHES,
    EXCEPTIONS,
    Failed,
    Outcome,
    Passed,
    begins_with,
    brief,
    is_lasting,
    is_of_machine,
    is_spurious,
    is_untrusted,
    lacks_instruction,
    match_signature,
    parse_outcome,
)
from compat.value import StrictValue, Value

_EVIDENCE: dict[Tier, EvidenceKind] = {"full": "tested", "smoke": "smoke"}
FRESH_DAYS = 90
# A flaky cell is tested again each week: often enough to learn how often it fails, and time is left
# for others.
AGAIN_DAYS = 7
CORE_ALONE = "only the core of the suite was run"


class EvaluationContext(StrictValue, frozen=True, kw_only=True):
    """The context of an evaluation: the current suite, the day, and how many days a record stays
    fresh.

    `asked` are the packages that the matrix tests, its subject's and its coordinates', by
    normalised name. `helpers` are the ids under which the suite tests its own files: they say
    nothing about the subject. `faults` attributes failing capabilities of the cell; others are
    unexplained.
    """

    suite_digest: str
    day: datetime.date
    fresh_days: int = FRESH_DAYS
    asked: frozenset[str] = frozenset()
    helpers: frozenset[str] = frozenset()
    faults: tuple[CapabilityFault, ...] = ()


def judge(
    cell: Cell,
    runs: Iterable[Ran] | History,
    present: EvaluationContext,
    *,
    lock_digest: str | None = None,
    obstacle: Obstacle | None = None,
    refusal: KnownFailure | None = None,
    planned: bool = True,
) -> Answer:
    """Return the answer about a cell by its runs in any order, else by `obstacle` and `refusal`.

    Runs that say nothing about the versions are ignored, and future ones. In a whole snapshot the
    other cells of its release decide who is at fault: they are in `present`.
    """
    if isinstance(runs, History):
        history = runs
    else:
        history = History([run for run in runs if run.cell == cell.id], present.day)
    known = Answer(
        cell=cell,
        obstacle=obstacle,
        refusal=refusal,
        lock_digest=lock_digest,
        planned=planned,
        history=history,
    )
    counted, asked = history.counted, asked_about(cell.id, present)
    outdated = _outdated(history, present, lock_digest) if history.ordered else ()
    if history.ordered:
        known = replace(known, first=history.ordered[0].started, newest=_day(history.ordered[-1]))
    if not counted:
        due = _due(known, outdated, present) if known.first else None
        return _untested(replace(known, due=due), asked)
    group, since = _newest_group(counted, asked, present)
    ruled_out = () if obstacle is None else (f"the plan rules it out now: {obstacle.because}",)
    known = replace(
        known,
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
        helpers=tuple(c for c in group.newest.capabilities if c.id in present.helpers),
        reasons=(*group.reasons, *outdated, *ruled_out),
        outdated=outdated,
        asks_as_today=not is_other_suite(counted[-1].run, present.suite_digest),
        due=_due(known, outdated, present, group.kind),
    )
    return known if counted[-1].run.lock_digest != lock_digest else _on_lock(known, present)


def _on_lock(known: Answer, present: EvaluationContext) -> Answer:
    tier = known.history.deciding[-1].run.tier
    runs = [
        each.run
        for each in known.counted
        if each.run.lock_digest == known.lock_digest and tier in ("smoke", each.run.tier)
    ]
    return replace(
        known,
        tested=len(runs),
        days=len(set(map(_day, runs))),
        isolation=runs[-1].isolation,
        is_of_today=not is_other_suite(runs[-1], present.suite_digest),
    )


def judged_again(
    known: Answer, present: EvaluationContext, refusal: KnownFailure | None = None
) -> Answer:
    return judge(
        known.cell,
        known.history,
        present,
        lock_digest=known.lock_digest,
        obstacle=known.obstacle,
        refusal=refusal,
        planned=known.planned,
    )


def asked_about(cell: str, present: EvaluationContext) -> frozenset[str]:
    """A relaxed cell tests whether the subject works with its coordinates once other packages may
    move, so a failure or conflict of those is no answer. Fresh and dated cells test the published
    requirements.
    """
    return present.asked if cell.endswith("+relaxed") else frozenset()


def _untested(known: Answer, asked: frozenset[str]) -> Answer:
    obstacle, refusal, blocker = known.obstacle, known.refusal, ""
    if obstacle is not None:
        blocker = third_package((obstacle.package,), asked)
        if not blocker:
            reasons = (obstacle.because, *([refusal.sentence] if refusal is not None else []))
            return replace(known, kind="infeasible", evidence="declared", reasons=reasons)
        reason = obstacle.because
    elif refusal is not None:
        blocker, reason = third_package(refusal.involved, asked), refusal.sentence
        # The plan found files of each tested package; one release without files is not the reason.
        is_part = bool(asked) and refusal.outcome.cause in ("no-artifact", "requires-python")
        if not (blocker or is_part or is_spurious(refusal.outcome)):
            return replace(
                known,
                kind="broken",
                evidence="asked" if refusal.ground == "asked" else "inferred",
                outcome=refusal.outcome,
                since=refusal.on,
                reasons=(reason,),
            )
    else:
        reason, unanswering = "no run of it counts so far", known.history.unanswering
        reason += f": the newest, {unanswering}" if unanswering else ""
    blocked = f"blocked by {blocker}: {reason}" if blocker else reason
    return replace(known, blocked_by=blocker, reasons=(blocked,))


def _outdated(
    history: History, present: EvaluationContext, lock_digest: str | None
) -> tuple[str, ...]:
    """Why the newest counting run, else the newest run, is outdated; empty when it is current."""
    run, reasons = (history.deciding[-1].run if history.counted else history.ordered[-1]), []
    if lock_digest is not None and run.lock_digest != lock_digest:
        reasons.append("the cell's lock has changed since")
    if is_other_suite(run, present.suite_digest):
        reasons.append("the suite has changed since")
    if (days := (present.day - run.started.date()).days) > present.fresh_days:
        reasons.append(
            f"the newest run that counts is {days} days old, and fresh are at most"
            f" {present.fresh_days}"
        )
    newer = history.unanswered
    if history.counted and newer is not None and not all(map(is_lasting, newer.outcomes)):
        reasons.append(f"a newer run, {history.unanswering}")
    return tuple(reasons)


def _due(
    known: Answer, outdated: tuple[str, ...], present: EvaluationContext, kind: Kind = "unknown"
) -> Reason | None:
    """Why a cell that ran is worth another run; None where an equal run would add nothing."""
    history, last = known.history, known.history.ordered[-1]
    counted = history.counted
    is_settled = (bool(counted) and counted[-1].run is last) or all(map(is_lasting, last.outcomes))
    if known.lock_digest not in (None, last.lock_digest):
        return "lock-changed"
    if is_other_suite(last, present.suite_digest):
        return "suite-changed"
    if not is_settled:
        return "spurious-last"
    if kind == "flaky" and (present.day - _day(last)).days >= AGAIN_DAYS:
        return "flaky"
    if outdated:
        return "stale"
    return None if is_whole(history.deciding[-1].run if counted else last) else "smoke-only"


def _day(run: Ran) -> datetime.date:
    return run.started.date()


def _newest_group(
    counted: Sequence[Counted], asked: frozenset[str], present: EvaluationContext
) -> tuple[RunGroup, datetime.date]:
    groups: defaultdict[tuple[str, str], RunGroup] = defaultdict(
        lambda: RunGroup(asked, present.helpers, present.faults)
    )
    kind, since = None, counted[0].run.started.date()
    for counted_run in counted:
        group = groups[files_of(counted_run.run)]
        group.add(counted_run.run, counted_run.outcomes)
        if group.kind != kind:
            kind, since = group.kind, counted_run.run.started.date()
    return group, since


class RunGroup:
    """The runs on one lock and suite, and their combined result; runs are added oldest first.

    With the `asked` packages, a failure by any other package leaves the cell without an answer.
    `helpers` are the capabilities that say nothing about the subject; `blames` attributes a failing
    capability by its first matching entry. With a run of the whole suite, core runs only confirm or
    contradict its result on the same files.
    """

    def __init__(
        self, asked: frozenset[str], helpers: frozenset[str], blames: tuple[CapabilityFault, ...]
    ) -> None:
        self._asked = asked
        self.helpers = helpers
        self._blames = blames
        self.tier: Tier = "smoke"
        self.outcomes: list[Outcome] = []
        self.changing: set[str] = set()
        self.is_finished = True
        self._statuses: dict[str, Status] = {}
        # Whether runs reached the tests, and the outcomes of all of them.
        self._reached: set[bool] = set()
        self._every: list[Outcome] = []
        self._said: tuple[tuple[Capability, ...], tuple[Outcome, ...], Tier] | None = None

    def add(self, run: Ran, outcomes: Iterable[Outcome]) -> None:
        outcomes = tuple(outcomes)
        # Whether the run is identical to the one before it: nightly runs mostly are, and then only
        # the date changes. Equal capabilities are one object in the index.
        answer = (run.capabilities, outcomes, run.tier)
        before, self._said = self._said, answer
        if (
            before is not None
            and before[0] is answer[0]
            and before[1:] == answer[1:]
            and run.tier == self.tier
        ):
            self.newest = run
            return
        asked = run.capabilities
        if self.helpers:
            asked = tuple(c for c in asked if c.id not in self.helpers)
        for capability in asked:
            if self._statuses.setdefault(capability.id, capability.status) != capability.status:
                self.changing.add(capability.id)
        if run.tier == "full" and self.tier == "smoke":
            self.tier, self.outcomes, self.is_finished = "full", [], True
        is_outranked = run.tier != self.tier
        if not is_outranked:
            self.newest, self.capabilities = run, asked
        ends = [_of_subject(outcome, asked, self.helpers) for outcome in outcomes]
        self._every += ends
        self._reached |= {_reached_tests(end) for end in ends}
        failing = [capability for capability in self.capabilities if capability.status == "no"]
        if not is_outranked:
            self.outcomes += ends
            # A crash, a time limit and tests that never ran are no failing capability.
            by_tests = {brief(failed) for c in failing if (failed := c.failed) is not None}
            are_ended = all(isinstance(end, Passed) or brief(end) in by_tests for end in ends)
            self.is_finished = self.is_finished and are_ended
        self.faults = tuple(
            CapabilityFault(id=c.id, fault=blame_of(c, self._blames)) for c in failing
        )
        self.kind = self._kind()

    @cached_property
    def score(self) -> Score:
        return Score.of(self.capabilities, self.faults, finished=self.is_finished)

    def _kind(self) -> Kind:
        if self.changing or len(self._reached) > 1 or len(set(map(brief, self.outcomes))) > 1:
            return "flaky"
        outcome = self.outcomes[-1]
        statuses = {capability.status for capability in self.capabilities}
        if isinstance(outcome, Passed) and "no" not in statuses:
            return "works"
        if _reached_tests(outcome) and "yes" in statuses:
            is_excused = all(fault.fault in EXCUSED for fault in self.faults)
            return "works" if is_excused and self.is_finished else "partial"
        # Of a relaxed cell nothing may show that a crash is the tested packages' own.
        crashed = isinstance(outcome, Failed) and outcome.cause in CRASHES
        is_nobodys = bool(self._asked) and crashed and not self.newest.involved
        return "unknown" if self.blocked_by or is_nobodys else "broken"

    @property
    def blocked_by(self) -> str:
        """A package that only runs the tests is never a tested one."""
        last = self.outcomes[-1] if self.outcomes else None
        if isinstance(last, Failed) and last.cause == "test-runner":
            return self.newest.involved[0] if self.newest.involved else "pytest"
        return third_package(self.newest.involved, self._asked)

    @property
    def outcome(self) -> Outcome:
        # A failed core run is reported only where it contradicts the whole suite.
        ends = self._every if len(self._reached) > 1 else self.outcomes
        failures = [outcome for outcome in ends if isinstance(outcome, Failed)]
        return failures[-1] if failures else self.outcomes[-1]

    @property
    def reasons(self) -> tuple[str, ...]:
        day = self.newest.started.date()
        core = (CORE_ALONE,) if self.tier == "smoke" and self._reached == {True} else ()
        match self.kind:
            case "flaky" if self.changing:
                listed = ", ".join(sorted(self.changing))
                return (f"on the same lock and suite these came and went: {listed}",)
            case "flaky":
                listed = " and ".join(sorted(set(map(str, self._every))))
                return (f"the same lock and suite gave {listed}",)
            case "unknown":
                blocker = f"blocked by {self.blocked_by}"
                cause = blocker if self.blocked_by else "nothing shows whose code crashed"
                return (f"{cause}: {self.outcome} on {day}",)
            case "partial":
                return (f"it imports; {self.outcome} on {day}{self._by_fault()}", *core)
            case "works" if self.faults and not core:
                return (
                    f"everything that this release supports passes, as of {day}{self._by_fault()}",
                )
        return (f"{self.outcome} on {day}{self._by_fault() if core else ''}", *core)

    def _by_fault(self) -> str:
        words: tuple[tuple[tuple[Blame, ...], str], ...] = (
            (("combination", "unexplained"), "these fail"),
            (("release",), "in every combination of this release these fail"),
            (("index",), "not available today"),
        )
        each = (
            (phrase, sorted(f.id for f in self.faults if f.fault in of)) for of, phrase in words
        )
        return "".join(f"; {phrase}: {', '.join(ids)}" for phrase, ids in each if ids)


def _reached_tests(outcome: Outcome) -> bool:
    return isinstance(outcome, Passed) or outcome.stage == "test"


def _of_subject(
    outcome: Outcome, capabilities: Iterable[Capability], helpers: frozenset[str]
) -> Outcome:
    if not isinstance(outcome, Failed) or outcome.stage != "test" or outcome.subject not in helpers:
        return outcome
    return next(
        (
            Failed(stage="test", cause=capability.cause or "error", subject=capability.id)
            for capability in capabilities
            if capability.status == "no"
        ),
        Passed(),
    )


class Attribution:
    """Attributes the failures in the cells of a matrix."""

    def __init__(
        self,
        matrix: Matrix,
        answers: Iterable[Answer],
        of_release: Callable[[Version], Iterable[Answer]] = lambda version: (),
    ) -> None:
        """Takes the answers by cell, attributed or not; they are read once, on first use.

        `of_release` returns the answers of one release.
        """
        self._known = matrix.known
        self._subject = matrix.subject
        self._answers = answers
        self._of_release = of_release
        self._works_in = cache(self._working_in)
        # Cells of a release with the same issues share one object.
        self._faults = cache(lambda version, issues: tuple(self._faults_of(version, issues)))

    def context(self, cell: Cell, present: EvaluationContext) -> EvaluationContext:
        version = cell.on(self._subject).version
        issues = tuple(
            number
            for number, issue in enumerate(self._known)
            if issue.capability and holds(issue, cell) and number not in self.refuting
        )
        return replace(present, faults=self._faults(version, issues))

    def _faults_of(self, version: Version, issues: Sequence[int]) -> Iterator[CapabilityFault]:
        """Declarations about the failure decide first, then the other cells of the release."""
        working = self._works_in(version)
        for number in issues:
            issue = self._known[number]
            fault: Blame = "combination" if issue.capability in working else issue.fault
            yield CapabilityFault(id=issue.capability, fault=fault, outcome=issue.outcome)
        yield from (CapabilityFault(id=name, fault="combination") for name in sorted(working))

    @cached_property
    def refuting(self) -> dict[int, tuple[Cell, ...]]:
        """The cells that refute a `[[known]]` entry about a capability, by the entry's number.

        It works there, where the entry declares a failure. An entry about every combination of a
        release is refuted by any cell of its range. A flaky capability refutes nothing.
        """
        steady = [(answer.cell, steadily_working(answer)) for answer in self._answers]
        refuting = {
            number: tuple(c for c, ids in steady if issue.capability in ids and holds(issue, c))
            for number, issue in enumerate(self._known)
            if issue.capability
        }
        return {number: cells for number, cells in refuting.items() if cells}

    def _working_in(self, version: Version) -> frozenset[str]:
        # Cells with the same results share one object.
        distinct = {(id(e.capabilities), e.changing): e for e in self._of_release(version)}
        return frozenset[str]().union(*map(steadily_working, distinct.values()))


def steadily_working(known: Answer) -> frozenset[str]:
    passing = {capability.id for capability in known.capabilities if capability.status == "yes"}
    return frozenset(passing.difference(known.changing))


def explains(issue: KnownIssue, failed: Outcome | None) -> bool:
    return not issue.outcome or begins_with(failed, issue.outcome)


def is_machine_issue(issue: KnownIssue) -> bool:
    match = re.match(r"[a-z]+-fail:[a-z-]+", issue.outcome)
    try:
        return match is not None and is_of_machine(parse_outcome(match[0]))
    except ValueError:
        return False


def holds(issue: KnownIssue, cell: Cell) -> bool:
    versions = {coordinate.axis: coordinate.version for coordinate in cell.coordinates}
    return all(
        not isinstance(specifier, str)
        and axis in versions
        and specifier.contains(versions[axis], prereleases=True)
        for axis, specifier in issue.when.conditions
    )


_CLAIMS = {
    "combination": "where this entry says why it fails",
    "release": "where this entry says that it fails in every combination of the release",
    "index": "where this entry says that the index no longer has what it needs",
}


def refuted(matrix: Matrix, answers: Iterable[Answer]) -> Iterator[Finding]:
    """Names the first refuting cell, fresh results before stale ones, flaky capabilities never."""
    cells = {each.cell: each for each in answers if not each.cell.unread}
    for number, refuting in Attribution(matrix, cells.values()).refuting.items():
        issue = matrix.known[number]
        first, *others = sorted(refuting, key=lambda cell: (cells[cell].stale, cell.id))
        more = f" and {len(others)} more" if others else ""
        message = f"{issue.capability} works in {first.id}{more}, {_CLAIMS[issue.fault]}"
        again = "; or run the cell again, as its result is stale" if cells[first].stale else ""
        hint = f"narrow its `when`, or remove it{again}"
        yield Finding("refuted", ("known", number), message, hint)
    for number, issue in enumerate(matrix.known):
        # How a capability fails in the range of an entry by the records: in several ways where it
        # names none, and never as it names.
        failures = {
            cell.id: capability.failed
            for cell, verdict in cells.items()
            for capability in verdict.capabilities
            if capability.id == issue.capability and capability.failed and holds(issue, cell)
        }
        by_cause = {failed.cause: cell for cell, failed in failures.items() if failed}
        ways = " and ".join(f"{cause} in {cell}" for cause, cell in sorted(by_cause.items()))
        if len(by_cause) > 1 and not issue.outcome:
            message = f"{issue.capability} fails in more than one way in this range: {ways}"
            hint = "`outcome` names the one that this explains, such as 'test-fail:assertion'"
            yield Finding("vague", ("known", number), message, hint)
        elif failures and not any(explains(issue, failed) for failed in failures.values()):
            message = (
                f"no failure of {issue.capability} in this range begins with {issue.outcome!r}"
            )
            yield Finding("unmatched", ("known", number, "outcome"), f"{message}: {ways}")


# Converts the attempts of a cell to its Record by capability, redacted and cut to size.

# `socketserver` prints this when a client disconnects: the suite's relay for remote executors has
# such clients, and no test fails by it.
# https://docs.python.org/3/library/socketserver.html#socketserver.BaseServer.handle_error
_SERVER_NOISE = re.compile(
    r"-{40}\nException (?:occurred|happened) during processing of request from .*\n"
    r"(?:(?!-{40}\n?).*\n)*?(?:-{40}\n?|\Z)"
)
_HEADING = re.compile(r"^=+ (?:FAILURES|ERRORS) =+$")
_SIGNS = ("Error", "error:", "Fatal Python", "FAILED", "Traceback")
# pytest's prefix of the exception's own lines.
_RAISED = "E  "


def around_first_error(log: str, before: int, after: int) -> str:
    """The lines around a log's first real error, below pytest's heading; else its end."""
    lines = _SERVER_NOISE.sub("\n", log).splitlines()
    heading = next((n for n, line in enumerate(lines) if _HEADING.match(line)), None)
    top = 0 if heading is None else heading + 1
    rest = range(top, len(lines))
    error = next((n for n in rest if any(sign in lines[n] for sign in _SIGNS)), len(lines))
    raised = (n for n in rest if heading is not None and lines[n].startswith(_RAISED))
    first = next(raised, error)
    return "\n".join(lines[max(top, first - before) : first + after])


# Removes what may not be published: `redact.redacted` with the machine's folders.
Redact = Callable[[str], str]
_LOG = 3600
_MOST_CAPABILITIES = 10_000
_MOST_REMARKS = 50


class JudgedRun(Value, frozen=True, kw_only=True):
    """One run of one cell: what it left behind and what that means."""

    evidence: Evidence
    outcome: Outcome


def judged(evidence: Evidence) -> JudgedRun:
    return JudgedRun(evidence=evidence, outcome=classify(evidence))


def record_of(
    attempts: Sequence[JudgedRun], tool: str, run_url: str = "", redacted: Redact = redacted
) -> Record:
    outcomes = [
        outcome
        if isinstance(outcome, Passed)
        else Failed(
            stage=outcome.stage,
            cause=outcome.cause,
            **{part: redacted(getattr(outcome, part))[:900] for part in ("subject", "by", "at")},
        )
        for outcome in (attempt.outcome for attempt in attempts)
    ]
    outcome = decisive(outcomes)
    runs = [attempt.evidence for attempt in attempts]
    deciding = runs[len(outcomes) - 1 - outcomes[::-1].index(outcome)]
    taken: dict[StepName, float] = {step.name: step.ended.seconds for step in deciding.steps}
    overhead = max(0.0, deciding.seconds - sum(taken.values()))
    rounded = {name: round(seconds, 3) for name, seconds in taken.items()}
    return Record(
        cell=deciding.cell,
        matrix=deciding.matrix,
        outcome=outcome,
        lock_digest=deciding.lock_digest,
        suite_digest=deciding.suite_digest,
        started=runs[0].started,
        seconds=round(sum(evidence.seconds for evidence in runs), 3),
        host=deciding.host,
        isolation=deciding.isolation,
        tier=deciding.tier,
        tool=tool,
        capabilities=() if is_untrusted(outcome) else attempted_capabilities(deciding, redacted),
        metrics=_metrics(deciding),
        installed=deciding.installed,
        involved=involved(
            outcome, (item.name for item in deciding.installed), dict(deciding.owners)
        ),
        remarks=_remarks(deciding, outcome, redacted),
        step_seconds=StepSeconds(
            install=rounded.get("install"),
            import_=rounded.get("import"),
            suite=rounded.get("suite"),
            overhead=round(overhead, 3),
        ),
        log=excerpt(deciding, outcome, redacted),
        run_url=run_url,
        attempts=tuple(
            Attempt(
                outcome=attempt_outcome,
                seconds=round(e.seconds, 3),
                started=e.started,
                isolation=e.isolation,
            )
            for e, attempt_outcome in zip(runs, outcomes, strict=True)
        ),
    )


def record_of_resolution_failure(
    cell: str,
    matrix: str,
    refusal: Refusal,
    at: datetime.datetime,
    present: EvaluationContext,
    host: str,
    run_url: str = "",
) -> Record:
    return Record(
        cell=cell,
        matrix=matrix,
        outcome=Failed(stage="lock", cause=refusal.cause, subject=refusal.subject),
        lock_digest="",
        suite_digest=present.suite_digest,
        started=at,
        seconds=0.0,
        host=host,
        isolation="L0",
        log=redacted(refusal.because)[:_LOG],
        run_url=run_url,
        involved=involved_in_failure(refusal.subject, refusal.because),
    )


def excerpt(evidence: Evidence, outcome: Outcome, redacted: Redact) -> str:
    if isinstance(outcome, Passed) or not evidence.steps:
        return ""
    first = evidence.imported or next(iter(evidence.collect_errors), None)
    raised = first and first.origin
    own = own_error(evidence.steps[-1].log)
    error_lines = [redacted(own)] if own else []
    if raised is not None:
        error_lines = [redacted(f"{raised.type}: {raised.message} ({raised.where})")]
    around = around_first_error(redacted(evidence.steps[-1].log), before=30, after=30).splitlines()
    text = "\n".join(line[:400] for line in (*error_lines, *around))
    return text.encode()[:_LOG].decode(errors="ignore")


def attempted_capabilities(evidence: Evidence, redacted: Redact) -> tuple[Capability, ...]:
    """Where several tests share an id, a failed one decides, then one that ran."""
    rank = {"failed": 0, "passed": 1, "absent": 2, "skipped": 3}
    deciding: dict[str, Trial] = {}
    for trial in sorted(evidence.tests, key=lambda trial: rank[trial.status]):
        name = trial.capability or trial.function
        deciding.setdefault(redacted(name)[:200], trial)
    ids = sorted(deciding)[:_MOST_CAPABILITIES]
    return tuple(
        _capability(name, deciding[name], redacted)
        for name in ids
        if name and deciding[name].status != "skipped"
    )


def _remarks(evidence: Evidence, outcome: Outcome, redacted: Redact) -> tuple[str, ...]:
    """One sentence each: on the suite, the packages, and a missing processor instruction."""
    at_start = (f"runs code at the interpreter's start: {text}" for text in evidence.startup)
    wrong = (f"RECORD does not fit the wheel's own file: {text}" for text in evidence.misrecorded)
    kept_out = (f"left out, as it belongs to the interpreter: {text}" for text in evidence.refused)
    plugins = (f"pytest loads a plugin of {text}" for text in evidence.plugins)
    of_machine = []
    if evidence.processor and lacks_instruction(outcome):
        of_machine = [f"the processor that lacks the instruction is an {evidence.processor}"]
    unsized = [each for each in evidence.steps if each.ended.memory == ("counted",)]
    if unsized and evidence.isolation == "L3":
        of_machine += ["/dev/shm and /tmp had no size of their own: bubblewrap is too old"]
    remarks = (*of_machine, *evidence.suite_notes, *kept_out, *at_start, *plugins, *wrong)
    return tuple(redacted(remark)[:300] for remark in remarks)[:_MOST_REMARKS]


def _capability(name: str, trial: Trial, redacted: Redact) -> Capability:
    if trial.status == "passed":
        return Capability(id=name, status="yes", spelling=redacted(trial.spelling))
    if trial.status == "absent":
        return Capability(id=name, status="absent", missing=tuple(map(redacted, trial.missing)))
    if trial.raised is None:
        return Capability(id=name, status="no", cause="error")
    raised = trial.raised.origin
    cause, _ = match_signature(EXCEPTIONS, f"{raised.type}: {raised.message}") or ("error", "")
    what, where = redacted(f"{raised.type}: {raised.message}")[:500], redacted(raised.where)[:400]
    return Capability(id=name, status="no", cause=cause, subject=f"{what} ({where})")


def _metrics(evidence: Evidence) -> tuple[Metric, ...]:
    measured = list(evidence.metrics)
    peaks = (step.ended.peak_memory_mb for step in evidence.steps if step.name == "suite")
    import_seconds = evidence.import_seconds if evidence.imported is None else None
    for name, value, unit in (
        ("import_seconds", None if import_seconds is None else round(import_seconds, 3), "s"),
        (INSTALLED, evidence.installed_mb, "MiB"),
        ("peak_memory", float(max(peaks, default=0)) or None, "MiB"),
    ):
        if value is not None:
            measured.append(Metric(name=name, value=value, unit=unit, better="lower"))
    return tuple(sorted(measured, key=lambda metric: metric.name))
