"""The three calls of GitHub's REST API that the workflows' own commands make, on a port of this
machine.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from support.json_server import json_served

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

    def answer(
        method: str, target: str, body: Any, authorization: str | None
    ) -> tuple[int, Any, dict[str, str]]:
        api.tokens.add(authorization)
        return (*api.answer(method, target, body), {})

    with json_served(answer) as api.url:
        yield api
