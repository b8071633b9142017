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

import pytest
from packaging.version import Version

from compat.cli.machine import interpreter

pytestmark = pytest.mark.real_index
HERE = Path(__file__).parent
# By matrix: both ends, and the release that broke it. Markupsafe took away one function, and only
# Starlette since 0.21 together with httpx since 0.28 fails: neither does without the other.
DECAYS = {
    "jinja": (["py3.9-jinja2.11.3"], {"markupsafe": "2.1.0"}),
    "starlette": (
        ["py3.9-httpx0.23-starlette0.20.4", "py3.9-httpx0.28-starlette0.27.0"],
        {"httpx": "0.28.0", "starlette": "0.21.0"},
    ),
}


@pytest.mark.parametrize("name", DECAYS)
def test_the_release_that_broke_it_is_named_and_verified(name: str, tmp_path: Path) -> None:
    if interpreter(Version("3.9")) is None:
        pytest.fail("these cells run on Python 3.9, which this machine does not have")
    ends, culprits = DECAYS[name]
    root = tmp_path / "root"
    shutil.copytree(HERE / "matrices", root / "matrices")
    command = [sys.executable, "-c", "from compat.cli.app import main; main()"]
    environ = {**os.environ, "COMPAT_CACHE_DIR": str(tmp_path / "cache")}
    ended = subprocess.run(
        [*command, "blame", name, *ends, "--json"],
        check=False,
        cwd=root,
        env=environ,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    data = json.loads(ended.stdout)["data"]
    named = {p["package"]: p["first_bad"] for p in data["causes"][0]["packages"]}
    assert named == culprits, ended.stderr
    assert data["is_verified"]
