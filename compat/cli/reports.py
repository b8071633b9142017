"""Results of a run: sentences for people, JUnit XML and Markdown for CI; and `compat matrix
variants`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from compat import files
from compat.cli.arguments import Exit, option
from compat.cli.options import (
    DRY_RUN,
    MATRIX_NAME,
    REPOSITORY_NAME,
    SUMMARY_FILE,
    workspace_of,
)
from compat.cli.output import envelope, note, say
from compat.cli.verdicts import RunWords, verdict_words
from compat.errors import one_line
from compat.github.markdown import code, inline
from compat.plan.cell import VARIANTS, Coordinate
from compat.results.answer import EXCUSED, Answer, lifted, representative
from compat.results.compare import variant_report
from compat.results.record import Record
from compat.run.outcome import (
    Failed,
    Outcome,
    Passed,
    brief,
    is_doubtful,
    is_spurious,
    is_suite_fault,
    parse_outcome,
)
from compat.site import wording
from compat.site.status import floor_words, no_prerelease_words, variant_blame
from compat.value import Value
from compat.workspace import Workspace

# Up to so many combinations have a sentence each; more are counted.
_FEW = 3


class _Answers:
    """The cells of this run that have an answer, by combination, the best first."""

    def __init__(self, workspace: Workspace, outcomes: Mapping[str, str]) -> None:
        self.workspace = workspace
        known = workspace.at_hand.by_id
        self.outcomes: dict[str, Outcome] = {}
        places: dict[tuple[Coordinate, ...], list[Answer]] = {}
        for cell, text in outcomes.items():
            outcome, entry = parse_outcome(text), known.get(cell)
            if entry is None or entry.cell.is_variant:
                continue
            # A doubtful outcome counts once a second run confirms it.
            is_doubted = isinstance(outcome, Failed) and is_doubtful(outcome)
            counted = None if entry.outcome is None else brief(entry.outcome)
            if is_spurious(outcome) or is_suite_fault(outcome):
                continue
            if is_doubted and counted != brief(outcome):
                continue
            self.outcomes[cell] = outcome
            places.setdefault(entry.cell.coordinates, []).append(entry)
        waiting = list(places.values())
        self.places: list[list[Answer]] = []
        while waiting:
            best = representative(entry for entries in waiting for entry in entries)
            chosen = next(entries for entries in waiting if best in entries)
            waiting.remove(chosen)
            self.places.append([best, *(entry for entry in chosen if entry is not best)])

    def works(self, entry: Answer) -> bool:
        return entry.kind in ("works", "partial") and not self._is_refused(entry)

    def sentence(self, entries: Sequence[Answer]) -> str:
        best, *others = entries
        place = wording.combination_words(best.cell, self.workspace.matrix)
        verb, detail = self._said(best)
        clauses = [f"{place} {verb} {self._how(best)}{detail}"]
        for entry in others:
            verb, detail = self._said(entry)
            clauses.append(f"{self._how(entry)}, it {verb}{detail}")
        return f"{'; '.join(clauses)}."

    def _said(self, entry: Answer) -> tuple[str, str]:
        outcome, kind = self.outcomes[entry.cell.id], entry.kind
        if isinstance(outcome, Failed) and self._is_refused(entry):
            today = " today" if entry.cell.recipe == "fresh" else ""
            return f"cannot be installed{today}", f": {wording.reason_words(outcome)}"
        score = entry.score
        if entry.evidence == "smoke" and kind in ("works", "partial"):
            passes = "passes" if kind == "works" else "passes a part of"
            score_words = f" ({score.words})" if score.passing < score.asked else ""
            return f"{passes} the suite's core (only that ran)", score_words
        if kind == "works":
            return "works", f" ({score.words})" if score.passing < score.asked else ""
        if kind == "partial":
            return "partly works", f" ({score.words})" if score.words else ""
        if kind == "flaky":
            return "passes and fails by chance", ""
        if isinstance(outcome, Passed):
            return "passed, but has no answer yet", ""
        where = f", at {outcome.at}" if outcome.at else ""
        verb = "has no answer yet" if kind == "unknown" else "does not work"
        return verb, f": {wording.reason_words(outcome)}{where}"

    def _is_refused(self, entry: Answer) -> bool:
        outcome = self.outcomes[entry.cell.id]
        return isinstance(outcome, Failed) and outcome.stage in ("plan", "lock", "install")

    def _how(self, entry: Answer) -> str:
        if entry.cell.recipe == "fresh":
            return "as published"
        if entry.cell.recipe == "dated":
            return "as published, with packages of its time"
        lock = self.workspace.lock(entry.cell.id)
        # Without a kept catalogue it is not known here what was published.
        if lock is None or self.workspace.stored_catalogue is None:
            return "with changed dependency pins"
        facts = self.workspace.at_hand.feasibility
        packages = [name for change in lifted(facts, entry.cell, lock) for name in change.packages]
        if not packages:
            return wording.UNCHANGED_WORDS
        named = wording.listed(list(dict.fromkeys(packages)), 4)
        return f"when the requirements on {named} are changed"


def learnt(workspace: Workspace, outcomes: Mapping[str, str]) -> tuple[str, ...]:
    """Return the results of a run as sentences: one for each combination if they are few, else the
    numbers and the best. Cells ended by the machine, the network or the suite are left out. The
    last sentence is what to do next.
    """
    answers, name = _Answers(workspace, outcomes), workspace.name
    best = [entries[0] for entries in answers.places]
    cell = best[0].cell.id if best else "CELL"
    working = list(filter(answers.works, best))
    following = f"compat show {name} {cell} shows its test results and how to reproduce them"
    if not best and any(text.partition("+")[2] in VARIANTS for text in outcomes):
        following = f"compat matrix variants {name} compares them with the regular cells"
    elif working:
        following = f"compat advise {name} recommends what to install; {following}"
    following = f"Next: {following}."
    if len(best) <= _FEW:
        return *map(answers.sentence, answers.places), following
    partial = sum(entry.kind == "partial" for entry in working)
    whole = len(working) - partial
    summary = f"Of {len(best):,} combinations that ran, {whole or 'none'}"
    summary += " works" if whole < 2 else " work"
    if partial:
        summary += f" and {partial} partly {'works' if partial == 1 else 'work'}"
    if any(entry.evidence == "smoke" for entry in working):
        summary += ", as far as the suite's core shows"
    first = f". The best of them: {answers.sentence([working[0]])}" if working else "."
    return f"{summary}{first}", following


def released_report(
    workspace: Workspace, cells: Sequence[str], records: Sequence[Record]
) -> Report:
    title = workspace.matrix.title
    if not cells:
        heading = f"{title}: nothing was due"
        return Report(command=f"compat run {workspace.name}", suites=(), heading=heading)
    by_cell, words = {record.cell: record for record in records}, RunWords(workspace)
    outcomes = {record.cell: str(record.outcome) for record in records}
    sentences = learnt(workspace, outcomes) if outcomes else ()
    verdicts = map(workspace.verdict, cells)
    word = partial(verdict_words, workspace)
    return run_report(workspace, title, verdicts, by_cell, word, words.of_record, sentences)


def run_report(
    workspace: Workspace,
    title: str,
    verdicts: Iterable[Answer],
    records: Mapping[str, Record],
    word: Callable[[str], str],
    outcome_words: Callable[[Record], str] = lambda record: str(record.outcome),
    sentences: tuple[str, ...] = (),
) -> Report:
    """Return the report of cells that were to run, failing ones first in the summary; `word` is the
    verdict of one that has a record, by its id.

    Each cell is a suite, each capability a case. A capability that fails only in this combination
    is a failure. What the release lacks, or fails in every combination, is skipped. Machine and
    network failures are errors, and so is a cell without a result.
    """
    working, others, suites = list[tuple[str, ...]](), list[tuple[str, ...]](), []
    for verdict in verdicts:
        cell, record = verdict.id, records.get(verdict.id)
        shown, why = "no result", "compat could not run it, or was stopped"
        if record is None:
            message = "compat could not run this cell, or was stopped; see what it printed"
            cases: tuple[Case, ...] = (Case("run", "error", message),)
        else:
            cases, shown = tuple(_cases(verdict, record)), word(cell)
            why = outcome_words(record)
            is_stored = isinstance(record.outcome, Failed) and why == str(record.outcome)
            why = inline(wording.cause_sentence(record.outcome) if is_stored else why, 500)
        suites.append(CellCases(cell, record, cases))
        is_working = record is not None and verdict.kind == "works"
        (working if is_working else others).append((code(cell), inline(shown), why))
    number = f"{len(working):,} of {len(suites):,} combinations work"
    if len(suites) == 1:
        number = f"the combination {'works' if working else 'does not work'}"
    return Report(
        command=f"compat run {workspace.name}",
        suites=tuple(suites),
        heading=f"{title}: {number}",
        columns=("cell", "verdict", "this run"),
        rows=(*others, *working),
        sentences=sentences,
    )


def _cases(verdict: Answer, record: Record) -> Iterator[Case]:
    excused = {fault.id: fault.fault for fault in verdict.faults if fault.fault in EXCUSED}
    for capability in record.capabilities:
        name, failed = capability.id, capability.failed
        if capability.status == "absent":
            lacking = ", ".join(capability.missing) or "it"
            why = f"this release does not have {lacking}"
            yield Case(name, "skipped", why)
        elif failed is None:
            yield Case(name)
        elif name in excused:
            why = f"{wording.fault_words(excused[name])}: {wording.reason_words(failed)}"
            yield Case(name, "skipped", why)
        else:
            why = capability.subject or wording.reason_words(failed)
            yield Case(name, "failure", why, failed.cause)
    outcome = record.outcome
    failing = {capability.id for capability in record.capabilities if capability.status == "no"}
    if isinstance(outcome, Failed) and not (outcome.stage == "test" and outcome.subject in failing):
        tag, why = "error" if is_spurious(outcome) else "failure", wording.cause_sentence(outcome)
        yield Case(outcome.stage, tag, why, outcome.cause, record.log)
    elif not record.capabilities and isinstance(outcome, Passed):
        yield Case("suite")


# A job's summary may have 1 MiB; more rows than these nobody reads.
_MOST_ROWS = 100


class Case(NamedTuple):
    """A test case of JUnit. It passed if `tag` (failure, error or skipped) is empty; `kind` is the
    cause for programs, `log` the end of the output.
    """

    name: str
    tag: str = ""
    message: str = ""
    kind: str = ""
    log: str = ""


class CellCases(NamedTuple):
    """A suite of JUnit: a cell, its newest run, and what came of each capability."""

    cell: str
    record: Record | None
    cases: tuple[Case, ...]


class Report(Value, frozen=True, kw_only=True):
    """The content of both files; `command` names all `suites` of JUnit, `rows` are a Markdown
    table.
    """

    command: str
    suites: tuple[CellCases, ...]
    heading: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    sentences: tuple[str, ...] = ()


class ReportFiles(Value, frozen=True, kw_only=True):
    """The files that a command writes; None if not requested."""

    junit: Path | None = None
    summary: Path | None = None

    def write(self, report: Report) -> None:
        if self.junit is not None:
            files.write(self.junit, junit_xml(report))
        if self.summary is not None:
            # The runner gives each step one file, and the step may call more than one command.
            before = files.read_if_present(self.summary) or b""
            files.write(self.summary, before + summary_text(report).encode())


def junit_xml(report: Report) -> bytes:
    """Return JUnit XML with one suite a cell, limited to the dialect that Jenkins, GitLab and
    GitHub's viewers share.
    """
    shown = {"command": report.command, "suites": report.suites}
    return files.rendered("compat.cli", "junit.xml", shown, {"one_line": one_line}).encode()


def summary_text(report: Report) -> str:
    lines = [f"## {inline(report.heading, 500)}", ""]
    if report.rows:
        lines += [f"| {' | '.join(report.columns)} |", "|---" * len(report.columns) + "|"]
        lines += [f"| {' | '.join(row)} |" for row in report.rows[:_MOST_ROWS]]
    if len(report.rows) > _MOST_ROWS:
        lines.append(f"\n{len(report.rows) - _MOST_ROWS:,} more are not listed.")
    if report.sentences:
        lines += ["", *(f"{inline(text, 1000)}\n" for text in report.sentences[:_MOST_ROWS])]
    return "\n".join(lines).rstrip("\n") + "\n\n"


def variants_command(
    matrix: str = MATRIX_NAME,
    summary: Path | None = SUMMARY_FILE,
    open_: bool = option("Open, update or close one issue about the failures."),
    dry_run: bool = DRY_RUN,
    repository: str = REPOSITORY_NAME,
) -> None:
    """Compare variants (lowest, pre-release) with the regular cells.

    Variants do not change the grid or the floors: lowest tests the declared minimums, prerelease
    unreleased dependencies. Exits 1 if a variant breaks a cell or the matrix declares none;
    without a variant --summary writes nothing. --open needs GITHUB_TOKEN, else exits 4.

    Examples: compat matrix variants tools; compat run tools '*+lowest' '*+prerelease'; compat
    matrix variants tools --open
    """
    workspace = workspace_of(matrix)
    lanes = variant_report(workspace.snapshot, workspace.lock)
    if workspace.matrix.has_variants:
        tried = sum(cell.verdict not in ("unknown", "infeasible") for cell in lanes.cells)
        says = "failures of its variants" if lanes.alerts else "no known failures of its variants"
        much = f"{tried:,} of {wording.count(len(lanes.cells), 'cell')} tried"
        report = Report(
            command=f"compat matrix variants {workspace.name}",
            suites=(),
            heading=f"{workspace.matrix.title}: {says}, {much}",
            columns=("cell", "result", "works"),
            rows=tuple(
                (code(cell.cell), inline(cell.outcome, 500), code(cell.against))
                for cell in lanes.cells
                if cell.is_broken
            ),
            sentences=tuple(alert.sentence for alert in lanes.alerts),
        )
        ReportFiles(summary=summary).write(report)
        if open_:
            from compat.cli.upkeep import sync_alerts

            text = summary_text(report) if lanes.alerts else ""
            cells = [cell for alert in lanes.alerts for cell in (alert.what, *alert.cells)]
            sync_alerts(workspace.matrix, text, cells, repository, dry_run)
    envelope({"matrix": matrix, "cells": lanes.cells, "alerts": lanes.alerts})
    for cell in lanes.cells:
        tail = cell.outcome or cell.because
        say(f"{cell.cell}: {cell.verdict}{f', {tail}' if tail else ''}")
        say(*(f"{floor.declared}: {floor_words(floor)}" for floor in cell.floors), indent=2)
        if cell.is_broken:
            say(f"  works{' in part' if cell.in_part else ''}: {cell.against}")
            say(f"  what makes it fail: {variant_blame(matrix, cell)}")
        elif cell.verdict == "broken" and not cell.against:
            why = "no cell of this release and Python works as published"
            say(f"  nothing to compare it with: {why}")
    say(*(alert.sentence for alert in lanes.alerts))
    if not workspace.matrix.has_variants and not lanes.cells:
        ways = "`lowest = true` or [prereleases] in its matrix.toml declares one"
        note(f"{matrix} has no variant; {ways}")
    for package in workspace.snapshot.catalogue.prereleases:
        if not package.releases:
            note(f"{no_prerelease_words(package.name)}")
    asked = {cell.lane for cell in lanes.cells if cell.verdict not in ("unknown", "infeasible")}
    for lane in dict.fromkeys(cell.lane for cell in lanes.cells if cell.lane not in asked):
        note(f"variant {lane} has no results yet; compat run {matrix} '*+{lane}' tests it")
    raise Exit(1 if lanes.alerts or not workspace.matrix.has_variants else 0)
