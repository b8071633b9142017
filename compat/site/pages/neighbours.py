"""The `site` room's neighbours of a cell: the nearest better one, and how packages differ."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from compat.plan.cell import RECIPES, Cell, Recipe
from compat.results.answer import Answer
from compat.results.record import Record
from compat.site.edition import MatrixReport
from compat.site.pages.place_view import View

Place = tuple[int, ...]


class Difference(View, frozen=True):
    """A package that is not the same in two cells; empty where it is not installed."""

    name: str
    here: str
    there: str


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
            if entry.verdict.kind in ("works", "partial")
        ]

    def greener(self, entry: Answer) -> Answer | None:
        """Return the nearest cell in which works what does not work here: at the same place, else
        along one axis, else anywhere.

        Of a cell that fails as a whole that is one that works at least in part; of a partial one,
        one in which a capability passes that fails here.
        """
        cell = entry.cell
        place = self._place(cell)
        recipes = sorted(RECIPES, key=lambda recipe: recipe != cell.recipe)
        for other in chain((place,), self._along_axes(place)):
            for recipe in recipes:
                candidate = self._known.get((other, recipe))
                if (
                    candidate is not None
                    and candidate.cell != cell
                    and _is_greener(candidate, entry)
                ):
                    return candidate
        fitting = [
            (position, candidate)
            for position, candidate in self._reached
            if _is_greener(candidate, entry)
        ]
        steps = [
            (
                sum(map(_apart, place, position)),
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
    if other.verdict.kind == "works" or entry.verdict.kind != "partial":
        return other.verdict.kind in ("works", "partial")
    failing = entry.verdict.failing("combination", "unexplained")
    return other.verdict.kind == "partial" and any(
        capability.status == "yes" and capability.id in failing
        for capability in other.verdict.capabilities
    )


def _apart(number: int, other: int) -> int:
    return abs(number - other)


def packages(report: MatrixReport, cell: str, newest: Iterable[Record]) -> dict[str, str]:
    """Return what stands in a cell: as it was found installed, else as its lock pins it; `newest`
    are its records, newest first, of which no more are taken than it needs.
    """
    for record in newest:
        if record.installed:
            return {package.name: package.version for package in record.installed}
    lock = report.locks.get(cell)
    return {} if lock is None else {pin.name: str(pin.version) for pin in lock.pins}


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> tuple[Difference, ...]:
    return tuple(
        Difference(name=name, here=here.get(name, ""), there=there.get(name, ""))
        for name in sorted({*here, *there})
        if here.get(name) != there.get(name)
    )
