"""Cells beyond the axes: versions newer than all that a matrix declares, which it could be extended
by once one of them has been run.
"""

import itertools
from collections.abc import Iterator, Mapping

import msgspec
from packaging.version import Version

from compat.declare.extended import extended_matrix
from compat.declare.matrix import Axis, InterpreterAxis
from compat.declare.patches import NEWEST
from compat.index.release import Catalogue, Package
from compat.plan.cell import RECIPES, Cell, Coordinate, Recipe, axis_coordinates, readable_cell
from compat.plan.feasible import Feasibility
from compat.plan.obstacle import Obstacle
from compat.value import Value


class Extension(Value, frozen=True, kw_only=True):
    """A version that an axis could be extended by, and what came of looking for a cell with it and
    the subject's newest release.

    `trial` is the cell to run first: with the newest version of each other axis that fits, rather
    as published than with changed pins. Where no cell can work, `obstacles` has for each recipe one
    that it was tried under: its id, and what rules it out.
    """

    axis: Axis
    newest: Version
    version: Version
    trial: Cell | None
    obstacles: Mapping[Recipe, tuple[str, Obstacle]]


def extensions(facts: Feasibility) -> Iterator[Extension]:
    """Yield every version that the axes beside the subject could be extended by, oldest first.

    Of a package this is its newest series alone, as moving the upper bound takes in all before it.
    """
    newest = facts.newest
    if set(newest) < {axis.name for axis in facts.matrix.axes}:
        return
    for axis in facts.matrix.axes:
        if axis.name == facts.matrix.subject:
            continue
        if isinstance(axis, InterpreterAxis):
            series = sorted(map(Version, NEWEST))
        else:
            releases = facts.catalogue.newer_than(axis)
            series = [axis.select.series(releases[-1].version)] if releases else []
        for version in series:
            if version > newest[axis.name]:
                yield _extension(facts, axis, version)


def extension_cells(facts: Feasibility) -> Iterator[Cell]:
    return (extension.trial for extension in extensions(facts) if extension.trial is not None)


def extension_cell(facts: Feasibility, cell_id: str) -> Cell | None:
    cell = readable_cell(cell_id, facts.matrix)
    if cell is None or cell.id != cell_id or cell.recipe not in RECIPES or not beyond(facts, cell):
        return None
    wider = extended_facts(facts, cell)
    if wider is None or any(
        coordinate.text not in {known.text for known in axis_coordinates(axis, wider.catalogue)}
        for axis, coordinate in zip(wider.matrix.axes, cell.coordinates, strict=True)
    ):
        return None
    return cell if cell.recipe != "relaxed" or wider.changing(cell) else None


def extended_facts(facts: Feasibility, cell: Cell) -> Feasibility | None:
    # Return the facts that hold for a cell beyond the axes; None for a cell that the matrix could
    # not be extended by.
    key = " ".join(coordinate.text for coordinate in beyond(facts, cell))
    if key not in facts.lanes:
        matrix, catalogue = facts.matrix, facts.catalogue
        for coordinate in beyond(facts, cell):
            axis = next(axis for axis in matrix.axes if axis.name == coordinate.axis)
            wanted = coordinate.version
            if isinstance(axis, InterpreterAxis):
                if str(wanted) not in NEWEST:
                    return None
                # What the subject pins is kept with the files for the declared Pythons alone.
                catalogue = msgspec.structs.replace(catalogue, required=())
            else:
                newer = catalogue.newer_than(axis)
                under = [r for r in newer if axis.select.series(r.version) == wanted]
                if axis.name == matrix.subject or not under:
                    return None
                catalogue = _with_newer(catalogue, axis.normalised_name)
                wanted = under[-1].version
            wider = extended_matrix(matrix, axis, wanted)
            if wider is None:
                return None
            matrix = wider
        facts.lanes[key] = Feasibility(matrix, catalogue)
    return facts.lanes[key]


def beyond(facts: Feasibility, cell: Cell) -> tuple[Coordinate, ...]:
    newest = facts.newest
    return tuple(
        coordinate
        for coordinate in cell.coordinates
        if not coordinate.is_local
        and coordinate.axis in newest
        and coordinate.version > newest[coordinate.axis]
    )


def _extension(facts: Feasibility, axis: Axis, version: Version) -> Extension:
    obstacles: dict[Recipe, tuple[str, Obstacle]] = {}
    trial = next(_feasible(facts, axis, version, obstacles), None)
    return Extension(
        axis=axis,
        newest=facts.newest[axis.name],
        version=version,
        trial=trial,
        obstacles=obstacles,
    )


def _feasible(
    facts: Feasibility,
    axis: Axis,
    version: Version,
    obstacles: dict[Recipe, tuple[str, Obstacle]],
) -> Iterator[Cell]:
    # The cells with the version and the subject's newest release that could work, newest versions
    # of the others first; the first obstacle of each recipe is kept.
    for recipe in RECIPES:
        if recipe == "dated":
            continue
        for place in _places(facts, axis, version):
            cell = Cell(matrix=facts.matrix.name, coordinates=place, recipe=recipe)
            wider = extended_facts(facts, cell)
            if wider is None or (recipe == "relaxed" and not wider.changing(cell)):
                continue
            obstacle = wider.obstacle(cell)
            if obstacle is None:
                yield cell
            else:
                obstacles.setdefault(recipe, (cell.id, obstacle))


def _places(facts: Feasibility, axis: Axis, version: Version) -> Iterator[tuple[Coordinate, ...]]:
    each: list[tuple[Coordinate, ...]] = []
    for other in facts.matrix.axes:
        known = axis_coordinates(other, facts.catalogue)
        if other is axis:
            each.append((Coordinate(axis=axis.name, short=axis.short, version=version),))
        elif other.name == facts.matrix.subject:
            each.append(known[-1:])
        else:
            each.append(known[::-1])
    return itertools.product(*each)


def _with_newer(catalogue: Catalogue, name: str) -> Catalogue:
    package = catalogue.package(name)
    newer = next(other for other in catalogue.newer if other.name == name)
    releases = {release.version: release for release in (*package.releases, *newer.releases)}
    merged = Package(name=name, releases=tuple(releases[v] for v in sorted(releases)))
    packages = (merged if other.name == name else other for other in catalogue.packages)
    return msgspec.structs.replace(catalogue, packages=tuple(packages))
