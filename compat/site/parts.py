"""The `site` room's parts of a matrix that are too many to hold: read when a page needs them."""

from collections.abc import Iterator
from typing import Protocol

from compat.results.record import Record


class PartSource(Protocol):
    """Where the parts of a matrix are read from when a page needs them whole."""

    def records(self, cell: str) -> tuple[Record, ...]:
        """Return the records of a cell, oldest first."""

    def newest_records(self, cell: str, lock_digest: str | None = None) -> Iterator[Record]:
        """Yield the records of a cell on a lock, or on any, newest first."""

    def lock_text(self, cell: str) -> str | None:
        """Return the text of a cell's lock; None when it has none."""

    def declaration(self) -> str:
        """Return the text of the matrix's declaration, whose floors proposals change."""


class RememberedParts:
    """The same; the records of the cell that was asked for last stay in memory, as its page and its
    document, one after the other, need them several times.
    """

    def __init__(self, parts: PartSource) -> None:
        """Take where they are read."""
        self._parts = parts
        self._last: tuple[str, tuple[Record, ...]] | None = None
        self.lock_text = parts.lock_text
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
