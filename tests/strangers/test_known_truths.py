"""Four matrices that somebody might declare after reading the README, run for real: the truths
about them are known.

Flask 2.0 and 2.1 import `url_quote`, which Werkzeug 3.0 has not; Flask 2.2 reads
`werkzeug.__version__` in its test client, which Werkzeug 3.1 has not; pandas before 2.2.2 was
compiled for NumPy 1; FastAPI before 0.100 is written for pydantic 1; Jinja2 2.11 imports
`soft_unicode`, which MarkupSafe 2.1 has not. SQLModel declares a floor that is false, and a
pre-release of urllib3 breaks requests-toolbelt.
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


class Truth(NamedTuple):
    """What is known of a cell: how its outcome begins, what it names, and the verdict."""

    outcome: str
    names: str
    verdict: str


WORKS = Truth("pass", "", "works")
TRUTHS = {
    "flask": {
        "py3.11-wz2.2-flask2.2": WORKS,
        "py3.11-wz3.0-flask2.0": Truth(
            "import-fail:missing-attribute", "werkzeug.urls.url_quote", "broken"
        ),
        "py3.11-wz3.0-flask2.1": Truth(
            "import-fail:missing-attribute", "werkzeug.urls.url_quote", "broken"
        ),
        "py3.11-wz3.1-flask2.2": Truth(
            "test-fail:missing-attribute", "werkzeug.__version__", "partial"
        ),
    },
    "pandas": {
        "py3.11-np2.0-pd1.5": Truth("import-fail:binary-incompatible", "numpy", "broken"),
        "py3.11-np2.0-pd2.0": Truth("import-fail:binary-incompatible", "numpy", "broken"),
        "py3.11-np2.0-pd2.1": Truth("import-fail:binary-incompatible", "numpy", "broken"),
        "py3.11-np2.0-pd2.2": WORKS,
    },
    "fastapi": {
        "py3.11-pydantic1-fastapi0.95": WORKS,
        "py3.11-pydantic2-fastapi0.95+relaxed": Truth(
            "import-fail:missing-attribute", "pydantic.fields.Undefined", "broken"
        ),
        "py3.11-pydantic2-fastapi0.100": WORKS,
    },
    "jinja2": {
        "py3.11-ms2.1-jinja2.11": Truth(
            "import-fail:missing-attribute", "markupsafe.soft_unicode", "broken"
        ),
        "py3.11-ms2.1-jinja3.1": WORKS,
    },
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of somebody else with the four matrices, and nothing learnt of them yet."""
    if interpreter(Version("3.11")) is None:
        pytest.fail("these cells run on Python 3.11, which this machine does not have")
    root = tmp_path_factory.mktemp("strangers") / "root"
    shutil.copytree(
        HERE / "matrices", root / "matrices", ignore=shutil.ignore_patterns("__pycache__")
    )
    return root


def test_a_declared_floor_that_is_false_to_the_patch_is_found(root: Path) -> None:
    # https://github.com/fastapi/sqlmodel/releases/tag/0.0.19 raises it to 2.0.14.
    place = "py3.11-sa2.0-sqlmodel0.0"
    cells = [f"{place}.{patch}{lane}" for patch in (18, 19) for lane in ("", "+lowest")]
    ended = compat(root, "run", "sqlmodel", *cells, "--jobs", "2")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    ended = compat(root, "matrix", "variants", "sqlmodel", "--json")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    data = json.loads(ended.stdout)["data"]
    (alert,) = data["alerts"]
    assert (alert["broken"], alert["compared"], alert["cells"]) == (1, 2, [f"{place}.18+lowest"])
    by_id = {cell["cell"]: cell for cell in data["cells"]}
    broken = by_id[f"{place}.18+lowest"]
    assert broken["outcome"].startswith(
        "import-fail:missing-attribute(sqlalchemy.sql.elements.TryCast"
    )
    installed = {floor["package"]: floor["installed"] for floor in broken["floors"]}
    assert installed == {"pydantic": "1.10.13", "sqlalchemy": "2.0.0"}
    assert by_id[f"{place}.19+lowest"]["verdict"] == "works"


def test_a_pre_release_of_a_dependency_that_breaks_something_is_found(root: Path) -> None:
    # https://toolbelt.readthedocs.io/en/latest/releases/history.html: 1.0.0, five days later, takes
    # urllib3 2.
    old, new = "toolbelt0.10.1", "toolbelt1.0.0"
    ordinary = [f"py3.11-urllib1.26-{release}" for release in (old, new)]
    lane = [f"py3.11-urllib2.0.0a4-{release}+prerelease" for release in (old, new)]
    ended = compat(root, "run", "toolbelt", *ordinary, *lane, "--jobs", "2")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    ended = compat(root, "matrix", "variants", "toolbelt", "--json")
    data = json.loads(ended.stdout)["data"]
    (alert,) = data["alerts"]
    assert alert["sentence"].startswith("urllib3 2.0.0a4 breaks 1 ")
    by_id = {cell["cell"]: cell for cell in data["cells"]}
    assert "urllib3.contrib.appengine" in by_id[lane[0]]["outcome"]
    assert by_id[lane[1]]["verdict"] == "works"


def compat(root: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run `compat` in the repository, with a cache beside it that is empty at first."""
    command = [sys.executable, "-c", "from compat.cli.app import main; main()", *words]
    environ = {**os.environ, "COMPAT_CACHE_DIR": str(root.parent / "cache")}
    return subprocess.run(
        command, check=False, cwd=root, env=environ, capture_output=True, text=True
    )


@pytest.mark.parametrize("name", TRUTHS)
def test_the_known_truths_are_found_and_their_causes_named(name: str, root: Path) -> None:
    truths = TRUTHS[name]
    ended = compat(root, "run", name, *truths, "--jobs", "2")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    shown = json.loads(compat(root, "show", name, "--json").stdout)["data"]["cells"]
    seen = {cell["id"]: (cell["verdict"], cell["outcome"]) for cell in shown}
    assert seen.keys() == truths.keys(), ended.stdout + ended.stderr
    wrong = [
        f"{cell} is {seen[cell]}, and it is known that {truth}"
        for cell, truth in truths.items()
        if not (
            seen[cell][0] == truth.verdict
            and seen[cell][1].startswith(truth.outcome)
            and truth.names in seen[cell][1]
        )
    ]
    assert not wrong, "\n".join(wrong)
