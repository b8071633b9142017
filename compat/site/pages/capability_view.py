"""The `site` room's capabilities: since which release each is there, what it was called, and where
it fails.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

from packaging.version import Version

from compat.declare.capabilities import Described
from compat.declare.matrix import KnownIssue
from compat.results.record import Capability
from compat.results.snapshot import Entry
from compat.results.table import SIGNS, ReleaseColumn
from compat.site.edition import MatrixReport, cell_page, page
from compat.site.pages.place_view import View
from compat.site.wording import cause_words, cut_text, place_words

WORDS = {"yes": "works", "no": "fails", "absent": "absent", "unknown": "not tested"}


class Stretch(View, frozen=True):
    """Neighbouring tested releases in which a capability comes to the same, under the same name."""

    first: str
    last: str
    count: int
    status: str
    spelling: str
    missing: str


class Mark(View, frozen=True):
    """A capability in one release, by the cell that speaks for the release."""

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
    """A capability in the list."""

    id: str
    title: str
    path: str
    statement: str
    strip: tuple[Mark, ...]


class CapabilityList(View, frozen=True):
    """All capabilities by group; `releases` are the tested ones, oldest first.

    `helpers` are tests of the suite's own files, which are not counted.
    """

    groups: tuple[tuple[str, tuple[CapabilityLine, ...]], ...]
    helpers: tuple[CapabilityLine, ...]
    releases: tuple[str, ...]
    count: int


def capability_ids(report: MatrixReport) -> tuple[str, ...]:
    """Return the ids of all that has a page: the capabilities, and the tests of the suite's own
    helpers; sorted.
    """
    return tuple(sorted((*report.asked, *report.helpers)))


def capability_list(report: MatrixReport) -> CapabilityList:
    """Return the list of all capabilities."""
    shown = report.columns
    lines = [_line(report, name, shown) for name in report.asked]
    return CapabilityList(
        groups=tuple(
            (name, tuple(some))
            for name, some in groupby(lines, key=lambda one: one.id.partition(".")[0])
        ),
        helpers=tuple(_line(report, name, shown) for name in report.helpers),
        releases=tuple(str(column.version) for column in shown),
        count=len(lines),
    )


def capability_view(
    report: MatrixReport, name: str, pairs: tuple[tuple[str, str], ...]
) -> CapabilityView:
    """Return the view of one capability; `pairs` are titles and paths of those it is compared
    with.
    """
    shown, told = report.columns, report.titles.get(name) or _undescribed(name)
    strip = tuple(_mark(report, column, name) for column in shown)
    found = stretches([(column.version, column.capability(name)) for column in shown])
    return CapabilityView(
        id=name,
        title=told.title,
        says=told.says,
        group=told.group,
        statements=capability_statements(found),
        stretches=found,
        strip=strip,
        failures=_failures(report, name),
        looks_for=told.looks_for,
        file=told.file,
        code=told.code,
        helper=told.helper,
        helper_code=report.suite.get(told.helper, ""),
        untested=sum(one.status == "unknown" for one in strip),
        of_helper=name in report.helpers,
        pairs=pairs,
    )


def stretches(told: Iterable[tuple[Version, Capability | None]]) -> tuple[Stretch, ...]:
    """Return what a capability comes to, release by release from the oldest, neighbours that agree
    in one.
    """
    asked = [(version, one) for version, one in told if one is not None]

    def alike(pair: tuple[Version, Capability]) -> tuple[str, str, str]:
        one = pair[1]
        return one.status, one.spelling if one.status == "yes" else "", ", ".join(one.missing)

    found = []
    for (status, spelling, missing), some in groupby(asked, key=alike):
        versions = [str(version) for version, _ in some]
        found.append(
            Stretch(
                first=versions[0],
                last=versions[-1],
                count=len(versions),
                status=status,
                spelling=spelling,
                missing=missing,
            )
        )
    return tuple(found)


def capability_statements(found: Sequence[Stretch]) -> tuple[str, ...]:
    """Return what the stretches add up to, as sentences, in the order of the releases."""
    if not found:
        return ("Not tested in any release yet.",)
    alike = [tuple(some) for _, some in groupby(found, key=lambda one: one.status)]
    return tuple(_statement(some, number, len(alike)) for number, some in enumerate(alike))


def short_statement(found: Sequence[Stretch]) -> str:
    """Return in a few words since when it is there."""
    alike = [tuple(some) for _, some in groupby(found, key=lambda one: one.status)]
    told = [
        f"{WORDS[some[0].status]} {where(some[0].first, some[-1].last, number, len(alike))}"
        for number, some in enumerate(alike)
    ]
    return ", ".join(told) or "not tested yet"


def _statement(some: Sequence[Stretch], number: int, of: int) -> str:
    place = where(some[0].first, some[-1].last, number, of)
    match some[0].status:
        case "yes":
            names = [one for one in some if one.spelling]
            called = "; then ".join(f"called {one.spelling}{_until(one, some)}" for one in names)
            return f"Works {place}{f', {called}' if called else ''}."
        case "absent":
            missing = next((one.missing for one in some if one.missing), "")
            return f"Absent {place}{f': looked for {missing}' if missing else ''}."
        case _:
            return f"Fails {place}."


def where(first: str, last: str, number: int, of: int) -> str:
    """Return where a run of releases is among so many runs, in words: `since 1.2`, `until 1.0`, `in
    1.0 to 1.2`.
    """
    if of == 1:
        return "in every tested release"
    if number == of - 1:
        return f"since {first}"
    if number == 0:
        return f"until {last}"
    return f"in {first}" if first == last else f"in {first} to {last}"


def _until(one: Stretch, some: Sequence[Stretch]) -> str:
    return "" if one is some[-1] else f" until {one.last}"


def _undescribed(name: str) -> Described:
    return Described(id=name, title=name, says="", file="", line=0, code="")


def _line(report: MatrixReport, name: str, shown: Sequence[ReleaseColumn]) -> CapabilityLine:
    told = report.titles.get(name)
    found = stretches([(column.version, column.capability(name)) for column in shown])
    return CapabilityLine(
        id=name,
        title=name if told is None else told.title,
        path=page(report.name, "cap", name),
        statement=short_statement(found),
        strip=tuple(_mark(report, column, name) for column in shown),
    )


def _mark(report: MatrixReport, column: ReleaseColumn, name: str) -> Mark:
    one = column.capability(name)
    status = "unknown" if one is None else one.status
    others = report.disagreeing[column.version].get(name, set())
    return Mark(
        version=str(column.version),
        status=status,
        word=WORDS[status],
        sign=SIGNS[None if one is None else one.status],
        path=cell_page(column.entry.cell),
        sentence=f"{place_words(column.entry.cell, report.picture.matrix)}: {WORDS[status]}",
        differs=bool(others - {status}),
    )


def _failures(report: MatrixReport, name: str) -> tuple[Failure, ...]:
    """The cells where it fails, those with the same cause together."""
    found: dict[tuple[str, str], list[tuple[Entry, Capability]]] = {}
    for entry, one in report.failures.get(name, ()):
        found.setdefault((one.cause, one.subject.partition(" (")[0]), []).append((entry, one))
    return tuple(
        Failure(
            why=f"{cause_words(cause)}: {cut_text(subject, 300)}"
            if subject
            else cause_words(cause),
            known=next(
                (known for entry, one in some if (known := report.picture.explained(entry, one))),
                None,
            ),
            cells=tuple(
                (place_words(e.cell, report.picture.matrix), cell_page(e.cell))
                for e, _ in some[:20]
            ),
            more=max(0, len(some) - 20),
        )
        for (cause, subject), some in sorted(found.items(), key=lambda item: -len(item[1]))
    )
