"""The `site` room's quarter pages: minimum versions, and what each move drops."""

import datetime

from compat.advise.request import label
from compat.policy.calendar import Quarter, ScheduledMove, quarters
from compat.policy.propose import affected_words
from compat.site.edition import MatrixReport
from compat.site.pages.place_view import View
from compat.site.paths import page
from compat.site.wording import month

QUARTERS = ("first", "second", "third", "fourth")


class FloorLine(View, frozen=True):
    """An axis, and its minimum on the quarter's day: as the rules have it, and with the moves that
    are proven now.
    """

    label: str
    version: str
    proven: str


class MoveLine(View, frozen=True):
    """A move that falls into the quarter, and what it would end."""

    move: ScheduledMove
    ends: tuple[str, ...]


class QuarterLink(View, frozen=True):
    """A quarter, as other pages link it."""

    words: str
    path: str
    moves: int


class QuarterView(View, frozen=True):
    """A quarter, as its page shows it; `on` is the day that its minimum versions are of."""

    on: datetime.date
    is_present: bool
    months: str
    floors: tuple[FloorLine, ...]
    moves: tuple[MoveLine, ...]
    before: QuarterLink | None
    after: QuarterLink | None
    schedule_path: str


def quarter_links(report: MatrixReport) -> tuple[QuarterLink, ...]:
    return tuple(_link(report, quarter) for quarter in quarters(report.schedule))


def quarter_view(report: MatrixReport, quarter: Quarter) -> QuarterView:
    names = {axis.name: label(axis) for axis in report.snapshot.matrix.axes}
    known, proven = quarters(report.schedule), dict(quarter.proven)
    number = known.index(quarter)
    return QuarterView(
        on=quarter.on,
        is_present=number == 0,
        months=f"{month(quarter.begin)} to {month(quarter.end)} {quarter.end.year}",
        floors=tuple(
            FloorLine(label=names[name], version=str(version), proven=str(proven[name]))
            for name, version in quarter.floors
        ),
        moves=tuple(map(_move, quarter.moves)),
        before=_link(report, known[number - 1]) if number else None,
        after=_link(report, known[number + 1]) if number + 1 < len(known) else None,
        schedule_path=page(report.name, "schedule"),
    )


def quarter_words(quarter: Quarter) -> str:
    """Return what a quarter is called: `the first quarter of 2027`."""
    number = (quarter.begin.month - 1) // 3
    return f"the {QUARTERS[number]} quarter of {quarter.begin.year}"


def _move(move: ScheduledMove) -> MoveLine:
    return MoveLine(move=move, ends=tuple(map(affected_words, move.lost)))


def _link(report: MatrixReport, quarter: Quarter) -> QuarterLink:
    words = f"{quarter.begin.year} Q{quarter.id[-1]}"
    return QuarterLink(
        words=words, path=page(report.name, "schedule", quarter.id), moves=len(quarter.moves)
    )
