"""Runs on several machines: workers of a cluster, and a run that uses them."""

from __future__ import annotations

import asyncio
import importlib.util
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from packaging.version import Version

from compat.cli import machine
from compat.cli.arguments import Exit, argument, given, option
from compat.cli.options import ISOLATION_LEVEL, index_settings
from compat.cli.output import envelope, note, say
from compat.cli.this_machine import ThisMachine
from compat.errors import UsageError
from compat.fleet.batch import RunOptions
from compat.lock.lockfile import Lock
from compat.results.redact import redacted
from compat.run.job import Bench, Job
from compat.workspace import Workspace

if TYPE_CHECKING:
    from compat.fleet.cluster import ClusterAddress, Remote


def address_of(text: str, tls: Path | None, serves: bool = False) -> ClusterAddress:
    """Return the address of a cluster; raise UsageError without Dask, or for another text.

    Without `tls`, uses the user's own certificates, which `serves` creates.
    """
    if importlib.util.find_spec("distributed") is None:
        hint = "pip install 'compat-matrix[fleet]'"
        raise UsageError.of("a fleet needs Dask, which is not installed here", hint=hint)
    from compat.fleet.cluster import cluster_address, make_certificates

    own = machine.cache_folder() / "fleet"
    if serves and tls is None:
        make_certificates(own, machine.now().timestamp())
    return cluster_address(text, tls, own)


class FleetMachine(ThisMachine):
    """The workers of a cluster; this machine locks and records."""

    def __init__(self, workspace: Workspace, address: ClusterAddress) -> None:
        # Cells run at the workers' levels; what locking builds, it builds here.
        super().__init__(workspace, machine.level_of(""))
        self._address = address
        self._remote: Remote | None = None

    def workers(self, options: RunOptions) -> int:
        """Return how many workers there are, waiting for the first; raise CompatError if none
        comes.
        """
        from compat.fleet.cluster import Cluster, ClusterLost, Remote

        topic = f"compat-{uuid.uuid4().hex}"
        remote = Remote(
            partial(Cluster, self._address, topic),
            topic,
            self.cancel,
            attempts=options.attempts,
            merged=self._workspace.index.merged,
        )
        self._remote, number = remote, remote.size()
        if not number and not self.cancel.is_set():
            hint = f"compat fleet worker {self._address.text} starts one"
            raise ClusterLost.of("the cluster has no workers", hint=hint)
        return max(1, number)

    @property
    def means(self) -> str:
        return f"on the workers of {self._address.url}"

    def fleet(self, benches: Callable[[int, Job], Bench], options: RunOptions) -> Remote:
        if self._remote is None:
            self.workers(options)
        assert self._remote is not None
        return self._remote

    def missing_interpreter(self, lock: Lock) -> Version | None:
        version = lock.inputs.python
        if self._remote is None or self._remote.has_python(version):
            return None
        return Version(f"{version.major}.{version.minor}")

    def redacted(self, text: str) -> str:
        places = () if self._remote is None else self._remote.places
        return redacted(text, places=(*machine.machine_paths(), *sorted(places)))


# The series that a worker looks for: CPython 3.6 is the oldest that cells were made with, and the
# newest is some years ahead of 2026.
_SERIES = range(6, 20)
# A scheduler restarts within minutes; a worker without one ends after this time.
PATIENCE_SECONDS = 600.0

TLS = option("Folder of ca.pem, cert.pem and key.pem; encrypts.", metavar="FOLDER")


