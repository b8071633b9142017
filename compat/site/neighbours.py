"""The `site` room's comparison of a cell with those beside it: the nearest green one, and what differs in packages."""

from collections.abc import Iterator, Mapping

from packaging.version import Version

from compat.plan.cell import RECIPES, Cell, Coordinate
from compat.results.picture import Entry
from compat.results.record import Record
from compat.site.edition import Volume
from compat.site.views_place import View


class Difference(View, frozen=True):
    """A package that is not the same in two cells; empty where it is not installed."""

    name: str
    here: str
    there: str


class Neighbours:
    """The cells of a volume by their places on the axes."""

    def __init__(self, volume: Volume) -> None:
        """Take the volume."""
        self._known = {entry.cell.id: entry for entry in volume.picture.known}
        self._axes: dict[str, list[Version]] = {}
        for axis in volume.picture.matrix.axes:
            here = {entry.cell.on(axis.name).version for entry in volume.picture.known}
            self._axes[axis.name] = sorted(here)

    def green(self, cell: Cell) -> Entry | None:
        """Return the nearest cell that works: at the same place first, then along one axis, whatever its recipe."""
        for coordinates in ([*cell.coordinates], *self._along_axes(cell)):
            for recipe in sorted(RECIPES, key=lambda one: one != cell.recipe):
                found = self._known.get(Cell(matrix=cell.matrix, coordinates=tuple(coordinates), recipe=recipe).id)
                if found is not None and found.cell != cell and found.verdict.kind == "works":
                    return found
        return None

    def beside(self, cell: Cell) -> dict[str, tuple[Entry | None, Entry | None]]:
        """Return, for each axis, the known cells just below and just above on it, of the same recipe."""
        return {
            coordinate.axis: (self._next(cell, coordinate, -1), self._next(cell, coordinate, 1))
            for coordinate in cell.coordinates
        }

    def _next(self, cell: Cell, coordinate: Coordinate, step: int) -> Entry | None:
        versions = self._axes[coordinate.axis]
        below = [one for one in versions if one < coordinate.version][::-1]
        for version in below if step < 0 else [one for one in versions if one > coordinate.version]:
            moved = tuple(_moved(one, coordinate.axis, version) for one in cell.coordinates)
            found = self._known.get(Cell(matrix=cell.matrix, coordinates=moved, recipe=cell.recipe).id)
            if found is not None:
                return found
        return None

    def _along_axes(self, cell: Cell) -> Iterator[list[Coordinate]]:
        """The places that differ on one axis, the nearest first; of equally near ones the first axis's."""
        steps = []
        for number, coordinate in enumerate(cell.coordinates):
            versions = self._axes[coordinate.axis]
            at = sum(version < coordinate.version for version in versions)
            steps += [
                (abs(place - at), number, version)
                for place, version in enumerate(versions)
                if version != coordinate.version
            ]
        for _, number, version in sorted(steps):
            moved = list(cell.coordinates)
            moved[number] = _moved(moved[number], moved[number].axis, version)
            yield moved


def packages(volume: Volume, cell: str, records: tuple[Record, ...]) -> dict[str, str]:
    """Return what stands in a cell: as it was found installed, else as its lock pins it."""
    for record in reversed(records):
        if record.installed:
            return {one.name: one.version for one in record.installed}
    lock = volume.locks.get(cell)
    return {} if lock is None else {pin.name: str(pin.version) for pin in lock.pins}


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> tuple[Difference, ...]:
    """Return the packages that differ, by name."""
    return tuple(
        Difference(name=name, here=here.get(name, ""), there=there.get(name, ""))
        for name in sorted({*here, *there})
        if here.get(name) != there.get(name)
    )


def _moved(coordinate: Coordinate, axis: str, version: Version) -> Coordinate:
    if coordinate.axis != axis:
        return coordinate
    return Coordinate(axis=coordinate.axis, short=coordinate.short, version=version)
