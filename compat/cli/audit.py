"""The command that asks in earnest about a random sample of what was inferred."""

import secrets
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

from compat import questions
from compat.cli.arguments import Exit, Option, given
from compat.cli.disproofs import tell_disproofs
from compat.cli.lockers import locker_of, refusing_locker
from compat.cli.machine import now, without_places
from compat.cli.machine_search import MachineSearch
from compat.cli.options import (
    IsolationLevel,
    MatrixName,
    workspace_of,
)
from compat.cli.output import envelope, note, report, say
from compat.cli.workload import workers_that_fit
from compat.errors import CompatError, NothingToDo, UsageError
from compat.fleet.batch import RunOptions
from compat.fleet.run_plan import seconds_of
from compat.lock.lockfile import Refusal
from compat.plan.cell import Cell
from compat.results.audits import Audit, AuditedCell, audited_free, audited_run, sampled
from compat.results.clause_file import keep_audit, keep_probes
from compat.results.clauses import Disproof
from compat.results.entry import Entry
from compat.results.involved import involved, third_package
from compat.results.plain_answers import PlainAnswer
from compat.results.verdict import asked_about
from compat.search.learning import RefusalLearner
from compat.site.wording import count
from compat.workspace import Workspace

# With none wrong of 59 at most 5 % are wrong: 1 - 0.05 ** (1 / 59) = 0.0495.
_SAMPLE = 59
Sample = Annotated[int, Option("--sample", min=1, max=10_000, help="Number of cells.")]
LocksOnly = Annotated[
    bool, Option("--locks-only", help="Sample only what a lock can tell; run nothing.")
]
BudgetText = Annotated[
    str,
    Option(
        "--budget", metavar="90m", help="Begin no run after so much time; the sample ends there."
    ),
]
Jobs = Annotated[
    int,
    Option("--jobs", "-j", min=1, max=64, help="Cells to lock at once, and then to run."),
]
Seed = Annotated[
    int | None, Option("--seed", min=0, help="Which cells; else a new number, printed.")
]


def audit_command(
    matrix: MatrixName,
    sample: Sample = _SAMPLE,
    seed: Seed = None,
    locks_only: LocksOnly = False,
    budget: BudgetText = "",
    isolation: IsolationLevel = "",
    jobs: Jobs = 1,
) -> None:
    """Verify a random sample of inferred results by running them.

    A cell that is inferred not to install is locked, any other is run. A relaxed cell that is
    inferred to fail is locked without rules, with all packages free that are neither the subject
    nor on an axis, and its core is run. The answers are kept in probes.json and audit.json, runs of
    a cell's own lock as records. A clause that is disproved is removed, with every answer that
    rested on it.

    With --budget the sample ends before the first cell for whose run no time is left: what comes
    before it in the order of chance is a sample, too.

    Ends with 0 when none is wrong, with 1 when one was disproved or nothing is inferred, with 3
    when some questions got no answer.

    Examples: compat matrix audit tff --sample 59 --seed 7; compat matrix audit tff --locks-only
    --jobs 2; compat matrix audit tff --sample 59 --jobs 2 --budget 2h
    """
    seconds = _seconds(budget)
    workspace = workspace_of(matrix)
    inferred = _inferred(workspace, locks_only)
    if not inferred:
        hint = f"compat matrix learn {matrix} asks a resolver"
        raise NothingToDo.of(f"matrix {matrix!r} has no inferred answers to audit", hint=hint)
    number = secrets.randbelow(1_000_000) if seed is None else seed
    chosen = [inferred[name] for name in sampled(inferred, sample, number)]
    free = [entry for entry in chosen if is_freed(entry)]
    own = [entry for entry in chosen if not is_freed(entry)]
    cells = [entry.cell for entry in own if is_lock_enough(entry)]
    findings, answers, errors = _asked(workspace, cells, jobs, given.as_json)
    keep_probes(workspace.folder, answers)
    to_run, began = [entry for entry in own if not is_lock_enough(entry)], now()
    findings += _run(workspace, to_run, (isolation, jobs), given.as_json, seconds)
    for entry in free:
        if seconds is not None and (now() - began).total_seconds() >= seconds:
            break
        findings.append(_freed(workspace, entry, isolation, errors))
        if not given.as_json:
            say(f"{findings[-1].cell}  {findings[-1].finding}: {findings[-1].outcome}")
    cells_in_time = tuple(_in_time(chosen, findings))
    audit = Audit(on=workspace.day, seed=number, inferred=len(inferred), cells=cells_in_time)
    keep_audit(workspace.folder, audit)
    workspace.refresh()
    disproofs, fell = questions.settled(workspace)
    faults = [fault for error in errors for fault in error.faults]
    if given.as_json:
        payload = {"audit": audit, "bound": audit.bound, "disproved": disproofs, "fell": fell}
        envelope(payload, faults)
    else:
        _print(audit, disproofs, fell)
    wrong = audit.number("wrong") > 0
    raise Exit(3 if errors and not wrong else int(wrong))


def _seconds(budget: str) -> int | None:
    """The seconds of a budget; None without one."""
    seconds = seconds_of(budget) if budget else None
    if seconds == 0:
        raise UsageError.of(f"{budget!r} is not a time such as 90m or 1h30m", path="--budget")
    return seconds


