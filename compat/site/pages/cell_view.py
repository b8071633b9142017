"""The `site` room's cell page: verdict, install commands, capabilities and what fails."""

import datetime
from collections.abc import Iterator

from compat.advise.lifted import Lifted, lifted
from compat.advise.request import label
from compat.declare.matrix import KnownIssue
from compat.results.answer import Answer
from compat.results.log_excerpt import around_first_error
from compat.results.record import Capability, Record
from compat.run.evidence import Metric
from compat.run.outcome import Failed, Outcome
from compat.site.edition import Edition, MatrixReport, place_of
from compat.site.pages.capability_view import capability_title, failing
from compat.site.pages.command_view import CommandBox, command_box
from compat.site.pages.neighbours import Difference, Neighbours, differences, packages
from compat.site.pages.place_view import View, cell_symbol, entry_page, recipe_words
from compat.site.paths import api_path, cell_page, grid_path, page
from compat.site.status import NAMES_RECIPE, STYLES, StatusStyle, style_of
from compat.site.wording import (
    cause_sentence,
    cause_words,
    count,
    day,
    fault_words,
    place_words,
    python_of,
    result_words,
)


class CellCapability(View, frozen=True):
    """A capability in this cell."""

    id: str
    title: str
    path: str
    status: str
    spelling: str
    why: str
    fault: str
    known: KnownIssue | None


class AttemptLine(View, frozen=True):
    """One attempt of a run. `counts` is false where it says nothing about the versions; `is_core`
    where only the core of the suite was asked for.
    """

    started: datetime.datetime
    outcome: str
    seconds: float
    isolation: str
    host: str
    counts: bool
    is_core: bool


class NeighbourLink(View, frozen=True):
    """Another cell as it is shown from here: `label` says what differs."""

    label: str
    style: StatusStyle
    symbol: str
    path: str


class CellFailure(View, frozen=True):
    """What fails in the cell: its outcome, the same in words, what is known, the log, and the
    nearest cell with a better result.
    """

    outcome: str
    result: str
    sentence: str
    known: KnownIssue | None
    log: str
    green: NeighbourLink | None
    differences: tuple[Difference, ...]


class CellView(View, frozen=True):
    """A cell, as its page shows it."""

    id: str
    place: str
    recipe: str
    style: StatusStyle
    symbol: str
    stale: bool
    score: str
    fails: tuple[str, ...]
    reasons: tuple[str, ...]
    tested: str
    since: datetime.date | None
    isolation: str
    remarks: tuple[str, ...]
    obstacle: str
    lifted: tuple[Lifted, ...]
    box: CommandBox | None
    run: str
    failure: CellFailure | None
    failing: tuple[CellCapability, ...]
    absent: tuple[CellCapability, ...]
    passing: tuple[CellCapability, ...]
    helpers: tuple[CellCapability, ...]
    metrics: tuple[Metric, ...]
    attempts: tuple[AttemptLine, ...]
    packages: tuple[tuple[str, str], ...]
    recipes: tuple[NeighbourLink, ...]
    beside: tuple[tuple[str, NeighbourLink | None, NeighbourLink | None], ...]
    release_path: str
    grid_path: str
    api_path: str


