"""The `site` room's cell page: the document of the cell, what stands beside it, and how its
packages differ from those of the nearest better cell.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from compat.advise.request import label
from compat.plan.cell import RECIPES, Cell, Recipe
from compat.results.answer import Answer
from compat.results.judged import around_first_error
from compat.results.record import Record
from compat.run.outcome import Failed
from compat.site.api.cell_documents import last_cell_document
from compat.site.edition import Edition, MatrixReport, place_of
from compat.site.pages.capability_view import failing
from compat.site.pages.place_view import Doc, cell_symbol, entry_page, recipe_words
from compat.site.status import STYLES, style_of
from compat.site.wording import count, day, place_words, result_words

Place = tuple[int, ...]


def cell_view(
    edition: Edition, report: MatrixReport, entry: Answer, neighbours: "Neighbours"
) -> Doc:
    """Return the page of a cell; reads its records and its lock, and those of its nearest green
    neighbour.
    """
    cell, siblings = entry.cell, report.places[place_of(entry.cell)]
    document, records = last_cell_document(edition, report, entry), report.records(entry.cell.id)
    symbol, style = cell_symbol(entry, siblings)
    installed, beside = packages(report, cell.id, reversed(records)), neighbours.beside(cell)
    counting = {run.run.started: run.outcomes for run in entry.counted}
    return Doc(
        cell=document,
        entry=entry,
        style=style,
        symbol=symbol,
        fails=failing(report, entry),
        reasons=_reasons(report, entry),
        tested=_summary(entry, records),
        remarks=records[-1].remarks if records else (),
        isolation=records[-1].isolation if records else "",
        lock=report.locks.get(cell.id),
        failure=_failure(report, entry, records, neighbours, installed),
        # Each attempt with its record, and whether it counts; a record of one try has no list.
        attempts=[
            (record, attempt, attempt.outcome in counting.get(record.started, ()))
            for record in reversed(records)
            for attempt in record.attempts[::-1] or (record,)
        ],
        packages=sorted(installed.items()),
        recipes=[_sibling(other, siblings) for other in siblings if other is not entry],
        beside=[
            (label(axis), *(_named(other, axis.name) for other in beside[axis.name]))
            for axis in report.snapshot.matrix.axes
            if any(beside[axis.name])
        ],
    )


def _reasons(report: MatrixReport, entry: Answer) -> tuple[str, ...]:
    """Why the verdict is what it is; with how sure that is where it is inferred, and what is known
    of runs that do not count.
    """
    audit = report.audit_sentence if entry.evidence == "inferred" else ""
    is_without_answer = entry.runs and entry.outcome is None
    issue = report.snapshot.explained(entry) if is_without_answer else None
    known = "" if issue is None else issue.because.replace("`", "")
    cautions = (caution.replace("`", "") for caution in report.snapshot.cautions(entry))
    return (*entry.reasons, *dict.fromkeys(filter(None, (audit, known, *cautions))))


def _summary(entry: Answer, records: tuple[Record, ...]) -> str:
    tries = [outcome for record in records for outcome in record.outcomes]
    if not tries:
        return "Not tested yet."
    counted = [outcome for run in entry.counted for outcome in run.outcomes]
    if not counted:
        tried = count(len(tries), "attempt")
        return f"Not tested yet: {tried} failed without saying anything about the versions."
    last = f", the last on {day(entry.latest)}" if entry.latest is not None else ""
    passes = sum(not isinstance(outcome, Failed) for outcome in counted)
    result = f"in {passes} every test passed"
    if not passes and entry.kind in ("works", "partial"):
        # What fails in every combination of a release fails in each run, and the cell works.
        result = f"with failing tests in each: {entry.score.words}"
    trouble = count(len(tries) - len(counted), "more attempt")
    more = f" {trouble} failed without saying anything about the versions."
    summary = f"{count(len(counted), 'attempt')}, {result}{last}."
    return summary + (more if len(tries) > len(counted) else "")


def _failure(
    report: MatrixReport,
    entry: Answer,
    records: tuple[Record, ...],
    neighbours: "Neighbours",
    installed: dict[str, str],
) -> Doc | None:
    """What fails in the cell: its outcome in words, what is known, the log, and the nearest cell
    with a better result, with the packages that differ: here, there; empty where not installed.
    """
    outcome = entry.outcome
    fails = entry.kind in ("broken", "partial", "flaky")
    if outcome is None or not (fails or entry.faults):
        return None
    green, others = neighbours.greener(entry) if fails else None, dict[str, str]()
    if green is not None:
        others = packages(report, green.cell.id, report.newest_records(green.cell.id))
    failed = [record for record in records if outcome in record.outcomes]
    words = "" if green is None else place_words(green.cell, report.snapshot.matrix)
    return Doc(
        result=result_words(outcome),
        known=report.snapshot.explained(entry),
        log=around_first_error(failed[-1].log, before=18, after=6) if failed else "",
        green=None if green is None else _link(green, f"{words}, {recipe_words(green)}"),
        differences=differences(installed, others) if installed and others else [],
    )


def _link(entry: Answer, words: str) -> Doc:
    """Another cell as it is shown from here; `label` says what differs."""
    symbol, style = cell_symbol(entry)
    return Doc(label=words, style=style, symbol=symbol, path=entry_page(entry))


def _named(entry: Answer | None, axis: str) -> Doc | None:
    return None if entry is None else _link(entry, entry.cell.on(axis).number)


def _sibling(entry: Answer, siblings: tuple[Answer, ...]) -> Doc:
    symbol, style = cell_symbol(entry, siblings)
    shown = STYLES["unknown"] if style_of(entry, siblings).state == "unknown" else style
    return Doc(label=recipe_words(entry), style=shown, symbol=symbol, path=entry_page(entry))


class Neighbours:
    """The known cells of a report by their places on the axes."""

    def __init__(self, report: MatrixReport) -> None:
        self._names = tuple(axis.name for axis in report.snapshot.matrix.axes)
        known = report.snapshot.known
        every = [sorted({entry.cell.on(name).version for entry in known}) for name in self._names]
        self._numbers = [
            {version: number for number, version in enumerate(versions)} for versions in every
        ]
        self._known = {(self._place(entry.cell), entry.cell.recipe): entry for entry in known}
        self._reached = [
            (self._place(entry.cell), entry)
            for entry in known
            if entry.kind in ("works", "partial")
        ]

    def greener(self, entry: Answer) -> Answer | None:
        """Return the nearest cell in which works what does not work here: at the same place, else
        along one axis, else anywhere.

        Of a cell that fails as a whole that is one that works at least in part; of a partial one,
        one in which a capability passes that fails here.
        """
        cell, place = entry.cell, self._place(entry.cell)
        recipes = sorted(RECIPES, key=lambda recipe: recipe != cell.recipe)
        for other in chain((place,), self._along_axes(place)):
            for recipe in recipes:
                near = self._known.get((other, recipe))
                if near is not None and near.cell != cell and _is_greener(near, entry):
                    return near
        fitting = [pair for pair in self._reached if _is_greener(pair[1], entry)]
        steps = [
            (
                sum(abs(number - other) for number, other in zip(place, position, strict=True)),
                candidate.cell.recipe != cell.recipe,
                candidate.cell.id,
            )
            for position, candidate in fitting
        ]
        return fitting[steps.index(min(steps))][1] if steps else None

    def beside(self, cell: Cell) -> dict[str, tuple[Answer | None, Answer | None]]:
        """Return, for each axis, the known cells just below and just above on it, of the same
        recipe.
        """
        place = self._place(cell)
        return {
            name: (
                self._next(place, cell.recipe, number, -1),
                self._next(place, cell.recipe, number, 1),
            )
            for number, name in enumerate(self._names)
        }

    def _place(self, cell: Cell) -> Place:
        return tuple(
            numbers[coordinate.version]
            for numbers, coordinate in zip(self._numbers, cell.coordinates, strict=True)
        )

    def _next(self, place: Place, recipe: Recipe, axis: int, step: int) -> Answer | None:
        position = place[axis] + step
        while 0 <= position < len(self._numbers[axis]):
            entry = self._known.get(((*place[:axis], position, *place[axis + 1 :]), recipe))
            if entry is not None:
                return entry
            position += step
        return None

    def _along_axes(self, place: Place) -> Iterator[Place]:
        """The places that differ on one axis, the nearest first; of equally near ones the first
        axis's.
        """
        for step in range(1, max(map(len, self._numbers), default=0)):
            for axis, numbers in enumerate(self._numbers):
                for to in (place[axis] - step, place[axis] + step):
                    if 0 <= to < len(numbers):
                        yield (*place[:axis], to, *place[axis + 1 :])


def _is_greener(other: Answer, entry: Answer) -> bool:
    if other.kind == "works" or entry.kind != "partial":
        return other.kind in ("works", "partial")
    failing = entry.failing("combination", "unexplained")
    return other.kind == "partial" and any(
        capability.status == "yes" and capability.id in failing for capability in other.capabilities
    )


def packages(report: MatrixReport, cell: str, newest: Iterable[Record]) -> dict[str, str]:
    """Return what stands in a cell: as it was found installed, else as its lock pins it; `newest`
    are its records, newest first, of which no more are taken than it needs.
    """
    for record in newest:
        if record.installed:
            return {package.name: package.version for package in record.installed}
    lock = report.locks.get(cell)
    return {} if lock is None else {pin.name: str(pin.version) for pin in lock.pins}


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> list[tuple[str, str, str]]:
    return [
        (name, here.get(name, ""), there.get(name, ""))
        for name in sorted({*here, *there})
        if here.get(name) != there.get(name)
    ]
