"""The canary: a cell that cannot fail unless the worker is broken.

It needs no index and no matrix.
"""

import base64
import hashlib
import io
import zipfile
from pathlib import Path

from packaging.version import Version

from compat import files
from compat.declare.suite_table import Suite
from compat.lock.lockfile import Inputs, Lock, Pin
from compat.run.job import Job

_NAME = "compat-canary"
_WHEEL = "compat_canary-1.0-py3-none-any.whl"
_FILES = {
    "compat_canary.py": "ALIVE = True\n",
    "compat_canary-1.0.dist-info/METADATA": (
        "Metadata-Version: 2.1\nName: compat-canary\nVersion: 1.0\n"
    ),
    "compat_canary-1.0.dist-info/WHEEL": (
        "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    ),
}


def canary(folder: Path, python: Version, platform: str = "") -> Job:
    """Write the canary's wheel into `folder`, and return the job that installs and imports it.

    Workers do this concurrently, so the wheel is written atomically and has the same bytes each
    time.
    """
    wheel = _wheel()
    files.write(folder / _WHEEL, wheel)
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


def _wheel() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        record = []
        # A ZipInfo without a time has a fixed one, so equal wheels have equal bytes.
        for name, text in _FILES.items():
            archive.writestr(zipfile.ZipInfo(name), text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
            record.append(f"{name},sha256={digest.decode()},{len(text)}\n")
        archive.writestr(zipfile.ZipInfo("compat_canary-1.0.dist-info/RECORD"), "".join(record))
    return packed.getvalue()
