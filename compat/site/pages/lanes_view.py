"""The `site` room's page of lanes: what is asked beside the grid, each cell held against an
ordinary one.
"""

from collections.abc import Iterator

from compat.plan.cell import LANES, Recipe
from compat.results.lane_report import LaneCell
from compat.run.outcome import Failed
from compat.site.edition import MatrixReport
from compat.site.lane_words import (
    LANE_QUESTIONS,
    LANE_TITLES,
    floor_words,
    lane_blame,
    no_prerelease_words,
)
from compat.site.pages.place_view import View, cell_symbol, entry_page
from compat.site.paths import api_path
from compat.site.status import StatusStyle
from compat.site.wording import cause_sentence, place_words


class LaneRow(View, frozen=True):
    """A cell of a lane that was tried: how it is shown, the ordinary cell beside it with its page,
    and each declared lowest version with what is installed.

    `against` is empty where no ordinary cell of the release and Python works; `blame` is the
    command that finds what makes a broken one fail, empty for others.
    """

    cell: str
    place: str
    style: StatusStyle
    symbol: str
    why: str
    against: str
    path: str
    floors: tuple[tuple[str, str], ...]
    blame: str


class LaneSection(View, frozen=True):
    """A lane: its alerts, the cells that were tried, and how many were not or cannot be."""

    lane: Recipe
    title: str
    question: str
    alerts: tuple[str, ...]
    notes: tuple[str, ...]
    rows: tuple[LaneRow, ...]
    waiting: int
    ruled_out: int
    command: str


class LanesView(View, frozen=True):
    """The lanes that a matrix declares, and where the same stands as data."""

    lanes: tuple[LaneSection, ...]
    data: str


def lanes_view(report: MatrixReport) -> LanesView:
    return LanesView(lanes=tuple(_lanes(report)), data=api_path(report.name, "lanes"))


def _lanes(report: MatrixReport) -> Iterator[LaneSection]:
    matrix, absent = report.snapshot.matrix, _without_prerelease(report)
    for lane in LANES:
        cells = [cell for cell in report.lanes.cells if cell.lane == lane]
        notes = absent if lane == "prerelease" else ()
        is_declared = matrix.lowest if lane == "lowest" else bool(matrix.prerelease_axes)
        if not (is_declared or cells or notes):
            continue
        yield LaneSection(
            lane=lane,
            title=LANE_TITLES[lane],
            question=LANE_QUESTIONS[lane],
            alerts=tuple(a.sentence for a in report.lanes.alerts if a.lane == lane),
            notes=notes,
            rows=tuple(
                _row(report, cell)
                for cell in cells
                if cell.verdict not in ("unknown", "infeasible")
            ),
            waiting=sum(cell.verdict == "unknown" for cell in cells),
            ruled_out=sum(cell.verdict == "infeasible" for cell in cells),
            command=f"compat run {report.name} '*+{lane}'",
        )


def _without_prerelease(report: MatrixReport) -> tuple[str, ...]:
    awaited = report.snapshot.catalogue.prereleases
    return tuple(no_prerelease_words(p.name) for p in awaited if not p.releases)


def _row(report: MatrixReport, cell: LaneCell) -> LaneRow:
    by_id, matrix = report.snapshot.by_id, report.snapshot.matrix
    entry, beside = by_id[cell.cell], by_id[cell.against] if cell.against else None
    symbol, style = cell_symbol(entry)
    outcome = entry.verdict.outcome
    return LaneRow(
        cell=cell.cell,
        place=place_words(entry.cell, matrix),
        style=style,
        symbol=symbol,
        why=cause_sentence(outcome) if isinstance(outcome, Failed) else "",
        against="" if beside is None else _beside(cell, place_words(beside.cell, matrix)),
        path="" if beside is None else entry_page(beside),
        floors=tuple((floor.declared, floor_words(floor)) for floor in cell.floors),
        blame=lane_blame(report.name, cell) if cell.is_broken else "",
    )


def _beside(cell: LaneCell, place: str) -> str:
    return f"{place}, which works in part" if cell.in_part else place
