"""The command that says what could work, and what to run now: plan."""

from typing import Annotated, Any

from packaging.version import Version
from rich.table import Table

from compat import pipeline
from compat.cli.arguments import Exit, Option, given
from compat.cli.budgets import Shown, print_run_plan
from compat.cli.machine import interpreter
from compat.cli.options import (
    MatrixName,
    OtherPlatform,
    workspace_of,
)
from compat.cli.output import console, envelope, note, report, say
from compat.errors import UsageError
from compat.fleet.run_plan import PlanOptions, budget_of
from compat.plan.budget import MOST_SHARDS
from compat.plan.cell import RECIPES
from compat.plan.explain import explain
from compat.plan.lanes import facts_for
from compat.plan.named import runnable_cells
from compat.plan.obstacle import Obstacle
from compat.plan.plan import Fate, Infeasible, Plan, counts, unneeded_faults
from compat.plan.product import axis_coordinates
from compat.results.clause_file import kept_audit
from compat.results.coverage import CellCount, cell_count, coverage
from compat.workspace import Workspace

Explained = Annotated[str, Option("--explain", metavar="CELL", help="The arithmetic of one cell.")]
Here = Annotated[
    bool, Option("--here", help="Also count the interpreters that this machine lacks.")
]
BudgetText = Annotated[
    str, Option("--budget", metavar="90m", help="What to run now, in so much time.")
]
Shards = Annotated[int, Option("--shards", min=1, max=MOST_SHARDS, help="Number of shards.")]
First = Annotated[
    str, Option("--first", metavar="CELLS", help="Cells that come before all others.")
]
Only = Annotated[str, Option("--only", metavar="CELLS", help="Cells, and no others.")]
Smoke = Annotated[
    str,
    Option(
        "--smoke",
        metavar="CELLS",
        help="Cells of which the suite's core alone is run; open: those that wait for a first run.",
    ),
]
Pythons = Annotated[
    str, Option("--pythons", metavar="SERIES", help="Python series that the runners have.")
]
Print = Annotated[
    Shown, Option("--print", help="What --budget prints: shell is one command a shard.")
]


def plan_command(
    matrix: MatrixName,
    explained: Explained = "",
    here: Here = False,
    budget: BudgetText = "",
    shards: Shards = 1,
    first: First = "",
    only: Only = "",
    smoke: Smoke = "",
    pythons: Pythons = "",
    shown: Print = "table",
    platform: OtherPlatform = "",
) -> None:
    """List which cells are installable, and why the others are not.

    With --budget, say what to run now.

    A budget is the time of each shard; the most informative cells come first. It asks no index,
    but the kept catalogue. With --platform, say what plain installs come to where nothing runs,
    and with --print github which runners could try those that have a lock.

    Ends with 0, also when nothing is due; 1 when the matrix has no cells, or no due one fits the
    budget.

    Examples: compat plan tff; compat plan tff --explain py3.8-tf2.10-tff0.36.0; compat plan tff
    --json; compat plan tff --budget 90m --shards 20; compat plan tff --budget 8h --shards 50
    --print shell; compat plan tff --platform all
    """
    workspace = workspace_of(matrix)
    if platform:
        if budget or explained or here or first or only or smoke or pythons or shards > 1:
            raise UsageError.of("--platform takes no other option but --print github and --json")
        _plan_elsewhere(workspace, platform, shown)
        return
    if budget:
        options = _options(first, only, smoke, pythons)
        run_plan = pipeline.chosen_within(workspace, budget_of(budget, shards), options)
        raise Exit(print_run_plan(workspace, run_plan, "json" if given.as_json else shown))
    if first or only or smoke or pythons or shards > 1 or shown != "table":
        message = "--shards, --first, --only, --smoke, --pythons and --print need --budget"
        raise UsageError.of(message, hint="such as --budget 90m")
    if explained:
        _explain(workspace, explained)
        return
    plan = pipeline.planned(workspace, _series_here(workspace) if here else None)
    faults = unneeded_faults(plan, workspace.matrix, f"matrices/{workspace.name}/matrix.toml")
    if given.as_json:
        envelope({"matrix": matrix, "cells": [_row(fate) for fate in plan.fates]}, faults)
    else:
        _summary(workspace, plan)
    report(faults)
    raise Exit(2 if faults else 0)


def _options(first: str, only: str, smoke: str, pythons: str) -> PlanOptions:
    """What is asked of a plan within a budget; each text has words with blanks between."""
    return PlanOptions(
        first=tuple(first.split()),
        only=tuple(only.split()),
        smoke=tuple(smoke.split()),
        pythons=tuple(pythons.split()),
    )


