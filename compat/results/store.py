"""The door to records: Protocol RecordStore, and the in-memory one."""

from typing import Protocol

from compat.results.record import Record, encode_record, record_digest


class RecordStore(Protocol):
    """Where records are kept. It only ever grows."""

    def records(self, cell: str) -> tuple[Record, ...]:
        """Return the sound records of a cell, by when they started."""

    def add(self, record: Record) -> bool:
        """Keep the record and return True; False when the identical one is there already.

        Raises RecordError when the record cannot be read back, CompatError when it cannot be
        written.
        """

    def cells(self) -> tuple[str, ...]:
        """Return the ids of the cells that have records, sorted."""


class MemoryStore:
    """A RecordStore for tests, and for asking what a record would change."""

    def __init__(self, *records: Record) -> None:
        """Start with these records."""
        self._kept: dict[str, dict[str, Record]] = {}
        for record in records:
            self.add(record)

    def records(self, cell: str) -> tuple[Record, ...]:
        """Return the records of a cell, by when they started."""
        kept = self._kept.get(cell, {})
        return tuple(
            record
            for _, record in sorted(kept.items(), key=lambda item: (item[1].started, item[0]))
        )

    def add(self, record: Record) -> bool:
        """Keep the record; False when the identical one is there already."""
        digest = record_digest(encode_record(record))
        kept = self._kept.setdefault(record.cell, {})
        if digest in kept:
            return False
        kept[digest] = record
        return True

    def cells(self) -> tuple[str, ...]:
        """Return the ids of the cells that have records, sorted."""
        return tuple(sorted(self._kept))
