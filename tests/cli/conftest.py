"""What the tests of the command line share: a repository with one matrix, a local index, and a way
to run `compat`.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
from support.fake_index import FakeIndex
from support.local_index import MATRIX
from support.ran import Ran, Run, called, run_today
from support.zoo import shares

from compat.cli.options import workspace_of
from compat.index import settings

Remember = Callable[..., None]
HERE = Path(__file__).parent.parent.parent
# The suite's own folder, the caches of tools, and what versions of other commands leave.
_NOT_OURS = shutil.ignore_patterns(
    "*.egg-info", "build", "dist", "__pycache__", ".*", "tests", "matrices", "public"
)


def _ran(*words: str | Path, cwd: Path) -> None:
    subprocess.run(words, cwd=cwd, check=True, capture_output=True, text=True)


@pytest.fixture(scope="session")
def distributions(once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """A folder with the sdist of this checkout and its wheel, in `unpacked` the wheel that the
    sdist makes, and in `venv` an environment that holds the wheel.
    """
    return once("distributions", _distribute)


def _distribute(place: Path) -> None:
    shutil.copytree(HERE, place / "source", ignore=_NOT_OURS, symlinks=True)
    build = "import sys, setuptools.build_meta as b; print(getattr(b, sys.argv[1])(sys.argv[2]))"
    for kind in ("build_sdist", "build_wheel"):
        _ran(sys.executable, "-c", build, kind, place, cwd=place / "source")
    [sdist] = place.glob("*.tar.gz")
    shutil.unpack_archive(sdist, place / "unpacked", filter="data")
    [unpacked] = (place / "unpacked").iterdir()
    _ran(sys.executable, "-c", build, "build_wheel", place / "unpacked", cwd=unpacked)
    shutil.rmtree(unpacked)
    shutil.rmtree(place / "source")
    [wheel] = place.glob("*.whl")
    environment = place / "venv"
    venv.create(environment, with_pip=False)
    install = ("-m", "uv", "pip", "install", "--quiet", "--offline", "--no-deps", "--python")
    _ran(sys.executable, *install, environment / "bin" / "python", wheel, cwd=place)
    [library] = environment.glob("lib/python3.*/site-packages")
    # A plain line of a .pth file adds a folder, and follows no editable install that stands there.
    (library / "needs.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")


@pytest.fixture(scope="session")
def installed(distributions: Path) -> Path:
    """The Python of an environment that holds the wheel, and what it needs from the environment of
    these tests.
    """
    return distributions / "venv" / "bin" / "python"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository that declares the matrix `demo`."""
    folder = tmp_path / "repository" / "matrices" / "demo"
    folder.mkdir(parents=True)
    (folder / "matrix.toml").write_text(MATRIX, encoding="utf-8")
    (folder / "suite").mkdir()
    (folder / "suite" / "test_demo.py").write_text(
        "def test_demo():\n    import demo\n", encoding="utf-8"
    )
    return tmp_path / "repository"


def pip_of_the_environment() -> str:
    """What pip says where no file configures it: tests/index asks pip itself, for each command that
    would be most of its time.
    """
    given = {key: value for key, value in os.environ.items() if key.startswith("PIP_")}
    assert given.pop("PIP_CONFIG_FILE") == "/dev/null"
    names = {key.removeprefix("PIP_").lower().replace("_", "-"): key for key in given}
    return "".join(f":env:.{name}={given[key]!r}\n" for name, key in names.items())


@pytest.fixture
def run(
    root: Path,
    demo_index: FakeIndex,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Run `compat` in the repository, against the local index and an empty cache."""
    monkeypatch.chdir(root)
    monkeypatch.setenv("COMPAT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", demo_index.url)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(settings, "_pip_config_list", pip_of_the_environment)
    shares(tmp_path / "cache")

    def command(*words: str) -> Ran:
        return called(monkeypatch, capsys, *words)

    return command


@pytest.fixture
def remember(run: Run, root: Path) -> Remember:
    """Keep a record of a run of today of each locked cell of `demo`, or of those that are named."""

    def add(*cells: str, outcome: str = "pass", seconds: float = 5.0) -> None:
        workspace = workspace_of("demo", root)
        for cell in cells or workspace.lock_digests:
            workspace.store.add(run_today(workspace, cell, outcome, seconds=seconds))

    return add
