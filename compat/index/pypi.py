"""A real package index: a ReleaseSource over the Simple API (PEP 503, 691, 700), HTML or JSON."""

import contextlib
import datetime
import hashlib
import re
import time
from collections.abc import Iterable
from functools import lru_cache, partial
from html.parser import HTMLParser
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin

import msgspec
import requests
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version
from urllib3.exceptions import HTTPError

from compat import files
from compat.errors import CompatError, NoPage, one_line
from compat.index.metadata import (
    BadAnswer,
    MetadataReader,
    ResponseLimits,
    Web,
    unreachable,
    without_login,
)
from compat.index.release import Artifact, Package, Published, Release
from compat.index.settings import IndexSettings, is_remote
from compat.value import Value, decode, grouped

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
    """A file that a page lists, with the field names of the JSON form (PEP 691)."""

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


class _Project(Value, frozen=True):
    name: str
    meta: dict[str, Any]
    files: list[ListedFile]


class _Links(HTMLParser):
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


def listed(page: IndexPage) -> list[ListedFile]:
    kind = page.content_type.partition(";")[0].strip().lower()
    if kind == "application/vnd.pypi.simple.v1+json":
        project = decode(page.content, _Project)
        _check_version(str(project.meta["api-version"]))
        return [msgspec.structs.replace(f, url=urljoin(page.url, f.url)) for f in project.files]
    if kind not in ("application/vnd.pypi.simple.v1+html", "text/html"):
        raise ValueError("neither of the two forms of a page")
    links = _Links(page.url)
    links.feed(page.content.decode("utf-8", errors="replace"))
    links.close()
    _check_version(links.version)
    files_listed = []
    for attributes, text in links.links:
        url, fragment = urldefrag(urljoin(links.base, attributes["href"] or ""))
        algorithm, _, digest = fragment.partition("=")
        # It holds `true` or the digest of the metadata.
        known = attributes.get("data-core-metadata")
        file = ListedFile(
            filename="".join(text).strip(),
            url=url,
            hashes={algorithm: digest},
            requires_python=attributes.get("data-requires-python"),
            core_metadata=None if known is None else known.lower() == "true" or "=" in known,
            yanked=(attributes["data-yanked"] or "") if "data-yanked" in attributes else False,
            # Not in PEP 503; some indexes have it and uv reads it (2026-11-22).
            upload_time=attributes.get("data-upload-time"),
        )
        files_listed.append(file)
    return files_listed


def _now() -> datetime.datetime:
    return datetime.datetime.fromtimestamp(time.time(), datetime.timezone.utc)


def _check_version(text: str) -> None:
    # A larger number before the point may mean anything (PEP 629).
    if text.partition(".")[0] != "1":
        raise ValueError("a page of another version of the interface")


# What requests and the parsers of JSON and HTML raise for a page.
_PARSING = (ValueError, RecursionError, AssertionError, LookupError)
UNREADABLE = (requests.RequestException, HTTPError, OSError, *_PARSING)

_FILENAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]{0,254}", re.ASCII)
_LONGEST_REASON = 200
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


# The readable files of one index's page with their versions.
Files = tuple[tuple[Version, Artifact], ...]


