"""Which cells `compat run` is about: those that were named, the quick ones, or the due ones."""

from collections.abc import Callable, Collection, Iterable, Sequence

from packaging.version import Version

from compat.declare.matrix import Matrix
from compat.declare.suite_table import Tier
from compat.errors import NothingToDo, UsageError
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.plan.plan import (
    Feasible,
    Infeasible,
    cells_of,
    facts_for,
    fate_of,
    lockable_cells,
    runnable_cells,
)
from compat.plan.platform import python_name
from compat.results.due import Due, agenda
from compat.site.wording import count
from compat.value import Value
from compat.workspace import Workspace

# A first run of at most so many cells begins unasked. At five seconds a cell, which is usual for a
# small library, that is about four minutes; thousands of cells would be days. Chosen on 2026-11-22.
MOST_UNASKED = 50


class CellToRun(Value, frozen=True, kw_only=True):
    """A cell that is to be run, and why. `obstacle` says why the plan rules it out, where its id
    was named all the same.
    """

    cell: str
    reason: str
    obstacle: str = ""


class CellsToRun(Value, frozen=True, kw_only=True):
    """The cells to run, the infeasible ones that were meant, too, and what else is to be said.
    `is_fresh` says that there are none because all that is due has a fresh result.
    """

    cells: tuple[CellToRun, ...]
    infeasible: tuple[Infeasible, ...] = ()
    remarks: tuple[str, ...] = ()
    is_fresh: bool = False


def choose(
    workspace: Workspace,
    words: Sequence[str],
    quick: bool,
    tier: Tier = "full",
    has_python: Callable[[Version], bool] = lambda series: True,
) -> CellsToRun:
    """Return what a run is about: the quick cells, or those that words name, or the due ones.

    Of a matrix of which nothing is known, only cells of a Python that `has_python` are chosen.

    Raises UsageError for what is not in the matrix, and for a tier of a suite without a core;
    NothingToDo where no cell could be run.
    """
    if tier == "smoke":
        refuse_without_core(workspace.matrix)
    if quick:
        return _quick(workspace)
    if words:
        return _named(workspace, words)
    if workspace.lock_digests or workspace.runs:
        return _due(workspace, tier)
    return _first(workspace, has_python)


def refuse_without_core(matrix: Matrix) -> None:
    """Raise UsageError for a matrix whose suite has no core, so that it has no tier `smoke`."""
    if not matrix.suite.core:
        raise UsageError.of(
            f"the suite of {matrix.name!r} has no core, so there is nothing less to run",
            path=f"matrices/{matrix.name}/matrix.toml: suite.core",
            hint="core = ['ID', ...] names the quick capabilities that every release has",
        )


def up_to_date(workspace: Workspace) -> str:
    locked = len(workspace.lock_digests)
    others = count(len(workspace.known_ids()) - locked, "cell")
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


def _quick(workspace: Workspace) -> CellsToRun:
    name, quick = workspace.name, workspace.matrix.quick
    if not quick:
        hint = (
            f"compat run {name} 'GLOB' runs cells by their ids; `quick = [...]` in its matrix.toml"
            " would name some"
        )
        raise NothingToDo.of(f"matrix {name!r} names no quick cells", hint=hint)
    _, cells = _cells(workspace, quick)
    return CellsToRun(cells=tuple(CellToRun(cell=cell.id, reason="quick") for cell in cells))


def _named(workspace: Workspace, words: Sequence[str]) -> CellsToRun:
    """What an id names is tried in any case; of what a glob names, the cells that could work."""
    facts, cells = _cells(workspace, words)
    wanted, infeasible = _sifted(facts, cells, {*workspace.lock_digests, *words})
    if not wanted:
        hint = f"compat plan {workspace.name} --explain CELL shows the arithmetic of one"
        raise NothingToDo.of(f"no cell to run is left; {outside(infeasible)}", hint=hint)
    return CellsToRun(
        cells=tuple(
            CellToRun(cell=cell.id, reason="named", obstacle=_obstacle(workspace, facts, cell))
            for cell in wanted
        ),
        infeasible=infeasible,
    )


def _obstacle(workspace: Workspace, facts: Feasibility, cell: Cell) -> str:
    """Why a cell without a lock cannot be run; empty where it can."""
    fate = None if cell.id in workspace.lock_digests else fate_of(facts_for(facts, cell), cell)
    return fate.obstacle.because if isinstance(fate, Infeasible) else ""


def not_planned(cells: Sequence[str], matrix: str) -> str:
    """Return the sentence about due cells that the plan of the matrix does not have any more."""
    which = (
        f"{cells[0]} is" if len(cells) == 1 else f"{len(cells):,} cells, such as {cells[0]}, are"
    )
    return f"left out: {which} not in matrix {matrix!r} any more"


def _due(workspace: Workspace, tier: Tier) -> CellsToRun:
    today = agenda(workspace.snapshot)
    # A run of the core is not due where one of the core is all that there is.
    entries = [due for due in today.cells if tier == "full" or due.reason != "smoke-only"]
    infeasible = list(today.infeasible)
    # Locks of cells whose ids the axes of the matrix cannot read any more.
    gone = [cell for cell in workspace.lock_digests if cell not in workspace.snapshot.by_id]
    if today.unplanned:
        late, ruled_out, lost = _newer_than_kept(workspace, today.unplanned)
        entries += late
        infeasible += ruled_out
        gone += lost
    remarks = [not_planned(gone, workspace.name)] if gone else []
    if not entries:
        remarks.append("nothing else is due" if gone or infeasible else up_to_date(workspace))
        remarks += _never_locked(workspace)
    cells = tuple(CellToRun(cell=entry.cell, reason=entry.reason) for entry in entries)
    return CellsToRun(
        cells=cells,
        infeasible=tuple(infeasible),
        remarks=tuple(remarks),
        is_fresh=not (cells or infeasible or gone),
    )


