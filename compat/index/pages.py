"""The index's pages as they were last answered, kept on disk for the next run and for when the
index is down.
"""

import contextlib
import hashlib
import logging
import sqlite3
import threading
from pathlib import Path

import requests
from requests_cache.backends.base import BaseCache
from requests_cache.backends.sqlite import SQLiteCache
from requests_cache.models.response import CachedResponse
from requests_cache.policy import get_expiration_datetime

# It logs an entry that it cannot read, which to us is one that is not there; without a handler that
# goes to stderr.
logging.getLogger("requests_cache").addHandler(logging.NullHandler())

OK = 200
LOCK_SECONDS = 2.0  # how long another process may hold the pages before this one does without


class KeptPages:
    """Answers by URL: requests-cache's store without its session.

    Its session would keep an answer before anyone had read it, so a captive portal's page would
    replace a good one. Where the folder cannot be written or the file is broken, pages are kept for
    this run only.
    """

    def __init__(self, folder: Path | None, fresh: int) -> None:
        """Keep pages in the folder, or in memory when it is None; they are fresh for that many
        seconds.
        """
        self._fresh = fresh
        self._lock = threading.Lock()
        self._cache = BaseCache() if folder is None else _store(folder / "pages.sqlite")

    def get(self, url: str) -> CachedResponse | None:
        try:
            with self._lock:
                response = self._cache.get_response(_key(url))
        except (
            Exception
        ):  # a damaged entry can raise anything: the store's converters have errors of their own
            return None
        return (
            response
            if isinstance(response, CachedResponse) and response.status_code == OK
            else None
        )

    def keep(self, url: str, response: requests.Response) -> None:
        """Keep a good answer."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            self._cache.save_response(response, _key(url), get_expiration_datetime(self._fresh))

    def close(self) -> None:
        """Close the file."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            self._cache.close()  # type: ignore[no-untyped-call]


def _store(path: Path) -> BaseCache:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not _is_sound(path):
            path.unlink()
        _prove_writable(path)
        # JSON, because unpickling a cache that a CI service restored would run whatever was put
        # into it.
        return SQLiteCache(path, serializer="json")
    except (OSError, sqlite3.Error):
        return BaseCache()


def _is_sound(path: Path) -> bool:
    if not path.exists():
        return True
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=LOCK_SECONDS)) as connection:
            return bool(connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        return False


def _prove_writable(path: Path) -> None:
    """Raise sqlite3.Error unless the file can be written now: requests-cache would try again
    without end.
    """
    with contextlib.closing(
        sqlite3.connect(path, timeout=LOCK_SECONDS, isolation_level=None)
    ) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")


def _key(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()
