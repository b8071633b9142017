"""GitHub's REST API for one repository: retries where that is safe, failures in one line.

PyGithub would bring seven packages, two of them compiled, for the twelve calls made here (2.10,
November 2026).
"""

import base64
import binascii
import contextlib
import re
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Any, Literal, TypeVar
from urllib.parse import quote, urlsplit

import msgspec
import requests

from compat.errors import AuthenticationError, ServiceUnreachable, UsageError, one_line
from compat.value import Value

VERSION = "2022-11-28"
TRIES = 3
LONGEST_WAIT = 60.0
MOST_PAGES = 100
_TIMEOUT = (10, 60)
_LOCAL = ("127.0.0.1", "localhost", "::1")
_TOKEN_HINT = "give a valid token in the environment"

T = TypeVar("T")


class Again(Exception):
    """A write conflicted, or its answer was lost: read again, and decide again."""


class Commit(Value, frozen=True, kw_only=True):
    """A commit; `parents` and `tree` are object names."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    message: str
    author: str


class Thread(Value, frozen=True, kw_only=True):
    """A pull request or an issue; the branches are empty for an issue."""

    number: int
    html_url: str
    title: str
    text: str
    is_open: bool
    is_merged: bool = False
    head_sha: str = ""
    base_ref: str = ""


class WorkflowActivity(Value, frozen=True, kw_only=True):
    """The state of a workflow; `succeeded` is when its newest success was created."""

    workflow: str
    state: str
    succeeded: datetime | None


def overdue(workflow: WorkflowActivity, now: datetime, days: int) -> tuple[str, ...]:
    name, succeeded = workflow.workflow, workflow.succeeded
    findings: list[str] = []
    if workflow.state != "active":
        findings.append(f"{name} is {workflow.state}; `gh workflow enable {name}` enables it again")
    if succeeded is None:
        findings.append(f"{name} has never succeeded")
    elif now - succeeded > timedelta(days=days):
        findings.append(
            f"{name} last succeeded on {succeeded:%Y-%m-%d}, which is more than {days} days ago"
        )
    return tuple(findings)


def owner_and_name(repository: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*/[A-Za-z0-9_-][A-Za-z0-9._-]*", repository):
        raise UsageError.of(f"is no repository: {repository!r}", hint="write owner/name")
    return repository


class GitHub:
    """A repository on GitHub.

    Reads are repeated after a server error, writes never: after `Again` the caller checks what was
    written. The token is sent only to `base_url` and appears in no message.
    """

    def __init__(
        self,
        base_url: str,
        repository: str,
        token: str | None,
        http: requests.Session,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        parts = urlsplit(base_url)
        if parts.scheme != "https" and parts.hostname not in _LOCAL:
            message = "the token would travel in the clear"
            raise UsageError.of(message, path="the API's address", hint="use https")
        if parts.username is not None or parts.query or parts.fragment:
            raise UsageError.of("holds more than a host and a path", path="the API's address")
        if token is not None and not re.fullmatch(r"[\x21-\x7e]+", token):
            message = "the token holds characters that no token has"
            raise AuthenticationError.of(message, hint=_TOKEN_HINT)
        self.repository = owner_and_name(repository)
        self.signed = token is not None
        self.wait = wait
        self._token = token
        self._root = f"{base_url.rstrip('/')}/"
        self._here = f"{self._root}repos/{repository}"
        self._http = http

    # Reads.

    def head(self, branch: str) -> Commit | None:
        ref = self._read(f"git/ref/heads/{quote(branch)}")
        with _described():
            return None if ref is None else self.commit(ref["object"]["sha"])

    def commit(self, sha: str) -> Commit | None:
        commit = self._read(f"git/commits/{quote(sha)}")
        with _described():
            if commit is None:
                return None
            parents = [parent["sha"] for parent in commit["parents"]]
            further = {"tree": commit["tree"]["sha"], "author": commit["author"]["name"]}
            return msgspec.convert(commit | further | {"parents": parents}, Commit)

    def text(self, path: str, sha: str) -> str | None:
        content = self._read(f"contents/{quote(path)}", ref=sha)
        if content is None:
            return None
        if not isinstance(content, dict) or content.get("encoding") != "base64":
            raise UsageError.of("is not a file of at most 1 MB on GitHub", path=path)
        try:
            return base64.b64decode(content["content"]).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError) as fault:
            raise UsageError.of("is not UTF-8 text on GitHub", path=path) from fault

    def pulls(self, branch: str) -> list[Thread]:
        """Return the pull requests from that branch of this repository, without those of forks."""
        owner = self.repository.split("/")[0]
        pages = self._pages("pulls", head=f"{owner}:{branch}", state="all")
        with _described():
            return [
                _thread(pull)
                for pull in pages
                if pull["head"]["ref"] == branch and _home(pull["head"]) == _home(pull["base"])
            ]

    def issues(self, label: str) -> list[Thread]:
        pages = self._pages("issues", labels=label, state="all")
        with _described():
            return [_thread(issue) for issue in pages if issue.get("pull_request") is None]

    def activity(self, workflow: str) -> WorkflowActivity:
        path = f"actions/workflows/{quote(workflow, safe='')}"
        state = self._read(path)
        if state is None:
            hint = "name its file, such as matrix.yml; the token needs the permission actions=read"
            raise UsageError.of(f"{self.repository} has no workflow {workflow!r}", hint=hint)
        runs = self._read(f"{path}/runs", status="success", per_page=1)
        with _described():
            created = [run["created_at"] for run in runs["workflow_runs"]] if runs else []
            fields = {"workflow": workflow, "state": state["state"]}
            return msgspec.convert(fields | {"succeeded": [*created, None][0]}, WorkflowActivity)

    # Writes.

    def plant(
        self, branch: str, files: dict[str, str], message: str, base: Commit, head: Commit | None
    ) -> None:
        """Raises Again if somebody else moved the branch from `head`."""
        entries = [
            {"path": p, "mode": "100644", "type": "blob", "content": t} for p, t in files.items()
        ]
        tree = self._post("git/trees", "sha", base_tree=base.tree, tree=entries)
        words = {"message": f"{message}{tree}", "tree": tree, "parents": [base.sha]}
        sha = self._post("git/commits", "sha", **words)
        if head is None:
            self._post("git/refs", "ref", ref=f"refs/heads/{branch}", sha=sha)
            return
        # GitHub's REST API cannot move a branch conditionally: this check leaves a gap of one
        # request.
        now = self.head(branch)
        if now is None or now.sha != head.sha:
            raise Again("the branch moved")
        self._write("PATCH", f"git/refs/heads/{quote(branch)}", {"sha": sha, "force": True})

    def open(self, kind: Literal["pulls", "issues"], **content: Any) -> str:
        """GitHub creates a new label. Raises Again if there is one already."""
        return self._post(kind, "html_url", **content)

    def edit(self, kind: Literal["pulls", "issues"], number: int, **changes: str | None) -> None:
        changes = {key: value for key, value in changes.items() if value is not None}
        if changes:
            self._write("PATCH", f"{kind}/{number}", changes)

    def say_once(self, number: int, text: str, key: str) -> None:
        path, mark = f"issues/{number}/comments", f"<!-- compat:said {key} -->"
        if not any(mark in (comment.get("body") or "") for comment in self._pages(path)):
            self._post(path, "html_url", body=f"{text}\n\n{mark}")

    # Requests.

    def _read(self, path: str, **query: str | int) -> Any:
        answer = self._ask("GET", f"{self._here}/{path}", None, query)
        return None if answer.status_code == 404 else _decoded(answer, Any)

    def _pages(self, path: str, **query: str | int) -> Iterator[dict[str, Any]]:
        address = f"{self._here}/{path}"
        query["per_page"] = 100
        for _ in range(MOST_PAGES):
            answer = self._ask("GET", address, None, query)
            yield from _decoded(answer, list[dict[str, Any]])
            if "next" not in answer.links:
                return
            address, query = answer.links["next"]["url"], {}
            if not address.startswith(self._root):
                raise ServiceUnreachable.of("GitHub names a next page outside its API")
        raise ServiceUnreachable.of(f"GitHub has more than {MOST_PAGES} pages of {path}")

    def _post(self, path: str, wanted: str, **body: Any) -> str:
        answer = _decoded(self._write("POST", path, body), dict[str, Any])
        with _described():
            return str(answer[wanted])

    def _write(self, method: str, path: str, body: dict[str, Any]) -> requests.Response:
        if not self.signed:
            raise AuthenticationError.of("a token is needed to write to GitHub", hint=_TOKEN_HINT)
        answer = self._ask(method, f"{self._here}/{path}", body, {})
        if answer.status_code != 422:
            return answer
        refusal = _message(answer)
        if "already exists" in refusal or "does not exist" in refusal:
            raise Again(refusal)
        raise ServiceUnreachable.of(
            f"GitHub does not write {path}: {refusal}", hint="look at the repository's rules"
        )

    def _ask(
        self, method: str, address: str, body: dict[str, Any] | None, query: dict[str, str | int]
    ) -> requests.Response:
        what, reads, trouble = f"{method} {urlsplit(address).path}", method == "GET", ""
        headers = {"Accept": "application/vnd.github+json", "User-Agent": "compat"}
        headers["X-GitHub-Api-Version"] = VERSION
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        for attempt in range(TRIES):
            try:
                response = self._http.request(
                    method, address, params=query, json=body, headers=headers, timeout=_TIMEOUT,
                    # Without `auth` a token from a netrc file would replace ours.
                    allow_redirects=reads, auth=lambda request: request,
                )  # fmt: skip
            except requests.RequestException as fault:
                trouble = type(fault).__name__
            else:
                status = response.status_code
                if (seconds := _must_wait(response)) is not None:
                    trouble = "a rate limit"
                    if seconds > LONGEST_WAIT:
                        when = f"in {seconds:.0f} s"
                        if moment := _date(response):
                            end = moment + timedelta(seconds=seconds)
                            when = f"after {end:%Y-%m-%d %H:%M:%S} UTC"
                        hint = f"try again {when}"
                        raise ServiceUnreachable.of("GitHub's rate limit is used up", hint=hint)
                    self.wait(seconds)
                    continue
                if status < 500 and status != 409:
                    if status not in ((200, 404) if reads else (200, 201, 422)):
                        self._refuse(response, what)
                    return response
                trouble = f"status {status}"
            if not reads:
                raise Again(f"GitHub gives no usable answer to {what}: {trouble}")
            self.wait(2**attempt)
        raise ServiceUnreachable.of(
            f"GitHub gives no usable answer to {what}: {trouble}", hint="try again later"
        )

    def _refuse(self, response: requests.Response, what: str) -> None:
        message = _message(response)
        if self._token:
            message = message.replace(self._token, "***")
        if response.status_code == 401:
            message = f"GitHub does not accept the token: {message}"
            raise AuthenticationError.of(message, hint=_TOKEN_HINT)
        if response.status_code in (403, 404):
            needs = response.headers.get("X-Accepted-GitHub-Permissions", "to do this")
            hint = f"the token needs the permission {one_line(needs)} on this repository"
            if "not permitted to create" in message:
                place = "Actions, General, Workflow permissions"
                hint = f"allow it in the repository's settings, {place}"
            raise AuthenticationError.of(f"GitHub refuses {what}: {message}", hint=hint)
        raise ServiceUnreachable.of(
            f"GitHub answers {what} with status {response.status_code}: {message}",
            hint="the repository may have moved" if response.status_code < 400 else "",
        )


def _thread(thread: dict[str, Any]) -> Thread:
    ends = thread.get("head") or {}, thread.get("base") or {}
    fields = {"text": thread.get("body") or "", "is_open": thread["state"] == "open"}
    fields |= {"is_merged": thread.get("merged_at") is not None}
    fields |= {"head_sha": ends[0].get("sha", ""), "base_ref": ends[1].get("ref", "")}
    return msgspec.convert(thread | fields, Thread)


def _home(end: dict[str, Any]) -> Any:
    return (end.get("repo") or {}).get("full_name")


def _decoded(answer: requests.Response, kind: type[T]) -> T:
    with _described():
        return msgspec.json.decode(answer.content, type=kind)


@contextlib.contextmanager
def _described() -> Iterator[None]:
    try:
        yield
    except (msgspec.DecodeError, UnicodeDecodeError, LookupError, TypeError) as fault:
        message = f"GitHub's answer is not what its description says: {fault}"
        raise ServiceUnreachable.of(message) from fault


def _message(answer: requests.Response) -> str:
    try:
        refusal = msgspec.json.decode(answer.content, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return f"status {answer.status_code}"
    errors = refusal.get("errors") or ()
    details = [e.get("message", "") if isinstance(e, dict) else e for e in errors]
    parts = (refusal.get("message", ""), *details)
    return one_line("; ".join(str(part) for part in parts if part))


def _must_wait(response: requests.Response) -> float | None:
    """Return the seconds of GitHub's rate limit, or None for another response.

    https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
    """
    if response.status_code not in (403, 429):
        return None
    after = response.headers.get("Retry-After", "")
    reset = response.headers.get("X-RateLimit-Reset", "")
    if after.isdecimal():
        return float(after)
    if response.headers.get("X-RateLimit-Remaining") == "0" and reset.isdecimal():
        moment = _date(response)
        return max(1.0, float(reset) - moment.timestamp() + 1) if moment else LONGEST_WAIT
    limited = response.status_code == 429 or "rate limit" in response.text.lower()
    return LONGEST_WAIT if limited else None


def _date(response: requests.Response) -> datetime | None:
    try:
        return parsedate_to_datetime(response.headers.get("Date", "")).astimezone(timezone.utc)
    except ValueError:
        return None
