"""The `site` room's parts of a matrix that are too many to hold: read when a page needs them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from packaging.version import Version

from compat.lock.lock_text import decode_inputs, decode_lock
from compat.lock.lockfile import Inputs, Lock
from compat.results.record import Record


class PartSource(Protocol):
    """Where the parts of a matrix are read from when a page needs them whole."""

    def records(self, cell: str) -> tuple[Record, ...]:
        """Return the records of a cell, oldest first."""

    def newest_records(self, cell: str, lock_digest: str | None = None) -> Iterator[Record]:
        """Yield the records of a cell on a lock, or on any, newest first."""

    def lock_text(self, cell: str) -> str | None:
        """Return the text of a cell's lock; None when it has none."""

    def lock_versions(self, cell: str) -> Mapping[str, Version]:
        """Return which versions a cell's lock has of the packages that are axes."""

    def declaration(self) -> str:
        """Return the text of the matrix's declaration, whose floors proposals change."""


class RememberedParts:
    """The same; the records of the cell that was asked for last stay in memory, as its page and its
    document, one after the other, need them several times.
    """

    def __init__(self, parts: PartSource) -> None:
        self._parts = parts
        self._last: tuple[str, tuple[Record, ...]] | None = None
        self.lock_text = parts.lock_text
        self.lock_versions = parts.lock_versions
        self.declaration = parts.declaration

    def records(self, cell: str) -> tuple[Record, ...]:
        """Return the records of a cell, oldest first."""
        if self._last is None or self._last[0] != cell:
            self._last = cell, self._parts.records(cell)
        return self._last[1]

    def newest_records(self, cell: str, lock_digest: str | None = None) -> Iterator[Record]:
        """Yield the records of a cell on a lock, or on any, newest first."""
        if self._last is None or self._last[0] != cell:
            return self._parts.newest_records(cell, lock_digest)
        newest = reversed(self._last[1])
        return (record for record in newest if lock_digest in (None, record.lock_digest))


class Locks(Mapping[str, Lock]):
    """The locks of a report's cells by id, each read when it is first asked for."""

    def __init__(self, parts: RememberedParts, folder: str, cells: Sequence[str]) -> None:
        self._parts = parts
        self._folder = folder
        self._cells = cells
        self._read: dict[str, Lock] = {}

    def __getitem__(self, cell: str) -> Lock:
        """Return the lock of a cell; KeyError when it has none."""
        if cell not in self._read:
            text = self._parts.lock_text(cell)
            if text is None:
                raise KeyError(cell)
            self._read[cell] = decode_lock(text, f"{self._folder}/{cell}.txt")
        return self._read[cell]

    def inputs(self, cell: str) -> Inputs:
        """Return the inputs of a cell's lock, whose pins are not looked at; KeyError when it has
        none.
        """
        text = self._parts.lock_text(cell)
        if text is None:
            raise KeyError(cell)
        return decode_inputs(text, f"{self._folder}/{cell}.txt")

    def __iter__(self) -> Iterator[str]:
        """Go through the ids of the cells that have one."""
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)
