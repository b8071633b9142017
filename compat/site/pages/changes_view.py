"""The `site` room's changes: verdicts that changed, day by day."""

import datetime
from collections.abc import Iterable, Sequence
from itertools import groupby

from compat.results.compare import ChangeKind
from compat.results.run_group import Kind
from compat.site.edition import MatrixReport, place_of
from compat.site.history import Event
from compat.site.pages.place_view import View, recipe_words
from compat.site.paths import cell_page
from compat.site.status import NAMES_RECIPE, StatusStyle, style_then
from compat.site.wording import cause_sentence, listed, place_words

WORDS: dict[ChangeKind, str] = {
    "regressed": "Regression",
    "fixed": "Fix",
    "spurious": "Flaky result",
    "new": "First result",
    "gone": "No result any more",
    "same": "Unchanged",
}
# What another suite finds is no change of the versions.
OTHER_TESTS: dict[ChangeKind, str] = {
    "regressed": "New tests found problems",
    "fixed": "Changed tests found fewer problems",
}
_MOST_IN_DAY = 60


class News(View, frozen=True):
    """One change of a verdict."""

    kind: ChangeKind
    word: str
    style: StatusStyle
    before: str
    place: str
    recipe: str
    path: str
    why: str
    moment: datetime.datetime


class Day(View, frozen=True):
    """What changed on one day; `more` are changes beyond those that are listed."""

    day: datetime.date
    news: tuple[News, ...]
    counts: tuple[tuple[str, int], ...]
    more: int


class ChangesPage(View, frozen=True):
    """All changes by day, the newest first."""

    days: tuple[Day, ...]
    count: int


def changes_page(report: MatrixReport) -> ChangesPage:
    """Return what changed."""
    events = report.events
    days = tuple(
        _day(report, day, [*group])
        for day, group in groupby(events, key=lambda event: event.moment.date())
    )
    return ChangesPage(days=days, count=len(events))


def newest(report: MatrixReport, most: int) -> tuple[News, ...]:
    """Return the newest changes; regressions before fixes before first results of one day."""
    return news(report, sorted(report.events, key=_order)[:most])


def news(report: MatrixReport, events: Iterable[Event]) -> tuple[News, ...]:
    """Return events as news."""
    return tuple(_news(report, event) for event in events)


def _order(event: Event) -> tuple[float, int]:
    order: Sequence[ChangeKind] = ("regressed", "fixed", "spurious", "new", "gone", "same")
    return -event.moment.date().toordinal(), order.index(event.change.kind)


def _day(report: MatrixReport, day: datetime.date, events: list[Event]) -> Day:
    events.sort(key=_order)
    words = [_heading(event) for event in events]
    return Day(
        day=day,
        news=news(report, events[:_MOST_IN_DAY]),
        counts=tuple((word, words.count(word)) for word in dict.fromkeys(words)),
        more=max(0, len(events) - _MOST_IN_DAY),
    )


def _heading(event: Event) -> str:
    kind = event.change.kind
    return OTHER_TESTS.get(kind, WORDS[kind]) if "suite" in event.beside else WORDS[kind]


def _word(event: Event) -> str:
    if "suite" not in event.beside or event.change.kind not in OTHER_TESTS:
        return _heading(event)
    packages = "changed too" if "lock" in event.beside else "did not change"
    return f"{_heading(event)}; the packages {packages}"


def _news(report: MatrixReport, event: Event) -> News:
    change, cell = event.change, event.entry.cell
    kind: Kind = event.verdict.kind
    why = (
        ""
        if kind == "works" or event.verdict.outcome is None
        else cause_sentence(event.verdict.outcome)
    )
    if change.lost:
        why = f"No longer works: {listed(change.lost)}."
    elif change.gained:
        why = f"Works now: {listed(change.gained)}."
    siblings = report.places[place_of(cell)]
    style = style_then(event.entry, event.verdict, siblings)
    before = style_then(event.entry, event.before, siblings)
    return News(
        kind=change.kind,
        word=_word(event),
        style=style,
        before=before.word if event.before.kind not in ("unknown", kind) else "",
        place=place_words(cell, report.snapshot.matrix),
        recipe="" if style.state in NAMES_RECIPE else recipe_words(event.entry),
        path=cell_page(cell),
        why=why,
        moment=event.moment,
    )
