"""A cluster as a fleet: each cell is recorded once, whatever workers or schedulers are lost.

Dask chooses the worker by its resources. What counts is kept here: which cells have a result, how
often one was begun, and what of a worker is held back until its breaker can be trusted.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from packaging.version import Version

from compat.errors import CompatError
from compat.fleet.cell_order import (
    CellOrder,
    ClusterHostile,
    WorkerMessage,
    lacking,
    python_resource,
    resource_words,
    resources_for,
)
from compat.fleet.local import Reporter, handed_on
from compat.fleet.station import Attempts, Breaker, CellFault
from compat.results.judged import JudgedRun, judged
from compat.run.job import Job
from compat.run.suitefiles import suite_contents, suite_digest

if TYPE_CHECKING:
    from compat.fleet.cluster import Cluster

# A cell that took so many workers with it is not tried on another: Dask's own limit
# (allowed-failures) was not always obeyed (Dask 2026.8).
MOST_STARTS = 3
# How long a run waits for a scheduler that is gone, or for a worker that a cell needs.
PATIENCE_SECONDS = 120.0
_LOOK_SECONDS = 1.0
_MESSAGE_SECONDS = 0.2
# A task whose message has not come so long after its end: the message was lost.
_LATE_SECONDS = 10.0
# What cells need to stop: their own grace, and the way of the message.
_CANCEL_SECONDS = 30.0

Keep = Callable[[Job, tuple[JudgedRun, ...]], None]


@dataclass
class _Start:
    """A cell in the hands of the cluster."""

    job: Job
    future: Any
    eligible: frozenset[str]
    worker: str = ""
    finished: float | None = None


@dataclass
class _Hand:
    """A worker that has spoken: its number, its breaker, and the cell that it runs."""

    number: int
    breaker: Breaker = field(default_factory=Breaker)
    cell: str = ""
    gone: bool = False


class Remote:
    """The workers of a cluster, as a fleet."""

    def __init__(
        self,
        connect: Callable[[], Cluster],
        topic: str,
        cancel: threading.Event,
        *,
        attempts: int = 1,
        merged: bool = False,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        """Take what connects to the scheduler, the name under which workers speak to this run, and
        the order to stop; raise CompatError when no scheduler answers.
        """
        self._connect = connect
        self._topic = topic
        self._cancel = cancel
        self._attempts = attempts
        self._merged = merged
        self._patience = patience
        self._cluster = connect()
        self._offers: dict[str, dict[str, float]] = {}
        self._waiting: deque[Job] = deque()
        self._closed = threading.Event()
        self._running: dict[str, _Start] = {}
        self._starts: Counter[str] = Counter()
        self._losses: Counter[str] = Counter()
        self._begun: Counter[str] = Counter()
        self._unfit: dict[str, float] = {}
        self._hands: dict[str, _Hand] = {}
        self._stopped: dict[int, str] = {}
        self._lost = 0
        self._suites: dict[str, tuple[dict[str, bytes], str]] = {}
        self._keep: Keep
        self._reporter: Reporter
        self._fault: BaseException | None = None
        self.is_spent = False
        self.places: set[str] = set()

    @property
    def stopped(self) -> dict[int, str]:
        """Why each worker that took no more cells stopped; one that was lost is not among them."""
        return dict(sorted(self._stopped.items()))

    def size(self) -> int:
        end = time.monotonic() + self._patience
        while not self._offers and time.monotonic() < end and not self._cancel.is_set():
            self._offers = self._cluster.offers()
            if not self._offers:
                time.sleep(_MESSAGE_SECONDS)
        return len(self._offers)

    def has_python(self, version: Version) -> bool:
        return any(python_resource(version) in offer for offer in self._offers.values())

    def obstacle(self, job: Job) -> tuple[str, ...]:
        """Return what no worker has of all that a job needs; empty when one has it all."""
        needs = resources_for(job)
        missing = [lacking(needs, offer) for offer in self._offers.values()]
        return min(missing, key=len, default=tuple(needs))

    def run(
        self,
        jobs: Iterable[Job],
        canary: Callable[[Job], Job],
        keep: Keep,
        reporter: Reporter,
    ) -> int:
        """Run the jobs as they come, see `Local.run`; the workers have canaries of their own."""
        self._keep, self._reporter = keep, reporter
        thread = threading.Thread(target=self._dispatch, name="dispatcher")
        thread.start()
        try:
            for job in jobs:
                self._waiting.append(job)
        finally:
            self._closed.set()
            while thread.is_alive():
                thread.join(_MESSAGE_SECONDS)
            self._cluster.close()
        if self._fault is not None:
            raise self._fault
        return self._lost + len(self._waiting)

    # The loop, in a thread of its own.

    def _dispatch(self) -> None:
        try:
            self._loop()
        except BaseException as fault:
            self._fault = fault
        finally:
            self.is_spent = True
            for start in self._running.values():
                self._cluster.drop(start.future)
            self._lost += len(self._running)

    def _loop(self) -> None:
        looked = float("-inf")
        while not self._is_done() and not self._cancel.is_set():
            try:
                if time.monotonic() - looked > _LOOK_SECONDS:
                    self._look()
                    looked = time.monotonic()
                self._submit()
                self._hear(self._cluster.message(_MESSAGE_SECONDS))
            except ClusterHostile as fault:
                self._leave(str(fault))
                return
            except CompatError as fault:
                if not self._reconnected(str(fault)):
                    return
        if self._cancel.is_set():
            self._wait_for_cancelled()
        for hand in self._hands.values():
            self._release(hand.breaker.held(), hand)

    def _is_done(self) -> bool:
        # Asked before the queue: what came just before the end is still seen.
        is_closed = self._closed.is_set()
        return is_closed and not self._waiting and not self._running

    def _wait_for_cancelled(self) -> None:
        end = time.monotonic() + _CANCEL_SECONDS
        for start in self._running.values():
            self._cluster.drop(start.future)
        while time.monotonic() < end and any(start.worker for start in self._running.values()):
            self._hear(self._cluster.message(_MESSAGE_SECONDS))

    def _submit(self) -> None:
        """Hand over as many cells as workers can begin at once, and no more: Dask assigns each at
        once, and a cell that waits behind a long one would not move to a worker that is free.
        """
        passed: list[Job] = []
        try:
            while self._waiting and len(self._running) < len(self._offers):
                job = self._waiting.popleft()
                eligible = self._eligible(job)
                rivals = sum(bool(start.eligible & eligible) for start in self._running.values())
                passed.append(job)
                if rivals < len(eligible):
                    key = f"{self._topic}-{job.cell}-{self._starts[job.cell]}"
                    future = self._cluster.submit(self._order(job), key)
                    passed.pop()
                    self._starts[job.cell] += 1
                    self._running[job.cell] = _Start(job, future, eligible)
        finally:
            self._waiting.extendleft(reversed(passed))

    def _eligible(self, job: Job) -> frozenset[str]:
        needs = resources_for(job)
        return frozenset(
            address for address, offer in self._offers.items() if not lacking(needs, offer)
        )

    def _order(self, job: Job) -> CellOrder:
        suite = self._suite_of(job)[0] if job.suite_folder else None
        portable = msgspec.structs.replace(job, suite_folder="")
        return CellOrder(
            topic=self._topic, job=portable, attempts=self._attempts, suite=suite,
            merged=self._merged,
        )  # fmt: skip

    def _suite_of(self, job: Job) -> tuple[dict[str, bytes], str]:
        if job.suite_folder not in self._suites:
            folder = Path(job.suite_folder)
            self._suites[job.suite_folder] = suite_contents(folder), suite_digest(folder)
        return self._suites[job.suite_folder]

    # What became of workers and tasks.

    def _look(self) -> None:
        offers = self._cluster.offers()
        gone = {worker for worker, hand in self._hands.items() if hand.gone}
        self._offers = {worker: offers[worker] for worker in offers.keys() - gone}
        for worker in self._hands.keys() - self._offers.keys() - gone:
            self._part_with(worker, "the connection is lost; its cells run elsewhere")
        now = time.monotonic()
        for start in tuple(self._running.values()):
            state = self._cluster.state(start.future)
            if state == "finished":
                start.finished = now if start.finished is None else start.finished
                if now - start.finished > _LATE_SECONDS:
                    self._again(start, "its worker said nothing")
            elif state != "pending":
                self._again(start, state)
        self._drop_unfit(now)

    def _drop_unfit(self, now: float) -> None:
        """Give up cells for which there was no worker for too long: all that need that Python."""
        started = [start.job for start in self._running.values() if not start.worker]
        examples = {_series(job): job for job in (*self._waiting, *started)}
        for series, example in examples.items():
            missing = self.obstacle(example)
            if not missing:
                self._unfit.pop(series, None)
            elif now - self._unfit.setdefault(series, now) > self._patience:
                words = ", ".join(map(resource_words, missing))
                lacks = f"no worker has {words}" if self._offers else "no worker is left"
                unfit = [job for job in (*self._waiting, *started) if _series(job) == series]
                self._waiting = deque(job for job in self._waiting if _series(job) != series)
                for job in unfit:
                    self._fail(job, CellFault(lacks))

    def _again(self, start: _Start, why: str) -> None:
        job = start.job
        self._cluster.drop(start.future)
        self._running.pop(job.cell, None)
        self._losses[job.cell] += 1
        if self._losses[job.cell] >= MOST_STARTS:
            times = f"it got lost {MOST_STARTS} times, the last time because {why}"
            self._fail(job, CellFault(times))
        else:
            self._waiting.append(job)

    def _fail(self, job: Job, fault: CellFault) -> None:
        start = self._running.pop(job.cell, None)
        if start is not None:
            self._cluster.drop(start.future)
        self._lost += 1
        hand = None if start is None else self._hands.get(start.worker)
        self._reporter.faulted(0 if hand is None else hand.number, job, str(fault))

    def _part_with(self, worker: str, why: str) -> None:
        hand = self._hands[worker]
        hand.gone, hand.cell = True, ""
        self._waiting.extend(job for job, _ in hand.breaker.held())
        for start in self._running.values():
            if start.worker == worker:
                start.worker = ""
        self._reporter.stopped(hand.number, why)

    def _leave(self, why: str) -> None:
        """Give up all workers; nothing that was held back of them is recorded."""
        for hand in self._present() or [_Hand(0)]:
            self._stopped[hand.number] = why
            self._reporter.stopped(hand.number, why)
            self._lost += len(hand.breaker.held())

    def _present(self) -> list[_Hand]:
        return [hand for hand in self._hands.values() if not hand.gone]

    def _reconnected(self, why: str) -> bool:
        """Connect anew and have everything run that has no result; return whether it went."""
        self._cluster.close()
        for hand in self._present():
            self._reporter.stopped(hand.number, f"{why}; dialling the scheduler again")
            hand.cell = ""
        for start in self._running.values():
            # Lost with the scheduler, which says nothing about the cell.
            self._begun[start.job.cell] = self._losses[start.job.cell] = 0
            self._waiting.append(start.job)
        self._running.clear()
        end = time.monotonic() + self._patience
        while time.monotonic() < end and not self._cancel.wait(_LOOK_SECONDS):
            try:
                self._cluster = self._connect()
            except CompatError:
                continue
            return True
        self._stopped.update((hand.number, why) for hand in self._present())
        return False

    # What workers say.

    def _hear(self, message: WorkerMessage | None) -> None:
        if message is None:
            return
        hand = self._hands.setdefault(message.worker, _Hand(len(self._hands)))
        if hand.gone:
            return
        start = self._running.get(message.cell)
        if message.kind == "stopped":
            self._stopped[hand.number] = message.why
            if start is not None:
                self._again(start, message.why)
            self._part_with(message.worker, message.why)
            return
        # Of a cell that has its result already, a task may run twice: nothing of it counts.
        if start is None:
            return
        job = start.job
        match message.kind:
            case "began":
                start.worker = message.worker
                self._begun[job.cell] += 1
                if self._begun[job.cell] > MOST_STARTS:
                    lost = CellFault(f"{MOST_STARTS} workers were lost while they ran it")
                    self._fail(job, lost)
                    return
                hand.cell = job.cell
                self._reporter.began(hand.number, job)
            case "entered":
                if message.activity is not None and hand.cell == job.cell:
                    self._reporter.entered(hand.number, job, message.activity, Path(message.folder))
            case "returned":
                self._again(start, message.why or "its worker did not run it")
            case "faulted":
                self._end(start, hand, CellFault(message.why))
            case "ended":
                self.places.update(message.places)
                self._end(start, hand, self._judged(message, job))

    def _end(self, start: _Start, hand: _Hand, attempts: Attempts) -> None:
        self._cluster.drop(start.future)
        self._running.pop(start.job.cell, None)
        hand.cell = ""
        self._release(hand.breaker.take(start.job, attempts), hand)

    def _release(self, settled: list[tuple[Job, Attempts]], hand: _Hand) -> None:
        for job, attempts in settled:
            if not handed_on(job, attempts, hand.number, self._keep, self._reporter):
                self._lost += 1

    def _judged(self, message: WorkerMessage, job: Job) -> Attempts:
        suite = self._suite_of(job)[1] if job.suite_folder else ""
        asked = (job.matrix, job.cell, job.lock.digest, suite, job.tier, job.subject)
        for evidence in message.attempts:
            answered = (
                *(evidence.matrix, evidence.cell, evidence.lock_digest, evidence.suite_digest),
                *(evidence.tier, evidence.subject),
            )
            if answered != asked:
                return CellFault("its worker answered about something else")
        if not message.attempts:
            return CellFault("its worker sent no evidence")
        return tuple(judged(evidence) for evidence in message.attempts)


def _series(job: Job) -> str:
    return python_resource(job.lock.inputs.python)
