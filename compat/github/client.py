"""One repository's corner of GitHub's REST API: waits and repeats where that is safe, and reports
in one line what failed.

A client library was weighed: PyGithub brings seven packages, two of them compiled, for the twelve
calls that are made here (2.10, November 2026).
"""

import base64
import binascii
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
    """A write met another one, or may have taken effect without an answer: read again, and decide
    again.
    """


class Sha(Value, frozen=True, kw_only=True):
    """The name of an object."""

    sha: str


class Who(Value, frozen=True, kw_only=True):
    """Who wrote or committed."""

    name: str
    email: str


class Commit(Value, frozen=True, kw_only=True):
    """A commit, as GitHub describes it."""

    sha: str
    tree: Sha
    parents: tuple[Sha, ...]
    message: str
    author: Who
    committer: Who


class End(Value, frozen=True, kw_only=True):
    """One end of a pull request."""

    ref: str
    sha: str
    repo: dict[str, Any] | None


class Thread(Value, frozen=True, kw_only=True):
    """A pull request, an issue or a comment, as far as GitHub describes it."""

    number: int = 0
    html_url: str = ""
    title: str = ""
    body: str | None = None
    state: str = ""
    merged_at: str | None = None
    head: End | None = None
    base: End | None = None
    pull_request: dict[str, Any] | None = None

    @property
    def is_open(self) -> bool:
        return self.state == "open"

    @property
    def text(self) -> str:
        return self.body or ""


class _Ref(Value, frozen=True):
    object: Sha


class _Content(Value, frozen=True):
    type: str
    content: str = ""
    encoding: str = ""


class _Refusal(Value, frozen=True):
    message: str = ""
    errors: tuple[Any, ...] = ()


class WorkflowActivity(Value, frozen=True, kw_only=True):
    """What GitHub says of a workflow; `succeeded` is when its newest success was created."""

    workflow: str
    state: str
    succeeded: datetime | None


class _Workflow(Value, frozen=True):
    state: str


class _Run(Value, frozen=True):
    created_at: datetime


class _Runs(Value, frozen=True):
    workflow_runs: list[_Run]


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
    """Return the repository as it is; UsageError where it is not `owner/name`."""
    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*/[A-Za-z0-9_-][A-Za-z0-9._-]*", repository):
        raise UsageError.of(f"is no repository: {repository!r}", hint="write owner/name")
    return repository


