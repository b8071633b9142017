"""The Dask engine of the extra `fleet`: a scheduler, its workers, and a run that uses them.

Each cell is recorded once, whatever workers or schedulers are lost. Anyone who reaches a scheduler
can run code in it and in its workers, so all connections require certificates. A run has the store
and the tokens. It therefore unpickles nothing: orders and messages are JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import ipaddress
import logging
import pickle
import queue
import signal
import sys
import threading
import time
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from distributed import Client, Scheduler, Security, Worker, WorkerPlugin, get_worker
from packaging.version import Version

from compat.declare.matrix import decode_custom
from compat.errors import CompatError, UsageError
from compat.files import code_digest, new_folder, remove_tree, write
from compat.fleet.batch import Attempts, Breaker, CellFault, Crew, Keep, Reporter, Station
from compat.results.judge import judged
from compat.run.evidence import Evidence
from compat.run.installation import Activity
from compat.run.job import Bench, Job
from compat.run.suitefiles import suite_contents, suite_digest
from compat.value import StrictValue, Value, encode

T = TypeVar("T")
HOST = "compat"
_SCHEME = "dask://"
_CERTIFICATES = ("ca.pem", "cert.pem", "key.pem")
# The certificates that distributed makes are valid for a year.
_CERTIFICATE_SECONDS = 300 * 86400
# A scheduler in the same network answers in milliseconds. A busy one may be slow, and treating it
# as lost would stop the running cells.
_CONNECT_SECONDS = 20
_ANSWER_SECONDS = 60
# Seconds of one attempt to join a cluster, and the pause before the next.
_JOIN_SECONDS = 10.0
_PAUSE_SECONDS = 1.0
# States of a task after which its result cannot arrive any more.
_DROPPED = frozenset(("cancelled", "released", "forgotten"))
# What Dask itself pickles for a client: the type of a result (None), and why a task failed.
_OF_DASK = frozenset((("builtins", "type"), ("distributed.scheduler", "KilledWorker")))

# Dask's warnings repeat in many lines what compat reports in one.
logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)


class ClusterAddress(Value, frozen=True, kw_only=True):
    """Where a scheduler listens, and the folder of the certificates for it."""

    host: str
    port: int
    tls: str

    @property
    def text(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{_SCHEME}{host}:{self.port}"

    @property
    def url(self) -> str:
        return self.text.replace(_SCHEME, "tls://", 1)

    @property
    def security(self) -> Any:
        ca, certificate, key = (str(Path(self.tls, name)) for name in _CERTIFICATES)
        files = {"tls_ca_file": ca}
        for role in ("client", "worker", "scheduler"):
            files |= {f"tls_{role}_cert": certificate, f"tls_{role}_key": key}
        return Security(require_encryption=True, **files)


def cluster_address(text: str, tls: Path | None, own: Path) -> ClusterAddress:
    """`tls` names the certificates; None means the user's `own`, which serve only on the loopback.
    Raises UsageError for another text, and for certificates that are missing or readable by other
    users.
    """
    host, _, port = text.removeprefix(_SCHEME).rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not text.startswith(_SCHEME) or not host or not port.isascii() or not port.isdecimal():
        raise UsageError.of(f"{text!r} is not an address such as dask://127.0.0.1:8786")
    if int(port) > 65535:
        raise UsageError.of(f"{text!r}: a port is at most 65535")
    names = ", ".join(_CERTIFICATES)
    is_here = host == "localhost"
    with contextlib.suppress(ValueError):
        is_here = is_here or ipaddress.ip_address(host).is_loopback
    if tls is None and not is_here:
        raise UsageError.of(
            f"{host} is not this machine, so the connection needs certificates",
            hint=f"--tls FOLDER names a folder with {names}",
        )
    folder, path = tls or own, "" if tls is None else f"--tls {tls}"
    missing = [name for name in _CERTIFICATES if not (folder / name).is_file()]
    if missing:
        hint = "" if tls else "`compat fleet cluster` makes them; for another's, give --tls FOLDER"
        raise UsageError.of(f"{', '.join(missing)} is missing", path=path, hint=hint)
    if (folder / _CERTIFICATES[-1]).stat().st_mode & 0o077:
        hint = f"chmod 600 {_CERTIFICATES[-1]}"
        raise UsageError.of("other users can read the key", path=path or str(folder), hint=hint)
    return ClusterAddress(host=host, port=int(port), tls=str(folder.absolute()))


def make_certificates(own: Path, now: float) -> None:
    if own.is_dir() and now - own.stat().st_mtime < _CERTIFICATE_SECONDS:
        return
    security = Security.temporary()
    texts = (security.tls_ca_file, security.tls_scheduler_cert, security.tls_scheduler_key)
    draft = new_folder(own.with_name(f"{own.name}-new"))
    draft.chmod(0o700)
    for name, text in zip(_CERTIFICATES, texts, strict=True):
        (draft / name).touch(0o600)
        (draft / name).write_text(text)
    remove_tree(own)
    # Another process of this user may have been faster; its certificates are as good.
    with contextlib.suppress(OSError):
        draft.rename(own)


# The largest evidence of this repository's matrices has 0.6 MB (November 2026).
LARGEST_MESSAGE = 64 << 20


class ClusterLost(CompatError):
    """The scheduler of a cluster does not answer."""

    exit_code = 3
    code = "cluster-lost"


class ClusterHostile(ClusterLost):
    """Someone who can reach the scheduler sent this run something that no worker sends."""

    code = "cluster-hostile"


class CellOrder(StrictValue, frozen=True, kw_only=True):
    """A cell to run, with what a worker needs besides its folders.

    This includes the suite's files by path, and whether all its indexes rank equally (`merged`).
    """

    topic: str
    job: Job
    attempts: int
    suite: dict[str, bytes] | None
    merged: bool


class WorkerMessage(StrictValue, frozen=True, kw_only=True):
    """A worker's report, `began` first.

    `faulted` is an error of compat itself. With `stopped` the worker takes no more cells, with
    `returned` it did not run the cell.
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
    """Encode a value as compressed JSON, so that reading it runs no code."""
    return zlib.compress(encode(value), 1)


