"""Compat beside the tools that people have: the same cells, the same roots, and its own growth.

Usage: side_by_side.py [PART...] [--rounds N] [--tools TOOL...] [--sizes N...]; parts are cells,
locks and growth, by default all; tools, by default all, are those of the table of cells. Each
figure is of a fresh process and all that it waits for, the rounds are interleaved, and what is
shown is their median. The other tools are installed into an environment that is thrown away.
Printed is Markdown; a tool whose verdicts or pins differ ends it.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from packaging.version import Version
from uv import find_uv_bin

from compat.index.interpreters import find
from compat.index.pypi import PyPISource
from compat.index.settings import settings
from compat.lock.lockfile import Lock, decode_lock
from compat.lock.piptools import PipToolsLocker
from compat.lock.uv import UvLocker
from compat.results.record_files import RecordFiles

HERE = Path(__file__).parent
ROOTS = HERE.parent.parent / "matrices/pip-tools/locks/py3.13-pip26-piptools7.6.txt"
TOOLS = ("nox", "virtualenv", "uv", "tox", "tox-uv")
SERIES = ("3.9", "3.10", "3.11", "3.12", "3.13")
VERSIONS = ("2.0", "2.2")
MATRIX = """
name = "small"
title = "ItsDangerous"
subject = "itsdangerous"
platform = "x86_64-manylinux_2_28"
margin_days = 30

[suite]
path = "suite"
requirements = ["pytest"]
seconds = 120

[[axes]]
kind = "interpreter"
name = "python"
short = "py"
releases = {pythons}

[[axes]]
kind = "package"
name = "itsdangerous"
short = "id"
package = "itsdangerous"
select = {{ specifier = ">=2.0,!=2.1.*", keep = "minor" }}
"""
POLICY = 'default_months = 36\ncadence = "quarterly"\nnotice_days = 60\nwitnesses = 2\n'
# The last fails with 2.2, which has no such name: verdicts that differ are worth comparing.
SUITE = """
def test_a_signed_value_comes_back():
    from itsdangerous import Signer

    assert Signer("key").unsign(Signer("key").sign("value")) == b"value"


def test_a_changed_value_is_refused():
    import pytest
    from itsdangerous import BadSignature, Signer

    with pytest.raises(BadSignature):
        Signer("key").unsign(b"value.wrong")


def test_a_dumped_object_is_loaded():
    from itsdangerous import URLSafeTimedSerializer

    serializer = URLSafeTimedSerializer("key")
    assert serializer.loads(serializer.dumps({"id": 1})) == {"id": 1}


def test_the_json_module_is_handed_on():
    from itsdangerous import json

    assert json.dumps({}) == "{}"
"""
NOXFILE = """
import nox

CELLS = {cells!r}


@nox.session
@nox.parametrize("python,cell", [nox.param(python, cell, id=cell) for cell, python in CELLS])
def cell(session, cell):
    lock = f"matrices/small/locks/{{cell}}.txt"
    session.install("--no-deps", "--require-hashes", "-r", lock)
    session.run("pytest", "-q", "-p", "no:cacheprovider", "matrices/small/suite")
"""
TOX = """
[testenv:{name}]
base_python = {python}
deps =
    -r matrices/small/locks/{cell}.txt
