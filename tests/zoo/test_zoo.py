"""Every animal goes through the whole stream, from its declaration to its verdict, and comes to its golden outcome."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from fake_index import FakeIndex
from keeper import Animal, animals, described, open_gates, pytest_and_its_needs

ALL = animals()
COMPAT = [sys.executable, "-c", "from compat.cli.app import main; main()"]


@pytest.fixture(scope="session")
def tools() -> list[tuple[str, str, bytes]]:
    return pytest_and_its_needs()


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("zoo-cache")


@pytest.fixture
def index() -> Iterator[FakeIndex]:
    fake = FakeIndex()
    yield fake
    fake.stop()


def compat(root: Path, cache: Path, index: FakeIndex, *words: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PIP_", "UV_"))}
    environ = kept | {
        "COMPAT_CACHE_DIR": str(cache), "PIP_CONFIG_FILE": "/dev/null", "PIP_INDEX_URL": index.url,
        "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "UV_HTTP_RETRIES": "0",
    }  # fmt: skip
    return subprocess.run(
        [*COMPAT, *words], cwd=root, env=environ, capture_output=True, text=True, timeout=180, check=False
    )


def cells_alive(cache: Path) -> list[int]:
    """The processes whose program, folder or arguments lie in a cell of this cache."""
    marker = str(cache / "sandbox" / "cells")
    alive = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        if marker in " ".join(process.info["cmdline"] or ()) or marker in (process.info["cwd"] or ""):
            alive.append(process.pid)
    return alive


def run(root: Path, cache: Path, index: FakeIndex, cell: str, animal: Animal) -> tuple[dict[str, Any], str]:
    done = compat(root, cache, index, "run", "zoo", cell, f"--attempts={animal.attempts}", "--json")
    assert done.stdout, done.stderr[-3000:]
    (found,) = json.loads(done.stdout)["data"]["cells"]
    return found, done.stderr


@pytest.mark.parametrize("animal", ALL, ids=lambda animal: animal.name)
def test_an_animal_comes_to_its_golden_outcome(
    animal: Animal, tmp_path: Path, cache: Path, index: FakeIndex, tools: list[tuple[str, str, bytes]]
) -> None:
    cell = open_gates(index, animal, tmp_path, tools)
    found, stderr = run(tmp_path, cache, index, cell, animal)
    assert str(found["last"]).startswith(animal.outcome), (described(animal), found, stderr[-2000:])
    green = found["verdict"] == "works"
    assert green is (animal.outcome == "pass" and not animal.verdict), found
    if animal.verdict:
        assert found["verdict"] == animal.verdict
    assert cells_alive(cache) == []


def test_there_are_at_least_twenty_animals_and_none_is_green_without_having_run() -> None:
    assert len(ALL) >= 20
    assert {animal.name for animal in ALL if animal.outcome == "pass"} == {"orphans"}
