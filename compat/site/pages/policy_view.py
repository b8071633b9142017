"""The `site` room's schedule and proposals: when floors may move, and why not yet."""

import datetime

from compat.advise.request import label
from compat.files import unified_diff
from compat.policy.calendar import Bar, Outlook, ScheduledMove, missing_command
from compat.policy.proposal import CellEvidence, Kind, Proposal
from compat.policy.propose import affected_words, floors
from compat.rewrite.matrix_file import matrix_after
from compat.site.edition import MatrixReport
from compat.site.pages.charts import Chart, Span, Table, timeline
from compat.site.pages.place_view import View, entry_page
from compat.site.pages.quarter_view import QuarterLink, quarter_links
from compat.site.paths import api_path, calendar_path, page
from compat.site.why_words import keeper_sentence
from compat.site.wording import count, day

_VERBS: dict[Kind, str] = {
    "raise": "Raise",
    "lower": "Lower",
    "early": "Raise early",
    "extend": "Extend",
}


class MinimumView(View, frozen=True):
    """The floors from a day on, in words: as the rules have it, and with those moves only that are
    proven.
    """

    on: datetime.date
    floors: tuple[str, ...]
    proven: tuple[str, ...]


class ScheduleView(View, frozen=True):
    """The schedule of a matrix; nothing of it where there is no policy."""

    has_policy: bool
    chart: Chart | None
    moves: tuple[ScheduledMove, ...]
    minimums: tuple[MinimumView, ...]
    quarters: tuple[QuarterLink, ...]
    axes: tuple[str, ...]
    outlooks: tuple[Outlook, ...]
    why: str
    calendar_path: str


class ProposalLine(View, frozen=True):
    """A proposal in the list."""

    title: str
    short: str
    path: str
    state: str
    why: str
    evidence: str
    share: float
    earliest: datetime.date | None
    diff: str


class FloorView(View, frozen=True):
    """A floor on the maintainer's page: where it can go next, the command of the runs that are
    missing (empty where none is), its proposals, its arithmetic and its calendar.
    """

    id: str
    outlook: Outlook
    command: str
    lost: tuple[str, ...]
    proposals: tuple[ProposalLine, ...]
    arithmetic: tuple[str, ...]
    why: str
    calendar_path: str


class ProposalList(View, frozen=True):
    """Every floor, and what is proposed for it on the day; then what the matrix could be extended
    by.
    """

    has_policy: bool
    floors: tuple[FloorView, ...]
    extensions: tuple[ProposalLine, ...]
    calendar_path: str
    schedule_path: str
    api_path: str


class EvidenceLine(View, frozen=True):
    """A cell that a move depends on, and the path of its page, empty where it has none."""

    evidence: CellEvidence
    path: str


class ProposalView(View, frozen=True):
    """A proposal, as its page shows it."""

    line: ProposalLine
    release: str
    grounds: tuple[str, ...]
    objections: tuple[str, ...]
    arithmetic: tuple[str, ...]
    evidence: tuple[EvidenceLine, ...]
    lost: tuple[str, ...]
    gained: tuple[str, ...]
    missing: str
    missing_what: str
    command: str


def schedule_view(report: MatrixReport) -> ScheduleView:
    snapshot = report.snapshot
    schedule = report.schedule
    names = {axis.name: label(axis) for axis in snapshot.matrix.axes}
    rows = tuple(
        (
            f"{names[bar.axis]} {bar.version}",
            day(bar.released),
            "not known yet" if bar.until is None else day(bar.until),
            "not announced" if bar.end_of_life is None else day(bar.end_of_life),
            "the floor now" if bar.is_floor else "",
        )
        for bar in schedule.bars
    )
    spans = [
        _span(bar, names[bar.axis])
        for bar in schedule.bars
        if bar.until is None or bar.until > schedule.day
    ]
    table = Table(heads=("version", "released", "window ends", "upstream ends", ""), rows=rows)
    title = "How long each version stays in its window"
    says = "From its release to the day on which the floor may move past it; the line is today."
    return ScheduleView(
        has_policy=snapshot.ask.policy is not None,
        chart=timeline("windows", title, says, spans, table, schedule.day) if spans else None,
        moves=schedule.moves,
        minimums=tuple(
            MinimumView(
                on=minimum.on,
                floors=tuple(f"{names[axis]} {version}" for axis, version in minimum.floors),
                proven=tuple(f"{names[axis]} {version}" for axis, version in minimum.proven),
            )
            for minimum in schedule.minimums
        ),
        quarters=quarter_links(report),
        axes=tuple(names[axis] for axis in {bar.axis: None for bar in schedule.bars}),
        outlooks=report.outlooks,
        why=_why_python(report),
        calendar_path=calendar_path(report.name, "all"),
    )


