"""Spends a time budget where answers are worth most, and locks while cells run.

Due results are renewed first. Then the probe with the most expected answers a second comes next. A
tenth of the time verifies a random sample of the inferred results.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from compat.declare.suite_table import Tier
from compat.errors import CompatError
from compat.plan.cell import Cell
from compat.results.answer import Answer, Kind
from compat.results.coverage import Coverage, CoverageCount
from compat.results.due import agenda
from compat.results.infer import signature_of
from compat.results.learnt import AuditedCell
from compat.results.runs import is_whole
from compat.results.snapshot import Snapshot
from compat.run.outcome import Failed, Outcome, is_spurious, lacks_instruction
from compat.search.exploration import Exploration, ExploreProbe, ProbeKind, RunReach
from compat.value import Value

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
