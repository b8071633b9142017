"""The `site` room's page of charts over releases: support, working share, metrics."""

import datetime
from collections import Counter
from collections.abc import Iterator

from packaging.version import Version

from compat.results.change_point import ChangePoint, change_point
from compat.results.record import Record
from compat.results.table import ReleaseColumn
from compat.run.evidence import Metric
from compat.site.edition import MatrixReport, Versions
from compat.site.pages.charts import Chart, Dot, Headline, Point, Table, bars, timeline
from compat.site.pages.grid_view import PROVEN, label_of
from compat.site.pages.place_view import View
from compat.site.paths import page
from compat.site.status import StatusStyle, place_style
from compat.site.wording import day, ranges

# A page with so many bars a chart, and signs, weighs less than 60 KiB gzipped; see `weights`.
_MOST_BARS, _MOST_SIGNS = 100, 800
_UNITS = {"s": "seconds", "1/s": "per second", "x": "times", "MiB": "mebibytes"}


# The versions of the other axes, the day on which a release came out, the release, and its style.
_Sign = tuple[Versions, datetime.date, Version, StatusStyle]


class Charts(View, frozen=True):
    """The charts of a matrix. `host` is the class of machine that the measurements are from;
    `left_out` is how many older releases have no bar.
    """

    charts: tuple[Chart, ...]
    host: str
    left_out: int
    grid: str


def charts(report: MatrixReport) -> Charts:
    """Return the charts; measurements are those of the representative cell of each release, on one
    class of machine.
    """
    newest = [
        (column, record)
        for column in report.columns[-_MOST_BARS:]
        if (record := _newest_measured(report, column)) is not None
    ]
    hosts = Counter(record.host for _, record in newest)
    host = hosts.most_common(1)[0][0] if hosts else ""
    measured = [(column, record) for column, record in newest if record.host == host]
    metrics = sorted(_metrics(report, measured), key=lambda chart: chart.note is None)
    drawn = [_support(report), _works_share(report), *metrics]
    return Charts(
        charts=tuple(chart for chart in drawn if chart is not None),
        host=host,
        left_out=len(report.columns[:-_MOST_BARS]),
        grid=page(report.name, "grid"),
    )


def _newest_measured(report: MatrixReport, column: ReleaseColumn) -> Record | None:
    newest = report.parts.newest_records(column.entry.cell.id)
    return next((record for record in newest if record.metrics), None)


def _support(report: MatrixReport) -> Chart | None:
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
    others_name = " and ".join(other.package for other in matrix.packages if other is not axis)
    newest = max(subject for _, _, subject, _ in points)
    together = {label_of(others) for others, _, subject, _ in points if subject == newest}
    with_newest = ranges(together, [label_of(row) for row in sorted({row for row, *_ in points})])
    return timeline(
        "support",
        f"The newest release with tested combinations is {newest}, with {others_name}"
        f" {with_newest}",
        f"Each sign is a release of {axis.package} on its release date, in the row of the"
        f" {others_name} that it works with.",
        [
            Dot(
                row=label_of(others),
                on=on,
                css=style.css,
                sign=style.symbol,
                says=f"{subject}: {style.word}",
            )
            for others, on, subject, style in ordered
        ],
        Table(
            heads=(axis.package, "released", others_name, "verdict"),
            rows=tuple(
                (str(subject), day(on), label_of(others), style.word)
                for others, on, subject, style in ordered
            ),
        ),
    )


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


def _works_share(report: MatrixReport) -> Chart | None:
    points, rows = [], []
    for column in report.columns[-_MOST_BARS:]:
        statuses = [capability.status for capability in column.entry.verdict.capabilities]
        asked = [status for status in statuses if status != "absent"]
        share = 100 * asked.count("yes") / len(asked) if asked else 0.0
        shown = f"{asked.count('yes')} of {len(asked)}"
        points.append(Point(label=str(column.version), value=share, shown=shown))
        rows.append((str(column.version), shown, f"{share:.0f} %", str(statuses.count("absent"))))
    if not points:
        return None
    return bars(
        Headline(
            id="works",
            title=f"{rows[-1][1]} capabilities work in the newest tested release, {rows[-1][0]}",
            says="Of the capabilities that a release has, the share in per cent that passes in its"
            " representative cell.",
            unit="%",
        ),
        points,
        Table(heads=("release", "works", "share", "absent"), rows=tuple(rows)),
    )


def _metrics(report: MatrixReport, measured: list[tuple[ReleaseColumn, Record]]) -> Iterator[Chart]:
    titles = {metric.name: metric.title for metric in report.snapshot.matrix.suite.metrics}
    names = Counter(metric.name for _, record in measured for metric in record.metrics)
    for name in sorted(names):
        if names[name] < 2:
            continue
        values = [
            (c, r, metric) for c, r in measured for metric in r.metrics if metric.name == name
        ]
        title, unit = titles.get(name) or name.replace("_", " ").capitalize(), values[0][2].unit
        change = change_point([metric.value for _, _, metric in values])
        story = "" if change is None else _story(change, values[0][2])
        since = None if change is None else str(values[change.index][0].version)
        yield bars(
            Headline(
                id=f"metric-{name}",
                title=f"{title} is {story} from {since} on"
                if story
                else f"{title} shows no clear change between releases",
                says=f"{title}{f', in {_UNITS.get(unit, unit)}' if unit else ''}, as measured in"
                f" the representative cell of each release; {values[0][2].better} is better.",
                unit=unit,
                note=None if change is None else (change.index, f"{story} from {since} on"),
            ),
            [
                Point(label=str(c.version), value=max(0.0, m.value), shown=_shown(m))
                for c, _, m in values
            ],
            Table(
                heads=("release", unit or "value", "measured in", "on"),
                rows=tuple(
                    (str(c.version), _shown(m), c.entry.cell.id, day(r.started.date()))
                    for c, r, m in values
                ),
            ),
        )


def _story(change: ChangePoint, metric: Metric) -> str:
    """A change in words: `5.5 times faster`; of what is no time or rate, lower or higher."""
    word = "lower" if change.is_lower else "higher"
    if metric.unit == "s":
        word = "faster" if change.is_lower else "slower"
    return f"{change.ratio:.2g} times {word}"


def _shown(metric: Metric) -> str:
    return f"{metric.value:,.4g} {metric.unit}".strip()
