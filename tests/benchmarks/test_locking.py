"""Locking side by side: the same inputs by uv and by pip-tools, each from an empty cache, and the
pins compared.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from uv import find_uv_bin

from compat.index.interpreters import find
from compat.index.pypi import PyPISource
from compat.index.settings import IndexSettings, settings
from compat.lock.lockfile import Lock, Locker, decode_lock
from compat.lock.piptools import PipToolsLocker
from compat.lock.uv import UvLocker

pytestmark = [pytest.mark.benchmark, pytest.mark.real_index]
CELL = (
    Path(__file__).parent.parent.parent
    / "matrices"
    / "tff"
    / "locks"
    / "py3.11-tf2.14-tff0.87.0+relaxed.txt"
)


def timed(locker: Locker, lock: Lock) -> tuple[Lock, float]:
    """Return the locker's answer to a lock's inputs, and the seconds it took."""
    begin = time.perf_counter()
    answer = locker.lock(lock.inputs)
    seconds = time.perf_counter() - begin
    assert isinstance(answer, Lock), answer
    return answer, seconds


def told(uv_seconds: float, pip_seconds: float) -> str:
    """Return the two times and their ratio."""
    return (
        f"uv {uv_seconds:.1f} s, pip-tools {pip_seconds:.1f} s, {pip_seconds / uv_seconds:.1f}"
        " times as long"
    )


def python_for(lock: Lock) -> str:
    """Return the interpreter of the lock's series."""
    series = type(lock.inputs.python)(f"{lock.inputs.python.major}.{lock.inputs.python.minor}")
    found = find(series, os.environ)
    assert found is not None, f"this benchmark needs Python {series}"
    return found.path


def test_uv_against_pip_tools_on_the_same_inputs(tmp_path: Path) -> None:
    lock = decode_lock(CELL.read_text(encoding="utf-8"), CELL.name)
    index, python = settings(), python_for(lock)
    source = PyPISource(index, tmp_path / "pages")
    cold = {**os.environ, "HOME": str(tmp_path), "UV_CACHE_DIR": str(tmp_path / "uv")}
    by_pip_tools = PipToolsLocker(index, source, cold, lambda _: python, tmp_path / "compilers")
    by_pip_tools.prepare(lock.inputs.python)
    slow, pip_seconds = timed(by_pip_tools, lock)
    fast, uv_seconds = timed(UvLocker(index, cold, lambda _: python), lock)
    print(f"\ncompat's two lockers, cold: {told(uv_seconds, pip_seconds)}")
    assert fast.pins == slow.pins
    assert pip_seconds > 3 * uv_seconds


def test_uv_against_pip_compile_as_people_run_it(tmp_path: Path) -> None:
    lock = decode_lock(CELL.read_text(encoding="utf-8"), CELL.name)
    index = settings()
    (tmp_path / "roots.in").write_text("".join(f"{line}\n" for line in lock.inputs.requirements))
    uv_seconds = _plain_uv(tmp_path, lock, index)
    pip_seconds = _plain_pip_compile(tmp_path, python_for(lock), index)
    print(f"\nplain, with hashes, cold: {told(uv_seconds, pip_seconds)}")
    assert _names(tmp_path / "uv.txt") == _names(tmp_path / "pip.txt")
    assert pip_seconds > 10 * uv_seconds


def _plain_uv(folder: Path, lock: Lock, index: IndexSettings) -> float:
    command = [
        find_uv_bin(),
        "pip",
        "compile",
        "roots.in",
        "-o",
        "uv.txt",
        "--generate-hashes",
        "--no-header",
        "--no-annotate",
        "--quiet",
        "--no-config",
        "--no-python-downloads",
        f"--cache-dir={folder / 'uv'}",
        f"--python-version={lock.inputs.python}",
        f"--default-index={index.index_url}",
    ]
    return _seconds(command, folder)


def _plain_pip_compile(folder: Path, python: str, index: IndexSettings) -> float:
    subprocess.run([python, "-m", "venv", "venv"], cwd=folder, check=True)
    own = str(folder / "venv" / "bin" / "python")
    subprocess.run([own, "-m", "pip", "install", "--quiet", "pip-tools"], cwd=folder, check=True)
    command = [
        own,
        "-m",
        "piptools",
        "compile",
        "roots.in",
        "-o",
        "pip.txt",
        "--generate-hashes",
        "--allow-unsafe",
        "--no-header",
        "--no-annotate",
        "--quiet",
        "--strip-extras",
        f"--index-url={index.index_url}",
        f"--cache-dir={folder / 'pt'}",
        f"--pip-args=--cache-dir {folder / 'pip'}",
    ]
    return _seconds(command, folder)


def _seconds(command: list[str], folder: Path) -> float:
    begin = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=sys.stderr, timeout=1800)
    return time.perf_counter() - begin


def _names(path: Path) -> list[str]:
    lines = (
        line.split(" ")[0] for line in path.read_text(encoding="utf-8").splitlines() if "==" in line
    )
    return sorted(line.lower().replace("_", "-") for line in lines)