class PyPISource:
    """A ReleaseSource over one or several package indexes."""

    def __init__(
        self,
        settings: IndexSettings,
        cache_dir: Path | None = None,
        limits: ResponseLimits | None = None,
        *,
        refresh: bool = False,
    ) -> None:
        limits = limits or ResponseLimits()
        self._elsewhere = partial(PyPISource, cache_dir=cache_dir, limits=limits, refresh=refresh)
        self._settings = settings
        self._urls = settings.urls
        self._merged = settings.merged
        self._web = Web(settings, limits)
        # The last valid page by URL, a file each; in memory where the folder is unwritable.
        self._folder = None if cache_dir is None else cache_dir / "pages"
        self._held: dict[str, IndexPage] = {}
        self._fresh = datetime.timedelta(seconds=0 if refresh else limits.fresh)
        self._metadata = MetadataReader(settings, limits, cache_dir)

    def package(self, name: str) -> Package:
        """Return all releases that the first index with a page for the name has.

        Where the settings merge indexes, those of all; of equal file names the first index's
        counts. Raises IndexUnreachable when no index has a page for the name, or when one that
        counts has neither a usable nor a cached answer. Otherwise a later index, or half of them,
        would pass for the right answer.
        """
        name = canonicalize_name(name)
        each = (self._answer(index, name) for index in self._urls)
        pages = (answer for answer in each if answer is not None)
        answers = list(pages if self._merged else islice(pages, 1))
        if not answers:
            message = f"the package index has no page for {name!r}"
            raise NoPage.of(message, hint="check the name and the index address")
        return package_of(name, answers)

    def elsewhere(self, index_url: str) -> "PyPISource":
        alone = msgspec.structs.replace(self._settings, index_url=index_url, extra_index_urls=())
        return self._elsewhere(alone)

    def places(self, name: str) -> tuple[tuple[int, Version], ...]:
        answers = (self._answer(index, canonicalize_name(name)) for index in self._urls)
        return tuple(
            (number, max(version for version, _ in answer[0]))
            for number, answer in enumerate(answers)
            if answer is not None
        )

    def published(self, artifact: Artifact) -> Published | None:
        return self._metadata.published(artifact)

    def contents(self, artifact: Artifact) -> dict[str, str]:
        return self._metadata.contents(artifact)

    def close(self) -> None:
        self._web.close()
        self._metadata.close()

    def _answer(self, index: str, name: str) -> tuple[Files, datetime.datetime | None] | None:
        # Return the files on one index's page, from the cache if necessary, and then as of when if
        # the index did not answer; None without such a page.
        url = f"{without_login(index).rstrip('/')}/{name}/"
        path = self._folder and self._folder / hashlib.sha256(url.encode()).hexdigest()
        cached, before = self._held.get(url), Files()
        with contextlib.suppress(*UNREADABLE):
            if path is not None and cached is None:
                cached = msgspec.msgpack.decode(path.read_bytes(), type=IndexPage)
            before = Files() if cached is None else files_of(cached, name)
        if cached is not None and before and _now() - cached.received < self._fresh:
            return before, None
        try:
            response = self._web.get(url, headers={"Accept": ACCEPTED})
            kind = response.headers.get("content-type", "text/html")
            page = IndexPage(response.url, kind, response.content, _now())
            # Read before it is stored: a captive portal's must not replace a good one.
            page_files = files_of(page, name)
        except UNREADABLE as error:
            if cached is not None and before:
                return before, cached.received
            if isinstance(error, BadAnswer) and error.status == requests.codes.not_found:
                return None
            raise unreachable(error, f"its page of {name!r}") from error
        self._held[url] = page
        with contextlib.suppress(CompatError, OSError):
            if path is not None:
                files.write(path, msgspec.msgpack.encode(page))
                self._held.pop(url, None)
        return page_files, None


def files_of(page: IndexPage, name: str) -> Files:
    """A captive portal's page must not pass for an empty project."""
    usable = tuple(filter(None, (_artifact(file, name) for file in listed(page))))
    if not usable:
        raise ValueError("no usable file on the page")
    return usable


def package_of(name: str, answers: Iterable[tuple[Files, datetime.datetime | None]]) -> Package:
    by_name: dict[str, tuple[Version, Artifact]] = {}
    stale: list[datetime.datetime] = []
    for page_files, stale_since in answers:
        for version, artifact in page_files:
            by_name.setdefault(artifact.filename, (version, artifact))
        stale += [] if stale_since is None else [stale_since]
    by_version = grouped(by_name[filename] for filename in sorted(by_name))
    releases = (Release(version=v, artifacts=tuple(by_version[v])) for v in sorted(by_version))
    return Package(name=name, releases=tuple(releases), stale_since=min(stale, default=None))


def _artifact(file: ListedFile, name: str) -> tuple[Version, Artifact] | None:
    # Return the file as an artifact; None for an uninstallable or unreadable one, which a page may
    # list.
    if not _FILENAME.fullmatch(file.filename) or not is_remote(file.url):
        return None
    try:
        if file.filename.endswith(".whl"):
            named, version, _, tags = parse_wheel_filename(file.filename)
        else:
            named, version = parse_sdist_filename(file.filename)
            tags = frozenset()
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None
    if named != name:
        return None
    reason = file.yanked if isinstance(file.yanked, str) else ""
    sha256 = file.hashes.get("sha256", "").lower()
    return version, Artifact(
        filename=file.filename,
        url=without_login(file.url),
        tags=tags,
        requires_python=_specifier(file.requires_python or ""),
        uploaded=_time(file.upload_time),
        sha256=sha256 if _SHA256.fullmatch(sha256) else None,
        yanked=file.yanked is not False,
        yank_reason=one_line(" ".join(reason.split())[:_LONGEST_REASON]),
        has_metadata=file.has_metadata,
    )


@lru_cache(maxsize=1024)
def _specifier(text: str) -> SpecifierSet | None:
    try:
        return SpecifierSet(text) if text.strip() else None
    except InvalidSpecifier:
        return None


def _time(text: str | None) -> datetime.datetime | None:
    # Parse an ISO 8601 text: Python 3.10's own parser takes neither `Z` nor every fraction.
    try:
        time = msgspec.convert(text, datetime.datetime)
    except msgspec.ValidationError:
        return None
    utc = datetime.timezone.utc
    return time.replace(tzinfo=utc) if time.tzinfo is None else time.astimezone(utc)
