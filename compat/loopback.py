"""The loopback: a server of this machine for this machine, that lives as long as a `with` block."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from compat.errors import UsageError

Served = TypeVar("Served", bound="Loopback")
# A browser opens 6 connections to a host, a resolver up to 50 (uv's default of concurrent
# downloads, 2026).
MOST_CONNECTIONS = 64


class Loopback:
    """Answers on the loopback while open; port 0 is any free one, UsageError means a taken one."""

    def __init__(self, handler: Callable[..., BaseHTTPRequestHandler], port: int = 0) -> None:
        answers: Any = handler
        try:
            self._server = _Server(("127.0.0.1", port), answers)
        except OSError as cause:
            if not port:
                raise
            raise UsageError.of(f"port {port} is taken", hint="--port sets another one") from cause
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def __enter__(self: Served) -> Served:
        self._thread.start()
        return self

    def wait(self) -> None:
        self._thread.join()

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    """A thread for each connection, and at most so many: one too many is closed at once."""

    # Connections that come together wait to be accepted rather than to be tried again.
    request_queue_size = MOST_CONNECTIONS

    def __init__(self, *words: Any) -> None:
        super().__init__(*words)
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that went away is no fault of the server."""
