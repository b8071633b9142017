"""The `site` room's pair pages: in which releases two capabilities both work."""

import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from packaging.version import Version

from compat.results.answer import Answer
from compat.results.record import Status
from compat.site.edition import MatrixReport, shared_capabilities
from compat.site.pages.capability_view import capability_title, where
from compat.site.pages.place_view import View, recipe_words
from compat.site.paths import cell_page, page
from compat.site.tokens import digest
from compat.site.wording import place_words

State = Literal["both", "one", "none", "unknown"]
Two = tuple[Status | None, Status | None]
BOTH: Two = ("yes", "yes")
BY_COUNT: tuple[State, ...] = ("none", "one", "both")
SIGNS: dict[State, str] = {"both": "✓", "one": "◐", "none": "✗", "unknown": "?"}
SAYS = {"yes": "works", "no": "fails", "absent": "is absent"}
SEPARATOR = "+"


class PairMark(View, frozen=True):
    """The state of the two in the representative cell of a release; `differs` if another cell has
    another one.
    """

    version: str
    state: State
    sign: str
    path: str
    sentence: str
    differs: bool


class Meeting(View, frozen=True):
    """The newest release in which both work, and the cell that shows it."""

    version: str
    release_path: str
    place: str
    path: str


class PairView(View, frozen=True):
    """A pair of capabilities, as its page shows it: `two` are title, path and what the suite says
    of each.

    `statements` are sentences, in the order of the releases.
    """

    two: tuple[tuple[str, str, str], ...]
    newest: Meeting | None
    statements: tuple[str, ...]
    strip: tuple[PairMark, ...]


class _InRelease(NamedTuple):
    """The cells of a release, the one that speaks for it first, and what the two come to in each:
    there are many, so most is asked of the few things that they come to.
    """

    cells: Sequence[Answer]
    twos: Sequence[Two]


class Pairs:
    """The pairs that have a page: two of one group, of which in some release one works and the
    other does not.
    """

    def __init__(self, report: MatrixReport) -> None:
        self.report = report
        self._cells = tuple((column.entry, *reversed(column.others)) for column in report.columns)
        shared = shared_capabilities(itertools.chain.from_iterable(self._cells))
        by_identity = {key: {c.id: c.status for c in shared[key]} for key in shared}
        statuses = [
            [by_identity[id(entry.verdict.capabilities)] for entry in cells]
            for cells in self._cells
        ]
        self._support = {
            name: tuple(tuple(by_id.get(name) for by_id in cells) for cells in statuses)
            for name in report.asked
        }
        self._shown = digest([[entry.cell.id for entry in cells] for cells in self._cells])
        self._said: dict[str, str] = {}

    @cached_property
    def all(self) -> tuple[tuple[str, str], ...]:
        """Every pair, in the order of the ids."""
        single = [name for name in self._support if SEPARATOR not in name]
        groups = itertools.groupby(single, key=lambda name: name.partition(".")[0])
        beside = [pair for _, names in groups for pair in itertools.combinations(names, 2)]
        return tuple(
            pair
            for pair in beside
            if self._differ(*pair) and SEPARATOR.join(pair) not in self._support
        )

    def inputs(self, first: str, second: str) -> str:
        return digest(self._shown, self._said_of(first), self._said_of(second))

    def _said_of(self, name: str) -> str:
        if name not in self._said:
            self._said[name] = digest(self.report.titles.get(name), self._support[name])
        return self._said[name]

    def title(self, name: str) -> str:
        """Return what the suite calls a capability; its id where it does not describe it."""
        return capability_title(self.report, name)

    def path(self, first: str, second: str) -> str:
        return page(self.report.name, "cap", f"{first}{SEPARATOR}{second}")

    def links(self, name: str) -> tuple[tuple[str, str], ...]:
        """Return the pairs of a capability: the title of the other one, and the path of the pair's
        page.
        """
        return tuple(
            (self.title(b if a == name else a), self.path(a, b))
            for a, b in self.all
            if name in (a, b)
        )

    def view(self, first: str, second: str) -> PairView:
        releases, titles = self._by_release(first, second), (self.title(first), self.title(second))
        meetings = filter(None, map(self._meeting, reversed(releases)))
        return PairView(
            two=(self._capability(first), self._capability(second)),
            newest=next(meetings, None),
            statements=pair_statements(
                [(self._version(release), release.twos[0]) for release in releases], titles
            ),
            strip=tuple(map(self._mark, releases)),
        )

    def _capability(self, name: str) -> tuple[str, str, str]:
        described = self.report.titles.get(name)
        return (
            self.title(name),
            page(self.report.name, "cap", name),
            "" if described is None else described.says,
        )

    def _differ(self, first: str, second: str) -> bool:
        return any(
            None not in (a[0], b[0]) and (a[0] == "yes") != (b[0] == "yes")
            for a, b in zip(self._support[first], self._support[second], strict=True)
        )

    def _by_release(self, first: str, second: str) -> tuple[_InRelease, ...]:
        every = zip(self._cells, self._support[first], self._support[second], strict=True)
        return tuple(
            _InRelease(cells, tuple(zip(firsts, seconds, strict=True)))
            for cells, firsts, seconds in every
        )

    def _version(self, release: _InRelease) -> Version:
        return release.cells[0].cell.on(self.report.snapshot.matrix.subject).version

    def _meeting(self, release: _InRelease) -> Meeting | None:
        if BOTH not in release.twos:
            return None
        entry, version = release.cells[release.twos.index(BOTH)], str(self._version(release))
        return Meeting(
            version=version,
            release_path=page(self.report.name, "release", version),
            place=", ".join(
                (place_words(entry.cell, self.report.snapshot.matrix), recipe_words(entry))
            ),
            path=cell_page(entry.cell),
        )

    def _mark(self, release: _InRelease) -> PairMark:
        cell, two = release.cells[0].cell, release.twos[0]
        state = pair_state(two)
        return PairMark(
            version=str(self._version(release)),
            state=state,
            sign=SIGNS[state],
            path=cell_page(cell),
            sentence=f"{place_words(cell, self.report.snapshot.matrix)}: {_in_short(two)}",
            differs=any(pair_state(other) != state for other in set(release.twos)),
        )


def pair_state(two: Two) -> State:
    if None in two:
        return "unknown"
    return BY_COUNT[two.count("yes")]


def pair_statements(
    by_release: Sequence[tuple[Version, Two]], titles: tuple[str, str]
) -> tuple[str, ...]:
    """Return what the releases come to, oldest first, as sentences; neighbours that agree are in
    one.
    """
    asked = [(version, two) for version, two in by_release if pair_state(two) != "unknown"]
    alike = [
        (two, [version for version, _ in group])
        for two, group in itertools.groupby(asked, key=lambda pair: pair[1])
    ]
    sentences = []
    for number, (two, versions) in enumerate(alike):
        place = where(str(versions[0]), str(versions[-1]), number, len(alike))
        each = ", ".join(
            f"“{title}” {SAYS[str(status)]}" for title, status in zip(titles, two, strict=True)
        )
        sentences.append(
            f"{place[0].upper()}{place[1:]}: {'both work' if pair_state(two) == 'both' else each}."
        )
    return tuple(sentences)


def _in_short(two: Two) -> str:
    match pair_state(two):
        case "both":
            return "both work"
        case "one":
            return "only the first works" if two[0] == "yes" else "only the second works"
        case "none":
            return "neither works"
        case "unknown":
            return "at least one of them was not tested"
