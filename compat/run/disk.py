"""The disk that a process tree takes: how much its folders grew, and how much is still free."""

import math
import os
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

MIB = 1 << 20
# Below this the machine's own work is in danger, records included.
FLOOR_BYTES = 256 * MIB
# Folders are walked at least this often, as what others free may hide what is taken here.
_WALK_SECONDS = 5.0
# But a walk may take this share of the time; a folder of 100,000 files takes a second.
_WALK_SHARE = 0.02
# Files carry the time of the last tick of the kernel's clock, so new ones may seem a little older
# than they are.
_CLOCK_SECONDS = 1.0


class Disk:
    """Watches folders. Others use the disk too, so the free space, cheap to ask for, only says when
    to walk them.
    """

    def __init__(self, folders: Iterable[Path], most_mb: int) -> None:
        self.folders = tuple(folders)
        self.most = most_mb * MIB
        self.began = time.time() - _CLOCK_SECONDS
        self.highest = self._free()
        self.grown = 0
        self.cost = 0.0
        self.walked = time.monotonic()
        self.walk: threading.Thread | None = None

    def is_full(self) -> bool:
        """Return whether the folders grew by more than the limit, or hardly anything is free; waits
        for no walk.
        """
        free = self._free()
        self.highest = max(self.highest, free)
        if free < 0:
            return True
        since = time.monotonic() - self.walked
        is_due = self.highest - free > self.most or since > _WALK_SECONDS
        if is_due and since >= self.cost / _WALK_SHARE and not (self.walk and self.walk.is_alive()):
            self.walk = threading.Thread(target=self._walk, daemon=True)
            self.walk.start()
            # Most walks are short, and then the answer need not wait for the next look.
            self.walk.join(0.1)
        return self.grown > self.most

    def _walk(self) -> None:
        begin = time.monotonic()
        self.grown = taken(self.folders, self.began)
        self.walked, self.cost = time.monotonic(), time.monotonic() - begin

    def _free(self) -> float:
        """Return the bytes that are free above the floor; a small disk has a lower floor."""
        free = []
        for folder in self.folders:
            try:
                volume = os.statvfs(folder)
            except OSError:
                continue
            free.append(
                volume.f_bavail * volume.f_frsize
                - min(FLOOR_BYTES, volume.f_blocks * volume.f_frsize // 20)
            )
        return min(free, default=math.inf)


def taken(folders: Iterable[Path], since: float) -> int:
    """Return the bytes on disk of the files below the folders that were made or changed since a
    time.

    A file that is also linked from elsewhere, as uv links a wheel's files from its cache, takes
    nothing here, nor does an old one that only was linked once more.
    """
    total = 0
    links: dict[tuple[int, int], int] = {}
    for status in (file for file in _files(folders) if file.st_ctime >= since):
        if status.st_nlink > 1:
            if status.st_mtime < since:
                continue
            key = (status.st_dev, status.st_ino)
            links[key] = links.get(key, 0) + 1
            if links[key] != status.st_nlink:
                continue
        total += status.st_blocks * 512
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
