"""A cluster as a fleet: each cell is recorded once, whatever workers or schedulers are lost.

A worker has at most one cell of a run, so a cell never waits behind a long one while another worker
is free.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec
from packaging.version import Version

from compat.declare.matrix import decode_custom
from compat.errors import CompatError
from compat.files import code_digest
from compat.fleet.local import Attempts, Breaker, CellFault, Keep, Reporter, handed_on
from compat.results.judged import judged
from compat.run.evidence import Evidence
from compat.run.job import Job
from compat.run.steps import Activity
from compat.run.suitefiles import suite_contents, suite_digest
from compat.value import StrictValue, encode

# The largest evidence of this repository's matrices has 0.6 MB (November 2026).
LARGEST_MESSAGE = 64 << 20
_PYTHON = "python"

T = TypeVar("T")


class ClusterLost(CompatError):
    """The scheduler of a cluster does not answer."""

    exit_code = 3
    code = "cluster-lost"


class ClusterHostile(ClusterLost):
    """Somebody who can reach the scheduler sent this run something that no worker sends."""

    code = "cluster-hostile"


class CellOrder(StrictValue, frozen=True, kw_only=True):
    """A cell to run, with all that a worker needs besides its folders: the suite's files by path,
    and whether all its indexes count as one (`merged`).
    """

    topic: str
    job: Job
    attempts: int
    suite: dict[str, bytes] | None
    merged: bool


class WorkerMessage(StrictValue, frozen=True, kw_only=True):
    """What a worker reports, `began` first. `faulted` is a fault of compat itself; with `stopped`
    it takes no more cells, with `returned` it did not run the cell.
    """

    kind: Literal["began", "entered", "ended", "faulted", "stopped", "returned"]
    worker: str
    cell: str
    activity: Activity | None = None
    folder: str = ""
    attempts: tuple[Evidence, ...] = ()
    places: tuple[str, ...] = ()
    why: str = ""


def packed(value: CellOrder | WorkerMessage) -> bytes:
    """Return a value as it travels: compressed JSON, so that reading it runs no code."""
    return zlib.compress(encode(value), 1)


def unpacked(data: object, kind: type[T]) -> T | None:
    """Return the value; None for anything else: whoever reaches the scheduler can send it."""
    if not isinstance(data, bytes):
        return None
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(data, LARGEST_MESSAGE)
        if unpacking.unconsumed_tail:
            return None
        return msgspec.json.decode(text, type=kind, dec_hook=decode_custom)
    except (zlib.error, msgspec.MsgspecError, RecursionError):
        return None


def resources_for(job: Job) -> dict[str, float]:
    """Return what a worker must have for the job, as Dask resources (memory and disk in MiB)."""
    return {
        "cell": 1,
        python_resource(job.lock.inputs.python): 1,
        "memory-mb": job.suite.memory_mb,
        "disk-mb": job.suite.disk_mb,
        code_resource(): 1,
    }


def python_resource(version: Version) -> str:
    return f"{_PYTHON}{version.major}.{version.minor}"


def code_resource() -> str:
    """Return the resource of workers with the same code: other code makes other records."""
    return f"compat-{code_digest()[:16]}"


def resource_words(name: str) -> str:
    words = {
        code_resource(): "this run's code of compat (start the workers from the same version)",
        "cell": "a place for a cell",
        "memory-mb": "as much memory as the cell may take",
        "disk-mb": "as much disk as the cell may take",
    }
    return words.get(name, name.replace(_PYTHON, "Python ", 1))


def lacking(needs: dict[str, float], offered: dict[str, float]) -> tuple[str, ...]:
    return tuple(name for name, amount in needs.items() if offered.get(name, 0) < amount)


if TYPE_CHECKING:
    from compat.fleet.cluster import Cluster

# A cell that took so many workers with it is not tried on another.
MOST_STARTS = 3
# How long a run waits for a scheduler that is gone, or for a worker that a cell needs.
PATIENCE_SECONDS = 120.0
_LOOK_SECONDS = 1.0
_MESSAGE_SECONDS = 0.2
# A task whose message has not come so long after its end: the message was lost.
_LATE_SECONDS = 10.0
# What cells need to stop: their own grace, and the way of the message.
_CANCEL_SECONDS = 30.0


@dataclass
class _Hand:
    """A worker that takes cells, and the one that it has; `finished` is when Dask called it so."""

    address: str
    number: int
    offer: dict[str, float]
    breaker: Breaker = field(default_factory=Breaker)
    job: Job | None = None
    future: Any = None
    has_begun: bool = False
    finished: float | None = None


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
        self._connect, self._topic, self._cancel = connect, topic, cancel
        self._attempts, self._merged, self._patience = attempts, merged, patience
        self._cluster = connect()
        self._hands: dict[str, _Hand] = {}
        self._numbers: dict[str, int] = {}
        self._gone: set[str] = set()
        self._waiting: deque[Job] = deque()
        self._closed = threading.Event()
        self._starts = count()
        self._losses: Counter[str] = Counter()
        self._unfit: dict[str, float] = {}
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
        while time.monotonic() < end and not self._cancel.is_set() and not self._offers():
            time.sleep(_MESSAGE_SECONDS)
        return len(self._hands)

    def has_python(self, version: Version) -> bool:
        return any(python_resource(version) in hand.offer for hand in self._hands.values())

    def obstacle(self, job: Job) -> tuple[str, ...]:
        """Return what no worker has of all that a job needs; empty when one has it all."""
        needs = resources_for(job)
        missing = [lacking(needs, hand.offer) for hand in self._hands.values()]
        return min(missing, key=len, default=tuple(needs))

    def run(
        self, jobs: Iterable[Job], canary: Callable[[Job], Job], keep: Keep, reporter: Reporter
    ) -> int:
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
            self._lost += sum(self._freed(hand) is not None for hand in self._hands.values())

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
                # Nothing that was held back of the workers is recorded.
                for hand in self._hands.values():
                    self._stopped[hand.number] = str(fault)
                    self._reporter.stopped(hand.number, str(fault))
                    self._lost += len(hand.breaker.held())
                return
            except CompatError as fault:
                if not self._reconnected(str(fault)):
                    return
        end = time.monotonic() + _CANCEL_SECONDS
        for hand in self._hands.values() if self._cancel.is_set() else ():
            self._cluster.drop(hand.future)
        while self._cancel.is_set() and time.monotonic() < end:
            if not any(hand.job and hand.has_begun for hand in self._hands.values()):
                break
            self._hear(self._cluster.message(_MESSAGE_SECONDS))
        for hand in self._hands.values():
            self._release(hand.breaker.held(), hand)

    def _is_done(self) -> bool:
        # Asked before the queue: what came just before the end is still seen.
        is_closed = self._closed.is_set()
        is_idle = all(hand.job is None for hand in self._hands.values())
        return is_closed and not self._waiting and is_idle

    def _submit(self) -> None:
        for hand in self._hands.values():
            if hand.job is not None:
                continue
            waiting = tuple(self._waiting)
            fitting = (job for job in waiting if not lacking(resources_for(job), hand.offer))
            job = next(fitting, None)
            if job is not None:
                key = f"{self._topic}-{job.cell}-{next(self._starts)}"
                order = CellOrder(
                    topic=self._topic,
                    job=msgspec.structs.replace(job, suite_folder=""),
                    attempts=self._attempts,
                    suite=self._suite_of(job)[0] if job.suite_folder else None,
                    merged=self._merged,
                )
                hand.future = self._cluster.submit(order, key, hand.address)
                hand.job, hand.has_begun, hand.finished = job, False, None
                self._waiting.remove(job)

    def _suite_of(self, job: Job) -> tuple[dict[str, bytes], str]:
        folder = Path(job.suite_folder)
        if job.suite_folder not in self._suites:
            self._suites[job.suite_folder] = suite_contents(folder), suite_digest(folder)
        return self._suites[job.suite_folder]

    # What became of workers and tasks.

    def _offers(self) -> dict[str, dict[str, float]]:
        offers = self._cluster.offers()
        for address in sorted(offers.keys() - self._hands.keys() - self._gone):
            number = self._numbers.setdefault(address, len(self._numbers))
            self._hands[address] = _Hand(address, number, offers[address])
        return offers

    def _look(self) -> None:
        for address in self._hands.keys() - self._offers().keys():
            self._part_with(self._hands[address], "the connection is lost; its cells run elsewhere")
        now = time.monotonic()
        for hand in self._hands.values():
            state = "pending" if hand.job is None else self._cluster.state(hand.future)
            if state == "finished":
                hand.finished = now if hand.finished is None else hand.finished
                if now - hand.finished > _LATE_SECONDS:
                    self._again(hand, "its worker said nothing")
            elif state != "pending":
                self._again(hand, state)
        self._drop_unfit(now)

    def _drop_unfit(self, now: float) -> None:
        """Give up cells for which there was no worker for too long: all that need that Python."""
        by_python = {python_resource(job.lock.inputs.python): job for job in tuple(self._waiting)}
        for series, example in by_python.items():
            missing = self.obstacle(example)
            if not missing:
                self._unfit.pop(series, None)
            elif now - self._unfit.setdefault(series, now) > self._patience:
                words = ", ".join(map(resource_words, missing))
                lacks = f"no worker has {words}" if self._hands else "no worker is left"
                for job in tuple(self._waiting):
                    if python_resource(job.lock.inputs.python) == series:
                        self._waiting.remove(job)
                        self._fail(job, 0, lacks)

    def _again(self, hand: _Hand, why: str) -> None:
        job = self._freed(hand)
        if job is None:
            return
        self._losses[job.cell] += 1
        if self._losses[job.cell] < MOST_STARTS:
            self._waiting.append(job)
        else:
            times = f"it got lost {MOST_STARTS} times, the last time because {why}"
            self._fail(job, hand.number, times)

    def _freed(self, hand: _Hand) -> Job | None:
        job, hand.job = hand.job, None
        if job is not None:
            self._cluster.drop(hand.future)
        return job

    def _fail(self, job: Job, number: int, why: str) -> None:
        self._lost += 1
        self._reporter.faulted(number, job, why)

    def _part_with(self, hand: _Hand, why: str) -> None:
        del self._hands[hand.address]
        self._gone.add(hand.address)
        self._reporter.stopped(hand.number, why)
        self._waiting.extend(job for job, _ in hand.breaker.held())
        self._again(hand, why)

    def _reconnected(self, why: str) -> bool:
        """Connect again and have everything run that has no result; return whether it went."""
        hands, self._hands = self._hands, {}
        for hand in hands.values():
            self._reporter.stopped(hand.number, f"{why}; dialling the scheduler again")
            self._waiting.extend(job for job, _ in hand.breaker.held())
            if (job := self._freed(hand)) is not None:
                # Lost with the scheduler, which says nothing about the cell.
                self._losses[job.cell] = 0
                self._waiting.append(job)
        self._cluster.close()
        end = time.monotonic() + self._patience
        while time.monotonic() < end and not self._cancel.wait(_LOOK_SECONDS):
            try:
                self._cluster = self._connect()
            except CompatError:
                continue
            return True
        self._stopped.update((hand.number, why) for hand in hands.values())
        return False

    # What workers say.

    def _hear(self, message: WorkerMessage | None) -> None:
        hand = self._hands.get(message.worker) if message else None
        if message is None or hand is None:
            return
        if message.kind == "stopped":
            self._stopped[hand.number] = message.why
            self._part_with(hand, message.why)
            return
        job = hand.job
        # Of a cell that another worker has by now, nothing counts.
        if job is None or job.cell != message.cell:
            return
        match message.kind:
            case "began":
                hand.has_begun = True
                self._reporter.began(hand.number, job)
            case "entered":
                if message.activity is not None:
                    self._reporter.entered(hand.number, job, message.activity, Path(message.folder))
            case "returned":
                self._again(hand, message.why or "its worker did not run it")
            case "faulted":
                self._end(hand, job, CellFault(message.why))
            case "ended":
                self.places.update(message.places)
                self._end(hand, job, self._judged(message, job))

    def _end(self, hand: _Hand, job: Job, attempts: Attempts) -> None:
        self._freed(hand)
        self._release(hand.breaker.take(job, attempts), hand)

    def _release(self, settled: list[tuple[Job, Attempts]], hand: _Hand) -> None:
        for job, attempts in settled:
            if not handed_on(job, attempts, hand.number, self._keep, self._reporter):
                self._lost += 1

    def _judged(self, message: WorkerMessage, job: Job) -> Attempts:
        suite = self._suite_of(job)[1] if job.suite_folder else ""
        asked = (job.matrix, job.cell, job.lock.digest, suite, job.tier, job.subject)
        names = ("matrix", "cell", "lock_digest", "suite_digest", "tier", "subject")
        for evidence in message.attempts:
            if tuple(getattr(evidence, name) for name in names) != asked:
                return CellFault("its worker answered about something else")
        if not message.attempts:
            return CellFault("its worker sent no evidence")
        return tuple(judged(evidence) for evidence in message.attempts)
