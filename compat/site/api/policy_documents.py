"""The `site` room's API about policy: the minimum versions, the schedule of coming moves, and the
proposals.
"""

import datetime
from collections.abc import Iterable

from msgspec.structs import asdict
from packaging.version import Version

from compat.advise.request import label
from compat.declare.matrix import Floor
from compat.policy.calendar import Bar, Outlook, Quarter, ScheduledMove, quarters
from compat.policy.proposal import Proposal
from compat.site.api.envelope import Dated, SitePath, dated
from compat.site.edition import MatrixReport
from compat.site.paths import page
from compat.value import Value


class LabelledFloor(Floor, frozen=True, kw_only=True):
    """The oldest coordinate of an axis that is supported, and why; `label` is what people call the
    axis.
    """

    label: str


class DatedMinimum(Value, frozen=True, kw_only=True):
    """The minimum versions from a day on, by axis: by the rules, and with those moves only that are
    proven now.
    """

    on: datetime.date
    floors: dict[str, str]
    proven: dict[str, str]


class MinimumDocument(Dated, frozen=True, kw_only=True):
    """The minimum versions now, and those that the schedule brings."""

    floors: tuple[LabelledFloor, ...]
    dated: tuple[DatedMinimum, ...]


class QuarterDocument(Value, frozen=True, kw_only=True):
    """Three months: the minimum versions on a day of it (`on`), and the ids of the moves that fall
    into it.
    """

    id: str
    page: SitePath
    begin: datetime.date
    end: datetime.date
    on: datetime.date
    floors: dict[str, str]
    proven: dict[str, str]
    moves: tuple[str, ...]


class ScheduleDocument(Dated, frozen=True, kw_only=True):
    """The coming moves up to a day, also by quarter, and every version's window."""

    until: datetime.date
    moves: tuple[ScheduledMove, ...]
    quarters: tuple[QuarterDocument, ...]
    bars: tuple[Bar, ...]


class Proposals(Dated, frozen=True, kw_only=True):
    """The proposals of the day, and where each floor can go next."""

    proposals: tuple[Proposal, ...]
    outlooks: tuple[Outlook, ...]


def minimum_document(report: MatrixReport) -> MinimumDocument:
    matrix = report.snapshot.matrix
    labels = {axis.name: label(axis) for axis in matrix.axes}
    return MinimumDocument(
        **dated(report),
        floors=tuple(
            LabelledFloor(**asdict(floor), label=labels[floor.axis]) for floor in matrix.floors
        ),
        dated=tuple(
            DatedMinimum(
                on=minimum.on, floors=_by_axis(minimum.floors), proven=_by_axis(minimum.proven)
            )
            for minimum in report.schedule.minimums
        ),
    )


def schedule_document(report: MatrixReport) -> ScheduleDocument:
    schedule = report.schedule
    return ScheduleDocument(
        **dated(report),
        until=schedule.until,
        moves=schedule.moves,
        quarters=tuple(_quarter(report, quarter) for quarter in quarters(schedule)),
        bars=schedule.bars,
    )


def proposals_document(report: MatrixReport) -> Proposals:
    return Proposals(**dated(report), proposals=report.proposals, outlooks=report.outlooks)


def _quarter(report: MatrixReport, quarter: Quarter) -> QuarterDocument:
    return QuarterDocument(
        id=quarter.id,
        page=page(report.name, "schedule", quarter.id),
        begin=quarter.begin,
        end=quarter.end,
        on=quarter.on,
        floors=_by_axis(quarter.floors),
        proven=_by_axis(quarter.proven),
        moves=tuple(move.id for move in quarter.moves),
    )


def _by_axis(floors: Iterable[tuple[str, Version]]) -> dict[str, str]:
    return {axis: str(version) for axis, version in floors}
