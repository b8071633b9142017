"""The log of a step: opened so that nobody can redirect it, and cut in its middle when it grew too
large.
"""

import os
from pathlib import Path

_CHUNK = 1 << 20


def open_log(path: Path) -> int:
    """Return a descriptor of the empty log.

    It only appends, so processes that share it do not overwrite each other.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, 0o644)


def size(log: int) -> int:
    return os.fstat(log).st_size


def cut(log: int, most: int) -> None:
    """Keep the head and the tail of a log of more than `most` bytes, and between them a line that
    says what is gone.

    Works within the file and by pieces: on a full disk, and whatever its size.
    """
    whole = size(log)
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
