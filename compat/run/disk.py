"""The disk that a process tree takes: how much its folders grew, and how much is still free."""

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

MIB = 1 << 20
# Below this the machine's own work is in danger, records included.
FLOOR_BYTES = 256 * MIB
# Free space is read often, as it costs nothing. Folders are walked when it says so, and otherwise this often.
_WALK_SECONDS = 30.0
# A walk may take this share of the time; a folder of 100,000 files takes a second.
_WALK_SHARE = 0.02


class Disk:
    """Watches folders. Other programs use the same disk, so the free space alone accuses nobody."""

    def __init__(self, folders: Iterable[Path], most_mb: int) -> None:
        """Take the folders as they stand for the beginning."""
        self.folders = tuple(folders)
        self.most = most_mb * MIB
        self.free = self._free()
        began = time.monotonic()
        self.before = taken(self.folders)
        self.walked = time.monotonic()
        self.cost = self.walked - began

    def is_full(self) -> bool:
        """Return whether the folders grew by more than the limit, or hardly anything is free."""
        free = self._free()
        if free is not None and free < FLOOR_BYTES:
            return True
        now = time.monotonic()
        since = now - self.walked
        fell = free is not None and self.free is not None and self.free - free > self.most // 2
        if since < self.cost / _WALK_SHARE or not (fell or since > _WALK_SECONDS):
            return False
        grown = taken(self.folders) - self.before
        self.walked, self.cost = time.monotonic(), time.monotonic() - now
        return grown > self.most

    def _free(self) -> int | None:
        free = []
        for folder in self.folders:
            try:
                found = os.statvfs(folder)
            except OSError:
                continue
            free.append(found.f_bavail * found.f_frsize)
        return min(free, default=None)


def taken(folders: Iterable[Path]) -> int:
    """Return the bytes that the files below the folders take on disk.

    A file that is also linked from elsewhere, as uv links a wheel's files from its cache, takes nothing here.
    """
    total = 0
    links: dict[tuple[int, int], int] = {}
    for found in _files(folders):
        if found.st_nlink > 1:
            key = (found.st_dev, found.st_ino)
            links[key] = links.get(key, 0) + 1
            if links[key] != found.st_nlink:
                continue
        total += found.st_blocks * 512
    return total


def _files(folders: Iterable[Path]) -> Iterator[os.stat_result]:
    waiting = [os.fspath(folder) for folder in folders]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
                        else:
                            yield entry.stat(follow_symlinks=False)
                    except OSError:
                        continue
        except OSError:
            continue
