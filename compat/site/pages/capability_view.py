"""The `site` room's capability pages: since which release each works, and where it fails."""

import itertools
from collections.abc import Iterable, Sequence

from packaging.version import Version

from compat.declare.capabilities import Described, group_of
from compat.results.answer import Answer
from compat.results.record import Capability
from compat.results.table import SIGNS, ReleaseColumn
from compat.site.edition import MatrixReport
from compat.site.pages.place_view import Doc, links_to
from compat.site.paths import cell_page
from compat.site.wording import cause_words, cut_text, failing_words, place_words

SHORT = {"yes": "works", "no": "fails", "absent": "absent", "unknown": "not tested"}
_MOST_CELLS = 20


def capability_ids(report: MatrixReport) -> tuple[str, ...]:
    """Return the ids of all that has a page: the capabilities, and the tests of the suite's own
    helpers; sorted.
    """
    return tuple(sorted((*report.asked, *report.helpers)))


def failing(report: MatrixReport, entry: Answer) -> tuple[str, ...]:
    return failing_words(entry, report.title)


def capability_list(report: MatrixReport) -> Doc:
    """Return all capabilities by group, each with the ranges of releases of each result, the newest
    first. `releases` are those that were tested, oldest first.
    """
    lines = [_line(report, name) for name in report.asked]
    return Doc(
        groups=[
            (name, [*group]) for name, group in itertools.groupby(lines, lambda x: group_of(x.id))
        ],
        helpers=[_line(report, name) for name in report.helpers],
        releases=[str(column.version) for column in report.columns],
        count=len(lines),
    )


def capability_view(report: MatrixReport, name: str) -> Doc:
    undescribed = Described(id=name, title=name, says="", file="", line=0, code="")
    test, spans = report.titles.get(name) or undescribed, _spans(report, name)
    return Doc(
        test=test,
        statements=capability_statements(spans),
        stretches=spans,
        strip=[_mark(report, column, name) for column in reversed(report.columns)],
        failures=_failures(report, name),
        helper_code=report.suite.get(test.helper, ""),
        of_helper=name in report.helpers,
    )


def _spans(report: MatrixReport, name: str) -> list[Doc]:
    return stretches([(column.version, column.capability(name)) for column in report.columns])


def stretches(by_release: Iterable[tuple[Version, Capability | None]]) -> list[Doc]:
    """Return the status of a capability by release, oldest first; neighbours that agree in one."""
    asked = [(version, capability) for version, capability in by_release if capability is not None]

    def alike(pair: tuple[Version, Capability]) -> tuple[str, str, str]:
        status, missing = pair[1].status, ", ".join(pair[1].missing)
        return status, pair[1].spelling if status == "yes" else "", missing

    spans = []
    for (status, spelling, missing), group in itertools.groupby(asked, key=alike):
        versions = [str(version) for version, _ in group]
        ends = {"first": versions[0], "last": versions[-1], "count": len(versions)}
        spans.append(Doc(**ends, status=status, spelling=spelling, missing=missing))
    return spans


def capability_statements(spans: Sequence[Doc]) -> tuple[str, ...]:
    """Return what the stretches add up to, as sentences, in the order of the releases."""
    alike = _by_status(spans)
    statements = tuple(_statement(group, number, len(alike)) for number, group in enumerate(alike))
    return statements or ("Not tested in any release yet.",)


def _by_status(spans: Sequence[Doc]) -> list[list[Doc]]:
    return [[*group] for _, group in itertools.groupby(spans, key=lambda span: span.status)]


def _statement(group: Sequence[Doc], number: int, of: int) -> str:
    place, status = where(group[0].first, group[-1].last, number, of), group[0].status
    more = ""
    if status == "yes":
        named = [(s.spelling, "" if s is group[-1] else f" until {s.last}") for s in group]
        names = "; then ".join(f"called {name}{until}" for name, until in named if name)
        more = f", {names}" if names else ""
    elif status == "absent":
        missing = next((span.missing for span in group if span.missing), "")
        more = f": looked for {missing}" if missing else ""
    return f"{SHORT[status].capitalize()} {place}{more}."


def where(first: str, last: str, number: int, of: int) -> str:
    """Return where a span of releases is among all: `since 1.2`, `until 1.0`, `in 1.0 to 1.2`."""
    if of == 1:
        return "in every release tested for it"
    if number == of - 1:
        return f"since {first}"
    if number == 0:
        return f"until {last}"
    return f"in {first}" if first == last else f"in {first} to {last}"


def _line(report: MatrixReport, name: str) -> Doc:
    alike = _by_status(_spans(report, name))
    ranges = [
        (group[0].status, where(group[0].first, group[-1].last, number, len(alike)))
        for number, group in enumerate(alike)
    ]
    now = alike[-1][0].status if alike else "unknown"
    kinds = ["changes"] * (len(alike) > 1) + ["failing"] * (now == "no")
    return Doc(id=name, ranges=ranges[::-1], kinds=" ".join(kinds))


def _mark(report: MatrixReport, column: ReleaseColumn, name: str) -> Doc:
    capability, cell = column.capability(name), column.entry.cell
    status = "unknown" if capability is None else capability.status
    others = report.disagreeing[column.version].get(name, set())
    return Doc(
        version=column.version,
        status=status,
        word=SHORT[status],
        sign=SIGNS[None if capability is None else capability.status],
        path=cell_page(cell),
        sentence=f"{place_words(cell, report.snapshot.matrix)}: {SHORT[status]}",
        differs=bool(others - {status}),
    )


def _failures(report: MatrixReport, name: str) -> list[Doc]:
    """The cells in which a capability fails in the same way, the most common first."""
    by_cause: dict[tuple[str, str], list[tuple[Answer, Capability]]] = {}
    for entry, capability in report.failures.get(name, ()):
        why = capability.cause, capability.subject.partition(" (")[0]
        by_cause.setdefault(why, []).append((entry, capability))
    failures = []
    for (cause, subject), cells in sorted(by_cause.items(), key=lambda item: -len(item[1])):
        known = (report.snapshot.explained(entry, capability) for entry, capability in cells)
        entries = [entry for entry, _ in cells[:_MOST_CELLS]]
        failures.append(
            Doc(
                why=cause_words(cause) + (f": {cut_text(subject, 300)}" if subject else ""),
                known=next(filter(None, known), None),
                cells=links_to(entries, report.snapshot.matrix),
                more=max(0, len(cells) - _MOST_CELLS),
            )
        )
    return failures
