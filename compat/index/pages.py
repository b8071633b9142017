"""The pages of a package index: what they list (PEP 503, 691, 700), and how they are cached for the
next run and for when the index is down.
"""

import contextlib
import datetime
import sqlite3
import threading
import time
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import msgspec
import requests

from compat.value import Value

LOCK_SECONDS = 2.0  # how long another process may hold the pages before this one does without
ACCEPTED = (
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.5,"
    " text/html;q=0.01"
)


class IndexPage(Value, frozen=True):
    """An answer of an index; links in it are relative to `url`."""

    url: str
    content_type: str
    content: bytes
    received: datetime.datetime


class ListedFile(Value, frozen=True, rename="kebab"):
    """A file that a page lists, as the JSON form names its parts (PEP 691)."""

    filename: str
    url: str
    hashes: dict[str, str]
    requires_python: str | None = None
    core_metadata: bool | dict[str, str] | None = None
    yanked: bool | str = False
    upload_time: str | None = None

    @property
    def has_metadata(self) -> bool | None:
        return True if isinstance(self.core_metadata, dict) else self.core_metadata


class _Meta(Value, frozen=True, rename="kebab"):
    api_version: str


class _Project(Value, frozen=True):
    name: str
    meta: _Meta
    files: list[ListedFile]


class _Links(HTMLParser):
    """The links of an HTML page, each with its attributes and its text."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.base, self.version = url, "1.0"
        self.links: list[tuple[dict[str, str | None], list[str]]] = []
        self._has_base = self._is_open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "base" and "href" in attributes and not self._has_base:
            self.base, self._has_base = urljoin(self.base, attributes["href"] or ""), True
        elif tag == "meta" and attributes.get("name") == "pypi:repository-version":
            self.version = attributes.get("content") or ""
        elif tag == "a":
            self._is_open = "href" in attributes
            if self._is_open:
                self.links.append((attributes, []))

    def handle_endtag(self, tag: str) -> None:
        self._is_open = self._is_open and tag != "a"

    def handle_data(self, data: str) -> None:
        if self._is_open:
            self.links[-1][1].append(data)


def page_of(response: requests.Response) -> IndexPage:
    return IndexPage(
        url=response.url,
        content_type=response.headers.get("content-type", "text/html"),
        content=response.content,
        received=_now(),
    )


def listed(page: IndexPage) -> list[ListedFile]:
    """Return the files that a page lists; raise ValueError for what is no page of an index."""
    kind = page.content_type.partition(";")[0].strip().lower()
    if kind == "application/vnd.pypi.simple.v1+json":
        project = msgspec.json.decode(page.content, type=_Project)
        _check_version(project.meta.api_version)
        return [
            msgspec.structs.replace(file, url=urljoin(page.url, file.url)) for file in project.files
        ]
    if kind not in ("application/vnd.pypi.simple.v1+html", "text/html"):
        raise ValueError("neither of the two forms of a page")
    links = _Links(page.url)
    links.feed(page.content.decode("utf-8", errors="replace"))
    links.close()
    _check_version(links.version)
    return [_linked(attributes, "".join(text), links.base) for attributes, text in links.links]


def _linked(attributes: dict[str, str | None], text: str, base: str) -> ListedFile:
    url, fragment = urldefrag(urljoin(base, attributes["href"] or ""))
    algorithm, _, digest = fragment.partition("=")
    metadata = attributes.get("data-core-metadata")
    return ListedFile(
        filename=text.strip(),
        url=url,
        hashes={algorithm: digest},
        requires_python=attributes.get("data-requires-python"),
        # It holds `true` or the digest of the metadata.
        core_metadata=None if metadata is None else metadata.lower() == "true" or "=" in metadata,
        yanked=(attributes["data-yanked"] or "") if "data-yanked" in attributes else False,
        # Not in PEP 503; some indexes state it and uv reads it (2026-11-22).
        upload_time=attributes.get("data-upload-time"),
    )


def _now() -> datetime.datetime:
    return datetime.datetime.fromtimestamp(time.time(), datetime.timezone.utc)


def _check_version(text: str) -> None:
    # A larger number before the point may mean anything (PEP 629).
    if text.partition(".")[0] != "1":
        raise ValueError("a page of another version of the interface")


class KeptPages:
    """The last sound page by URL.

    Whoever has read a page keeps it: a captive portal's page must not replace a good one. Where the
    folder cannot be written or the file is broken, pages are kept for this run only.
    """

    def __init__(self, folder: Path | None, fresh: int) -> None:
        """Keep pages in the folder, or in memory when it is None; they are fresh for that many
        seconds.
        """
        self._fresh = datetime.timedelta(seconds=fresh)
        self._lock = threading.Lock()
        self._store = _memory() if folder is None else _store(folder / "pages.sqlite")

    def get(self, url: str) -> IndexPage | None:
        query = "SELECT page FROM pages WHERE url = ?"
        try:
            with self._lock:
                row = self._store.execute(query, (url,)).fetchone()
            return None if row is None else msgspec.msgpack.decode(row[0], type=IndexPage)
        except (sqlite3.Error, ValueError, TypeError):
            return None

    def is_fresh(self, page: IndexPage) -> bool:
        return _now() - page.received < self._fresh

    def keep(self, url: str, page: IndexPage) -> None:
        insert = "INSERT OR REPLACE INTO pages VALUES (?, ?)"
        with self._lock, contextlib.suppress(sqlite3.Error):
            self._store.execute(insert, (url, msgspec.msgpack.encode(page)))

    def close(self) -> None:
        with self._lock, contextlib.suppress(sqlite3.Error):
            self._store.close()


def _store(path: Path) -> sqlite3.Connection:
    for _ in range(2):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return _opened(str(path))
        except (OSError, sqlite3.OperationalError):
            break
        except sqlite3.DatabaseError:
            with contextlib.suppress(OSError):
                path.unlink()
    return _memory()


def _memory() -> sqlite3.Connection:
    return _opened(":memory:")


def _opened(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False
    )
    connection.execute("CREATE TABLE IF NOT EXISTS pages (url TEXT PRIMARY KEY, page BLOB)")
    if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise sqlite3.DatabaseError("damaged")
    return connection
