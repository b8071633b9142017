"""The `site` room's capability pages: since which release each works, where it fails, and in which
releases two both work.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from packaging.version import Version

from compat.declare.capabilities import Described, group_of
from compat.results.answer import Answer
from compat.results.record import Capability, Status
from compat.results.table import SIGNS, ReleaseColumn
from compat.site.edition import MatrixReport, shared_capabilities
from compat.site.pages.place_view import Doc, links_to
from compat.site.paths import cell_page, page
from compat.site.wording import cause_words, cut_text, failing_words, place_words

WORDS = {"yes": "works", "no": "fails", "absent": "is absent", "unknown": "not tested"}
SHORT = WORDS | {"absent": "absent"}
# Pixels, as Chromium lays the table out on a screen of 1440 (measured 2026-11-24): of the box of
# 1376 the names of the capabilities take up to 320, and a column of `0.87.0` takes 61.
_ROOM = 1056
_CHARACTER, _PADDING, _NARROWEST = 8, 15, 44
_MOST_CELLS = 20
# By row; None where the release was not asked.
Statuses = tuple[Status | None, ...]
Two = tuple[Status | None, Status | None]
BY_COUNT = ("none", "one", "both")
PAIR_SIGNS = {"both": "✓", "one": "◐", "none": "✗", "unknown": "?"}
SEPARATOR = "+"


def capability_ids(report: MatrixReport) -> tuple[str, ...]:
    """Return the ids of all that has a page: the capabilities, and the tests of the suite's own
    helpers; sorted.
    """
    return tuple(sorted((*report.asked, *report.helpers)))


def failing(report: MatrixReport, entry: Answer) -> tuple[str, ...]:
    return failing_words(entry, report.title)


def capability_list(report: MatrixReport) -> Doc:
    """Return all capabilities by group, each with a mark for each column of the table. `releases`
    are those that were tested, oldest first; `left_out` those that stand in no column.
    """
    positions = report.advisor.ranks.positions[report.snapshot.matrix.subject]
    chosen = chosen_columns(report.columns, report.asked, positions)
    shown = [column.releases[-1] for column in chosen.shown]
    lines = [_line(report, name, shown) for name in report.asked]
    return Doc(
        groups=[
            (name, [*group]) for name, group in itertools.groupby(lines, lambda x: group_of(x.id))
        ],
        helpers=[_line(report, name, ()) for name in report.helpers],
        columns=[column.label for column in chosen.shown],
        releases=[str(column.version) for column in report.columns],
        shared=any(len(column.releases) > 1 for column in chosen.shown),
        left_out=chosen.left_out,
        count=len(lines),
    )


def capability_view(report: MatrixReport, name: str, pairs: Sequence[tuple[str, str]] = ()) -> Doc:
    """Return the page of one capability; `pairs` are titles and paths of those it is compared
    with.
    """
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
        pairs=pairs,
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


def _line(report: MatrixReport, name: str, shown: Sequence[ReleaseColumn]) -> Doc:
    alike = _by_status(_spans(report, name))
    statements = [
        f"{SHORT[group[0].status]} {where(group[0].first, group[-1].last, number, len(alike))}"
        for number, group in enumerate(alike)
    ]
    return Doc(
        id=name,
        statement=", ".join(statements) or "not tested yet",
        strip=[_mark(report, column, name) for column in shown],
    )


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


def chosen_columns(
    columns: Sequence[ReleaseColumn], rows: Sequence[str], positions: Mapping[Version, int]
) -> Doc:
    """Return the columns of the table for tested releases, which come oldest first: as many as fit
    on a wide screen.

    A matrix has any number of tested releases, and with a column for each the table would be cut
    off. Neighbours with the same result in every row share a column. Where those are still too
    many, the newest, the oldest and those in which most results change have one; `left_out` are the
    others. `rows` are the ids of capabilities, `positions` the number of each release.
    """
    shared = [*_shared(columns, rows, positions)]
    # How many columns fit, of versions of this length; never fewer than the two ends.
    longest = max((len(str(column.version)) for column in columns), default=0)
    most = max(2, _ROOM // max(_NARROWEST, longest * _CHARACTER + _PADDING))
    changes, last = [*_changes(shared)], len(shared) - 1
    between = sorted(range(1, last), key=lambda number: (changes[number], number), reverse=True)
    chosen, newest_first = {0, last, *between[: most - 2]}, [*enumerate(shared)][::-1]
    left_out = [column for number, column in newest_first if number not in chosen]
    return Doc(
        shown=[column for number, column in newest_first if number in chosen],
        left_out=[release.version for column in left_out for release in column.releases[::-1]],
    )


def _shared(
    columns: Sequence[ReleaseColumn], rows: Sequence[str], positions: Mapping[Version, int]
) -> Iterator[Doc]:
    # The columns, those of neighbours in one. Releases with an untested one between them are no
    # neighbours: what they share would be said of that one, too.
    group: list[ReleaseColumn] = []
    before: Statuses = ()
    for column in (*columns, None):
        statuses: Statuses = ()
        if column is not None:
            by_id = {asked.id: asked.status for asked in column.entry.capabilities}
            statuses = tuple(by_id.get(name) for name in rows)
        is_next = (
            column is not None
            and group
            and positions[column.version] == positions[group[-1].version] + 1
        )
        if group and not (is_next and statuses == before):
            first, last = group[0].version, group[-1].version
            label = str(first) if first == last else f"{first} to {last}"
            yield Doc(releases=group, statuses=before, label=label)
            group = []
        if column is not None:
            group = [*group, column]
        before = statuses


def _changes(shared: Sequence[Doc]) -> Iterator[int]:
    # In how many rows each differs from the newest older one that was asked about the row: that a
    # release was not asked is no change.
    known: Statuses = shared[0].statuses if shared else ()
    for column in shared:
        pairs = [*zip(known, column.statuses, strict=True)]
        yield sum(None not in pair and pair[0] != pair[1] for pair in pairs)
        known = tuple(before if now is None else now for before, now in pairs)


class Pairs:
    """The pairs that have a page: two of one group, of which in some release one works and the
    other does not.
    """

    def __init__(self, report: MatrixReport) -> None:
        self.report = report
        # Of each release the cells, the one that speaks for it first.
        self._cells = [(column.entry, *reversed(column.others)) for column in report.columns]
        # There are many cells, so most is asked of the few things that they came to.
        shared = shared_capabilities(itertools.chain.from_iterable(self._cells))
        by_identity = {key: {c.id: c.status for c in shared[key]} for key in shared}
        statuses = [[by_identity[id(e.capabilities)] for e in c] for c in self._cells]
        self._support: dict[str, list[Statuses]] = {
            name: [tuple(by_id.get(name) for by_id in cells) for cells in statuses]
            for name in report.asked
        }

    @cached_property
    def all(self) -> tuple[tuple[str, str], ...]:
        """Every pair, in the order of the ids."""
        single = [name for name in self._support if SEPARATOR not in name]
        groups = itertools.groupby(single, key=lambda name: name.partition(".")[0])
        beside = [pair for _, names in groups for pair in itertools.combinations(names, 2)]
        return tuple(
            pair
            for pair in beside
            if SEPARATOR.join(pair) not in self._support
            and any(
                None not in (a[0], b[0]) and (a[0] == "yes") != (b[0] == "yes")
                for a, b in zip(*(self._support[name] for name in pair), strict=True)
            )
        )

    def path(self, first: str, second: str) -> str:
        return page(self.report.name, "cap", f"{first}{SEPARATOR}{second}")

    def links(self, name: str) -> list[tuple[str, str]]:
        """Return the pairs of a capability: the title of the other one, and the path of the pair's
        page.
        """
        title = self.report.title
        pairs = [pair for pair in self.all if name in pair]
        return [(title(b if a == name else a), self.path(a, b)) for a, b in pairs]

    def view(self, first: str, second: str) -> Doc:
        """Return the page of a pair; `newest` is the cell of the newest release in which both work,
        with its version, `strip` has the state of the two in the representative cell of each.
        """
        report, titles = self.report, (self.report.title(first), self.report.title(second))
        strip, by_release, newest = [], [], None
        for column, cells, firsts, seconds in zip(
            report.columns, self._cells, self._support[first], self._support[second], strict=True
        ):
            twos: list[Two] = [*zip(firsts, seconds, strict=True)]
            state, cell = pair_state(twos[0]), cells[0].cell
            by_release.append((column.version, twos[0]))
            if ("yes", "yes") in twos:
                newest = column.version, cells[twos.index(("yes", "yes"))]
            in_short = {
                "both": "both work",
                "one": f"only the {'first' if twos[0][0] == 'yes' else 'second'} works",
                "none": "neither works",
                "unknown": "at least one of them was not tested",
            }
            strip.append(
                Doc(
                    version=column.version,
                    state=state,
                    sign=PAIR_SIGNS[state],
                    path=cell_page(cell),
                    sentence=f"{place_words(cell, report.snapshot.matrix)}: {in_short[state]}",
                    differs=any(pair_state(two) != state for two in set(twos)),
                )
            )
        return Doc(
            two=(first, second),
            newest=newest,
            statements=pair_statements(by_release, titles),
            strip=strip,
        )


def pair_state(two: Two) -> str:
    return "unknown" if None in two else BY_COUNT[two.count("yes")]


def pair_statements(
    by_release: Iterable[tuple[Version, Two]], titles: tuple[str, str]
) -> tuple[str, ...]:
    """Return what the releases come to, oldest first, as sentences; neighbours that agree are in
    one.
    """
    asked = [(version, two) for version, two in by_release if pair_state(two) != "unknown"]
    alike = [
        (two, [str(version) for version, _ in group])
        for two, group in itertools.groupby(asked, key=lambda pair: pair[1])
    ]
    sentences = []
    for number, (two, versions) in enumerate(alike):
        place = where(versions[0], versions[-1], number, len(alike))
        by_title = zip(titles, two, strict=True)
        each = ", ".join(f"“{title}” {WORDS[str(status)]}" for title, status in by_title)
        both = "both work" if pair_state(two) == "both" else each
        sentences.append(f"{place[0].upper()}{place[1:]}: {both}.")
    return tuple(sentences)
