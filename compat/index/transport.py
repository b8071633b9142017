"""The index room's way out: requests that end, in time and in size."""

import logging
import tempfile
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDone
from typing import IO, Any
from urllib.parse import unquote, urlsplit, urlunsplit

import msgspec
import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError as BrokenTransfer
from urllib3.exceptions import ReadTimeoutError
from urllib3.response import BaseHTTPResponse, HTTPResponse
from urllib3.util import Retry

from compat.errors import IndexUnreachable
from compat.index.settings import IndexSettings
from compat.value import Value

_LOG = logging.getLogger(__name__)
CONNECTIONS = 8  # as many as `discover` has threads
CHUNK = 64 * 1024  # bytes
IN_MEMORY = 16 * 1024 * 1024  # bytes of an answer; more goes to a temporary file
THREAD_NAME = "compat-index"
GRACE = 0.5  # seconds by which an exchange may overrun its deadline to report its own trouble


class ResponseLimits(Value, frozen=True):
    """How long and how large an answer may be, in seconds and bytes.

    `silence` is the longest pause within an answer, `total` the time for the whole of it with all
    retries. A server's `Retry-After` is honoured up to `retry_after_max`. `fresh` is the age up to
    which a kept page is not asked for again: PyPI itself lets pages be cached for 600 s.
    """

    connect: float = 10
    silence: float = 20
    total: float = 60
    wheel_total: float = 900
    retries: int = 3
    back_off: float = 0.5
    retry_after_max: int = 15
    max_bytes: int = 64 * 1024 * 1024
    max_metadata_bytes: int = 10 * 1024 * 1024
    max_wheel_bytes: int = 2 * 1024 * 1024 * 1024
    fresh: int = 600


class TooLarge(requests.RequestException):
    """The answer went over the limit; its text is the limit."""


class TooSlow(requests.Timeout):
    """The answer was not complete in time; its text says which time."""


class BrokenOff(requests.RequestException):
    """The answer ended early, or could not be decoded."""


class BadStatus(requests.RequestException):
    """The answer is a status that says no."""

    def __init__(self, status: int) -> None:
        super().__init__(str(status))
        self.status = status


class Web:
    """A session with the index: every request keeps the limits."""

    def __init__(self, settings: IndexSettings, limits: ResponseLimits) -> None:
        self._session = requests.Session()
        self._session.max_redirects = 5
        self._session.headers["User-Agent"] = "compat-matrix"
        for prefix in ("https://", "http://"):
            self._session.mount(prefix, BoundedAdapter(limits))
        self._logins = dict(login for url in settings.urls if (login := _login(url)) is not None)
        # Given with each request, because requests lets the environment beat what is set on the
        # session.
        self._verify = settings.cert or True
        self._proxies = (
            {} if settings.proxy is None else {"http": settings.proxy, "https": settings.proxy}
        )

    def get(
        self, url: str, *, headers: Mapping[str, str] | None = None, stream: bool = False
    ) -> requests.Response:
        """Return the answer 200 or 206; raise requests.RequestException, BadStatus for others."""
        response = self._session.get(
            url,
            headers=dict(headers or {}),
            stream=stream,
            verify=self._verify,
            proxies=self._proxies,
            auth=self._logins.get(_origin(url)),
        )
        if response.status_code not in (200, 206):
            raise BadStatus(response.status_code)
        return response

    def close(self) -> None:
        self._session.close()


