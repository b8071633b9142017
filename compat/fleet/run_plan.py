"""What to run within a budget of time: the due cells that fit, in shards, and what comes later."""

import re
from collections.abc import Iterable

from packaging.version import Version

from compat.declare.suite_table import Tier
from compat.errors import NothingToDo, UsageError
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
_TIME = re.compile(r"(?:(?P<hours>\d{1,3})h)?(?:(?P<minutes>\d{1,4})m)?")


class PlanOptions(Value, frozen=True, kw_only=True):
    """Cells that come `first`, the `only` ones to come, and the `pythons` that the runners have;
    empty is all.
    """

    first: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
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

    Beside what is due stand the cells that can be locked and were never run, as many as there is
    time for: of these the suite's core alone is run, before the rest of the suite elsewhere.

    Raises NothingToDo for a matrix of which nothing is known, so that nothing is due.
    """
    matrix, snapshot = workspace.matrix, workspace.snapshot
    facts = workspace.facts_of(workspace.kept_or_asked)
    only, first = (
        [cell.id for cell in runnable_cells(facts, patterns)]
        for patterns in (options.only, options.first)
    )
    today = agenda(snapshot, [*only, *first])

    def is_at_hand(cell: Cell) -> bool:
        python = cell.on(matrix.interpreters.name).version
        return not options.pythons or str(python) in options.pythons

    entries = [entry for entry in today.cells if not only or entry.cell in only]
    # What is named and does not stand in the plan is a cell that the matrix could be extended by;
    # where the runners lack its Python, the proposal says more than a plan could.
    beyond = [entry for entry in today.unplanned if entry.cell in (*only, *first)]
    entries += [entry for entry in beyond if is_at_hand(parse_cell(entry.cell, matrix))]
    full = {entry.cell for entry in entries}
    waiting = open_work(snapshot).locked if matrix.suite.core and not only else ()
    core = _core_in_time(
        workspace, budget, [c for c in waiting if c.id not in full and is_at_hand(c)]
    )
    if not (entries or core or snapshot.known):
        message = f"matrix {workspace.name!r} has no locks and no records yet, so nothing is due"
        hint = f"compat run {workspace.name} makes a beginning, or says what to type"
        raise NothingToDo.of(message, hint=hint)
    late = [entry for entry in entries if entry.reason == "smoke-only"]
    entries = [*(entry for entry in entries if entry not in late), *core, *late]
    cells = {entry.cell: parse_cell(entry.cell, matrix) for entry in entries}
    unavailable = [name for name, cell in cells.items() if not is_at_hand(cell)]
    due = {entry.cell: entry for entry in entries if entry.cell not in unavailable}
    tiers: dict[str, Tier] = {name: "full" if name in full else "smoke" for name in due}
    assumed: dict[Tier, float] = {"full": ASSUMED_SECONDS, "smoke": ASSUMED_CORE_SECONDS}
    seconds = {n: workspace.durations[t].of(cells[n]) or assumed[t] for n, t in tiers.items()}
    tasks = {name: Task(cell=name, seconds=seconds[name]) for name in due}
    runs = [[task.cell for task in run] for run in rounds([*tasks.values()], budget)]
    run_of = {name: number for number, run in enumerate(runs, 1) for name in run}
    return RunPlan(
        due=due,
        tiers=tiers,
        python_unavailable=unavailable,
        infeasible=[fate for fate in today.infeasible if not only or fate.cell.id in only],
        unplanned=[e.cell for e in today.unplanned if not only and e.cell not in first],
        tasks=tasks,
        pythons={name: cells[name].on(matrix.interpreters.name).version for name in cells},
        packing=packed([tasks[name] for name in runs[0]], budget) if runs else Packing(),
        later={name: run_of.get(name) for name in due if run_of.get(name) != 1},
        is_guess=workspace.durations["full"].is_empty,
    )


def _core_in_time(workspace: Workspace, budget: Budget, cells: Iterable[Cell]) -> list[Due]:
    """As many of the cells as all shards have time for, each with the suite's core alone."""
    chosen, room = [], budget.room * budget.most
    for cell in cells:
        room -= workspace.durations["smoke"].of(cell) or ASSUMED_CORE_SECONDS
        if room < 0:
            break
        chosen.append(Due(cell=cell.id, reason="never-run"))
    return chosen
