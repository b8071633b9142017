"""What each question costs as records grow: a made-up matrix with ten runs of each of its cells.

Usage: growth.py [SIZE...] [--folder FOLDER] [--publish MOST] [--json]; sizes are numbers of
records, by default 1000 10000. Each step runs in a process of its own. Printed are CPU seconds and
megabytes of each, and between two sizes the growth exponent: 1 where twice the records cost twice
the time. Publishing makes a page of every cell, so only sizes up to MOST records are published.
"""

import argparse
import datetime
import hashlib
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from packaging.tags import parse_tag
from packaging.version import Version

from compat import files
from compat.declare.load import decode_matrix
from compat.index.discover import encode_catalogue
from compat.index.release import Artifact, Catalogue, Package, Published, Release
from compat.lock.lockfile import Inputs, Lock, Pin, encode_lock
from compat.plan.plan import Feasible, plan
from compat.results.record import (
    Attempt,
    Capability,
    Record,
    StepSeconds,
    encode_line,
)
from compat.results.snapshot import agenda
from compat.run.evidence import Installed, Metric
from compat.run.outcome import parse_outcome
from compat.run.suitefiles import suite_digest
from compat.workspace import Workspace

RUNS_A_CELL, RECORDS_A_DAY, MOST_NEW = 10, 1_000, 1_000
PYTHONS = ("3.8.18", "3.9.18", "3.10.13", "3.11.7", "3.12.1")
PLATFORM = "x86_64-manylinux_2_28"
# As many capabilities, packages and metrics as a run of the largest matrix here reports.
CAPABILITIES = tuple(f"area{n % 12}.capability-{n}" for n in range(132))
PACKAGES = tuple(f"package-{n}" for n in range(85))
METRICS = tuple(f"metric_{n}_seconds" for n in range(11))
OUTCOMES = (
    *["pass"] * 5,
    "test-fail:assertion(area7.capability-7; at demo/sums.py:31)",
    "import-fail:missing-module(dep.old)",
)
MATRIX = f"""
name = "growth"
title = "Growth"
subject = "demo"
platform = "{PLATFORM}"
margin_days = 10

[suite]
path = "suite"
module = "demo"
requirements = ["pytest"]
seconds = 300

[[axes]]
kind = "interpreter"
name = "python"
short = "py"
releases = {json.dumps(PYTHONS)}

[[axes]]
kind = "package"
name = "dep"
short = "dep"
package = "dep"
select = {{ keep = "minor" }}

[[axes]]
kind = "package"
name = "demo"
short = "demo"
package = "demo"

[[floors]]
axis = "dep"
at = "1.2"
because = "that is what the oldest supported release asks for"
"""
POLICY = 'default_months = 36\ncadence = "quarterly"\nnotice_days = 60\nwitnesses = 2\n'
TEST = '@pytest.mark.capability("{id}", title="Do {id}", says="It does.")\ndef test_{n}(): ...\n'
FIRST_RELEASE = datetime.datetime(2023, 1, 2, tzinfo=datetime.timezone.utc)
STEPS = (
    *("index", "add", "show", "verdicts", "verdicts again"),
    *("verdicts new", "advise", "advise again", "propose"),
)
# Before these, records of this hour of yesterday evening are written.
NEW = {"add": 3, "verdicts new": 2, "publish new": 1}
STEPS_OF_PAGES = ("publish", "publish new", "idle")


def releases(name: str, count: int) -> Package:
    """A package with so many releases, the newest of today's year."""
    asked = ("dep>=1.0",) if name == "demo" else ()
    published = Published(requires_python=None, requires_dist=asked)
    found = []
    for number in range(count):
        version = f"1.{number}.0"
        artifact = Artifact(
            filename=f"{name}-{version}-py3-none-any.whl",
            url=f"https://files.example/{name}-{version}-py3-none-any.whl",
            tags=parse_tag("py3-none-any"),
            uploaded=FIRST_RELEASE + datetime.timedelta(days=1_400 * number / count),
        )
        found.append(Release(version=Version(version), artifacts=(artifact,), published=published))
    return Package(name=name, releases=tuple(found))


