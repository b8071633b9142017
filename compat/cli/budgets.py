"""What `compat plan --budget` prints: the due cells that fit, in shards, and when the others would
come.
"""

import math
import shlex
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from rich.table import Table

from compat.cli.machine import now
from compat.cli.output import about, console, envelope, note, say
from compat.declare.suite_table import Tier
from compat.fleet.choices import not_planned, outside, up_to_date
from compat.fleet.run_plan import ASSUMED_SECONDS, OVERHEAD_SECONDS, RunPlan
from compat.plan.budget import Shard
from compat.site.wording import count
from compat.workspace import Workspace

Shown = Literal["table", "json", "github", "cells", "smoke", "shell"]


def print_run_plan(workspace: Workspace, run_plan: RunPlan, shown: Shown) -> int:
    """Print the shards: as a table, as JSON, as one line for a GitHub job's matrix, as one command
    of a shell each, or only the ids: of cells that run the whole suite, or of those that run its
    core alone.

    Return the exit code: 1 when cells are due and the budget is too small for each of them.
    """
    matrix = workspace.name
    match shown:
        case "table":
            _print_table(run_plan)
        case "json":
            _print_json(matrix, run_plan)
        case "github":
            print(_github(run_plan))
        case "cells":
            print(" ".join(run_plan.cells_of("full")))
        case "smoke":
            print(" ".join(run_plan.cells_of("smoke")))
        case "shell":
            for shard in run_plan.packing.shards:
                print("; ".join(map(shlex.join, _commands(matrix, run_plan, shard))))
    for remark in _remarks(workspace, run_plan):
        note(remark)
    return 1 if run_plan.due and not run_plan.packing.shards else 0


def _remarks(workspace: Workspace, run_plan: RunPlan) -> Iterator[str]:
    """Whatever was printed: why nothing runs, what is ruled out, and that times are assumed."""
    if run_plan.unplanned:
        yield not_planned(run_plan.unplanned, workspace.name)
    if run_plan.infeasible:
        yield outside(run_plan.infeasible)
    if run_plan.packing.shards:
        if run_plan.is_guess:
            yield (
                "no cell of the matrix ran yet: each is planned with"
                f" {about(ASSUMED_SECONDS).removeprefix('about ')}"
            )
    elif run_plan.due:
        shortest = min(task.seconds for task in run_plan.tasks.values())
        least = math.ceil((OVERHEAD_SECONDS + shortest) / 60)
        yield (
            f"nothing runs: no due cell fits into the budget (the shortest needs --budget {least}m)"
        )
    elif run_plan.python_unavailable:
        yield (
            "nothing runs: the runners do not have the Python of"
            f" {count(len(run_plan.python_unavailable), 'due cell')}"
        )
    else:
        is_partial = run_plan.infeasible or run_plan.unplanned
        yield "nothing else is due" if is_partial else up_to_date(workspace)


def _commands(matrix: str, run_plan: RunPlan, shard: Shard) -> Iterator[list[str]]:
    """The commands that run a shard: one for each tier that it has."""
    cells = [task.cell for task in shard.tasks]
    options: dict[Tier, list[str]] = {"full": [], "smoke": ["--tier", "smoke"]}
    for tier, words in options.items():
        if of_tier := run_plan.cells_of(tier, cells):
            yield ["compat", "run", matrix, *of_tier, *words]


def _github(run_plan: RunPlan) -> str:
    since = now()
    include = [
        {
            "shard": number,
            "cells": " ".join(run_plan.cells_of("full", [task.cell for task in shard.tasks])),
            "smoke": " ".join(run_plan.cells_of("smoke", [task.cell for task in shard.tasks])),
            "pythons": " ".join(
                map(str, sorted({run_plan.pythons[task.cell] for task in shard.tasks}))
            ),
            "minutes": _minutes(shard.seconds),
            # No record of these cells can be older: `compat ci record --from --plan` looks at it.
            "since": since,
        }
        for number, shard in enumerate(run_plan.packing.shards, 1)
    ]
    return msgspec.json.encode({"include": include}).decode()


def _print_json(matrix: str, run_plan: RunPlan) -> None:
    packing = run_plan.packing
    shards = [
        {
            "shard": number,
            "minutes": _minutes(shard.seconds),
            "cells": [_row(run_plan, task.cell) for task in shard.tasks],
        }
        for number, shard in enumerate(packing.shards, 1)
    ]
    later = [{**_row(run_plan, cell), "run": run} for cell, run in run_plan.later.items()]
    longest, mean = round(packing.longest, 1), round(packing.mean, 1)
    times = {"longest_seconds": longest, "mean_seconds": mean}
    envelope(
        {
            "matrix": matrix,
            "shards": shards,
            "later": later,
            "python_unavailable": run_plan.python_unavailable,
            **times,
        }
    )


def _print_table(run_plan: RunPlan) -> None:
    packing = run_plan.packing
    shard_of = {
        task.cell: number for number, shard in enumerate(packing.shards, 1) for task in shard.tasks
    }
    table = Table("shard", "cell", "where", "why", "last run", "seconds")
    for cell in run_plan.cells_now:
        due = run_plan.due[cell]
        seconds = f"{run_plan.tasks[cell].seconds:.0f}"
        why = due.reason if run_plan.tiers[cell] == "full" else f"{due.reason}, smoke"
        table.add_row(str(shard_of[cell]), cell, due.place, why, str(due.last or "never"), seconds)
    if shard_of:
        console().print(table)
        times = f"the longest {packing.longest / 60:.1f} minutes, the mean {packing.mean / 60:.1f}"
        say(
            f"{len(shard_of)} of {len(run_plan.due)} due cells run now; shards:"
            f" {len(packing.shards)}: {times}"
        )
    if packing.alone is not None:
        note(
            f"warning: {packing.alone.cell} alone takes longer than a mean shard, so they cannot be"
            " balanced"
        )
    _print_later(run_plan)


def _print_later(run_plan: RunPlan) -> None:
    kinds = Counter(
        (run, run_plan.due[cell].place, run_plan.due[cell].reason)
        for cell, run in run_plan.later.items()
    )
    for (run, place, reason), number in sorted(
        kinds.items(), key=lambda item: (item[0][0] or 10**9, item[0][1:])
    ):
        when = (
            "never, longer than a whole shard"
            if run is None
            else f"in run {run}, if nothing else becomes due"
        )
        say(f"left out: {number} x {place}, {reason}: {when}")
    if run_plan.python_unavailable:
        say(
            f"left out: {count(len(run_plan.python_unavailable), 'cell')} whose Python the runners"
            " do not have:"
            f" {' '.join(run_plan.python_unavailable)}"
        )


def _row(run_plan: RunPlan, cell: str) -> dict[str, Any]:
    due = run_plan.due[cell]
    return {
        "id": cell,
        "place": due.place,
        "reason": due.reason,
        "tier": run_plan.tiers[cell],
        "last": due.last,
        "blocked_by": due.blocked_by or None,
        "seconds": round(run_plan.tasks[cell].seconds, 1),
    }


def _minutes(seconds: float) -> int:
    return -int(-seconds // 60)