commands = pytest -q -p no:cacheprovider matrices/small/suite
"""


class Cost(NamedTuple):
    """What a process and all that it waited for took."""

    cpu: float
    wall: float


class Row(NamedTuple):
    """A line of a table: who, at what cost, and how many units of work that was."""

    name: str
    cost: Cost
    units: int = 1


def timed(words: list[str], folder: Path, env: Mapping[str, str]) -> tuple[Cost, str]:
    """Return the cost of a process and what it printed; end when it ended neither with 0 nor 1."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.perf_counter()
        process = subprocess.Popen(words, cwd=folder, env=env, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode not in (0, 1):
            said = (out.read() + err.read()).decode(errors="replace")[-2_000:]
            raise SystemExit(f"{' '.join(words)} ended with {process.returncode}: {said}")
        return Cost(usage.ru_utime + usage.ru_stime, wall), out.read().decode(errors="replace")


def median(costs: list[Cost]) -> Cost:
    """The median of each figure."""
    cpu, wall = zip(*costs, strict=True)
    return Cost(statistics.median(cpu), statistics.median(wall))


def table(rows: list[Row], base: str, unit: str) -> str:
    """The rows as Markdown; ratios are to the row of that name, above 1 where it takes longer."""
    against = next(row.cost for row in rows if row.name == base)
    lines = [
        f"| | CPU s | wall s | {unit} a minute | CPU, ratio to {base} | wall, ratio to {base} |",
        "|---|---|---|---|---|---|",
    ]
    for name, cost, units in rows:
        figures = (
            f"{cost.cpu:.1f}",
            f"{cost.wall:.1f}",
            f"{60 * units / cost.wall:.1f}",
            f"{cost.cpu / against.cpu:.2f}",
            f"{cost.wall / against.wall:.2f}",
        )
        lines.append(f"| {name} | {' | '.join(figures)} |")
    return "\n".join(lines)


def agreed(told: Mapping[str, Mapping[str, bool]]) -> Mapping[str, bool]:
    """Return what all tools say of each cell; end with the cells of which they say other things."""
    first = next(iter(told.values()))
    for name, verdicts in told.items():
        if differing := sorted(
            cell for cell in {*first, *verdicts} if first.get(cell) != verdicts.get(cell)
        ):
            raise SystemExit(f"{name} says otherwise of {', '.join(differing)}")
    return first


def interleaved(
    ways: Mapping[str, Callable[[], tuple[Cost, Mapping[str, bool]]]], rounds: int
) -> dict[str, Cost]:
    """Return the median cost of each way; before the rounds, one that is not counted warms caches.

    Each round begins with another way.
    """
    names, costs = list(ways), {name: list[Cost]() for name in ways}
    for number in range(rounds + 1):
        told = {}
        for name in names[number % len(names) :] + names[: number % len(names)]:
            cost, told[name] = ways[name]()
            print(f"round {number}: {name}: {cost.wall:.1f} s", file=sys.stderr, flush=True)
            agreed(told)
            if number:
                costs[name].append(cost)
    return {name: median(found) for name, found in costs.items()}


def environment(scratch: Path) -> dict[str, str]:
    """The environment of all tools: bytecode is written, as it is by default."""
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return inherited | {"COMPAT_CACHE_DIR": str(scratch / "cache")}


def installed_tools(scratch: Path) -> dict[str, str]:
    """Install the other tools into an environment of their own; return their versions."""
    home = scratch / "tools"
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    own = str(home / "bin" / "python")
    subprocess.run([own, "-m", "pip", "install", "-qqq", *TOOLS], check=True)
    ask = f"from importlib.metadata import version\nfor n in {TOOLS!r}: print(n, version(n))"
    told = subprocess.run([own, "-c", ask], check=True, capture_output=True, text=True).stdout
    return dict(line.split() for line in told.splitlines())


def declare(scratch: Path, env: Mapping[str, str]) -> list[tuple[str, str]]:
    """Write the matrix, its locks, a noxfile and a tox.ini; return each cell with its Python."""
    pythons = {s: found for s in SERIES if (found := find(Version(s), os.environ))}
    cells = [(f"py{s}-id{v}", found.path) for s, found in pythons.items() for v in VERSIONS]
    folder = scratch / "matrices" / "small"
    (folder / "suite").mkdir(parents=True)
    releases = json.dumps([str(found.version) for found in pythons.values()])
    (folder / "matrix.toml").write_text(MATRIX.format(pythons=releases))
    (folder / "policy.toml").write_text(POLICY)
    (folder / "suite" / "test_small.py").write_text(SUITE)
    for words in (
        ["matrix", "discover", "small", "--write"],
        ["matrix", "lock", "small", *dict(cells)],
    ):
        timed([sys.executable, "-m", "compat", *words], scratch, env)
    (scratch / "noxfile.py").write_text(NOXFILE.format(cells=cells))
    parts = (TOX.format(name=alias(cell), cell=cell, python=python) for cell, python in cells)
    (scratch / "tox.ini").write_text("\n".join(["[tox]\nno_package = true", *parts]))
    return cells


def alias(cell: str) -> str:
    """The cell's name for tox, which reads factors between hyphens, and Pythons out of them."""
    return cell.replace("-", "_").replace(".", "_").replace("py", "cell")


def cells_part(scratch: Path, rounds: int, chosen: list[str]) -> str:
    """The table of the cells, run by each tool, and what the steps of a cell took compat."""
    tools = installed_tools(scratch)
    env = environment(scratch)
    cells = declare(scratch, env)
    ids, bin_ = [cell for cell, _ in cells], scratch / "tools" / "bin"

    def by_nox(backend: str) -> tuple[Cost, dict[str, bool]]:
        report = scratch / "report.json"
        words = [str(bin_ / "nox"), "--default-venv-backend", backend, "--report", str(report)]
        cost, _ = timed(words, scratch, env | {"PATH": f"{bin_}{os.pathsep}{env['PATH']}"})
        sessions = json.loads(report.read_text())["sessions"]
        return cost, {s["args"]["cell"]: s["result"] == "success" for s in sessions}

    def by_tox() -> tuple[Cost, dict[str, bool]]:
        report = scratch / "tox.json"
        words = [str(bin_ / "tox"), "run", "-r", "--result-json", str(report)]
        cost, _ = timed([*words, "-e", ",".join(map(alias, ids))], scratch, env)
        told = json.loads(report.read_text())["testenvs"]
        return cost, {cell: told[alias(cell)]["result"]["success"] for cell in ids}

    def by_compat(*more: str) -> tuple[Cost, dict[str, bool]]:
        words = [sys.executable, "-m", "compat", "run", "small", *ids, "--json", *more]
        cost, out = timed(words, scratch, env)
        if not more:
            steps.append(steps_of(scratch / "matrices" / "small", ids))
        told = json.loads(out)["data"]["cells"]
        return cost, {cell["id"]: cell["last"] == "pass" for cell in told}

    steps: list[dict[str, float]] = []
    ways = {
        "nox + pip": lambda: by_nox("virtualenv"),
        "nox + uv": lambda: by_nox("uv"),
        "tox-uv": by_tox,
        "compat": by_compat,
        "compat --jobs 2": lambda: by_compat("--jobs", "2"),
    }
    found = interleaved({name: ways[name] for name in chosen or ways}, rounds)
    rows = [Row(name, cost, len(ids)) for name, cost in found.items()]
    named = ", ".join(f"{name} {tools[name]}" for name in TOOLS)
    spent = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in (steps or [{}])[-1].items())
    return (
        f"## {len(ids)} small cells\n\nitsdangerous {' and '.join(VERSIONS)} with Python"
        f" {', '.join(dict.fromkeys(cell[2:].partition('-')[0] for cell in ids))}, each from the"
        f" same lock; rounds counted: {rounds}, shown is the median, caches warm; {named}."
        f" All agree on each cell.\n\n{table(rows, 'nox + uv', 'cells')}\n\n"
        f"Of compat's last round, mean of a cell: {spent}."
    )


