"""The three calls of GitHub's REST API that the workflows' own commands make, on a port of this
machine.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

NAME = "someone/compat"
PULL_URL = f"https://github.com/{NAME}/pull/1"
FORBIDDEN = {
    "message": "GitHub Actions is not permitted to create or approve pull requests.",
    "status": "403",
}


class GitHubApi:
    """What the repository has, and what was asked of it."""

    def __init__(self) -> None:
        self.url = ""
        self.state = "active"
        self.succeeded: str | None = None
        self.forbids_pulls = False
        self.pulls: list[dict[str, Any]] = []
        self.tokens: set[str | None] = set()

    def answer(self, method: str, target: str, body: Any) -> tuple[int, Any]:
        match method, urlsplit(target).path.removeprefix(f"/repos/{NAME}/"):
            case "POST", "pulls" if self.forbids_pulls:
                return 403, FORBIDDEN
            case "POST", "pulls":
                self.pulls.append(body)
                return 201, {"html_url": PULL_URL}
            case "GET", "actions/workflows/matrix.yml":
                return 200, {"id": 1, "path": ".github/workflows/matrix.yml", "state": self.state}
            case "GET", "actions/workflows/matrix.yml/runs":
                assert "status=success" in target
                runs = [] if self.succeeded is None else [{"id": 7, "created_at": self.succeeded}]
                return 200, {"total_count": len(runs), "workflow_runs": runs}
        return 404, {"message": "Not Found", "status": "404"}


@contextmanager
def serving() -> Iterator[GitHubApi]:
    """Serve the calls until the block ends."""
    api = GitHubApi()

    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            api.tokens.add(self.headers.get("Authorization"))
            status, answer = api.answer(self.command, self.path, body)
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = _any

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        api.url = f"http://127.0.0.1:{http.server_port}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield api
        finally:
            http.shutdown()
            thread.join()
