"""A cluster of workers in the place of this machine, for `compat run --fleet`."""

from __future__ import annotations

import importlib.util
import threading
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import Version

from compat.cli.machine import cache_folder, level_of, machine_places, now
from compat.cli.this_machine import ThisMachine
from compat.errors import UsageError
from compat.fleet.batch import RunOptions
from compat.fleet.local import Fleet
from compat.lock.lockfile import Lock
from compat.results.redact import redacted
from compat.run.job import Bench, Job
from compat.workspace import Workspace

if TYPE_CHECKING:
    from compat.fleet.cluster import ClusterAddress
    from compat.fleet.remote import Remote


def address_of(text: str, tls: Path | None, serves: bool = False) -> ClusterAddress:
    """Return the address of a cluster; raise UsageError without Dask, or for another text.

    Without `tls`, the user's own certificates are meant; who `serves` makes them.
    """
    if importlib.util.find_spec("distributed") is None:
        hint = "pip install 'compat-matrix[fleet]'"
        raise UsageError.of("a fleet needs Dask, which is not installed here", hint=hint)
    from compat.fleet.cluster import cluster_address, make_certificates

    own = cache_folder() / "fleet"
    if serves and tls is None:
        make_certificates(own, now().timestamp())
    return cluster_address(text, tls, own)


class FleetMachine(ThisMachine):
    """The workers of a cluster; cells are locked on this machine, and recorded here."""

    def __init__(self, workspace: Workspace, address: ClusterAddress) -> None:
        # Cells run at the workers' levels; what locking builds, it builds here.
        super().__init__(workspace, level_of(""))
        self._address = address
        self._remote: Remote | None = None

    def workers(self, options: RunOptions, cancel: threading.Event) -> int:
        """Return how many workers there are, waiting for the first; raise CompatError when none
        comes, or no scheduler answers.
        """
        from compat.fleet.cell_order import ClusterLost
        from compat.fleet.cluster import Cluster
        from compat.fleet.remote import Remote

        topic = f"compat-{uuid.uuid4().hex}"
        remote = Remote(
            partial(Cluster, self._address, topic),
            topic,
            cancel,
            attempts=options.attempts,
            merged=self._workspace.index.merged,
        )
        self._remote, number = remote, remote.size()
        if not number and not cancel.is_set():
            hint = f"compat fleet worker {self._address.text} starts one"
            raise ClusterLost.of("the cluster has no workers", hint=hint)
        return max(1, number)

    @property
    def means(self) -> str:
        return f"on the workers of {self._address.url}"

    def fleet(
        self,
        benches: Callable[[int, Job], Bench],
        cancel: threading.Event,
        options: RunOptions,
    ) -> Fleet:
        """Return the cluster; the benches stay unused, as each worker has its own."""
        if self._remote is None:
            self.workers(options, cancel)
        assert self._remote is not None
        return self._remote

    def missing_interpreter(self, lock: Lock) -> Version | None:
        """Return the series that the lock needs and no worker has; None when one has it."""
        version = lock.inputs.python
        if self._remote is None or self._remote.has_python(version):
            return None
        return Version(f"{version.major}.{version.minor}")

    def redacted(self, text: str) -> str:
        """Return the text as it may be published from this machine and those of the workers."""
        places = () if self._remote is None else self._remote.places
        return redacted(text, places=(*machine_places(), *sorted(places)))
