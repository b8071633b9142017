"""This machine: clock, environment, folders, interpreters, and what it gives to runs."""

from __future__ import annotations

import datetime
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import Version

from compat.errors import UsageError, reason

if TYPE_CHECKING:
    from compat.index.settings import IndexSettings
    from compat.run.cached import Scratch
    from compat.run.evidence import Isolation
    from compat.run.job import Bench, Job

_OTHER_CACHE = "set COMPAT_CACHE_DIR to a writable folder"
# What a worker process needs: its folders, its locale, the package index and Dask's own settings.
# uv's settings for publishing and its tokens are not among them.
_OF_WORKERS = re.compile(
    r"(?!UV_PUBLISH_|\w*TOKEN)(PATH|HOME|USER|LOGNAME|TMPDIR|TEMP|TMP|LANG|LC_\w+|TERM|NO_COLOR"
    r"|VIRTUAL_ENV|PYTHON(PATH|SAFEPATH)|COMPAT_CACHE_DIR|PYENV_\w+|XDG_\w+|PIP_\w+|UV_\w+"
    r"|SSL_CERT_\w+|DASK_\w+|(HTTP|HTTPS|NO|ALL)_PROXY|(http|https|no|all)_proxy)"
)
_INSTALL_SEES = (
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "no_proxy",
    "https_proxy",
)


def today() -> datetime.date:
    return datetime.datetime.now(datetime.timezone.utc).date()


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)


def environ() -> Mapping[str, str]:
    return os.environ


def forget_environment() -> None:
    """Start this program again without variables that a worker does not need.

    Whoever reaches its scheduler can run code in it, and must find no token. `os.environ` is not
    enough: the kernel shows forever what a process was started with.
    """
    needed = {name: text for name, text in os.environ.items() if _OF_WORKERS.fullmatch(name)}
    if len(needed) < len(os.environ):
        sys.stdout.flush()
        os.execve(sys.executable, sys.orig_argv, needed)


@contextmanager
def scratch(folder: Path) -> Iterator[Scratch]:
    """Yield a folder of this command, after removing those of dead processes beside it."""
    from compat.run.cached import Scratch, remove_dead_folders

    remove_dead_folders(folder)
    own = Scratch(folder)
    try:
        yield own
    finally:
        own.close()


def run_url() -> str:
    server, repository, run = (
        environ().get(f"GITHUB_{name}", "") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID")
    )
    is_run = server.startswith("https://") and repository and run.isdecimal()
    return f"{server}/{repository}/actions/runs/{run}" if is_run else ""


def cache_folder() -> Path:
    """Return the cache folder; COMPAT_CACHE_DIR moves it. Raises UsageError for a user without a
    home.
    """
    named = environ().get("COMPAT_CACHE_DIR")
    if named:
        return Path(named)
    import platformdirs

    try:
        return platformdirs.user_cache_path("compat-matrix", appauthor=False)
    except RuntimeError as error:
        message = "this user has no home folder for the cache"
        raise UsageError.of(message, hint=_OTHER_CACHE) from error


def level_folder(level: Isolation) -> Path:
    """Return the cache of an isolation level, which no other level reads: its cells may have
    written it.
    """
    return cache_folder() / level


def sandbox_folder(level: Isolation = "L3") -> Path:
    """Return the folder of a level's cells and of the uv cache that they link from (one file
    system).

    Lockers use that of L3, to which no cell can write. Raises UsageError if it is not writable.
    """
    folder = level_folder(level) / "sandbox"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise UsageError.of(
            f"the cache folder cannot be created: {reason(fault)}", hint=_OTHER_CACHE
        ) from fault
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError.of("the cache folder is not writable", hint=_OTHER_CACHE)
    return folder


@cache
def machine_paths() -> tuple[str, ...]:
    """Return the folders that distinguish this machine from others, for redaction."""
    top = [path for path in Path("/").iterdir() if path.is_dir()]
    named = [Path(value) for n in ("TMPDIR", "TEMP", "TMP", "HOME") if (value := environ().get(n))]
    own = [cache_folder(), Path.cwd(), Path(sys.prefix), Path(sys.base_prefix), *named]
    return tuple(sorted({str(path) for path in (*top, *own, *(path.resolve() for path in own))}))


def without_paths(text: str) -> str:
    from compat.results.redact import redacted

    return redacted(text, places=machine_paths())


def interpreter(patch: Version, platform: str = "") -> str | None:
    """Return the path of an interpreter of that series, and of the build that a platform names."""
    from compat.index.interpreters import find
    from compat.plan.platform import build_of

    series, queries = Version(f"{patch.major}.{patch.minor}"), cache_folder() / "interpreters"
    nearest = find(series, environ(), queries, build_of(platform))
    return None if nearest is None else nearest.path


def level_of(asked: str) -> Isolation:
    """Return the requested isolation level, else the highest that this machine allows."""
    from compat.run.supervise import levels

    allowed = levels(environ())
    if not asked:
        return allowed[0]
    for level in allowed:
        if level == asked.upper():
            return level
    raise UsageError.of(
        f"this machine does not allow isolation {asked!r}; it allows {', '.join(allowed)}",
        hint="L3 needs bubblewrap and unprivileged user namespaces: docs/operations.md, Isolation",
    )


def bench_of(job: Job, worker: str, index: IndexSettings, level: Isolation, keep: bool) -> Bench:
    """Return what a worker needs to run this job; `worker` is its folder below all cells."""
    from compat.run.job import Bench, bytecode_of

    python = interpreter(job.lock.inputs.python, job.lock.inputs.platform)
    if python is None:
        raise UsageError.of(f"this machine has no Python for {job.cell}")
    tag, magic = bytecode_of(python)
    cache, sandbox = level_folder(level), sandbox_folder(level)
    (sandbox / "uv").mkdir(parents=True, exist_ok=True)
    return Bench(
        worker=worker,
        evidence=str(cache_folder() / "evidence"),
        bytecode=str(cache / "bytecode"),
        sandbox=str(sandbox),
        python=python,
        tag=tag,
        magic=magic,
        level=level,
        index=index,
        variables=install_variables(index, level),
        host=host_class(),
        readable=readable_paths(python),
        keep=keep,
        canaries=str(cache / "canaries"),
    )


def install_variables(index: IndexSettings, level: Isolation = "L3") -> tuple[tuple[str, str], ...]:
    visible = {key: environ()[key] for key in _INSTALL_SEES if key in environ()}
    if index.cert is not None:
        visible["SSL_CERT_FILE"] = index.cert
    own = {"PATH": "/usr/bin:/bin", "UV_CACHE_DIR": str(sandbox_folder(level) / "uv")}
    return tuple(sorted((visible | own).items()))


def readable_paths(python: str) -> tuple[str, ...]:
    """Return what cells on that interpreter see besides the system's folders."""
    from compat.run.isolation import prefix_paths

    return (python, *map(str, prefix_paths(Path(python).resolve().parents[1])))


def host_class() -> str:
    import psutil

    gigabytes = round(psutil.virtual_memory().total / 2**30)
    return (
        f"{platform.system().lower()}-{platform.machine()}-{os.cpu_count() or 1}cpu-{gigabytes}gb"
    )


def disk_mb() -> int:
    return int(shutil.disk_usage(sandbox_folder()).free // 2**20)
