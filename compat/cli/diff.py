"""`compat diff`, and `compat run` of a checkout: build, run, compare with a release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from compat.cli.arguments import Exit, option
from compat.cli.machine import environ, interpreter, level_of, now, sandbox_folder, scratch
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
from compat.cli.output import envelope, fields, note, say
from compat.cli.reports import Case, CellCases, Report, ReportFiles, run_report
from compat.cli.run import print_lost, workers_that_fit
from compat.cli.this_machine import ThisMachine, workshop_of
from compat.cli.verdicts import print_failures
from compat.errors import UsageError
from compat.fleet import checkout_run
from compat.fleet.batch import RunOptions
from compat.fleet.choices import outside
from compat.github.markdown import code, inline
from compat.plan.platform import python_name, python_remedy
from compat.results.answer import STATE_WORDS
from compat.results.compare import CapabilityDifference, CellDifference, Difference
from compat.results.record import Record
from compat.run.checkout import BuiltCheckout, CheckoutOrder, built_checkout
from compat.run.evidence import Isolation
from compat.run.outcome import Failed, parse_outcome
from compat.site.paths import address, page
from compat.site.wording import cause_sentence, count, listed
from compat.value import grouped
from compat.workspace import Workspace


@contextmanager
def cells_of_checkout(
    workspace: Workspace, source: str, level: Isolation, keep: bool
) -> Iterator[checkout_run.CheckoutCells]:
    """Build the wheel of a checkout and yield its cells; the wheel is deleted at the end."""
    axis, platform = workspace.matrix.interpreters, workspace.matrix.platform
    newest_first = sorted(axis.patches, reverse=True)
    pythons = [patch for patch in newest_first if interpreter(patch, platform)]
    if not pythons:
        hint = python_remedy(python_name(axis.releases[-1], platform))
        raise UsageError.of("this machine has no Python of the matrix to build with", hint=hint)
    order = CheckoutOrder(
        source=source,
        package=workspace.matrix.subject_axis.package,
        pythons=tuple(pythons),
        platform=workspace.matrix.platform,
    )
    shop = partial(workshop_of, workspace, level=level)
    with scratch(sandbox_folder(level) / "checkouts") as own:
        checkout = built_checkout(order, own.folder / "build", shop, environ())
        yield checkout_run.CheckoutCells(workspace, checkout, now(), keep)


def run_checkout(
    cells: checkout_run.CheckoutCells,
    choice: checkout_run.CheckoutChoice,
    level: Isolation,
    options: RunOptions,
    reports: ReportFiles,
) -> int:
    """Run cells of a checkout, report, and return the exit code of `compat run`."""
    workspace, subject = cells.workspace, _subject(cells)
    checkout_run.refuse_no_cells(choice)
    note(f"{subject}: {count(len(choice.cells), 'cell')} to run; isolation {level}")
    if choice.infeasible:
        note(outside(choice.infeasible))
    machine = ThisMachine(workspace, level, (cells.shown,))
    pairs = dict.fromkeys((cell.id for cell in choice.cells), "")
    result = cells.run(pairs, machine, options)
    verdicts = {name: cells.verdict(cell) for name, cell in zip(pairs, choice.cells, strict=True)}
    rows, width = [], max(map(len, pairs))
    for name, verdict in verdicts.items():
        row = {"id": verdict.id, "verdict": verdict.kind, "outcome": result.outcomes.get(name)}
        capabilities = {known.id: known.status for known in verdict.capabilities}
        rows.append({**row, "capabilities": capabilities, "reasons": verdict.reasons})
        say(f"{name:<{width}}  {STATE_WORDS[verdict.kind]}  {verdict.score.head}".rstrip())
    envelope({"checkout": checkout_row(cells.checkout), "cells": rows})
    print_failures(result.outcomes)
    records = {v.id: runs[-1] for v in verdicts.values() if (runs := cells.records.get(v.id))}
    kinds = {verdict.id: STATE_WORDS[verdict.kind] for verdict in verdicts.values()}
    reports.write(run_report(workspace, subject, verdicts.values(), records, kinds.__getitem__))
    print_lost(result)
    machine.interruption.exit_if_interrupted()
    if result.suite_faults or result.is_incomplete:
        return 2 if result.suite_faults else 3
    return 0 if all(verdict.kind == "works" for verdict in verdicts.values()) else 1


def checkout_row(checkout: BuiltCheckout) -> dict[str, Any]:
    return {
        **fields(checkout, "source version commit name"),
        "changed": checkout.is_changed,
        "wheels": {wheel.path.rpartition("/")[2]: wheel.sha256 for wheel in checkout.wheels},
    }


def _subject(cells: checkout_run.CheckoutCells) -> str:
    return f"{cells.workspace.matrix.subject_axis.package} {cells.checkout.words}"


# How cells of each kind are counted, and what stands above them, where they are listed.
KINDS: dict[Difference, tuple[str, str]] = {
    "breaks": ("broken", "Broken"),
    "mends": ("fixed", "Fixed"),
    "same": ("as before", ""),
    "flaky": ("flaky", "Flaky: runs of the same files disagree"),
    "unknown": ("without an answer", "Without an answer"),
}
_MOST_MOVED = 5  # packages that a line names
MOST_CELLS = 10  # that a row names
_MOST_NAMED = 3  # capabilities with the same result that a line names
_PLURALS = {"works": "work", "was": "were", "has": "have", "fails:": "fail:"}
# A capability and what became of it, which together are a sentence.
_Reason = tuple[str, str]


def differing(
    comparison: checkout_run.Comparison, titles: Mapping[str, str], release: str
) -> Iterator[tuple[Difference, str, list[str]]]:
    """Yield each difference, regressions first: kind, reason, cells. Many capabilities that fail
    alike in the same cells are one reason. `titles` are those of capabilities by id, `release` is
    package and version.
    """
    for kind in (kind for kind, (_, heading) in KINDS.items() if heading):
        reasons = grouped(
            (reason, known.cell)
            for known in comparison.differences
            if known.difference == kind
            for reason in _reasons(known, titles, release)
        )
        for sentence, names in _folded(reasons):
            yield kind, sentence, names


def _folded(reasons: Mapping[_Reason, list[str]]) -> Iterator[tuple[str, list[str]]]:
    alike = grouped(((fate, tuple(cells)), name) for (name, fate), cells in reasons.items())
    for (fate, places), names in alike.items():
        if len(names) > _MOST_NAMED:
            head, _, tail = fate.partition(" ")
            yield f"{listed(names, _MOST_NAMED)} {_PLURALS[head]} {tail}", list(places)
        else:
            yield from ((f"{name} {fate}".lstrip(), list(places)) for name in names)


def _reasons(known: CellDifference, titles: Mapping[str, str], release: str) -> Iterator[_Reason]:
    is_broken = known.difference == "breaks"
    for change in known.capabilities:
        if change.is_worse or not is_broken:
            yield _name(change, titles.get(change.id, "")), _fate(change)
    before = STATE_WORDS[known.before]
    if any(change.is_worse for change in known.capabilities) or not known.outcome_after:
        if not known.capabilities:
            both = f"{before} with {release}, {STATE_WORDS[known.after]} with the checkout"
            yield "", known.because or both
        return
    cause = cause_sentence(parse_outcome(known.outcome_after))
    if is_broken and known.before == "infeasible":
        yield "", f"could not be installed with {release}, and can be now; {cause}"
    elif is_broken or not known.capabilities:
        yield "", f"{before} with {release}; {cause}"


def _name(change: CapabilityDifference, title: str) -> str:
    return f"{change.id} ({title})" if title and title != change.id else change.id


def _fate(change: CapabilityDifference) -> str:
    if not change.is_worse:
        return "works now"
    if change.after == "absent":
        return f"was removed: {change.subject}"
    if change.after is None:
        return "has no result: the tests did not reach it"
    return f"fails: {change.subject or change.cause}"


def _cases(
    known: CellDifference, last: Record | None, titles: Mapping[str, str], release: str
) -> Iterator[Case]:
    reasons = _reasons(known, titles, release)
    because = "; ".join(f"{name} {fate}".lstrip() for name, fate in reasons)
    if known.difference == "unknown":
        yield Case("run", "error", f"without an answer; {because}")
        return
    if known.difference == "flaky":
        why = f"flaky: runs of the same files disagree; {because}"
        yield Case("run", "skipped", why)
        return
    worse = {change.id: change for change in known.capabilities if change.is_worse}
    now = {} if last is None else {each.id: each for each in last.capabilities}
    for name in sorted({*now, *worse}):
        if name in worse:
            why = f"{_name(worse[name], titles.get(name, ''))} {_fate(worse[name])}"
            yield Case(name, "failure", why, worse[name].cause)
        elif now[name].status == "yes":
            yield Case(name)
        else:
            why = f"fails: {now[name].subject or now[name].cause}"
            if now[name].status == "absent":
                why = f"the checkout does not have {', '.join(now[name].missing) or 'it'}"
            why = f"{why}; it is not known to work with {release} either"
            yield Case(name, "skipped", why)
    outcome = parse_outcome(known.outcome_after) if known.outcome_after else None
    stage = outcome.stage if isinstance(outcome, Failed) else "plan"
    log = "" if last is None else last.log
    if known.difference == "breaks" and not worse:
        yield Case(stage, "failure", because, log=log)
    elif not now and isinstance(outcome, Failed):
        yield Case(stage, "skipped", because)
    elif not now:
        yield Case("suite")


def diff_command(
    matrix: str = MATRIX_NAME,
    words: list[str] | None = CELL_NAMES,
    against: str = option(
        "Release of the matrix, or 'newest'.", metavar="VERSION", default="newest"
    ),
    subject_from: str = option(
        "Checkout: folder, wheel, or git+https://HOST/REPOSITORY@REVISION.",
        metavar="SOURCE",
        default=".",
    ),
    quick: bool = QUICK,
    jobs: int | None = JOBS,
    keep_records: bool = KEEP_RECORDS,
    isolation: str = ISOLATION_LEVEL,
    junit: Path | None = JUNIT_FILE,
    summary: Path | None = SUMMARY_FILE,
) -> None:
    """Compare a checkout with a release: regressions and fixes.

    Builds one wheel with the project's build back end and tests it with the packages of the
    release's cell. Locks the cell again if requirements differ, and reports the packages that
    moved. A release cell without a fresh result runs first and is recorded. A regression in one
    cell alone runs again. Stores nothing of the checkout without --keep-records.

    Without cells: what a plain install of the checkout could give; if there are many, the smoke
    cells, the variants and the newest.

    Exits 1 for a regression or a failed build, 2 for a suite fault, 3 if a cell whose Python is
    here has no answer. In --junit and --summary only regressions are failures.

    Examples: compat diff flask; compat diff flask --against 3.0 --quick --json; compat diff flask
    'py3.13-*' --subject-from ../flask --junit diff.xml --summary "$GITHUB_STEP_SUMMARY"
    """
    workspace = workspace_of(matrix)
    refuse_faulty_suite(workspace)
    level = level_of(isolation)
    options = RunOptions(workers=workers_that_fit(jobs, workspace.matrix.suite))
    with cells_of_checkout(workspace, subject_from, level, keep_records) as cells:
        release = cells.against(against)
        choice = cells.chosen(words or (), quick)
        named = f"{workspace.matrix.subject_axis.package} {release}"
        heading = f"{_subject(cells)} beside {named}"
        note(f"{heading}; isolation {level}")
        if choice.beyond:
            more = count(choice.beyond, "more cell")
            note(f"the first {len(choice.cells)} are run; {more}: name them, such as 'py3.13-*'")
        machine = ThisMachine(workspace, level)
        local = ThisMachine(workspace, level, (cells.shown,), machine.interruption)
        comparison = checkout_run.compared(cells, choice, release, (machine, local), options)
    differences = comparison.differences
    kinds = [known.difference for known in differences]
    titles = {known.id: known.title for known in workspace.described}
    groups = list(differing(comparison, titles, named))
    moved = [
        f"{known.cell} also has other packages: {listed(known.moved, _MOST_MOVED)}"
        for known in differences
        if known.moved and known.difference != "same"
    ]
    counted = ", ".join(
        f"{kinds.count(k)} {words}" for k, (words, _) in KINDS.items() if k in kinds
    )
    counted = f"{count(len(kinds), 'cell')}: {counted}" if kinds else "no cell to compare"
    document = {"checkout": checkout_row(cells.checkout), "against": str(release)}
    counts = {kind: kinds.count(kind) for kind in KINDS}
    envelope({**document, "counts": counts, "cells": differences})
    say(f"{heading}: {counted}")
    above = ""
    for kind, sentence, names in groups:
        if kind != above:
            say("", f"{KINDS[kind][1]}:")
        above = kind
        say(f"  {sentence}")
        say(*names, indent=4)
    say(*moved, indent=2)
    compare = address(page(workspace.name, "compare"))
    note(f"Compare {named} with other releases on the site: {compare}?old={release}")
    suites = []
    for known in differences:
        last = next(reversed(cells.records.get(known.cell, ())), None)
        suites.append(CellCases(known.cell, last, tuple(_cases(known, last, titles, named))))
    rows = []
    for kind, sentence, names in groups:
        more = f" and {len(names) - MOST_CELLS} more" if len(names) > MOST_CELLS else ""
        codes = ", ".join(map(code, names[:MOST_CELLS])) + more
        rows.append((inline(KINDS[kind][1]), inline(sentence, 500), codes))
    ReportFiles(junit=junit, summary=summary).write(
        Report(
            command=f"compat diff {workspace.name}",
            suites=tuple(suites),
            heading=f"{heading}: {counted}",
            columns=("", "what", "cells"),
            rows=tuple(rows),
            sentences=tuple(moved),
        )
    )
    for batch in comparison.batches:
        print_lost(batch)
    if comparison.kept:
        held = count(comparison.kept, "cell")
        was = "was" if comparison.kept == 1 else "were"
        note(f"Of the release {held} had a fresh result and {was} not run again.")
    machine.interruption.exit_if_interrupted()
    if comparison.has_suite_fault:
        raise Exit(2)
    raise Exit(1 if comparison.breaking else 3 if comparison.is_incomplete else 0)
