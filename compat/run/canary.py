"""The canary: a cell that fails only on a broken worker, and needs no index and no matrix."""

import hashlib
from pathlib import Path

from packaging.version import Version

from compat import files
from compat.declare.suite_table import Suite
from compat.lock.lockfile import Inputs, Lock, Pin
from compat.lock.sources import pure_wheel
from compat.run.job import Job

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
