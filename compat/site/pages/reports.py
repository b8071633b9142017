"""The `site` room's charts, roadmap and proposals."""

import math
import sys
from collections import Counter

from compat.files import unified_diff
from compat.policy.proposal import Proposal
from compat.policy.propose import floors
from compat.results.durations import change_point
from compat.rewrite.toml_values import matrix_after
from compat.site.edition import MatrixReport
from compat.site.pages.results import Doc
from compat.site.why_words import keeper_sentence

# A page with so many dots a chart weighs less than 60 KiB gzipped.
_MOST_DOTS = 100


def charts(report: MatrixReport) -> Doc:
    """Return the measurements of each metric of which a rank test shows a change between releases,
    and the titles of others: those of the representative cell of each release, on one class of
    machine, `host`.
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
        change = change_point([metric.value for _, _, metric in values])
        if change is None:
            silent.append(report.metric(name))
        else:
            drawn.append((name, values, change))
    return Doc(charts=drawn, host=host, silent=silent)


def nice(value: float) -> float:
    if value < sys.float_info.min:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= value * 0.999999)


def roadmap(report: MatrixReport) -> Doc:
    snapshot = report.snapshot
    why_python, floor = "", next(reversed(report.python_floors.values()), None)
    if floor is not None and floor.needs is not None:
        package = snapshot.matrix.subject_axis.package
        why_python = f"{package} {floor.release}: {keeper_sentence(floor)}"
    return Doc(
        arithmetic={floor.axis: floor.arithmetic for floor in floors(snapshot, snapshot.day)},
        proposed={(each.axis, each.proposed): each for each in report.proposals},
        why={snapshot.matrix.interpreters.name: why_python},
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
