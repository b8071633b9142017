"""Converts the attempts of a cell to its Record by capability, redacted and cut to size."""

import datetime
import re
from collections.abc import Callable, Sequence

from compat.lock.lockfile import Refusal
from compat.lock.refusals import own_error
from compat.results.judge import EvaluationContext
from compat.results.record import (
    INSTALLED,
    Attempt,
    Capability,
    Record,
    StepSeconds,
    decisive,
    involved,
    involved_in_refusal,
)
from compat.results.redact import redacted
from compat.run.classify import classify
from compat.run.evidence import Evidence, Metric, StepName, Trial
from compat.run.outcome import Failed, Outcome, Passed, is_untrusted, lacks_instruction
from compat.run.signatures import EXCEPTIONS, match_signature
from compat.value import Value

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
        capabilities=() if is_untrusted(outcome) else tried_capabilities(deciding, redacted),
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


def record_of_refusal(
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
        involved=involved_in_refusal(refusal.subject, refusal.because),
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


def tried_capabilities(evidence: Evidence, redacted: Redact) -> tuple[Capability, ...]:
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