class GitHub:
    """A repository on GitHub.

    Reads are repeated when the server stumbles. Writes never are: `Again` asks the caller to look
    what became of them. The token is sent to `base_url` only and appears in no message.
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
            raise UsageError.of(
                "the token would travel in the clear", path="the API's address", hint="use https"
            )
        if parts.username is not None or parts.query or parts.fragment:
            raise UsageError.of("holds more than a host and a path", path="the API's address")
        if token is not None and not re.fullmatch(r"[\x21-\x7e]+", token):
            raise AuthenticationError.of(
                "the token holds characters that no token has", hint=_TOKEN_HINT
            )
        self.repository = owner_and_name(repository)
        self.signed = token is not None
        self.wait = wait
        self._token = token
        self._root = base_url.rstrip("/")
        self._http = http

    # What is there.

    def head(self, branch: str) -> Commit | None:
        ref = self._read(f"git/ref/heads/{quote(branch)}", _Ref)
        return None if ref is None else self.commit(ref.object.sha)

    def commit(self, sha: str) -> Commit | None:
        return self._read(f"git/commits/{quote(sha)}", Commit)

    def text(self, path: str, sha: str) -> str | None:
        """Return the text of a file at a commit; None where it has no such file."""
        content = self._read(f"contents/{quote(path)}", _Content, ref=sha)
        if content is None:
            return None
        if content.type != "file" or content.encoding != "base64":
            raise UsageError.of("is not a file of at most 1 MB on GitHub", path=path)
        try:
            return base64.b64decode(content.content).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError) as fault:
            raise UsageError.of("is not UTF-8 text on GitHub", path=path) from fault

    def pulls(self, branch: str) -> list[Thread]:
        """Return the pull requests from that branch of this repository, those of forks left out."""
        owner = self.repository.split("/")[0]
        return [
            pull
            for pull in self._pages("pulls", head=f"{owner}:{branch}", state="all")
            if pull.head is not None and pull.base is not None
            if pull.head.ref == branch and _name(pull.head) == _name(pull.base)
        ]

    def issues(self, label: str) -> list[Thread]:
        pages = self._pages("issues", labels=label, state="all")
        return [issue for issue in pages if issue.pull_request is None]

    def activity(self, workflow: str) -> WorkflowActivity:
        """Ask about a workflow by the name of its file; UsageError where there is none such.

        https://docs.github.com/en/rest/actions/workflows and
        https://docs.github.com/en/rest/actions/workflow-runs
        """
        path = f"actions/workflows/{quote(workflow, safe='')}"
        state = self._read(path, _Workflow)
        if state is None:
            hint = "name its file, such as matrix.yml; the token needs the permission actions=read"
            raise UsageError.of(f"{self.repository} has no workflow {workflow!r}", hint=hint)
        runs = self._read(f"{path}/runs", _Runs, status="success", per_page=1)
        newest = runs.workflow_runs[0].created_at if runs and runs.workflow_runs else None
        return WorkflowActivity(workflow=workflow, state=state.state, succeeded=newest)

    # What is written.

    def plant(
        self, branch: str, files: dict[str, str], message: str, base: Commit, head: Commit | None
    ) -> None:
        """Make the branch: one commit with the files on the base, whose message ends with the name
        of its tree. Raises Again when somebody else moved the branch from its `head`.
        """
        entries = [
            {"path": path, "mode": "100644", "type": "blob", "content": text}
            for path, text in files.items()
        ]
        tree = self._post("git/trees", {"base_tree": base.tree.sha, "tree": entries}, Sha).sha
        commit = {"message": f"{message}{tree}", "tree": tree, "parents": [base.sha]}
        sha = self._post("git/commits", commit, Sha).sha
        if head is None:
            self._post("git/refs", {"ref": f"refs/heads/{branch}", "sha": sha}, _Ref)
            return
        # GitHub's REST API has no "move it only if it is still there": this look leaves a gap of
        # one request.
        now = self.head(branch)
        if now is None or now.sha != head.sha:
            raise Again("the branch moved")
        self._write("PATCH", f"git/refs/heads/{quote(branch)}", {"sha": sha, "force": True})

    def open(self, kind: Literal["pulls", "issues"], **content: Any) -> str:
        """Open a pull request or an issue and return its address. Raises Again when there is one.

        GitHub makes a label that is new.
        """
        return self._post(kind, content, Thread).html_url

    def edit(self, kind: Literal["pulls", "issues"], number: int, **changes: str | None) -> None:
        """Change the title, body or state; what is None stays."""
        changes = {key: value for key, value in changes.items() if value is not None}
        if changes:
            self._write("PATCH", f"{kind}/{number}", changes)

    def say_once(self, number: int, text: str, key: str) -> None:
        """Comment on a pull request or an issue, unless that was said before."""
        path, mark = f"issues/{number}/comments", f"<!-- compat:said {key} -->"
        if not any(mark in comment.text for comment in self._pages(path)):
            self._post(path, {"body": f"{text}\n\n{mark}"}, Thread)

    # How it is asked for.

    def _read(self, path: str, kind: type[T], **query: str | int) -> T | None:
        answer = self._ask("GET", f"{self._root}/repos/{self.repository}/{path}", None, query)
        return None if answer.status_code == 404 else _decoded(answer, kind)

    def _pages(self, path: str, **query: str | int) -> Iterator[Thread]:
        address: str = f"{self._root}/repos/{self.repository}/{path}"
        query["per_page"] = 100
        for _ in range(MOST_PAGES):
            answer = self._ask("GET", address, None, query)
            yield from _decoded(answer, list[Thread])
            if "next" not in answer.links:
                return
            address, query = answer.links["next"]["url"], {}
            if not address.startswith(f"{self._root}/"):
                raise ServiceUnreachable.of("GitHub names a next page outside its API")
        raise ServiceUnreachable.of(f"GitHub has more than {MOST_PAGES} pages of {path}")

    def _post(self, path: str, body: dict[str, Any], kind: type[T]) -> T:
        return _decoded(self._write("POST", path, body), kind)

    def _write(self, method: str, path: str, body: dict[str, Any]) -> requests.Response:
        if not self.signed:
            raise AuthenticationError.of("a token is needed to write to GitHub", hint=_TOKEN_HINT)
        answer = self._ask(method, f"{self._root}/repos/{self.repository}/{path}", body, {})
        if answer.status_code != 422:
            return answer
        refusal = _message(answer)
        if "already exists" in refusal or "does not exist" in refusal:
            raise Again(refusal)
        raise ServiceUnreachable.of(
            f"GitHub refuses to write {path}: {refusal}", hint="look at the repository's rules"
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
                    allow_redirects=reads, auth=_as_it_is,
                )  # fmt: skip
            except requests.RequestException as fault:
                trouble = type(fault).__name__
            else:
                status = response.status_code
                if (seconds := _asked_to_wait(response)) is not None:
                    trouble = "a rate limit"
                    self._wait_or_give_up(seconds, response)
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
            raise AuthenticationError.of(
                f"GitHub does not accept the token: {message}", hint=_TOKEN_HINT
            )
        if response.status_code in (403, 404):
            needs = response.headers.get("X-Accepted-GitHub-Permissions", "to do this")
            hint = f"the token needs the permission {one_line(needs)} on this repository"
            if "not permitted to create" in message:
                hint = (
                    "allow it in the repository's settings, Actions, General, Workflow permissions"
                )
            raise AuthenticationError.of(f"GitHub refuses {what}: {message}", hint=hint)
        raise ServiceUnreachable.of(
            f"GitHub answers {what} with status {response.status_code}: {message}",
            hint="the repository may have moved" if response.status_code < 400 else "",
        )

    def _wait_or_give_up(self, seconds: float, response: requests.Response) -> None:
        if seconds > LONGEST_WAIT:
            moment = _date(response)
            when = f"in {seconds:.0f} s"
            if moment:
                when = f"after {moment + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S} UTC"
            raise ServiceUnreachable.of("GitHub's rate limit is used up", hint=f"try again {when}")
        self.wait(seconds)


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Keep requests from sending what a netrc file holds instead of the token."""
    return request


def _decoded(answer: requests.Response, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(answer.content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        message = f"GitHub's answer is not what its description says: {fault}"
        raise ServiceUnreachable.of(message) from fault


def _message(answer: requests.Response) -> str:
    try:
        refusal = msgspec.json.decode(answer.content, type=_Refusal)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return f"status {answer.status_code}"
    details = [e.get("message", "") if isinstance(e, dict) else e for e in refusal.errors]
    return one_line("; ".join(str(part) for part in (refusal.message, *details) if part))


def _asked_to_wait(response: requests.Response) -> float | None:
    """Return the seconds that GitHub asks to wait, or None when it does not speak of a rate limit.

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


def _name(end: End) -> Any:
    return None if end.repo is None else end.repo.get("full_name")
