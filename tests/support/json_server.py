"""A server of JSON on a port of this machine, for the tests that need a service to ask."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# Method, target, body and the Authorization header -> status, JSON and headers; without a status
# the connection just ends.
Answer = Callable[[str, str, Any, str | None], tuple[int | None, Any, dict[str, str]]]


@contextmanager
def json_served(answer: Answer) -> Iterator[str]:
    """Answer requests until the block ends; the value is the address."""

    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            status, payload, headers = answer(
                self.command, self.path, body, self.headers.get("Authorization")
            )
            if status is None:
                self.close_connection = True
                return
            content = json.dumps(payload).encode()
            self.send_response(status)
            for key, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = _any

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_port}"
        finally:
            http.shutdown()
            thread.join()
