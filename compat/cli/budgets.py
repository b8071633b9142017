"""What `compat plan --budget` prints: the due cells that fit, in shards, and when the others would
come.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from packaging.version import Version
from rich.table import Table

from compat import pipeline
from compat.cli.choices import outside, up_to_date
from compat.cli.output import about, console, envelope, note, say
from compat.cli.setting import now
from compat.cli.stand import Stand
from compat.errors import NothingToDo, UsageError
from compat.plan.budget import Budget, Packing, Task, packed, rounds
from compat.plan.cell import parse_cell
from compat.plan.plan import Infeasible
from compat.results.due import Due, agenda
from compat.site.wording import count
from compat.value import Value

# Checking out, installing compat and interpreters, the canary, handing the records on: about three
# minutes on a hosted runner, before the first cell and after the last.
OVERHEAD_SECONDS = 180.0
# What a cell is planned with where none of the matrix ran yet: packing needs a number, and one that
# is too large only leaves time over. The first runs of matrices/ took 5 to 150 seconds a cell
# (November 2026).
ASSUMED_SECONDS = 120.0
Shown = Literal["table", "json", "github", "cells"]
_TIME = re.compile(r"(?:(?P<hours>\d{1,3})h)?(?:(?P<minutes>\d{1,4})m)?")


class PlanOptions(Value, frozen=True, kw_only=True):
    """Cells that come `first`, the `only` ones to come, and the `pythons` that the machines can
    get; empty is all.
    """

    first: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    pythons: tuple[str, ...] = ()


class RunPlan(Value, frozen=True, kw_only=True):
    """What is due, what of it runs now, and in which run each of the others would come: None is
    never.

    `homeless` are due cells whose Python no machine can get, `infeasible` those that the plan rules
    out. `is_guess` says that no cell of the matrix ran yet, so that the times are assumed.
    """

    agenda: dict[str, Due]
    homeless: list[str]
    infeasible: list[Infeasible]
    tasks: dict[str, Task]
    pythons: dict[str, Version]
    packing: Packing
    later: dict[str, int | None]
    is_guess: bool


def budget_of(text: str, shards: int) -> Budget:
    """Return the budget of a text such as `90m` or `1h30m`, the time that each shard has."""
    found = _TIME.fullmatch(text.strip())
    seconds = (
        0 if found is None else 3600 * int(found["hours"] or 0) + 60 * int(found["minutes"] or 0)
    )
    if seconds <= OVERHEAD_SECONDS:
        least = f"more than {OVERHEAD_SECONDS / 60:.0f}m, which a shard needs besides its cells"
        raise UsageError.of(f"--budget {text!r} is no time such as 90m or 1h30m, {least}")
    return Budget(seconds=float(seconds), shards=shards, overhead=OVERHEAD_SECONDS)


def run_plan(stand: Stand, budget: Budget, wish: PlanOptions) -> RunPlan:
    """Return what to run within the budget."""
    ask, matrix = stand.setting.ask, stand.setting.ask.matrix
    only, wanted = (
        [cell.id for cell in pipeline.chosen(ask, stand.setting.kept, words)]
        for words in (wish.only, wish.first)
    )
    waiting = agenda(stand.picture, matrix.quick, [*only, *wanted])
    found = [entry for entry in waiting if not only or entry.cell in only]
    infeasible = [fate for entry in found if (fate := _ruled_out(stand, entry.cell)) is not None]
    ruled_out = {fate.cell.id for fate in infeasible}
    cells = {
        entry.cell: parse_cell(entry.cell, matrix) for entry in found if entry.cell not in ruled_out
    }
    if not cells and not stand.picture.known:
        raise _unknown(stand)
    pythons = {cell: cells[cell].on(matrix.interpreters.name).version for cell in cells}
    homeless = [cell for cell in cells if wish.pythons and str(pythons[cell]) not in wish.pythons]
    agenda_now = {
        entry.cell: entry for entry in found if entry.cell in cells and entry.cell not in homeless
    }
    expected = stand.durations
    tasks = {
        cell: Task(cell=cell, seconds=expected.of(cells[cell]) or ASSUMED_SECONDS)
        for cell in agenda_now
    }
    runs = [[task.cell for task in one] for one in rounds(list(tasks.values()), budget)]
    when = {cell: number for number, one in enumerate(runs, 1) for cell in one}
    now = packed([tasks[cell] for cell in runs[0]], budget) if runs else Packing()
    later = {cell: when.get(cell) for cell in agenda_now if when.get(cell) != 1}
    return RunPlan(
        agenda=agenda_now,
        homeless=homeless,
        infeasible=infeasible,
        tasks=tasks,
        pythons=pythons,
        packing=now,
        later=later,
        is_guess=expected.is_empty,
    )


def print_run_plan(stand: Stand, found: RunPlan, shown: Shown) -> int:
    """Print the shards: as a table, as JSON, as one line for a GitHub job's matrix, or only the
    ids.

    Return the exit code: 1 when cells are due and the budget is too small for each of them.
    """
    matrix = stand.setting.folder.name
    match shown:
        case "table":
            _print_table(found)
        case "json":
            _print_json(matrix, found)
        case "github":
            print(_github(found))
        case "cells":
            print(" ".join(_now(found)))
    for remark in _remarks(stand, found):
        note(remark)
    return 1 if found.agenda and not found.packing.shards else 0


def _remarks(stand: Stand, found: RunPlan) -> Iterator[str]:
    """Whatever was printed: why nothing runs, what is ruled out, and that times are assumed."""
    if found.infeasible:
        yield outside(found.infeasible)
    if found.packing.shards:
        if found.is_guess:
            yield (
                "no cell of the matrix ran yet: each is planned with"
                f" {about(ASSUMED_SECONDS).removeprefix('about ')}"
            )
    elif found.agenda:
        shortest = min(task.seconds for task in found.tasks.values())
        least = math.ceil((OVERHEAD_SECONDS + shortest) / 60)
        yield (
            f"nothing runs: no due cell fits into the budget (the shortest needs --budget {least}m)"
        )
    elif found.homeless:
        yield (
            "nothing runs: the machines cannot get the Python of"
            f" {count(len(found.homeless), 'due cell')}"
        )
    else:
        yield "nothing else is due" if found.infeasible else up_to_date(stand)


def _ruled_out(stand: Stand, cell: str) -> Infeasible | None:
    """Why a cell without a lock is not worth a run: the plan rules it out."""
    entry = stand.picture.by_id.get(cell)
    if entry is None or entry.obstacle is None or entry.lock_digest is not None:
        return None
    return Infeasible(cell=entry.cell, obstacle=entry.obstacle)


def _unknown(stand: Stand) -> NothingToDo:
    """What to type for a matrix of which nothing is known, so that nothing is due."""
    name = stand.setting.folder.name
    message = f"matrix {name!r} has no locks and no records yet, so nothing is due"
    return NothingToDo.of(
        message, hint=f"compat run {name} makes a beginning, or says what to type"
    )


def _github(found: RunPlan) -> str:
    since = now()
    include = [
        {
            "shard": number,
            "cells": " ".join(task.cell for task in shard.tasks),
            "pythons": " ".join(
                map(str, sorted({found.pythons[task.cell] for task in shard.tasks}))
            ),
            "minutes": _minutes(shard.seconds),
            # No record of these cells can be older: `compat record --from --plan` looks at it.
            "since": since,
        }
        for number, shard in enumerate(found.packing.shards, 1)
    ]
    return msgspec.json.encode({"include": include}).decode()


def _now(found: RunPlan) -> list[str]:
    """The cells to run now, the most telling first."""
    return [cell for cell in found.agenda if cell not in found.later]


def _print_json(matrix: str, found: RunPlan) -> None:
    packing = found.packing
    shards = [
        {
            "shard": number,
            "minutes": _minutes(shard.seconds),
            "cells": [_row(found, task.cell) for task in shard.tasks],
        }
        for number, shard in enumerate(packing.shards, 1)
    ]
    later = [{**_row(found, cell), "run": run} for cell, run in found.later.items()]
    longest, mean = round(packing.longest, 1), round(packing.mean, 1)
    times = {"longest_seconds": longest, "mean_seconds": mean}
    envelope(
        {"matrix": matrix, "shards": shards, "later": later, "homeless": found.homeless, **times}
    )


def _print_table(found: RunPlan) -> None:
    """Which cells run, why and for how long, and what was left out."""
    packing = found.packing
    shard_of = {
        task.cell: number for number, shard in enumerate(packing.shards, 1) for task in shard.tasks
    }
    table = Table("shard", "cell", "where", "why", "last run", "seconds")
    for cell in _now(found):
        due = found.agenda[cell]
        seconds = f"{found.tasks[cell].seconds:.0f}"
        table.add_row(
            str(shard_of[cell]), cell, due.place, due.reason, str(due.last or "never"), seconds
        )
    if shard_of:
        console().print(table)
        times = f"the longest {packing.longest / 60:.1f} minutes, the mean {packing.mean / 60:.1f}"
        say(
            f"{len(shard_of)} of {len(found.agenda)} due cells run now; shards:"
            f" {len(packing.shards)}: {times}"
        )
    if packing.alone is not None:
        note(
            f"compat: {packing.alone.cell} alone takes longer than a mean shard, so they cannot be"
            " balanced"
        )
    _print_later(found)


def _print_later(found: RunPlan) -> None:
    """How many cells of each kind come in which run."""
    kinds = Counter(
        (run, found.agenda[cell].place, found.agenda[cell].reason)
        for cell, run in found.later.items()
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
    if found.homeless:
        say(
            f"left out: {len(found.homeless)} whose Python the machines cannot get:"
            f" {' '.join(found.homeless)}"
        )


def _row(found: RunPlan, cell: str) -> dict[str, Any]:
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
