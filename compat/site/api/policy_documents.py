"""The `site` room's API about policy: the minimum versions, the schedule of coming moves, and the
proposals.
"""

from collections.abc import Sequence

from compat.advise.request import label
from compat.policy.proposal import Affected, Proposal
from compat.policy.quarters import Quarter, quarters
from compat.site.api.cell_documents import dated
from compat.site.api.policy_shapes import (
    AffectedShape,
    BarShape,
    DatedMinimum,
    EvidenceShape,
    FloorShape,
    MinimumDocument,
    MoveShape,
    ObjectionShape,
    Proposals,
    ProposalShape,
    QuarterShape,
    ScheduleShape,
)
from compat.site.edition import MatrixReport
from compat.site.paths import page


def minimum(report: MatrixReport) -> MinimumDocument:
    """Return the minimum versions, now and to come."""
    matrix = report.snapshot.matrix
    axes = {axis.name: axis for axis in matrix.axes}
    return MinimumDocument(
        **dated(report),
        floors=tuple(
            FloorShape(
                axis=one.axis, label=label(axes[one.axis]), at=str(one.at), because=one.because
            )
            for one in matrix.floors
        ),
        dated=tuple(
            DatedMinimum(
                on=one.on,
                floors={name: str(version) for name, version in one.floors},
                proven={name: str(version) for name, version in one.proven},
            )
            for one in report.schedule.minimums
        ),
    )


def schedule_shape(report: MatrixReport) -> ScheduleShape:
    """Return the schedule."""
    return ScheduleShape(
        **dated(report),
        until=report.schedule.until,
        moves=tuple(
            MoveShape(
                id=one.id,
                axis=one.axis,
                package=one.package,
                floor=str(one.floor),
                to=str(one.to),
                released=one.released,
                allowed=one.allowed,
                announced=one.announced,
                on=one.on,
                wording=one.wording,
                state=one.state,
                rule=one.rule,
                source=one.source,
                held=one.held,
                proven=one.proven,
                proof=one.proof,
                before=str(one.before),
                lost=_affected(one.lost),
            )
            for one in report.schedule.moves
        ),
        quarters=tuple(_quarter(report, one) for one in quarters(report.schedule)),
        bars=tuple(
            BarShape(
                axis=one.axis,
                version=str(one.version),
                released=one.released,
                until=one.until,
                end_of_life=one.end_of_life,
                is_floor=one.is_floor,
            )
            for one in report.schedule.bars
        ),
    )


def proposals_shape(report: MatrixReport) -> Proposals:
    """Return the proposals."""
    return Proposals(**dated(report), proposals=tuple(map(_proposal, report.proposals)))


def _quarter(report: MatrixReport, one: Quarter) -> QuarterShape:
    return QuarterShape(
        id=one.id,
        page=page(report.name, "schedule", one.id),
        begin=one.begin,
        end=one.end,
        on=one.on,
        floors={name: str(version) for name, version in one.floors},
        proven={name: str(version) for name, version in one.proven},
        moves=tuple(move.id for move in one.moves),
    )


def _proposal(one: Proposal) -> ProposalShape:
    return ProposalShape(
        id=one.id,
        digest=one.digest,
        open=one.is_open,
        axis=one.axis,
        package=one.package,
        kind=one.kind,
        release=one.release,
        current=str(one.current),
        proposed=str(one.proposed),
        because=one.because,
        earliest=one.earliest,
        grounds=one.grounds,
        objections=tuple(
            ObjectionShape(against=o.against, because=o.because, cells=o.cells)
            for o in one.objections
        ),
        arithmetic=one.arithmetic,
        evidence=tuple(
            EvidenceShape(
                cell=proof.cell,
                verdict=proof.verdict,
                outcome=proof.outcome,
                latest=proof.latest,
                days=proof.days,
                supports=proof.supports,
                stale=proof.stale,
                because=proof.because,
            )
            for proof in one.evidence
        ),
        lost=_affected(one.lost),
        gained=_affected(one.gained),
        needs=one.needs,
    )


def _affected(found: Sequence[Affected]) -> tuple[AffectedShape, ...]:
    return tuple(
        AffectedShape(
            axis=one.axis,
            package=one.package,
            versions=tuple(map(str, one.versions)),
            releases=tuple(map(str, one.releases)),
        )
        for one in found
    )
