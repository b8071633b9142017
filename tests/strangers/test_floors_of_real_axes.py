"""The search for a boundary beside the truth, on three axes of real libraries: it starts without a
record, and afterwards every version of the axis is run.

FastAPI takes pydantic 2 from 0.100 on; Flask 2.2 is the first that works with Werkzeug 3.0;
Starlette's test client hands httpx an argument that 0.28 no longer takes.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytestmark = pytest.mark.real_index
TESTS = Path(__file__).parent.parent
# `nox -s hard` searches on all axes; otherwise on the one that takes the shortest.
EVERY = "COMPAT_REAL" in os.environ


class RealAxis(NamedTuple):
    """A question about an axis: the folder of its matrix, the arguments of `floor`, and the cells
    in the order from what should fail to what should work.
    """

    folder: str
    arguments: tuple[str, ...]
    cells: tuple[str, ...]


AXES = {
    "fastapi": RealAxis(
        "strangers",
        ("--axis", "fastapi", "--at", "python=3.11", "--at", "pydantic=2"),
        tuple(f"py3.11-pydantic2-fastapi0.{n}+relaxed" for n in range(95, 101)),
    ),
    "flask": RealAxis(
        "strangers",
        ("--axis", "flask", "--at", "python=3.11", "--at", "werkzeug=3.0", "--recipe", "fresh"),
        tuple(f"py3.11-wz3.0-flask{v}" for v in ("2.0", "2.1", "2.2", "2.3", "3.0")),
    ),
    "starlette": RealAxis(
        "decays",
        (
            *("--axis", "httpx", "--at", "python=3.9", "--at", "starlette=0.27.0"),
            *("--recipe", "fresh", "--highest"),
        ),
        tuple(f"py3.9-httpx0.{n}-starlette0.27.0" for n in range(28, 21, -1)),
    ),
}


def compat(root: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", "from compat.cli.app import main; main()", *words]
    environ = {**os.environ, "COMPAT_CACHE_DIR": str(root.parent / "cache")}
    return subprocess.run(
        command, check=False, cwd=root, env=environ, capture_output=True, text=True
    )


def data_of(ended: "subprocess.CompletedProcess[str]") -> Any:
    assert ended.stdout, ended.stderr
    return json.loads(ended.stdout)["data"]


def true_boundary(works: Sequence[bool]) -> tuple[int | None, int | None]:
    """The first that works and the last before it that fails, where each is on its side."""
    first = works.index(True) if True in works else len(works)
    assert all(works[first:]), "no version is against the others"
    return (first if first < len(works) else None, first - 1 if first else None)


def verdicts_of(root: Path, name: str) -> dict[str, str]:
    """The verdict of each cell that was run."""
    shown = data_of(compat(root, "show", name, "--json"))["cells"]
    return {cell["id"]: cell["verdict"] for cell in shown if cell["latest"]}


@pytest.mark.parametrize("name", AXES if EVERY else ("fastapi",))
def test_the_boundary_is_the_one_that_running_every_version_shows(
    name: str, tmp_path: Path
) -> None:
    axis = AXES[name]
    root = tmp_path / "root"
    shutil.copytree(TESTS / axis.folder / "matrices" / name, root / "matrices" / name)
    found = data_of(compat(root, "floor", name, *axis.arguments, "--json"))
    others = [cell for cell in axis.cells if cell not in verdicts_of(root, name)]
    ran = compat(root, "run", name, *others, "--jobs", "2")
    verdicts = verdicts_of(root, name)
    truth = [verdicts.get(cell) == "works" for cell in axis.cells]
    works, fails = true_boundary(truth)
    print(f"{name}: {found['runs']} of {len(axis.cells)} versions run; {verdicts}")
    assert set(axis.cells) <= set(verdicts), ran.stderr
    assert found["works"] == (None if works is None else axis.cells[works]), verdicts
    assert found["fails"] == (None if fails is None else axis.cells[fails]), verdicts
    assert found["runs"] <= len(axis.cells)
