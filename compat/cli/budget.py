"""`compat run --budget`: spends the time where an answer is worth most."""

import contextlib
import secrets
import threading
import time
from functools import cache, partial

from compat import pipeline
from compat.cli.machine import interpreter, level_of, without_paths
from compat.cli.options import refuse_faulty_suite, workspace_of
from compat.cli.output import envelope, note, report_disproofs, say
from compat.cli.progress import MINUTE, Progress, Status
from compat.cli.reports import Report, ReportFiles
from compat.cli.this_machine import ThisMachine, locker_of, probing_locker, uv_locker
from compat.declare.matrix import Tier
from compat.errors import CompatError, UsageError
from compat.fleet import choices
from compat.fleet.batch import RunOptions
from compat.fleet.choices import seconds_of
from compat.lock.lockfile import Refusal
from compat.plan.cell import Cell
from compat.plan.plan import named_cells
from compat.results import learnt
from compat.results.answer import Answer
from compat.results.judge import asked_about
from compat.results.learnt import StoredClauses
from compat.results.record import involved, third_package
from compat.results.snapshot import coverage, coverage_lines
from compat.run.job import Job
from compat.run.outcome import is_spurious
from compat.search.learning import ClauseLearner, Probed
from compat.site.wording import count, listed
from compat.workspace import Workspace

# An interrupted session loses no more than so many answers of the resolver.
_RECORD_EVERY = 10
# With none wrong of 59 at most 5 % are wrong: 1 - 0.05 ** (1 / 59) = 0.0495. Sessions go on with
# one sample until it has so many; then another begins.
_SAMPLE = 59
_KINDS: dict[str, tuple[str, str]] = {
    "lock": ("lock", "locks"),
    "smoke": ("run of the core", "runs of the core"),
    "suite": ("run of the suite", "runs of the suite"),
}


def budget_seconds(text: str) -> int:
    seconds = seconds_of(text)
    if not seconds:
        raise UsageError.of(f"{text!r} is not a time such as 90m or 1h30m", path="--budget")
    return seconds


