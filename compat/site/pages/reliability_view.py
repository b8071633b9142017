"""The `site` room's page about reliability: coverage, age and isolation of the runs."""

import datetime
from collections import Counter

from compat.results.answer import Answer
from compat.results.coverage import CellCount, cell_count
from compat.results.state_words import by_evidence
from compat.site.edition import MatrixReport
from compat.site.pages.place_view import View
from compat.site.paths import cell_page
from compat.site.status import STYLES, StatusStyle, cell_state
from compat.site.wording import place_words


class Health(View, frozen=True):
    """How a matrix does on its day, counted in cells.

    `newest` and `oldest` are days of runs that count.
    """

    cells: CellCount
    known: int
    waiting: int
    flaky: int
    stale: int
    newest: datetime.date | None
    oldest: datetime.date | None
    is_quiet: bool
    fresh_days: int


class Reliability(View, frozen=True):
    """The figures of the page about reliability."""

    health: Health
    states: tuple[tuple[StatusStyle, int], ...]
    runs: int
    attempts: int
    spurious: tuple[tuple[str, int], ...]
    isolation: tuple[tuple[str, int], ...]
    flaky: tuple[tuple[str, str, str], ...]
    oldest: tuple[tuple[str, str, datetime.date], ...]


def matrix_health(report: MatrixReport) -> Health:
    """Return how a matrix does.

    It is quiet when something ran, but nothing within the days that a run stays fresh.
    """
    known, present = report.snapshot.known, report.snapshot.present
    latest = [entry.verdict.latest for entry in known if entry.verdict.latest is not None]
    newest = max(latest, default=None)
    return Health(
        cells=cell_count(report.snapshot),
        known=len(known),
        waiting=sum(not entry.runs for entry in known),
        flaky=sum(entry.verdict.kind == "flaky" for entry in known),
        stale=sum(entry.verdict.stale for entry in known),
        newest=newest,
        oldest=min(latest, default=None),
        is_quiet=newest is not None and (present.day - newest).days > present.fresh_days,
        fresh_days=present.fresh_days,
    )


def reliability(report: MatrixReport) -> Reliability:
    known = report.snapshot.known
    states = Counter(by_evidence(cell_state(entry), entry.verdict) for entry in known)
    outcomes = Counter(outcome for entry in known for run in entry.runs for outcome in run.outcomes)
    ignored = outcomes - Counter(
        outcome for entry in known for run in entry.counted for outcome in run.outcomes
    )
    trouble: Counter[str] = Counter()
    for outcome, number in ignored.items():
        trouble[str(outcome).partition("(")[0]] += number
    levels = Counter(run.isolation for entry in known for run in entry.runs)
    return Reliability(
        health=matrix_health(report),
        states=tuple((STYLES[state], states[state]) for state in STYLES if states[state]),
        runs=sum(len(entry.runs) for entry in known),
        attempts=outcomes.total(),
        spurious=tuple(trouble.most_common()),
        isolation=tuple(sorted(levels.items(), reverse=True)),
        flaky=tuple(_flaky(report, entry) for entry in known if entry.verdict.kind == "flaky"),
        oldest=tuple(_old(report, entry, day) for day, entry in _by_age(known)[:5]),
    )


def _by_age(known: tuple[Answer, ...]) -> list[tuple[datetime.date, Answer]]:
    dated = [(entry.verdict.latest, entry) for entry in known if entry.verdict.latest is not None]
    return sorted(dated, key=lambda pair: (pair[0], pair[1].cell.id))


def _flaky(report: MatrixReport, entry: Answer) -> tuple[str, str, str]:
    return (
        place_words(entry.cell, report.snapshot.matrix),
        cell_page(entry.cell),
        "; ".join(entry.verdict.reasons),
    )


def _old(report: MatrixReport, entry: Answer, day: datetime.date) -> tuple[str, str, datetime.date]:
    return place_words(entry.cell, report.snapshot.matrix), cell_page(entry.cell), day
