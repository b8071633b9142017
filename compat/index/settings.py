"""The package index and how to reach it: as given, else as in pip's settings, else public."""

import ast
import re
import sys
from collections.abc import Sequence
from urllib.parse import urlsplit

from compat.errors import UsageError
from compat.value import Value

# `pip config list` takes 0.2 s, but more than 10 s where 20 processes share 2 cores (2026-11-23). A
# pip that was wrongly taken for missing made runs use the public index. A hanging pip must not
# block compat.
PIP_SECONDS = 60

_LINE = re.compile(r"^(?P<section>:env:|[^.=]+)\.(?P<key>[^.=]+)=(?P<value>.*)$")
_SECTIONS = ("global", "install", ":env:")  # each overrides those before it, as in `pip install`


class IndexOptions(Value, frozen=True, kw_only=True):
    """An index to use instead of pip's; `refresh` ignores the cache."""

    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    refresh: bool = False


class IndexSettings(Value, frozen=True):
    """The main index, extra ones, and the connection settings.

    An extra index takes precedence over the main one. Only the first index that has a package
    counts, as in uv's default: else anybody could publish a newer version of a private package on a
    public index. With `merged` all indexes rank equally, as in pip.
    https://docs.astral.sh/uv/concepts/indexes/#searching-across-multiple-indexes

    `cert` is a path to a bundle of certificates, `proxy` a URL; None leaves either to the
    environment, as requests reads it. `left_out` lists pip's sources that compat ignores: local
    indexes and `find-links`. A lock with files of one machine would not install elsewhere.
    """

    index_url: str
    extra_index_urls: tuple[str, ...] = ()
    cert: str | None = None
    proxy: str | None = None
    left_out: tuple[str, ...] = ()
    merged: bool = False

    def __repr__(self) -> str:
        return f"IndexSettings({', '.join(without_credentials(url) for url in self.urls)})"

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.extra_index_urls, self.index_url)))


def settings(
    *, index_url: str | None = None, extra_index_urls: Sequence[str] = ()
) -> IndexSettings:
    """Return the settings: a given address overrides pip's configuration and the public index.

    Raises UsageError for a given address that is not http or https. pip's configuration is read
    through its public command (0.17 s measured, which is why it is neither started ahead nor
    replaced by pip's private modules). A missing or broken pip counts as not configured.
    """
    for address in (*([] if index_url is None else [index_url]), *extra_index_urls):
        if not is_remote(address):
            raise UsageError.of(
                f"{without_credentials(address)!r} is not the address of a package index",
                hint="an index address starts with https:// or http://",
            )
    listed = read_listing(_pip_config_list())
    index_urls = [index_url] if index_url is not None else listed.get("index-url", "").split()[:1]
    extras = list(extra_index_urls) or listed.get("extra-index-url", "").split()
    public = next(filter(is_remote, index_urls), None)
    if public is None:
        # pip is installed with pip-tools; loading it takes longer than most answers.
        from pip._internal.models.index import PyPI

        public = PyPI.simple_url
    return IndexSettings(
        index_url=public,
        extra_index_urls=tuple(url for url in extras if is_remote(url)),
        cert=listed.get("cert") or None,
        proxy=listed.get("proxy") or None,
        left_out=(
            *(url for url in (*index_urls, *extras) if not is_remote(url)),
            *listed.get("find-links", "").split(),
        ),
    )


def has_extras(extra_index_urls: Sequence[str] = ()) -> bool:
    """Return whether `settings` names more than one index: it is faster to query this alone."""
    listed = {} if extra_index_urls else read_listing(_pip_config_list())
    return any(map(is_remote, extra_index_urls or listed.get("extra-index-url", "").split()))


def read_listing(text: str) -> dict[str, str]:
    """Parse the output of `pip config list`, by key: environment over [install] over [global]."""
    sections: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for line in text.splitlines():
        if (match := _LINE.match(line)) is None or match["section"] not in sections:
            continue
        try:
            value = ast.literal_eval(match["value"])
        except (ValueError, SyntaxError):
            continue
        sections[match["section"]][match["key"]] = str(value)
    return {key: value for section in _SECTIONS for key, value in sections[section].items()}


def without_credentials(url: str) -> str:
    """Return the URL without user and password; a malformed one loses rather more."""
    scheme, slashes, rest = url.rpartition("://")
    return f"{scheme}{slashes}{rest.rpartition('@')[2]}"


def is_remote(url: str) -> bool:
    """Return whether any machine could reach the address: http or https, with a host."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def _pip_config_list() -> str:
    # Return pip's configuration; `-I` ignores a folder `pip` in the working directory.
    import subprocess

    command = [sys.executable, "-I", "-m", "pip", "config", "list"]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PIP_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return ""
    return done.stdout if done.returncode == 0 else ""
