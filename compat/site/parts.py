"""The `site` room's parts of a matrix that are too many to hold: read when a page needs them."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Protocol

from compat.results.record import Record

# A cell's page and its document read the same records, each in its turn among those of all cells.
# Those of so many take up to 200 MB; where more cells changed, they are read twice.
_MOST_CELLS = 400


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
    """The same, of which the records of the cells that were asked for last stay in memory."""

    def __init__(self, parts: PartSource) -> None:
        """Take where they are read."""
        self.newest_records = parts.newest_records
        self.lock_text = parts.lock_text
        self.declaration = parts.declaration
        self.records = lru_cache(maxsize=_MOST_CELLS)(parts.records)
