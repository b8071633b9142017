"""The command for pull requests: what a checkout breaks and mends beside a release."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from packaging.version import Version

from compat import pipeline
from compat.cli.arguments import Exit, Option, given
from compat.cli.checkout import cells_of_checkout, checkout_row, run_pairs
from compat.cli.diff_reports import diff_report
from compat.cli.difference_words import COUNTED, HEADINGS, difference_counts, differing, moved_words
from compat.cli.machine import level_of
from compat.cli.options import (
    CellNames,
    IsolationLevel,
    KeepRecords,
    MatrixName,
    refuse_faulty_suite,
    workspace_of,
)
from compat.cli.output import envelope, note, say
from compat.cli.progress import Progress
from compat.cli.reports import JUnitFile, ReportFiles, SummaryFile
from compat.cli.run import Jobs, Quick
from compat.cli.this_machine import Interruption, ThisMachine
from compat.cli.workload import print_lost, workers_that_fit
from compat.fleet.batch import BatchResult, RunOptions
from compat.fleet.checkout_compare import Comparison, compared
from compat.fleet.checkout_run import NEWEST, CheckoutCells, CheckoutChoice
from compat.run.evidence import Isolation
from compat.site.wording import count

Against = Annotated[
    str,
    Option("--against", metavar="VERSION", help="'newest', or a release of the matrix."),
]
Source = Annotated[
    str,
    Option(
        "--subject-from",
        metavar="SOURCE",
        help="The checkout: a folder, a wheel, or git+https://HOST/REPOSITORY@REVISION.",
    ),
]


def diff_command(
    matrix: MatrixName,
    words: CellNames = None,
    against: Against = NEWEST,
    subject_from: Source = ".",
    quick: Quick = False,
    jobs: Jobs = 1,
    keep_records: KeepRecords = False,
    isolation: IsolationLevel = "",
    junit: JUnitFile = None,
    summary: SummaryFile = None,
) -> None:
    """Compare a checkout with a release: regressions and fixes.

    The wheel is built once, by the project's own build back end. Each cell of the checkout has the
    packages of the release's cell beside it, with the subject alone exchanged, where both ask for
    the same packages; else it is locked anew, and the packages that moved are named. A release's
    cell without a fresh result is run first, and recorded as `compat run` does. What breaks in one
    cell alone is run once more. Nothing of the checkout is kept without --keep-records.

    Without cells: all that a plain install of the checkout could give, if they are few.

    Ends with 1 when something works with the release and not with the checkout, or can be installed
    with the checkout alone, and fails; also when the checkout cannot be built. With 2 when the
    suite is at fault, with 3 when a cell has no answer, else with 0.

    --junit and --summary leave the comparison for CI: only what breaks is a failure there.

    Examples: compat diff flask; compat diff flask --against 3.0 --quick --json; compat diff flask
    'py3.13-*' --subject-from ../flask --junit diff.xml --summary "$GITHUB_STEP_SUMMARY"
    """
    workspace = workspace_of(matrix)
    refuse_faulty_suite(workspace)
    level = level_of(isolation)
    options = RunOptions(workers=workers_that_fit(jobs, workspace.matrix.suite))
    with cells_of_checkout(workspace, (subject_from, level, keep_records)) as cells:
        release = cells.against(against)
        choice = cells.chosen(words or (), quick)
        note(f"{_heading(cells, release)}; isolation {level}")
        interruption = Interruption()
        comparison = _compared(cells, choice, release, (options, level), interruption)
    named, heading = _released(cells, release), _heading(cells, release)
    if given.as_json:
        envelope(_payload(cells, comparison, release))
    else:
        say(f"{heading}: {difference_counts(comparison)}")
        _print(cells, comparison, named)
    files = ReportFiles(junit=junit, summary=summary)
    files.write(diff_report(cells, comparison, heading, named))
    _print_last(comparison)
    raise Exit(128 + interruption.signal if interruption.signal else _exit_code(comparison))


def _compared(
    cells: CheckoutCells,
    choice: CheckoutChoice,
    release: Version,
    how: tuple[RunOptions, Isolation],
    interruption: Interruption,
) -> Comparison:
    options, level = how

    def run_released(names: Sequence[str]) -> BatchResult:
        note(f"{count(len(names), 'cell')} of the release to run, as none has a fresh result")
        machine = ThisMachine(cells.workspace, level)
        with Progress(dict.fromkeys(names), options.workers) as progress:
            return pipeline.run(
                cells.workspace, names, machine, options, interruption.cancel, progress
            )

    def run_local(pairs: Mapping[str, str]) -> BatchResult:
        note(f"{count(len(pairs), 'cell')} of the checkout to run")
        return run_pairs(cells, pairs, how, interruption)

    return compared(cells, choice, release, run_released, run_local)


def _released(cells: CheckoutCells, release: Version) -> str:
    return f"{cells.workspace.matrix.subject_axis.package} {release}"


def _heading(cells: CheckoutCells, release: Version) -> str:
    package = cells.workspace.matrix.subject_axis.package
    return f"{package} {cells.checkout.words} beside {_released(cells, release)}"


def _print(cells: CheckoutCells, comparison: Comparison, release: str) -> None:
    titles = {known.id: known.title for known in cells.workspace.described}
    above = ""
    for kind, sentence, names in differing(comparison, titles, release):
        if kind != above:
            say()
            say(f"{HEADINGS[kind]}:")
        above = kind
        say(f"  {sentence}")
        for name in names:
            say(f"    {name}")
    for line in moved_words(comparison):
        say(f"  {line}")


def _print_last(comparison: Comparison) -> None:
    for batch in comparison.batches:
        print_lost(batch)
    if comparison.kept:
        held = count(comparison.kept, "cell")
        was = "was" if comparison.kept == 1 else "were"
        note(f"Of the release {held} had a fresh result and {was} not run again.")


def _payload(cells: CheckoutCells, comparison: Comparison, release: Version) -> dict[str, Any]:
    kinds = [known.difference for known in comparison.differences]
    return {
        "checkout": checkout_row(cells.checkout),
        "against": str(release),
        "counts": {kind: kinds.count(kind) for kind in COUNTED},
        "cells": comparison.differences,
    }


def _exit_code(comparison: Comparison) -> int:
    if comparison.has_suite_fault:
        return 2
    if comparison.breaking:
        return 1
    return 3 if comparison.is_incomplete else 0