def cell_view(
    edition: Edition, report: MatrixReport, entry: Answer, neighbours: Neighbours
) -> CellView:
    """Return the view of a cell; reads its records and its lock, and those of its nearest green
    neighbour.
    """
    cell, verdict, matrix = entry.cell, entry.verdict, report.snapshot.matrix
    records, siblings = report.parts.records(cell.id), report.places[place_of(cell)]
    lock = report.locks.get(cell.id)
    symbol, style = cell_symbol(entry, siblings)
    installed = packages(report, cell.id, reversed(records))
    capabilities = [_capability(report, entry, capability) for capability in verdict.capabilities]
    can = {
        status: tuple(capability for capability in capabilities if capability.status == status)
        for status in ("no", "absent", "yes")
    }
    return CellView(
        id=cell.id,
        place=place_words(cell, matrix),
        recipe="" if style.state in NAMES_RECIPE else recipe_words(entry),
        style=style,
        symbol=symbol,
        stale=verdict.stale,
        score=verdict.score.words,
        fails=failing(report, entry),
        reasons=_reasons(report, entry),
        tested=_summary(entry, records),
        since=verdict.since,
        isolation=records[-1].isolation if records else "",
        remarks=records[-1].remarks if records else (),
        obstacle="" if entry.obstacle is None else entry.obstacle.because,
        lifted=() if lock is None else lifted(report.facts, cell, lock),
        box=None if lock is None else command_box(edition, report, lock),
        run=f"compat run {report.name} {cell.id}",
        failure=_failure(report, entry, records, neighbours, installed),
        failing=can["no"],
        absent=can["absent"],
        passing=can["yes"],
        helpers=tuple(_capability(report, entry, helper) for helper in verdict.helpers),
        metrics=records[-1].metrics if records else (),
        attempts=tuple(
            attempt
            for record in reversed(records)
            for attempt in _attempts(record, _counting(entry, record))
        ),
        packages=tuple(sorted(installed.items())),
        recipes=tuple(_beside(sibling, siblings) for sibling in siblings if sibling is not entry),
        beside=axes_beside(report, entry, neighbours),
        release_path=page(report.name, "release", cell.on(matrix.subject).number),
        grid_path=grid_path(report.name, python_of(cell, matrix)),
        api_path=api_path(report.name, "cells", cell.id),
    )


def _reasons(report: MatrixReport, entry: Answer) -> tuple[str, ...]:
    """Why the verdict is what it is; with how sure that is where it is inferred, and what is known
    of runs that do not count.
    """
    audit = report.audit_sentence if entry.verdict.evidence == "inferred" else ""
    is_without_answer = entry.runs and entry.verdict.outcome is None
    issue = report.snapshot.explained(entry) if is_without_answer else None
    known = "" if issue is None else issue.because.replace("`", "")
    cautions = (caution.replace("`", "") for caution in report.snapshot.cautions(entry))
    others = dict.fromkeys(filter(None, (audit, known, *cautions)))
    return (*entry.verdict.reasons, *others)


def _summary(entry: Answer, records: tuple[Record, ...]) -> str:
    tries = [outcome for record in records for outcome in record.outcomes]
    if not tries:
        return "Not tested yet."
    counted = [outcome for run in entry.counted for outcome in run.outcomes]
    if not counted:
        tried = count(len(tries), "attempt")
        return f"Not tested yet: {tried} failed without saying anything about the versions."
    last = f", the last on {day(entry.verdict.latest)}" if entry.verdict.latest is not None else ""
    passes = sum(not isinstance(outcome, Failed) for outcome in counted)
    result = f"in {passes} every test passed"
    if not passes and entry.verdict.kind in ("works", "partial"):
        # What fails in every combination of a release fails in each run, and the cell works.
        result = f"with failing tests in each: {entry.verdict.score.words}"
    summary = f"{count(len(counted), 'attempt')}, {result}{last}."
    trouble = len(tries) - len(counted)
    return summary + (
        f" {count(trouble, 'more attempt')} failed without saying anything about the versions."
        if trouble
        else ""
    )


def _capability(report: MatrixReport, entry: Answer, capability: Capability) -> CellCapability:
    why = capability.subject
    if capability.status == "absent":
        why = (
            f"looked for {', '.join(capability.missing)}"
            if capability.missing
            else "this version has no such API"
        )
    faults = {fault.id: fault_words(fault.fault) for fault in entry.verdict.faults}
    return CellCapability(
        id=capability.id,
        title=capability_title(report, capability.id),
        path=page(report.name, "cap", capability.id),
        status=capability.status,
        spelling=capability.spelling,
        why=f"{cause_words(capability.cause)}: {why}"
        if capability.status == "no" and capability.cause
        else why,
        fault=faults.get(capability.id, ""),
        known=report.snapshot.explained(entry, capability) if capability.status == "no" else None,
    )