def unpacked(data: object, kind: type[T]) -> T | None:
    """Return the value; None for anything else: anyone who reaches the scheduler can send it."""
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
    return {
        "cell": 1,
        python_resource(job.lock.inputs.python): 1,
        "memory-mb": job.suite.memory_mb,
        "disk-mb": job.suite.disk_mb,
        code_resource(): 1,
    }


def python_resource(version: Version) -> str:
    return f"python{version.major}.{version.minor}"


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
    return words.get(name, name.replace("python", "Python ", 1))


def lacking(needs: dict[str, float], offered: dict[str, float]) -> tuple[str, ...]:
    return tuple(name for name, amount in needs.items() if offered.get(name, 0) < amount)


class _NoObjects:
    """Stops this process from unpickling any object while it is connected.

    An allow-list of Dask's serializers is not enough: `distributed.protocol.loads` unpickles some
    parts of a message whatever its settings (2026.8). Python audits each name that a pickle looks
    up beforehand, so rejecting it there covers every entry.
    """

    def __init__(self) -> None:
        self.connections = 0
        self.refused = ""
        sys.addaudithook(self._hear)

    def _hear(self, event: str, names: tuple[Any, ...]) -> None:
        if event != "pickle.find_class" or not self.connections:
            return
        if tuple(names) not in _OF_DASK:
            self.refused = f"an object of {names[0]}.{names[1]}"
        raise pickle.UnpicklingError(f"{names[0]}.{names[1]} is refused")


_guard = cache(_NoObjects)


class Cluster:
    """A connection to the scheduler.

    Once it is lost, `offers` and `submit` raise ClusterLost. After a message that no worker sends,
    every call raises ClusterHostile. Results arrive as events over the worker's own connection:
    `Future.result` would make the scheduler dial the worker, which a firewall may block (seen with
    Dask 2026.8).
    """

    def __init__(self, address: ClusterAddress, topic: str) -> None:
        self._messages: queue.Queue[WorkerMessage] = queue.Queue()
        self._guard, self._refused = _guard(), ""
        self._guard.connections += 1
        self._guard.refused = ""
        with _losses():
            self._client = Client(
                address.url, timeout=_CONNECT_SECONDS, set_as_default=False,
                security=address.security,
            )  # fmt: skip
            self._client.subscribe_topic(topic, self._hear)
            self._connection = self._client.scheduler_comm

    def _hear(self, event: tuple[float, Any]) -> None:
        message = unpacked(event[1], WorkerMessage)
        if message is None:
            self._refused = "something that is no message of a worker"
        else:
            self._messages.put(message)

    def message(self, seconds: float) -> WorkerMessage | None:
        self._check()
        with contextlib.suppress(queue.Empty):
            return self._messages.get(timeout=seconds)
        return None

    def _check(self) -> None:
        if what := self._refused or self._guard.refused:
            hint = "stop the cluster, make new certificates, and look at its machines"
            raise ClusterHostile.of(f"refused {what}, sent to this run's topic", hint=hint)

    def offers(self) -> dict[str, dict[str, float]]:
        self._check()
        # Dask reconnects by itself (2026.8), but then nobody receives the workers' messages.
        is_same = self._client.scheduler_comm is self._connection
        if self._client.status != "running" or not is_same:
            raise ClusterLost.of("the connection to the scheduler was lost")
        with _losses():
            identity = self._client.sync(
                self._client.scheduler.identity, n_workers=-1, callback_timeout=_ANSWER_SECONDS
            )
        return {
            address: {str(name): float(amount) for name, amount in worker["resources"].items()}
            for address, worker in identity["workers"].items()
        }

    def submit(self, order: CellOrder, key: str, worker: str) -> Any:
        with _losses():
            return self._client.submit(
                run_order, packed(order), key=key, workers=[worker], pure=False, retries=0
            )

    def state(self, future: Any) -> str:
        if (status := str(future.status)) in ("pending", "finished"):
            return status
        # The exception of a task is a pickle, so it is never requested.
        return "Dask gave it up" if status == "error" else "the scheduler has forgotten it"

    def drop(self, future: Any) -> None:
        with contextlib.suppress(Exception):
            future.release()

    def close(self) -> None:
        # Where this fails, objects stay blocked.
        with contextlib.suppress(Exception):
            self._client.close(timeout=_CONNECT_SECONDS)
            self._guard.connections -= 1


