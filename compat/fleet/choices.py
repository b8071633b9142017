"""Selects the cells of `compat run`: the named, the quick, or the due ones."""

import re
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from packaging.version import Version

from compat.declare.matrix import Matrix, Tier
from compat.errors import CompatError, NothingToDo, UsageError
from compat.plan.cell import Cell, parse_cell
from compat.plan.feasible import Feasibility
from compat.plan.plan import (
    Budget,
    Feasible,
    Infeasible,
    Packing,
    Task,
    cell_status,
    cells_of,
    facts_for,
    lockable_cells,
    named_cells,
    packed,
    rounds,
)
from compat.plan.platform import python_name
from compat.results.answer import Answer, Kind
from compat.results.infer import signature_of
from compat.results.learnt import AuditedCell
from compat.results.runs import is_whole
from compat.results.snapshot import Coverage, CoverageCount, Due, Snapshot, agenda
from compat.run.outcome import Failed, Outcome, is_spurious, lacks_instruction
from compat.search.exploration import Exploration, ExploreProbe, ProbeKind, RunReach
from compat.site.wording import count
from compat.value import Value
from compat.workspace import Workspace

# Spends a time budget where answers are worth most, and locks while cells run.
#
# Due results are renewed first. Then the probe with the most expected answers a second comes next.
# A tenth of the time verifies a random sample of the inferred results.

# This many probes in a row without an answer are a fault of the index or the machine.
MOST_WITHOUT_ANSWER = 5
# Seconds between looks at the clock and at the order to stop.
_LOOK_SECONDS = 1.0
# Expected seconds of a probe before the first of its kind: a lock of a large tree took 2 to 8
# seconds, a cell of a small library 5 to 20 (November 2026).
_FIRST_SECONDS: dict[ProbeKind, float] = {"lock": 6.0, "smoke": 30.0, "suite": 120.0}
# The share of the time that verifies inferred results. When no other work is left, all of it does.
_AUDIT_SHARE = 0.1


class LockAnswer(Value, frozen=True):
    """Whether a cell can be locked: `yes`, `no`, or `none` (unknown); a lesson may help others."""

    answer: str
    is_lesson: bool = False


class ExploreSteps(Protocol):
    """What exploring does with cells."""

    def ask(self, cell: Cell) -> LockAnswer: ...

    def inferred(self, cell: Cell) -> LockAnswer | None: ...

    def run(self, cell: Cell, tier: Tier) -> Answer | None:
        """Return a verdict, or None without a result."""

    def can_run(self, cell: Cell) -> bool: ...

    def audit(self, entry: Answer) -> AuditedCell: ...


@dataclass
class _Begun:
    probe: ExploreProbe
    since: float
    entry: Answer | None = None


_Answer = LockAnswer | AuditedCell | Answer | None