def _inferred(workspace: Workspace, locks_only: bool) -> dict[str, Entry]:
    return {
        entry.cell.id: entry
        for entry in workspace.snapshot.entries
        if entry.planned
        and entry.verdict.evidence == "inferred"
        and (is_lock_enough(entry) or not locks_only)
    }


def _asked(
    workspace: Workspace, cells: Sequence[Cell], jobs: int, is_quiet: bool
) -> tuple[list[AuditedCell], list[PlainAnswer], list[CompatError]]:
    facts, locker = workspace.facts_of(workspace.kept_or_asked), locker_of(workspace, "uv")
    resolve = refusing_locker(workspace).lock
    learner = RefusalLearner(
        facts, resolve, workspace.learnt.clauses.conflicts, workspace.day, without_places
    )

    def asked(cell: Cell) -> tuple[AuditedCell, PlainAnswer] | CompatError:
        try:
            return questions.audited(workspace, cell, locker, learner)
        except CompatError as error:
            return error

    findings: list[AuditedCell] = []
    answers: list[PlainAnswer] = []
    errors: list[CompatError] = []
    with ThreadPoolExecutor(jobs, thread_name_prefix="locker") as pool:
        for result in pool.map(asked, cells):
            if isinstance(result, CompatError):
                errors.append(result)
                report(result.faults)
                continue
            findings.append(result[0])
            answers.append(result[1])
            if not is_quiet:
                say(f"{result[0].cell}  {result[0].finding}: {result[0].outcome}")
    return findings, answers, errors


def is_lock_enough(entry: Entry) -> bool:
    """Return whether a lock alone tells if what is inferred of a cell is right."""
    return entry.refusal is not None and entry.refusal.outcome.stage == "lock"


def is_freed(entry: Entry) -> bool:
    """Return whether a cell is checked with all other packages free: a relaxed one that is inferred
    to fail, as its own lock follows the rules that the inference follows.
    """
    return entry.cell.recipe == "relaxed" and entry.verdict.answer == "broken"


def _freed(
    workspace: Workspace, entry: Entry, isolation: str, errors: list[CompatError]
) -> AuditedCell:
    """Check a cell with all other packages free: lock it, and run the core where that matters."""
    try:
        answer = questions.freed(workspace, entry.cell, locker_of(workspace, "uv"))
    except CompatError as error:
        errors.append(error)
        report(error.faults)
        answer = Refusal(cause="build-tool", subject="", because="")
    if isinstance(answer, Refusal) or is_lock_enough(entry):
        return audited_free(entry, answer, None, "")
    search = MachineSearch(workspace, isolation)
    missing = search.machine.missing_interpreter(answer)
    if missing is not None:
        return audited_free(entry, answer, None, "", f"this machine has no Python {missing}")
    with search.progress([entry.cell.id]) as progress:
        run = questions.tried(
            workspace,
            entry.cell.id,
            answer,
            search.machine,
            search.cancel,
            progress,
        )
    search.exit_if_interrupted()
    if run is None:
        return audited_free(entry, answer, None, "")
    spoken_of = involved(
        run.outcome, (p.name for p in run.evidence.installed), dict(run.evidence.owners)
    )
    blocker = third_package(spoken_of, asked_about(entry.cell.id, workspace.context))
    return audited_free(entry, answer, run.outcome, blocker)


def _run(
    workspace: Workspace,
    entries: Sequence[Entry],
    how: tuple[str, int],
    is_quiet: bool,
    seconds: int | None,
) -> list[AuditedCell]:
    """Run each, as long as there is time, and hold what it came to against what was inferred; `how`
    is the isolation level and how many run at once.
    """
    if not entries:
        return []
    isolation, jobs = how
    search, began = MachineSearch(workspace, isolation), now()
    options = RunOptions(workers=workers_that_fit(jobs, workspace.matrix.suite))
    at_once = len(entries) if seconds is None else options.workers
    for first in range(0, len(entries), at_once):
        is_late = seconds is not None and (now() - began).total_seconds() >= seconds
        if search.cancel.is_set() or is_late:
            entries = entries[:first]
            break
        search.run([entry.cell.id for entry in entries[first : first + at_once]], options)
    workspace.refresh()
    findings = [audited_run(entry, workspace.verdict(entry.cell.id)) for entry in entries]
    if not is_quiet:
        for finding in findings:
            say(f"{finding.cell}  {finding.finding}: {finding.outcome}")
    search.exit_if_interrupted()
    return findings


def _in_time(chosen: Sequence[Entry], findings: Sequence[AuditedCell]) -> list[AuditedCell]:
    """The findings up to the first cell that there was no time for, in the order of chance; those
    that were asked behind it would make locks weigh more than runs.
    """
    by_cell = {finding.cell: finding for finding in findings}
    in_time: list[AuditedCell] = []
    for number, entry in enumerate(chosen):
        finding = by_cell.get(entry.cell.id)
        if finding is not None:
            in_time.append(finding)
        elif not is_lock_enough(entry):
            note(f"the time ended after {count(number, 'cell')} of {len(chosen)}")
            break
    return in_time


def _print(audit: Audit, disproofs: Sequence[Disproof], fell: Sequence[str]) -> None:
    say(f"{audit.sentence} (seed {audit.seed}, {audit.inferred:,} inferred)")
    without = audit.number("no-answer")
    if without:
        note(f"{count(without, 'cell')} got no answer that decides")
    tell_disproofs(disproofs, fell)
