"""The command that says what could work, and what to run now: plan."""

import contextlib
import math
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import msgspec
from packaging.version import Version

from compat import pipeline
from compat.cli.arguments import Exit, given, option
from compat.cli.machine import interpreter, now
from compat.cli.options import CELL_NAMES, MATRIX_NAME, OTHER_PLATFORM, workspace_of
from compat.cli.output import about, envelope, note, report, say, table
from compat.declare.suite_table import Tier
from compat.errors import CompatError, UsageError
from compat.fleet.choices import (
    ASSUMED_SECONDS,
    OVERHEAD_SECONDS,
    PlanOptions,
    RunPlan,
    budget_of,
    not_planned,
    outside,
    up_to_date,
)
from compat.lock.lockfile import Lock
from compat.plan.budget import MOST_SHARDS, Shard
from compat.plan.cell import RECIPES, axis_coordinates, parse_cell
from compat.plan.feasible import Obstacle
from compat.plan.plan import (
    Fate,
    Infeasible,
    Plan,
    counts,
    explain,
    facts_for,
    runnable_cells,
    unneeded_faults,
)
from compat.results.coverage import CellCount, cell_count, coverage
from compat.results.learnt import kept_audit
from compat.site.wording import count
from compat.workspace import Workspace

Shown = Literal["table", "json", "github", "cells", "shell"]
# How many locks --write makes at once, and how many plain installs it resolves again: of a few
# hundred each is then a week old at most.
_LOCKERS, _PLAIN = 4, 40


def plan_command(
    matrix: str = MATRIX_NAME,
    words: list[str] | None = CELL_NAMES,
    explained: str = option("The arithmetic of one cell.", "--explain", metavar="CELL"),
    here: bool = option("Also count the interpreters that this machine lacks."),
    budget: str = option("What to run now, in so much time.", metavar="90m"),
    shards: int = option("Number of shards.", min=1, max=MOST_SHARDS, default=1),
    pythons: str = option("Python series that the runners have.", metavar="SERIES"),
    proposed: bool = option("With --budget: only cells that proposals wait for."),
    write: bool = option("With --budget: fetch releases first, and lock what runs."),
    shown: Shown = option(
        "What --budget prints: shell is one command a shard.", "--print", default="table"
    ),
    platform: str = OTHER_PLATFORM,
) -> None:
    """List which cells are installable, and why the others are not.

    With --budget, print what `compat run --budget` would run first, packed into shards for several
    machines: cells that proposals wait for, then what is due, then the core of cells that never
    ran. With cells, only those. A budget is the time of each shard. With --write releases are
    fetched first, what runs is locked, and plain installs are resolved again, here and on other
    platforms, 40 of each; the files are kept beside the matrix.

    With --platform, list plain installs on platforms where nothing runs; with --print github, the
    runners that could try those that have a lock.

    Ends with 0, also when nothing is due; 1 when the matrix has no cells, or no due one fits the
    budget.

    Examples: compat plan tff; compat plan tff --explain py3.8-tf2.10-tff0.36.0; compat plan tff
    --budget 90m --shards 20; compat plan tff --budget 8h --shards 50 --print shell; compat plan tff
    --platform all
    """
    workspace = workspace_of(matrix)
    narrowing = words or pythons or shards > 1 or proposed or write
    if platform:
        if budget or explained or here or narrowing:
            raise UsageError.of("--platform takes no other option but --print github and --json")
        _plan_elsewhere(workspace, platform, shown)
        return
    if budget:
        if write:
            pipeline.discovered(workspace, True)
            workspace = workspace_of(matrix)
        needs = _needed_by_proposals(workspace)
        options = PlanOptions(
            first=needs,
            only=needs if proposed else tuple(words or ()),
            pythons=tuple(pythons.split()),
        )
        if proposed and not needs:
            note("no proposal waits for a run")
            if shown != "table":
                print('{"include":[]}' if shown == "github" else "", end="\n" * (shown == "github"))
            return
        run_plan = pipeline.chosen_within(workspace, budget_of(budget, shards), options)
        if write:
            _prepare(workspace, run_plan, proposed)
        if write and shown != "table":
            with contextlib.redirect_stdout(sys.stderr):
                _print_table(run_plan)
        raise Exit(print_run_plan(workspace, run_plan, "json" if given.as_json else shown))
    if narrowing or shown != "table":
        message = "cells, --shards, --pythons, --proposed, --write and --print need --budget"
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


