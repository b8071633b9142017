"""The folder in which one process makes its cells: exclusive to it, and removed after its end."""

import contextlib
import os
import tempfile
from pathlib import Path

from compat import files

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
