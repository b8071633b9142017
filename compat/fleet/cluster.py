"""A Dask cluster as a run sees it: where it is, what its workers offer, and what they say.

What a cell came to arrives as an event over the worker's own connection. `Future.result` would have
the scheduler dial the worker, which a firewall may forbid (seen with Dask 2026.8).
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import queue
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from distributed import Client, Security

from compat.errors import CompatError, UsageError
from compat.fleet.cell_order import CellOrder, WorkerMessage, decode_message, resources_for
from compat.fleet.dask_worker import run_order
from compat.value import Value

_SCHEME = "dask://"
_CERTIFICATES = ("ca.pem", "cert.pem", "key.pem")
# A scheduler in the same network answers in milliseconds. A busy one may take its time, and to take
# it for lost would stop the cells that run.
_CONNECT_SECONDS = 20
_ANSWER_SECONDS = 60

# Its warnings repeat in many lines what compat tells in one.
logging.getLogger("distributed").setLevel(logging.CRITICAL)

FutureState = Literal["pending", "finished", "lost"]


class ClusterLost(CompatError):
    """The scheduler of a cluster does not answer."""

    exit_code = 3
    code = "cluster-lost"


class ClusterAddress(Value, frozen=True, kw_only=True):
    """Where a scheduler listens, and the folder of the certificates with which to speak to it.

    Without a folder nothing is encrypted, which only the loopback allows.
    """

    host: str
    port: int
    tls: str = ""

    @property
    def url(self) -> str:
        """The address as Dask writes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'tls' if self.tls else 'tcp'}://{host}:{self.port}"

    @property
    def security(self) -> Any:
        """The certificates as Dask takes them; None where nothing is encrypted."""
        if not self.tls:
            return None
        ca, certificate, key = (str(Path(self.tls, name)) for name in _CERTIFICATES)
        roles = ("client", "worker", "scheduler")
        pairs = {f"tls_{role}_cert": certificate for role in roles}
        pairs |= {f"tls_{role}_key": key for role in roles}
        return Security(require_encryption=True, tls_ca_file=ca, **pairs)


def cluster_address(text: str, tls: Path | None) -> ClusterAddress:
    """Return the address of a text such as `dask://10.0.0.5:8786`.

    Raises UsageError for another text, for a folder without certificates, and for an address off
    the loopback without them: whoever reaches a scheduler can run code on its workers.
    """
    host, _, port = text.removeprefix(_SCHEME).rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not text.startswith(_SCHEME) or not host or not port.isascii() or not port.isdecimal():
        raise UsageError.of(f"{text!r} is not an address such as dask://127.0.0.1:8786")
    if int(port) > 65535:
        raise UsageError.of(f"{text!r}: a port is at most 65535")
    if tls is None and not is_loopback(host):
        raise UsageError.of(
            f"{host} is not this machine, so the connection has to be encrypted",
            hint=f"--tls FOLDER names a folder with {', '.join(_CERTIFICATES)}",
        )
    missing = [] if tls is None else [name for name in _CERTIFICATES if not (tls / name).is_file()]
    if missing:
        raise UsageError.of(f"{', '.join(missing)} is missing", path=f"--tls {tls}")
    return ClusterAddress(host=host, port=int(port), tls="" if tls is None else str(tls))


def is_loopback(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


class Cluster:
    """A connection to the scheduler. Once it is lost, every call raises ClusterLost."""

    def __init__(self, address: ClusterAddress, topic: str) -> None:
        """Connect, and listen to what workers say under the topic."""
        self._messages: queue.SimpleQueue[WorkerMessage] = queue.SimpleQueue()
        with _losses():
            self._client = Client(
                address.url,
                security=address.security,
                timeout=_CONNECT_SECONDS,
                set_as_default=False,
            )
            self._client.subscribe_topic(topic, self._hear)
            self._connection = self._client.scheduler_comm

    def _hear(self, event: tuple[float, Any]) -> None:
        message = decode_message(event[1])
        if message is not None:
            self._messages.put(message)

    def message(self, seconds: float) -> WorkerMessage | None:
        """Return the next message; None when none comes in so many seconds."""
        try:
            return self._messages.get(timeout=seconds)
        except queue.Empty:
            return None

    def offers(self) -> dict[str, dict[str, float]]:
        if self._client.status != "running":
            raise ClusterLost.of("the scheduler does not answer")
        # Dask dials again by itself (2026.8), but then nobody listens to what workers say.
        if self._client.scheduler_comm is not self._connection:
            raise ClusterLost.of("the connection to the scheduler was lost")
        with _losses():
            identity = self._client.sync(
                self._client.scheduler.identity, n_workers=-1, callback_timeout=_ANSWER_SECONDS
            )
        return {
            address: {str(name): float(amount) for name, amount in worker["resources"].items()}
            for address, worker in identity["workers"].items()
        }

    def submit(self, order: CellOrder, key: str) -> Any:
        """Hand an order to the scheduler and return its future; a worker that has what the job
        needs takes it.
        """
        with _losses():
            return self._client.submit(
                run_order, order, key=key, resources=resources_for(order.job), pure=False, retries=0
            )

    def state(self, future: Any) -> tuple[FutureState, str]:
        """Return how far a future is; of one that is lost, why."""
        if future.status in ("pending", "finished"):
            return future.status, ""
        if future.status != "error":
            return "lost", "the scheduler has forgotten it"
        with contextlib.suppress(Exception):
            return "lost", str(future.exception(timeout=_ANSWER_SECONDS))
        return "lost", "it failed for a reason that is not known"

    def drop(self, future: Any) -> None:
        """Let go of a future; a worker that is at its cell stops."""
        with contextlib.suppress(Exception):
            future.release()

    def close(self) -> None:
        """Leave the cluster, which goes on."""
        with contextlib.suppress(Exception):
            self._client.close(timeout=_CONNECT_SECONDS)


@contextlib.contextmanager
def _losses() -> Iterator[None]:
    """Turn what Dask raises when a scheduler is gone into ClusterLost."""
    try:
        yield
    except CompatError:
        raise
    except Exception as fault:
        raise ClusterLost.of(f"the scheduler does not answer ({type(fault).__name__})") from fault