def run_within(
    workspace: Workspace,
    words: list[str],
    seconds: int,
    jobs: int,
    isolation: str,
    reports: ReportFiles,
) -> int:
    """Spend the seconds on missing or due cells (only those that `words` name, if any), report, and
    return the exit code.
    """
    refuse_faulty_suite(workspace)
    machine = ThisMachine(workspace, level_of(isolation))
    session = _Session(workspace, machine)
    named = named_cells(workspace.facts_of(workspace.stored_or_fetched), words) if words else ()
    only = {cell.id for cell in named}
    before, snapshot = coverage(workspace.snapshot), workspace.snapshot
    inferred = [
        entry
        for entry in snapshot.entries
        if entry.planned
        and entry.evidence == "inferred"
        and (jobs or choices.is_lock_enough(entry))
        and (not only or entry.cell.id in only)
    ]
    earlier = learnt.stored_audit(workspace.folder)
    if earlier is None or len(earlier.cells) >= _SAMPLE:
        earlier = learnt.Audit(
            on=workspace.day, seed=secrets.randbelow(10**6), inferred=0, cells=()
        )
    asked = {cell.cell for cell in earlier.cells}
    by_id = {entry.cell.id: entry for entry in inferred}
    order = [c for c in learnt.sampled(by_id, len(by_id), earlier.seed) if c not in asked]
    explorer = choices.Explorer(
        snapshot,
        session,
        time.monotonic,
        machine.cancel,
        lockers=2 if jobs else 4,
        workers=jobs,
        has_core=bool(workspace.matrix.suite.core),
        inferred=[by_id[name] for name in order[: _SAMPLE - len(asked)]],
        lessons=session.lessons,
        only=lambda cell: not only or cell.id in only,
    )
    start, lines = time.monotonic(), list[str]()

    def heard() -> None:
        running = [f"{probe.kind} {probe.cell.id}" for probe in explorer.running]
        tried = explorer.probes.items()
        probes = [count(number, *_KINDS[kind]) for kind, number in tried if number]
        line = f"{(time.monotonic() - start) / MINUTE:.0f} of {seconds / MINUTE:.0f} min:"
        line += f" {explorer.coverage.words}; {listed(probes) if probes else 'nothing tried yet'}"
        lines[:] = [*running, line]

    note(f"answered: {before.words}")
    try:
        with Status(lambda: lines):
            explorer.explore(seconds, heard)
    finally:
        session.keep()
    failed, audited = [*explorer.failed], explorer.audited
    try:
        session.files = pipeline.resolver_files(workspace)
        session.keep()
    except CompatError as error:
        failed.append(str(error))
    audit = None
    if audited:
        cells = (*earlier.cells, *audited)
        most = max(len(inferred), earlier.inferred, len(cells))
        audit = learnt.Audit(on=workspace.day, seed=earlier.seed, inferred=most, cells=cells)
        learnt.store_audit(workspace.folder, audit)
    workspace.refresh()
    disproofs, fell = pipeline.settled(workspace)
    after = coverage(workspace.snapshot)
    times = {kind: round(spent, 1) for kind, spent in explorer.seconds.items()}
    document = {"before": before, "after": after, "probes": explorer.probes, "seconds": times}
    bound = None if audit is None else audit.bound
    document |= {"failed": failed, "audited": audited, "audit": audit, "bound": bound}
    envelope({**document, "disproved": disproofs, "fell": fell})
    tried = sum(explorer.probes.values())
    if not tried and not audited and not explorer.failed:
        say(f"Nothing to do: everything that can run here has a fresh result. {after.words}")
    else:
        say(*coverage_lines(before, after))
        for kind, number in explorer.probes.items():
            if number:
                say(f"  {count(number, *_KINDS[kind])}: {explorer.seconds[kind]:,.0f} s")
        more = count(after.answered - before.answered, "more cell")
        say(f"  {more} answered by {count(tried, 'probe')}")
        for cell in audited:
            say(f"  verified {cell.cell}: {cell.finding}: {cell.outcome}")
        if audit is not None:
            say(f"{audit.sentence} (seed {audit.seed}, {audit.inferred:,} inferred)")
    report_disproofs(disproofs, fell)
    reports.write(
        Report(
            command=f"compat run {workspace.name}",
            suites=(),
            heading=f"{workspace.matrix.title}: {after.words}",
            sentences=tuple(coverage_lines(before, after)),
        )
    )
    for line in failed:
        note(f"warning: {line}")
    machine.interruption.exit_if_interrupted()
    wrong = any(cell.finding == "wrong" for cell in audited)
    return 1 if wrong else 3 if explorer.failed else 0


