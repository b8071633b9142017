"""A private index beside a public one: the resolvers take a package from the first index that has
it.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.version import Version
from support.fake_index import FakeIndex
from support.local_index import fill

from compat.index.pypi import PyPISource
from compat.index.settings import IndexSettings
from compat.lock.lockfile import Inputs, Lock
from compat.lock.uv import UvLocker, index_arguments

PYTHON = Version(".".join(map(str, sys.version_info[:3])))


@pytest.fixture
def indexes(monkeypatch: pytest.MonkeyPatch) -> Iterator[IndexSettings]:
    """A public index where somebody put a newer version of a private package, and the private
    index.
    """
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    public, private = FakeIndex(), FakeIndex()
    fill(public, {"ours": [("99.0", 1, None, [])], "theirs": [("2.0", 1, None, [])]})
    fill(private, {"ours": [("1.0", 1, None, ["theirs"])]})
    yield IndexSettings(index_url=public.url, extra_index_urls=(private.url,))
    public.stop()
    private.stop()


def resolved(settings: IndexSettings, cache: Path) -> list[str]:
    locker = UvLocker(settings, {**os.environ, "UV_CACHE_DIR": str(cache)}, lambda _: None)
    inputs = Inputs(
        cell="c", python=PYTHON, platform="x86_64-manylinux_2_28", requirements=("ours",)
    )
    answer = locker.lock(inputs)
    assert isinstance(answer, Lock), answer
    return [f"{pin.name}=={pin.version}" for pin in answer.pins]


def test_a_private_package_wins_over_a_newer_public_one(
    indexes: IndexSettings, tmp_path: Path
) -> None:
    assert resolved(indexes, tmp_path) == ["ours==1.0", "theirs==2.0"]


def test_what_the_resolver_takes_is_what_the_catalogue_has(indexes: IndexSettings) -> None:
    releases = PyPISource(indexes).package("ours").releases
    assert [str(release.version) for release in releases] == ["1.0"]


def test_merged_indexes_give_the_newest_of_all(indexes: IndexSettings, tmp_path: Path) -> None:
    merged = IndexSettings(
        index_url=indexes.index_url, extra_index_urls=indexes.extra_index_urls, merged=True
    )
    assert resolved(merged, tmp_path) == ["ours==99.0"]
    assert "--index-strategy=unsafe-best-match" in index_arguments(merged)
