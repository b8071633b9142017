"""The command that answers as many cells as it can in a given time."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from packaging.version import Version
from rich.console import Console
from rich.live import Live
from rich.text import Text

from compat import pipeline, questions
from compat.cli.arguments import Option, given
from compat.cli.disproofs import tell_disproofs
from compat.cli.lockers import probing_locker, refusing_locker
from compat.cli.machine import interpreter, without_places
from compat.cli.machine_search import MachineSearch
from compat.cli.options import (
    IsolationLevel,
    MatrixName,
    workspace_of,
)
from compat.cli.output import envelope, note, say
from compat.declare.suite_table import Tier
from compat.errors import UsageError
from compat.fleet.batch import RunOptions
from compat.fleet.explore import (
    ExploreLimits,
    Explorer,
    ExploreSteps,
    ExploreTotals,
    LockAnswer,
)
from compat.fleet.run_plan import seconds_of
from compat.plan.cell import Cell
from compat.results.clause_file import keep_clauses, keep_probes
from compat.results.clauses import KeptClauses
from compat.results.coverage import Coverage, coverage, coverage_lines
from compat.results.involved import third_package
from compat.results.plain_answers import PlainAnswer
from compat.results.verdict import Verdict, asked_about
from compat.run.job import Job
from compat.run.outcome import is_spurious
from compat.run.steps import Activity
from compat.search.learning import RefusalLearner
from compat.search.probing import Probed
from compat.site.wording import count, listed
from compat.workspace import Workspace

MINUTE = 60.0
# An interrupted session loses no more than so many answers of the resolver.
_KEEP_EVERY = 10
_KIND_WORDS: dict[str, tuple[str, str]] = {
    "lock": ("lock", "locks"),
    "smoke": ("run of the core", "runs of the core"),
    "suite": ("run of the suite", "runs of the suite"),
}

BudgetTime = Annotated[str, Option("--budget", metavar="90m", help="How long probes are begun.")]
Lockers = Annotated[
    int, Option("--lockers", min=1, max=64, help="Questions to the resolver at once.")
]
Workers = Annotated[int, Option("--jobs", "-j", min=0, max=64, help="Cells at once; 0 runs none.")]


def explore_command(
    matrix: MatrixName,
    budget: BudgetTime = "90m",
    lockers: Lockers = 2,
    jobs: Workers = 1,
    isolation: IsolationLevel = "",
) -> None:
    """Test as many cells as fit in the time budget.

    Each time the probe comes next that is expected to answer most cells a second: a question to the
    resolver, whose refusals answer other cells too; the whole suite, where what lies between two
    cells that come to the same would be answered with them; else the core of the suite; and once no
    cell is without an answer, the whole suite. Questions go on beside the cells that run. Each
    probe is kept, so the next session goes on from there.

    Ends with 0; with 3 when probes got no answer; with 130 when it was interrupted.

    Examples: compat matrix explore tff --budget 90m; compat matrix explore tff --budget 10m --jobs
    0
    """
    seconds = seconds_of(budget)
    if not seconds:
        raise UsageError.of(f"{budget!r} is not a time such as 90m or 1h30m", path="--budget")
    workspace = workspace_of(matrix)
    search = MachineSearch(workspace, isolation)
    limits = ExploreLimits(
        seconds=seconds,
        lockers=lockers,
        workers=jobs,
        has_core=bool(workspace.matrix.suite.core),
    )
    session = _Session(workspace, search, workspace_of(matrix))
    before = coverage(workspace.snapshot)
    explorer = Explorer(workspace.snapshot, session.steps, limits, time.monotonic, search.cancel)
    try:
        with _GrowthLine(explorer, before, seconds) as line:
            totals = explorer.explore(line.show)
    finally:
        session.keep()
    workspace.refresh()
    disproofs, fell = questions.settled(workspace)
    after = coverage(workspace.snapshot)
    if given.as_json:
        removed = {"disproved": disproofs, "fell": fell}
        envelope(_payload(before, after, totals) | removed)
    else:
        _print(before, after, totals)
        tell_disproofs(disproofs, fell)
    for failed in totals.failed:
        note(f"warning: {failed}")
    search.exit(3 if totals.failed else 0)


class _Session:
    """How the probes of one command are made, and what they left that is to be kept."""

    def __init__(self, workspace: Workspace, search: MachineSearch, looked_at: Workspace) -> None:
        self._workspace = workspace
        self._search = search
        # What a run came to beside all others is read anew after each, and no thread else reads it.
        self._looked_at, self._look = looked_at, threading.Lock()
        # What names them is read once: the threads share it.
        self._matrix = workspace.matrix
        facts = workspace.facts_of(workspace.kept_or_asked)
        self._learner = RefusalLearner(
            facts,
            refusing_locker(workspace).lock,
            workspace.learnt.clauses.conflicts,
            workspace.day,
            without_places,
        )
        self._prober = questions.prober(workspace, self._learner, probing_locker(workspace))
        self._guard = threading.Lock()
        self._answers: list[PlainAnswer] = []
        self._unkept = 0
        self._interpreters: dict[Version, bool] = {}

    @property
    def steps(self) -> ExploreSteps:
        """What exploring asks for."""
        return ExploreSteps(
            ask=self._ask, inferred=self._inferred, run=self._run, can_run=self._can_run
        )

    def keep(self) -> None:
        """Write what resolvers said, and what it taught."""
        with self._guard:
            files = self._workspace.learnt.clauses.files
            clauses = KeptClauses(conflicts=self._learner.clauses, files=files)
            keep_clauses(self._workspace.folder, self._matrix, clauses)
            keep_probes(self._workspace.folder, self._answers)
            self._unkept = 0

    def _ask(self, cell: Cell) -> LockAnswer:
        known = len(self._learner.clauses)
        probed = self._prober.probe(cell)
        self._take(probed)
        return self._answer(probed, probed.is_locked or len(self._learner.clauses) > known)

    def _inferred(self, cell: Cell) -> LockAnswer | None:
        probed = self._prober.known(cell)
        if probed is None:
            return None
        self._take(probed)
        return self._answer(probed, False)

    def _answer(self, probed: Probed, is_lesson: bool) -> LockAnswer:
        if probed.is_locked:
            return LockAnswer("yes", is_lesson)
        asked = asked_about(probed.cell.id, self._workspace.context)
        is_hard = any(not is_spurious(refusal) for refusal in probed.refusals)
        is_refused = is_hard and not third_package(probed.involved, asked)
        return LockAnswer("no" if is_refused else "none", is_lesson)

    def _take(self, probed: Probed) -> None:
        if probed.answer is None:
            return
        with self._guard:
            self._answers.append(probed.answer)
            self._unkept += 1
            is_time = self._unkept >= _KEEP_EVERY
        if is_time:
            self.keep()

    def _run(self, cell: Cell, tier: Tier) -> Verdict | None:
        options = RunOptions(tier=tier)
        result = pipeline.run(
            self._workspace,
            [cell.id],
            self._search.machine,
            options,
            self._search.cancel,
            _Unseen(),
        )
        self._search.refuse_suite_fault(cell.id, result)
        if cell.id not in result.outcomes or result.unanswered:
            return None
        with self._look:
            self._looked_at.refresh()
            return self._looked_at.snapshot.by_id[cell.id].verdict

    def _can_run(self, cell: Cell) -> bool:
        python = cell.on(self._matrix.interpreters.name).version
        if python not in self._interpreters:
            self._interpreters[python] = interpreter(python, self._matrix.platform) is not None
        return self._interpreters[python]


class _Unseen:
    """A reporter for cells of which only the growth of the whole is shown."""

    def locking(self, cell: str) -> None:
        """Say nothing."""

    def locked(self, cell: str) -> None:
        """Say nothing."""

    def counted(self, cell: str, why: str) -> None:
        """Say nothing."""

    def tell(self, line: str) -> None:
        """Say it."""
        note(line)

    def began(self, worker: int, job: Job) -> None:
        """Say nothing."""

    def entered(self, worker: int, job: Job, activity: Activity, cell: Path) -> None:
        """Say nothing."""

    def ended(self, worker: int, job: Job, attempts: Any) -> None:
        """Say nothing."""

    def faulted(self, worker: int, job: Job, why: str) -> None:
        """Say it."""
        note(f"warning: {job.cell} was not run: {why}")

    def stopped(self, worker: int, why: str) -> None:
        """Say it."""
        note(f"warning: a worker stopped: {why}")


class _GrowthLine:
    """How the share of answered cells grows, on stderr: a live line, or one a minute."""

    def __init__(
        self,
        explorer: Explorer,
        before: Coverage,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._explorer = explorer
        self._before = before
        self._seconds = seconds
        self._clock = clock
        self._start = self._told = clock()
        console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._live = Live(console=console, transient=True) if console.is_terminal else None

    def __enter__(self) -> "_GrowthLine":
        note(f"answered: {self._before.words}")
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self) -> None:
        """Show how far it is, where it is time to."""
        if self._live is not None:
            self._live.update(Text(self._line(), no_wrap=True, overflow="ellipsis"))
        elif self._clock() - self._told >= MINUTE:
            self._told = self._clock()
            note(self._line())

    def _line(self) -> str:
        totals = self._explorer.totals
        minutes = (self._clock() - self._start) / MINUTE
        running = [f"{probe.kind} {probe.cell.id}" for probe in self._explorer.running]
        now = f"; now {listed(running)}" if running else ""
        return (
            f"{minutes:.0f} of {self._seconds / MINUTE:.0f} min: {totals.coverage.words};"
            f" {_probes(totals)}{now}"
        )


def _probes(totals: ExploreTotals) -> str:
    parts = [count(number, *_KIND_WORDS[kind]) for kind, number in totals.probes.items() if number]
    return listed(parts) if parts else "nothing tried yet"


def _print(before: Coverage, after: Coverage, totals: ExploreTotals) -> None:
    for line in coverage_lines(before, after):
        say(line)
    for kind, number in totals.probes.items():
        if number:
            say(f"  {count(number, *_KIND_WORDS[kind])}: {totals.seconds[kind]:,.0f} s")
    gained = after.answered - before.answered
    tried = sum(totals.probes.values())
    say(f"  {count(gained, 'more cell')} answered by {count(tried, 'probe')}")


def _payload(before: Coverage, after: Coverage, totals: ExploreTotals) -> dict[str, Any]:
    return {
        "before": before,
        "after": after,
        "probes": totals.probes,
        "seconds": totals.seconds,
        "failed": totals.failed,
    }
