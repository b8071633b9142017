"""The product of the axes: every place that a matrix speaks of, in declared order."""

import itertools
from collections.abc import Iterator

from packaging.version import Version

from compat.declare.matrix import Axis, InterpreterAxis, Matrix
from compat.declare.parsing import minor_series
from compat.index.release import Catalogue
from compat.plan.cell import Coordinate


def axis_coordinates(axis: Axis, catalogue: Catalogue) -> tuple[Coordinate, ...]:
    return tuple(
        Coordinate(axis=axis.name, short=axis.short, version=version)
        for version in _versions(axis, catalogue)
    )


def product(matrix: Matrix, catalogue: Catalogue) -> Iterator[tuple[Coordinate, ...]]:
    """Yield every combination of coordinates once, in axis order.

    The recipes multiply them later.
    """
    return itertools.product(*(axis_coordinates(axis, catalogue) for axis in matrix.axes))


def _versions(axis: Axis, catalogue: Catalogue) -> tuple[Version, ...]:
    if isinstance(axis, InterpreterAxis):
        return tuple(sorted(Version(minor_series(release)) for release in axis.releases))
    return catalogue.of(axis).coordinates(axis.select)
