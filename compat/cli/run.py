"""The command that runs cells and records the results: `compat run`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from compat import pipeline
from compat.cli.arguments import Exit, given, option
from compat.cli.clean import make_room
from compat.cli.machine import disk_mb, interpreter, level_of
from compat.cli.options import (
    CELL_NAMES,
    ISOLATION_LEVEL,
    JOBS,
    JUNIT_FILE,
    KEEP_RECORDS,
    MATRIX_NAME,
    QUICK,
    SUMMARY_FILE,
    refuse_faulty_suite,
    workspace_of,
)
from compat.cli.output import about, envelope, note, prose, report_disproofs, say
from compat.cli.record import shards_in
from compat.cli.reports import ReportFiles, learnt, released_report
from compat.cli.verdicts import RunWords, print_failures, print_verdicts, verdict_row
from compat.declare.matrix import Suite, Tier
from compat.errors import NothingToDo, UsageError
from compat.fleet.batch import BatchResult, RunOptions
from compat.fleet.choices import CellToRun, choose, outside
from compat.plan.cell import parse_cell
from compat.results.record import StepSeconds
from compat.results.runs import by_step
from compat.site.wording import count, listed
from compat.workspace import Workspace

if TYPE_CHECKING:
    from compat.cli.this_machine import ThisMachine


def workload(workspace: Workspace, cells: Sequence[str], options: RunOptions) -> str:
    unlocked = sum(cell not in workspace.lock_digests for cell in cells)
    what = f"{count(len(cells), 'cell')} to {'lock and run' if unlocked == len(cells) else 'run'}"
    if 0 < unlocked < len(cells):
        what = f"{what}, {unlocked:,} without a lock"
    if options.tier == "smoke":
        what = f"{what}, only the suite's core"
    seconds = seconds_together(workspace, cells, options)
    unknown = "no cell of the matrix has run yet, so the time is not known"
    if options.tier == "smoke":
        unknown = "no cell of the matrix ran the core alone yet, so the time is not known"
    workers = min(options.workers, len(cells))
    return f"{what}, {workers} at a time: {unknown if seconds is None else about(seconds)}"


def seconds_together(
    workspace: Workspace, cells: Sequence[str], options: RunOptions
) -> float | None:
    planned = [parse_cell(cell, workspace.matrix) for cell in cells]
    return workspace.durations[options.tier].together(planned, options.workers)


def workers_that_fit(asked: int | None, suite: Suite) -> int:
    """Return how many cells may run at once: one or more; `asked` None means one a core."""
    import psutil

    free = {
        "memory": (int(psutil.virtual_memory().available // 2**20), suite.memory_mb),
        "disk": (disk_mb(), suite.disk_mb),
    }
    short, (megabytes, each) = min(free.items(), key=lambda item: item[1][0] // item[1][1])
    cores = len(psutil.Process().cpu_affinity()) if asked is None else asked
    fit = max(1, min(cores, megabytes // each))
    if asked and fit < asked:
        note(
            f"{count(fit, 'cell')} at once instead of {asked}: {megabytes:,} MB of {short}"
            f" are free, and a cell may use {each:,} (`{short}_mb` of [suite])"
        )
    return fit


def print_lost(result: BatchResult) -> None:
    """Report lost workers and lost cells at the end of the log, where readers look."""
    for worker, why in result.lost_workers.items():
        note(f"warning: worker {worker} stopped and took no more cells: {why}")
    if result.unrun:
        cells = count(result.unrun, "cell has", "cells have")
        note(f"{cells} no result, because compat could not run them all")
    if result.unanswered:
        cells = count(len(result.unanswered), "cell has", "cells have")
        again = f"run {'it' if len(result.unanswered) == 1 else 'them'} again"
        why = "blocked by the network, the disk, the sandbox or the processor"
        note(f"{cells} no answer: {why}; {again}, if need be on another machine")
    for why, number in Counter(result.untried.values()).items():
        note(f"{count(number, 'cell has', 'cells have')} no answer: {why}")


def run_command(
    matrix: str = MATRIX_NAME,
    words: list[str] | None = CELL_NAMES,
    quick: bool = QUICK,
    budget: str = option("Test as many cells as fit in this time.", metavar="90m"),
    jobs: int | None = JOBS,
    attempts: int = option("Attempts per cell.", min=1, max=100, default=1),
    tier: Tier = option("smoke: only the suite's core; full: the whole suite.", default="full"),
    plan: Path | None = option("Run a shard of what plan --github printed.", metavar="FILE"),
    shard: int = option("Which shard of --plan.", min=1, default=1),
    subject_from: str = option(
        "Run a checkout in place of the releases: a folder, a wheel, or git+https://...",
        metavar="SOURCE",
    ),
    keep_records: bool = KEEP_RECORDS,
    isolation: str = ISOLATION_LEVEL,
    keep: bool = option("Do not delete the cells' folders."),
    fleet: str = option("Run the cells on a cluster's workers.", metavar="dask://HOST:PORT"),
    tls: Path | None = option(
        "Certificates for --fleet: ca.pem, cert.pem, key.pem.", metavar="FOLDER"
    ),
    dry_run: bool = option("Print what would run."),
    junit: Path | None = JUNIT_FILE,
    summary: Path | None = SUMMARY_FILE,
) -> None:
    """Install cells, run the suite in each, and record the results.

    Without cells: runs those with a missing or stale result. Cells without a current lock are
    locked first. In a new matrix: the feasible fresh cells if they are few, else the smoke cells.
    Globs skip infeasible cells.

    --budget renews due results, then runs the probe that answers the most cells per second. A tenth
    of the time verifies inferred answers; a disproved one is removed with everything derived from
    it. All results are stored, so the next run continues from there. --jobs 0 only resolves.

    --tier smoke runs only [suite] core; the whole suite stays due. --fleet runs cells on a cluster.

    Exits 0 if all cells pass or are fresh, 1 if some fail or none matched, 2 for a suite fault
    (nothing is recorded), 3 if some could not run, 130 or 143 if interrupted. With --budget: 1 if
    an inferred answer was disproved, 3 if probes got no answer.

    Examples: compat run tff --dry-run; compat run tff --budget 90m; compat run tff
    'py3.9-*-tff0.33.0+relaxed' --junit junit.xml; compat run tff --quick --subject-from .; compat
    run tff --fleet dask://127.0.0.1:8786
    """
    reports = ReportFiles(junit=junit, summary=summary)
    if dry_run and (junit or summary):
        raise UsageError.of("--dry-run runs nothing, so there is nothing for --junit and --summary")
    if bool(words) + quick + (plan is not None) > 1:
        raise UsageError.of("name only one of cells, --quick and --plan")
    alone = dry_run or keep or plan is not None or bool(fleet or budget)
    if keep_records and not subject_from:
        raise UsageError.of("--keep-records needs --subject-from; other records are always stored")
    if subject_from and alone:
        without = "--dry-run, --keep, --plan, --budget and --fleet"
        raise UsageError.of(f"--subject-from excludes {without}")
    level = level_of(isolation) if subject_from else None
    workspace = workspace_of(matrix)
    refuse_faulty_suite(workspace)
    suite = workspace.matrix.suite
    if budget:
        if quick or plan or fleet or dry_run or keep or attempts > 1:
            hint = "compat plan --budget shows what would run"
            raise UsageError.of(
                "--budget allows only cells, --jobs, --isolation and reports", hint=hint
            )
        from compat.cli.budget import budget_seconds, run_within

        seconds = budget_seconds(budget)
        workers = workers_that_fit(None, suite) if jobs is None else jobs
        raise Exit(run_within(workspace, words or [], seconds, workers, isolation, reports))
    if jobs == 0:
        raise UsageError.of("--jobs 0 needs --budget")
    if not (fleet or dry_run):
        make_room((jobs or 1) * suite.disk_mb)
    workers = 1 if fleet else workers_that_fit(jobs, suite)
    options = RunOptions(workers=workers, tier=tier, attempts=attempts, keep=keep)
    if level is not None:
        from compat.cli.diff import cells_of_checkout, run_checkout

        with cells_of_checkout(workspace, subject_from, level, keep_records) as cells:
            choice = cells.chosen(words or (), quick)
            raise Exit(run_checkout(cells, choice, level, options, reports))

    def machine() -> ThisMachine:
        if not fleet:
            from compat.cli.this_machine import ThisMachine

            return ThisMachine(workspace, level_of(isolation))
        named = {"--jobs": (jobs or 1) > 1, "--keep": keep, "--isolation": bool(isolation)}
        refused = [option for option, is_named in named.items() if is_named]
        if refused:
            hint = "compat fleet worker takes --workers and --isolation on each machine"
            raise UsageError.of(f"{listed(refused)} cannot be combined with --fleet", hint=hint)
        from compat.cli.worker import FleetMachine, address_of

        return FleetMachine(workspace, address_of(fleet, tls))

    if plan is not None:
        own = machine()
        row = next((row for row in shards_in(plan).include if row.shard == shard), None)
        if row is None:
            raise UsageError.of(f"has no shard {shard}", path=str(plan))
        codes = [0]
        for part, names in (("full", row.cells.split()), ("smoke", row.smoke.split())):
            if names:
                of_tier = msgspec.structs.replace(options, tier=part)
                chosen = choose(workspace, names, False, of_tier.tier).cells
                codes.append(_run(workspace, chosen, of_tier, own, reports))
        raise Exit(max(codes))
    platform = workspace.matrix.platform
    choices = choose(
        workspace, words or (), quick, tier, lambda s: interpreter(s, platform) is not None
    )
    for remark in choices.remarks:
        note(remark)
    if choices.infeasible:
        note(outside(choices.infeasible))
    if dry_run and choices.cells:
        _print_dry_run(workspace, choices.cells, options)
        raise Exit(1 if all(choice.obstacle for choice in choices.cells) else 0)
    if choices.cells:
        raise Exit(_run(workspace, choices.cells, options, machine(), reports))
    if not dry_run:
        reports.write(released_report(workspace, (), ()))
    if not choices.is_fresh:
        hint = f"compat run {matrix} 'GLOB' runs cells again"
        raise NothingToDo.of(f"there is no cell of {matrix} to run", hint=hint)
    envelope({"cells": []})


def _run(
    workspace: Workspace,
    chosen: Sequence[CellToRun],
    options: RunOptions,
    machine: ThisMachine,
    reports: ReportFiles,
) -> int:
    # Where nothing is due it is not needed: it takes longer to import than the answer.
    from compat.cli.progress import Progress

    cells = [choice.cell for choice in chosen]
    options = msgspec.structs.replace(options, workers=machine.workers(options))
    note(f"{workload(workspace, cells, options)}; {machine.means}")
    durations = workspace.durations[options.tier]
    seconds = {cell: durations.of(parse_cell(cell, workspace.matrix)) for cell in cells}
    expected = {cell: each and each * options.attempts for cell, each in seconds.items()}
    # How many seconds each step takes, shared out as in a cell's own newest run of the tier, else
    # as in that of the matrix.
    whole = {
        cell: rows[-1]
        for cell, rows in workspace.runs.items()
        if rows and rows[-1].capabilities and rows[-1].tier == options.tier
    }
    newest = max(whole, key=lambda cell: whole[cell].started, default=None)
    steps: dict[str, StepSeconds] = {}
    for cell, each in expected.items() if options.attempts == 1 else ():
        like = cell if cell in whole else newest
        if each is not None and like is not None:
            shared = by_step(each, workspace.records(like)[-1].step_seconds)
            steps |= {cell: shared} if shared is not None else {}
    words = RunWords(workspace).of_attempt
    machine.progress = lambda _, workers: Progress(expected, workers, steps=steps, words=words)
    result = machine.run(cells, options)
    workspace.refresh()
    disproofs, fell = pipeline.settled(workspace)
    outcomes = result.outcomes
    if given.as_json:
        documents = [{**verdict_row(workspace, c), "result": outcomes.get(c)} for c in cells]
        envelope({"cells": documents, "disproved": disproofs, "fell": fell})
    else:
        print_verdicts(workspace, cells)
        # What fails in every combination of a release is no failure of a cell: its score says so.
        print_failures(_not_working(workspace, outcomes))
        spent = [record.step_seconds for record in result.records]
        fields = ("install", "import_", "suite", "overhead")
        parts = [sum(getattr(step, field) or 0 for step in spent) for field in fields]
        if total := sum(parts):
            names = zip(("install", "import", "suite", "compat itself"), parts, strict=True)
            shares = (f"{name} {s:.0f} s ({100 * s / total:.0f} %)" for name, s in names)
            note(f"Time in cells: {', '.join(shares)}")
        for line in learnt(workspace, outcomes):
            prose(line)
        report_disproofs(disproofs, fell)
    print_lost(result)
    if options.keep:
        note(f"the cells are in {result.folder}; remove the folder when you are done")
    reports.write(released_report(workspace, cells, result.records))
    machine.interruption.exit_if_interrupted()
    return _exit_code(workspace, result)


def _exit_code(workspace: Workspace, result: BatchResult) -> int:
    if result.suite_faults or result.is_incomplete:
        return 2 if result.suite_faults else 3
    # What fails in every combination of a release is no failure of the cell that was run.
    failing = {cell: text for cell, text in result.outcomes.items() if text != "pass"}
    return int(bool(_not_working(workspace, failing)))


def _not_working(workspace: Workspace, outcomes: Mapping[str, str]) -> dict[str, str]:
    return {c: o for c, o in outcomes.items() if workspace.verdict(c).kind != "works"}


def _print_dry_run(workspace: Workspace, chosen: Sequence[CellToRun], options: RunOptions) -> None:
    workers = options.workers
    cells = [choice.cell for choice in chosen if not choice.obstacle]
    megabytes = min(workers, len(cells)) * workspace.matrix.suite.disk_mb
    seconds = seconds_together(workspace, cells, options)
    minutes = None if seconds is None else round(seconds / 60, 1)
    rows = [{"id": c.cell, "reason": c.reason, "obstacle": c.obstacle} for c in chosen]
    envelope({"cells": rows, "minutes": minutes, "most_mb": megabytes, "jobs": workers})
    for choice in chosen:
        ruled_out = f"; cannot run: {choice.obstacle}" if choice.obstacle else ""
        say(f"{choice.cell}  {choice.reason}{ruled_out}")
    if cells:
        say(f"{workload(workspace, cells, options)}; at most {megabytes:,} MB of disk at once")
