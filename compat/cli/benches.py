"""What this machine gives to runs: folders, interpreters, the isolation level, and how many cells
fit at once.
"""

import os
import platform
import shutil
import sys
from pathlib import Path

import psutil
from packaging.version import Version

from compat.cli.setting import Setting, cache_folder, environ, interpreter, sandbox_folder
from compat.declare.text import minor_series
from compat.errors import UsageError
from compat.index.settings import IndexSettings
from compat.lock.lockfile import Lock
from compat.run.evidence import Isolation
from compat.run.interpreter import bytecode_of
from compat.run.job import Bench, Job
from compat.run.supervise import levels

_INSTALL_SEES = (
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "no_proxy",
    "https_proxy",
)


def job_of(setting: Setting, cell: str, lock: Lock) -> Job:
    """Return the job that runs a locked cell of the matrix."""
    matrix = setting.ask.matrix
    package = matrix.subject_axis.package
    return Job(
        matrix=setting.folder.name,
        cell=cell,
        subject=package,
        module=matrix.suite.module or package.replace("-", "_"),
        lock=lock,
        suite=matrix.suite,
        suite_folder=str(setting.folder / matrix.suite.path),
        builds=matrix.builds,
    )


def level_of(asked: str) -> Isolation:
    """Return the isolation level to use: the one asked for, else the highest that this machine
    allows.
    """
    allowed = levels(environ())
    if not asked:
        return allowed[0]
    for level in allowed:
        if level == asked.upper():
            return level
    raise UsageError.of(
        f"this machine does not allow isolation {asked!r}; it allows {', '.join(allowed)}"
    )


def bench_of(job: Job, worker: str, index: IndexSettings, level: Isolation, keep: bool) -> Bench:
    """Return what a worker runs this job with; the interpreter is one of the job's series.

    `worker` is the folder of its cells, below the folder of all cells.
    """
    python = interpreter(job.lock.inputs.python)
    if python is None:
        raise UsageError.of(f"this machine has no Python for {job.cell}")
    tag, magic = bytecode_of(python)
    cache, sandbox = cache_folder(), sandbox_folder()
    (sandbox / "uv").mkdir(parents=True, exist_ok=True)
    return Bench(
        worker=worker,
        evidence=str(cache / "evidence"),
        bytecode=str(cache / "bytecode"),
        sandbox=str(sandbox),
        python=python,
        tag=tag,
        magic=magic,
        level=level,
        index=index,
        variables=install_variables(index),
        host=host_class(),
        hidden=hidden_places(),
        readable=readable_places(python),
        keep=keep,
    )


def install_variables(index: IndexSettings) -> tuple[tuple[str, str], ...]:
    """Return what an install or a build sees of the environment."""
    seen = {key: environ()[key] for key in _INSTALL_SEES if key in environ()}
    if index.cert is not None:
        seen["SSL_CERT_FILE"] = index.cert
    return tuple(
        sorted(
            (seen | {"PATH": "/usr/bin:/bin", "UV_CACHE_DIR": str(sandbox_folder() / "uv")}).items()
        )
    )


def hidden_places() -> tuple[str, ...]:
    """Return what cells do not see, where the level allows: the user's home folder, if there is
    one.
    """
    try:
        return (str(Path.home()),)
    except RuntimeError:
        return ()


def readable_places(python: str) -> tuple[str, ...]:
    """Return what cells on that interpreter see even if it lies in what is hidden."""
    return tuple(sorted({str(Path(python).resolve().parents[1]), sys.prefix, sys.base_prefix}))


def missing_interpreter(lock: Lock) -> Version | None:
    """Return the series that the lock needs and this machine lacks; None when it is there."""
    version = lock.inputs.python
    return Version(minor_series(version)) if interpreter(version) is None else None


def host_class() -> str:
    """Return the class of this machine, never its name."""
    gigabytes = round(psutil.virtual_memory().total / 2**30)
    return (
        f"{platform.system().lower()}-{platform.machine()}-{os.cpu_count() or 1}cpu-{gigabytes}gb"
    )


def workers_that_fit(asked: int, setting: Setting) -> int:
    """Return how many cells may run at once: what was asked, as far as free memory and disk allow;
    at least one.
    """
    suite = setting.ask.matrix.suite
    by_memory = int(psutil.virtual_memory().available / 2**20 // suite.memory_mb)
    by_disk = int(shutil.disk_usage(sandbox_folder()).free / 2**20 // suite.disk_mb)
    return max(1, min(asked, by_memory, by_disk))