class Explorer:
    """The cells of a snapshot whose answer is missing or due, and the probes of one session."""

    def __init__(
        self,
        snapshot: Snapshot,
        steps: ExploreSteps,
        clock: Callable[[], float],
        cancel: threading.Event,
        *,
        lockers: int = 2,
        workers: int = 1,
        has_core: bool = True,
        inferred: Iterable[Answer] = (),
        lessons: Iterable[Cell] = (),
        only: Callable[[Cell], bool] = lambda cell: True,
    ) -> None:
        """`lockers` and `workers` are how many calls of the resolver and cells run at once (0: no
        cells). `inferred` are the answers to verify, in random order. `lessons` are cells with a
        resolution failure whose reason is unknown; `only` selects cells.
        """
        self._steps = steps
        self._lockers, self._workers = lockers, workers
        self._clock = clock
        self._cancel = cancel
        self._count = CoverageCount(snapshot)
        self.probes: dict[ProbeKind, int] = {"lock": 0, "smoke": 0, "suite": 0}
        self.seconds: dict[ProbeKind, float] = {"lock": 0.0, "smoke": 0.0, "suite": 0.0}
        self.failed: list[str] = []
        self._in_vain: dict[str, int] = {"lock": 0, "run": 0}
        self._pending: dict[Future[_Answer], _Begun] = {}
        self._reach = RunReach(snapshot)
        left = open_work(snapshot, only)
        self._exploration = Exploration(
            left.unlocked,
            left.locked,
            left.smoked,
            self._expected,
            ("lock", *(("smoke",) if has_core else ()), "suite") if workers else ("lock",),
            lambda cell, kind: self._reach.answers(cell, is_whole=kind == "suite"),
        )
        for cell in left.lockable:
            self._exploration.known(cell, is_refused=False)
        for cell in _refused(snapshot):
            self._exploration.known(cell, is_refused=True)
        # Due results are known already; only cells without any answer are explored.
        self._due = deque(cell for cell in due_cells(snapshot, left) if only(cell))
        self._lessons = deque(cell for cell in lessons if only(cell))
        self._waiting = deque(inferred)
        self._audited: dict[str, AuditedCell | None] = {}
        self._audit_seconds = 0.0

    @property
    def coverage(self) -> Coverage:
        return self._count.coverage

    @property
    def audited(self) -> tuple[AuditedCell, ...]:
        """The verified answers, in random order."""
        return tuple(cell for cell in self._audited.values() if cell is not None)

    @property
    def running(self) -> tuple[ExploreProbe, ...]:
        return tuple(begun.probe for begun in [*self._pending.values()])

    def explore(self, seconds: float, heard: Callable[[], None]) -> None:
        end = self._clock() + seconds
        with (
            ThreadPoolExecutor(self._lockers, thread_name_prefix="resolver") as resolvers,
            ThreadPoolExecutor(max(1, self._workers), thread_name_prefix="cell") as runners,
        ):
            while True:
                self._fill(resolvers, runners, end - self._clock())
                if not self._pending:
                    return
                done, _ = wait(self._pending, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
                for future in done:
                    self._settle(future)
                heard()

    def _fill(
        self, resolvers: ThreadPoolExecutor, runners: ThreadPoolExecutor, left: float
    ) -> None:
        is_lock = [begun.probe.kind == "lock" for begun in self._pending.values()]
        free_runs = self._workers - is_lock.count(False)
        free_locks = self._lockers - is_lock.count(True)
        for hand, pool, free in (("run", runners, free_runs), ("lock", resolvers, free_locks)):
            for _ in range(free):
                if left <= 0 or self._cancel.is_set() or self._in_vain[hand] >= MOST_WITHOUT_ANSWER:
                    break
                future: Future[Any]
                audit = self._due_audit(left)
                if audit is not None and is_lock_enough(self._waiting[0]) is (hand == "lock"):
                    entry = self._waiting.popleft()
                    self._audited[entry.cell.id] = None
                    # It counts before it ends, so that no second one begins beside it.
                    self._audit_seconds += self._expected(*audit)
                    future = pool.submit(self._steps.audit, entry)
                    self._pending[future] = _Begun(ExploreProbe(*audit), self._clock(), entry)
                    continue
                if (probe := self._next(hand, left)) is None:
                    break
                if hand == "lock":
                    future = pool.submit(self._steps.ask, probe.cell)
                else:
                    tier: Tier = "smoke" if probe.kind == "smoke" else "full"
                    self._reach.begun(probe.cell)
                    future = pool.submit(self._steps.run, probe.cell, tier)
                self._pending[future] = _Begun(probe, self._clock())

    def _next(self, hand: str, left: float) -> ExploreProbe | None:
        if hand == "lock":
            lesson = ExploreProbe(self._lessons.popleft(), "lock") if self._lessons else None
            return lesson or self._exploration.next_lock(left)
        while self._due and self._expected(self._due[0], "suite") <= left:
            if self._steps.can_run(cell := self._due.popleft()):
                return ExploreProbe(cell, "suite")
        return self._exploration.next_run(left)

    def _due_audit(self, left: float) -> tuple[Cell, ProbeKind] | None:
        # None is skipped, for a fair sample.
        if not self._waiting:
            return None
        kind: ProbeKind = "lock" if is_lock_enough(self._waiting[0]) else "suite"
        audit = self._waiting[0].cell, kind
        work = self._exploration.unlocked or self._exploration.is_running_left or self._due
        is_due = not work or self._audit_seconds < _AUDIT_SHARE * sum(self.seconds.values())
        return audit if is_due and self._expected(*audit) <= left else None

    def _settle(self, future: "Future[_Answer]") -> None:
        begun = self._pending.pop(future)
        if begun.entry is not None:
            try:
                audited = future.result()
                assert isinstance(audited, AuditedCell), "an audit ends so"
                self._audited[begun.entry.cell.id] = audited
            except CompatError as error:
                self.failed.append(f"{begun.entry.cell.id}: {error}")
            return
        cell, kind = begun.probe.cell, begun.probe.kind
        self.probes[kind] += 1
        self.seconds[kind] += self._clock() - begun.since
        hand = "lock" if kind == "lock" else "run"
        try:
            result = future.result()
        except CompatError as error:
            result = None
            self.failed.append(f"{cell.id}: {'; '.join(fault.line() for fault in error.faults)}")
        if result is None or (isinstance(result, LockAnswer) and result.answer == "none"):
            self._in_vain[hand] += result is None and not self._cancel.is_set()
            self._exploration.set_aside([cell])
            if hand == "run":
                self._reach.blocked(cell)
            return
        self._in_vain[hand] = 0
        if isinstance(result, LockAnswer):
            self._learn(cell, result)
        elif isinstance(result, Answer):
            self._count.answer([cell], result.kind)
            followers: dict[Cell, Kind] = {}
            if result.kind == "unknown":
                self._reach.blocked(cell)
            elif result.evidence == "tested":
                followers = self._reach.ran(cell, signature_of(result))
            else:
                self._reach.answered([cell])
            for other, likely in followers.items():
                self._count.answer([other], likely)
            self._exploration.ran(cell, kind, followers)

    def _learn(self, cell: Cell, result: LockAnswer) -> None:
        others = self._exploration.unlocked if result.is_lesson else ()
        known = ((other, self._steps.inferred(other)) for other in others)
        answers = {other: answer.answer for other, answer in known if answer is not None}
        lockable = [other for other, answer in answers.items() if answer == "yes"]
        refused = [other for other, answer in answers.items() if answer == "no"]
        if result.answer == "yes":
            lockable.append(cell)
        else:
            self._exploration.refused(cell, refused)
            self._count.answer([cell, *refused], "broken")
            self._reach.answered([cell, *refused])
        self._count.lock(lockable)
        for other in lockable:
            self._exploration.locked(other)
            if self._workers and not self._steps.can_run(other):
                self._exploration.set_aside([other])
        self._exploration.set_aside(o for o, answer in answers.items() if answer != "yes")

    def _expected(self, cell: Cell, kind: ProbeKind) -> float:
        return (_FIRST_SECONDS[kind] + self.seconds[kind]) / (1 + self.probes[kind])


class OpenWork(NamedTuple):
    """Cells still to try, newest first: unlocked, locked, or with only a core run."""

    unlocked: tuple[Cell, ...]
    locked: tuple[Cell, ...]
    smoked: tuple[Cell, ...]
    lockable: tuple[Cell, ...]


def open_work(
    snapshot: Snapshot,
    only: Callable[[Cell], bool] = lambda cell: True,
    among: Sequence[Answer] | None = None,
) -> OpenWork:
    unlocked, locked, smoked, lockable = list[Cell](), list[Cell](), list[Cell](), list[Cell]()
    for entry in reversed(snapshot.entries if among is None else among):
        answer = snapshot.plain.get(entry.cell.id)
        has_lock = entry.lock_digest is not None or (answer is not None and not answer.refusal)
        if has_lock:
            lockable.append(entry.cell)
        is_open = entry.planned and (entry.obstacle is None or has_lock)
        if not is_open or not only(entry.cell):
            continue
        is_run = bool(entry.counted) and entry.due != "lock-changed"
        if entry.evidence == "smoke":
            if not is_whole(entry.history.deciding[-1].run):
                smoked.append(entry.cell)
        elif entry.likely == "unknown" and not is_run:
            # A run that met a missing CPU instruction would meet it again.
            newest = entry.history.unanswered
            if newest is not None and lacks_instruction(newest.outcomes[-1]):
                continue
            # A resolution that failed by a package that may move is worth another day's question.
            may_move = bool(entry.blocked_by)
            is_unasked = entry.refusal is None or may_move
            if has_lock:
                locked.append(entry.cell)
            elif is_unasked if answer is None else may_move and answer.on < snapshot.day:
                unlocked.append(entry.cell)
    return OpenWork(tuple(unlocked), tuple(locked), tuple(smoked), tuple(lockable))


def due_cells(snapshot: Snapshot, left: OpenWork) -> list[Cell]:
    explored = {cell.id for cell in (*left.locked, *left.smoked, *left.unlocked)}
    due = (snapshot.by_id.get(due.cell) for due in agenda(snapshot).cells)
    return [entry.cell for entry in due if entry is not None and entry.cell.id not in explored]


def refused_once(snapshot: Snapshot) -> list[Cell]:
    python = snapshot.matrix.interpreters.name
    outcomes: dict[Cell, Outcome | None]
    outcomes = {cell: snapshot.plain[cell.id].refusal for cell in _refused(snapshot)}
    outcomes |= {e.cell: e.runs[-1].outcomes[-1] for e in snapshot.entries if e.runs}
    by_cause: dict[tuple[str, str], Cell] = {}
    for cell, outcome in outcomes.items():
        if isinstance(outcome, Failed) and outcome.stage == "lock" and not is_spurious(outcome):
            by_cause.setdefault((str(outcome), cell.on(python).text), cell)
    return list(by_cause.values())


def is_lock_enough(entry: Answer) -> bool:
    return entry.refusal is not None and entry.refusal.outcome.stage == "lock"


def _refused(snapshot: Snapshot) -> Iterable[Cell]:
    for cell_id, answer in snapshot.plain.items():
        entry = snapshot.by_id.get(cell_id)
        refusal = answer.refusal
        if entry is not None and refusal is not None and not is_spurious(refusal):
            yield entry.cell


# A first run of at most this many cells starts without confirmation. At five seconds a cell, which
# is usual for a small library, it takes about four minutes; thousands of cells would take days.
# Chosen on 2026-11-22.
MOST_UNASKED = 50


class CellToRun(Value, frozen=True, kw_only=True):
    """A cell to run, and why; `obstacle` is set where the plan rules out a named cell."""

    cell: str
    reason: str
    obstacle: str = ""


class CellsToRun(Value, frozen=True, kw_only=True):
    """The cells to run; `is_fresh` means that there are none because every due result is fresh."""

    cells: tuple[CellToRun, ...]
    infeasible: tuple[Infeasible, ...] = ()
    remarks: tuple[str, ...] = ()
    is_fresh: bool = False


def choose(
    workspace: Workspace,
    words: Sequence[str],
    quick: bool,
    tier: Tier = "full",
    has_python: Callable[[Version], bool] = lambda series: True,
) -> CellsToRun:
    """For a first run only cells whose Python `has_python`. Raises UsageError and NothingToDo."""
    if tier == "smoke" and not workspace.matrix.suite.core:
        raise UsageError.of(
            f"the suite of {workspace.name!r} has no core, so there is nothing less to run",
            path=f"matrices/{workspace.name}/matrix.toml: suite.core",
            hint="core = ['ID', ...] names the quick capabilities that every release has",
        )
    if quick:
        return _quick(workspace)
    if words:
        return _named(workspace, words)
    if workspace.lock_digests or workspace.runs:
        return _due(workspace, tier)
    return _first(workspace, has_python)


def up_to_date(workspace: Workspace) -> str:
    locked = len(workspace.lock_digests)
    others = count(len(workspace.known_ids()) - locked, "cell")
    if not locked:
        return f"nothing is due: {others} without a lock, each with a fresh result"
    which = "the locked cell has" if locked == 1 else f"all {locked:,} locked cells have"
    besides = "" if others.startswith("0 ") else f", and so has each of {others} without a lock"
    return f"nothing is due: {which} a fresh result{besides}"


def outside(choices: Sequence[Infeasible]) -> str:
    first = f"{choices[0].cell.id}: {choices[0].obstacle.because}"
    if len(choices) == 1:
        return f"left out, because it is infeasible: {first}"
    return f"left out, because they are infeasible: {len(choices):,} cells; {first}"


def _quick(workspace: Workspace) -> CellsToRun:
    name, quick = workspace.name, workspace.matrix.quick
    if not quick:
        how = f"compat run {name} 'GLOB' runs cells by their ids"
        hint = f"{how}; `quick = [...]` in its matrix.toml would name some"
        raise NothingToDo.of(f"matrix {name!r} names no quick cells", hint=hint)
    _, cells = _cells(workspace, quick)
    return CellsToRun(cells=tuple(CellToRun(cell=cell.id, reason="quick") for cell in cells))


def _named(workspace: Workspace, words: Sequence[str]) -> CellsToRun:
    facts, cells = _cells(workspace, words)
    wanted, infeasible = sifted(facts, cells, {*workspace.lock_digests, *words})
    if not wanted:
        hint = f"compat plan {workspace.name} --explain CELL shows the arithmetic of one"
        raise NothingToDo.of(f"no cell to run is left; {outside(infeasible)}", hint=hint)
    to_run = []
    for cell in wanted:
        # Why a cell without a lock cannot run.
        locked = cell.id in workspace.lock_digests
        fate = None if locked else cell_status(facts_for(facts, cell), cell)
        why = fate.obstacle.because if isinstance(fate, Infeasible) else ""
        to_run.append(CellToRun(cell=cell.id, reason="named", obstacle=why))
    return CellsToRun(cells=tuple(to_run), infeasible=infeasible)


def not_planned(cells: Sequence[str], matrix: str) -> str:
    several = f"{len(cells):,} cells, such as {cells[0]}, are"
    which = f"{cells[0]} is" if len(cells) == 1 else several
    return f"left out: {which} not in matrix {matrix!r} any more"


def _due(workspace: Workspace, tier: Tier) -> CellsToRun:
    today = agenda(workspace.snapshot)
    # A core run is not due where a core run is the only result.
    entries = [due for due in today.cells if tier == "full" or due.reason != "smoke-only"]
    infeasible = list(today.infeasible)
    # Locks of cells whose ids no longer fit the axes of the matrix.
    gone = [cell for cell in workspace.lock_digests if cell not in workspace.snapshot.by_id]
    # The stored catalogue may be newer than the answers.
    if today.unplanned and workspace.stored_catalogue is not None:
        known = workspace.feasibility
        by_id = {cell.id: cell for cell in lockable_cells(known)}
        planned = [by_id[entry.cell] for entry in today.unplanned if entry.cell in by_id]
        wanted, ruled_out = sifted(known, planned, workspace.lock_digests.keys())
        ids = {cell.id for cell in wanted}
        entries += [entry for entry in today.unplanned if entry.cell in ids]
        infeasible += ruled_out
        gone += [entry.cell for entry in today.unplanned if entry.cell not in by_id]
    elif today.unplanned:
        gone += [entry.cell for entry in today.unplanned]
    remarks = [not_planned(gone, workspace.name)] if gone else []
    if not entries:
        remarks.append("nothing else is due" if gone or infeasible else up_to_date(workspace))
        unlocked = [
            entry.cell
            for entry in workspace.snapshot.entries
            if entry.planned and entry.obstacle is None and entry.cell.recipe == "fresh"
            if not entry.runs and entry.lock_digest is None
        ]
        if unlocked:
            glob, _ = _newest_of(unlocked, workspace.matrix)
            which = count(len(unlocked), "more cell is", "more cells are")
            how = f"compat run {workspace.name} {glob!r} runs the newest"
            remarks.append(f"{which} feasible and never locked: {how}")
    cells = tuple(CellToRun(cell=entry.cell, reason=entry.reason) for entry in entries)
    return CellsToRun(
        cells=cells,
        infeasible=tuple(infeasible),
        remarks=tuple(remarks),
        is_fresh=not (cells or infeasible or gone),
    )


def _first(workspace: Workspace, has_python: Callable[[Version], bool]) -> CellsToRun:
    name, matrix = workspace.name, workspace.matrix
    facts = workspace.facts_of(workspace.stored_or_fetched)
    fresh = tuple(cell for cell in cells_of(facts) if cell.recipe == "fresh")
    feasible, infeasible = sifted(facts, fresh)
    if not feasible:
        obstacle = f"{infeasible[0].cell.id}: {infeasible[0].obstacle.because}"
        message = f"none of {count(len(fresh), 'cell')} is feasible as published; {obstacle}"
        raise NothingToDo.of(message, hint=f"compat plan {name} counts the obstacles")
    quick = _quick(workspace).cells if matrix.quick else ()
    if len(feasible) <= MOST_UNASKED:
        series = {cell: cell.on(matrix.interpreters.name).version for cell in feasible}
        missing = sorted(version for version in set(series.values()) if not has_python(version))
        at_hand = [cell for cell in feasible if series[cell] not in missing]
        remarks: tuple[str, ...] = ()
        if missing:
            names = " ".join(python_name(version, matrix.platform) for version in missing)
            which = count(len(feasible) - len(at_hand), "cell needs", "cells need")
            which += f" Python {names.replace(' ', ' or ')}, which this machine does not have"
            remarks = (f"left out: {which}; `uv python install {names}` gets it",)
        others = (cell.id for cell in at_hand if cell.id not in matrix.quick)
        cells = (*quick, *(CellToRun(cell=cell, reason="never-run") for cell in others))
        if not cells:
            raise NothingToDo.of(remarks[0], hint=f"compat plan {name} --here counts the obstacles")
        return CellsToRun(cells=cells, remarks=remarks)
    glob, matching = _newest_of(feasible, matrix)
    message = f"{len(feasible):,} cells of {name} are feasible and none is locked"
    way = f"compat run {name} {glob!r} runs {count(matching, 'cell')}"
    if not quick:
        raise NothingToDo.of(message, hint=way)
    return CellsToRun(cells=quick, remarks=(f"{message}: the smoke cells run first; {way}",))


def _newest_of(cells: Sequence[Cell], matrix: Matrix) -> tuple[str, int]:
    newest = max((cell.on(matrix.subject) for cell in cells), key=lambda place: place.version)
    matching = [cell for cell in cells if cell.on(matrix.subject) == newest]
    parts = (
        newest.text if axis.name == matrix.subject else f"{axis.short}*" for axis in matrix.axes
    )
    # A version ends with a digit and a recipe's name does not: the pattern names only fresh cells.
    ending = "" if matrix.axes[-1].name == matrix.subject else "[0-9]"
    return "-".join(parts) + ending, len(matching)


def _cells(workspace: Workspace, patterns: Sequence[str]) -> tuple[Feasibility, tuple[Cell, ...]]:
    catalogue = workspace.stored_catalogue
    if catalogue is not None:
        try:
            facts = workspace.facts_of(catalogue)
            return facts, named_cells(facts, patterns, beyond_axes=True)
        except UsageError:
            pass
    return workspace.feasibility, named_cells(workspace.feasibility, patterns, beyond_axes=True)


def sifted(
    facts: Feasibility, cells: Iterable[Cell], always: Collection[str] = ()
) -> tuple[tuple[Cell, ...], tuple[Infeasible, ...]]:
    wanted: list[Cell] = []
    infeasible: list[Infeasible] = []
    for cell in cells:
        fate = (
            Feasible(cell=cell) if cell.id in always else cell_status(facts_for(facts, cell), cell)
        )
        if isinstance(fate, Infeasible):
            infeasible.append(fate)
        else:
            wanted.append(cell)
    return tuple(wanted), tuple(infeasible)


# Seconds for checking out, installing compat and interpreters, the canary, and uploading the
# records: about three minutes on a hosted runner in total.
OVERHEAD_SECONDS = 180.0
# Assumed seconds of a cell where none of the matrix ran yet: packing needs a number, and one that
# is too large only leaves time over. The first runs of matrices/ took 5 to 150 seconds a cell
# (November 2026).
ASSUMED_SECONDS = 120.0
# The same for the suite's core alone: an installation, an import and a few capabilities took 5 to
# 30 seconds (November 2026).
ASSUMED_CORE_SECONDS = 30.0
_TIME = re.compile(r"(?:(?P<hours>\d{1,3})h)?(?:(?P<minutes>\d{1,4})m)?")


class RunPlan(Value, frozen=True, kw_only=True):
    """The due cells, those of them that run now, and the later run of each other; None is never.

    `tiers` is how much of the suite each runs. `python_unavailable` are due cells whose Python no
    runner has. `infeasible` are those that the plan rules out, `unplanned` those that it no longer
    has. `is_guess` means that no cell of the matrix ran yet, so that the times are assumed.
    """

    due: dict[str, Due]
    tiers: dict[str, Tier]
    python_unavailable: list[str]
    infeasible: list[Infeasible]
    unplanned: list[str]
    tasks: dict[str, Task]
    pythons: dict[str, Version]
    packing: Packing
    later: dict[str, int | None]
    is_guess: bool

    @property
    def cells_now(self) -> list[str]:
        return [cell for cell in self.due if cell not in self.later]

    def cells_of(self, tier: Tier, cells: Iterable[str] | None = None) -> list[str]:
        every = self.cells_now if cells is None else cells
        return [cell for cell in every if self.tiers[cell] == tier]


def budget_of(text: str, shards: int) -> Budget:
    seconds = seconds_of(text)
    if seconds <= OVERHEAD_SECONDS:
        least = f"more than {OVERHEAD_SECONDS / 60:.0f}m, which a shard needs besides its cells"
        raise UsageError.of(f"--budget {text!r} is not a time such as 90m or 1h30m, {least}")
    return Budget(seconds=float(seconds), shards=shards, overhead=OVERHEAD_SECONDS)


def seconds_of(text: str) -> int:
    """Parse `90m` or `1h30m` into seconds; 0 for any other text."""
    match = _TIME.fullmatch(text.strip())
    return 0 if match is None else 3600 * int(match["hours"] or 0) + 60 * int(match["minutes"] or 0)


def _of_core(workspace: Workspace, budget: Budget, waiting: Iterable[Cell]) -> list[Due]:
    """As many of the cells as fit in the time of all shards, each with only the suite's core."""
    core, room = list[Due](), budget.room * budget.most
    for cell in waiting:
        room -= workspace.durations["smoke"].of(cell) or ASSUMED_CORE_SECONDS
        if room < 0:
            break
        core.append(Due(cell=cell.id, reason="never-run"))
    return core


def run_plan(
    workspace: Workspace,
    budget: Budget,
    needs: Sequence[str] = (),
    named: Sequence[str] = (),
    pythons: Sequence[str] = (),
) -> RunPlan:
    """Plan due cells, and the core of never-run cells with a lock: what proposals need first, only
    the `named` and those of the runners' `pythons`. NothingToDo where nothing is known.
    """
    matrix, snapshot = workspace.matrix, workspace.snapshot
    facts = workspace.facts_of(workspace.stored_or_fetched)
    only, first = (
        [c.id for c in named_cells(facts, ids, beyond_axes=True)] for ids in (named, needs)
    )
    today = agenda(snapshot, [*only, *first])

    def is_at_hand(cell: Cell) -> bool:
        python = cell.on(matrix.interpreters.name).version
        return not pythons or str(python) in pythons

    entries = [entry for entry in today.cells if not only or entry.cell in only]
    # A named cell outside the plan is a proposed extension of the matrix; where the runners lack
    # its Python, the proposal is more useful than a plan.
    beyond = [entry for entry in today.unplanned if entry.cell in (*only, *first)]
    entries += [entry for entry in beyond if is_at_hand(parse_cell(entry.cell, matrix))]
    full = {entry.cell for entry in entries}
    asks_core = bool(matrix.suite.core) and not only
    waiting = open_work(snapshot, among=snapshot.unanswered).locked if asks_core else ()
    core = _of_core(workspace, budget, (c for c in waiting if c.id not in full and is_at_hand(c)))
    if not (entries or core or snapshot.known):
        message = f"matrix {workspace.name!r} has no locks and no records yet, so nothing is due"
        hint = f"compat run {workspace.name} makes a beginning, or says what to type"
        raise NothingToDo.of(message, hint=hint)
    late = [entry for entry in entries if entry.reason == "smoke-only"]
    entries = [*(entry for entry in entries if entry not in late), *core, *late]
    cells = {entry.cell: parse_cell(entry.cell, matrix) for entry in entries}
    unavailable = [name for name, cell in cells.items() if not is_at_hand(cell)]
    due = {entry.cell: entry for entry in entries if entry.cell not in unavailable}
    tiers: dict[str, Tier] = {name: "full" if name in full else "smoke" for name in due}
    assumed: dict[Tier, float] = {"full": ASSUMED_SECONDS, "smoke": ASSUMED_CORE_SECONDS}
    tasks = {
        name: Task(cell=name, seconds=workspace.durations[t].of(cells[name]) or assumed[t])
        for name, t in tiers.items()
    }
    runs = [[task.cell for task in run] for run in rounds([*tasks.values()], budget)]
    run_of = {name: number for number, run in enumerate(runs, 1) for name in run}
    return RunPlan(
        due=due,
        tiers=tiers,
        python_unavailable=unavailable,
        infeasible=[fate for fate in today.infeasible if not only or fate.cell.id in only],
        unplanned=[e.cell for e in today.unplanned if not only and e.cell not in first],
        tasks=tasks,
        pythons={name: cells[name].on(matrix.interpreters.name).version for name in cells},
        packing=packed([tasks[name] for name in runs[0]], budget) if runs else Packing(),
        later={name: run_of.get(name) for name in due if run_of.get(name) != 1},
        is_guess=workspace.durations["full"].is_empty,
    )
