"""Asking GitHub's REST API: waits and repeats where that is safe, and says in one line what stands
in the way.
"""

import re
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
import requests
from requests.auth import AuthBase

from compat.errors import AuthenticationError, ServiceUnreachable, UsageError, one_line
from compat.value import Value

VERSION = "2022-11-28"
TRIES = 3
LONGEST_WAIT = 60.0
MOST_PAGES = 100
_TIMEOUT = (10, 60)
_LOCAL = ("127.0.0.1", "localhost", "::1")
_TOKEN_HINT = "give a valid token in the environment"


class Again(Exception):
    """A write met another one, or may have taken effect without an answer: read again, and decide
    again.
    """


class Reply(Value, frozen=True, kw_only=True):
    """What GitHub answered: the status, the JSON text, and the address of the next page if there is
    one.
    """

    status: int
    content: bytes
    following: str | None

    @property
    def message(self) -> str:
        try:
            document = msgspec.json.decode(self.content)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return f"status {self.status}"
        if not isinstance(document, dict):
            return f"status {self.status}"
        errors = document.get("errors")
        details = [
            item.get("message", "") if isinstance(item, dict) else item for item in _list(errors)
        ]
        return one_line(
            "; ".join(str(part) for part in (document.get("message", ""), *details) if part)
        )


def owner_and_name(repository: str) -> str:
    """Return the repository as it is; UsageError where it is not `owner/name`."""
    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*/[A-Za-z0-9_-][A-Za-z0-9._-]*", repository):
        raise UsageError.of(f"is no repository: {repository!r}", hint="write owner/name")
    return repository