def steps_of(matrix: Path, cells: list[str]) -> dict[str, float]:
    """The mean seconds of each step of the newest run of the cells."""
    kept = RecordFiles(matrix)
    newest = [max(kept.records(cell), key=lambda record: record.started) for cell in cells]
    told = {
        name: [getattr(record.step_seconds, name) for record in newest]
        for name in ("install", "import_", "suite", "overhead")
    }
    return {name.strip("_"): statistics.mean(s or 0 for s in found) for name, found in told.items()}


def lock_step(locker: str, scratch: Path, environ: Mapping[str, str]) -> Lock:
    """Lock the roots with one locker, from empty caches but for pip-tools' own environment."""
    inputs = decode_lock(ROOTS.read_text(encoding="utf-8"), ROOTS.name).inputs
    series = Version(f"{inputs.python.major}.{inputs.python.minor}")
    found = find(series, environ)
    assert found is not None, f"this part needs Python {series}"
    with tempfile.TemporaryDirectory() as empty:
        cold = {**environ, "HOME": empty, "UV_CACHE_DIR": f"{empty}/uv"}
        if locker == "uv":
            answer = UvLocker(settings(), cold, lambda _: found.path).lock(inputs)
        else:
            source = PyPISource(settings(), Path(empty) / "pages")
            by_pip_tools = PipToolsLocker(
                settings(), source, cold, lambda _: found.path, scratch / "compilers"
            )
            by_pip_tools.prepare(inputs.python)
            answer = by_pip_tools.lock(inputs)
    assert isinstance(answer, Lock), answer
    return answer


