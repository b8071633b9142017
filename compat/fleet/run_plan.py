"""What to run within a budget of time: the due cells that fit, in shards, and what comes later."""

import re
from collections.abc import Iterable, Mapping, Sequence

from packaging.version import Version

from compat.declare.matrix import Matrix
from compat.declare.suite_table import Tier
from compat.errors import NothingToDo, UsageError
from compat.fleet.choices import refuse_without_core
from compat.fleet.explore import open_work
from compat.plan.budget import Budget, Packing, Task, packed, rounds
from compat.plan.cell import Cell, parse_cell
from compat.plan.plan import Infeasible, runnable_cells
from compat.results.due import Due, agenda
from compat.value import Value
from compat.workspace import Workspace

# Checking out, installing compat and interpreters, the canary, handing the records on: about three
# minutes on a hosted runner, before the first cell and after the last.
OVERHEAD_SECONDS = 180.0
# What a cell is planned with where none of the matrix ran yet: packing needs a number, and one that
# is too large only leaves time over. The first runs of matrices/ took 5 to 150 seconds a cell
# (November 2026).
ASSUMED_SECONDS = 120.0
# The same for the suite's core alone: an installation, an import and a few capabilities took 5 to
# 30 seconds (November 2026).
ASSUMED_CORE_SECONDS = 30.0
# In the place of cells of which the core alone is to run: those that wait for a first run.
OPEN = "open"
_TIME = re.compile(r"(?:(?P<hours>\d{1,3})h)?(?:(?P<minutes>\d{1,4})m)?")


class PlanOptions(Value, frozen=True, kw_only=True):
    """Cells that come `first`, the `only` ones to come, and the `pythons` that the runners have;
    empty is all.

    Of those in `smoke` the suite's core alone is run. `open` there stands for the cells that can be
    locked and were never run, as many as there is time for: they come before cells of which the
    core was run already.
    """

    first: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    smoke: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()


class RunPlan(Value, frozen=True, kw_only=True):
    """What is due, what of it runs now, and in which run each of the others would come: None is
    never.

    `tiers` says how much of the suite each runs. `python_unavailable` are due cells whose Python no
    runner has, `infeasible` those that the plan rules out, `unplanned` those that it does not have
    any more. `is_guess` says that no cell of the matrix ran yet, so that the times are assumed.
    """

    due: dict[str, Due]
    tiers: dict[str, Tier]
    python_unavailable: list[str]
    infeasible: list[Infeasible]
    unplanned: list[str]
    tasks: dict[str, Task]
    pythons: dict[str, Version]
    packing: Packing
    later: dict[str, int | None]
    is_guess: bool

    @property
    def cells_now(self) -> list[str]:
        return [cell for cell in self.due if cell not in self.later]

    def cells_of(self, tier: Tier, cells: Iterable[str] | None = None) -> list[str]:
        return [
            cell
            for cell in (self.cells_now if cells is None else cells)
            if self.tiers[cell] == tier
        ]


def budget_of(text: str, shards: int) -> Budget:
    """Return the budget of a text such as `90m` or `1h30m`, the time that each shard has."""
    seconds = seconds_of(text)
    if seconds <= OVERHEAD_SECONDS:
        least = f"more than {OVERHEAD_SECONDS / 60:.0f}m, which a shard needs besides its cells"
        raise UsageError.of(f"--budget {text!r} is not a time such as 90m or 1h30m, {least}")
    return Budget(seconds=float(seconds), shards=shards, overhead=OVERHEAD_SECONDS)


def seconds_of(text: str) -> int:
    """Return the seconds of a text such as `90m` or `1h30m`; 0 for any other."""
    match = _TIME.fullmatch(text.strip())
    return 0 if match is None else 3600 * int(match["hours"] or 0) + 60 * int(match["minutes"] or 0)


