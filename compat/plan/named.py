"""Cells by what people call them: ids and globs -> cells of the plan."""

import difflib
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase

import msgspec

from compat.declare.matrix import Matrix
from compat.errors import EmptyLane, NothingToDo, UsageError
from compat.index.release import Catalogue
from compat.plan.cell import (
    LANES,
    Cell,
    axis_coordinates,
    form,
    parse_cell,
    readable_cell,
    refuse_elsewhere,
)
from compat.plan.extension import extension_cell
from compat.plan.feasible import Feasibility
from compat.plan.lanes import is_lane_cell, lane_cells
from compat.plan.plan import every_cell


def cells_of(facts: Feasibility) -> tuple[Cell, ...]:
    """Return every cell of the matrix, feasible or not. Raises NothingToDo when there is none."""
    refuse_empty(facts.matrix, facts.catalogue)
    return tuple(every_cell(facts))


def refuse_empty(matrix: Matrix, catalogue: Catalogue) -> None:
    """Raise NothingToDo when an axis selects no release, so that the matrix has no cells."""
    for axis in matrix.packages:
        if not axis_coordinates(axis, catalogue):
            because = f"no release of {axis.package} is one that axis {axis.name!r} selects"
            hint = f"change `select` of the axis in matrices/{matrix.name}/matrix.toml"
            raise NothingToDo.of(f"matrix {matrix.name!r} has no cells: {because}", hint=hint)


def named_cells(facts: Feasibility, patterns: Iterable[str]) -> tuple[Cell, ...]:
    """Return the cells that ids and globs name, each once.

    They stand in the order of the patterns, then of the plan. A glob names cells of lanes only
    where it has a `+`.

    Raises UsageError for an id outside the product, and for a glob that matches nothing;
    NothingToDo when the matrix has no cells at all, EmptyLane when globs name lanes alone that have
    none.
    """
    return _named(facts, patterns, planned_cell)


def runnable_cells(facts: Feasibility, patterns: Iterable[str]) -> tuple[Cell, ...]:
    # Return the cells as `named_cells` does, where an id may also be of a cell beyond the axes,
    # with a version that the matrix could be extended by.
    def by_id(facts: Feasibility, cell_id: str) -> Cell | None:
        return planned_cell(facts, cell_id) or extension_cell(facts, cell_id)

    return _named(facts, patterns, by_id)


def _named(
    facts: Feasibility,
    patterns: Iterable[str],
    by_id: Callable[[Feasibility, str], Cell | None],
) -> tuple[Cell, ...]:
    named: dict[str, Cell] = {}
    every: dict[str, Cell] = {}
    empty: list[str] = []
    refuse_empty(facts.matrix, facts.catalogue)
    for pattern in patterns:
        if (cell := by_id(facts, pattern)) is not None:
            named[pattern] = cell
            continue
        every = every or {cell.id: cell for cell in every_cell(facts)}
        every |= {cell.id: cell for cell in lane_cells(facts) if "+" in pattern}
        matching = [cell_id for cell_id in every if fnmatchcase(cell_id, pattern)]
        if not matching and _names_a_lane(facts.matrix, every, pattern):
            empty.append(pattern)
        elif not matching:
            raise _no_cell(facts.matrix, every, pattern)
        named.update((cell_id, every[cell_id]) for cell_id in matching)
    if empty and not named:
        axes = ", ".join(axis.package for axis in facts.matrix.prerelease_axes)
        because = f"no pre-release of {axes} is newer than its final releases"
        if empty[-1].endswith("+lowest"):
            because = "no release has lowest versions that can be installed"
        raise EmptyLane.of(f"no cell of matrix {facts.matrix.name!r} is {empty[-1]!r}: {because}")
    return tuple(named.values())


def _names_a_lane(matrix: Matrix, every: dict[str, Cell], pattern: str) -> bool:
    place, _, lane = pattern.rpartition("+")
    is_declared = matrix.lowest if lane == "lowest" else bool(matrix.prerelease_axes)
    known = any(fnmatchcase(cell.place, place) for cell in every.values())
    return lane in LANES and is_declared and known


def planned_cell(facts: Feasibility, cell_id: str) -> Cell | None:
    """Return the cell of an id if it stands in the plan; no other cell is looked at."""
    cell = readable_cell(cell_id, facts.matrix)
    if cell is not None and cell.is_in_lane:
        return cell if cell.id == cell_id and is_lane_cell(facts, cell) else None
    # 2.14 equals 2.14.0, and yet only one of them stands in an id.
    if cell is None or any(
        coordinate.text not in {known.text for known in axis_coordinates(axis, facts.catalogue)}
        for axis, coordinate in zip(facts.matrix.axes, cell.coordinates, strict=True)
    ):
        return None
    return cell if cell.recipe != "relaxed" or facts.changing(cell) else None


def _no_cell(matrix: Matrix, every: dict[str, Cell], pattern: str) -> UsageError:
    refuse_elsewhere(pattern, matrix)
    if not any(sign in pattern for sign in "*?["):
        dated = msgspec.structs.replace(parse_cell(pattern, matrix), recipe="dated").id
        if pattern.endswith("+relaxed") and dated in every:
            return UsageError.of(
                f"no cell of matrix {matrix.name!r} is {pattern!r}: no rule relaxes anything there",
                hint=f"{dated} asks the same",
            )
    near = difflib.get_close_matches(pattern, every, n=1, cutoff=0.8)
    hint = f"did you mean {near[0]}?" if near else f"ids have the form {form(matrix)}"
    return UsageError.of(f"no cell of matrix {matrix.name!r} is {pattern!r}", hint=hint)
