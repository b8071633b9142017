"""A lock as a file that is kept beside its matrix."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path

from packaging.version import Version

from compat.files import first_bytes, read, tree_states
from compat.lock.lock_text import MOST_HEAD, decode_lock, read_digest, read_versions
from compat.lock.lockfile import Lock


def kept_lock(path: Path) -> Lock:
    """Return the lock of that file; raise DeclarationError when it is damaged."""
    return decode_lock(read(path).decode(errors="replace"), "/".join(path.parts[-4:]))


class LockDigests(Mapping[str, str]):
    """The digest that each lock of a folder names, by the id of its cell; a lock is read when it is
    asked for.
    """

    def __init__(self, folder: Path, packages: Collection[str]) -> None:
        self._folder = folder
        self._packages = sorted(packages)
        self._digests: dict[str, str] = {}

    @cached_property
    def states(self) -> Mapping[str, str]:
        """Size and time of change of each lock's file when this was first asked, by cell: another
        process may write one now.
        """
        files = (state.rsplit(" ", 2) for state in tree_states(self._folder))
        return {
            name.removesuffix(".txt"): f"{size} {changed}"
            for name, size, changed in files
            if name.endswith(".txt") and "/" not in name
        }

    def versions(self, cell: str) -> dict[str, Version]:
        """Return which versions of the packages a cell's lock has; raise DeclarationError when it
        is damaged.
        """
        path = self._folder / f"{cell}.txt"
        known = read_versions(read(path).decode(errors="replace"), self._packages)
        if known is not None:
            return known
        return {pin.name: pin.version for pin in kept_lock(path).pins if pin.name in self._packages}

    def __getitem__(self, cell: str) -> str:
        if cell not in self._digests:
            if cell not in self.states:
                raise KeyError(cell)
            text = first_bytes(f"{self._folder}/{cell}.txt", MOST_HEAD)
            self._digests[cell] = read_digest(text.decode(errors="replace"))
        return self._digests[cell]

    def __contains__(self, cell: object) -> bool:
        return cell in self.states

    def __iter__(self) -> Iterator[str]:
        return iter(self.states)

    def __len__(self) -> int:
        return len(self.states)


class LocksByCell(Mapping[str, Lock]):
    """The locks of cells, each read when it is asked for."""

    def __init__(self, cells: Iterable[str], lock_of: Callable[[str], Lock | None]) -> None:
        self._cells = dict.fromkeys(cells)
        self._lock_of = cache(lock_of)

    def __getitem__(self, cell: str) -> Lock:
        lock = self._lock_of(cell) if cell in self._cells else None
        if lock is None:
            raise KeyError(cell)
        return lock

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)
