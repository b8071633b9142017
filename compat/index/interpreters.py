"""The interpreters of this machine, wherever people have them: pyenv, uv, the system,
PATH.
"""

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

from packaging.version import InvalidVersion, Version
from python_discovery import DiskCache, PythonInfo, get_interpreter

from compat.declare.parsing import minor_series
from compat.value import Value

QUERY_SECONDS = "5"  # for one interpreter to tell its version; a sound one takes 0.1 s

# The library warns of every interpreter that is too old or broken, and those are many where people
# keep old ones.
logging.getLogger("python_discovery").setLevel(logging.ERROR)


class Interpreter(Value, frozen=True):
    """A CPython of this machine: its exact version, and the path that starts it (not that of a
    virtual environment).
    """

    version: Version
    path: str


def find(
    series: Version, env: Mapping[str, str], cache_dir: Path | None = None
) -> Interpreter | None:
    """Return an interpreter of the series (X.Y), or None when this machine has none that works.

    pyenv's versions are asked first and by folder, newest patch first, because its shims run only
    the versions that are switched on; python-discovery then looks through PATH and uv's own folder.
    Free-threaded builds are left out: they are another ABI. What interpreters told is kept in
    `cache_dir`, if there is one.
    """
    cache = None if cache_dir is None else DiskCache(cache_dir)
    env = {**env, "PY_DISCOVERY_TIMEOUT": QUERY_SECONDS}
    for path in _pyenv(series, env):
        info = PythonInfo.from_exe(str(path), cache, raise_on_error=False, env=env)
        if info is not None and _fits(info, series):
            return _interpreter(info)
    try:
        discovered = get_interpreter(
            f"cpython{minor_series(series)}",
            cache=cache,
            env=env,
            predicate=lambda info: _fits(info, series),
        )
    except (RuntimeError, OSError):
        return None
    return None if discovered is None else _interpreter(discovered)


def _pyenv(series: Version, env: Mapping[str, str]) -> Iterator[Path]:
    """Yield pyenv's interpreters of the series, newest patch first; virtual environments and forks
    have no version.
    """
    root = env.get("PYENV_ROOT") or (f"{home}/.pyenv" if (home := env.get("HOME")) else "")
    versions: list[tuple[Version, Path]] = []
    try:
        folders = list(Path(root, "versions").iterdir()) if root else []
    except OSError:
        return
    for folder in folders:
        try:
            version = Version(folder.name)
        except InvalidVersion:
            continue
        if (version.major, version.minor) == (series.major, series.minor):
            versions.append((version, folder / "bin" / "python"))
    for _, path in sorted(versions, reverse=True):
        if path.is_file():
            yield path


def _fits(info: PythonInfo, series: Version) -> bool:
    version = info.version_info
    return (
        info.implementation == "CPython"
        and (version.major, version.minor) == (series.major, series.minor)
        and not info.free_threaded
    )


def _interpreter(info: PythonInfo) -> Interpreter:
    return Interpreter(
        version=Version(info.version_str), path=str(info.system_executable or info.executable)
    )