class _Session:
    """Makes the probes of one command, and stores what they found."""

    def __init__(self, workspace: Workspace, machine: ThisMachine) -> None:
        self._workspace, self._machine = workspace, machine
        machine.progress = lambda cells, _: contextlib.nullcontext(_Unseen(dict.fromkeys(cells), 1))
        # Each result is judged beside all others again, by one thread at a time.
        self._looked_at, self._look = workspace_of(workspace.name), threading.Lock()
        # What names them is read once: the threads share it.
        self._matrix, self._context = workspace.matrix, workspace.context
        facts = workspace.facts_of(workspace.stored_or_fetched)
        known = workspace.learnt.clauses
        self.files = known.files
        self._learner = ClauseLearner(
            facts, uv_locker(workspace).lock, known.conflicts, workspace.day, without_paths
        )
        self._locker = locker_of(workspace, "uv")
        self._prober = pipeline.prober(workspace, self._learner, probing_locker(workspace))
        # Cells that a session has probed teach nothing new.
        asked = workspace.learnt.probes
        cells = (cell for cell in choices.refused_once(workspace.snapshot) if cell.id not in asked)
        self.lessons = [cell for cell in cells if not self._learner.answer(cell)]
        self._guard = threading.Lock()
        self._answers: list[learnt.PlainAnswer] = []
        platform = workspace.matrix.platform
        self._has_python = cache(lambda python: interpreter(python, platform) is not None)

    def keep(self) -> None:
        with self._guard:
            clauses = StoredClauses(conflicts=self._learner.clauses, files=self.files)
            learnt.store_clauses(self._workspace.folder, self._matrix, clauses)
            learnt.store_answers(self._workspace.folder, learnt.PROBES, self._answers)

    def ask(self, cell: Cell) -> choices.LockAnswer:
        known = len(self._learner.clauses)
        is_lesson = cell in self.lessons
        probed = self._learner.learn(cell) if is_lesson else self._prober.probe(cell)
        self._take(probed.answer)
        return self._answer(probed, probed.is_locked or len(self._learner.clauses) > known)

    def inferred(self, cell: Cell) -> choices.LockAnswer | None:
        probed = self._prober.known(cell)
        if probed is None:
            return None
        self._take(probed.answer)
        return self._answer(probed, False)

    def _answer(self, probed: Probed, is_lesson: bool) -> choices.LockAnswer:
        if probed.is_locked:
            return choices.LockAnswer("yes", is_lesson)
        asked = asked_about(probed.cell.id, self._context)
        is_hard = any(not is_spurious(refusal) for refusal in probed.refusals)
        is_refused = is_hard and not third_package(probed.involved, asked)
        return choices.LockAnswer("no" if is_refused else "none", is_lesson)

    def _take(self, answer: learnt.PlainAnswer | None) -> None:
        if answer is None:
            return
        with self._guard:
            self._answers.append(answer)
            is_time = len(self._answers) % _RECORD_EVERY == 0
        if is_time:
            self.keep()

    def run(self, cell: Cell, tier: Tier) -> Answer | None:
        result = self._machine.run_of_search(cell.id, RunOptions(tier=tier))
        if cell.id not in result.outcomes or result.unanswered:
            return None
        with self._look:
            self._looked_at.refresh()
            return self._looked_at.snapshot.by_id[cell.id]

    def can_run(self, cell: Cell) -> bool:
        return self._has_python(cell.on(self._matrix.interpreters.name).version)

    def audit(self, entry: Answer) -> learnt.AuditedCell:
        """Verify an inferred answer.

        A cell that is inferred not to install is locked; any other is run. A relaxed one that is
        inferred to fail is locked with all other packages free, because its own lock follows the
        same rules as the inference.
        """
        cell = entry.cell.id
        if entry.cell.recipe == "relaxed" and entry.likely == "broken":
            free = partial(learnt.audited_free, entry)
            answer = pipeline.freed(self._workspace, entry.cell, self._locker)
            if isinstance(answer, Refusal) or choices.is_lock_enough(entry):
                return free(answer, None, "")
            if (missing := self._machine.missing_interpreter(answer)) is not None:
                return free(answer, None, "", f"this machine has no Python {missing}")
            run = pipeline.tried(self._workspace, cell, answer, self._machine)
            if run is None:
                return free(answer, None, "")
            names = (package.name for package in run.evidence.installed)
            spoken_of = involved(run.outcome, names, dict(run.evidence.owners))
            blocker = third_package(spoken_of, asked_about(cell, self._context))
            return free(answer, run.outcome, blocker)
        if choices.is_lock_enough(entry):
            asked = pipeline.audited(self._workspace, entry.cell, self._locker, self._learner)
            self._take(asked[1])
            return asked[0]
        unknown = Answer(cell=entry.cell, kind="unknown", evidence="none")
        return learnt.audited_run(entry, self.run(entry.cell, "full") or unknown)


class _Unseen(Progress):
    """Reports only what went wrong."""

    def counted(self, cell: str, why: str) -> None:
        """Say nothing: the session reports its cells."""

    def faulted(self, worker: int, job: Job, why: str) -> None:
        note(f"warning: {job.cell} was not run: {why}")

    def stopped(self, worker: int, why: str) -> None:
        note(f"warning: a worker stopped: {why}")
