"""The `site` room's charts, roadmap and proposals."""

import math
import sys
from collections import Counter

from compat.advise.request import label
from compat.files import unified_diff
from compat.policy.calendar import Bar
from compat.policy.proposal import Proposal
from compat.policy.propose import floors
from compat.results.durations import change_point
from compat.rewrite.toml_values import matrix_after
from compat.run.evidence import Metric
from compat.site.edition import MatrixReport
from compat.site.pages.results import Doc
from compat.site.why_words import keeper_sentence
from compat.site.wording import day

# A page with so many dots a chart weighs less than 60 KiB gzipped.
_MOST_DOTS = 100
_UNITS = {"s": "seconds", "1/s": "per second", "x": "times", "MiB": "mebibytes"}


def charts(report: MatrixReport) -> Doc:
    """Return a chart of each metric of which a rank test shows a change between releases, and how
    many others show none. Measurements are those of the representative cell of each release, on one
    class of machine, `host`.
    """
    newest = []
    for column in report.columns[-_MOST_DOTS:]:
        records = report.newest_records(column.entry.cell.id)
        record = next((record for record in records if record.metrics), None)
        if record is not None:
            newest.append((column, record))
    hosts = Counter(record.host for _, record in newest)
    host = hosts.most_common(1)[0][0] if hosts else ""
    measured = [(column, record) for column, record in newest if record.host == host]
    drawn, silent = [], []
    names = Counter(metric.name for _, record in measured for metric in record.metrics)
    for name in sorted(name for name, number in names.items() if number > 1):
        values = [(c, r, m) for c, r in measured for m in r.metrics if m.name == name]
        title = report.metric(name)
        change = change_point([metric.value for _, _, metric in values])
        if change is None:
            silent.append(title)
            continue
        (_, _, first), (column, _, _) = values[0], values[change.index]
        unit, words = first.unit, ("lower", "higher") if first.unit != "s" else ("faster", "slower")
        measured_in = f"{title}, in {_UNITS.get(unit, unit)}" if unit else title
        drawn.append(
            Doc(
                id=f"metric-{name}",
                title=f"{title} is {change.ratio:.2g} times {words[not change.is_lower]} from"
                f" {column.version} on",
                says=f"{measured_in}, as measured in the representative cell of each release;"
                f" {first.better} is better. The bands hold the middle half of the measurements"
                " before and after the change.",
                unit=unit,
                points=[(str(c.version), max(0.0, m.value), _shown(m)) for c, _, m in values],
                at=change.index,
                heads=("release", unit or "value", "measured in", "on"),
                rows=[
                    (str(c.version), _shown(m), c.entry.cell.id, day(r.started.date()))
                    for c, r, m in values
                ],
            )
        )
    return Doc(charts=drawn, host=host, silent=silent)


def nice(value: float) -> float:
    if value < sys.float_info.min:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value * 0.999999)


def _shown(metric: Metric) -> str:
    return f"{metric.value:,.4g} {metric.unit}".strip()


def roadmap(report: MatrixReport) -> Doc:
    """Return where each floor can go and when: the timeline with today's floors, then each move,
    its date, what blocks it in one clause, and what it drops.
    """
    snapshot, document = report.snapshot, report.schedule
    names = {axis.name: label(axis) for axis in snapshot.matrix.axes}
    minimums = {bar.axis: bar.version for bar in document.bars if bar.is_floor}
    bars = [
        bar
        for bar in document.bars
        if bar.until is None
        or bar.until > document.day
        or (bar.axis in minimums and bar.version >= minimums[bar.axis])
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
        spans=[_span(bar, names[bar.axis]) for bar in bars],
        today=document.day,
        heads=("version", "released", "window ends", "upstream support ends", ""),
        rows=rows,
    )
    why_python, floor = "", next(reversed(report.python_floors.values()), None)
    if floor is not None and floor.needs is not None:
        package = snapshot.matrix.subject_axis.package
        why_python = f"{package} {floor.release}: {keeper_sentence(floor)}"
    return Doc(
        arithmetic={floor.axis: floor.arithmetic for floor in floors(snapshot, snapshot.day)},
        proposed={(each.axis, each.proposed): each for each in report.proposals},
        why={snapshot.matrix.interpreters.name: why_python},
        chart=chart if chart.spans else None,
    )


def proposal_diff(proposal: Proposal, report: MatrixReport) -> str:
    before = report.parts.declaration()
    after = matrix_after(before, proposal, proposal.reason)
    return unified_diff(f"matrices/{report.name}/matrix.toml", before, after)


def title_of(proposal: Proposal) -> str:
    if proposal.kind == "extend":
        matrix = f"the matrix from {proposal.package} {proposal.current}"
        return f"Extend {matrix} to {proposal.proposed}"
    floor = f"the floor of {proposal.package}"
    verb = "Raise early" if proposal.kind == "early" else proposal.kind.capitalize()
    return f"{verb} {floor} from {proposal.current} to {proposal.proposed}"


def _span(bar: Bar, name: str) -> Doc:
    until = "its window has no end yet"
    until = until if bar.until is None else f"in its window until {day(bar.until)}"
    ends = "" if bar.end_of_life is None else f", upstream support until {day(bar.end_of_life)}"
    return Doc(
        row=f"{name} {bar.version}",
        begin=bar.released,
        end=bar.until,
        css="works" if bar.is_floor else "relaxed",
        sign="minimum today" if bar.is_floor else "",
        says=f"{name} {bar.version}: {until}{ends}",
    )
