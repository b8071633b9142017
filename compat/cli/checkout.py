"""A checkout on the command line: its wheel is built, its cells run, and their verdicts printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from compat.cli.arguments import given
from compat.cli.lockers import workshop_of
from compat.cli.machine import environ, interpreter, now, sandbox_folder
from compat.cli.output import envelope, note, say
from compat.cli.progress import Progress
from compat.cli.reports import ReportFiles
from compat.cli.run_reports import RanCell, run_report
from compat.cli.this_machine import Interruption, ThisMachine
from compat.cli.verdicts import print_failures
from compat.cli.workload import print_lost, print_untried
from compat.errors import UsageError
from compat.fleet.batch import BatchResult, RunOptions
from compat.fleet.checkout_run import CheckoutCells, refuse_no_cells
from compat.fleet.choices import outside
from compat.plan.cell import Cell
from compat.plan.platform import python_name, python_remedy
from compat.results.state_words import STATE_WORDS
from compat.results.verdict import Verdict
from compat.run.checkout import BuiltCheckout, CheckoutOrder, built_checkout
from compat.run.evidence import Isolation
from compat.run.scratch import Scratch, remove_dead_folders
from compat.site.wording import count
from compat.workspace import Workspace

# What a user asks of a checkout: its source, the isolation level, whether its records are kept.
AskedCheckout = tuple[str, Isolation, bool]


@contextmanager
def cells_of_checkout(workspace: Workspace, asked: AskedCheckout) -> Iterator[CheckoutCells]:
    """Build the wheel of a checkout and yield its cells; the wheel goes when the context ends."""
    source, level, keep = asked
    axis, platform = workspace.matrix.interpreters, workspace.matrix.platform
    newest_first = sorted(axis.patches, reverse=True)
    pythons = [patch for patch in newest_first if interpreter(patch, platform)]
    if not pythons:
        name = python_name(axis.releases[-1], platform)
        hint = python_remedy(name)
        raise UsageError.of("this machine has no Python of the matrix to build with", hint=hint)
    order = CheckoutOrder(
        source=source,
        package=workspace.matrix.subject_axis.package,
        pythons=tuple(pythons),
        platform=workspace.matrix.platform,
    )
    folder = sandbox_folder(level) / "checkouts"
    remove_dead_folders(folder)
    scratch = Scratch(folder)
    try:
        checkout = built_checkout(
            order,
            scratch.folder / "build",
            lambda python: workshop_of(workspace, python, level),
            environ(),
        )
        yield CheckoutCells(workspace, checkout, now(), keep)
    finally:
        scratch.close()


def run_checkout(
    workspace: Workspace,
    asked: AskedCheckout,
    meant: tuple[Sequence[str], bool],
    options: RunOptions,
    reports: ReportFiles,
) -> int:
    """Run the cells of a checkout that are `meant`, words or the quick ones; print what they came
    to, write the reports, and return the exit code of `compat run`.
    """
    words, quick = meant
    with cells_of_checkout(workspace, asked) as cells:
        choice = cells.chosen(words, quick)
        refuse_no_cells(choice)
        note(f"{_subject(cells)}: {count(len(choice.cells), 'cell')} to run; isolation {asked[1]}")
        if choice.infeasible:
            note(outside(choice.infeasible))
        interruption = Interruption()
        pairs = dict.fromkeys((cell.id for cell in choice.cells), "")
        result = run_pairs(cells, pairs, (options, asked[1]), interruption)
    verdicts = {cell.id: cells.verdict(cell) for cell in choice.cells}
    if given.as_json:
        rows = [_row(verdict, result.outcomes.get(name)) for name, verdict in verdicts.items()]
        envelope({"checkout": checkout_row(cells.checkout), "cells": rows})
    else:
        _print(choice.cells, verdicts, result)
    ran = [_ran(cells, verdict) for verdict in verdicts.values()]
    reports.write(run_report(workspace, _subject(cells), ran))
    print_lost(result)
    print_untried(result)
    if interruption.signal:
        return 128 + interruption.signal
    return _exit_code(verdicts.values(), result)


def run_pairs(
    cells: CheckoutCells,
    pairs: Mapping[str, str],
    how: tuple[RunOptions, Isolation],
    interruption: Interruption,
) -> BatchResult:
    options, level = how
    machine = ThisMachine(cells.workspace, level, (cells.shown,))
    with Progress(dict.fromkeys(pairs), options.workers) as progress:
        return cells.run(pairs, machine, options, interruption.cancel, progress)


def checkout_row(checkout: BuiltCheckout) -> dict[str, Any]:
    return {
        "source": checkout.source,
        "version": checkout.version,
        "commit": checkout.commit,
        "changed": checkout.is_changed,
        "name": checkout.name,
        "wheels": {wheel.path.rpartition("/")[2]: wheel.sha256 for wheel in checkout.wheels},
    }


def _subject(cells: CheckoutCells) -> str:
    return f"{cells.workspace.matrix.subject_axis.package} {cells.checkout.words}"


def _ran(cells: CheckoutCells, verdict: Verdict) -> RanCell:
    records = cells.records.get(verdict.cell)
    if not records:
        return RanCell(verdict=verdict, word="no result", record=None)
    last, word = records[-1], STATE_WORDS[verdict.kind]
    return RanCell(verdict=verdict, word=word, record=last, came_to=str(last.outcome))


def _row(verdict: Verdict, outcome: str | None) -> dict[str, Any]:
    return {
        "id": verdict.cell,
        "verdict": verdict.kind,
        "outcome": outcome,
        "capabilities": {capability.id: capability.status for capability in verdict.capabilities},
        "reasons": verdict.reasons,
    }


def _print(cells: Sequence[Cell], verdicts: Mapping[str, Verdict], result: BatchResult) -> None:
    width = max(len(cell.id) for cell in cells)
    for cell in cells:
        verdict = verdicts[cell.id]
        say(f"{cell.id:<{width}}  {STATE_WORDS[verdict.kind]}  {verdict.score.head}".rstrip())
    print_failures(result.outcomes)


def _exit_code(verdicts: Iterable[Verdict], result: BatchResult) -> int:
    if result.suite_faults:
        return 2
    if result.is_incomplete:
        return 3
    return 0 if all(verdict.kind == "works" for verdict in verdicts) else 1
