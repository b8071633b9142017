"""The disk that a process tree takes: how much its folders grew, and how much is still free."""

import math
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

MIB = 1 << 20
# Below this the machine's own work is in danger, records included.
FLOOR_BYTES = 256 * MIB
# A walk may take this share of the time; a folder of 100,000 files takes a second.
_WALK_SHARE = 0.02
# Files carry the time of the last tick of the kernel's clock, so new ones may seem a little older than they are.
_CLOCK_SECONDS = 1.0


class Disk:
    """Watches folders. Others use the disk too, so the free space, cheap to ask for, only says when to walk them."""

    def __init__(self, folders: Iterable[Path], most_mb: int) -> None:
        """Take the disk as it is for the beginning; what is in the folders need not be looked at."""
        self.folders = tuple(folders)
        self.most = most_mb * MIB
        self.began = time.time() - _CLOCK_SECONDS
        self.highest = self._free()
        self.walked = self.cost = 0.0

    def is_full(self) -> bool:
        """Return whether the folders grew by more than the limit, or hardly anything is free."""
        free = self._free()
        self.highest = max(self.highest, free)
        if free < 0:
            return True
        now = time.monotonic()
        if self.highest - free <= self.most or now - self.walked < self.cost / _WALK_SHARE:
            return False
        grown = taken(self.folders, self.began)
        self.walked, self.cost = time.monotonic(), time.monotonic() - now
        return grown > self.most

    def _free(self) -> float:
        """Return the bytes that are free above the floor; a small disk has a lower floor."""
        free = []
        for folder in self.folders:
            try:
                found = os.statvfs(folder)
            except OSError:
                continue
            free.append(found.f_bavail * found.f_frsize - min(FLOOR_BYTES, found.f_blocks * found.f_frsize // 20))
        return min(free, default=math.inf)


def taken(folders: Iterable[Path], since: float) -> int:
    """Return the bytes on disk of the files below the folders that were made or changed since a time.

    A file that is also linked from elsewhere, as uv links a wheel's files from its cache, takes nothing here.
    """
    total = 0
    links: dict[tuple[int, int], int] = {}
    for found in (each for each in _files(folders) if each.st_ctime >= since):
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
