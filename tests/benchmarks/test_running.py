"""Running side by side: a cell by compat, and the plain way: a virtualenv, `pip install -r lock`,
pytest.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from packaging.version import Version

from compat.index.interpreters import find
from compat.results.record import encode_line
from compat.results.record_files import RecordFiles
from compat.workspace import stored_lock

pytestmark = [pytest.mark.benchmark, pytest.mark.real_index]
ROOT = Path(__file__).parent.parent.parent
MATRIX = ROOT / "matrices" / "tff"
CELLS = ("py3.11-tf2.14-tff0.87.0+relaxed", "py3.9-tf2.9-tff0.33.0+relaxed")
COMPAT = [sys.executable, "-c", "from compat.cli.app import main; main()"]


def ours(cell: str) -> tuple[float, float, float, str]:
    """Seconds before the import begins, of the whole, of compat itself, and the outcome."""
    before = {record.started for record in RecordFiles(MATRIX).records(cell)}
    begin = time.perf_counter()
    subprocess.run(
        [*COMPAT, "run", "tff", cell, "--json"],
        cwd=ROOT,
        capture_output=True,
        timeout=1800,
        check=False,
    )
    whole = time.perf_counter() - begin
    (record,) = [one for one in RecordFiles(MATRIX).records(cell) if one.started not in before]
    path = MATRIX / "records" / f"{record.started:%Y-%m-%d}.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for line in lines if line != encode_line(record)))
    steps = record.step_seconds
    return (
        (steps.install or 0.0),
        whole,
        whole - sum((steps.install or 0, steps.import_ or 0, steps.suite or 0)),
        str(record.outcome),
    )


def plain(cell: str, folder: Path) -> tuple[float, float, str]:
    """Seconds before the suite begins, of the whole, and what pytest said, with pip's cache as it
    is.
    """
    lock = stored_lock(MATRIX / "locks" / f"{cell}.txt")
    version = lock.inputs.python
    python = find(Version(f"{version.major}.{version.minor}"), os.environ)
    assert python is not None
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    begin = time.perf_counter()
    subprocess.run([python.path, "-m", "venv", str(folder / "venv")], check=True)
    own = str(folder / "venv" / "bin" / "python")
    install = [
        own,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--require-hashes",
        "-r",
        str(MATRIX / "locks" / f"{cell}.txt"),
    ]
    subprocess.run(install, check=True, env=environ, stderr=subprocess.DEVNULL, timeout=1800)
    before = time.perf_counter() - begin
    command = [own, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(MATRIX / "suite")]
    with (folder / "log").open("wb") as log:
        suite = subprocess.Popen(
            command,
            env=environ | {"CUDA_VISIBLE_DEVICES": ""},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            code = suite.wait(timeout=1800)
        finally:
            # The runtime's worker outlives the plain way; here nobody else would end it.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(suite.pid, signal.SIGKILL)
    return before, time.perf_counter() - begin, "pass" if code == 0 else "fail"


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_by_compat_against_the_plain_way(cell: str, tmp_path: Path) -> None:
    ours(cell)
    ours_before, ours_whole, ours_own, outcome = ours(cell)
    (tmp_path / "warm").mkdir()
    plain(cell, tmp_path / "warm")
    subprocess.run(["rm", "-rf", str(tmp_path / "warm")], check=True)
    (tmp_path / "plain").mkdir()
    plain_before, plain_whole, plain_outcome = plain(cell, tmp_path / "plain")
    figures = {
        "before the suite": (
            round(ours_before, 1),
            round(plain_before, 1),
            round(plain_before / ours_before, 1),
        ),
        "whole": (round(ours_whole, 1), round(plain_whole, 1), round(plain_whole / ours_whole, 1)),
        "ours besides the steps": f"{ours_own:.1f} s, {100 * ours_own / ours_whole:.1f} %",
    }
    print(f"\n{cell}: {json.dumps(figures)}")
    assert outcome == plain_outcome == "pass"
    assert plain_before > 5 * ours_before
