"""The loopback: a server of this machine for this machine, that lives as long as a `with` block."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

Served = TypeVar("Served", bound="Loopback")


class Loopback:
    """Answers on the loopback until it is closed; port 0 takes any free one. Use it as a context."""

    def __init__(self, handler: Callable[..., BaseHTTPRequestHandler], port: int = 0) -> None:
        """Take what answers; the port is bound at once, an OSError says that it is taken."""
        answers: Any = handler
        self._server = ThreadingHTTPServer(("127.0.0.1", port), answers)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """The address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def __enter__(self: Served) -> Served:
        """Start serving."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
