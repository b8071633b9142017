"""The cache is bounded: what was not used for long goes by command, and by itself before a run that
would not fit; what is in use stays, and cells run again afterwards.
"""

import datetime
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from packaging.version import Version
from support import zoo
from support.fake_index import FakeIndex
from support.ran import Ran, called
from support.zoo import Animal, Repository, pytest_and_its_needs, wheel
from uv import find_uv_bin

from compat.cli import clean, machine
from compat.index.settings import IndexSettings
from compat.run.cached import IN_USE_SECONDS, CacheItem, cache_items, unused_items
from compat.run.isolation import HIGHEST_FIRST
from compat.run.job import canary

# Each runs real cells, builds or installs.
pytestmark = pytest.mark.slow

GOOD = Animal(name="good", story="It works.", outcome="pass")
Later = Callable[..., Ran]


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """A repository whose cell ran, so that its cache holds everything.

    The tests share it, as a run takes seconds: each leaves enough for those below it.
    """
    index, root = FakeIndex(), tmp_path_factory.mktemp("used")
    tools = pytest_and_its_needs()
    # Its own, where other repositories share theirs with those of tests that run beside these.
    (root / "cache" / zoo.level() / "bytecode").mkdir(parents=True)
    repository = Repository(root / "repository", root / "cache", index, GOOD, tools)
    assert repository.run("run", "zoo", repository.cell, "--keep")[0] == 0
    yield repository
    index.stop()