def _plan_elsewhere(workspace: Workspace, platform: str, shown: Shown) -> None:
    from compat.cli.platforms import plan_platforms, platforms_named

    if shown not in ("table", "github"):
        raise UsageError.of(f"--print {shown} needs --budget", hint="such as --budget 90m")
    if shown == "github" and not workspace.matrix.platforms:
        note(f"matrix {workspace.name!r} declares no other platform, so no runner is asked")
        print('{"include":[]}')
        return
    plan_platforms(
        workspace, platforms_named(workspace, platform), given.as_json, shown == "github"
    )


def _series_here(workspace: Workspace) -> frozenset[Version]:
    platform = workspace.matrix.platform
    series = axis_coordinates(workspace.matrix.interpreters, workspace.catalogue)
    return frozenset(
        coordinate.version
        for coordinate in series
        if interpreter(coordinate.version, platform) is not None
    )


def _explain(workspace: Workspace, cell_id: str) -> None:
    # Without a word about which catalogue it is: the answer is one cell's, not the matrix's.
    catalogue = workspace.kept_catalogue
    facts = workspace.facts_of(workspace.catalogue if catalogue is None else catalogue)
    (cell,) = runnable_cells(facts, [cell_id])
    lines = (*explain(facts_for(facts, cell), cell), *_known_without_run(workspace, cell.id))
    if given.as_json:
        envelope({"matrix": workspace.matrix.name, "id": cell.id, "explanation": lines})
        return
    say(cell.id)
    for line in lines:
        say(f"  {line}")


def _known_without_run(workspace: Workspace, cell: str) -> tuple[str, ...]:
    """What a resolver or what is known of other cells says of a cell that was not run."""
    verdict = workspace.verdict(cell)
    if verdict.evidence not in ("asked", "inferred") and not verdict.blocked_by:
        return ()
    return tuple(f"known without a run ({verdict.evidence}): {why}" for why in verdict.reasons)


def _row(fate: Fate) -> dict[str, Any]:
    return {
        "id": fate.cell.id,
        "coordinates": {
            coordinate.axis: str(coordinate.version) for coordinate in fate.cell.coordinates
        },
        "recipe": fate.cell.recipe,
        "fate": "infeasible" if isinstance(fate, Infeasible) else "feasible",
        "obstacle": fate.obstacle if isinstance(fate, Infeasible) else None,
    }


def _summary(workspace: Workspace, plan: Plan) -> None:
    tally = counts(plan.fates)
    kinds = sorted({kind for counter in tally.values() for kind in counter} - {"feasible"})
    recipes = [recipe for recipe in RECIPES if tally[recipe]]
    table = Table("fate", *recipes, "for example")
    for kind in ["feasible", *kinds]:
        numbers = [f"{tally[recipe][kind]:,}" for recipe in recipes]
        table.add_row(kind, *numbers, _example(plan, kind))
    table.add_row("cells", *(f"{tally[recipe].total():,}" for recipe in recipes), "")
    feasible = sum(tally[recipe]["feasible"] for recipe in recipes)
    cells = CellCount(untried=feasible, ruled_out=len(plan.fates) - feasible)
    if workspace.kept_catalogue is not None:
        cells = cell_count(workspace.snapshot)
    say(f"{workspace.matrix.title}: {cells.words}")
    console().print(table)
    _say_evidence(workspace)
    name = workspace.name
    note(
        f"Next: compat plan {name} --explain CELL for the arithmetic of one; compat matrix lock"
        f" {name}"
        " CELL for exact pins."
    )


def _say_evidence(workspace: Workspace) -> None:
    """Print how many cells and combinations are answered in all."""
    if workspace.kept_catalogue is None:
        return
    known = coverage(workspace.snapshot)
    say(f"Answered: {known.words}")
    if known.waiting:
        say(f"Can be locked, and wait for a run: {known.waiting}")
    audit = kept_audit(workspace.folder)
    if audit is not None:
        say(f"Audit of what is inferred: {audit.sentence}")


def _example(plan: Plan, kind: str) -> str:
    for fate in reversed(plan.fates):
        obstacle: Obstacle | None = fate.obstacle if isinstance(fate, Infeasible) else None
        if (obstacle.kind if obstacle else "feasible") == kind:
            return obstacle.because if obstacle else fate.cell.id
    return ""