def locks_part(scratch: Path, rounds: int) -> str:
    """The table of the two lockers."""

    def by(locker: str) -> tuple[Cost, dict[str, bool]]:
        words = [sys.executable, __file__, "--lock", locker, "--folder", str(scratch)]
        cost, out = timed(words, scratch, os.environ)
        return cost, dict.fromkeys(out.split(), True)

    found = interleaved({"uv": lambda: by("uv"), "pip-tools": lambda: by("pip-tools")}, rounds)
    lock = decode_lock(ROOTS.read_text(encoding="utf-8"), ROOTS.name)
    roots = ", ".join(f"`{requirement}`" for requirement in lock.inputs.requirements)
    return (
        f"## One lock\n\n{roots} for Python 3.13, by compat's two lockers, each from empty caches;"
        f" rounds counted: {rounds}, shown is the median. Both pin the same versions.\n\n"
        + table([Row(name, cost) for name, cost in found.items()], "uv", "locks")
    )


def growth_part(sizes: list[int]) -> str:
    """The table that growth.py prints."""
    words = [sys.executable, str(HERE / "growth.py"), *map(str, sizes)]
    told = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout
    return (
        "## Growth\n\nA made-up matrix with ten runs of each of its cells, by number of records;"
        " between two sizes the exponent: 1 where twice the records cost twice the time."
        f"\n\n{told.strip()}"
    )


def machine() -> str:
    """What ran: the class of the machine, and the versions."""
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    uv = subprocess.run([find_uv_bin(), "--version"], check=True, capture_output=True, text=True)
    load = "/".join(f"{one:.1f}" for one in os.getloadavg())
    return (
        f"{time.strftime('%Y-%m-%d')}: {platform.system()} {platform.machine()}, {os.cpu_count()}"
        f" CPUs, {gigabytes:.0f} GB, load at the start {load}; Python {platform.python_version()},"
        f" compat {version('compat-matrix')} with {uv.stdout.split(' (')[0].strip()}."
    )


def main() -> None:
    """Measure the parts that are asked for, or lock once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["cells", "locks", "growth"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tools", nargs="+", metavar="TOOL", default=[])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--lock", choices=("uv", "pip-tools"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.lock:
        lock = lock_step(options.lock, options.folder, os.environ)
        print("\n".join(f"{pin.name}=={pin.version}" for pin in lock.pins))
        return
    if unknown := {*options.parts} - {"cells", "locks", "growth"}:
        parser.error(f"{', '.join(sorted(unknown))}: not a part; these are: cells, locks, growth")
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        if "cells" in options.parts:
            print(f"\n{cells_part(scratch, options.rounds, options.tools)}", flush=True)
        if "locks" in options.parts:
            print(f"\n{locks_part(scratch, options.rounds)}", flush=True)
        if "growth" in options.parts:
            print(f"\n{growth_part(options.sizes)}", flush=True)


if __name__ == "__main__":
    main()
