"""The Dask engine, which the extra `fleet` installs: the connection of a run to a scheduler, the
scheduler, and the workers.

Whoever reaches a scheduler can run code in it and in its workers, so nobody listens or dials
without certificates. A run has the store and the tokens. It therefore unpickles nothing: orders and
messages are JSON, see `cell_order`.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import hashlib
import ipaddress
import logging
import pickle
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
from distributed import Client, Scheduler, Security, Worker, WorkerPlugin, get_worker

from compat.errors import CompatError, UsageError
from compat.files import new_folder, remove_tree, write
from compat.fleet.local import Breaker, CellFault, Station
from compat.fleet.remote import (
    CellOrder,
    ClusterHostile,
    ClusterLost,
    WorkerMessage,
    packed,
    unpacked,
)
from compat.run.canary import canary
from compat.run.job import Bench, Job
from compat.value import Value

HOST = "compat"
_SCHEME = "dask://"
_CERTIFICATES = ("ca.pem", "cert.pem", "key.pem")
# The certificates that distributed makes are valid for a year.
_CERTIFICATE_SECONDS = 300 * 86400
# A scheduler in the same network answers in milliseconds. A busy one may take its time, and to take
# it for lost would stop the cells that run.
_CONNECT_SECONDS = 20
_ANSWER_SECONDS = 60
# How long one attempt to join a cluster takes, and the pause before the next.
_JOIN_SECONDS = 10.0
_PAUSE_SECONDS = 1.0
# The states of a task from which there is no way back to the result that was asked for.
_DROPPED = frozenset(("cancelled", "released", "forgotten"))
# What Dask itself pickles for a client: the type of a result (None), and why a task was given up.
_OF_DASK = frozenset((("builtins", "type"), ("distributed.scheduler", "KilledWorker")))

# Its warnings repeat in many lines what compat reports in one.
logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)


class ClusterAddress(Value, frozen=True, kw_only=True):
    """Where a scheduler listens, and the folder of the certificates with which to speak to it."""

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
    """Return the address of a text such as `dask://10.0.0.5:8786`.

    `tls` names the certificates; None stands for the user's `own`, which serve on the loopback
    only. Raises UsageError for another text, and for certificates that are missing or that other
    users can read.
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
    """Make the user's own certificates, unless they are valid for two months more."""
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
    # Another process of this user may have been quicker; its certificates are as good.
    with contextlib.suppress(OSError):
        draft.rename(own)


# The side of a run.


class _NoObjects:
    """Keeps this process from unpickling any object while it is connected.

    An allow-list of Dask's serializers is not enough: `distributed.protocol.loads` unpickles some
    parts of a message whatever it is told (2026.8). Python reports each name that a pickle asks for
    before it looks it up, so refusing it there holds for every way in.
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

    Once it is lost, `offers` and `submit` raise ClusterLost. Once anything came through it that no
    worker sends, every call raises ClusterHostile. Results arrive as events over the worker's own
    connection: for `Future.result` the scheduler would dial the worker, which a firewall may forbid
    (seen with Dask 2026.8).
    """

    def __init__(self, address: ClusterAddress, topic: str) -> None:
        self._messages: queue.SimpleQueue[WorkerMessage] = queue.SimpleQueue()
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
        # Dask dials again by itself (2026.8), but then nobody listens to what workers say.
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
        """Return `pending` or `finished`; of a future that is lost, why."""
        # The exception of a task is a pickle, so nobody asks for it.
        lost = {"error": "Dask gave it up"}.get(future.status, "the scheduler has forgotten it")
        return str(future.status) if future.status in ("pending", "finished") else lost

    def drop(self, future: Any) -> None:
        with contextlib.suppress(Exception):
            future.release()

    def close(self) -> None:
        # Where this fails, objects stay refused.
        with contextlib.suppress(Exception):
            self._client.close(timeout=_CONNECT_SECONDS)
            self._guard.connections -= 1


@contextlib.contextmanager
def _losses() -> Iterator[None]:
    """Turn what Dask raises when a scheduler is gone into ClusterLost."""
    try:
        yield
    except Exception as fault:
        raise ClusterLost.of(f"the scheduler does not answer ({type(fault).__name__})") from fault


# The side of a cluster.


async def serve_scheduler(address: ClusterAddress, ready: Callable[[int], None]) -> None:
    """Schedule until a signal; `ready` gets the port once bound. OSError when it is taken."""
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


@dataclass(frozen=True)
class WorkerMachine:
    """What a worker needs of its machine. `places` tell it from others, `scratch` is the folder of
    this process; `bench`, told True, counts all indexes as one.
    """

    places: tuple[str, ...]
    scratch: Path
    suites: Path
    bench: Callable[[Job, bool], Bench]
    clock: Callable[[], datetime.datetime]


class CellHost(WorkerPlugin):
    """Runs orders on this machine, one at a time, whatever connection they came over."""

    name = HOST

    def __init__(self, machine: WorkerMachine) -> None:
        self._machine = machine
        self._busy = threading.Lock()
        self._cancels: dict[str, threading.Event] = {}
        self._topic = ""
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
        """Stop the cell of a task that nobody wants any more."""
        if start == "executing" and finish in _DROPPED and key in self._cancels:
            self._cancels[key].set()

    def teardown(self, worker: Any) -> None:
        """Stop what runs: its connection is gone, so somebody else is asked for it."""
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
                if why := self._run(order, cancel, lambda **more: send(message(**more))):
                    # A canary that was cancelled says nothing about the worker.
                    if not cancel.is_set():
                        self._station_for(order).distrust()
                        self.why = why
                    send(message(kind="stopped", why=why))
        finally:
            self._cancels.pop(key, None)

    def _run(self, order: CellOrder, cancel: threading.Event, send: Callable[..., None]) -> str:
        """Run an order that has begun; return why this worker takes no more, empty if it does."""
        try:
            job, station = self._unpacked(order), self._station_for(order)
        except (CompatError, OSError) as fault:
            send(kind="faulted", why=str(fault))
            return ""
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
            send(kind="ended", attempts=evidence, places=self._machine.places)
        return self._breaker.why

    def _station_for(self, order: CellOrder) -> Station:
        if self._station is None or order.topic != self._topic:
            folder = self._machine.scratch / "canary"
            self._topic, self._breaker = order.topic, Breaker()
            self._station = Station(
                lambda job: self._machine.bench(job, order.merged),
                # Workers of a machine start at the same moment and leave evidence by this name.
                lambda job: msgspec.structs.replace(
                    canary(folder, job.lock.inputs.python, job.lock.inputs.platform),
                    cell=f"canary-{folder.parent.name}",
                ),
                self._machine.clock,
                attempts=order.attempts,
            )
        return self._station

    def _unpacked(self, order: CellOrder) -> Job:
        if order.suite is None:
            return order.job
        digest = hashlib.sha256(msgspec.msgpack.encode(sorted(order.suite.items()))).hexdigest()
        folder = self._machine.suites / digest
        if not folder.is_dir():
            draft = self._machine.scratch / "suite"
            remove_tree(draft)
            draft.mkdir(parents=True)
            for path, content in order.suite.items():
                write(draft / path, content)
            folder.parent.mkdir(parents=True, exist_ok=True)
            # Another worker of this machine may have been quicker.
            with contextlib.suppress(OSError):
                draft.rename(folder)
        return msgspec.structs.replace(order.job, suite_folder=str(folder))


def run_order(data: bytes) -> None:
    """Run an order on the worker that has taken it: the task that travels through Dask."""
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
    """Serve a cluster until the host stops, dialling a lost scheduler; return why."""
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
