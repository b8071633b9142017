"""Libraries that worked on the day of their release and fail today, blamed for real.

Each matrix below matrices/ says in its first line what is known of it. Nothing here but the names
of the culprits is told to the search.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.version import Version

from compat.cli.machine import interpreter

pytestmark = pytest.mark.real_index
HERE = Path(__file__).parent
# `nox -s hard` tries all; otherwise the one that takes the shortest.
EVERY = "COMPAT_REAL" in os.environ


class Decay(NamedTuple):
    """The Python of the cells, both ends as `blame` takes them, and the releases that broke it."""

    python: str
    ends: tuple[str, ...]
    culprits: dict[str, str]


# Markupsafe took away one function, and only Starlette since 0.21 together with httpx since 0.28
# fails: neither does without the other. protobuf has no 4.21.0 that can be installed.
DECAYS = {
    "jinja": Decay("3.9", ("py3.9-jinja2.11.3",), {"markupsafe": "2.1.0"}),
    "starlette": Decay(
        "3.9",
        ("py3.9-httpx0.23-starlette0.20.4", "py3.9-httpx0.28-starlette0.27.0"),
        {"httpx": "0.28.0", "starlette": "0.21.0"},
    ),
    "flask": Decay("3.9", ("py3.9-flask2.0.3",), {"werkzeug": "3.0.0"}),
    "googleapis": Decay("3.9", ("py3.9-googleapis1.55.0",), {"protobuf": "4.21.1"}),
    "kombu": Decay("3.7", ("py3.7-kombu5.2.4",), {"importlib-metadata": "5.0.0"}),
    "pandas": Decay("3.11", ("py3.11-pandas1.5.3",), {"numpy": "2.0.0"}),
    "tff": Decay("3.8", ("py3.8-tff0.17.0",), {"protobuf": "4.21.1"}),
}


@pytest.mark.parametrize("name", DECAYS if EVERY else ("jinja",))
def test_the_release_that_broke_it_is_named_and_verified(name: str, tmp_path: Path) -> None:
    decay = DECAYS[name]
    if interpreter(Version(decay.python)) is None:
        pytest.fail(f"these cells run on Python {decay.python}, which this machine does not have")
    root = tmp_path / "root"
    shutil.copytree(HERE / "matrices", root / "matrices")
    command = [sys.executable, "-c", "from compat.cli.app import main; main()"]
    environ = {**os.environ, "COMPAT_CACHE_DIR": str(tmp_path / "cache")}
    ended = subprocess.run(
        [*command, "blame", name, *decay.ends, "--json"],
        check=False,
        cwd=root,
        env=environ,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    data = json.loads(ended.stdout)["data"]
    named = {p["package"]: p["first_bad"] for p in data["causes"][0]["packages"]}
    assert named == decay.culprits, ended.stderr
    assert data["is_verified"]
