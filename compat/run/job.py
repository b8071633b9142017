"""A worker's input: the job, the bench to run it with, its interpreter, and the canary."""

import hashlib
from functools import cache
from pathlib import Path

from packaging.version import Version

from compat import files
from compat.declare.matrix import Suite, Tier
from compat.errors import ToolFailed
from compat.index.settings import IndexSettings
from compat.lock.lockfile import Inputs, Lock, Pin
from compat.lock.sources import pure_wheel
from compat.lock.uv import run_tool
from compat.run.evidence import Isolation
from compat.value import Value


class Job(Value, frozen=True, kw_only=True):
    """What to run: a lock, the suite and its folder, and the subject's package and module.

    Without a suite folder the run ends after the import. With `links`, a folder of wheels, no index
    is used. The source distributions of `builds`, each `name==version`, are built where the lock
    requires it; everything else installs as wheels. A pin is installed from a local file where
    `wheels` has one of its hashes: the (sha256, path) of a checkout's wheels. Tier `smoke` runs
    only the suite's core capabilities. `newer` are the ids of tests and files that are newer than
    the release; they are skipped.
    """

    matrix: str
    cell: str
    subject: str
    module: str
    lock: Lock
    suite: Suite
    suite_folder: str
    links: str = ""
    builds: tuple[str, ...] = ()
    wheels: tuple[tuple[str, str], ...] = ()
    tier: Tier = "full"
    newer: tuple[str, ...] = ()


class Bench(Value, frozen=True, kw_only=True):
    """What a worker runs cells with: folders, interpreter, isolation level, and access to the
    index.

    `tag` and `magic` name the interpreter's bytecode. `variables` are what an install may see of
    the caller's environment; a suite sees none of it. An install writes into `sandbox`, which holds
    uv's cache and the cells, so that one mount serves both and files are hard links. A suite writes
    only into its cell's home. At L3 cells see only the system's folders and `readable`. `keep`
    leaves the cell's folder on disk. `canaries` is the folder that stores the days on which a
    canary passed; empty stores none.
    """

    worker: str
    evidence: str
    bytecode: str
    sandbox: str
    python: str
    tag: str
    magic: bytes
    level: Isolation
    index: IndexSettings
    variables: tuple[tuple[str, str], ...]
    host: str
    readable: tuple[str, ...] = ()
    keep: bool = False
    canaries: str = ""


# Facts about a cell's interpreter, its bytecode names, and this machine's processor.

_ASK = (
    "import importlib.util, sys; print(sys.implementation.cache_tag,"
    " importlib.util.MAGIC_NUMBER.hex())"
)

# The levels of the x86-64 psABI by Linux's names for their features, newest first:
# https://gitlab.com/x86-psABIs/x86-64-ABI
_LEVELS = (
    ("x86-64-v4", "avx512f avx512bw avx512cd avx512dq avx512vl"),
    ("x86-64-v3", "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"),
    ("x86-64-v2", "cx16 lahf_lm popcnt pni sse4_1 sse4_2 ssse3"),
    ("x86-64", "lm sse2"),
)


@cache
def bytecode_of(python: str) -> tuple[str, bytes]:
    try:
        done = run_tool([python, "-I", "-S", "-c", _ASK], Path("/"), {}, 60)
        tag, magic = done.stdout.split()
        return tag, bytes.fromhex(magic)
    except (ToolFailed, ValueError) as error:
        raise ToolFailed.of(
            "an interpreter of this machine does not answer", hint="compat plan MATRIX --here"
        ) from error


def processor_level(listing: Path = Path("/proc/cpuinfo")) -> str:
    """Such as `x86-64-v3`; empty for another processor, and where there is no listing."""
    try:
        with listing.open(encoding="utf-8", errors="replace") as lines:
            flags = next((line for line in lines if line.startswith("flags")), "")
    except OSError:
        return ""
    features = frozenset(flags.partition(":")[2].split())
    level = ""
    for name, needed in reversed(_LEVELS):
        if not features.issuperset(needed.split()):
            break
        level = name
    return level


# The canary: a cell that fails only on a broken worker, and needs no index and no matrix.

_NAME = "compat-canary"


def canary(folder: Path, python: Version, platform: str = "") -> Job:
    """Workers do this concurrently: the wheel is written atomically, with the same bytes."""
    name, wheel = pure_wheel(_NAME, "1.0", modules={"compat_canary.py": "ALIVE = True\n"})
    files.write(folder / name, wheel)
    pin = Pin(name=_NAME, version=Version("1.0"), hashes=(hashlib.sha256(wheel).hexdigest(),))
    requirements = (f"{_NAME}==1.0",)
    inputs = Inputs(cell="canary", python=python, platform=platform, requirements=requirements)
    return Job(
        matrix="canary",
        cell="canary",
        subject=_NAME,
        module="compat_canary",
        lock=Lock(inputs=inputs, pins=(pin,), tool="canary"),
        suite=Suite(path="suite", seconds=120),
        suite_folder="",
        links=str(folder),
    )
