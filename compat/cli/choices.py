"""Which cells `compat run` is about: those that were named, the quick ones, or the due ones."""

from collections.abc import Collection, Iterable, Sequence

from compat import pipeline
from compat.cli.stand import Stand
from compat.declare.matrix import Matrix
from compat.errors import NothingToDo, UsageError
from compat.index.release import Catalogue
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.plan.plan import Feasible, Infeasible, fate_of
from compat.results.due import due
from compat.site.wording import count
from compat.value import Value

# A first run of at most so many cells begins unasked. At five seconds a cell, which is usual for a
# small library, that is about four minutes; thousands of cells would be days. Chosen on 2026-11-22.
MOST_UNASKED = 50


class CellToRun(Value, frozen=True, kw_only=True):
    """A cell that is to be run, and why."""

    cell: str
    reason: str


class CellsToRun(Value, frozen=True, kw_only=True):
    """The cells to run, the infeasible ones that were meant, too, and what else is to be said."""

    cells: tuple[CellToRun, ...]
    infeasible: tuple[Infeasible, ...] = ()
    remarks: tuple[str, ...] = ()


def choose(stand: Stand, words: Sequence[str], quick: bool) -> CellsToRun:
    """Return what a run is about: the quick cells, or those that words name, or the due ones.

    Raises UsageError for what is not in the matrix, and NothingToDo where no cell could be run.
    """
    if quick:
        return _quick(stand)
    if words:
        return _named(stand, words)
    return _due(stand) if stand.locks or stand.rows else _first(stand)


def up_to_date(stand: Stand) -> str:
    """Return the sentence that says that nothing is due, and why."""
    locked = len(stand.locks)
    others = count(len(stand.candidates()) - locked, "cell", "cells")
    if not locked:
        return f"nothing is due: {others} without a lock, each with a fresh result"
    which = "the locked cell has" if locked == 1 else f"all {locked:,} locked cells have"
    besides = "" if others.startswith("0 ") else f", and so has each of {others} without a lock"
    return f"nothing is due: {which} a fresh result{besides}"


def outside(choices: Sequence[Infeasible]) -> str:
    """Return the sentence about cells that the plan rules out, with the first obstacle."""
    first = choices[0]
    if len(choices) == 1:
        return f"left out, because it is infeasible: {first.cell.id}: {first.obstacle.because}"
    return (
        f"left out, because they are infeasible: {len(choices):,} cells; {first.cell.id}:"
        f" {first.obstacle.because}"
    )


def _quick(stand: Stand) -> CellsToRun:
    name, quick = stand.setting.folder.name, stand.setting.ask.matrix.quick
    if not quick:
        hint = (
            f"compat run {name} 'GLOB' runs cells by their ids; `quick = [...]` in its matrix.toml"
            " would name some"
        )
        raise NothingToDo.of(f"matrix {name!r} names no quick cells", hint=hint)
    _, cells = _cells(stand, quick)
    return CellsToRun(cells=tuple(CellToRun(cell=cell.id, reason="quick") for cell in cells))


def _named(stand: Stand, words: Sequence[str]) -> CellsToRun:
    """What an id names is tried in any case; of what a glob names, the cells that could work."""
    catalogue, cells = _cells(stand, words)
    wanted, infeasible = _sifted(stand, catalogue, cells, {*stand.locks, *words})
    if not wanted:
        hint = f"compat plan {stand.setting.folder.name} --explain CELL shows the arithmetic of one"
        raise NothingToDo.of(f"no cell to run is left; {outside(infeasible)}", hint=hint)
    return CellsToRun(
        cells=tuple(CellToRun(cell=cell.id, reason="named") for cell in wanted),
        infeasible=infeasible,
    )


def _due(stand: Stand) -> CellsToRun:
    setting = stand.setting
    reasons = {
        entry.cell: entry.reason for entry in due(stand.candidates(), stand.runs(), stand.present)
    }
    catalogue, cells = _inside(stand, reasons)
    gone = [cell for cell in reasons if cell not in cells]
    wanted, infeasible = _sifted(stand, catalogue, cells.values(), stand.locks)
    remarks = []
    if gone:
        which = (
            f"{gone[0]} is" if len(gone) == 1 else f"{len(gone):,} cells, such as {gone[0]}, are"
        )
        remarks.append(f"left out: {which} not in matrix {setting.folder.name!r} any more")
    if not wanted:
        remarks.append("nothing else is due" if gone or infeasible else up_to_date(stand))
        remarks += _never_locked(stand)
    chosen = tuple(CellToRun(cell=cell.id, reason=reasons[cell.id]) for cell in wanted)
    return CellsToRun(cells=chosen, infeasible=infeasible, remarks=tuple(remarks))


