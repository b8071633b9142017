"""The `site` room's schedule, quarters and proposals: the documents of the API, with the charts,
differences and links that their pages add.
"""

from compat.advise.request import label
from compat.files import unified_diff
from compat.policy.calendar import Bar, missing_command
from compat.policy.proposal import Kind, Proposal
from compat.policy.propose import affected_words, floors
from compat.rewrite.toml_values import matrix_after
from compat.site.api.axis_documents import (
    QuarterDocument,
    minimum_document,
    proposals_document,
    schedule_document,
)
from compat.site.edition import MatrixReport
from compat.site.pages.charts_view import timeline
from compat.site.pages.place_view import Doc, entry_page
from compat.site.why_words import keeper_sentence
from compat.site.wording import count, day, month

QUARTERS = ("first", "second", "third", "fourth")
_VERBS: dict[Kind, str] = {
    "raise": "Raise",
    "lower": "Lower",
    "early": "Raise early",
    "extend": "Extend",
}


def schedule_view(report: MatrixReport) -> Doc:
    document, names = schedule_document(report), axis_labels(report)
    rows = [
        (
            f"{names[bar.axis]} {bar.version}",
            day(bar.released),
            "not known yet" if bar.until is None else day(bar.until),
            "not announced" if bar.end_of_life is None else day(bar.end_of_life),
            "the floor now" if bar.is_floor else "",
        )
        for bar in document.bars
    ]
    spans = [
        _span(bar, names[bar.axis])
        for bar in document.bars
        if bar.until is None or bar.until > document.day
    ]
    chart = Doc(
        id="windows",
        title="How long each version stays in its window",
        says="From its release to the day on which the floor may move past it; the line is today.",
        unit="",
    )
    heads = ("version", "released", "window ends", "upstream ends", "")
    return Doc(
        has_policy=report.snapshot.ask.policy is not None,
        schedule=document,
        minimum=minimum_document(report),
        names=names,
        chart=timeline(chart, spans, heads, rows, document.day) if spans else None,
        why=_why_python(report),
    )


def quarter_view(report: MatrixReport, quarter: QuarterDocument) -> Doc:
    document = schedule_document(report)
    number = document.quarters.index(quarter)
    return Doc(
        quarter=quarter,
        names=axis_labels(report),
        is_present=number == 0,
        months=f"{month(quarter.begin)} to {month(quarter.end)} {quarter.end.year}",
        moves=[
            (move, [*map(affected_words, move.lost)])
            for move in document.moves
            if move.id in quarter.moves
        ],
        before=document.quarters[number - 1] if number else None,
        after=document.quarters[number + 1] if number + 1 < len(document.quarters) else None,
    )


def quarter_words(quarter: QuarterDocument) -> str:
    """Return what a quarter is called: `the first quarter of 2027`."""
    return f"the {QUARTERS[(quarter.begin.month - 1) // 3]} quarter of {quarter.begin.year}"


def proposal_list(report: MatrixReport) -> Doc:
    snapshot, document = report.snapshot, proposals_document(report)
    arithmetic = {floor.axis: floor.arithmetic for floor in floors(snapshot, snapshot.day)}
    python = snapshot.matrix.interpreters.name
    lines = [proposal_view(report, proposal) for proposal in document.proposals]
    return Doc(
        has_policy=snapshot.ask.policy is not None,
        floors=[
            Doc(
                outlook=outlook,
                command=missing_command(report.name, outlook.needs) if outlook.needs else "",
                lost=[*map(affected_words, outlook.lost)],
                proposals=[
                    line
                    for line in lines
                    if line.proposal.axis == outlook.axis and line.proposal.kind != "extend"
                ],
                arithmetic=arithmetic[outlook.axis],
                why=_why_python(report) if outlook.axis == python else "",
            )
            for outlook in document.outlooks
        ],
        extensions=[line for line in lines if line.proposal.kind == "extend"],
    )


def proposal_view(report: MatrixReport, proposal: Proposal) -> Doc:
    """Return the proposal with its words, and what it alone makes of the declaration, whatever it
    still waits for.
    """
    is_extension, every = proposal.kind == "extend", len(proposal.evidence)
    supporting = sum(proof.supports for proof in proposal.evidence)
    supported = count(every, "cell supports it", "cells support it")
    before = report.parts.declaration()
    after = matrix_after(before, proposal, proposal.reason)
    to = f"{proposal.package} {proposal.proposed}" if is_extension else str(proposal.proposed)
    by_id = report.snapshot.by_id
    return Doc(
        proposal=proposal,
        title=title_of(proposal),
        short=f"{_VERBS[proposal.kind]} to {to}",
        why=proposal.because if proposal.is_open else proposal.objections[0].because,
        supported=f"{supporting:,} of {supported}" if every else "No cell tests it",
        evidence=[
            (proof, entry_page(by_id[proof.cell]) if proof.cell in by_id else "")
            for proof in proposal.evidence
        ],
        lost=[*map(affected_words, proposal.lost)],
        gained=[*map(affected_words, proposal.gained)],
        missing=missing_command(report.name, proposal.needs) if proposal.needs else "",
        diff=unified_diff(f"matrices/{report.name}/matrix.toml", before, after),
    )


def title_of(proposal: Proposal) -> str:
    if proposal.kind == "extend":
        return (
            f"Extend the matrix from {proposal.package} {proposal.current} to {proposal.proposed}"
        )
    floor = f"the floor of {proposal.package}"
    return f"{_VERBS[proposal.kind]} {floor} from {proposal.current} to {proposal.proposed}"


def axis_labels(report: MatrixReport) -> dict[str, str]:
    return {axis.name: label(axis) for axis in report.snapshot.matrix.axes}


def _why_python(report: MatrixReport) -> str:
    """What keeps the newest release from an older Python; empty where its sources were not read."""
    floor = next(reversed(report.python_floors.values()), None)
    if floor is None or floor.needs is None:
        return ""
    package = report.snapshot.matrix.subject_axis.package
    return f"{package} {floor.release}: {keeper_sentence(floor)}"


def _span(bar: Bar, name: str) -> Doc:
    until = (
        "its window has no end yet"
        if bar.until is None
        else f"in its window until {day(bar.until)}"
    )
    return Doc(
        row=f"{name} {bar.version}",
        begin=bar.released,
        end=bar.until,
        css="works" if bar.is_floor else "relaxed",
        sign="floor" if bar.is_floor else "",
        says=f"{name} {bar.version}: {until}",
    )
