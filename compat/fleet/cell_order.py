"""What travels between a run and the workers of a cluster: the order to run a cell, and what a
worker says of it.
"""

import zlib
from typing import Literal, TypeVar

import msgspec
from packaging.version import Version

from compat.declare.matrix import decode_custom
from compat.errors import CompatError
from compat.files import code_digest
from compat.run.evidence import Evidence
from compat.run.job import Job
from compat.run.steps import Activity
from compat.value import StrictValue, encode

# The largest evidence of this repository's matrices has 0.6 MB (November 2026).
LARGEST_MESSAGE = 64 << 20
_PYTHON = "python"

T = TypeVar("T")


class ClusterLost(CompatError):
    """The scheduler of a cluster does not answer."""

    exit_code = 3
    code = "cluster-lost"


class ClusterHostile(ClusterLost):
    """Somebody who can reach the scheduler sent this run something that no worker sends."""

    code = "cluster-hostile"


class CellOrder(StrictValue, frozen=True, kw_only=True):
    """A cell to be run, and everything that a worker needs for it besides its own folders.

    Its messages go to `topic`. `suite` has the suite's files by their path, as the suite's folder
    is on another machine; None where there is none. With `merged`, all the worker's indexes count
    as one.
    """

    topic: str
    job: Job
    attempts: int
    suite: dict[str, bytes] | None
    merged: bool


class WorkerMessage(StrictValue, frozen=True, kw_only=True):
    """What a worker says, the first that it has to say being `began`.

    `entered` names the activity and the cell's folder; `ended` has the evidence of each attempt and
    the folders that tell the worker's machine from others; `faulted` is a fault of compat itself.
    With `stopped` the worker takes no more cells, this one included; with `returned` it did not
    run the cell.
    """

    kind: Literal["began", "entered", "ended", "faulted", "stopped", "returned"]
    worker: str
    cell: str
    activity: Activity | None = None
    folder: str = ""
    attempts: tuple[Evidence, ...] = ()
    places: tuple[str, ...] = ()
    why: str = ""


def packed(value: CellOrder | WorkerMessage) -> bytes:
    """Return a value as it travels: compressed JSON, so that reading it runs no code."""
    return zlib.compress(encode(value), 1)


def unpacked(data: object, kind: type[T]) -> T | None:
    """Return the value; None for anything else: whoever reaches the scheduler can send it."""
    if not isinstance(data, bytes):
        return None
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(data, LARGEST_MESSAGE)
        if unpacking.unconsumed_tail:
            return None
        return msgspec.json.decode(text, type=kind, dec_hook=decode_custom)
    except (zlib.error, msgspec.MsgspecError, RecursionError):
        return None


def resources_for(job: Job) -> dict[str, float]:
    """Return what a worker must have for the job, as resources of Dask: a place for a cell, the
    interpreter, the memory and the disk in MiB, and the same code of compat.
    """
    return {
        "cell": 1,
        python_resource(job.lock.inputs.python): 1,
        "memory-mb": job.suite.memory_mb,
        "disk-mb": job.suite.disk_mb,
        code_resource(): 1,
    }


def python_resource(version: Version) -> str:
    return f"{_PYTHON}{version.major}.{version.minor}"


def code_resource() -> str:
    """Return the name of the resource that workers with the same code of compat have: other code
    would make other records.
    """
    return f"compat-{code_digest()[:16]}"


def resource_words(name: str) -> str:
    if name == code_resource():
        return "this run's code of compat (start the workers from the same version)"
    if name.startswith(_PYTHON):
        return f"Python {name.removeprefix(_PYTHON)}"
    return {
        "cell": "a place for a cell",
        "memory-mb": "as much memory as the cell may take",
        "disk-mb": "as much disk as the cell may take",
    }.get(name, name)


def lacking(needs: dict[str, float], offered: dict[str, float]) -> tuple[str, ...]:
    return tuple(name for name, amount in needs.items() if offered.get(name, 0) < amount)
