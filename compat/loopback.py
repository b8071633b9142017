"""The loopback: a server of this machine for this machine, that lives as long as a `with` block."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from compat.errors import UsageError

Served = TypeVar("Served", bound="Loopback")


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


class Answering(BaseHTTPRequestHandler):
    """Sends whole answers and logs nothing: who asks reports what is wrong."""

    def answer(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    # uv opens up to 50 connections together; they wait to be accepted.
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that went away is no fault of the server."""
