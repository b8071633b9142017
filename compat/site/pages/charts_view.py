"""The `site` room's charts: support, working share and metrics over releases, windows over time;
each as shapes with positions in pixels, and as a table.
"""

import datetime
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

from packaging.version import Version

from compat.results.durations import ChangePoint, change_point
from compat.results.record import Record
from compat.results.table import ReleaseColumn
from compat.run.evidence import Metric
from compat.site.edition import MatrixReport, Versions
from compat.site.pages.grid_view import PROVEN, label_of
from compat.site.pages.place_view import Doc
from compat.site.paths import page
from compat.site.status import StatusStyle, place_style
from compat.site.wording import day, ranges

WIDTH = 960
HEIGHT_OF_ROW = 26
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 14, 34
_BARS_HEIGHT, _WIDEST_BAR, _LETTER = 220, 56, 7.2
# A page with so many bars a chart, and signs, weighs less than 60 KiB gzipped.
_MOST_BARS, _MOST_SIGNS = 100, 800
_UNITS = {"s": "seconds", "1/s": "per second", "x": "times", "MiB": "mebibytes"}
# The versions of the other axes, the day on which a release came out, the release, and its style.
_Sign = tuple[Versions, datetime.date, Version, StatusStyle]
# The label of a bar, its value, and how the value is written.
Bar = tuple[str, float, str]
Rows = Sequence[tuple[str, ...]]


def charts(report: MatrixReport) -> Doc:
    """Return the charts; measurements are those of the representative cell of each release, on one
    class of machine, `host`. `left_out` is how many older releases have no bar.
    """
    newest = []
    for column in report.columns[-_MOST_BARS:]:
        records = report.newest_records(column.entry.cell.id)
        record = next((record for record in records if record.metrics), None)
        if record is not None:
            newest.append((column, record))
    hosts = Counter(record.host for _, record in newest)
    host = hosts.most_common(1)[0][0] if hosts else ""
    measured = [(column, record) for column, record in newest if record.host == host]
    metrics = sorted(_metrics(report, measured), key=lambda chart: chart.note is None)
    drawn = [_support(report), _works_share(report), *metrics]
    return Doc(
        charts=[chart for chart in drawn if chart is not None],
        host=host,
        left_out=len(report.columns[:-_MOST_BARS]),
        grid=page(report.name, "grid"),
    )


def bars(
    chart: Doc,
    points: Sequence[Bar],
    heads: Sequence[str],
    rows: Rows,
    story: str = "",
    at: int = 0,
) -> Doc:
    """Return a chart of bars: `chart` has its id, `title` what it tells in a sentence, `says` what
    it shows, for those who do not see it, and its unit; the story is said from bar `at` on.
    """
    top = nice(max((value for _, value, _ in points), default=1.0))
    step = min(_WIDEST_BAR, (WIDTH - _LEFT - _RIGHT) / max(1, len(points)))
    room, base = _BARS_HEIGHT - _TOP - _BOTTOM, _BARS_HEIGHT - _BOTTOM
    every = max(1, math.ceil(46 / step))
    middles = [_px(_LEFT + (n + 0.5) * step) for n in range(len(points))]
    return Doc(
        **vars(chart),
        width=WIDTH,
        height=_BARS_HEIGHT,
        left=_LEFT,
        xs=[(middles[n], point[0]) for n, point in enumerate(points) if n % every == 0],
        ys=[(_px(base - part / 2 * room), f"{top * part / 2:g}") for part in range(3)],
        shapes=[
            Doc(
                x=_px(_LEFT + n * step + min(3, step * 0.15)),
                y=_px(base - value / top * room),
                width=_px(max(1.0, step - min(6, step * 0.3))),
                height=_px(value / top * room),
                css="works",
                sign="",
                says=f"{label}: {shown}",
            )
            for n, (label, value, shown) in enumerate(points)
        ],
        today=None,
        table=Doc(heads=heads, rows=rows),
        note=(_px(_LEFT + at * step), story) if story else None,
    )


def timeline(
    chart: Doc,
    shown: Sequence[Doc],
    heads: Sequence[str],
    rows: Rows,
    today: datetime.date | None = None,
) -> Doc:
    """Return a chart of rows over time; the rows are in the order in which they first come. What is
    shown has `row`, `begin`, `css`, `sign` and `says`; a stretch has an `end`, None where it is
    open, a mark at a moment has none.
    """
    names = [*dict.fromkeys(mark.row for mark in shown)]
    days = [mark.begin for mark in shown]
    days += [mark.end for mark in shown if getattr(mark, "end", None) is not None]
    days += [] if today is None else [today]
    begin, end = min(days), max(days)
    left = _px(max(_LEFT, 16 + _LETTER * max(map(len, names))))
    scale = (WIDTH - left - 16 - _RIGHT) / max(1, (end - begin).days)

    def x(day: datetime.date) -> float:
        return _px(left + 16 + (day - begin).days * scale)

    def shape(mark: Doc) -> Doc:
        more = {"css": mark.css, "sign": mark.sign, "says": mark.says}
        y = _TOP + names.index(mark.row) * HEIGHT_OF_ROW
        if not hasattr(mark, "end"):
            return Doc(x=x(mark.begin), y=y + HEIGHT_OF_ROW / 2, width=0, height=0, **more)
        width = max(2.0, _px(x(mark.end or end) - x(mark.begin)))
        return Doc(x=x(mark.begin), y=y + 4, width=width, height=HEIGHT_OF_ROW - 8, **more)

    years = range(begin.year + (begin > datetime.date(begin.year, 1, 1)), end.year + 1)
    return Doc(
        **vars(chart),
        width=WIDTH,
        height=_TOP + HEIGHT_OF_ROW * len(names) + _BOTTOM,
        left=left,
        xs=[(x(datetime.date(year, 1, 1)), str(year)) for year in years],
        ys=[(_TOP + (n + 0.5) * HEIGHT_OF_ROW, name) for n, name in enumerate(names)],
        shapes=[shape(mark) for mark in shown],
        today=None if today is None else x(today),
        table=Doc(heads=heads, rows=rows),
        note=None,
    )


