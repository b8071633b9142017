"""Requests to the index with limits on time and size, and the requirements in wheels' metadata."""

import contextlib
import csv
import hashlib
import io
import logging
import re
import shutil
import struct
import tempfile
import threading
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDone
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote, urlsplit, urlunsplit

import msgspec
import requests
from packaging.metadata import parse_email
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version
from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError, ReadTimeoutError
from urllib3.response import BaseHTTPResponse, HTTPResponse
from urllib3.util import Retry

from compat import files
from compat.errors import CompatError, IndexUnreachable, UnsoundFile
from compat.index.release import Artifact, Published, Release, usable_wheels
from compat.index.settings import IndexSettings
from compat.value import Value, decode, encode

_LOG = logging.getLogger(__name__)
CONNECTIONS = 8  # as many as `discover` has threads
CHUNK = 64 * 1024  # bytes
IN_MEMORY = 16 * 1024 * 1024  # bytes of an answer; more goes to a temporary file
THREAD_NAME = "compat-index"
GRACE = 0.5  # seconds by which an exchange may overrun its deadline to report its own error


class ResponseLimits(Value, frozen=True):
    """How long and how large an answer may be, in seconds and bytes.

    `silence` is the longest pause within an answer, `total` the time for all of it with retries. A
    server's `Retry-After` is honoured up to `retry_after_max`. `fresh` is the age up to which a
    cached page is used without a request: PyPI itself allows 600 s.
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


class BadAnswer(requests.RequestException):
    """The text is what the index, `{}`, did; `hint` is what to do; `status` is 0 or an error's."""

    def __init__(self, what: str, hint: str, status: int = 0) -> None:
        super().__init__(what)
        self.hint, self.status = hint, status


class Web:
    """A session with the index: every request keeps the limits."""

    def __init__(self, settings: IndexSettings, limits: ResponseLimits) -> None:
        self._session = requests.Session()
        self._session.max_redirects = 5
        self._session.headers["User-Agent"] = "compat-matrix"
        for prefix in ("https://", "http://"):
            self._session.mount(prefix, BoundedAdapter(limits))
        self._logins: dict[tuple[str, str], tuple[str, str]] = {}
        for url in settings.urls:
            parts = urlsplit(url)
            if parts.username is not None:
                login = unquote(parts.username), unquote(parts.password or "")
                self._logins[_origin(url)] = login
        # Given with each request, because in requests the environment overrides the session.
        self._verify = settings.cert or True
        self._proxies = dict.fromkeys(("http", "https"), settings.proxy) if settings.proxy else {}

    def get(
        self, url: str, *, headers: Mapping[str, str] | None = None, stream: bool = False
    ) -> requests.Response:
        """Return the answer 200 or 206; raise requests.RequestException, BadAnswer for others."""
        response = self._session.get(
            url,
            headers=dict(headers or {}),
            stream=stream,
            verify=self._verify,
            proxies=self._proxies,
            auth=self._logins.get(_origin(url)),
        )
        if response.status_code not in (200, 206):
            status = response.status_code
            what, hint = _STATUS.get(status, ("answers with an error", _ADDRESS))
            raise BadAnswer(f"{{}} {what} ({status})", hint, status)
        return response

    def close(self) -> None:
        self._session.close()


class BoundedAdapter(HTTPAdapter):
    """Sends one request under Limits.

    The whole exchange runs on its own thread, which is abandoned at the deadline: nothing else
    limits a DNS look-up, or a server that sends its headers a byte at a time. The body is read up
    to the deadline and returned as a file, so later readers cannot hang.
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
        """Return the response with its body read, despite `stream`; the adapter's limits apply."""
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
            raise self._too_slow() from cause

    def _exchange(
        self, request: requests.PreparedRequest, deadline: float, **tls: Any
    ) -> requests.Response:
        timeout = (self._limits.connect, self._limits.silence)
        response = super().send(request, stream=True, timeout=timeout, **tls)
        _LOG.info(
            "%s %s: %s", request.method, without_login(str(request.url)), response.status_code
        )
        raw: BaseHTTPResponse = response.raw
        # Do not download a whole wheel sent for a range request, or the body of an error.
        unwanted = raw.status != 206 and (raw.status != 200 or "Range" in request.headers)
        try:
            # It is closed with the response.
            body = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115
            if not unwanted:
                self._read(raw, body, deadline)
        finally:
            raw.close()
        body.seek(0)
        # Headers about its encoding do not hold for the decoded body.
        headers = raw.headers.copy()
        for name in ("Content-Encoding", "Transfer-Encoding", "Content-Length"):
            headers.discard(name)
        decoded = HTTPResponse(
            body=body, headers=headers, status=raw.status, reason=raw.reason, version=raw.version,
            preload_content=False,
        )  # fmt: skip
        read = self.build_response(request, decoded)
        read.encoding = response.encoding
        return read

    def _read(self, raw: BaseHTTPResponse, body: IO[bytes], deadline: float) -> None:
        size = 0
        try:
            while chunk := raw.read1(CHUNK, decode_content=True):
                size += len(chunk)
                if size > self._limits.max_bytes:
                    raise BadAnswer(_TOO_LARGE.format(self._limits.max_bytes), _ADDRESS)
                if time.monotonic() > deadline:
                    raise self._too_slow()
                body.write(chunk)
        except ReadTimeoutError as cause:
            raise self._too_slow(f"and then fell silent for {self._limits.silence:g} s") from cause
        except HTTPError as error:
            raise BadAnswer("{}'s answer broke off", "try again") from error

    def _too_slow(self, how: str = "") -> BadAnswer:
        how = how or f"within {self._limits.total:g} s"
        return BadAnswer(f"{{}} gave no complete answer {how}", "check the network; then try again")