def worker_command(
    address: str = argument("Address of the scheduler.", metavar="dask://HOST:PORT"),
    workers: int = option("Number of workers (one cell each).", "-w", min=1, max=256, default=1),
    share: int = option("Offer 1/N of memory and disk.", min=1, max=256, default=1),
    tls: Path | None = TLS,
    isolation: str = ISOLATION_LEVEL,
) -> None:
    """Run cells for another machine's `compat run --fleet`.

    Offers interpreters, memory and disk; runs one cell at a time. Connects to the scheduler, so it
    may be behind a firewall. Stops if its canary or five cells in a row fail because of the
    machine. Exits 3 then, or if no scheduler responds for ten minutes.

    Examples: compat fleet worker dask://127.0.0.1:8786; compat fleet worker dask://10.0.0.5:8786
    --tls ~/certificates --workers 4
    """
    where = address_of(address, tls)
    machine.forget_environment()
    if workers > 1:
        words = [
            *_words("--isolation", isolation),
            *_words("--index-url", given.index_url),
            *(w for url in given.extra_index_url or () for w in ("--extra-index-url", url)),
        ]
        processes = start_workers(where, workers, words)

        def stop(number: int, _: object) -> None:
            for process in processes:
                process.terminate()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)
        codes = [process.wait() for process in processes]
        # A process killed by a signal is lost, whatever it had done.
        raise Exit(max(3 if code < 0 else code for code in codes))
    index = index_settings()
    level, resources = machine.level_of(isolation), offered(share)
    from compat.fleet.cluster import CellHost, serve_cells

    interrupted: list[int] = []
    with machine.scratch(machine.sandbox_folder(level) / "cells") as own:

        def bench(job: Job, merged: bool) -> Bench:
            merging = msgspec.structs.replace(index, merged=merged)
            return machine.bench_of(job, f"{own.folder.name}/0", merging, level, False)

        host = CellHost(machine.machine_paths(), own.folder, bench, machine.now)
        dask = own.folder / "dask"

        def end(number: int) -> None:
            interrupted.append(number)
            host.end("interrupted")

        async def serve() -> str:
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, end, number)
            return await serve_cells(where, host, dask, resources, PATIENCE_SECONDS, note)

        envelope({"address": where.text, "resources": resources})
        sys.stdout.flush()
        why = asyncio.run(serve())
    if not interrupted:
        note(f"warning: this worker stopped: {why}")
        raise Exit(3)


def cluster_command(
    workers: int = option("Workers on this machine; 0 for none.", "-w", min=0, max=256, default=2),
    host: str = option("Address to listen on.", default="127.0.0.1"),
    port: int = option("Port to listen on; 0: a free one.", min=0, max=65535, default=8786),
    tls: Path | None = TLS,
    isolation: str = ISOLATION_LEVEL,
) -> None:
    """Start a scheduler and local workers for `compat run --fleet`.

    Prints the scheduler's address and runs until interrupted. Anyone who reaches it can run code on
    its workers, so all sides need certificates: compat makes them for this machine, --tls names
    them for others.

    Examples: compat fleet cluster --workers 4; compat fleet cluster --workers 0 --host 10.0.0.5
    --tls ~/certificates
    """
    where = address_of(f"dask://{host}:{port}", tls, serves=True)
    machine.forget_environment()
    processes: list[subprocess.Popen[bytes]] = []

    def ready(bound: int) -> None:
        bound_address = msgspec.structs.replace(where, port=bound)
        processes.extend(start_workers(bound_address, workers, _words("--isolation", isolation)))
        envelope({"address": bound_address.text, "workers": workers})
        say(bound_address.text)
        sys.stdout.flush()
        note(f"run cells here with --fleet {bound_address.text}; Ctrl-C ends it")

    from compat.fleet.cluster import serve_scheduler

    try:
        asyncio.run(serve_scheduler(where, ready))
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def offered(share: int) -> dict[str, float]:
    """Return the Dask resources of a worker here: one cell at a time, its interpreters, 1/share of
    free memory and disk in MiB, and this code.
    """
    import psutil

    from compat.fleet.cluster import code_resource, python_resource

    versions = [Version(f"3.{minor}") for minor in _SERIES]
    return {
        "cell": 1,
        code_resource(): 1,
        "memory-mb": psutil.virtual_memory().available // 2**20 // share,
        "disk-mb": machine.disk_mb() // share,
        **{python_resource(v): 1 for v in versions if machine.interpreter(v) is not None},
    }


def start_workers(
    where: ClusterAddress, workers: int, words: Sequence[str]
) -> list[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "compat", "fleet", "worker", where.text, f"--share={workers}"]
    command += [*_words("--tls", where.tls), *words]
    # A folder `compat` where this starts is not ours.
    variables = {**machine.environ(), "PYTHONSAFEPATH": "1"}
    return [
        subprocess.Popen(command, stdin=subprocess.DEVNULL, env=variables) for _ in range(workers)
    ]


def _words(name: str, text: str | None) -> list[str]:
    return [name, text] if text else []
