"""The `site` room's roadmap and proposals: the documents of the API, with the timeline, differences
and links that their pages add.
"""

from compat.advise.request import label
from compat.files import unified_diff
from compat.policy.calendar import Bar, missing_command
from compat.policy.proposal import Kind, Proposal
from compat.policy.propose import affected_words, floors
from compat.rewrite.toml_values import matrix_after
from compat.site.api.axis_documents import (
    Proposals,
    ScheduleDocument,
    proposals_document,
    schedule_document,
)
from compat.site.edition import MatrixReport
from compat.site.pages.charts_view import timeline
from compat.site.pages.place_view import Doc, entry_page
from compat.site.why_words import keeper_sentence
from compat.site.wording import count, day

_VERBS: dict[Kind, str] = {
    "raise": "Raise",
    "lower": "Lower",
    "early": "Raise early",
    "extend": "Extend",
}


def roadmap(report: MatrixReport) -> Doc:
    """Return where each floor can go and when: the timeline with today's floors, then each move,
    its date, what blocks it in one clause, and what it drops.
    """
    snapshot, document = report.snapshot, schedule_document(report)
    proposals = proposals_document(report)
    names = {axis.name: label(axis) for axis in snapshot.matrix.axes}
    arithmetic = {floor.axis: floor.arithmetic for floor in floors(snapshot, snapshot.day)}
    bars = [
        bar
        for bar in document.bars
        if bar.is_floor or bar.until is None or bar.until > document.day
    ]
    rows = [
        (
            f"{names[bar.axis]} {bar.version}",
            day(bar.released),
            "not known yet" if bar.until is None else day(bar.until),
            "not announced" if bar.end_of_life is None else day(bar.end_of_life),
            "the minimum now" if bar.is_floor else "",
        )
        for bar in document.bars
    ]
    chart = Doc(
        id="windows",
        title="How long each version stays in its window",
        says="From its release to the day from which the minimum may move past it. The dashed line"
        " is today; today's minimum versions are marked.",
        unit="",
    )
    heads = ("version", "released", "window ends", "upstream support ends", "")
    spans = [_span(bar, names[bar.axis]) for bar in bars]
    return Doc(
        has_policy=snapshot.ask.policy is not None,
        floors=[
            Doc(
                outlook=outlook,
                command=missing_command(report.name, outlook.needs) if outlook.needs else "",
                arithmetic=arithmetic[outlook.axis],
                why=_why_python(report)
                if outlook.axis == snapshot.matrix.interpreters.name
                else "",
            )
            for outlook in proposals.outlooks
        ],
        moves=_moves(document, proposals),
        proposals=[proposal_view(report, proposal) for proposal in proposals.proposals],
        chart=timeline(chart, spans, heads, rows, document.day) if spans else None,
    )


def _moves(document: ScheduleDocument, proposals: Proposals) -> list[Doc]:
    outlooks = {(outlook.axis, outlook.to): outlook for outlook in proposals.outlooks}
    by_target = {(p.axis, p.proposed): p for p in proposals.proposals}
    moves = []
    for move in document.moves:
        outlook = outlooks.get((move.axis, move.to))
        blocked = move.proof if outlook is None else outlook.because
        moves.append(
            Doc(
                on=move.on,
                package=move.package,
                before=move.before,
                to=move.to,
                state=move.state,
                blocked="" if move.proven else clause(blocked),
                held=move.held or "",
                rule=move.rule,
                lost=[*map(affected_words, move.lost)],
                proposal=by_target.get((move.axis, move.to)),
                axis=move.axis,
            )
        )
    return moves


def clause(sentence: str) -> str:
    """What blocks a move: without its example, and without where the index was asked."""
    _, _, cause = sentence.partition(", such as ")
    cause = cause.partition(": ")[2] if cause else sentence
    return cause.partition(" (--find-links")[0]


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
    ends = "" if bar.end_of_life is None else f", upstream support until {day(bar.end_of_life)}"
    return Doc(
        row=f"{name} {bar.version}",
        begin=bar.released,
        end=bar.until,
        css="works" if bar.is_floor else "relaxed",
        sign="minimum today" if bar.is_floor else "",
        says=f"{name} {bar.version}: {until}{ends}",
    )