def without_login(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.rpartition("@")[2].lower()


_PIP = "the index address and proxy that pip is configured for"
_CHECK = f"check the network, and {_PIP}; then try again"
_ADDRESS = "check the index address"
_TOO_LARGE = "{{}} answered with more than {} bytes"
# The first matching kind decides: what happened, and what to do.
_TROUBLE: tuple[tuple[type[Exception], str, str], ...] = (
    (requests.exceptions.JSONDecodeError, "{}'s answer cannot be read", _ADDRESS),
    (requests.Timeout, "{} did not answer in time", _CHECK),
    (requests.exceptions.ChunkedEncodingError, "{}'s answer broke off", "try again"),
    (
        requests.exceptions.SSLError,
        "{}'s certificate is not trusted",
        "name the right bundle in pip's setting `cert`",
    ),
    (
        requests.exceptions.ProxyError,
        "the proxy to {} cannot be reached",
        "check pip's setting `proxy`",
    ),
    (requests.ConnectionError, "{} cannot be reached", _CHECK),
    (requests.RequestException, "{} could not be asked", _CHECK),
    (OSError, "{} could not be asked for want of a local file", "check pip's setting `cert`"),
    (Exception, "{}'s answer cannot be read", _ADDRESS),
)
_STATUS = {
    **dict.fromkeys((404, 410), ("has no such page", "check the name and the index address")),
    **dict.fromkeys(
        (401, 403, 407), ("refuses access", "check the login of the index or the proxy")
    ),
    429: ("wants fewer requests", "wait a while; then try again"),
    **dict.fromkeys(range(500, 600), ("is in trouble", "try again later")),
}


def unreachable(error: Exception, wanted: str) -> IndexUnreachable:
    """Return the error as one line with its remedy, without host, address or credential."""
    if isinstance(error, BadAnswer):
        what, hint = str(error), error.hint
    else:
        what, hint = next((what, hint) for kind, what, hint in _TROUBLE if isinstance(error, kind))
    return IndexUnreachable.of(f"{what.format('the package index')}, asked for {wanted}", hint=hint)


NO_SUCH_FILE = (400, 403, 404, 405, 410, 501)  # 403 from storage services

TAIL = 65_536 + 22  # bytes that hold the end of an archive, with the longest comment
LEAST = 16_384  # bytes of the first request
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})", re.ASCII)

NETWORK = (requests.RequestException, HTTPError)
_ARCHIVE = (zipfile.BadZipFile, zlib.error, struct.error)
DAMAGED = (*_ARCHIVE, EOFError, RuntimeError, ValueError, LookupError)


_MOST_MODULES = 20_000
_MOST_BYTES = 200_000_000  # of sources in one wheel; the largest seen has 60 MB


class NotMetadata(ValueError):
    """The text is not the METADATA of this wheel; the message says why."""