@pytest.fixture
def cleaned(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Later:
    """Run `compat cache clean` in a process to whose clock so many days have passed."""

    def command(days: float, *words: str) -> Ran:
        moment = machine.now() + datetime.timedelta(days=days)
        monkeypatch.setattr(clean, "now", lambda: moment)
        return called(monkeypatch, capsys, "cache", "clean", *words)

    return command


@pytest.fixture
def later(used: Repository, cleaned: Later, monkeypatch: pytest.MonkeyPatch) -> Later:
    """Run `compat cache clean` on the cache that was used, so many days later."""
    monkeypatch.setenv("COMPAT_CACHE_DIR", str(used.cache))
    return cleaned


def sizes(ran: Ran, key: str) -> dict[str, int]:
    assert ran.code == 0, ran.err
    kinds: dict[str, Any] = json.loads(ran.out)["data"]["kinds"]
    return {kind: row[key] for kind, row in kinds.items()}


def test_the_cache_holds_packages_bytecode_evidence_and_kept_cells(later: Later) -> None:
    everything = sizes(later(0, "--dry-run", "--json"), "bytes")
    for kind in ("packages", "bytecode", "evidence", "cells"):
        assert everything[kind] > 0, kind


def test_what_was_used_within_the_hour_stays_whatever_is_asked(later: Later) -> None:
    assert sum(sizes(later(0, "--days", "0", "--json"), "removed_items").values()) == 0
    assert sum(sizes(later(0, "--most", "0MB", "--json"), "removed_items").values()) == 0


def test_before_a_run_that_would_not_fit_room_is_made(
    used: Repository,
    later: Later,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    later(2, "--dry-run")
    before = list(cache_items(used.cache))
    clean.make_room(machine.disk_mb() - 100)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(clean, "disk_mb", lambda: 1000)
    clean.make_room(1001)
    message = capsys.readouterr().err
    assert "1,001 MB of cells" in message
    freed = sum(item.size for item in before) - sum(item.size for item in cache_items(used.cache))
    assert freed >= 2**20


def test_down_to_a_size_the_least_recently_used_goes_first(later: Later) -> None:
    everything = sum(sizes(later(1, "--dry-run", "--json"), "bytes").values())
    removed = sum(sizes(later(1, "--most", "1MB", "--json"), "removed_bytes").values())
    assert everything - removed <= 10**6 < everything
    assert "0 items removed" in later(1, "--most", "1MB").out


def test_of_a_package_only_the_wheels_go_that_were_not_used(
    tmp_path: Path, cleaned: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit of 32 GB took all versions of the one large package, on 24 November 2026."""
    monkeypatch.setenv("COMPAT_CACHE_DIR", str(tmp_path / "cache"))
    uv, links = tmp_path / "cache" / "sandbox" / "uv", tmp_path / "links"
    links.mkdir()
    for version in ("1.0", "2.0"):
        name = f"demo-{version}-py3-none-any.whl"
        (links / name).write_bytes(wheel("demo", version, {"demo.py": "x = 1\n"}, []))
    environment = {"PATH": os.environ["PATH"], "UV_CACHE_DIR": str(uv)}
    place = ("--no-index", "--find-links", str(links), "--target", str(tmp_path / "target"))

    def installed(version: str) -> bool:
        words = [find_uv_bin(), "pip", "install", "--quiet", *place, f"demo=={version}"]
        return subprocess.run(words, env=environment, check=False).returncode == 0

    assert [installed(version) for version in ("1.0", "2.0")] == [True, True]
    old, new = sorted(cache_items(tmp_path / "cache"), key=lambda item: item.name)
    assert ("1.0" in old.name, "2.0" in new.name) == (True, True)
    assert len(list(uv.glob("archive-v*/*"))) == 2
    with monkeypatch.context() as aged:
        aged.setattr(clean, "cache_items", lambda _: [replace(old, used=0.0), new])
        assert sizes(cleaned(0, "--days", "9", "--json"), "removed_items")["packages"] == 1
    assert len(list(uv.glob("archive-v*/*"))) == 1
    assert [item.name for item in cache_items(tmp_path / "cache")] == [new.name]
    (forgotten := uv / "archive-v0" / "forgotten").mkdir()
    assert "0 items removed" in cleaned(0).out
    assert not forgotten.exists()
    assert installed("2.0")
    assert installed("1.0")


def test_levels_share_no_cache(
    tmp_path: Path, cleaned: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPAT_CACHE_DIR", str(tmp_path / "cache"))
    job = canary(tmp_path, Version(".".join(map(str, sys.version_info[:3]))))
    index = IndexSettings(index_url="")
    held: list[set[str]] = []
    for level in HIGHEST_FIRST:
        bench = machine.bench_of(job, "worker", index, level, False)
        uv = dict(bench.variables)["UV_CACHE_DIR"]
        held.append({bench.sandbox, bench.bytecode, bench.canaries, uv})
        kept = Path(bench.sandbox, "cells", "kept-1")
        seal, tree = (Path(bench.bytecode).with_name(name) for name in ("seals", "runners"))
        for file in (kept / "file", seal / "digest", tree / "tree" / "file"):
            file.parent.mkdir(parents=True)
            file.write_text("x")
    assert len(set.union(*held)) == sum(map(len, held))
    removed = sizes(cleaned(9, "--days", "1", "--json"), "removed_items")
    assert (removed["cells"], removed["seals"], removed["runners"]) == (4, 4, 4)


def test_what_was_not_used_for_long_goes_and_a_cell_runs_again(
    used: Repository, later: Later
) -> None:
    everything = sizes(later(0, "--dry-run", "--json"), "bytes")
    assert set(sizes(later(29, "--json"), "removed_items").values()) == {0}
    would_go = sizes(later(31, "--dry-run", "--json"), "removed_bytes")
    assert would_go == everything
    assert sizes(later(0, "--dry-run", "--json"), "bytes") == everything
    assert sizes(later(31, "--json"), "removed_bytes") == everything
    assert sum(sizes(later(0, "--dry-run", "--json"), "bytes").values()) == 0
    assert not list((used.sandbox / "uv").glob("archive-v*/*"))
    assert len(used.records()) == 1
    code, _, err = used.run("run", "zoo", used.cell)
    assert code == 0, err


@pytest.mark.parametrize("text", ["much", "20", "-1GB", "20 parsecs", "1e9GB"])
def test_a_size_that_is_none_is_told(
    tmp_path: Path, cleaned: Later, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("COMPAT_CACHE_DIR", str(tmp_path))
    ran = cleaned(0, "--most", text)
    assert (ran.code, "500MB or 20GB" in ran.err) == (2, True)


def test_an_empty_cache_is_clean(
    tmp_path: Path, cleaned: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPAT_CACHE_DIR", str(tmp_path / "none"))
    assert "0 items removed" in cleaned(0).out


def test_a_file_that_the_disk_has_not_placed_yet_has_its_size(tmp_path: Path) -> None:
    (tmp_path / "builds").mkdir()
    with (tmp_path / "builds" / "wheel").open("wb") as file:
        file.truncate(10_000)
    assert [item.size for item in cache_items(tmp_path)] == [12_288]


def item(name: str, size: int, age: float) -> CacheItem:
    return CacheItem(kind="suites", name=name, size=size, used=-age)


def test_age_comes_before_size_and_use_before_both() -> None:
    hour = IN_USE_SECONDS
    items = [item("new", 50, hour / 2), item("old", 5, 9 * hour), item("older", 1, 20 * hour)]
    items.append(item("middle", 10, 3 * hour))

    def names(**limits: Any) -> list[str]:
        return [unused.name for unused in unused_items(items, 0.0, **limits)]

    assert names(seconds=10 * hour) == ["older"]
    assert names(seconds=10 * hour, most=60) == ["older", "old"]
    assert names(seconds=float("inf"), most=66) == []
    assert names(seconds=float("inf"), most=0) == ["older", "old", "middle"]
