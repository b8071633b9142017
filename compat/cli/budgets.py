"""What `compat plan --budget` prints: the due cells that fit, in shards, and when the others would come."""

import re
from collections import Counter
from typing import Any, Literal

import msgspec
from packaging.version import Version
from rich.table import Table

from compat.cli.output import console, envelope, note, say
from compat.cli.stand import Stand
from compat.errors import UsageError
from compat.plan.budget import Budget, Packing, Task, packed, rounds
from compat.plan.cell import parse_cell
from compat.results.due import Due, agenda
from compat.results.durations import durations

# Checking out, installing compat and interpreters, the canary, handing the records on: about three minutes on a
# hosted runner, before the first cell and after the last.
OVERHEAD_SECONDS = 180.0
Shown = Literal["table", "json", "github", "cells"]
_TIME = re.compile(r"(?:(?P<hours>\d{1,3})h)?(?:(?P<minutes>\d{1,4})m)?")


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """Cells that come `first`, the `only` ones to come, and the `pythons` that the machines can get; empty is all."""

    first: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()


class Night(msgspec.Struct, frozen=True, kw_only=True):
    """What is due, what of it runs now, and in which run each of the others would come: None is never.

    `homeless` are due cells whose Python no machine can get.
    """

    agenda: dict[str, Due]
    homeless: list[str]
    tasks: dict[str, Task]
    pythons: dict[str, Version]
    packing: Packing
    later: dict[str, int | None]


def budget_of(text: str, shards: int) -> Budget:
    """Return the budget of a text such as `90m` or `1h30m`, the time that each shard has."""
    found = _TIME.fullmatch(text.strip())
    seconds = 0 if found is None else 3600 * int(found["hours"] or 0) + 60 * int(found["minutes"] or 0)
    if seconds <= OVERHEAD_SECONDS:
        least = f"more than {OVERHEAD_SECONDS / 60:.0f}m, which a shard needs besides its cells"
        raise UsageError.of(f"--budget {text!r} is no time such as 90m or 1h30m, {least}")
    return Budget(seconds=float(seconds), shards=shards, overhead=OVERHEAD_SECONDS)


def night(stand: Stand, budget: Budget, wish: Wish) -> Night:
    """Return what to run within the budget."""
    matrix = stand.setting.ask.matrix
    wanted = [parse_cell(cell, matrix).id for cell in (*wish.only, *wish.first)]
    found = [one for one in agenda(stand.picture, matrix.quick, wanted) if not wish.only or one.cell in wish.only]
    cells = {one.cell: parse_cell(one.cell, matrix) for one in found}
    pythons = {cell: cells[cell].on(matrix.interpreters.name).version for cell in cells}
    homeless = [cell for cell in cells if wish.pythons and str(pythons[cell]) not in wish.pythons]
    due = {one.cell: one for one in found if one.cell not in homeless}
    expected = durations(stand.picture, stand.rows)
    tasks = {cell: Task(cell=cell, seconds=expected.of(cells[cell])) for cell in due}
    runs = [[task.cell for task in one] for one in rounds(list(tasks.values()), budget)]
    when = {cell: number for number, one in enumerate(runs, 1) for cell in one}
    now = packed([tasks[cell] for cell in runs[0]], budget) if runs else Packing()
    later = {cell: when.get(cell) for cell in due if when.get(cell) != 1}
    return Night(agenda=due, homeless=homeless, tasks=tasks, pythons=pythons, packing=now, later=later)


def print_night(matrix: str, found: Night, shown: Shown) -> None:
    """Print the shards: as a table, as JSON, as the one line of a GitHub job's matrix, or only the ids of the cells."""
    match shown:
        case "table":
            _print_table(found)
        case "json":
            _print_json(matrix, found)
        case "github":
            print(_github(found))
        case "cells":
            print(" ".join(_now(found)))


def _github(found: Night) -> str:
    include = [
        {
            "shard": number,
            "cells": " ".join(task.cell for task in shard.tasks),
            "pythons": " ".join(map(str, sorted({found.pythons[task.cell] for task in shard.tasks}))),
            "minutes": _minutes(shard.seconds),
        }
        for number, shard in enumerate(found.packing.shards, 1)
    ]
    return msgspec.json.encode({"include": include}).decode()


def _now(found: Night) -> list[str]:
    """The cells to run now, the most telling first."""
    return [cell for cell in found.agenda if cell not in found.later]


def _print_json(matrix: str, found: Night) -> None:
    packing = found.packing
    shards = [
        {"shard": number, "minutes": _minutes(shard.seconds), "cells": [_row(found, task.cell) for task in shard.tasks]}
        for number, shard in enumerate(packing.shards, 1)
    ]
    later = [{**_row(found, cell), "run": run} for cell, run in found.later.items()]
    longest, mean = round(packing.longest, 1), round(packing.mean, 1)
    times = {"longest_seconds": longest, "mean_seconds": mean}
    envelope({"matrix": matrix, "shards": shards, "later": later, "homeless": found.homeless, **times})


def _print_table(found: Night) -> None:
    """Which cells run, why and for how long, and what was left out."""
    packing = found.packing
    shard_of = {task.cell: number for number, shard in enumerate(packing.shards, 1) for task in shard.tasks}
    table = Table("shard", "cell", "where", "why", "last run", "seconds")
    for cell in _now(found):
        due = found.agenda[cell]
        seconds = f"{found.tasks[cell].seconds:.0f}"
        table.add_row(str(shard_of[cell]), cell, due.place, due.reason, str(due.last or "never"), seconds)
    if shard_of:
        console().print(table)
    times = f": the longest {packing.longest / 60:.1f} minutes, the mean {packing.mean / 60:.1f}" if shard_of else ""
    say(f"{len(shard_of)} of {len(found.agenda)} due cells run now; shards: {len(packing.shards)}{times}")
    if packing.alone is not None:
        note(f"compat: {packing.alone.cell} alone takes longer than a mean shard, so they cannot be balanced")
    _print_later(found)


def _print_later(found: Night) -> None:
    """How many cells of each kind come in which run."""
    kinds = Counter((run, found.agenda[cell].place, found.agenda[cell].reason) for cell, run in found.later.items())
    for (run, place, reason), count in sorted(kinds.items(), key=lambda item: (item[0][0] or 10**9, item[0][1:])):
        when = "never, longer than a whole shard" if run is None else f"in run {run}, if nothing else becomes due"
        say(f"left out: {count} x {place}, {reason}: {when}")
    if found.homeless:
        say(f"left out: {len(found.homeless)} whose Python the machines cannot get: {' '.join(found.homeless)}")


def _row(found: Night, cell: str) -> dict[str, Any]:
    due = found.agenda[cell]
    return {
        "id": cell,
        "place": due.place,
        "reason": due.reason,
        "last": due.last,
        "seconds": round(found.tasks[cell].seconds, 1),
    }


def _minutes(seconds: float) -> int:
    return -int(-seconds // 60)