class MetadataReader:
    """Reads wheels. What they require is cached by hash forever: a wheel never changes."""

    def __init__(
        self, settings: IndexSettings, limits: ResponseLimits, folder: Path | None = None
    ) -> None:
        self._limits = limits
        self._web = Web(settings, limits)
        most = {"total": limits.wheel_total, "max_bytes": limits.max_wheel_bytes}
        self._wheels = Web(settings, msgspec.structs.replace(limits, **most))
        self._folder = None if folder is None else folder / "metadata"
        self._has_files: bool | None = None

    def published(self, artifact: Artifact) -> Published | None:
        """Raises UnsoundFile for another wheel's metadata, IndexUnreachable without any."""
        if not artifact.is_wheel:
            return None
        path, published = None, None
        if self._folder is not None and artifact.sha256 is not None:
            path = self._folder / f"{artifact.sha256}.json"
            with contextlib.suppress(OSError, ValueError, RecursionError):
                content = path.read_bytes()
                published = decode(content, Published)
        if published is None:
            published = self._asked(artifact)
            # An unwritable folder only makes the next run slower.
            if path is not None:
                with contextlib.suppress(CompatError, OSError):
                    files.write(path, encode(published))
        return published

    def contents(self, artifact: Artifact) -> dict[str, str]:
        """Read by range requests; empty without their support, and for an sdist."""
        if not artifact.is_wheel:
            return {}
        try:
            with zipfile.ZipFile(RangedFile(self._web, artifact.url)) as wheel:
                members = [info for info in wheel.infolist() if _is_info(info.filename, "RECORD")]
                if len(members) != 1 or members[0].file_size > self._limits.max_metadata_bytes:
                    return {}
                # CSV: path, algorithm and digest, size (PEP 376).
                text = wheel.read(members[0]).decode("utf-8", errors="replace")
            rows = [row for row in csv.reader(text.splitlines()) if len(row) > 1]
            known = ((row[0], row[1].partition("sha256=")) for row in rows)
            return {path: digest for path, (_, mark, digest) in known if mark}
        except (*NETWORK, OSError) as error:
            raise unreachable(error, f"the list of files of {artifact.filename}") from error
        except DAMAGED:
            return {}

    def sources(self, artifact: Artifact) -> dict[str, bytes]:
        """Downloads the whole wheel. Raises UnsoundFile if unreadable, or IndexUnreachable."""
        try:
            with whole_wheel(self._wheels, artifact) as file, zipfile.ZipFile(file) as wheel:
                members = [info for info in wheel.infolist() if _is_module(info.filename)]
                size = sum(info.file_size for info in members)
                if len(members) > _MOST_MODULES or size > _MOST_BYTES:
                    raise NotMetadata(f"it has {len(members)} modules, more than are read")
                return {info.filename: wheel.read(info) for info in members}
        except DAMAGED as fault:
            raise _unsound(artifact.filename, fault) from fault
        except (*NETWORK, OSError) as fault:
            raise unreachable(fault, artifact.filename) from fault

    def close(self) -> None:
        self._web.close()
        self._wheels.close()

    def _asked(self, artifact: Artifact) -> Published:
        wanted = f"the metadata of {artifact.filename}"
        try:
            text = self._metadata_file(artifact) or self._by_ranges(artifact)
            return _parsed(text or self._from_whole_wheel(artifact), artifact.filename)
        except NotMetadata as error:
            raise _unsound(artifact.filename, error) from error
        except (*NETWORK, *DAMAGED, OSError) as error:
            raise unreachable(error, wanted) from error

    def _metadata_file(self, artifact: Artifact) -> bytes | None:
        """Return the metadata file beside the wheel (PEP 658); None when there is none.

        Some indexes have them without announcing them. They are tried once, and not again after an
        error.
        """
        if artifact.has_metadata is False or (
            artifact.has_metadata is None and self._has_files is False
        ):
            return None
        try:
            text = self._web.get(f"{artifact.url}.metadata").content
        except BadAnswer as refusal:
            if refusal.status not in NO_SUCH_FILE:
                raise
            if artifact.has_metadata is None:
                self._has_files = False
            return None
        if len(text) > self._limits.max_metadata_bytes:
            raise BadAnswer(_TOO_LARGE.format(self._limits.max_metadata_bytes), _ADDRESS)
        # A captive portal's page says nothing about the wheel, which is then read itself.
        return text if {"name", "version"} <= parse_email(text)[0].keys() else None

    def _by_ranges(self, artifact: Artifact) -> bytes | None:
        # Return METADATA read by range requests; None when the index does not support them soundly.
        try:
            with zipfile.ZipFile(RangedFile(self._web, artifact.url)) as wheel:
                return _metadata_member(wheel, artifact.filename, self._limits)
        except (BadAnswer, *DAMAGED) as error:
            # Any other network error would affect the wheel's download, too.
            if isinstance(error, NotMetadata) or (
                isinstance(error, BadAnswer) and not error.status
            ):
                raise
            return None

    def _from_whole_wheel(self, artifact: Artifact) -> bytes:
        with whole_wheel(self._wheels, artifact) as file:
            try:
                with zipfile.ZipFile(file) as wheel:
                    return _metadata_member(wheel, artifact.filename, self._limits)
            except DAMAGED as error:
                if artifact.sha256 is None or isinstance(error, NotMetadata):
                    raise
                raise NotMetadata("it is not a readable wheel") from error


