"""What a run leaves for CI. It says no more than the exit code of the run does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from compat.cli.learnt import learnt, next_step
from compat.cli.reports import Report, ReportCase, ReportSuite
from compat.cli.verdicts import RunWords, verdict_words
from compat.github.markdown import code, inline
from compat.results.answer import EXCUSED, Answer
from compat.results.record import Record
from compat.run.outcome import Failed, Passed, is_spurious
from compat.site.wording import cause_sentence, fault_words, reason_words
from compat.value import Value

if TYPE_CHECKING:
    from compat.results.answer import Blame
    from compat.results.record import Capability
    from compat.workspace import Workspace


class RanCell(Value, frozen=True, kw_only=True):
    """A cell that was to run: what is known of it, what pages call that, and its run.

    `record` is None where it has no result; `came_to` is what the run came to, in words or as it is
    stored.
    """

    verdict: Answer
    word: str
    record: Record | None
    came_to: str = ""


def released_report(
    workspace: Workspace, cells: Sequence[str], records: Sequence[Record]
) -> Report:
    """Return what cells of releases came to that were to run, by what was recorded of them."""
    title = workspace.matrix.title
    if not cells:
        heading = f"{title}: nothing was due"
        return Report(command=_run_words(workspace), suites=(), heading=heading)
    by_cell, words = {record.cell: record for record in records}, RunWords(workspace, cells)
    ran = []
    for cell in cells:
        record = by_cell.get(cell)
        word = "no result" if record is None else verdict_words(workspace, cell)
        came_to = "" if record is None else words.of_record(record)
        verdict = workspace.verdict(cell)
        ran.append(RanCell(verdict=verdict, word=word, record=record, came_to=came_to))
    outcomes = {record.cell: str(record.outcome) for record in records}
    sentences: tuple[str, ...] = ()
    if outcomes:
        sentences = (*learnt(workspace, outcomes), next_step(workspace, outcomes))
    return run_report(workspace, title, ran, sentences)


def run_report(
    workspace: Workspace, title: str, ran: Sequence[RanCell], sentences: tuple[str, ...] = ()
) -> Report:
    """Return what cells came to, in the summary those that do not work first.

    Each cell is a suite, each capability a case. A capability that fails in this combination is a
    failure; what the release lacks, or fails in every combination of it, is skipped, as it takes
    nothing from the verdict. Trouble of the machine or the network is an error, and so is a cell
    without a result.
    """
    works = sum(map(_works, ran))
    number = f"{works:,} of {len(ran):,} combinations work"
    if len(ran) == 1:
        number = f"the combination {'works' if works else 'does not work'}"
    return Report(
        command=_run_words(workspace),
        suites=tuple(map(_suite, ran)),
        heading=f"{title}: {number}",
        columns=("cell", "verdict", "this run"),
        rows=tuple(
            (code(each.verdict.id), inline(each.word), _why(each))
            for each in sorted(ran, key=_works)
        ),
        sentences=sentences,
    )


def _run_words(workspace: Workspace) -> str:
    return f"compat run {workspace.name}"


def _works(ran: RanCell) -> bool:
    return ran.record is not None and ran.verdict.kind == "works"


def _suite(ran: RanCell) -> ReportSuite:
    cell, record = ran.verdict.id, ran.record
    if record is None:
        why = "compat could not run this cell, or was stopped; see what it printed"
        return ReportSuite(cell=cell, cases=(ReportCase(name="run", tag="error", message=why),))
    cases = tuple(_cases(ran.verdict, record))
    return ReportSuite(cell=cell, cases=cases, started=record.started, seconds=record.seconds)


def _cases(verdict: Answer, record: Record) -> Iterator[ReportCase]:
    excused = {fault.id: fault.fault for fault in verdict.faults if fault.fault in EXCUSED}
    for capability in record.capabilities:
        yield _capability_case(capability, excused)
    outcome = record.outcome
    failing = {capability.id for capability in record.capabilities if capability.status == "no"}
    if isinstance(outcome, Failed) and not (outcome.stage == "test" and outcome.subject in failing):
        yield ReportCase(
            name=outcome.stage,
            tag="error" if is_spurious(outcome) else "failure",
            message=cause_sentence(outcome),
            kind=outcome.cause,
            log=record.log,
        )
    elif not record.capabilities and isinstance(outcome, Passed):
        yield ReportCase(name="suite")


def _capability_case(capability: Capability, excused: Mapping[str, Blame]) -> ReportCase:
    name, failed = capability.id, capability.failed
    if capability.status == "absent":
        lacking = ", ".join(capability.missing) or "it"
        return ReportCase(name=name, tag="skipped", message=f"this release does not have {lacking}")
    if failed is None:
        return ReportCase(name=name)
    if name in excused:
        why = f"{fault_words(excused[name])}: {reason_words(failed)}"
        return ReportCase(name=name, tag="skipped", message=why)
    why = capability.subject or reason_words(failed)
    return ReportCase(name=name, tag="failure", message=why, kind=failed.cause)


def _why(ran: RanCell) -> str:
    if ran.record is None:
        return "compat could not run it, or was stopped"
    outcome = ran.record.outcome
    if not isinstance(outcome, Failed) or ran.came_to != str(outcome):
        return inline(ran.came_to, 500)
    return inline(cause_sentence(outcome), 500)
