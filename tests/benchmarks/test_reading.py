"""What a question costs: CPU seconds and memory of each reading command, in processes of their own.

A table is printed and nothing is said of time, as machines differ. With BENCH_BESIDE=FOLDER, a
checkout of another state, its figures and the ratio stand beside ours.
"""

import os
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.benchmark
ROOT = Path(__file__).parents[2]
TIMES = 5
CELL = "py3.11-tf2.14-tff0.87.0"
COMMANDS = (
    "--help",
    "--version",
    f"show tff {CELL}",
    "show tff",
    "show tff --json",
    "show tff --plain",
    "show tff --table",
    "advise tff",
    "advise tff tff==0.40.0",
    "health tff",
    f"plan tff --explain {CELL}",
    "plan tff --budget 90m",
    "schedule tff",
    "propose tff",
    "check tff",
)


def cost(root: Path, cache: Path, words: list[str]) -> tuple[float, float, int]:
    """Return the CPU seconds, the most megabytes, and the exit code of one command."""
    # Python keeps bytecode for every user, so it is kept here, too.
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    process = subprocess.Popen(
        [sys.executable, "-m", "compat", *words],
        cwd=root,
        env=inherited | {"COMPAT_CACHE_DIR": str(cache), "COLUMNS": "120"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, process.returncode


def median_cost(root: Path, cache: Path, words: list[str]) -> tuple[float, float, int]:
    """Return the median of several, after one that warms caches and bytecode."""
    cost(root, cache, words)
    costs = [cost(root, cache, words) for _ in range(TIMES)]
    seconds, megabytes, codes = zip(*costs, strict=True)
    assert len(set(codes)) == 1
    return statistics.median(seconds), statistics.median(megabytes), codes[0]


def test_what_each_question_costs(tmp_path: Path) -> None:
    beside = os.environ.get("BENCH_BESIDE")
    besides = "   before: CPU s    MB  ratio" if beside else ""
    print(f"\n{'command':44} {'CPU s':>6} {'MB':>5}{besides}")
    for command in COMMANDS:
        seconds, megabytes, code = median_cost(ROOT, tmp_path / "ours", command.split())
        line = f"{command:44} {seconds:6.2f} {megabytes:5.0f}"
        if beside:
            before, wide, other = median_cost(Path(beside), tmp_path / "theirs", command.split())
            assert code == other
            line += f"          {before:6.2f} {wide:5.0f} {before / seconds:6.1f}"
        print(line, flush=True)
        assert code in (0, 1)
