"""`compat plan`: what could work, and what to run now."""

import contextlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from packaging.version import Version

from compat import pipeline
from compat.cli.arguments import Exit, given, option
from compat.cli.machine import interpreter, now
from compat.cli.options import CELL_NAMES, MATRIX_NAME, workspace_of
from compat.cli.output import about, answer, as_prose, envelope, fields, note, report, say, table
from compat.declare.matrix import PlatformName
from compat.declare.parsing import minor_series
from compat.errors import CompatError, UsageError
from compat.fleet import choices
from compat.lock.lockfile import Lock, Locker
from compat.plan.cell import RECIPES, axis_coordinates, parse_cell
from compat.plan.plan import (
    MOST_SHARDS,
    Infeasible,
    Plan,
    counts,
    explain,
    facts_for,
    named_cells,
    unneeded_faults,
)
from compat.results.learnt import stored_audit
from compat.results.snapshot import CellCount, cell_count, coverage
from compat.site.wording import count
from compat.workspace import Workspace

# How many locks --write makes at once, and how many plain installs it resolves again: of a few
# hundred each is then a week old at most.
_LOCKERS, _PLAIN = 4, 40


def plan_command(
    matrix: str = MATRIX_NAME,
    words: list[str] | None = CELL_NAMES,
    explained: str = option("Explain one cell step by step.", "--explain", metavar="CELL"),
    here: bool = option("Also count the interpreters that this machine lacks."),
    budget: str = option("List the cells to run in this time.", metavar="90m"),
    shards: int = option("Number of shards.", min=1, max=MOST_SHARDS, default=1),
    pythons: str = option(
        "Python series available on the runners; 'here': on this machine.", metavar="SERIES"
    ),
    proposed: bool = option("With --budget: only cells that block a proposal."),
    write: bool = option("With --budget: fetch releases and lock the cells."),
    is_github: bool = option("With --budget: print the job matrix of the shards.", "--github"),
    platform: str = option(
        "Print the job matrix that installs locks on this platform, or all.", metavar="PLATFORM"
    ),
) -> None:
    """List which cells are installable, and why the others are not.

    --budget lists what `compat run --budget` would run first, packed into shards: cells that block
    proposals, due cells, then the core of cells that never ran. With cells, only those. The budget
    is per shard. --write also fetches releases, locks the cells and resolves 40 plain installs here
    and 40 on other platforms.

    --github prints what `compat run --plan` takes. --platform prints the runners on which GitHub
    has other platforms, with the plain installs that have a lock. Exits 1 if the matrix has no
    cells or no due cell fits the budget; 0 also if nothing is due.

    Examples: compat plan tff; compat plan tff --explain py3.8-tf2.10-tff0.36.0; compat plan tff
    --budget 90m --shards 20; compat plan tff --budget 8h --shards 50 --github; compat plan tff
    --platform all
    """
    workspace = workspace_of(matrix)
    narrowing = words or pythons or shards > 1 or proposed or write
    if platform:
        if budget or explained or here or narrowing:
            raise UsageError.of("--platform takes no other option")
        from compat.cli.installs import jobs_of

        _print_jobs(jobs_of(workspace, platform))
        return
    if budget:
        if write:
            pipeline.discovered(workspace, True)
            workspace = workspace_of(matrix)
        needs: tuple[str, ...] = ()  # cells that must run before a proposed move can open
        if workspace.declared.policy is not None and workspace.stored_catalogue is not None:
            moves = pipeline.proposed(workspace, workspace.day)
            needs = tuple(dict.fromkeys(need for move in moves.proposals for need in move.needs))
        if pythons == "here":
            named = sorted({minor_series(v) for v in workspace.matrix.interpreters.releases})
            # One that nothing has stands for none, as an empty choice means all.
            pythons = " ".join(s for s in named if interpreter(Version(s))) or "none"
        if proposed and not needs:
            note("no proposal waits for a run")
            if is_github or given.as_json:
                _print_jobs([])
            return
        run_plan = choices.run_plan(
            workspace,
            choices.budget_of(budget, shards),
            needs=needs,
            named=needs if proposed else words or (),
            pythons=pythons.split(),
        )
        if write:
            _prepare(workspace, run_plan, proposed)
        raise Exit(_print_run_plan(workspace, run_plan, is_github, write))
    if narrowing or is_github:
        message = "cells, --shards, --pythons, --proposed, --write and --github need --budget"
        raise UsageError.of(message, hint="such as --budget 90m")
    if explained:
        # Without a word about which catalogue it is: the answer is one cell's, not the matrix's.
        catalogue = workspace.stored_catalogue
        facts = workspace.facts_of(workspace.catalogue if catalogue is None else catalogue)
        (cell,) = named_cells(facts, [explained], beyond_axes=True)
        lines, verdict = explain(facts_for(facts, cell), cell), workspace.verdict(cell.id)
        if verdict.evidence in ("asked", "inferred") or verdict.blocked_by:
            known = f"known without a run ({verdict.evidence})"
            lines = (*lines, *(f"{known}: {why}" for why in verdict.reasons))
        answer({"matrix": matrix, "id": cell.id, "explanation": lines}, cell.id, lines)
        return
    series: frozenset[Version] | None = None
    if here:
        every = axis_coordinates(workspace.matrix.interpreters, workspace.catalogue)
        versions, own = (place.version for place in every), workspace.matrix.platform
        series = frozenset(version for version in versions if interpreter(version, own) is not None)
    plan = pipeline.planned(workspace, series)
    faults = unneeded_faults(plan, workspace.matrix, f"matrices/{workspace.name}/matrix.toml")
    if given.as_json:  # a large matrix has 30,000
        obstacles = ((f.cell, getattr(f, "obstacle", None)) for f in plan.fates)
        rows = [
            {
                "id": cell.id,
                "coordinates": {place.axis: str(place.version) for place in cell.coordinates},
                "recipe": cell.recipe,
                "fate": "feasible" if obstacle is None else "infeasible",
                "obstacle": obstacle,
            }
            for cell, obstacle in obstacles
        ]
        envelope({"matrix": matrix, "cells": rows}, faults)
    else:
        _print_plan(workspace, plan)
    report(faults)
    raise Exit(2 if faults else 0)


