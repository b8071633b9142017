"""Commands about what exists and what could work: discover, plan."""

from typing import Annotated, Any

import typer
from rich.table import Table

from compat import files, pipeline
from compat.cli.budgets import PlanOptions, Shown, budget_of, print_run_plan, run_plan
from compat.cli.output import console, envelope, note, report, say
from compat.cli.setting import (
    ExtraIndexUrl,
    IndexUrl,
    Json,
    MatrixName,
    Refresh,
    Root,
    Setting,
    interpreter,
)
from compat.cli.stand import Stand
from compat.errors import UsageError
from compat.index.kept import encode_catalogue
from compat.plan.budget import MOST_SHARDS
from compat.plan.cell import RECIPES
from compat.plan.explain import explain
from compat.plan.obstacle import Obstacle
from compat.plan.plan import Fate, Infeasible, Plan, counts, unneeded_faults
from compat.plan.product import axis_coordinates


def discover_command(
    matrix: MatrixName,
    write: Annotated[
        bool, typer.Option("--write", help="Keep the catalogue beside the matrix.")
    ] = False,
    as_json: Json = False,
    root: Root = None,
    index_url: IndexUrl = None,
    extra_index_url: ExtraIndexUrl = None,
    refresh: Refresh = False,
) -> None:
    """Show the coordinates that the index gives each axis, and what is new since the kept
    catalogue.

    Examples: compat discover tff; compat discover tff --json; compat discover tff --write
    """
    here = Setting(matrix, root, index_url, extra_index_url, refresh)
    axes = {
        axis.name: [str(at.version) for at in axis_coordinates(axis, here.anew)]
        for axis in here.ask.matrix.axes
    }
    if as_json:
        envelope({"matrix": matrix, "axes": axes})
        if write:
            files.write(
                pipeline.catalogue_path(here.folder), encode_catalogue(here.anew, here.ask.matrix)
            )
        return
    for name, versions in axes.items():
        say(
            f"{name}: {len(versions)} coordinates, {versions[0]} to {versions[-1]}"
            if versions
            else f"{name}: none"
        )
        print(f"  {' '.join(versions)}")
    _against_kept(here, write)
    if here.index.left_out:
        count = len(here.index.left_out)
        note(f"compat: left out of pip's configuration: {count} indexes or folders of this machine")


def _against_kept(here: Setting, write: bool) -> None:
    """Tell how the index differs from the kept catalogue; write it when told."""
    path = pipeline.catalogue_path(here.folder)
    before = (files.read_if_there(path) or b"").decode(errors="replace")
    after = encode_catalogue(here.anew, here.ask.matrix)
    shown = f"matrices/{here.folder.name}/{path.name}"
    if before == after:
        note(f"compat: {shown} is current")
    elif write:
        print(
            files.unified_diff(shown, before, after) if before else f"{shown}: new",
            end="" if before else "\n",
        )
        files.write(path, after)
    else:
        lines = files.unified_diff(shown, before, after).splitlines()
        added = sum(line.startswith("+") for line in lines[2:])
        gone = sum(line.startswith("-") for line in lines[2:])
        note(
            f"compat: {shown} would change: {added} lines new, {gone} gone; --write keeps what the"
            " index has now"
        )


