"""Reads files that code of a cell may have made: follows no link, waits for no writer, and takes no
more than asked.

Any name below a cell's folder can be a link to a file that the cell could not read itself, a FIFO
that nobody writes to, or a device without an end.
"""

import os
import stat
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK the opening of a FIFO waits for its writer, see fifo(7).
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_plain(folder: Path, name: str) -> int:
    """Return a descriptor of the plain file `name`, a path below the folder; raise OSError for
    anything else.

    Each part of the name is opened by itself, so that none of them can be a link.
    """
    *parents, last = name.split("/")
    if "" in (*parents, last) or ".." in (*parents, last):
        raise OSError(f"{name!r} is not a path below a folder")
    place = os.open(folder, _FOLDER)
    try:
        for parent in parents:
            place, above = os.open(parent, _FOLDER, dir_fd=place), place
            os.close(above)
        file = os.open(last, _FILE, dir_fd=place)
    finally:
        os.close(place)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(f"{name!r} is not a plain file")
    return file


def read_bytes(folder: Path, name: str, most: int) -> bytes:
    """Return the first `most` bytes of the file; raise OSError when it is not a plain file below
    the folder.
    """
    with open(open_plain(folder, name), "rb") as file:
        return file.read(most)