def run_plan(workspace: Workspace, budget: Budget, options: PlanOptions) -> RunPlan:
    """Return what to run within the budget; it asks no index where there is a kept catalogue.

    Raises NothingToDo for a matrix of which nothing is known, so that nothing is due.
    """
    matrix, snapshot = workspace.matrix, workspace.snapshot
    facts = workspace.facts_of(workspace.kept_or_asked)
    only, first = (
        [cell.id for cell in runnable_cells(facts, patterns)]
        for patterns in (options.only, options.first)
    )
    today = agenda(snapshot, [*only, *first])
    smoke = _of_core(workspace, budget, options)
    is_named = bool(only or (smoke and options.smoke != (OPEN,)))
    entries = [entry for entry in today.cells if not is_named or entry.cell in only]
    # What is named and does not stand in the plan is a cell that the matrix could be extended by;
    # where the runners lack its Python, the proposal says more than a plan could.
    beyond = [entry for entry in today.unplanned if entry.cell in (*only, *first)]
    entries += [entry for entry in beyond if _is_at_hand(entry.cell, matrix, options.pythons)]
    if not (entries or smoke or snapshot.known):
        raise _unknown(workspace)
    tiers: dict[str, Tier] = dict.fromkeys(smoke, "smoke")
    tiers |= {entry.cell: "full" for entry in entries}
    entries = _with_core(entries, [due for cell, due in smoke.items() if tiers[cell] == "smoke"])
    cells = {entry.cell: parse_cell(entry.cell, matrix) for entry in entries}
    pythons = {cell: cells[cell].on(matrix.interpreters.name).version for cell in cells}
    unavailable = [
        cell for cell in cells if options.pythons and str(pythons[cell]) not in options.pythons
    ]
    due = {entry.cell: entry for entry in entries if entry.cell not in unavailable}
    tasks = _tasks(workspace, [cells[cell] for cell in due], tiers)
    runs = [
        [task.cell for task in tasks_of_run] for tasks_of_run in rounds([*tasks.values()], budget)
    ]
    run_of = {cell: number for number, run in enumerate(runs, 1) for cell in run}
    return RunPlan(
        due=due,
        tiers={cell: tiers[cell] for cell in due},
        python_unavailable=unavailable,
        infeasible=[fate for fate in today.infeasible if not is_named or fate.cell.id in only],
        unplanned=[
            entry.cell for entry in today.unplanned if not is_named and entry.cell not in first
        ],
        tasks=tasks,
        pythons=pythons,
        packing=packed([tasks[cell] for cell in runs[0]], budget) if runs else Packing(),
        later={cell: run_of.get(cell) for cell in due if run_of.get(cell) != 1},
        is_guess=workspace.durations["full"].is_empty,
    )


def _is_at_hand(cell: str, matrix: Matrix, pythons: Sequence[str]) -> bool:
    python = parse_cell(cell, matrix).on(matrix.interpreters.name).version
    return not pythons or str(python) in pythons


def _tasks(
    workspace: Workspace, cells: Sequence[Cell], tiers: Mapping[str, Tier]
) -> dict[str, Task]:
    assumed: dict[Tier, float] = {"full": ASSUMED_SECONDS, "smoke": ASSUMED_CORE_SECONDS}
    return {
        cell.id: Task(
            cell=cell.id,
            seconds=workspace.durations[tiers[cell.id]].of(cell) or assumed[tiers[cell.id]],
        )
        for cell in cells
    }


def _of_core(workspace: Workspace, budget: Budget, options: PlanOptions) -> dict[str, Due]:
    """The cells of which the core alone is to run: the named ones, or those that wait for a first
    run, as many as all shards have time for.
    """
    matrix = workspace.matrix
    if options.smoke and options.smoke != (OPEN,):
        refuse_without_core(matrix)
        facts = workspace.facts_of(workspace.kept_or_asked)
        named = runnable_cells(facts, options.smoke)
        return {cell.id: Due(cell=cell.id, reason="never-run") for cell in named}
    if not options.smoke or not matrix.suite.core:
        return {}
    room = budget.room * budget.most
    waiting: dict[str, Due] = {}
    for cell in open_work(workspace.snapshot).locked:
        python = cell.on(matrix.interpreters.name).version
        if options.pythons and str(python) not in options.pythons:
            continue
        room -= workspace.durations["smoke"].of(cell) or ASSUMED_CORE_SECONDS
        if room < 0:
            break
        waiting[cell.id] = Due(cell=cell.id, reason="never-run")
    return waiting


def _with_core(entries: Sequence[Due], core: Sequence[Due]) -> list[Due]:
    """What is due with those cells among it, before what only waits for the rest of the suite."""
    first = [entry for entry in entries if entry.reason != "smoke-only"]
    return [*first, *core, *(entry for entry in entries if entry.reason == "smoke-only")]


def _unknown(workspace: Workspace) -> NothingToDo:
    name = workspace.name
    message = f"matrix {name!r} has no locks and no records yet, so nothing is due"
    return NothingToDo.of(
        message, hint=f"compat run {name} makes a beginning, or says what to type"
    )
