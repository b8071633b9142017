"""How much there is to run, how long it takes as far as earlier runs tell, and what of it was left
without an answer.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from compat.cli.machine import disk_mb
from compat.cli.output import about, note
from compat.declare.suite_table import Suite, Tier
from compat.fleet.batch import BatchResult, RunOptions
from compat.plan.cell import parse_cell
from compat.results.durations import by_step
from compat.results.record import StepSeconds
from compat.site.wording import count
from compat.workspace import Workspace


def workload(workspace: Workspace, cells: Sequence[str], options: RunOptions) -> str:
    unlocked = sum(cell not in workspace.lock_digests for cell in cells)
    what = f"{count(len(cells), 'cell')} to {'lock and run' if unlocked == len(cells) else 'run'}"
    if 0 < unlocked < len(cells):
        what = f"{what}, {unlocked:,} of them to be locked first"
    if options.tier == "smoke":
        what = f"{what}, each with the core of the suite alone"
    seconds = seconds_together(workspace, cells, options)
    unknown = "no cell of the matrix has run yet, so the time is not known"
    if options.tier == "smoke":
        unknown = "no cell of the matrix ran the core alone yet, so the time is not known"
    return f"{what}, {options.workers} at a time: {unknown if seconds is None else about(seconds)}"


def expected_seconds(
    workspace: Workspace, cells: Sequence[str], options: RunOptions
) -> dict[str, float | None]:
    durations = workspace.durations[options.tier]
    seconds = {cell: durations.of(parse_cell(cell, workspace.matrix)) for cell in cells}
    return {
        cell: None if expected is None else expected * options.attempts
        for cell, expected in seconds.items()
    }


def seconds_by_step(
    workspace: Workspace, expected: Mapping[str, float | None], tier: Tier
) -> dict[str, StepSeconds]:
    """Return how many seconds each step of a cell takes, shared out as in its own newest run of the
    tier, else as in that of the matrix.
    """
    whole = {
        cell: rows[-1]
        for cell, rows in workspace.runs.items()
        if rows and rows[-1].capabilities and rows[-1].tier == tier
    }
    newest = max(whole, key=lambda cell: whole[cell].started, default=None)
    steps: dict[str, StepSeconds] = {}
    for cell, seconds in expected.items():
        like = cell if cell in whole else newest
        if seconds is None or like is None:
            continue
        shared = by_step(seconds, workspace.records(like)[-1].step_seconds)
        if shared is not None:
            steps[cell] = shared
    return steps


def seconds_together(
    workspace: Workspace, cells: Sequence[str], options: RunOptions
) -> float | None:
    planned = [parse_cell(cell, workspace.matrix) for cell in cells]
    return workspace.durations[options.tier].together(planned, options.workers)


def workers_that_fit(asked: int, suite: Suite) -> int:
    """Return how many cells may run at once: what was asked, as far as free memory and disk allow;
    at least one. What is short is said.
    """
    import psutil

    free = {
        "memory": (int(psutil.virtual_memory().available // 2**20), suite.memory_mb),
        "disk": (disk_mb(), suite.disk_mb),
    }
    short, (megabytes, each) = min(free.items(), key=lambda item: item[1][0] // item[1][1])
    fit = max(1, min(asked, megabytes // each))
    if fit < asked:
        note(
            f"{count(fit, 'cell')} at once instead of {asked}: {megabytes:,} MB of {short}"
            f" are free, and a cell may use {each:,} (`{short}_mb` of [suite])"
        )
    return fit


def print_lost(result: BatchResult) -> None:
    """Say what a reader of the end of a log must not miss: workers that stopped, and cells that the
    machine lost.
    """
    for worker, why in result.lost_workers.items():
        note(f"warning: worker {worker} stopped and took no more cells: {why}")
    if result.unrun:
        note(
            f"{count(result.unrun, 'cell has', 'cells have')} no result, because compat"
            " could not run them all"
        )
    if result.unanswered:
        cells = count(len(result.unanswered), "cell has", "cells have")
        again = "run it again" if len(result.unanswered) == 1 else "run them again"
        note(
            f"{cells} no answer: the network, the disk, the sandbox or the processor was in"
            f" the way; {again}, if need be on another machine"
        )


def print_untried(result: BatchResult) -> None:
    """Say each reason once for which cells were not tried, as for want of their Python."""
    for why, cells in Counter(result.untried.values()).items():
        note(f"{count(cells, 'cell has', 'cells have')} no answer: {why}")