def plan_command(
    matrix: MatrixName,
    explained: Annotated[
        str, typer.Option("--explain", metavar="CELL", help="The arithmetic of one cell.")
    ] = "",
    here: Annotated[
        bool, typer.Option("--here", help="Also count the interpreters that this machine lacks.")
    ] = False,
    budget: Annotated[
        str, typer.Option("--budget", metavar="90m", help="What to run now, in so much time.")
    ] = "",
    shards: Annotated[
        int, typer.Option("--shards", min=1, max=MOST_SHARDS, help="So many machines at once.")
    ] = 1,
    first: Annotated[
        str, typer.Option("--first", metavar="CELLS", help="Cells that come before all others.")
    ] = "",
    only: Annotated[
        str, typer.Option("--only", metavar="CELLS", help="Cells, and no others.")
    ] = "",
    pythons: Annotated[
        str, typer.Option("--pythons", metavar="SERIES", help="Those that the machines can get.")
    ] = "",
    shown: Annotated[Shown, typer.Option("--print", help="What --budget prints.")] = "table",
    as_json: Json = False,
    root: Root = None,
    index_url: IndexUrl = None,
    extra_index_url: ExtraIndexUrl = None,
    refresh: Refresh = False,
) -> None:
    """Give every cell of a matrix its fate: feasible, or its first obstacle.

    With --budget, say what to run now.

    A budget is the time of each shard; the most telling cells come first. It asks no index, but the
    kept catalogue.

    Ends with 0, also when nothing is due; 1 when the matrix has no cells, or no due one fits the
    budget.

    Examples: compat plan tff; compat plan tff --explain py3.8-tf2.10-tff0.36.0; compat plan tff
    --json; compat plan tff --budget 90m --shards 20
    """
    setting = Setting(matrix, root, index_url, extra_index_url, refresh)
    if budget:
        wish = PlanOptions(
            first=tuple(first.split()), only=tuple(only.split()), pythons=tuple(pythons.split())
        )
        stand = Stand(setting)
        found = run_plan(stand, budget_of(budget, shards), wish)
        raise typer.Exit(print_run_plan(stand, found, "json" if as_json else shown))
    if first or only or pythons or shards > 1 or shown != "table":
        raise UsageError.of(
            "--shards, --first, --only, --pythons and --print need --budget",
            hint="such as --budget 90m",
        )
    if explained:
        _explain(setting, explained, as_json)
        return
    series = [
        at.version for at in axis_coordinates(setting.ask.matrix.interpreters, setting.catalogue)
    ]
    have = (
        frozenset(version for version in series if interpreter(version) is not None)
        if here
        else None
    )
    pipeline.refuse_empty(setting.ask, setting.catalogue)
    made = pipeline.planned(setting.ask, setting.catalogue, have)
    faults = unneeded_faults(
        made, setting.ask.matrix, f"matrices/{setting.folder.name}/matrix.toml"
    )
    if as_json:
        envelope({"matrix": matrix, "cells": [_row(fate) for fate in made.fates]}, faults)
    else:
        _summary(setting, made)
    report(faults)
    raise typer.Exit(2 if faults else 0)


def _explain(setting: Setting, cell_id: str, as_json: bool) -> None:
    (cell,) = pipeline.chosen(setting.ask, setting.catalogue, [cell_id])
    lines = explain(setting.facts, cell)
    if as_json:
        envelope({"matrix": setting.ask.matrix.name, "id": cell.id, "explanation": lines})
        return
    say(cell.id)
    for line in lines:
        say(f"  {line}")


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


def _summary(setting: Setting, made: Plan) -> None:
    tally = counts(made.fates)
    kinds = sorted({kind for counter in tally.values() for kind in counter} - {"feasible"})
    recipes = [recipe for recipe in RECIPES if tally[recipe]]
    table = Table("fate", *recipes, "for example")
    for kind in ["feasible", *kinds]:
        numbers = [f"{tally[recipe][kind]:,}" for recipe in recipes]
        table.add_row(kind, *numbers, _example(made, kind))
    table.add_row("cells", *(f"{tally[recipe].total():,}" for recipe in recipes), "")
    say(f"{setting.ask.matrix.title}: {len(made.fates):,} cells, each with one fate")
    console().print(table)
    name = setting.folder.name
    note(
        f"Next: compat plan {name} --explain CELL for the arithmetic of one; compat lock {name}"
        " CELL for exact pins."
    )


def _example(made: Plan, kind: str) -> str:
    """The newest cell of that fate, and its obstacle in words."""
    for fate in reversed(made.fates):
        obstacle: Obstacle | None = fate.obstacle if isinstance(fate, Infeasible) else None
        if (obstacle.kind if obstacle else "feasible") == kind:
            return obstacle.because if obstacle else fate.cell.id
    return ""
