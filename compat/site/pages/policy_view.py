"""The `site` room's schedule and proposals: when floors may move, and why not yet."""

import datetime

from compat.advise.request import label
from compat.policy.calendar import Bar, ScheduledMove
from compat.policy.proposal import AxisFloor, CellEvidence, Proposal
from compat.policy.propose import floors
from compat.site.edition import MatrixReport
from compat.site.pages.charts import Chart, Span, Table, timeline
from compat.site.pages.place_view import View, entry_page
from compat.site.pages.quarter_view import QuarterLink, quarter_links
from compat.site.paths import calendar_path, page
from compat.site.wording import count, day


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
    calendar_path: str


class ProposalLine(View, frozen=True):
    """A proposal in the list."""

    title: str
    path: str
    state: str
    why: str
    evidence: str
    share: float
    earliest: datetime.date | None


class ProposalList(View, frozen=True):
    """All proposals of a day, and the arithmetic of the floors that stay."""

    has_policy: bool
    proposals: tuple[ProposalLine, ...]
    floors: tuple[AxisFloor, ...]


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
    needs: tuple[str, ...]
    command: str


def schedule_view(report: MatrixReport) -> ScheduleView:
    """Return the view of the schedule."""
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
        calendar_path=calendar_path(report.name, "all"),
    )


def proposal_list(report: MatrixReport) -> ProposalList:
    """Return the list of proposals."""
    snapshot = report.snapshot
    return ProposalList(
        has_policy=snapshot.ask.policy is not None,
        proposals=tuple(_line(report, proposal) for proposal in report.proposals),
        floors=floors(snapshot, snapshot.day),
    )


def proposal_view(report: MatrixReport, proposal: Proposal) -> ProposalView:
    """Return the view of a proposal."""
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
        lost=tuple(
            f"{gone.package} {', '.join(map(str, gone.versions))}" for gone in proposal.lost
        ),
        gained=tuple(
            f"{won.package} {', '.join(map(str, won.versions))}" for won in proposal.gained
        ),
        needs=proposal.needs,
        command=f"compat propose {report.name}",
    )


def title_of(proposal: Proposal) -> str:
    """Return what a proposal asks for."""
    verb = {"raise": "Raise", "lower": "Lower", "early": "Raise early"}[proposal.kind]
    return f"{verb} the floor of {proposal.package} from {proposal.current} to {proposal.proposed}"


def _line(report: MatrixReport, proposal: Proposal) -> ProposalLine:
    supporting, every = sum(proof.supports for proof in proposal.evidence), len(proposal.evidence)
    cells = count(every, "cell supports it", "cells support it")
    return ProposalLine(
        title=title_of(proposal),
        path=page(report.name, "proposals", proposal.id),
        state="open" if proposal.is_open else "waiting",
        why=proposal.because if proposal.is_open else proposal.objections[0].because,
        evidence=f"{supporting:,} of {cells}" if every else "No cell tests it",
        share=round(100 * supporting / every) if every else 0,
        earliest=proposal.earliest,
    )


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
