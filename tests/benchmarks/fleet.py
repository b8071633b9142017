"""Tiny cells on a Dask cluster of this machine beside the same cells without one.

Usage: fleet.py [--cells N] [--workers N]. Printed is Markdown: cells a minute, CPU seconds of all
processes, and what the engine costs: the difference of a cell.
"""

import argparse
import datetime
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from packaging.version import Version
from side_by_side import (
    MATRIX,
    POLICY,
    SERIES,
    SUITE,
    Cost,
    Row,
    environment,
    machine,
    table,
    timed,
)

from compat.index.interpreters import find
from compat.workspace import Workspace

# Two further axes whose releases need nothing: with the first alone there are 320 cells.
AXES = """
[[axes]]
kind = "package"
name = "idna"
short = "i"
package = "idna"
select = { specifier = ">=2.0" }

[[axes]]
kind = "package"
name = "six"
short = "s"
package = "six"
select = { specifier = ">=1.10" }
"""
COMPAT = [sys.executable, "-m", "compat"]


def declare(scratch: Path, count: int, env: dict[str, str]) -> list[str]:
    """Write a matrix with so many cells, and their locks; return the ids of those with a lock."""
    folder = scratch / "matrices" / "fleet"
    (folder / "suite").mkdir(parents=True)
    pythons = [str(found.version) for s in SERIES if (found := find(Version(s), os.environ))]
    text = MATRIX.replace('"small"', '"fleet"').format(pythons=json.dumps(pythons)) + AXES
    (folder / "matrix.toml").write_text(text)
    (folder / "policy.toml").write_text(POLICY)
    (folder / "suite" / "test_small.py").write_text(SUITE)
    timed([*COMPAT, "matrix", "discover", "fleet", "--write"], scratch, env)
    workspace = Workspace(folder, datetime.date.today(), lambda: scratch / "cache")
    every = [
        entry.cell.id
        for entry in workspace.snapshot.entries
        if entry.cell.recipe == "fresh" and entry.obstacle is None
    ]
    chosen = every[:: max(1, len(every) // count)][:count]
    timed([*COMPAT, "matrix", "lock", "fleet", *chosen, "--jobs", "2"], scratch, env)
    return [cell for cell in chosen if workspace.lock_path(cell).exists()]


def run(scratch: Path, cells: list[str], env: dict[str, str], *more: str) -> tuple[Cost, list[str]]:
    """Return what a run of the cells cost, and what each came to."""
    words = [*COMPAT, "run", "fleet", *cells, "--json", *more]
    cost, out = timed(words, scratch, env)
    return cost, sorted(f"{c['id']} {c['last']}" for c in json.loads(out)["data"]["cells"])


def on_cluster(
    scratch: Path, cells: list[str], env: dict[str, str], workers: int
) -> tuple[Cost, list[str]]:
    """Return the same of a cluster of so many workers, whose processes count; its start does not
    count as time.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (scratch / "cluster.log").open("wb") as log:
        words = [*COMPAT, "fleet", "cluster", "--workers", str(workers), "--port", str(port)]
        cluster = subprocess.Popen(words, cwd=scratch, env=env, stdout=log, stderr=log)
        while (scratch / "cluster.log").read_text().count("joined") < workers:
            if cluster.poll() is not None:
                raise SystemExit((scratch / "cluster.log").read_text())
            time.sleep(0.5)
        try:
            cost, told = run(scratch, cells, env, "--fleet", f"dask://127.0.0.1:{port}")
        finally:
            cluster.send_signal(signal.SIGINT)
            _, _, usage = os.wait4(cluster.pid, 0)
            cluster.returncode = 0
    return Cost(cost.cpu + usage.ru_utime + usage.ru_stime, cost.wall), told


def main() -> None:
    """Measure both, after a run of each cell that is not counted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=1_000)
    parser.add_argument("--workers", type=int, default=4)
    options = parser.parse_args()
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        env = environment(scratch)
        cells = declare(scratch, options.cells, env)
        print(f"{len(cells)} cells have a lock", file=sys.stderr, flush=True)
        jobs = ("--jobs", str(options.workers))
        run(scratch, cells[:20], env, *jobs)
        alone, told = run(scratch, cells, env, *jobs)
        print(f"without a cluster: {alone.wall:.0f} s", file=sys.stderr, flush=True)
        fleet, told_by_fleet = on_cluster(scratch, cells, env, options.workers)
    if told != told_by_fleet:
        raise SystemExit("the cluster says otherwise of some cells")
    rows = [
        Row(f"--jobs {options.workers}", alone, len(cells)),
        Row(f"cluster of {options.workers}", fleet, len(cells)),
    ]
    print(f"\n## {len(cells)} tiny cells on a cluster\n")
    print(table(rows, rows[0].name, "cells"))
    wall, cpu = (a - b for a, b in ((fleet.wall, alone.wall), (fleet.cpu, alone.cpu)))
    print(
        f"\nThe engine costs {1000 * wall / len(cells):.0f} ms of time and"
        f" {1000 * cpu / len(cells):.0f} ms of CPU a cell."
    )


if __name__ == "__main__":
    main()
