"""A Dask scheduler for workers that run cells."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

from distributed import Scheduler

if TYPE_CHECKING:
    from compat.fleet.cluster import ClusterAddress

logging.getLogger("distributed").setLevel(logging.CRITICAL)


async def serve_scheduler(address: ClusterAddress, ready: Callable[[int], None]) -> None:
    """Schedule until SIGINT or SIGTERM; `ready` is called with the port once it is bound.

    Raises OSError when the port is taken.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with Scheduler(
        host=address.host,
        port=address.port,
        protocol="tls" if address.tls else "tcp",
        security=address.security,
        dashboard=False,
        # Even without its pages it would serve figures on port 8787 of every network.
        dashboard_address="127.0.0.1:0",
    ) as scheduler:
        ready(int(scheduler.port))
        await stop.wait()