class BoundedAdapter(HTTPAdapter):
    """Sends one request under Limits.

    The whole exchange runs on a thread of its own that is not waited for beyond the deadline:
    nothing else bounds the look-up of a name, or a server that sends its headers a byte at a time.
    The body is read up to the deadline and handed on as a file, so whoever reads the response later
    cannot hang.
    """

    def __init__(self, limits: ResponseLimits) -> None:
        self._limits = limits
        retry = Retry(
            total=limits.retries,
            status_forcelist=(429, 500, 502, 503, 504),
            backoff_factor=limits.back_off,
            raise_on_status=False,
            retry_after_max=limits.retry_after_max,
        )
        super().__init__(pool_maxsize=CONNECTIONS, max_retries=retry)

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: Any = True,
        cert: Any = None,
        proxies: Any = None,
    ) -> requests.Response:
        """Return the response with its body read, whatever `stream` says; the limits are the
        adapter's.
        """
        deadline = time.monotonic() + self._limits.total
        exchanged: Future[requests.Response] = Future()

        def exchange() -> None:
            try:
                exchanged.set_result(
                    self._exchange(request, deadline, verify=verify, cert=cert, proxies=proxies)
                )
            except BaseException as error:
                exchanged.set_exception(error)

        threading.Thread(target=exchange, name=THREAD_NAME, daemon=True).start()
        try:
            return exchanged.result(self._limits.total + GRACE)
        except NotDone as cause:
            raise TooSlow(f"within {self._limits.total:g} s") from cause

    def _exchange(
        self, request: requests.PreparedRequest, deadline: float, **tls: Any
    ) -> requests.Response:
        timeout = (self._limits.connect, self._limits.silence)
        response = super().send(request, stream=True, timeout=timeout, **tls)
        _LOG.info(
            "%s %s: %s", request.method, without_login(str(request.url)), response.status_code
        )
        raw: BaseHTTPResponse = response.raw
        # A whole wheel in answer to a range request is not worth its bytes, nor is the body of a
        # refusal.
        unwanted = raw.status not in (200, 206) or (
            "Range" in request.headers and raw.status == 200
        )
        try:
            # It is closed with the response.
            body = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115
            if not unwanted:
                self._read(raw, body, deadline)
        finally:
            raw.close()
        body.seek(0)
        read = self.build_response(request, _over(raw, body))
        read.encoding = response.encoding
        return read

    def _read(self, raw: BaseHTTPResponse, body: IO[bytes], deadline: float) -> None:
        size = 0
        try:
            while chunk := raw.read1(CHUNK, decode_content=True):
                size += len(chunk)
                if size > self._limits.max_bytes:
                    raise TooLarge(f"{self._limits.max_bytes} bytes")
                if time.monotonic() > deadline:
                    raise TooSlow(f"within {self._limits.total:g} s")
                body.write(chunk)
        except ReadTimeoutError as cause:
            raise TooSlow(f"and then fell silent for {self._limits.silence:g} s") from cause
        except BrokenTransfer as error:
            raise BrokenOff(str(error)) from error


def without_login(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def whole_wheel_limits(limits: ResponseLimits) -> ResponseLimits:
    return msgspec.structs.replace(
        limits, total=limits.wheel_total, max_bytes=limits.max_wheel_bytes
    )


def _over(raw: BaseHTTPResponse, body: IO[bytes]) -> HTTPResponse:
    # Return the response over the body that was read and decoded: headers about its encoding no
    # longer hold.
    headers = raw.headers.copy()
    for name in ("Content-Encoding", "Transfer-Encoding", "Content-Length"):
        headers.discard(name)
    return HTTPResponse(
        body=body,
        headers=headers,
        status=raw.status,
        reason=raw.reason,
        version=raw.version,
        preload_content=False,
    )


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.rpartition("@")[2].lower()


def _login(url: str) -> tuple[tuple[str, str], tuple[str, str]] | None:
    parts = urlsplit(url)
    if parts.username is None:
        return None
    return _origin(url), (unquote(parts.username), unquote(parts.password or ""))


_CHECK = (
    "check the network, and the index address and proxy that pip is configured for; then try again"
)
_ADDRESS = "check the index address"
# By the first kind that fits: what happened, and what to do.
_TROUBLE: tuple[tuple[type[Exception], str, str], ...] = (
    (requests.exceptions.JSONDecodeError, "'s answer cannot be read", _ADDRESS),
    (TooLarge, " answered with more than {}", _ADDRESS),
    (TooSlow, " gave no complete answer {}", "check the network; then try again"),
    (requests.Timeout, " did not answer in time", _CHECK),
    (BrokenOff, "'s answer broke off", "try again"),
    (requests.exceptions.ChunkedEncodingError, "'s answer broke off", "try again"),
    (
        requests.exceptions.SSLError,
        "'s certificate is not trusted",
        "name the right bundle in pip's setting `cert`",
    ),
    (requests.exceptions.ProxyError, "", "check pip's setting `proxy`"),
    (requests.ConnectionError, " cannot be reached", _CHECK),
    (requests.RequestException, " could not be asked", _CHECK),
    (OSError, " could not be asked for want of a local file", "check pip's setting `cert`"),
    (Exception, "'s answer cannot be read", _ADDRESS),
)
_STATUS = {
    **dict.fromkeys((404, 410), (" has no such page", "check the name and the index address")),
    **dict.fromkeys(
        (401, 403, 407), (" refuses access", "check the login of the index or the proxy")
    ),
    429: (" wants fewer requests", "wait a while; then try again"),
}


def unreachable(error: Exception, wanted: str) -> IndexUnreachable:
    """Return the trouble as one line with its remedy. No host, address or credential is in it."""
    index, status = "the package index", error.status if isinstance(error, BadStatus) else 0
    what, hint = next((what, hint) for kind, what, hint in _TROUBLE if isinstance(error, kind))
    message = index + what.format(error)
    if isinstance(error, requests.exceptions.ProxyError):
        message = "the proxy to the package index cannot be reached"
    if status in _STATUS:
        what, hint = _STATUS[status]
        message = f"{index}{what} ({status})"
    elif status >= 500:
        message, hint = f"{index} is in trouble ({status})", "try again later"
    elif status:
        message, hint = f"{index} answered with status {status}", _ADDRESS
    return IndexUnreachable.of(f"{message}, asked for {wanted}", hint=hint)