def _why_python(report: MatrixReport) -> str:
    """What keeps the newest release from an older Python; empty where its sources were not read."""
    floor = next(reversed(report.python_floors.values()), None)
    if floor is None or floor.needs is None:
        return ""
    package = report.snapshot.matrix.subject_axis.package
    return f"{package} {floor.release}: {keeper_sentence(floor)}"


def proposal_list(report: MatrixReport) -> ProposalList:
    snapshot = report.snapshot
    arithmetic = {floor.axis: floor.arithmetic for floor in floors(snapshot, snapshot.day)}
    python = snapshot.matrix.interpreters.name
    return ProposalList(
        has_policy=snapshot.ask.policy is not None,
        floors=tuple(
            FloorView(
                id=outlook.axis,
                outlook=outlook,
                command=missing_command(report.name, outlook.needs) if outlook.needs else "",
                lost=tuple(map(affected_words, outlook.lost)),
                proposals=tuple(
                    _line(report, proposal)
                    for proposal in report.proposals
                    if proposal.axis == outlook.axis and proposal.kind != "extend"
                ),
                arithmetic=arithmetic[outlook.axis],
                why=_why_python(report) if outlook.axis == python else "",
                calendar_path=calendar_path(report.name, outlook.axis),
            )
            for outlook in report.outlooks
        ),
        extensions=tuple(
            _line(report, proposal) for proposal in report.proposals if proposal.kind == "extend"
        ),
        calendar_path=calendar_path(report.name, "all"),
        schedule_path=page(report.name, "schedule"),
        api_path=api_path(report.name, "proposals"),
    )


def proposal_view(report: MatrixReport, proposal: Proposal) -> ProposalView:
    return ProposalView(
        line=_line(report, proposal),
        release=proposal.release,
        grounds=proposal.grounds,
        objections=tuple(objection.because for objection in proposal.objections),
        arithmetic=proposal.arithmetic,
        evidence=tuple(
            EvidenceLine(evidence=proof, path=_known_page(report, proof.cell))
            for proof in proposal.evidence
        ),
        lost=tuple(map(affected_words, proposal.lost)),
        gained=tuple(map(affected_words, proposal.gained)),
        missing=missing_command(report.name, proposal.needs) if proposal.needs else "",
        missing_what=(
            "a first run" if proposal.kind == "extend" else "one more run of each cell, once a day"
        ),
        command=f"compat propose {report.name}",
    )


def title_of(proposal: Proposal) -> str:
    if proposal.kind == "extend":
        return (
            f"Extend the matrix from {proposal.package} {proposal.current} to {proposal.proposed}"
        )
    floor = f"the floor of {proposal.package}"
    return f"{_VERBS[proposal.kind]} {floor} from {proposal.current} to {proposal.proposed}"


def _line(report: MatrixReport, proposal: Proposal) -> ProposalLine:
    supporting, every = sum(proof.supports for proof in proposal.evidence), len(proposal.evidence)
    cells = count(every, "cell supports it", "cells support it")
    return ProposalLine(
        title=title_of(proposal),
        short=f"{_VERBS[proposal.kind]} to "
        f"{proposal.package + ' ' if proposal.kind == 'extend' else ''}{proposal.proposed}",
        path=page(report.name, "proposals", proposal.id),
        state="open" if proposal.is_open else "waiting",
        why=proposal.because if proposal.is_open else proposal.objections[0].because,
        evidence=f"{supporting:,} of {cells}" if every else "No cell tests it",
        share=round(100 * supporting / every) if every else 0,
        earliest=proposal.earliest,
        diff=_diff(report, proposal),
    )


def _diff(report: MatrixReport, proposal: Proposal) -> str:
    """What the proposal alone makes of the declaration, whatever it still waits for."""
    before = report.parts.declaration()
    after = matrix_after(before, proposal, proposal.reason)
    return unified_diff(f"matrices/{report.name}/matrix.toml", before, after)


def _known_page(report: MatrixReport, cell: str) -> str:
    entry = report.snapshot.by_id.get(cell)
    return "" if entry is None else entry_page(entry)


def _span(bar: Bar, name: str) -> Span:
    until = (
        "its window has no end yet"
        if bar.until is None
        else f"in its window until {day(bar.until)}"
    )
    return Span(
        row=f"{name} {bar.version}",
        begin=bar.released,
        end=bar.until,
        css="works" if bar.is_floor else "relaxed",
        sign="floor" if bar.is_floor else "",
        says=f"{name} {bar.version}: {until}",
    )
