"""A lock as a file that is kept beside its matrix."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Protocol

import msgspec
from packaging.version import Version

from compat.errors import CompatError
from compat.files import file_state, first_bytes, read, state_digest, stems, tree_states
from compat.lock.lock_text import MOST_HEAD, decode_lock, locked_version, read_digest, read_versions
from compat.lock.lockfile import Lock
from compat.value import Value

# Reading so many takes less time than looking at what is kept.
_FEW = 500
# To look for so many files costs less than to list a folder of a hundred thousand.
_FEW_NAMES = 2_000


def kept_lock(path: Path) -> Lock:
    """Return the lock of that file; raise DeclarationError when it is damaged."""
    return decode_lock(read(path).decode(errors="replace"), "/".join(path.parts[-4:]))


class LockKeeper(Protocol):
    """Where it is kept what locks say, by cell; see `FactKeeper` in `results`."""

    def kept(self, kind: str) -> Mapping[str, tuple[bytes, bytes]]:
        """Return what is kept of that kind, with the state of the file that it follows from."""

    def keep(self, kind: str, facts: Sequence[tuple[str, bytes, bytes]]) -> None:
        """Keep facts of that kind."""


class _KeptHead(Value, frozen=True, array_like=True):
    """The digest that a lock names, and its versions; None where it is damaged."""

    digest: str
    versions: dict[str, str] | None


class LockDigests(Mapping[str, str]):
    """The digest that each lock of a folder names, by the id of its cell; a lock is read when it is
    asked for. Where many are asked for, those that are as they were are not read again.
    """

    def __init__(
        self, folder: Path, packages: Collection[str], keeper: Callable[[], LockKeeper]
    ) -> None:
        self._folder = folder
        self._packages = sorted(packages)
        self._keeper = keeper
        self._kind = f"lock {' '.join(self._packages)}"
        self._asked: dict[object, bool] = {}
        self._heads: dict[str, _KeptHead] = {}
        self._new: list[tuple[str, bytes, bytes]] = []

    @cached_property
    def _cells(self) -> dict[str, None]:
        return dict.fromkeys(stems(self._folder, ".txt"))

    @cached_property
    def state(self) -> bytes:
        """Which cells have a lock, as is known here, and when each file had changed when this was
        first asked: another process may write one now.
        """
        states = tree_states(self._folder)
        files = [state.rsplit(" ", 2)[0] for state in states]
        cells = sorted(name[:-4] for name in files if name.endswith(".txt") and "/" not in name)
        present = dict.fromkeys(cells)
        known = self.__dict__.setdefault("_cells", present)
        others = "" if known.keys() == present.keys() else "\n".join(known)
        return state_digest(states) + others.encode()

    def versions(self, cell: str) -> dict[str, Version]:
        """Return which versions of the packages a cell's lock has; raise DeclarationError when it
        is damaged.
        """
        path = self._folder / f"{cell}.txt"
        known = self._head(cell).versions or self._whole(path).versions
        if known is None:
            pins = kept_lock(path).pins
            return {pin.name: pin.version for pin in pins if pin.name in self._packages}
        return {name: locked_version(text) for name, text in known.items()}

    def _head(self, cell: str) -> _KeptHead:
        if cell not in self._heads:
            if cell not in self:
                raise KeyError(cell)
            is_one_of_few = len(self._heads) < _FEW
            self._heads[cell] = self._read(cell) if is_one_of_few else self._kept_head(cell)
        return self._heads[cell]

    def _read(self, cell: str) -> _KeptHead:
        text = first_bytes(f"{self._folder}/{cell}.txt", MOST_HEAD)
        return _KeptHead(read_digest(text.decode(errors="replace")), None)

    def _kept_head(self, cell: str) -> _KeptHead:
        state = file_state(f"{self._folder}/{cell}.txt")
        before, fact = self._known.get(cell, (b"", b""))
        if before == state:
            return _decoder.decode(fact)
        known = self._whole(self._folder / f"{cell}.txt")
        if known.versions is not None:
            self._new.append((cell, state, msgspec.msgpack.encode(known)))
        if len(self._new) >= _FEW:
            self._keeper().keep(self._kind, self._new)
            self._new.clear()
        return known

    def _whole(self, path: Path) -> _KeptHead:
        text = read(path).decode(errors="replace")
        versions = read_versions(text, self._packages)
        if versions is None:
            with suppress(CompatError):
                versions = {pin.name: pin.version for pin in kept_lock(path).pins}
        if versions is None:
            return _KeptHead(read_digest(text), None)
        texts = {name: str(versions[name]) for name in self._packages if name in versions}
        return _KeptHead(read_digest(text), texts)

    @cached_property
    def _known(self) -> Mapping[str, tuple[bytes, bytes]]:
        return self._keeper().kept(self._kind)

    def __getitem__(self, cell: str) -> str:
        return self._head(cell).digest

    def __contains__(self, cell: object) -> bool:
        """Return whether a cell has a lock; a question about few does not list the folder."""
        if "_cells" in self.__dict__ or len(self._asked) >= _FEW_NAMES:
            return cell in self._cells
        if cell not in self._asked:
            self._asked[cell] = (self._folder / f"{cell}.txt").exists()
        return self._asked[cell]

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)


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


_decoder = msgspec.msgpack.Decoder(_KeptHead)
