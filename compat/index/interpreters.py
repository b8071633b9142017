"""Finds the interpreters of this machine wherever they are: pyenv, uv, the system, PATH."""

import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from packaging.version import InvalidVersion, Version
from python_discovery import DiskCache, PythonInfo, get_interpreter

from compat.declare.parsing import minor_series
from compat.value import Value

QUERY_SECONDS = "5"  # for one interpreter to report its version; a sound one takes 0.1 s

# pyenv's folder names of builds: 3.13.0, 3.13.0t, pypy3.10-7.3.19.
_FOLDERS = {
    "": re.compile(r"(?P<version>.+)"),
    "free-threaded": re.compile(r"(?P<version>3\.[\d.]+)t"),
    "pypy": re.compile(r"pypy(?P<version>3\.[\d.]+)-.+"),
}

# The library warns of every interpreter that is too old or broken, which many machines have.
logging.getLogger("python_discovery").setLevel(logging.ERROR)


class Interpreter(Value, frozen=True):
    """An installed Python: its exact version and path, not of a virtual environment."""

    version: Version
    path: str


def find(
    series: Version, env: Mapping[str, str], cache_dir: Path | None = None, build: str = ""
) -> Interpreter | None:
    """Return an interpreter of the series (X.Y), or None when this machine has none that works.

    `build` is `free-threaded` or `pypy`; empty means CPython's usual one. pyenv's folders are
    searched first, newest patch first, because its shims run only activated versions.
    python-discovery then searches PATH and uv's own folder. The interpreters' answers are cached in
    `cache_dir`, if given.
    """
    cache = None if cache_dir is None else DiskCache(cache_dir)
    env = {**env, "PY_DISCOVERY_TIMEOUT": QUERY_SECONDS}
    for path in _pyenv(series, env, build):
        info = PythonInfo.from_exe(str(path), cache, raise_on_error=False, env=env)
        if info is not None and _fits(info, series, build):
            return _interpreter(info)
    try:
        discovered = get_interpreter(
            f"{'pypy' if build == 'pypy' else 'cpython'}{minor_series(series)}"
            f"{'t' if build == 'free-threaded' else ''}",
            cache=cache,
            env=env,
            predicate=lambda info: _fits(info, series, build),
        )
    except (RuntimeError, OSError):
        return None
    return None if discovered is None else _interpreter(discovered)


def _pyenv(series: Version, env: Mapping[str, str], build: str = "") -> Iterator[Path]:
    # Yield pyenv's interpreters of the series and the build, newest patch first; virtual
    # environments and other forks have no version.
    root = env.get("PYENV_ROOT") or (f"{home}/.pyenv" if (home := env.get("HOME")) else "")
    versions: list[tuple[Version, Path]] = []
    try:
        folders = list(Path(root, "versions").iterdir()) if root else []
    except OSError:
        return
    for folder in folders:
        match = _FOLDERS[build].fullmatch(folder.name)
        try:
            version = Version("" if match is None else match["version"])
        except InvalidVersion:
            continue
        if (version.major, version.minor) == (series.major, series.minor):
            versions.append((version, folder / "bin" / "python"))
    for _, path in sorted(versions, reverse=True):
        if path.is_file():
            yield path


def _fits(info: PythonInfo, series: Version, build: str) -> bool:
    version = info.version_info
    return (
        info.implementation == ("PyPy" if build == "pypy" else "CPython")
        and (version.major, version.minor) == (series.major, series.minor)
        and bool(info.free_threaded) is (build == "free-threaded")
    )


def _interpreter(info: PythonInfo) -> Interpreter:
    return Interpreter(
        version=Version(info.version_str), path=str(info.system_executable or info.executable)
    )