@contextlib.contextmanager
def _losses() -> Iterator[None]:
    try:
        yield
    except Exception as fault:
        raise ClusterLost.of(f"the scheduler does not answer ({type(fault).__name__})") from fault


# A cell that crashed this many workers is not tried on another.
MOST_STARTS = 3
# Seconds that a run waits for a lost scheduler, or for a worker that a cell needs.
PATIENCE_SECONDS = 120.0
_LOOK_SECONDS = 1.0
_MESSAGE_SECONDS = 0.2
# A task whose message is missing this long after its end: the message was lost.
_LATE_SECONDS = 10.0
# Seconds that cells need to stop: their own grace, and the message's travel.
_CANCEL_SECONDS = 30.0


@dataclass
class _Hand:
    """A worker that takes cells, and its current one; `finished` is when Dask reported its end."""

    address: str
    number: int
    offer: dict[str, float]
    breaker: Breaker = field(default_factory=Breaker)
    job: Job | None = None
    future: Any = None
    has_begun: bool = False
    finished: float | None = None


class Remote(Crew):
    """The workers of a cluster. A lost one is not among the stopped.

    A worker has at most one cell of a run, so a cell never waits behind a long one while another
    worker is free.
    """

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
        super().__init__(cancel, attempts)
        self._connect, self._topic = connect, topic
        self._merged, self._patience = merged, patience
        self._cluster = connect()
        self._hands: dict[str, _Hand] = {}
        self._numbers: dict[str, int] = {}
        self._gone: set[str] = set()
        self._waiting: deque[Job] = deque()
        self._starts = count()
        self._losses: Counter[str] = Counter()
        self._unfit: dict[str, float] = {}
        self._contents_of, self._digest_of = cache(suite_contents), cache(suite_digest)
        self.is_spent = False
        self.places: set[str] = set()

    def size(self) -> int:
        end = time.monotonic() + self._patience
        while time.monotonic() < end and not self._cancel.is_set() and not self._offers():
            time.sleep(_MESSAGE_SECONDS)
        return len(self._hands)

    def has_python(self, version: Version) -> bool:
        # Between one worker that is lost and the next that joins nobody can say.
        hands = list(self._hands.values())
        return not hands or any(python_resource(version) in hand.offer for hand in hands)

    def obstacle(self, job: Job) -> tuple[str, ...]:
        needs = resources_for(job)
        missing = [lacking(needs, hand.offer) for hand in self._hands.values()]
        return min(missing, key=len, default=tuple(needs))

    def run(self, jobs: Iterable[Job], keep: Keep, reporter: Reporter) -> int:
        self._keep, self._reporter = keep, reporter
        with ThreadPoolExecutor(1, thread_name_prefix="dispatcher") as pool:
            dispatched = pool.submit(self._loop)
            dispatched.add_done_callback(lambda _: setattr(self, "is_spent", True))
            try:
                for job in jobs:
                    self._waiting.append(job)
            finally:
                self._closed.set()
                while not wait([dispatched], timeout=_MESSAGE_SECONDS).done:
                    pass
                self._lost += sum(self._freed(hand) is not None for hand in self._hands.values())
                self._cluster.close()
        dispatched.result()
        return self._lost + len(self._waiting)

    def _loop(self) -> None:
        looked = float("-inf")
        while not self._cancel.is_set():
            # Read before the queue, so that messages just before the end are still seen.
            is_closed = self._closed.is_set()
            if is_closed and not self._waiting and not any(h.job for h in self._hands.values()):
                break
            try:
                if time.monotonic() - looked > _LOOK_SECONDS:
                    self._look()
                    looked = time.monotonic()
                self._submit()
                self._hear(self._cluster.message(_MESSAGE_SECONDS))
            except ClusterHostile as fault:
                # Results that were held back of the workers are not recorded.
                for hand in self._hands.values():
                    self.stopped[hand.number] = str(fault)
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
            self._release(hand.number, hand.breaker.held())

    def _submit(self) -> None:
        for hand in self._hands.values():
            if hand.job is not None:
                continue
            fitting = (j for j in (*self._waiting,) if not lacking(resources_for(j), hand.offer))
            if (job := next(fitting, None)) is not None:
                key = f"{self._topic}-{job.cell}-{next(self._starts)}"
                folder = Path(job.suite_folder) if job.suite_folder else None
                order = CellOrder(
                    topic=self._topic,
                    job=msgspec.structs.replace(job, suite_folder=""),
                    attempts=self._attempts,
                    suite=None if folder is None else self._contents_of(folder),
                    merged=self._merged,
                )
                hand.future = self._cluster.submit(order, key, hand.address)
                hand.job, hand.has_begun, hand.finished = job, False, None
                self._waiting.remove(job)

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
        # All cells of a Python are given up for which no worker has come in time.
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
                        self._lost += 1
                        self._reporter.faulted(0, job, lacks)

    def _again(self, hand: _Hand, why: str) -> None:
        job = self._freed(hand)
        if job is None:
            return
        self._losses[job.cell] += 1
        if self._losses[job.cell] < MOST_STARTS:
            self._waiting.append(job)
        else:
            times = f"it got lost {MOST_STARTS} times, the last time because {why}"
            self._lost += 1
            self._reporter.faulted(hand.number, job, times)

    def _freed(self, hand: _Hand) -> Job | None:
        job, hand.job = hand.job, None
        if job is not None:
            self._cluster.drop(hand.future)
        return job

    def _part_with(self, hand: _Hand, why: str) -> None:
        del self._hands[hand.address]
        self._gone.add(hand.address)
        self._reporter.stopped(hand.number, why)
        self._waiting.extend(job for job, _ in hand.breaker.held())
        self._again(hand, why)

    def _reconnected(self, why: str) -> bool:
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
        self.stopped.update((hand.number, why) for hand in hands.values())
        return False

    def _hear(self, message: WorkerMessage | None) -> None:
        hand = self._hands.get(message.worker) if message else None
        if message is None or hand is None:
            return
        if message.kind == "stopped":
            self.stopped[hand.number] = message.why
            self._part_with(hand, message.why)
            return
        job = hand.job
        # Messages about a cell that another worker has by now do not count.
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
            case "faulted" | "ended":
                self.places.update(message.places)
                self._freed(hand)
                self._release(hand.number, hand.breaker.take(job, self._judged(message, job)))

    def _judged(self, message: WorkerMessage, job: Job) -> Attempts:
        if message.kind == "faulted":
            return CellFault(message.why)
        suite = self._digest_of(Path(job.suite_folder)) if job.suite_folder else ""
        asked = (job.matrix, job.cell, job.lock.digest, suite, job.tier, job.subject)
        for e in message.attempts:
            if (e.matrix, e.cell, e.lock_digest, e.suite_digest, e.tier, e.subject) != asked:
                return CellFault("its worker answered about something else")
        if not message.attempts:
            return CellFault("its worker sent no evidence")
        return tuple(judged(evidence) for evidence in message.attempts)