def _needed_by_proposals(workspace: Workspace) -> tuple[str, ...]:
    """The cells that must run before a proposed move can open; a matrix without a policy has
    none.
    """
    if workspace.declared.policy is None or workspace.kept_catalogue is None:
        return ()
    moves = pipeline.proposed(workspace, workspace.day)
    return tuple(dict.fromkeys(need for move in moves.proposals for need in move.needs))


def _prepare(workspace: Workspace, run_plan: RunPlan, is_short: bool) -> None:
    """Lock what runs now, and renew what plain installs come to; on stderr, as the plan is what
    this prints. What cannot be locked says so in its shard.
    """
    from compat import questions
    from compat.cli.installs import ask_plain, ask_platforms, platforms_named
    from compat.cli.this_machine import locker_of, wheels_locker

    facts, locker = workspace.feasibility, locker_of(workspace, "uv")

    def lock(name: str) -> str:
        try:
            answer = pipeline.locked(workspace, facts, parse_cell(name, facts.matrix), locker)
        except CompatError as error:
            return f"{name} was not locked: {error}"
        if isinstance(answer, Lock):
            workspace.keep_lock(name, answer)
            return ""
        return f"{name} was not locked: {getattr(answer, 'because', answer)}"

    locked = []
    with ThreadPoolExecutor(_LOCKERS, thread_name_prefix="locker") as pool:
        names = run_plan.cells_now
        for name, trouble in zip(names, pool.map(lock, names), strict=True):
            note(trouble or f"{name} locked")
            locked += [] if trouble else [name]
    questions.settled(workspace, locked)
    if is_short:
        return
    with contextlib.redirect_stdout(sys.stderr):
        try:
            ask_plain(workspace, locker, _LOCKERS, _PLAIN, False)
        except CompatError as error:
            note(f"warning: {error}")
        if workspace.matrix.platforms:
            platforms, wheels = platforms_named(workspace, "all"), wheels_locker(workspace, "uv")
            try:
                ask_platforms(workspace, platforms, (), wheels, _LOCKERS, _PLAIN, False)
            except CompatError as error:
                note(f"warning: {error}")


def _plan_elsewhere(workspace: Workspace, platform: str, shown: Shown) -> None:
    from compat.cli.installs import plan_platforms, platforms_named

    if shown not in ("table", "github"):
        raise UsageError.of(f"--print {shown} needs --budget", hint="such as --budget 90m")
    if shown == "github" and not workspace.matrix.platforms:
        note(f"matrix {workspace.name!r} declares no other platform, so no runner is asked")
        print('{"include":[]}')
        return
    plan_platforms(workspace, platforms_named(workspace, platform), shown == "github")


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
    say(*lines, indent=2)


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
    rows = [
        (kind, *(f"{tally[recipe][kind]:,}" for recipe in recipes), _example(plan, kind))
        for kind in ("feasible", *kinds)
    ]
    rows.append(("cells", *(f"{tally[recipe].total():,}" for recipe in recipes), ""))
    feasible = sum(tally[recipe]["feasible"] for recipe in recipes)
    cells = CellCount(untried=feasible, ruled_out=len(plan.fates) - feasible)
    if workspace.kept_catalogue is not None:
        cells = cell_count(workspace.snapshot)
    say(f"{workspace.matrix.title}: {cells.words}")
    table(("fate", *recipes, "for example"), rows)
    _say_evidence(workspace)
    name = workspace.name
    note(
        f"Next: compat plan {name} --explain CELL for the arithmetic of one; compat matrix lock"
        f" {name}"
        " CELL for exact pins."
    )


def _say_evidence(workspace: Workspace) -> None:
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


def print_run_plan(workspace: Workspace, run_plan: RunPlan, shown: Shown) -> int:
    """Print the shards: as a table, as JSON, as one line for a GitHub job's matrix, as one command
    of a shell each, or only the ids of cells that run the whole suite.

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
            "cells": [_due_row(run_plan, task.cell) for task in shard.tasks],
        }
        for number, shard in enumerate(packing.shards, 1)
    ]
    later = [{**_due_row(run_plan, cell), "run": run} for cell, run in run_plan.later.items()]
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
    rows = []
    for cell in run_plan.cells_now:
        due = run_plan.due[cell]
        seconds = f"{run_plan.tasks[cell].seconds:.0f}"
        why = due.reason if run_plan.tiers[cell] == "full" else f"{due.reason}, smoke"
        rows.append((shard_of[cell], cell, due.place, why, due.last or "never", seconds))
    if shard_of:
        table(("shard", "cell", "where", "why", "last run", "seconds"), rows)
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


def _due_row(run_plan: RunPlan, cell: str) -> dict[str, Any]:
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
