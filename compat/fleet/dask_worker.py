"""A worker of a Dask cluster: it runs one cell at a time, and sends what it came to as an event."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import hashlib
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from distributed import Worker, WorkerPlugin, get_worker

from compat.errors import CompatError
from compat.files import remove_tree, write
from compat.fleet.cell_order import CellOrder, WorkerMessage, encode_message
from compat.fleet.station import Breaker, CellFault, Station
from compat.run.canary import canary
from compat.run.job import Bench, Job

if TYPE_CHECKING:
    from compat.fleet.cluster import ClusterAddress

HOST = "compat"
# How long one attempt to join a cluster takes, and the pause before the next.
_JOIN_SECONDS = 10.0
_PAUSE_SECONDS = 1.0
# The tasks' states from which there is no way back to the result that was asked for.
_DROPPED = frozenset(("cancelled", "released", "forgotten"))


class WorkerMachine(Protocol):
    """What a worker needs of the machine that it runs on."""

    @property
    def places(self) -> tuple[str, ...]:
        """The folders that tell this machine from others."""

    def clock(self) -> datetime.datetime:
        """Return the moment, in UTC."""

    def scratch(self) -> Path:
        """Return the folder of this process below the folder of all cells."""

    def suites(self) -> Path:
        """Return the folder for suites that came with orders."""

    def bench(self, job: Job, merged: bool) -> Bench:
        """Return what to run the job with; with `merged`, all indexes count as one."""


class CellHost(WorkerPlugin):
    """Runs orders on this machine, one at a time, whatever connection they came over."""

    name = HOST

    def __init__(self, machine: WorkerMachine) -> None:
        """Take the machine; nothing has run on it yet."""
        self._machine = machine
        self._busy = threading.Lock()
        self._cancels: dict[str, threading.Event] = {}
        self._topic = ""
        self._breaker = Breaker()
        self._station: Station | None = None
        self._worker: Any = None
        self.why = ""

    @property
    def scratch(self) -> Path:
        return self._machine.scratch()

    def setup(self, worker: Any) -> None:
        """Hear which worker the orders come to from now on."""
        self._worker = worker

    def end(self, why: str) -> None:
        """Stop what runs, take no more orders, and leave the cluster."""
        self.why = self.why or why
        self.teardown(self._worker)
        if self._worker is not None:
            self._worker.loop.add_callback(self._worker.close, executor_wait=False, reason=self.why)

    def transition(self, key: str, start: str, finish: str, **_: object) -> None:
        """Stop the cell of a task that nobody wants any more."""
        if start == "executing" and finish in _DROPPED:
            self._cancel(key)

    def teardown(self, worker: Any) -> None:
        """Stop what runs: its connection is gone, so somebody else is asked for it."""
        for key in tuple(self._cancels):
            self._cancel(key)

    def _cancel(self, key: str) -> None:
        with contextlib.suppress(KeyError):
            self._cancels[key].set()

    def run(self, order: CellOrder, key: str, send: Callable[[WorkerMessage], None]) -> None:
        """Run the order, and send what there is to say of it; the last message ends it."""
        cancel = self._cancels.setdefault(key, threading.Event())
        try:
            with self._busy:
                self._run(order, cancel, send)
        finally:
            self._cancels.pop(key, None)

    def _run(
        self, order: CellOrder, cancel: threading.Event, send: Callable[[WorkerMessage], None]
    ) -> None:
        message = partial(WorkerMessage, worker="", cell=order.job.cell)
        if self.why or cancel.is_set():
            send(message(kind="returned", why=self.why))
            return
        send(message(kind="began"))
        try:
            job, station = self._unpacked(order), self._station_for(order)
        except (CompatError, OSError) as fault:
            send(message(kind="faulted", why=str(fault)))
            return
        if trouble := station.trouble(job, cancel):
            self._stop(station, trouble, lambda: send(message(kind="stopped", why=trouble)), cancel)
            return

        def enter(activity: Any, cell: Path) -> None:
            send(message(kind="entered", activity=activity, folder=str(cell)))

        attempts = station.attempted(job, cancel, enter)
        self._breaker.take(job, attempts)
        if isinstance(attempts, CellFault):
            send(message(kind="faulted", why=str(attempts)))
        else:
            evidence = tuple(attempt.evidence for attempt in attempts)
            send(message(kind="ended", attempts=evidence, places=self._machine.places))
        if why := self._breaker.why:
            self._stop(station, why, lambda: send(message(kind="stopped", why=why)), cancel)

    def _stop(
        self, station: Station, why: str, send: Callable[[], None], cancel: threading.Event
    ) -> None:
        """Take no more cells; but a canary that was cancelled says nothing about the worker."""
        if not cancel.is_set():
            station.distrust()
            self.why = why
        send()

    def _station_for(self, order: CellOrder) -> Station:
        """The station of a run; each run begins with a closed breaker."""
        if self._station is None or order.topic != self._topic:
            folder = self._machine.scratch() / "canary"
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
        folder = self._machine.suites() / digest
        if not folder.is_dir():
            draft = self._machine.scratch() / "suite"
            remove_tree(draft)
            draft.mkdir(parents=True)
            for path, content in order.suite.items():
                write(draft / path, content)
            folder.parent.mkdir(parents=True, exist_ok=True)
            # Another worker of this machine may have been quicker.
            with contextlib.suppress(OSError):
                draft.rename(folder)
        return msgspec.structs.replace(order.job, suite_folder=str(folder))


def run_order(order: CellOrder) -> None:
    """Run an order on the worker that has taken it: the task that travels through Dask."""
    worker = get_worker()
    host, key = worker.plugins[HOST], worker.get_current_task()

    def send(message: WorkerMessage) -> None:
        addressed = msgspec.structs.replace(message, worker=worker.address)
        worker.log_event(order.topic, encode_message(addressed))

    host.run(order, key, send)
    if host.why:
        host.end(host.why)


async def serve_cells(
    address: ClusterAddress,
    host: CellHost,
    resources: dict[str, float],
    patience: float,
    tell: Callable[[str], None],
) -> str:
    """Serve a cluster until the host stops; return why it did.

    A scheduler that is gone is dialled again, until it was not there for `patience` seconds.
    """
    gone_since = time.monotonic()
    while not host.why:
        try:
            worker = Worker(
                address.url, nthreads=1, resources=resources, security=address.security,
                plugins=(host,), memory_limit=0, death_timeout=_JOIN_SECONDS,
                dashboard=False, local_directory=str(host.scratch / "dask"),
            )  # fmt: skip
            async with worker:
                tell(f"joined {address.url}")
                await worker.finished()
            gone_since = time.monotonic()
            if not host.why:
                tell(f"warning: the scheduler at {address.url} is gone; dialling it again")
        except (OSError, RuntimeError, asyncio.TimeoutError):
            if time.monotonic() - gone_since > patience:
                return f"no scheduler answers at {address.url}"
        await asyncio.sleep(_PAUSE_SECONDS)
    return host.why
