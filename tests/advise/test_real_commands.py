"""The commands of a card, done for real for a small library: each form installs what the lock
pins, and refuses a lock with another hash.

There is no Docker here: of the Dockerfile its RUN lines are done, in an environment of the image's
Python and a plain folder.
"""

import datetime
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import tomllib
from packaging.version import Version

from compat.advise.commands import Commands, commands
from compat.cli.machine import cache_folder, interpreter
from compat.declare.load import decode_matrix
from compat.declare.matrix import Matrix
from compat.lock.lockfile import Lock, decode_lock
from compat.plan.cell import parse_cell
from compat.results.answer import lifted
from compat.workspace import Workspace

pytestmark = pytest.mark.real_index
ROOT = Path(__file__).parents[2]
# What a plain install gives today, and what needs changed pins.
CELLS = {"fresh": "py3.11-ms2.1-jinja3.1", "relaxed": "py3.11-pydantic2-fastapi0.95+relaxed"}
MATRICES = {"fresh": "jinja2", "relaxed": "fastapi"}
TOOLS = Path(sys.executable).parent


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with the two matrices, the cell of each locked."""
    if interpreter(Version("3.11")) is None:
        pytest.fail("these cells run on Python 3.11, which this machine does not have")
    root = tmp_path_factory.mktemp("real") / "root"
    shutil.copytree(ROOT / "tests" / "strangers" / "matrices", root / "matrices")
    for kind, matrix in MATRICES.items():
        for words in (("matrix", "discover", matrix), ("matrix", "lock", matrix, CELLS[kind])):
            ended = subprocess.run(
                [sys.executable, "-m", "compat", *words],
                cwd=root,
                capture_output=True,
                text=True,
                check=False,
            )
            assert ended.returncode == 0, ended.stderr
    return root


@pytest.fixture(params=["fresh", "relaxed"])
def kind(request: pytest.FixtureRequest) -> str:
    """Which lock."""
    return str(request.param)


@pytest.fixture
def served(root: Path) -> Iterator[str]:
    """The address of the repository, over loopback."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(root))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


def locked(root: Path, kind: str) -> Lock:
    path = root / "matrices" / MATRICES[kind] / "locks" / f"{CELLS[kind]}.txt"
    return decode_lock(path.read_text(encoding="utf-8"), str(path))


def matrix_of(root: Path, kind: str) -> Matrix:
    folder = root / "matrices" / MATRICES[kind]
    return decode_matrix((folder / "matrix.toml").read_bytes(), str(folder))


def made(root: Path, kind: str, address: str) -> Commands:
    at = f"{address}/matrices/{MATRICES[kind]}/locks/{CELLS[kind]}.txt"
    lock, folder = locked(root, kind), root / "matrices" / MATRICES[kind]
    facts = Workspace(folder, datetime.date(2026, 11, 27), cache_folder, notify=print).feasibility
    cell = parse_cell(CELLS[kind], facts.matrix)
    return commands(lock, at, facts.matrix, lifted(facts, cell, lock))


def sh(
    lines: tuple[str, ...], folder: Path, first: Path = TOOLS
) -> subprocess.CompletedProcess[str]:
    """Do the lines as a person who pastes them would: in bash, ending at the first that fails."""
    environment = os.environ | {
        "PATH": f"{first}{os.pathsep}{TOOLS}{os.pathsep}{os.environ['PATH']}"
    }
    # nox says by these in which environment its own session runs; a reader's shell has none.
    for name in ("VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT", "UV_PYTHON"):
        environment.pop(name, None)
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def version(root: Path, kind: str) -> str:
    subject = {"fresh": "jinja2", "relaxed": "fastapi"}[kind]
    return next(str(pin.version) for pin in locked(root, kind).pins if pin.name == subject)


def installed(folder: Path, lock: Lock) -> None:
    """Check that an environment has the pins of the lock and nothing else but its installer."""
    ended = sh((f"uv pip list --python {shlex.quote(str(folder))} --format freeze",), folder)
    lines = ended.stdout.lower().replace("_", "-").split()
    wanted = {pin.name: str(pin.version) for pin in lock.pins}
    have = dict(line.split("==") for line in lines)
    assert {name: have.get(name) for name in wanted} == wanted
    assert have.keys() - wanted.keys() <= {"pip", "setuptools", "wheel"}


