"""Folders of the cache: the one of a process for its cells, and what `cache clean` may remove."""

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

from uv import find_uv_bin

from compat import files
from compat.files import remove_tree
from compat.lock.lockfile import Pin
from compat.lock.uv import run_tool
from compat.run.isolation import HIGHEST_FIRST
from compat.run.meter import files_below
from compat.value import Value

_LOCK = "lock"
_KEPT = "kept-"


class Scratch:
    """A folder of one process below the folder of all cells; locked until closed or process exit.

    Two processes that shared a cell's folder recorded false verdicts: each removes the folder
    before it begins. `keep` leaves its content for people to look at; no sweep removes that.
    """

    def __init__(self, cells: Path, *, keep: bool = False) -> None:
        cells.mkdir(parents=True, exist_ok=True)
        self._keep = keep
        handle = None
        while handle is None:
            self.folder = Path(tempfile.mkdtemp(prefix=_KEPT if keep else "run-", dir=cells))
            # A sweep in between takes the folder for a dead one and removes it.
            with contextlib.suppress(FileNotFoundError):
                handle = files.lock(self.folder / _LOCK)
        self._handle = handle

    def close(self) -> None:
        try:
            if self._keep:
                (self.folder / _LOCK).unlink(missing_ok=True)
            else:
                files.remove_tree(self.folder)
        finally:
            os.close(self._handle)


def remove_dead_folders(cells: Path) -> int:
    """Return how many; what cannot be removed is left for the next sweep."""
    count = 0
    for folder in sorted(cells.iterdir()) if cells.is_dir() else ():
        if folder.name.startswith(_KEPT):
            continue
        with contextlib.suppress(OSError):
            if folder.is_symlink() or not folder.is_dir():
                folder.unlink(missing_ok=True)
                count += 1
                continue
            folder.chmod(0o700)
            if (handle := files.lock(folder / _LOCK)) is not None:
                try:
                    files.remove_tree(folder)
                    count += 1
                finally:
                    os.close(handle)
    return count


# What compat's cache holds and can recompute or download again: size, last use and removal.
#
# Cells are hard links to uv's files, and a new link changes a file's ctime. Where cells are copies,
# reading changes atime, at most once a day (relatime). To remove a wheel from uv's cache, its
# pointers are removed; then `uv cache prune`, which waits for other processes, removes what no
# pointer names.

CacheKind = Literal[
    "packages", "bytecode", "evidence", "cells", "builds", "suites", "runners", "seals"
]
CACHE_KINDS: tuple[CacheKind, ...] = get_args(CacheKind)
# Items used this recently may be in use.
IN_USE_SECONDS = 3600.0
# uv waits for other processes that use its cache; a large install takes minutes.
_UV_SECONDS = 600
_BLOCK = 4096
# Suffixes of uv's files about one wheel; the link to its folder has the wheel's bare name.
_ABOUT_A_WHEEL = (".http", ".rev", ".msgpack", ".lock")


class CacheItem(Value, frozen=True, kw_only=True):
    """One unit of removal: its bytes on disk, and its last use in seconds since 1970."""

    kind: CacheKind
    name: str
    size: int
    used: float


def cache_items(cache: Path) -> Iterator[CacheItem]:
    """Cells appear only if they were stored with `--keep`. Each wheel is an item."""
    folders = _level_folders(cache)
    for folder in folders:
        yield from _wheels(cache, folder / "sandbox" / "uv")
    patterns: tuple[tuple[CacheKind, str], ...] = (
        ("bytecode", "bytecode/*/??/*"),
        ("evidence", "evidence/*/*/*"),
        ("cells", "sandbox/cells/kept-*"),
        ("builds", "builds/*"),
        ("builds", "sandbox/builds/*"),  # no step writes here now
        ("suites", "suites/*"),
        ("runners", "runners/*"),
        ("seals", "seals/*"),
    )
    for kind, pattern in patterns:
        for path in sorted(path for folder in folders for path in folder.glob(pattern)):
            size, used = _taken(path)
            yield CacheItem(kind=kind, name=str(path.relative_to(cache)), size=size, used=used)