async def serve_scheduler(address: ClusterAddress, ready: Callable[[int], None]) -> None:
    """Schedule until a signal; `ready` gets the bound port. Raises OSError when it is in use."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with Scheduler(
        host=address.host, port=address.port, protocol="tls", security=address.security,
        # Even without its pages it would serve figures on port 8787 of every network.
        dashboard=False, dashboard_address="127.0.0.1:0",
    ) as scheduler:  # fmt: skip
        ready(int(scheduler.port))
        await stop.wait()


class CellHost(WorkerPlugin):
    """Runs orders on this machine, one at a time, whatever connection they arrived over."""

    name = HOST

    def __init__(
        self,
        places: tuple[str, ...],
        scratch: Path,
        bench: Callable[..., Bench],
        clock: Callable[[], datetime.datetime],
    ) -> None:
        """`places` identify the machine, and `scratch` is the folder of this process; `bench`,
        with `merged`, ranks all indexes equally.
        """
        self._places, self._scratch = places, scratch
        self._bench, self._clock = bench, clock
        self._busy = threading.Lock()
        self._cancels: dict[str, threading.Event] = {}
        self._topic = ""
        self._suite: dict[str, bytes] | None = None
        self._breaker = Breaker()
        self._station: Station | None = None
        self._worker: Any = None
        self.why = ""

    def setup(self, worker: Any) -> None:
        self._worker = worker

    def end(self, why: str) -> None:
        self.why = self.why or why
        self.teardown(self._worker)
        if self._worker is not None:
            self._worker.loop.add_callback(self._worker.close, executor_wait=False, reason=self.why)

    def transition(self, key: str, start: str, finish: str, **_: object) -> None:
        if start == "executing" and finish in _DROPPED and key in self._cancels:
            self._cancels[key].set()

    def teardown(self, worker: Any) -> None:
        """Stop the running cell: its connection is gone, so another worker gets it."""
        for cancel in tuple(self._cancels.values()):
            cancel.set()

    def run(self, order: CellOrder, key: str, send: Callable[[WorkerMessage], None]) -> None:
        cancel = self._cancels.setdefault(key, threading.Event())
        message = partial(WorkerMessage, worker="", cell=order.job.cell)
        try:
            with self._busy:
                if self.why or cancel.is_set():
                    send(message(kind="returned", why=self.why))
                    return
                send(message(kind="began"))
                if self._station is None or order.topic != self._topic:
                    self._topic, self._breaker = order.topic, Breaker()
                    bench = partial(self._bench, merged=order.merged)
                    self._station = Station(bench, self._clock, order.attempts)
                station = self._station
                if why := self._run(order, station, cancel, lambda **m: send(message(**m))):
                    # A cancelled canary says nothing about the worker.
                    if not cancel.is_set():
                        station.distrust()
                        self.why = why
                    send(message(kind="stopped", why=why))
        finally:
            self._cancels.pop(key, None)

    def _run(
        self, order: CellOrder, station: Station, cancel: threading.Event, send: Callable[..., None]
    ) -> str:
        job = order.job
        if order.suite is not None:
            # This process runs one cell at a time, and mostly of one suite.
            folder = self._scratch / "suite"
            try:
                if order.suite != self._suite:
                    remove_tree(folder)
                    for path, content in order.suite.items():
                        write(folder / path, content)
                    self._suite = order.suite
            except (CompatError, OSError) as fault:
                send(kind="faulted", why=str(fault))
                return ""
            job = msgspec.structs.replace(job, suite_folder=str(folder))
        if why := station.trouble(job, cancel):
            return why
        attempts = station.attempted(
            job, cancel, lambda act, cell: send(kind="entered", activity=act, folder=str(cell))
        )
        self._breaker.take(job, attempts)
        if isinstance(attempts, CellFault):
            send(kind="faulted", why=str(attempts))
        else:
            evidence = tuple(attempt.evidence for attempt in attempts)
            send(kind="ended", attempts=evidence, places=self._places)
        return self._breaker.why


def run_order(data: bytes) -> None:
    order, worker = unpacked(data, CellOrder), get_worker()
    if order is None:
        return
    host, topic = worker.plugins[HOST], order.topic

    def send(message: WorkerMessage) -> None:
        addressed = msgspec.structs.replace(message, worker=worker.address)
        worker.log_event(topic, packed(addressed))

    host.run(order, worker.get_current_task(), send)
    if host.why:
        host.end(host.why)


async def serve_cells(
    address: ClusterAddress,
    host: CellHost,
    folder: Path,
    resources: dict[str, float],
    patience: float,
    tell: Callable[[str], None],
) -> str:
    """Serve a cluster until the host stops, redialling a lost scheduler; return the reason."""
    gone_since = time.monotonic()
    while not host.why:
        try:
            worker = Worker(
                address.url, nthreads=1, resources=resources, security=address.security,
                plugins=(host,), memory_limit=0, death_timeout=_JOIN_SECONDS,
                dashboard=False, local_directory=str(folder),
            )  # fmt: skip
            async with worker:
                tell(f"compat: joined {address.url}")
                await worker.finished()
            gone_since = time.monotonic()
            if not host.why:
                tell(f"compat: the scheduler at {address.url} is gone; dialling it again")
        except (OSError, RuntimeError, asyncio.TimeoutError):
            if time.monotonic() - gone_since > patience:
                return f"no scheduler answers at {address.url}"
        await asyncio.sleep(_PAUSE_SECONDS)
    return host.why
