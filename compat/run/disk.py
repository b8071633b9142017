"""The disk that a process tree takes: how much its folders grew, how much is still free, and the
log of a step, cut in its middle when it grew too large.
"""

import math
import os
import re
import stat
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

MIB = 1 << 20
# How the kernel names a file that takes memory and no disk.
IN_MEMORY = ("/memfd:", "/dev/shm/")
# In /proc/PID/maps: address and inode of a file without a name that takes a disk. The kernel's own
# files in memory are on device 0:1.
_MAPPED = re.compile(
    rb"^([\da-f]+-[\da-f]+) \S+ \S+ (?!00:01 )\S+ (\d+) +/(?!dev/shm/).* \(deleted\)$", re.MULTILINE
)
# Below this the machine's own work is in danger, records included.
FLOOR_BYTES = 256 * MIB
# Folders are walked at least this often, as what others free may hide what is taken here.
_WALK_SECONDS = 5.0
# But a walk may take this share of the time; a folder of 100,000 files takes a second.
_WALK_SHARE = 0.02
# Files carry the time of the last tick of the kernel's clock, so new ones may seem a little older
# than they are.
_CLOCK_SECONDS = 1.0
# A file without content takes no block, but one of a number of files that a disk can hold.
_EMPTY_BYTES = 4096
# So much of a log is moved at once.
_CHUNK = 1 << 20
_GONE = (FileNotFoundError, NotADirectoryError, ProcessLookupError)


class Disk:
    """Watches folders. Others use the disk too, so the free space, cheap to ask for, only says when
    to walk them.
    """

    def __init__(
        self, folders: Iterable[Path], most_mb: int, *, log: int = -1, links: bool = False
    ) -> None:
        """With `links` no code of a package runs, and old files get further links."""
        self.folders, self.log, self.links = tuple(folders), log, links
        self.most = most_mb * MIB
        self.began = time.time() - _CLOCK_SECONDS
        self.highest = self._free()
        self.grown, self.hides = 0, False
        self.cost = 0.0
        self.walked = time.monotonic()
        self.walk: threading.Thread | None = None

    def is_full(self, pids: Sequence[int] = ()) -> bool:
        """Return whether the folders, the log, and files without a name that these processes hold
        grew by more than the limit, or hardly anything is free; waits for no walk.

        Where something cannot be looked at, all that the disk lost counts.
        """
        free = self._free()
        self.highest = max(self.highest, free)
        if free < 0:
            return True
        since = time.monotonic() - self.walked
        is_due = self.highest - free > self.most or since > _WALK_SECONDS
        if is_due and since >= self.cost / _WALK_SHARE and not (self.walk and self.walk.is_alive()):
            self.walk = threading.Thread(target=self._walk, args=(pids,), daemon=True)
            self.walk.start()
            # Most walks are short, and then the answer need not wait for the next look.
            self.walk.join(0.1)
        return max(self.grown, self.highest - free if self.hides else 0) > self.most

    def _walk(self, pids: Sequence[int]) -> None:
        begin, hidden = time.monotonic(), list[OSError]()
        self.grown = taken(self.folders, self.began, hidden, self.links) + _nameless(pids, hidden)
        # A log can take more than its length says, see fallocate(2), and is closed at the end.
        with suppress(OSError):
            self.grown += os.fstat(self.log).st_blocks * 512
        self.hides = any(not isinstance(fault, _GONE) for fault in hidden)
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


def taken(folders: Iterable[Path], since: float, hidden: list[OSError], links: bool) -> int:
    """Return the bytes on disk of the files below the folders that were made or changed since a
    time.

    A file that is also linked from elsewhere, as uv links a wheel's files from its cache, takes
    nothing here; nor, with `links`, does an old one that only was linked once more. Code of a
    package could date back what it writes.
    """
    total = 0
    met: dict[tuple[int, int], int] = {}
    for status in (file for file in _files(folders, hidden) if file.st_ctime >= since):
        if status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode):
            if links and status.st_mtime < since:
                continue
            key = (status.st_dev, status.st_ino)
            met[key] = met.get(key, 0) + 1
            if met[key] != status.st_nlink:
                continue
        total += status.st_blocks * 512 or _EMPTY_BYTES
    return total


def _nameless(pids: Iterable[int], hidden: list[OSError]) -> int:
    """Return the bytes on disk of the files without a name that the processes have open or mapped.

    The links of what is mapped are followed for root alone, see proc(5).
    """
    sizes: dict[tuple[int, int], int] = {}
    for pid in pids:
        waiting = [f"/proc/{pid}/maps", f"/proc/{pid}/fd"]
        while waiting:
            path = waiting.pop()
            try:
                if path.endswith("/fd"):
                    waiting += (f"{path}/{name}" for name in os.listdir(path))
                elif path.endswith("/maps"):
                    with open(path, "rb") as file:
                        mapped = _MAPPED.findall(file.read())
                    known = {inode for _, inode in sizes}
                    places = {int(i): address.decode() for address, i in mapped}
                    waiting += (f"/proc/{pid}/map_files/{places[i]}" for i in places.keys() - known)
                else:
                    status = os.stat(path)
                    if not status.st_nlink and stat.S_ISREG(status.st_mode):
                        is_memory = os.readlink(path).startswith(IN_MEMORY)
                        size = 0 if is_memory else status.st_blocks * 512
                        sizes[status.st_dev, status.st_ino] = size
            except OSError as fault:
                hidden.append(fault)
    return sum(sizes.values())


def _files(folders: Iterable[Path], hidden: list[OSError]) -> Iterator[os.stat_result]:
    """Yield files and folders below the folders; note what cannot be looked at: a folder without
    rights, a path that is too long.
    """
    waiting = [os.fspath(folder) for folder in folders]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
                        yield entry.stat(follow_symlinks=False)
                    except OSError as fault:
                        hidden.append(fault)
        except OSError as fault:
            hidden.append(fault)


def open_log(path: Path) -> int:
    """Return a descriptor of the empty log.

    It only appends, so processes that share it do not overwrite each other.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, 0o644)


def cut_log(log: int, most: int) -> None:
    """Keep the head and the tail of a log of more than `most` bytes, and between them a line that
    says what is gone.

    Works within the file and by pieces: on a full disk, and whatever its size.
    """
    whole = os.fstat(log).st_size
    if whole <= most:
        return
    line = f"\n... {whole - most} bytes cut ...\n".encode()
    head = max((most - len(line)) // 2, 0)
    tail = max(most - len(line) - head, 0)
    # A descriptor that only appends would append what is written to a place in the middle, see
    # pwrite(2).
    log = os.open(f"/proc/self/fd/{log}", os.O_RDWR | os.O_CLOEXEC)
    try:
        os.pwrite(log, line[:most], head)
        for begin in range(0, tail, _CHUNK):
            piece = os.pread(log, min(_CHUNK, tail - begin), whole - tail + begin)
            os.pwrite(log, piece, head + len(line) + begin)
        os.ftruncate(log, min(most, head + len(line) + tail))
    finally:
        os.close(log)