class RangedFile(io.RawIOBase):
    """A remote file of which only the read parts are downloaded, by range requests.

    Raises zipfile.BadZipFile when the server's answers violate RFC 9110.
    """

    def __init__(self, web: Web, url: str) -> None:
        self._web, self._url = web, url
        # Outside of ZipFile, which reports any error in its search for the end as a damaged file.
        self._start, self._size, self._content = self._fetched(f"-{TAIL}")
        self._position = 0

    def _fetched(self, wanted: str) -> tuple[int, int, bytes]:
        headers = {"Range": f"bytes={wanted}", "Accept-Encoding": "identity"}
        response = self._web.get(self._url, headers=headers, stream=True)
        announced = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if response.status_code != requests.codes.partial_content or announced is None:
            raise zipfile.BadZipFile("no range in answer to a range request")
        first, last, size = map(int, announced.groups())
        content = response.content
        if not first <= last < size or len(content) != last - first + 1:
            raise zipfile.BadZipFile("another range than the one announced")
        return first, size, content

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise OSError("before the begin of the file")
        self._position = start + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._position + size, self._size)
        if end <= self._position:
            return b""
        offset = self._position - self._start
        if offset < 0 or end > self._start + len(self._content):
            last = min(max(end, self._position + LEAST), self._size) - 1
            self._start, _, self._content = self._fetched(f"{self._position}-{last}")
            offset = 0
            if self._start != self._position:
                raise zipfile.BadZipFile("another range than the one asked for")
        content = self._content[offset : offset + end - self._position]
        self._position += len(content)
        return content


@contextlib.contextmanager
def whole_wheel(web: Web, artifact: Artifact) -> Iterator[IO[bytes]]:
    """Raises IndexUnreachable when it does not match the index's hash, and what `web` raises."""
    response = web.get(artifact.url, stream=True)
    with tempfile.TemporaryFile() as file:
        shutil.copyfileobj(response.raw, file)
        digest = hashlib.sha256()
        file.seek(0)
        while chunk := file.read(1024 * 1024):
            digest.update(chunk)
        if artifact.sha256 not in (None, digest.hexdigest()):
            # A failed transfer has the same effect, so this says nothing about the file.
            reason = "its hash is not the one that the index states"
            message, hint = f"{artifact.filename}: {reason}", "do not trust this file"
            raise IndexUnreachable.of(message, hint=hint) from NotMetadata(reason)
        yield file


def published_in(wheel: Path) -> Published:
    try:
        with zipfile.ZipFile(wheel) as archive:
            text = _metadata_member(archive, wheel.name, ResponseLimits())
            return _parsed(text, wheel.name)
    except (*DAMAGED, OSError) as error:
        raise _unsound(wheel.name, error) from error


def _unsound(filename: str, fault: Exception) -> UnsoundFile:
    reason = str(fault) if isinstance(fault, NotMetadata) else "it is not a readable wheel"
    return UnsoundFile.of(f"{filename}: {reason}", hint="do not trust this file")


def _metadata_member(wheel: zipfile.ZipFile, filename: str, limits: ResponseLimits) -> bytes:
    # Return the text of the one METADATA that a wheel must have (PEP 427), read only when its size
    # allows.
    members = [info for info in wheel.infolist() if _is_info(info.filename, "METADATA")]
    if len(members) != 1:
        raise NotMetadata(f"it has {len(members)} METADATA files instead of one")
    if members[0].file_size > limits.max_metadata_bytes:
        raise NotMetadata(f"its METADATA is larger than {limits.max_metadata_bytes} bytes")
    return wheel.read(members[0])


def _is_info(member: str, wanted: str) -> bool:
    folder, _, name = member.partition("/")
    return folder.endswith(".dist-info") and name == wanted


def _parsed(text: bytes, filename: str) -> Published:
    # Return the requirements in METADATA as written; raise for another wheel's METADATA.
    raw, _ = parse_email(text)
    try:
        own = canonicalize_name(raw.get("name", "")), Version(raw.get("version", ""))
        same = own == parse_wheel_filename(filename)[:2]
    except (InvalidWheelFilename, InvalidVersion):
        same = False
    if not same:
        identity = f"{raw.get('name', 'nothing')} {raw.get('version', '')}".strip()
        raise NotMetadata(f"its METADATA speaks of {identity}")
    asked = None
    with contextlib.suppress(InvalidSpecifier):
        asked = SpecifierSet(raw["requires_python"]) if raw.get("requires_python") else None
    return Published(requires_python=asked, requires_dist=tuple(raw.get("requires_dist", ())))


def wheel_to_read(release: Release) -> Artifact | None:
    """Return the wheel that represents a release's sources: one for any platform, else for Linux,
    else the first; None without any.

    The modules of a release's wheels are assumed equal.
    """

    def rank(artifact: Artifact) -> tuple[bool, bool, str]:
        platforms = {tag.platform for tag in artifact.tags}
        is_linux = any("linux" in platform for platform in platforms)
        return "any" not in platforms, not is_linux, artifact.filename

    return min(usable_wheels(release), key=rank, default=None)


def _is_module(path: str) -> bool:
    top, *inner = path.split("/")
    is_inside = top and ".." not in (top, *inner) and "\\" not in path
    return bool(is_inside) and path.endswith(".py") and not top.endswith(".data")
