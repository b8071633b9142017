"""The `site` room's future: when floors may move, by the policy's calendar, and which moves are
proposed or wait.
"""

import datetime

from compat.advise.request import label
from compat.policy.calendar import Bar, ScheduledMove
from compat.policy.proposal import Proposal
from compat.policy.propose import floors
from compat.site.edition import MatrixReport, cell_page, page
from compat.site.pages.charts import Chart, Span, Table, timeline
from compat.site.pages.place_view import View
from compat.site.pages.quarter_view import QuarterLink, quarter_links
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


class Arithmetic(View, frozen=True):
    """Why a floor is where it is: the lines from dates to what the calendar allows."""

    label: str
    at: str
    lines: tuple[str, ...]


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
    floors: tuple[Arithmetic, ...]


class ProofLine(View, frozen=True):
    """A cell that a move depends on."""

    cell: str
    path: str
    word: str
    because: str
    supports: bool


class ProposalView(View, frozen=True):
    """A proposal, as its page shows it."""

    line: ProposalLine
    release: str
    grounds: tuple[str, ...]
    objections: tuple[str, ...]
    arithmetic: tuple[str, ...]
    evidence: tuple[ProofLine, ...]
    lost: tuple[str, ...]
    gained: tuple[str, ...]
    needs: tuple[str, ...]
    command: str


def schedule_view(report: MatrixReport) -> ScheduleView:
    """Return the view of the schedule."""
    snapshot = report.picture
    made = report.schedule
    names = {axis.name: label(axis) for axis in snapshot.matrix.axes}
    rows = tuple(
        (
            f"{names[one.axis]} {one.version}",
            day(one.released),
            "not known yet" if one.until is None else day(one.until),
            "not announced" if one.end_of_life is None else day(one.end_of_life),
            "the floor now" if one.is_floor else "",
        )
        for one in made.bars
    )
    spans = [
        _span(one, names[one.axis])
        for one in made.bars
        if one.until is None or one.until > made.day
    ]
    table = Table(heads=("version", "released", "window ends", "upstream ends", ""), rows=rows)
    title = "How long each version stays in its window"
    says = "From its release to the day on which the floor may move past it; the line is today."
    return ScheduleView(
        has_policy=snapshot.ask.policy is not None,
        chart=timeline("windows", title, says, spans, table, made.day) if spans else None,
        moves=made.moves,
        minimums=tuple(
            MinimumView(
                on=one.on,
                floors=tuple(f"{names[axis]} {version}" for axis, version in one.floors),
                proven=tuple(f"{names[axis]} {version}" for axis, version in one.proven),
            )
            for one in made.minimums
        ),
        quarters=quarter_links(report),
        axes=tuple(names[axis] for axis in {one.axis: None for one in made.bars}),
        calendar_path=f"cal/{report.name}/all.ics",
    )


def proposal_list(report: MatrixReport) -> ProposalList:
    """Return the list of proposals."""
    snapshot = report.picture
    return ProposalList(
        has_policy=snapshot.ask.policy is not None,
        proposals=tuple(_line(report, one) for one in report.proposals),
        floors=tuple(
            Arithmetic(label=one.package, at=str(one.at), lines=one.arithmetic)
            for one in floors(snapshot, snapshot.day)
        ),
    )


def proposal_view(report: MatrixReport, one: Proposal) -> ProposalView:
    """Return the view of a proposal."""
    return ProposalView(
        line=_line(report, one),
        release=one.release,
        grounds=one.grounds,
        objections=tuple(objection.because for objection in one.objections),
        arithmetic=one.arithmetic,
        evidence=tuple(
            ProofLine(
                cell=proof.cell,
                path=_known_page(report, proof.cell),
                word=proof.word,
                because=proof.because,
                supports=proof.supports,
            )
            for proof in one.evidence
        ),
        lost=tuple(f"{gone.package} {', '.join(map(str, gone.versions))}" for gone in one.lost),
        gained=tuple(f"{won.package} {', '.join(map(str, won.versions))}" for won in one.gained),
        needs=one.needs,
        command=f"compat propose {report.name}",
    )


def title_of(one: Proposal) -> str:
    """Return what a proposal asks for."""
    verb = {"raise": "Raise", "lower": "Lower", "early": "Raise early"}[one.kind]
    return f"{verb} the floor of {one.package} from {one.current} to {one.proposed}"


def _line(report: MatrixReport, one: Proposal) -> ProposalLine:
    supporting, every = sum(proof.supports for proof in one.evidence), len(one.evidence)
    cells = count(every, "cell supports it", "cells support it")
    return ProposalLine(
        title=title_of(one),
        path=page(report.name, "proposals", one.id),
        state="open" if one.is_open else "waiting",
        why=one.because if one.is_open else one.objections[0].because,
        evidence=f"{supporting:,} of {cells}" if every else "no cell tests it",
        share=round(100 * supporting / every) if every else 0,
        earliest=one.earliest,
    )


def _known_page(report: MatrixReport, cell: str) -> str:
    entry = report.picture.by_id.get(cell)
    return (
        cell_page(entry.cell)
        if entry is not None and (entry.runs or entry.lock_digest is not None)
        else ""
    )


def _span(one: Bar, name: str) -> Span:
    until = (
        "its window has no end yet"
        if one.until is None
        else f"in its window until {day(one.until)}"
    )
    return Span(
        row=f"{name} {one.version}",
        begin=one.released,
        end=one.until,
        css="works" if one.is_floor else "relaxed",
        sign="floor" if one.is_floor else "",
        says=f"{name} {one.version}: {until}",
    )