def _first(stand: Stand) -> CellsToRun:
    """Of a matrix of which nothing is known: all that a plain install could give, if it is
    little.
    """
    setting = stand.setting
    name, matrix = setting.folder.name, setting.ask.matrix
    every = pipeline.product_of(setting.ask, setting.kept)
    fresh = tuple(cell for cell in every if cell.recipe == "fresh")
    feasible, infeasible = _sifted(stand, setting.kept, fresh, ())
    if not feasible:
        obstacle = f"{infeasible[0].cell.id}: {infeasible[0].obstacle.because}"
        message = f"none of {count(len(fresh), 'cell')} is feasible as published; {obstacle}"
        raise NothingToDo.of(message, hint=f"compat plan {name} counts the obstacles")
    if len(feasible) <= MOST_UNASKED:
        quick = _quick(stand).cells if matrix.quick else ()
        others = (cell.id for cell in feasible if cell.id not in matrix.quick)
        return CellsToRun(
            cells=(*quick, *(CellToRun(cell=cell, reason="never-run") for cell in others))
        )
    glob, matching = _newest_of(feasible, matrix)
    ways = [f"compat run {name} {glob!r} runs {count(matching, 'cell')}"]
    if matrix.quick:
        ways.insert(0, f"compat run {name} --quick runs {count(len(matrix.quick), 'telling cell')}")
    raise NothingToDo.of(
        f"{len(feasible):,} cells of {name} are feasible and none is locked", hint="; ".join(ways)
    )


def _never_locked(stand: Stand) -> list[str]:
    """What to type for the cells that a plain install could give and that nobody has locked."""
    setting = stand.setting
    known = {*stand.locks, *stand.rows}
    every = pipeline.product_of(setting.ask, setting.kept)
    fresh = [cell for cell in every if cell.recipe == "fresh" and cell.id not in known]
    feasible, _ = _sifted(stand, setting.kept, fresh, ())
    if not feasible:
        return []
    glob, _ = _newest_of(feasible, setting.ask.matrix)
    which = count(len(feasible), "more cell is", "more cells are")
    return [
        f"{which} feasible and never locked: compat run {setting.folder.name} {glob!r} runs the"
        " newest"
    ]


def _newest_of(cells: Sequence[Cell], matrix: Matrix) -> tuple[str, int]:
    """A glob for the cells with the newest release of the subject, and how many it names."""
    newest = max(
        (cell.on(matrix.subject) for cell in cells), key=lambda coordinate: coordinate.version
    )
    found = [cell for cell in cells if cell.on(matrix.subject) == newest]
    parts = (
        newest.text if axis.name == matrix.subject else f"{axis.short}*" for axis in matrix.axes
    )
    # A version ends with a digit and the name of a recipe does not: only fresh cells are named.
    ending = "" if matrix.axes[-1].name == matrix.subject else "[0-9]"
    return "-".join(parts) + ending, len(found)


def _cells(stand: Stand, words: Sequence[str]) -> tuple[Catalogue, tuple[Cell, ...]]:
    """The cells that words name, by the kept catalogue; where that lacks one, by the index."""
    ask = stand.setting.ask
    kept = pipeline.kept_catalogue(stand.setting.folder, stand.setting.ask.matrix)
    if kept is not None:
        try:
            return kept, pipeline.chosen(ask, kept, words)
        except UsageError:
            pass
    return stand.setting.catalogue, pipeline.chosen(ask, stand.setting.catalogue, words)


def _inside(stand: Stand, ids: Collection[str]) -> tuple[Catalogue, dict[str, Cell]]:
    """Those of the ids that are cells of the matrix, in order; by the catalogues as for words."""
    ask, kept = (
        stand.setting.ask,
        pipeline.kept_catalogue(stand.setting.folder, stand.setting.ask.matrix),
    )
    if kept is not None:
        inside = _among(pipeline.product_of(ask, kept), ids)
        if len(inside) == len(ids):
            return kept, inside
    return stand.setting.catalogue, _among(pipeline.product_of(ask, stand.setting.catalogue), ids)


def _among(cells: Iterable[Cell], ids: Iterable[str]) -> dict[str, Cell]:
    every = {cell.id: cell for cell in cells}
    return {cell: every[cell] for cell in ids if cell in every}


def _sifted(
    stand: Stand, catalogue: Catalogue, cells: Iterable[Cell], kept: Collection[str]
) -> tuple[tuple[Cell, ...], tuple[Infeasible, ...]]:
    """The cells that are kept whatever the plan says or that are feasible, and the others."""
    facts = Feasibility(stand.setting.ask.matrix, catalogue)
    wanted: list[Cell] = []
    infeasible: list[Infeasible] = []
    for cell in cells:
        fate = Feasible(cell=cell) if cell.id in kept else fate_of(facts, cell)
        if isinstance(fate, Infeasible):
            infeasible.append(fate)
        else:
            wanted.append(cell)
    return tuple(wanted), tuple(infeasible)