@pytest.mark.parametrize("tool", ["uv", "pip"])
def test_an_environment(root: Path, served: str, tmp_path: Path, kind: str, tool: str) -> None:
    found = made(root, kind, served)
    ended = sh(getattr(found, tool), tmp_path)
    check_smoke(ended, root, kind)
    installed(tmp_path / found.folder, locked(root, kind))


def test_a_notebook(root: Path, served: str, tmp_path: Path, kind: str) -> None:
    """Its lines without the exclamation mark are lines of a shell."""
    found = made(root, kind, served)
    kernel = tmp_path / "kernel"
    assert sh((f"uv venv --seed --python 3.11 {kernel}",), tmp_path).returncode == 0
    ended = sh(tuple(line.removeprefix("!") for line in found.colab), tmp_path, kernel / "bin")
    check_smoke(ended, root, kind)
    installed(tmp_path / found.folder, locked(root, kind))


def test_an_image(root: Path, served: str, tmp_path: Path, kind: str) -> None:
    found = made(root, kind, served)
    first, *steps = found.docker
    image = re.fullmatch(r"FROM --platform=linux/amd64 python:([0-9.]+)(?:-slim)?", first)
    assert image is not None
    python = tmp_path / "image"
    assert sh((f"uv venv --seed --python {image[1]} {python}",), tmp_path).returncode == 0
    assert all(step.startswith("RUN ") for step in steps)
    ended = sh(tuple(step.removeprefix("RUN ") for step in steps), tmp_path, python / "bin")
    check_smoke(ended, root, kind)
    installed(python, locked(root, kind))


def test_a_project(root: Path, served: str, tmp_path: Path, kind: str) -> None:
    found = made(root, kind, served)
    lines = found.pyproject
    name = lines.index("[project]") + 1
    text = "\n".join((*lines[:name], 'name = "mine"', 'version = "1"', *lines[name:], ""))
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    ended = sh(found.project, tmp_path)
    check_smoke(ended, root, kind)
    kept = tomllib.loads((tmp_path / "uv.lock").read_text(encoding="utf-8"))
    pins = {pin.name: str(pin.version) for pin in locked(root, kind).pins}
    chosen = {one["name"]: one["version"] for one in kept["package"] if one["name"] != "mine"}
    assert chosen
    assert chosen == {one: pins[one] for one in chosen}


@pytest.mark.parametrize("form", ["uv", "pip", "docker"])
def test_another_hash_is_refused(root: Path, served: str, tmp_path: Path, form: str) -> None:
    path = root / "matrices" / MATRICES["fresh"] / "locks" / f"{CELLS['fresh']}.txt"
    spoilt = re.sub("sha256:[0-9a-f]{4}", "sha256:0000", path.read_text(encoding="utf-8"))
    (root / "spoilt.txt").write_text(spoilt, encoding="utf-8")
    matrix = matrix_of(root, "fresh")
    found = commands(locked(root, "fresh"), f"{served}/spoilt.txt", matrix)
    if form == "docker":
        python = tmp_path / "image"
        assert sh((f"uv venv --seed --python 3.11 {python}",), tmp_path).returncode == 0
        ended = sh((found.docker[1].removeprefix("RUN "),), tmp_path, python / "bin")
    else:
        ended = sh(getattr(found, form), tmp_path)
    assert ended.returncode != 0
    assert "hash" in (ended.stdout + ended.stderr).lower()


def check_smoke(ended: subprocess.CompletedProcess[str], root: Path, kind: str) -> None:
    """The relaxed cell is known to break at import, which the smoke test shows."""
    if kind == "relaxed":
        assert "cannot import name 'Undefined'" in ended.stderr or "Undefined" in ended.stderr
        assert ended.returncode != 0
    else:
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.splitlines()[-1] == version(root, kind)