def _prepare(workspace: Workspace, run_plan: choices.RunPlan, is_short: bool) -> None:
    """Lock what runs now and resolve old plain installs again. Reports on stderr: stdout is the
    plan.
    """
    from compat.cli.installs import platforms_named, resolve_installs, side_by_side
    from compat.cli.this_machine import locker_of, uv_locker

    facts, locker = workspace.feasibility, locker_of(workspace, "uv")

    cells, locked = [parse_cell(name, facts.matrix) for name in run_plan.cells_now], []
    for cell, result in side_by_side(
        cells, lambda cell: pipeline.locked(workspace, facts, cell, locker), _LOCKERS, []
    ):
        if isinstance(result, Lock):
            workspace.keep_lock(cell.id, result)
            locked.append(cell.id)
            note(f"{cell.id} locked")
        else:
            because = result.obstacle.because if isinstance(result, Infeasible) else result.because
            note(f"{cell.id} was not locked: {because}")
    pipeline.settled(workspace, locked)
    if is_short:
        return
    with as_prose():
        asked: list[tuple[tuple[PlatformName, ...], Locker]] = [((), locker)]
        if workspace.matrix.platforms:
            named, wheels = platforms_named(workspace, "all"), uv_locker(workspace)
            asked.append((named, wheels))
        for platforms, resolver in asked:
            try:
                resolve_installs(workspace, platforms, (), resolver, _LOCKERS, _PLAIN)
            except CompatError as error:
                note(f"warning: {error}")


def _print_plan(workspace: Workspace, plan: Plan) -> None:
    tally = counts(plan.fates)
    kinds = sorted({kind for counter in tally.values() for kind in counter} - {"feasible"})
    recipes = [recipe for recipe in RECIPES if tally[recipe]]
    examples: dict[str, str] = {}  # the last of each kind
    for fate in plan.fates:
        if isinstance(fate, Infeasible):
            examples[fate.obstacle.kind] = fate.obstacle.because
        else:
            examples["feasible"] = fate.cell.id
    rows = [
        (kind, *(f"{tally[recipe][kind]:,}" for recipe in recipes), examples.get(kind, ""))
        for kind in ("feasible", *kinds)
    ]
    rows.append(("cells", *(f"{tally[recipe].total():,}" for recipe in recipes), ""))
    feasible = sum(tally[recipe]["feasible"] for recipe in recipes)
    cells = CellCount(untried=feasible, ruled_out=len(plan.fates) - feasible)
    has_catalogue = workspace.stored_catalogue is not None
    if has_catalogue:
        cells = cell_count(workspace.snapshot)
    say(f"{workspace.matrix.title}: {cells.words}")
    table(("fate", *recipes, "for example"), rows)
    if has_catalogue:
        known, audit = coverage(workspace.snapshot), stored_audit(workspace.folder)
        say(f"Answered: {known.words}")
        if known.waiting:
            say(f"Lockable, not run yet: {known.waiting}")
        if audit is not None:
            say(f"Audit of inferred answers: {audit.sentence}")
    name = workspace.name
    note(
        f"Next: compat plan {name} --explain CELL explains one; compat matrix lock"
        f" {name} CELL writes exact pins."
    )


def _print_jobs(include: Sequence[Mapping[str, Any]]) -> None:
    envelope({"include": include})
    say(msgspec.json.encode({"include": include}).decode())


