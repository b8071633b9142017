"""The command for pull requests: what a checkout breaks and mends beside a release."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer
from packaging.version import Version

from compat import pipeline
from compat.cli.checkout import cells_of_checkout, checkout_row, print_unanswered, run_pairs
from compat.cli.machine import level_of, workers_that_fit
from compat.cli.options import (
    CellNames,
    ExtraIndexUrl,
    IndexUrl,
    IsolationLevel,
    Json,
    KeepRecords,
    MatrixName,
    Root,
    refuse_faulty_suite,
    workspace_of,
)
from compat.cli.output import envelope, note, say
from compat.cli.progress import Progress
from compat.cli.run import Jobs, Quick
from compat.cli.this_machine import Interruption, ThisMachine
from compat.fleet.batch import BatchResult, RunOptions
from compat.fleet.checkout_compare import Comparison, compared
from compat.fleet.checkout_run import NEWEST, CheckoutCells, CheckoutChoice
from compat.results.checkout_diff import CapabilityDifference, CellDifference, Difference
from compat.results.state_words import STATE_WORDS
from compat.run.evidence import Isolation
from compat.run.outcome import parse_outcome
from compat.site.wording import cause_sentence, count, listed

Against = Annotated[
    str,
    typer.Option("--against", metavar="VERSION", help="'newest', or a release of the matrix."),
]
Source = Annotated[
    str,
    typer.Option(
        "--subject-from",
        metavar="SOURCE",
        help="The checkout: a folder, a wheel, or git+https://HOST/REPOSITORY@REVISION.",
    ),
]
# What stands above the cells of each kind, where there are any; `same` is only counted.
_HEADINGS: dict[Difference, str] = {
    "breaks": "Broken",
    "mends": "Mended",
    "flaky": "Flaky: runs of the same files disagree",
    "unknown": "Without an answer",
}
_COUNTED: dict[Difference, str] = {
    "breaks": "broken",
    "mends": "mended",
    "same": "as before",
    "flaky": "flaky",
    "unknown": "without an answer",
}
_MOST_MOVED = 5  # packages that a line names


def diff_command(
    matrix: MatrixName,
    words: CellNames = None,
    against: Against = NEWEST,
    subject_from: Source = ".",
    quick: Quick = False,
    jobs: Jobs = 1,
    keep_records: KeepRecords = False,
    isolation: IsolationLevel = "",
    as_json: Json = False,
    root: Root = None,
    index_url: IndexUrl = None,
    extra_index_url: ExtraIndexUrl = None,
) -> None:
    """Say what a checkout breaks and mends beside a release, cell by cell, capability by
    capability.

    The wheel is built once, by the project's own build back end. Each cell of the checkout has the
    packages of the release's cell beside it, with the subject alone exchanged, where both ask for
    the same packages; else it is locked anew, and the packages that moved are named. A release's
    cell without a fresh result is run first, and recorded as `compat run` does. What breaks in one
    cell alone is run once more. Nothing of the checkout is kept without --keep-records.

    Without cells: all that a plain install of the checkout could give, if they are few.

    Ends with 1 when something works with the release and not with the checkout, or can be installed
    with the checkout alone, and fails; also when the checkout cannot be built. With 2 when the
    suite is at fault, with 3 when a cell has no answer, else with 0.

    Examples: compat diff flask; compat diff flask --against 3.0 --quick --json; compat diff flask
    'py3.13-*' --subject-from ../flask
    """
    workspace = workspace_of(matrix, root, index_url, extra_index_url)
    refuse_faulty_suite(workspace)
    level = level_of(isolation)
    options = RunOptions(workers=workers_that_fit(jobs, workspace.matrix.suite))
    with cells_of_checkout(workspace, (subject_from, level, keep_records)) as cells:
        release = cells.against(against)
        choice = cells.chosen(words or (), quick)
        note(f"{_heading(cells, str(release))}; isolation {level}")
        interruption = Interruption()
        comparison = _compared(cells, choice, release, (options, level), interruption)
    if as_json:
        envelope(_payload(cells, comparison, release))
    else:
        say(f"{_heading(cells, str(release))}: {_counts(comparison)}")
        _print(cells, comparison, f"{workspace.matrix.subject_axis.package} {release}")
    for batch in comparison.batches:
        print_unanswered(batch)
    if comparison.kept:
        held = count(comparison.kept, "cell")
        was = "was" if comparison.kept == 1 else "were"
        note(f"Of the release {held} had a fresh result and {was} not run again.")
    raise typer.Exit(128 + interruption.signal if interruption.signal else _exit_code(comparison))


def _compared(
    cells: CheckoutCells,
    choice: CheckoutChoice,
    release: Version,
    how: tuple[RunOptions, Isolation],
    interruption: Interruption,
) -> Comparison:
    """Run what is needed, and show the progress."""
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


def _heading(cells: CheckoutCells, release: str) -> str:
    package = cells.workspace.matrix.subject_axis.package
    return f"{package} {cells.checkout.words} beside {package} {release}"


def _counts(comparison: Comparison) -> str:
    """Say how many places there are of each kind."""
    total = len(comparison.differences)
    kinds = [known.difference for known in comparison.differences]
    parts = [f"{kinds.count(kind)} {words}" for kind, words in _COUNTED.items() if kind in kinds]
    return f"{count(total, 'cell')}: {', '.join(parts)}" if total else "no cell to compare"


def _print(cells: CheckoutCells, comparison: Comparison, release: str) -> None:
    """Print what differs, equal reasons once, with the cells that each is about."""
    titles = {known.id: known.title for known in cells.workspace.described}
    for kind, heading in _HEADINGS.items():
        reasons: dict[str, list[str]] = {}
        for known in comparison.differences:
            if known.difference == kind:
                for sentence in _reasons(known, titles, release):
                    reasons.setdefault(sentence, []).append(known.cell)
        if reasons:
            say()
            say(f"{heading}:")
        for sentence, names in reasons.items():
            say(f"  {sentence}")
            for name in names:
                say(f"    {name}")
    for known in comparison.differences:
        if known.moved and known.difference in _HEADINGS:
            say(f"  {known.cell} has other packages, too: {listed(known.moved, _MOST_MOVED)}")


def _reasons(known: CellDifference, titles: Mapping[str, str], release: str) -> Iterator[str]:
    """Yield why a place differs: each capability, else what the whole cell came to."""
    is_broken = known.difference == "breaks"
    for change in known.capabilities:
        if change.is_worse or not is_broken:
            yield _capability_words(change, titles.get(change.id, ""))
    if any(change.is_worse for change in known.capabilities) or not known.outcome_after:
        if not known.capabilities:
            yield known.because or f"{known.before} -> {known.after}"
        return
    if is_broken and known.before == "infeasible":
        yield f"could not be installed with {release}, and can be now; {_cause(known)}"
    elif is_broken or not known.capabilities:
        yield f"{STATE_WORDS[known.before]} with {release}; {_cause(known)}"


def _cause(known: CellDifference) -> str:
    return cause_sentence(parse_outcome(known.outcome_after))


def _capability_words(change: CapabilityDifference, title: str) -> str:
    """Say what became of a capability, and what was raised where."""
    name = f"{change.id} ({title})" if title and title != change.id else change.id
    if not change.is_worse:
        return f"{name} works now"
    if change.after == "absent":
        return f"{name} is not there any more: {change.subject}"
    if change.after is None:
        return f"{name} has no result any more: the tests did not come to it"
    return f"{name} fails: {change.subject or change.cause}"


def _payload(cells: CheckoutCells, comparison: Comparison, release: Version) -> dict[str, Any]:
    kinds = [known.difference for known in comparison.differences]
    return {
        "checkout": checkout_row(cells.checkout),
        "against": str(release),
        "counts": {kind: kinds.count(kind) for kind in _COUNTED},
        "cells": comparison.differences,
    }


def _exit_code(comparison: Comparison) -> int:
    if comparison.has_suite_fault:
        return 2
    if comparison.breaking:
        return 1
    return 3 if comparison.is_incomplete else 0
