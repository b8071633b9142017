"""A cell whose lock builds a source distribution of release 1.0, for tests of builds."""

import datetime
import sys
import threading
from pathlib import Path
from typing import Any

from packaging.version import Version

from compat.declare.matrix import Suite
from compat.lock.lockfile import Inputs, Lock, Pin
from compat.run.cell_run import CellRun
from compat.run.job import Bench, Job

THEN = datetime.datetime(2024, 1, 10, tzinfo=datetime.timezone.utc)
PYTHON = Version(".".join(map(str, sys.version_info[:3])))


def inputs_of(name: str, as_of: datetime.datetime | None = None) -> Inputs:
    """Return what the cell's lock is made of."""
    return Inputs(
        cell="c",
        python=PYTHON,
        platform="x86_64-manylinux_2_28",
        requirements=(f"{name}==1.0",),
        as_of=as_of,
    )


def run_of(
    inputs: Inputs, digest: str, folder: Path, builds: tuple[str, ...], **bench: Any
) -> CellRun:
    """Return the run of that cell in a folder; the matrix names these builds."""
    name, _, _ = inputs.requirements[0].partition("==")
    pin = Pin(name=name, version=Version("1.0"), hashes=(digest,))
    job = Job(
        matrix="m",
        cell="c",
        subject=name,
        module=name,
        suite=Suite(path="suite"),
        suite_folder="",
        lock=Lock(inputs=inputs, pins=(pin,), tool="made", builds=(name,)),
        builds=builds,
    )
    facts: dict[str, Any] = {
        "worker": "w",
        "evidence": str(folder / "evidence"),
        "bytecode": str(folder / "bytecode"),
        "python": sys.executable,
        "tag": sys.implementation.cache_tag,
        "magic": b"",
        "host": "linux-x86_64-1cpu-1gb",
    }
    return CellRun(job, Bench(**facts, **bench), THEN, threading.Event())


def variables(cache: Path) -> tuple[tuple[str, str], ...]:
    """Return the variables of a build that has its own cache and asks an index on this machine."""
    return (("NO_PROXY", "127.0.0.1"), ("PATH", "/usr/bin:/bin"), ("UV_CACHE_DIR", str(cache)))