class Rest:
    """One repository's corner of the API.

    Reads are repeated when the server stumbles. Writes never are: `Again` tells the caller to look
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
        """Take the API's address, `owner/name`, a token or None, and a session; refuse what would
        leak the token.
        """
        parts = urlsplit(base_url)
        if parts.scheme != "https" and parts.hostname not in _LOCAL:
            raise UsageError.of(
                "the token would travel in the clear", path="the API's address", hint="use https"
            )
        if parts.username is not None or parts.query or parts.fragment:
            raise UsageError.of("holds more than a host and a path", path="the API's address")
        owner_and_name(repository)
        if token is not None and not re.fullmatch(r"[\x21-\x7e]+", token):
            raise AuthenticationError.of(
                "the token holds characters that no token has", hint=_TOKEN_HINT
            )
        self.owner = repository.split("/")[0]
        self.repository = repository
        self.signed = token is not None
        self.wait = wait
        self._token = token
        self._root = base_url.rstrip("/")
        self._http = http

    def read(self, path: str, **query: str | int) -> Reply:
        """Return the answer to a GET inside the repository; 404 is an answer."""
        return self._read(f"{self._root}/repos/{self.repository}/{path}", query)

    def pages(self, path: str, **query: str | int) -> Iterator[Reply]:
        answer = self.read(path, per_page=100, **query)
        for _ in range(MOST_PAGES):
            yield answer
            if answer.following is None:
                return
            if not answer.following.startswith(f"{self._root}/"):
                raise ServiceUnreachable.of("GitHub names a next page outside its API")
            answer = self._read(answer.following, {})
        raise ServiceUnreachable.of(f"GitHub has more than {MOST_PAGES} pages of {path}")

    def write(self, method: Literal["POST", "PATCH"], path: str, body: dict[str, Any]) -> Reply:
        """Return the answer to a write inside the repository; 422 is an answer. Raises Again."""
        if not self.signed:
            raise AuthenticationError.of("a token is needed to write to GitHub", hint=_TOKEN_HINT)
        for _ in range(TRIES):
            try:
                response = self._send(
                    method, f"{self._root}/repos/{self.repository}/{path}", body, {}
                )
            except requests.RequestException as fault:
                raise Again(f"GitHub did not answer: {type(fault).__name__}") from None
            if (seconds := _asked_to_wait(response)) is not None:
                self._wait_or_give_up(seconds, response)
                continue
            if response.status_code >= 500 or response.status_code == 409:
                raise Again(f"GitHub answered {method} {path} with status {response.status_code}")
            return self._accepted(
                response, f"{method} {path}", (200, 201, 422), _permission(path, "write")
            )
        raise ServiceUnreachable.of("GitHub keeps asking to wait", hint="try again later")

    def _read(self, address: str, query: dict[str, str | int]) -> Reply:
        what = f"GET {urlsplit(address).path}"
        trouble = ""
        for attempt in range(TRIES):
            try:
                response = self._send("GET", address, None, query)
            except requests.RequestException as fault:
                trouble = type(fault).__name__
                self.wait(2**attempt)
                continue
            if (seconds := _asked_to_wait(response)) is not None:
                trouble = "a rate limit"
                self._wait_or_give_up(seconds, response)
            elif response.status_code >= 500:
                trouble = f"status {response.status_code}"
                self.wait(2**attempt)
            else:
                return self._accepted(response, what, (200, 404), _permission(address, "read"))
        raise ServiceUnreachable.of(
            f"GitHub gives no usable answer to {what}: {trouble}", hint="try again later"
        )

    def _send(
        self, method: str, address: str, body: dict[str, Any] | None, query: dict[str, str | int]
    ) -> requests.Response:
        headers = {
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": VERSION,
            "User-Agent": "compat",
        }
        return self._http.request(
            method,
            address,
            params=query,
            json=body,
            headers=headers,
            auth=_Bearer(self._token),
            timeout=_TIMEOUT,
            allow_redirects=method == "GET",
        )

    def _accepted(
        self, response: requests.Response, what: str, statuses: tuple[int, ...], needs: str
    ) -> Reply:
        following = response.links.get("next", {}).get("url")
        answer = Reply(status=response.status_code, content=response.content, following=following)
        if answer.status in statuses:
            return answer
        message = answer.message.replace(self._token, "***") if self._token else answer.message
        if answer.status == 401:
            raise AuthenticationError.of(
                f"GitHub does not accept the token: {message}", hint=_TOKEN_HINT
            )
        if answer.status in (403, 404):
            needs = response.headers.get("X-Accepted-GitHub-Permissions", needs)
            raise AuthenticationError.of(
                f"GitHub refuses {what}: {message}", hint=_remedy(message, needs)
            )
        hint = (
            f"the repository may have moved; it is asked for as {self.repository}"
            if answer.status < 400
            else ""
        )
        raise ServiceUnreachable.of(
            f"GitHub answers {what} with status {answer.status}: {message}", hint=hint
        )

    def _wait_or_give_up(self, seconds: float, response: requests.Response) -> None:
        if seconds > LONGEST_WAIT:
            moment = _date(response)
            when = (
                f"after {moment + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S} UTC"
                if moment
                else f"in {seconds:.0f} s"
            )
            raise ServiceUnreachable.of("GitHub's rate limit is used up", hint=f"try again {when}")
        self.wait(seconds)


class _Bearer(AuthBase):
    """Sends the token, and keeps requests from sending what a netrc file holds instead."""

    def __init__(self, token: str | None) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._token is not None:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request


def _asked_to_wait(response: requests.Response) -> float | None:
    """Return the seconds that GitHub asks to wait, or None when it does not speak of a rate limit.

    https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
    """
    if response.status_code not in (403, 429):
        return None
    after, reset = (
        response.headers.get("Retry-After", ""),
        response.headers.get("X-RateLimit-Reset", ""),
    )
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


def _permission(path: str, kind: str) -> str:
    for part, name in (("/pulls", "pull_requests"), ("/issues", "issues")):
        if part in f"/{path}":
            return f"{name}={kind}"
    return f"contents={kind}"


def _remedy(message: str, needs: str) -> str:
    if "not permitted to create" in message:
        return "allow it in the repository's settings, Actions, General, Workflow permissions"
    return f"the token needs the permission {one_line(needs)} on this repository"


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