def _newer_than_kept(
    workspace: Workspace, unplanned: Sequence[Due]
) -> tuple[list[Due], list[Infeasible], list[str]]:
    """Due cells that the kept catalogue lacks: by the index they can run, are infeasible, or are
    gone.
    """
    if workspace.kept_catalogue is None:
        return [], [], [entry.cell for entry in unplanned]
    facts = workspace.feasibility
    by_id = {cell.id: cell for cell in lockable_cells(facts)}
    planned = [by_id[entry.cell] for entry in unplanned if entry.cell in by_id]
    wanted, infeasible = _sifted(facts, planned, workspace.lock_digests.keys())
    ids = {cell.id for cell in wanted}
    late = [entry for entry in unplanned if entry.cell in ids]
    return late, list(infeasible), [e.cell for e in unplanned if e.cell not in by_id]


def _first(workspace: Workspace, has_python: Callable[[Version], bool]) -> CellsToRun:
    """Of a matrix of which nothing is known: all that a plain install could give, if it is little;
    else its quick cells.
    """
    name, matrix = workspace.name, workspace.matrix
    facts = workspace.facts_of(workspace.kept_or_asked)
    fresh = tuple(cell for cell in cells_of(facts) if cell.recipe == "fresh")
    feasible, infeasible = _sifted(facts, fresh, ())
    if not feasible:
        obstacle = f"{infeasible[0].cell.id}: {infeasible[0].obstacle.because}"
        message = f"none of {count(len(fresh), 'cell')} is feasible as published; {obstacle}"
        raise NothingToDo.of(message, hint=f"compat plan {name} counts the obstacles")
    quick = _quick(workspace).cells if matrix.quick else ()
    if len(feasible) <= MOST_UNASKED:
        at_hand, missing = _with_python(feasible, matrix, has_python)
        others = (cell.id for cell in at_hand if cell.id not in matrix.quick)
        cells = (*quick, *(CellToRun(cell=cell, reason="never-run") for cell in others))
        if not cells:
            raise NothingToDo.of(missing[0], hint=f"compat plan {name} --here counts the obstacles")
        return CellsToRun(cells=cells, remarks=missing)
    glob, matching = _newest_of(feasible, matrix)
    message = f"{len(feasible):,} cells of {name} are feasible and none is locked"
    way = f"compat run {name} {glob!r} runs {count(matching, 'cell')}"
    if not quick:
        raise NothingToDo.of(message, hint=way)
    return CellsToRun(cells=quick, remarks=(f"{message}: the smoke cells run first; {way}",))


def _with_python(
    cells: Sequence[Cell], matrix: Matrix, has_python: Callable[[Version], bool]
) -> tuple[list[Cell], tuple[str, ...]]:
    series = {cell: cell.on(matrix.interpreters.name).version for cell in cells}
    missing = sorted(version for version in set(series.values()) if not has_python(version))
    at_hand = [cell for cell in cells if series[cell] not in missing]
    if not missing:
        return at_hand, ()
    names = " ".join(python_name(version, matrix.platform) for version in missing)
    which = count(len(cells) - len(at_hand), "cell needs", "cells need")
    because = f"this machine does not have; `uv python install {names}` gets it"
    return at_hand, (f"left out: {which} Python {names.replace(' ', ' or ')}, which {because}",)


def _never_locked(workspace: Workspace) -> list[str]:
    feasible = [
        entry.cell
        for entry in workspace.snapshot.entries
        if entry.planned and entry.obstacle is None and entry.cell.recipe == "fresh"
        if not entry.runs and entry.lock_digest is None
    ]
    if not feasible:
        return []
    glob, _ = _newest_of(feasible, workspace.matrix)
    which = count(len(feasible), "more cell is", "more cells are")
    return [
        f"{which} feasible and never locked: compat run {workspace.name} {glob!r} runs the newest"
    ]


def _newest_of(cells: Sequence[Cell], matrix: Matrix) -> tuple[str, int]:
    newest = max(
        (cell.on(matrix.subject) for cell in cells), key=lambda coordinate: coordinate.version
    )
    matching = [cell for cell in cells if cell.on(matrix.subject) == newest]
    parts = (
        newest.text if axis.name == matrix.subject else f"{axis.short}*" for axis in matrix.axes
    )
    # A version ends with a digit and the name of a recipe does not: only fresh cells are named.
    ending = "" if matrix.axes[-1].name == matrix.subject else "[0-9]"
    return "-".join(parts) + ending, len(matching)


def _cells(workspace: Workspace, patterns: Sequence[str]) -> tuple[Feasibility, tuple[Cell, ...]]:
    """The cells that patterns name, by the kept catalogue; where that lacks one, by the index."""
    catalogue = workspace.kept_catalogue
    if catalogue is not None:
        try:
            facts = workspace.facts_of(catalogue)
            return facts, runnable_cells(facts, patterns)
        except UsageError:
            pass
    return workspace.feasibility, runnable_cells(workspace.feasibility, patterns)


def _sifted(
    facts: Feasibility, cells: Iterable[Cell], always: Collection[str]
) -> tuple[tuple[Cell, ...], tuple[Infeasible, ...]]:
    wanted: list[Cell] = []
    infeasible: list[Infeasible] = []
    for cell in cells:
        fate = Feasible(cell=cell) if cell.id in always else fate_of(facts_for(facts, cell), cell)
        if isinstance(fate, Infeasible):
            infeasible.append(fate)
        else:
            wanted.append(cell)
    return tuple(wanted), tuple(infeasible)
