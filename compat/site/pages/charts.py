"""The `site` room's charts: numbers -> shapes with positions in pixels, and a table."""

import datetime
import math
import sys
from collections.abc import Iterable, Sequence

from compat.site.pages.place_view import View

WIDTH = 960
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 14, 34
HEIGHT_OF_ROW = 26
_WIDEST_BAR, _LETTER = 56, 7.2


class Tick(View, frozen=True):
    """A label on an axis, at so many pixels."""

    position: float
    label: str


class ChartShape(View, frozen=True):
    """A bar, or with no width a mark: a text at a point.

    `css` gives its colour, `sign` tells it apart without.
    """

    x: float
    y: float
    width: float
    height: float
    css: str
    sign: str
    says: str


class Table(View, frozen=True):
    """The heads and rows that say in words what a chart shows."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class ChartNote(View, frozen=True):
    """What is said at a place of a chart, beside a line."""

    position: float
    label: str


class Chart(View, frozen=True):
    """A chart and its table. `title` is what it tells, in a sentence; `says` what it shows, for
    those who do not see it. `unit` is that of its upright axis, `note` is where its story is.
    """

    id: str
    title: str
    says: str
    width: int
    height: int
    left: float
    xs: tuple[Tick, ...]
    ys: tuple[Tick, ...]
    shapes: tuple[ChartShape, ...]
    today: float | None
    table: Table
    unit: str = ""
    note: ChartNote | None = None


class Headline(View, frozen=True):
    """What a chart of bars tells: see Chart. `note` is said from the bar of that number on."""

    id: str
    title: str
    says: str
    unit: str = ""
    note: tuple[int, str] | None = None


class Point(View, frozen=True):
    """Something in a chart of bars: its label, a value, and how the value is written."""

    label: str
    value: float
    shown: str
    css: str = "works"


class Span(View, frozen=True):
    """A stretch of time in a row."""

    row: str
    begin: datetime.date
    end: datetime.date | None
    css: str
    sign: str
    says: str


class Dot(View, frozen=True):
    """Something at a moment in a row."""

    row: str
    on: datetime.date
    css: str
    sign: str
    says: str


def bars(headline: Headline, points: Sequence[Point], table: Table) -> Chart:
    note = headline.note
    height = 220
    top = nice(max((point.value for point in points), default=1.0))
    step = min(_WIDEST_BAR, (WIDTH - _LEFT - _RIGHT) / max(1, len(points)))
    room = height - _TOP - _BOTTOM
    every = max(1, math.ceil(46 / step))
    base = height - _BOTTOM
    return Chart(
        id=headline.id,
        title=headline.title,
        says=headline.says,
        width=WIDTH,
        height=height,
        left=_LEFT,
        xs=tuple(
            Tick(position=_px(_LEFT + (n + 0.5) * step), label=point.label)
            for n, point in enumerate(points)
            if n % every == 0
        ),
        ys=tuple(
            Tick(position=_px(base - part / 2 * room), label=f"{top * part / 2:g}")
            for part in range(3)
        ),
        shapes=tuple(
            ChartShape(
                x=_px(_LEFT + n * step + min(3, step * 0.15)),
                y=_px(base - point.value / top * room),
                width=_px(max(1.0, step - min(6, step * 0.3))),
                height=_px(point.value / top * room),
                css=point.css,
                sign="",
                says=f"{point.label}: {point.shown}",
            )
            for n, point in enumerate(points)
        ),
        today=None,
        table=table,
        unit=headline.unit,
        note=None
        if note is None
        else ChartNote(position=_px(_LEFT + note[0] * step), label=note[1]),
    )


def timeline(
    chart_id: str,
    title: str,
    says: str,
    shown: Sequence[Span | Dot],
    table: Table,
    today: datetime.date | None = None,
) -> Chart:
    """Return a chart of rows over time; the rows are in the order in which they first come."""
    names = [*dict.fromkeys(mark.row for mark in shown)]
    days = [*_days(shown), *([] if today is None else [today])]
    begin, end = min(days), max(days)
    left = _px(max(_LEFT, 16 + _LETTER * max(map(len, names))))
    inner = left + 16
    scale = (WIDTH - inner - _RIGHT) / max(1, (end - begin).days)
    height = _TOP + HEIGHT_OF_ROW * len(names) + _BOTTOM

    def x(day: datetime.date) -> float:
        return _px(inner + (day - begin).days * scale)

    def shape(mark: Span | Dot) -> ChartShape:
        y = _TOP + names.index(mark.row) * HEIGHT_OF_ROW
        if isinstance(mark, Dot):
            return ChartShape(
                x=x(mark.on),
                y=y + HEIGHT_OF_ROW / 2,
                width=0,
                height=0,
                css=mark.css,
                sign=mark.sign,
                says=mark.says,
            )
        width = _px(x(mark.end or end) - x(mark.begin))
        return ChartShape(
            x=x(mark.begin),
            y=y + 4,
            width=max(2.0, width),
            height=HEIGHT_OF_ROW - 8,
            css=mark.css,
            sign=mark.sign,
            says=mark.says,
        )

    years = range(begin.year + (begin > datetime.date(begin.year, 1, 1)), end.year + 1)
    return Chart(
        id=chart_id,
        title=title,
        says=says,
        width=WIDTH,
        height=height,
        left=left,
        xs=tuple(Tick(position=x(datetime.date(year, 1, 1)), label=str(year)) for year in years),
        ys=tuple(
            Tick(position=_TOP + (n + 0.5) * HEIGHT_OF_ROW, label=name)
            for n, name in enumerate(names)
        ),
        shapes=tuple(shape(mark) for mark in shown),
        today=None if today is None else x(today),
        table=table,
    )


def nice(value: float) -> float:
    """Return a round number that is not below the value: 1, 2 or 5 with zeros; 1 where the value is
    next to nothing.
    """
    if value < sys.float_info.min:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value * 0.999999)


def _days(shown: Iterable[Span | Dot]) -> list[datetime.date]:
    days = []
    for mark in shown:
        days += (
            [mark.on]
            if isinstance(mark, Dot)
            else [mark.begin, *([] if mark.end is None else [mark.end])]
        )
    return days


def _px(value: float) -> float:
    return round(value, 1)
