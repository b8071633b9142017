"""The `site` room's API about lanes: what is asked beside the grid, as `compat matrix variants`
says it."""

from compat.results.lane_report import LaneAlert, LaneCell
from compat.site.api.envelope import Document, head
from compat.site.edition import MatrixReport


class LanesDocument(Document, frozen=True, kw_only=True):
    """What the lanes of a matrix came to, each cell held against an ordinary one.

    Only a matrix that declares a lane has this document. The cells of lanes colour no place of the
    grid and stand in no other document.
    """

    cells: tuple[LaneCell, ...]
    alerts: tuple[LaneAlert, ...]


def lanes_document(report: MatrixReport) -> LanesDocument:
    return LanesDocument(**head(report), cells=report.lanes.cells, alerts=report.lanes.alerts)