def nice(value: float) -> float:
    """Return a round number that is not below the value: 1, 2 or 5 with zeros; 1 where the value is
    next to nothing.
    """
    if value < sys.float_info.min:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value * 0.999999)


def _px(value: float) -> float:
    return round(value, 1)


def _support(report: MatrixReport) -> Doc | None:
    matrix = report.snapshot.matrix
    axis = matrix.subject_axis
    points: set[_Sign] = set()
    for board in report.board.values():
        for subject, of_release in board.items():
            on = report.released(axis.name, subject)
            if on is None:
                continue
            for others, entries in of_release.items():
                style = place_style(entries)
                if style.state in PROVEN:
                    points.add((others, on, subject, style))
    if not points:
        return None
    points = _of_newest(points)
    ordered = sorted(points, key=lambda point: (*point[:3], point[3].state, point[3].css))[::-1]
    company = " and ".join(other.package for other in matrix.packages if other is not axis)
    newest = max(subject for _, _, subject, _ in points)
    together = {label_of(others) for others, _, subject, _ in points if subject == newest}
    with_newest = ranges(together, [label_of(row) for row in sorted({row for row, *_ in points})])
    chart = Doc(
        id="support",
        title=f"The newest release with tested combinations is {newest}, with {company}"
        f" {with_newest}",
        says=f"Each sign is a release of {axis.package} on its release date, in the row of the"
        f" {company} that it works with.",
        unit="",
    )
    dots, rows = [], []
    for others, on, subject, style in ordered:
        row, look = label_of(others), {"css": style.css, "sign": style.symbol}
        dots.append(Doc(row=row, begin=on, says=f"{subject}: {style.word}", **look))
        rows.append((str(subject), day(on), row, style.word))
    return timeline(chart, dots, (axis.package, "released", company, "verdict"), rows)


def _of_newest(points: set[_Sign]) -> set[_Sign]:
    """The signs of the newest releases, as many as there is room for; at least those of one."""
    counts, counted = Counter(subject for _, _, subject, _ in points), 0
    subjects: set[Version] = set()
    for subject in sorted(counts, reverse=True):
        counted += counts[subject]
        if subjects and counted > _MOST_SIGNS:
            break
        subjects.add(subject)
    return {point for point in points if point[2] in subjects}


def _works_share(report: MatrixReport) -> Doc | None:
    points, rows = [], []
    for column in report.columns[-_MOST_BARS:]:
        statuses = [capability.status for capability in column.entry.capabilities]
        asked = [status for status in statuses if status != "absent"]
        share = 100 * asked.count("yes") / len(asked) if asked else 0.0
        label, shown = str(column.version), f"{asked.count('yes')} of {len(asked)}"
        points.append((label, share, shown))
        rows.append((label, shown, f"{share:.0f} %", str(statuses.count("absent"))))
    if not points:
        return None
    chart = Doc(
        id="works",
        title=f"{rows[-1][1]} capabilities work in the newest tested release, {rows[-1][0]}",
        says="Of the capabilities that a release has, the share in per cent that passes in its"
        " representative cell.",
        unit="%",
    )
    return bars(chart, points, ("release", "works", "share", "absent"), rows)


def _metrics(report: MatrixReport, measured: list[tuple[ReleaseColumn, Record]]) -> Iterator[Doc]:
    titles = {metric.name: metric.title for metric in report.snapshot.matrix.suite.metrics}
    names = Counter(metric.name for _, record in measured for metric in record.metrics)
    for name in sorted(name for name, number in names.items() if number > 1):
        values = [
            (c, r, metric) for c, r in measured for metric in r.metrics if metric.name == name
        ]
        title, unit = titles.get(name) or name.replace("_", " ").capitalize(), values[0][2].unit
        change = change_point([metric.value for _, _, metric in values])
        story = ""
        if change is not None:
            story = f"{_story(change, values[0][2])} from {values[change.index][0].version} on"
        chart = Doc(
            id=f"metric-{name}",
            title=f"{title} is {story}"
            if story
            else f"{title} shows no clear change between releases",
            says=f"{title}{f', in {_UNITS.get(unit, unit)}' if unit else ''}, as measured in"
            f" the representative cell of each release; {values[0][2].better} is better.",
            unit=unit,
        )
        points = [(str(c.version), max(0.0, m.value), _shown(m)) for c, _, m in values]
        rows = [
            (str(c.version), _shown(m), c.entry.cell.id, day(r.started.date()))
            for c, r, m in values
        ]
        heads = ("release", unit or "value", "measured in", "on")
        yield bars(chart, points, heads, rows, story, 0 if change is None else change.index)


def _story(change: ChangePoint, metric: Metric) -> str:
    """A change in words: `5.5 times faster`; of what is no time or rate, lower or higher."""
    word = "lower" if change.is_lower else "higher"
    if metric.unit == "s":
        word = "faster" if change.is_lower else "slower"
    return f"{change.ratio:.2g} times {word}"


def _shown(metric: Metric) -> str:
    return f"{metric.value:,.4g} {metric.unit}".strip()
