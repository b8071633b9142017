"""The `site` room's capability pages: since which release each works, and where it fails."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from packaging.version import Version

from compat.declare.capabilities import Described, group_of
from compat.declare.matrix import KnownIssue
from compat.results.answer import Answer
from compat.results.record import Capability
from compat.results.table import SIGNS, ReleaseColumn
from compat.site.edition import MatrixReport
from compat.site.pages.capability_columns import chosen_columns
from compat.site.pages.place_view import View, links_to
from compat.site.paths import cell_page, page
from compat.site.wording import cause_words, cut_text, failing_words, place_words

WORDS = {"yes": "works", "no": "fails", "absent": "absent", "unknown": "not tested"}


class Stretch(View, frozen=True):
    """Neighbouring tested releases in which a capability has the same status and name."""

    first: str
    last: str
    count: int
    status: str
    spelling: str
    missing: str


class Mark(View, frozen=True):
    """A capability in the representative cell of one release."""

    version: str
    status: str
    sign: str
    word: str
    path: str
    sentence: str
    differs: bool


class Failure(View, frozen=True):
    """Cells in which a capability fails in the same way."""

    why: str
    known: KnownIssue | None
    cells: tuple[tuple[str, str], ...]
    more: int


class CapabilityView(View, frozen=True):
    """A capability, as its page shows it.

    `statements` are sentences; `code` and `helper_code` can be copied.

    `pairs` are the titles of those it is compared with, and the paths of these pages. `of_helper`
    is true where the test styles at a file of the suite alone.
    """

    id: str
    title: str
    says: str
    group: str
    statements: tuple[str, ...]
    stretches: tuple[Stretch, ...]
    strip: tuple[Mark, ...]
    failures: tuple[Failure, ...]
    looks_for: tuple[tuple[str, ...], ...]
    file: str
    code: str
    helper: str
    helper_code: str
    untested: int
    of_helper: bool
    pairs: tuple[tuple[str, str], ...]


class CapabilityLine(View, frozen=True):
    """A capability in the list; `strip` has a mark for each column of the list."""

    id: str
    title: str
    path: str
    statement: str
    strip: tuple[Mark, ...]


class CapabilityList(View, frozen=True):
    """All capabilities by group; `columns` are the heads of the table, newest first.

    `releases` is how many were tested, from the oldest to the newest; `shared` is true where some
    stand in one column, and `left_out` are those that stand in none, with the paths of their pages.
    `helpers` are tests of the suite's own files, which are not counted.
    """

    groups: tuple[tuple[str, tuple[CapabilityLine, ...]], ...]
    helpers: tuple[CapabilityLine, ...]
    columns: tuple[str, ...]
    releases: int
    oldest: str
    newest: str
    shared: bool
    left_out: tuple[tuple[str, str], ...]
    count: int


def capability_ids(report: MatrixReport) -> tuple[str, ...]:
    """Return the ids of all that has a page: the capabilities, and the tests of the suite's own
    helpers; sorted.
    """
    return tuple(sorted((*report.asked, *report.helpers)))


def capability_list(report: MatrixReport) -> CapabilityList:
    tested = report.columns
    positions = report.advisor.ranks.positions[report.snapshot.matrix.subject]
    chosen = chosen_columns(tested, report.asked, positions)
    shown = [column.releases[-1] for column in chosen.shown]
    lines = [_line(report, name, shown) for name in report.asked]
    return CapabilityList(
        groups=tuple(
            (name, tuple(group))
            for name, group in groupby(lines, key=lambda line: group_of(line.id))
        ),
        helpers=tuple(_line(report, name, ()) for name in report.helpers),
        columns=tuple(column.label for column in chosen.shown),
        releases=len(tested),
        oldest=str(tested[0].version) if tested else "",
        newest=str(tested[-1].version) if tested else "",
        shared=any(len(column.releases) > 1 for column in chosen.shown),
        left_out=tuple(
            (str(version), page(report.name, "release", str(version)))
            for version in chosen.left_out
        ),
        count=len(lines),
    )


def capability_view(
    report: MatrixReport, name: str, pairs: tuple[tuple[str, str], ...]
) -> CapabilityView:
    """Return the view of one capability; `pairs` are titles and paths of those it is compared
    with.
    """
    shown, described = report.columns, report.titles.get(name) or _undescribed(name)
    strip = tuple(_mark(report, column, name) for column in reversed(shown))
    spans = stretches([(column.version, column.capability(name)) for column in shown])
    return CapabilityView(
        id=name,
        title=described.title,
        says=described.says,
        group=described.group,
        statements=capability_statements(spans),
        stretches=spans,
        strip=strip,
        failures=_failures(report, name),
        looks_for=described.looks_for,
        file=described.file,
        code=described.code,
        helper=described.helper,
        helper_code=report.suite.get(described.helper, ""),
        untested=sum(mark.status == "unknown" for mark in strip),
        of_helper=name in report.helpers,
        pairs=pairs,
    )


def capability_title(report: MatrixReport, name: str) -> str:
    """Return what the suite calls a capability; its id where it does not describe it."""
    described = report.titles.get(name)
    return name if described is None else described.title


def failing(report: MatrixReport, entry: Answer) -> tuple[str, ...]:
    return failing_words(entry.verdict, lambda name: capability_title(report, name))


def stretches(by_release: Iterable[tuple[Version, Capability | None]]) -> tuple[Stretch, ...]:
    """Return the status of a capability by release, oldest first; neighbours that agree in one."""
    asked = [(version, capability) for version, capability in by_release if capability is not None]

    def alike(pair: tuple[Version, Capability]) -> tuple[str, str, str]:
        capability = pair[1]
        return (
            capability.status,
            capability.spelling if capability.status == "yes" else "",
            ", ".join(capability.missing),
        )

    spans = []
    for (status, spelling, missing), group in groupby(asked, key=alike):
        versions = [str(version) for version, _ in group]
        spans.append(
            Stretch(
                first=versions[0],
                last=versions[-1],
                count=len(versions),
                status=status,
                spelling=spelling,
                missing=missing,
            )
        )
    return tuple(spans)


def capability_statements(spans: Sequence[Stretch]) -> tuple[str, ...]:
    """Return what the stretches add up to, as sentences, in the order of the releases."""
    if not spans:
        return ("Not tested in any release yet.",)
    alike = _by_status(spans)
    return tuple(_statement(group, number, len(alike)) for number, group in enumerate(alike))


def short_statement(spans: Sequence[Stretch]) -> str:
    alike = _by_status(spans)
    statements = [
        f"{WORDS[group[0].status]} {where(group[0].first, group[-1].last, number, len(alike))}"
        for number, group in enumerate(alike)
    ]
    return ", ".join(statements) or "not tested yet"


def _by_status(spans: Sequence[Stretch]) -> list[tuple[Stretch, ...]]:
    return [tuple(group) for _, group in groupby(spans, key=lambda span: span.status)]


def _statement(group: Sequence[Stretch], number: int, of: int) -> str:
    place = where(group[0].first, group[-1].last, number, of)
    match group[0].status:
        case "yes":
            names = [span for span in group if span.spelling]
            called = "; then ".join(
                f"called {span.spelling}{_until(span, group)}" for span in names
            )
            return f"Works {place}{f', {called}' if called else ''}."
        case "absent":
            missing = next((span.missing for span in group if span.missing), "")
            return f"Absent {place}{f': looked for {missing}' if missing else ''}."
        case _:
            return f"Fails {place}."


def where(first: str, last: str, number: int, of: int) -> str:
    """Return where a span of releases is among all: `since 1.2`, `until 1.0`, `in 1.0 to 1.2`."""
    if of == 1:
        return "in every release tested for it"
    if number == of - 1:
        return f"since {first}"
    if number == 0:
        return f"until {last}"
    return f"in {first}" if first == last else f"in {first} to {last}"


def _until(span: Stretch, group: Sequence[Stretch]) -> str:
    return "" if span is group[-1] else f" until {span.last}"


def _undescribed(name: str) -> Described:
    return Described(id=name, title=name, says="", file="", line=0, code="")


def _line(report: MatrixReport, name: str, shown: Sequence[ReleaseColumn]) -> CapabilityLine:
    spans = stretches([(column.version, column.capability(name)) for column in report.columns])
    return CapabilityLine(
        id=name,
        title=capability_title(report, name),
        path=page(report.name, "cap", name),
        statement=short_statement(spans),
        strip=tuple(_mark(report, column, name) for column in shown),
    )


def _mark(report: MatrixReport, column: ReleaseColumn, name: str) -> Mark:
    capability = column.capability(name)
    status = "unknown" if capability is None else capability.status
    others = report.disagreeing[column.version].get(name, set())
    return Mark(
        version=str(column.version),
        status=status,
        word=WORDS[status],
        sign=SIGNS[None if capability is None else capability.status],
        path=cell_page(column.entry.cell),
        sentence=f"{place_words(column.entry.cell, report.snapshot.matrix)}: {WORDS[status]}",
        differs=bool(others - {status}),
    )


def _failures(report: MatrixReport, name: str) -> tuple[Failure, ...]:
    by_cause: dict[tuple[str, str], list[tuple[Answer, Capability]]] = {}
    for entry, capability in report.failures.get(name, ()):
        by_cause.setdefault((capability.cause, capability.subject.partition(" (")[0]), []).append(
            (entry, capability)
        )
    return tuple(
        Failure(
            why=f"{cause_words(cause)}: {cut_text(subject, 300)}"
            if subject
            else cause_words(cause),
            known=next(
                (
                    known
                    for entry, capability in cells
                    if (known := report.snapshot.explained(entry, capability))
                ),
                None,
            ),
            cells=links_to([entry for entry, _ in cells[:20]], report.snapshot.matrix),
            more=max(0, len(cells) - 20),
        )
        for (cause, subject), cells in sorted(by_cause.items(), key=lambda item: -len(item[1]))
    )