def _print_run_plan(
    workspace: Workspace, run_plan: choices.RunPlan, is_github: bool, is_written: bool
) -> int:
    """Print the shards; return 1 if cells are due and the budget is too small for each."""
    matrix, packing = workspace.name, run_plan.packing
    shards = [[task.cell for task in shard] for shard in packing.shards]
    minutes = [-int(-seconds // 60) for seconds in packing.seconds]
    is_table = not (is_github or given.as_json)
    if is_table or is_written:
        with contextlib.nullcontext() if is_table else as_prose():
            _print_table(run_plan)
    if is_github:
        moment = now()
        _print_jobs(
            [
                {
                    "shard": number,
                    "cells": " ".join(run_plan.cells_of("full", cells)),
                    "smoke": " ".join(run_plan.cells_of("smoke", cells)),
                    "pythons": " ".join(map(str, sorted({run_plan.pythons[c] for c in cells}))),
                    "minutes": minutes[number - 1],
                    # No record of these cells can be older: `compat ci record --from` looks at it.
                    "since": moment,
                }
                for number, cells in enumerate(shards, 1)
            ]
        )
    elif given.as_json:
        later = run_plan.later.items()
        document = {
            "matrix": matrix,
            "shards": [
                {
                    "shard": number,
                    "minutes": minutes[number - 1],
                    "cells": [_due_row(run_plan, cell) for cell in cells],
                }
                for number, cells in enumerate(shards, 1)
            ],
            "later": [{**_due_row(run_plan, cell), "run": run} for cell, run in later],
            "python_unavailable": run_plan.python_unavailable,
            "longest_seconds": round(packing.longest, 1),
            "mean_seconds": round(packing.mean, 1),
        }
        envelope(document)
    if run_plan.unplanned:
        note(choices.not_planned(run_plan.unplanned, matrix))
    if run_plan.infeasible:
        note(choices.outside(run_plan.infeasible))
    if packing.shards:
        if run_plan.is_guess:
            assumed = about(choices.ASSUMED_SECONDS).removeprefix("about ")
            note(f"no cell of the matrix ran yet: each is planned with {assumed}")
    elif run_plan.due:
        shortest = min(task.seconds for task in run_plan.tasks.values())
        needed = f"--budget {math.ceil((choices.OVERHEAD_SECONDS + shortest) / 60)}m"
        note(f"nothing runs: no due cell fits into the budget (the shortest needs {needed})")
    elif run_plan.python_unavailable:
        lacking = count(len(run_plan.python_unavailable), "due cell")
        note(f"nothing runs: the runners do not have the Python of {lacking}")
    else:
        is_partial = run_plan.infeasible or run_plan.unplanned
        note("nothing else is due" if is_partial else choices.up_to_date(workspace))
    return 1 if run_plan.due and not packing.shards else 0


def _print_table(run_plan: choices.RunPlan) -> None:
    packing = run_plan.packing
    shard_of = {
        task.cell: number for number, shard in enumerate(packing.shards, 1) for task in shard
    }
    rows = []
    for cell in run_plan.cells_now:
        due, seconds = run_plan.due[cell], f"{run_plan.tasks[cell].seconds:.0f}"
        why = due.reason if run_plan.tiers[cell] == "full" else f"{due.reason}, smoke"
        rows.append((shard_of[cell], cell, due.place, why, due.last or "never", seconds))
    if shard_of:
        table(("shard", "cell", "where", "why", "last run", "seconds"), rows)
        run_now = f"{len(shard_of)} of {len(run_plan.due)} due cells run now"
        longest, mean = packing.longest / 60, packing.mean / 60
        times = f"the longest {longest:.1f} minutes, the mean {mean:.1f}"
        say(f"{run_now}; shards: {len(packing.shards)}: {times}")
    if packing.alone is not None:
        alone = f"{packing.alone.cell} alone takes longer than a mean shard"
        note(f"warning: {alone}, so they cannot be balanced")
    kinds = Counter(
        (run or 10**9, run_plan.due[cell].place, run_plan.due[cell].reason)
        for cell, run in run_plan.later.items()
    )
    for (run, place, reason), number in sorted(kinds.items()):
        when = f"in run {run}, if nothing else becomes due"
        when = "never, longer than a whole shard" if run == 10**9 else when
        say(f"left out: {number} x {place}, {reason}: {when}")
    if lacking := run_plan.python_unavailable:
        cells = count(len(lacking), "cell")
        say(f"left out: {cells} whose Python the runners do not have: {' '.join(lacking)}")


def _due_row(run_plan: choices.RunPlan, cell: str) -> dict[str, Any]:
    due = run_plan.due[cell]
    return {
        "id": cell,
        **fields(due, "place reason last"),
        "tier": run_plan.tiers[cell],
        "blocked_by": due.blocked_by or None,
        "seconds": round(run_plan.tasks[cell].seconds, 1),
    }