def catalogue_of(cells: int) -> Catalogue:
    """A catalogue whose plan has at least so many cells that can be installed."""
    dep = max(4, min(40, math.isqrt(cells // 5)))
    demo = max(4, math.ceil(cells / (len(PYTHONS) * dep) * 1.1))
    return Catalogue(packages=(releases("dep", dep), releases("demo", demo)))


def declare(folder: Path, cells: int) -> list[str]:
    """Write matrix, policy, suite and catalogue; return the ids of the cells that have runs."""
    catalogue, matrix = catalogue_of(cells), decode_matrix(MATRIX.encode(), "growth")
    files.write(folder / "matrix.toml", MATRIX)
    files.write(folder / "policy.toml", POLICY)
    files.write(folder / "catalogue.json", encode_catalogue(catalogue, matrix))
    tests = (TEST.format(id=name, n=n) for n, name in enumerate(CAPABILITIES))
    files.write(folder / "suite" / "test_demo.py", "\n".join(["import pytest", *tests]))
    feasible = [
        fate.cell.id for fate in plan(matrix, catalogue).fates if isinstance(fate, Feasible)
    ]
    assert len(feasible) >= cells
    return feasible[:: len(feasible) // cells][:cells]


@cache
def pin_of(name: str, version: str) -> Pin:
    """A pin; the locks of a matrix have most of theirs in common."""
    digest = hashlib.sha256(f"{name}{version}".encode()).hexdigest()
    return Pin(name=name, version=Version(version), hashes=(digest,))


def lock_of(cell: str) -> Lock:
    """A lock of the cell, with all packages."""
    dep, demo = cell.partition("dep")[2].split("-demo")
    versions = {name: f"1.{(len(cell) + n) % 9}.0" for n, name in enumerate(PACKAGES)}
    versions |= {"demo": demo.partition("+")[0], "dep": f"{dep}.0"}
    pins = tuple(pin_of(name, version) for name, version in sorted(versions.items()))
    python = next(full for full in PYTHONS if cell.startswith(f"py{full.rpartition('.')[0]}-"))
    inputs = Inputs(
        cell=cell, python=Version(python), platform=PLATFORM, requirements=("demo", "pytest")
    )
    return Lock(inputs=inputs, pins=pins, tool="uv 0.13.9")


@cache
def rows_of(kind: int, *, is_failing: bool) -> tuple[Capability, ...]:
    """What each capability came to; few cells differ in it."""
    return tuple(
        Capability(
            id=name,
            status="no",
            cause="assertion",
            subject="the sums differ (demo/sums.py:31)",
            spelling=f"demo.c{n}",
        )
        if is_failing and n == 7
        else Capability(id=name, status="absent", missing=(f"demo.c{n}",))
        if n % 40 == kind % 40
        else Capability(id=name, status="yes", spelling=f"demo.c{n}")
        for n, name in enumerate(CAPABILITIES)
    )


def made_record(number: int, lock: Lock, suite: str, started: datetime.datetime) -> Record:
    """The run of that number: cells keep their outcome but for one in fifty."""
    cell = lock.inputs.cell
    kind = hashlib.sha256(cell.encode()).digest()[0] + (number % 50 == 0)
    told = OUTCOMES[kind % len(OUTCOMES)]
    outcome, seconds = parse_outcome(told), 30 + number % 977 / 7
    reached = not told.startswith("import")
    rows = rows_of(kind % 40, is_failing="assertion" in told)
    metrics = tuple(
        Metric(name=name, value=seconds / (n + 1), unit="s", better="lower")
        for n, name in enumerate(METRICS)
    )
    return Record(
        cell=cell,
        matrix="growth",
        outcome=outcome,
        attempts=(Attempt(outcome=outcome, seconds=seconds, started=started, isolation="L3"),),
        lock_digest=lock.digest,
        suite_digest=suite,
        started=started,
        seconds=seconds,
        host="linux-x86_64-2cpu-24gb",
        isolation="L3",
        tool=lock.tool,
        capabilities=rows if reached else (),
        metrics=metrics if reached else (),
        installed=tuple(Installed(name=p.name, version=str(p.version)) for p in lock.pins),
        step_seconds=StepSeconds(
            install=seconds / 9, import_=1.5, suite=seconds / 2, overhead=2.25
        ),
        log="" if told == "pass" else f"run {number}: the sums of this run differ\n" * 30,
    )


def records_of(count: int, ids: list[str], workspace: Workspace) -> Iterator[Record]:
    """Yield the records by day, up to yesterday; ten of each cell, at least a day apart."""
    suite = suite_digest(workspace.suite_folder)
    locks = {cell: lock_of(cell) for cell in ids}
    a_day = min(RECORDS_A_DAY, len(ids))
    first = midnight(workspace.day) - datetime.timedelta(days=math.ceil(count / a_day))
    for number in range(count):
        day, minute = divmod(number, a_day)
        moment = first + datetime.timedelta(days=day, minutes=minute)
        yield made_record(number, locks[ids[number % len(ids)]], suite, moment)


def midnight(day: datetime.date) -> datetime.datetime:
    """The first moment of a day, UTC."""
    return datetime.datetime.combine(day, datetime.time(), datetime.timezone.utc)


def keep(workspace: Workspace, record: Record) -> None:
    """Write a record's line, without waiting for the disk as a run does."""
    path = workspace.store.folder / f"{record.started:%Y-%m-%d}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(encode_line(record))


def made_workspace(root: Path, cache: Path) -> Workspace:
    """The workspace of the made-up matrix."""
    today = datetime.datetime.now(datetime.timezone.utc).date()
    return Workspace(root / "matrices" / "growth", today, lambda: cache)


def generate(root: Path, count: int) -> None:
    """Write a matrix with so many records below the folder."""
    workspace = made_workspace(root, root / "cache")
    ids = declare(workspace.folder, count // RUNS_A_CELL)
    (workspace.folder / "locks").mkdir(exist_ok=True)
    for cell in ids:
        workspace.lock_path(cell).write_text(encode_lock(lock_of(cell)))
    for record in records_of(count, ids, workspace):
        keep(workspace, record)


def add_new(root: Path, hour: int) -> None:
    """Write up to a thousand records of that hour of yesterday evening, of as many cells."""
    workspace = made_workspace(root, root / "cache")
    ids = [cell for cell, _ in workspace.lock_paths()]
    suite = suite_digest(workspace.suite_folder)
    begin = midnight(workspace.day) - datetime.timedelta(hours=hour)
    for number, cell in enumerate(ids[:: max(1, len(ids) // MOST_NEW)][:MOST_NEW]):
        moment = begin + datetime.timedelta(seconds=number)
        keep(workspace, made_record(number, lock_of(cell), suite, moment))


def refresh(root: Path) -> None:
    """Bring the table to what the records say."""
    assert made_workspace(root, root / "cache").runs is not None


def verdicts(root: Path) -> None:
    """Ask for every verdict, and for what is due."""
    known = made_workspace(root, root / "cache").snapshot
    kinds = {entry.cell.id: entry.kind for entry in known.known}
    assert len(kinds) == len(known.known)
    agenda(known)


def step(name: str, root: Path) -> list[str]:
    """The words of a step's command."""
    compat = [sys.executable, "-m", "compat"]
    here, at = [sys.executable, str(Path(__file__))], ["--root", str(root)]
    cell = next(path.stem for path in sorted((root / "matrices/growth/locks").glob("*.txt")))
    published = [*compat, "publish", "--out", str(root / "site"), *at]
    words = {
        "index": [*here, "--step", "index", "--folder", str(root)],
        "verdicts": [*here, "--step", "verdicts", "--folder", str(root)],
        "show": [*compat, "show", "growth", cell, *at],
        "advise": [*compat, "advise", "growth", *at],
        "propose": [*compat, "propose", "growth", *at],
    }
    return words.get("index" if name == "add" else name.partition(" ")[0], published)


def cost(words: list[str], cache: Path) -> tuple[float, float]:
    """Return the CPU seconds and the most megabytes of a process; raise when it fails."""
    inherited = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    process = subprocess.Popen(
        words,
        env=inherited | {"COMPAT_CACHE_DIR": str(cache), "COLUMNS": "120"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    trouble = process.stderr.read().decode()[-2_000:]
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1) or "Traceback" in trouble:
        raise RuntimeError(f"{' '.join(words)} ended with {process.returncode}: {trouble}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measured(root: Path, is_published: bool) -> dict[str, tuple[float, float]]:
    """Return CPU seconds and megabytes of each step, of a matrix with so many records."""
    figures: dict[str, tuple[float, float]] = {}
    for name in (*STEPS, *STEPS_OF_PAGES) if is_published else STEPS:
        if name in NEW:
            add_new(root, NEW[name])
        figures[name] = cost(step(name, root), root / "cache")
        print(f"  {name}: {figures[name][0]:.2f} s", file=sys.stderr, flush=True)
    return figures


def table(rows: dict[int, dict[str, tuple[float, float]]]) -> str:
    """The figures of every size, and the exponent between each two."""
    sizes = sorted(rows)
    head = ["CPU s (MB)", *(f"{size:,}" for size in sizes)]
    head += [f"{low:,} to {high:,}" for low, high in itertools.pairwise(sizes)]
    lines = [head, ["---"] * len(head)]
    for name in (*STEPS, *STEPS_OF_PAGES):
        line = [name]
        for size in sizes:
            seconds, megabytes = rows[size].get(name, (math.nan, math.nan))
            line.append("" if math.isnan(seconds) else f"{seconds:.2f} ({megabytes:.0f})")
        for low, high in itertools.pairwise(sizes):
            if name in rows[low] and name in rows[high]:
                ratio = rows[high][name][0] / max(rows[low][name][0], 0.01)
                line.append(f"{math.log(ratio) / math.log(high / low):.2f}")
            else:
                line.append("")
        lines.append(line)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Measure each size, or do one step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[1_000, 10_000])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--publish", type=int, default=10_000, metavar="MOST")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--step", choices=("generate", "index", "verdicts"))
    options = parser.parse_args()
    if options.step == "generate":
        generate(options.folder, options.sizes[0])
        return
    if options.step == "index":
        refresh(options.folder)
        return
    if options.step == "verdicts":
        verdicts(options.folder)
        return
    rows: dict[int, dict[str, tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for size in options.sizes:
            root = (options.folder or Path(scratch)) / str(size)
            if not (root / "matrices").exists():
                # In a process of its own: those that are measured begin as large as this one is.
                words = [sys.executable, str(Path(__file__)), "--step", "generate"]
                seconds, _ = cost([*words, "--folder", str(root), str(size)], root / "cache")
                note = f"{size:,} records, generated in {seconds:.0f} s"
                print(note, file=sys.stderr, flush=True)
            rows[size] = measured(root, size <= options.publish)
    if options.json:
        print(json.dumps({size: rows[size] for size in rows}))
    else:
        print(table(rows))


if __name__ == "__main__":
    main()
