"""The `site` room's changes: verdicts that changed, day by day."""

import datetime
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice

from compat.results.answer import Kind
from compat.results.compare import ChangeKind
from compat.site.edition import MatrixReport, place_of
from compat.site.history import Event
from compat.site.pages.place_view import View, recipe_words
from compat.site.paths import cell_page, page
from compat.site.status import NAMES_RECIPE, StatusStyle, style_then
from compat.site.wording import cause_sentence, listed, month, place_words

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
# On the page of the newest days, and on that of a month.
_MOST_IN_DAY, _MOST_IN_DAY_OF_MONTH = 60, 10
_MOST_DAYS = 30


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


class Month(View, frozen=True):
    """A month that has a page of its own; `name` is as ISO 8601 has it, `2026-11`."""

    name: str
    words: str
    count: int
    path: str


class ChangesPage(View, frozen=True):
    """The changes of the newest days, or of the `month`, by day, the newest first. `count` is how
    many there are; `months` are those in which there are more; `path` is the page of the newest.
    """

    days: tuple[Day, ...]
    count: int
    months: tuple[Month, ...]
    month: str
    path: str


def changes_page(report: MatrixReport) -> ChangesPage:
    days = islice(_by_day(report.events), _MOST_DAYS)
    return ChangesPage(
        days=tuple(_day(report, day, [*group], _MOST_IN_DAY) for day, group in days),
        count=len(report.events),
        months=earlier_months(report),
        month="",
        path=page(report.name, "changes"),
    )


def changes_in_month(report: MatrixReport, name: str) -> ChangesPage:
    events = [event for event in report.events if _month(event) == name]
    return ChangesPage(
        days=tuple(
            _day(report, day, [*group], _MOST_IN_DAY_OF_MONTH) for day, group in _by_day(events)
        ),
        count=len(events),
        months=(),
        month=month_words(name),
        path=page(report.name, "changes"),
    )


def earlier_months(report: MatrixReport) -> tuple[Month, ...]:
    shown = [day for day, _ in islice(_by_day(report.events), _MOST_DAYS)]
    earlier = {_month(event) for event in report.events if event.moment.date() not in shown}
    counts = Counter(map(_month, report.events))
    return tuple(
        Month(
            name=name,
            words=month_words(name),
            count=counts[name],
            path=page(report.name, "changes", name),
        )
        for name in sorted(earlier, reverse=True)
    )


def month_words(name: str) -> str:
    """Return a month as readers say it: `November 2026`."""
    first = datetime.date.fromisoformat(f"{name}-01")
    return f"{month(first)} {first.year}"


def _month(event: Event) -> str:
    return event.moment.date().isoformat()[:7]


def _by_day(events: Iterable[Event]) -> Iterator[tuple[datetime.date, Iterator[Event]]]:
    return groupby(events, key=lambda event: event.moment.date())


def newest(report: MatrixReport, most: int) -> tuple[News, ...]:
    """Return the newest changes; regressions before fixes before first results of one day."""
    return news(report, sorted(report.events, key=_order)[:most])


def news(report: MatrixReport, events: Iterable[Event]) -> tuple[News, ...]:
    return tuple(_news(report, event) for event in events)


def _order(event: Event) -> tuple[float, int]:
    order: Sequence[ChangeKind] = ("regressed", "fixed", "spurious", "new", "gone", "same")
    return -event.moment.date().toordinal(), order.index(event.change.kind)


def _day(report: MatrixReport, day: datetime.date, events: list[Event], most: int) -> Day:
    events.sort(key=_order)
    words = [_heading(event) for event in events]
    return Day(
        day=day,
        news=news(report, events[:most]),
        counts=tuple((word, words.count(word)) for word in dict.fromkeys(words)),
        more=max(0, len(events) - most),
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
