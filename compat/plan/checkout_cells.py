"""The cells of a checkout: every place of the matrix with the checkout in place of a release.

Its ids end in `-local` where a release would have its version: `py3.11-wz3.1-flask-local`. Recipe
`dated` has no such cells: a checkout is of today, so it would ask what `fresh` asks. The lanes of
the matrix have theirs.
"""

from collections.abc import Iterator

import msgspec
from packaging.version import Version

from compat.declare.matrix import Matrix, PackageAxis
from compat.declare.selector import Selector
from compat.index.release import Catalogue, Package, Release
from compat.plan.cell import Cell, Recipe, product
from compat.plan.feasible import Feasibility
from compat.plan.lanes import lane_cells

LOCAL_RECIPES: tuple[Recipe, ...] = ("fresh", "relaxed")


def facts_of_checkout(matrix: Matrix, catalogue: Catalogue, release: Release) -> Feasibility:
    # Return what rules and metadata say about cells in which the release is the only one of the
    # subject; its version has no local part.
    subject = matrix.subject_axis
    axes = tuple(_taking_all(axis) if axis is subject else axis for axis in matrix.axes)
    package = Package(name=subject.normalised_name, releases=(release,))
    others = (known for known in catalogue.packages if known.name != package.name)
    return Feasibility(
        msgspec.structs.replace(matrix, axes=axes),
        msgspec.structs.replace(catalogue, packages=(*others, package)),
    )


def checkout_cells(facts: Feasibility) -> Iterator[Cell]:
    # Yield every cell of the checkout: places in axis order, at each place the recipes; then those
    # of the lanes.
    name, subject = facts.matrix.name, facts.matrix.subject
    for place in product(facts.matrix, facts.catalogue):
        for recipe in LOCAL_RECIPES:
            cell = local_cell(Cell(matrix=name, coordinates=place, recipe=recipe), subject)
            if recipe != "relaxed" or facts.changing(cell):
                yield cell
    for cell in lane_cells(facts):
        yield local_cell(cell, subject)


def local_cell(cell: Cell, subject: str) -> Cell:
    coordinates = tuple(
        msgspec.structs.replace(coordinate, is_local=coordinate.axis == subject)
        for coordinate in cell.coordinates
    )
    return msgspec.structs.replace(cell, coordinates=coordinates)


def released_cell(cell: Cell, subject: str, version: Version) -> Cell:
    coordinates = tuple(
        msgspec.structs.replace(coordinate, version=version, is_local=False)
        if coordinate.axis == subject
        else coordinate
        for coordinate in cell.coordinates
    )
    return msgspec.structs.replace(cell, coordinates=coordinates)


def _taking_all(axis: PackageAxis) -> PackageAxis:
    return msgspec.structs.replace(axis, select=Selector(prereleases=True))