def _level_folders(cache: Path) -> list[Path]:
    return [cache, *(cache / level for level in HIGHEST_FIRST)]


def unused_items(
    items: Iterable[CacheItem], now: float, *, seconds: float, most: int | None = None
) -> tuple[CacheItem, ...]:
    """Those unused for so long, then the least recently used until `most` bytes remain."""
    oldest_first = sorted(items, key=lambda item: item.used)
    idle = [item for item in oldest_first if now - item.used > IN_USE_SECONDS]
    left = sum(item.size for item in oldest_first)
    unused: list[CacheItem] = []
    for item in idle:
        if now - item.used > seconds or (most is not None and left > most):
            unused.append(item)
            left -= item.size
    return tuple(unused)


def remove_items(items: Sequence[CacheItem], cache: Path, variables: Mapping[str, str]) -> None:
    """Raises ToolFailed when uv does not answer, OSError when an item cannot be removed."""
    wheels = [cache / item.name for item in items if item.kind == "packages"]
    for wheel in wheels:
        for path in (wheel, *(wheel.with_name(wheel.name + end) for end in _ABOUT_A_WHEEL)):
            path.unlink(missing_ok=True)
    for folder in _level_folders(cache):
        uv_cache = folder / "sandbox" / "uv"
        # Also without wheels to remove: a wheel that was forgotten leaves its files behind.
        if uv_cache.is_dir():
            prune = [find_uv_bin(), "cache", "prune", "--no-config", "--quiet"]
            own = {**variables, "UV_CACHE_DIR": str(uv_cache)}
            run_tool(prune, cache, own, _UV_SECONDS)
    for item in items:
        path = cache / item.name
        if item.kind in ("bytecode", "seals"):
            path.unlink(missing_ok=True)
        elif item.kind != "packages":
            remove_tree(path)


def forget_wheels(uv_cache: Path, pins: Iterable[Pin]) -> None:
    """Make uv download the wheels of these pins again; locks of running installs stay."""
    wanted = {(pin.name, str(pin.version)) for pin in pins}
    for wheel, pointers in _pointers(uv_cache).items() if wanted else ():
        if (wheel.parent.name, wheel.name.partition("-")[0]) in wanted:
            for pointer in pointers:
                if pointer.suffix != ".lock":
                    pointer.unlink(missing_ok=True)


def _pointers(uv_cache: Path) -> dict[Path, list[Path]]:
    """uv's cache entries for each wheel; a package may appear under several indexes."""
    pointers: dict[Path, list[Path]] = {}
    for root, links, names in os.walk(uv_cache):
        if not root.startswith(os.fspath(uv_cache / "wheels-v")):
            links[:] = [name for name in links if name.startswith("wheels-v")]
            continue
        for name in (*links, *names):
            path = Path(root, name)
            if name in names or path.is_symlink():
                end = next((end for end in _ABOUT_A_WHEEL if name.endswith(end)), "")
                pointers.setdefault(path.with_name(name.removesuffix(end)), []).append(path)
    return pointers


def _wheels(cache: Path, uv_cache: Path) -> Iterator[CacheItem]:
    folders = _pointers(uv_cache)
    for wheel, pointers in sorted(folders.items()):
        # The link leads to the folder that holds the wheel's files.
        parts = [_taken(place) for place in {pointer.resolve() for pointer in pointers}]
        size, used = sum(size for size, _ in parts), max(used for _, used in parts)
        yield CacheItem(kind="packages", name=str(wheel.relative_to(cache)), size=size, used=used)


def _taken(path: Path) -> tuple[int, float]:
    try:
        status = path.lstat()
    except OSError:
        return 0, 0.0
    size, used = 0, status.st_mtime
    for each in files_below([path], []) if stat.S_ISDIR(status.st_mode) else (status,):
        if not stat.S_ISDIR(each.st_mode):
            # Some filesystems count the blocks of a file only seconds after it was written.
            size += -(-each.st_size // _BLOCK) * _BLOCK
            used = max(used, each.st_atime, each.st_mtime, each.st_ctime)
    return size, used