def _counting(entry: Answer, record: Record) -> frozenset[Outcome]:
    runs = (run for run in entry.counted if run.run.started == record.started)
    return frozenset(outcome for run in runs for outcome in run.outcomes)


def _attempts(record: Record, counting: frozenset[Outcome]) -> tuple[AttemptLine, ...]:
    # A record of one try has no list of attempts.
    return tuple(
        AttemptLine(
            started=attempt.started,
            outcome=str(attempt.outcome),
            seconds=attempt.seconds,
            isolation=attempt.isolation,
            host=record.host,
            counts=attempt.outcome in counting,
            is_core=record.tier == "smoke",
        )
        for attempt in record.attempts[::-1] or (record,)
    )


def _failure(
    report: MatrixReport,
    entry: Answer,
    records: tuple[Record, ...],
    neighbours: Neighbours,
    installed: dict[str, str],
) -> CellFailure | None:
    outcome = entry.verdict.outcome
    fails = entry.verdict.kind in ("broken", "partial", "flaky")
    if outcome is None or not (fails or entry.verdict.faults):
        return None
    green = neighbours.greener(entry) if fails else None
    others = (
        {}
        if green is None
        else packages(report, green.cell.id, report.parts.newest_records(green.cell.id))
    )
    failed = [record for record in records if outcome in record.outcomes]
    return CellFailure(
        outcome=str(outcome),
        result=result_words(outcome),
        sentence=cause_sentence(outcome),
        known=report.snapshot.explained(entry),
        log=around_first_error(failed[-1].log, before=18, after=6) if failed else "",
        green=None
        if green is None
        else _named(green, f"{place_words(green.cell, report.snapshot.matrix)}"),
        differences=differences(installed, others) if installed and others else (),
    )


def _named(entry: Answer, words: str) -> NeighbourLink:
    symbol, style = cell_symbol(entry)
    return NeighbourLink(
        label=f"{words}, {recipe_words(entry)}",
        style=style,
        symbol=symbol,
        path=entry_page(entry),
    )


def _beside(entry: Answer, siblings: tuple[Answer, ...]) -> NeighbourLink:
    style = style_of(entry, siblings)
    if style.state == "unknown":
        style = STYLES["unknown"]
    return NeighbourLink(
        label=recipe_words(entry),
        style=style,
        symbol=cell_symbol(entry, siblings)[0],
        path=entry_page(entry),
    )


def axes_beside(
    report: MatrixReport, entry: Answer, neighbours: Neighbours
) -> tuple[tuple[str, NeighbourLink | None, NeighbourLink | None], ...]:
    beside = neighbours.beside(entry.cell)
    return tuple(
        (
            label(axis),
            _along(beside[axis.name][0], axis.name),
            _along(beside[axis.name][1], axis.name),
        )
        for axis in report.snapshot.matrix.axes
        if any(beside[axis.name])
    )


def signs_beside(entry: Answer, neighbours: Neighbours) -> Iterator[str]:
    """Yield what `axes_beside` depends on: which cells stand beside this one, and their signs."""
    for pair in neighbours.beside(entry.cell).values():
        for other in pair:
            if other is not None:
                symbol, style = cell_symbol(other)
                yield f"{other.cell.id} {symbol} {style.css}"
            else:
                yield ""


def _along(entry: Answer | None, axis: str) -> NeighbourLink | None:
    if entry is None:
        return None
    symbol, style = cell_symbol(entry)
    return NeighbourLink(
        label=entry.cell.on(axis).number,
        style=style,
        symbol=symbol,
        path=cell_page(entry.cell),
    )
