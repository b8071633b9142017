"""A batch of records as it is read: by a question about one cell without the records of others."""

import contextlib
from collections.abc import Hashable, Iterator
from functools import cached_property

import msgspec
from msgspec.structs import replace

from compat.results.packing import (
    PACKED_FORMAT,
    CapabilityRow,
    Circumstances,
    MetricName,
    PackedRecord,
    RecordBatch,
    packed_capabilities,
)
from compat.results.record import Capability, Record, refuse_unsound_answers
from compat.run.evidence import Installed
from compat.value import Value


class BatchSheet(Value, frozen=True, kw_only=True, dict=True):
    """A batch of which each record is decoded when it is asked for, with what it refers to."""

    matrix: str
    rows: tuple[msgspec.Raw, ...]
    installed: tuple[msgspec.Raw, ...]
    metrics: tuple[tuple[MetricName, ...], ...]
    circumstances: tuple[Circumstances, ...]
    records: tuple[msgspec.Raw, ...]

    def every(self) -> Iterator[tuple[str, Record]]:
        """Yield all records, each with the name of its file; raises ValueError or IndexError."""
        for raw in self.records:
            packed = _packed.decode(raw)
            yield packed.name, self._record(packed)

    def of_cell(self, cell: str) -> Iterator[tuple[str, Record]]:
        for raw in self._by_cell.get(cell, ()):
            with contextlib.suppress(IndexError, ValueError):
                packed = _packed.decode(raw)
                yield packed.path, self._record(packed)

    def _record(self, packed: PackedRecord) -> Record:
        # Runs of a night share most of what is large, and that is made and looked at once.
        answer = packed.rows, packed.statuses, packed.whys, packed.outcome
        capabilities = self._told.get(answer)
        is_new = capabilities is None
        if capabilities is None:
            rows = _row.decode(self.rows[packed.rows])
            answers = packed_capabilities(rows, packed)
            capabilities = msgspec.convert(answers, tuple[Capability, ...])
        if packed.installed not in self._packages:
            packages = _packages.decode(self.installed[packed.installed])
            self._packages[packed.installed] = tuple(
                Installed(name=n, version=v) for n, v in packages
            )
        alone = replace(packed, rows=0, statuses="", whys=(), installed=0)
        batch = RecordBatch(
            format=PACKED_FORMAT,
            matrix=self.matrix,
            rows=((),),
            installed=((),),
            metrics=self.metrics,
            circumstances=self.circumstances,
            records=(alone,),
        )
        record = replace(
            batch.record(alone),
            capabilities=capabilities,
            installed=self._packages[packed.installed],
        )
        if is_new:
            refuse_unsound_answers(record)  # all else was looked at without them
            self._told[answer] = capabilities
        return record

    @cached_property
    def _told(self) -> dict[Hashable, tuple[Capability, ...]]:
        return {}

    @cached_property
    def _packages(self) -> dict[int, tuple[Installed, ...]]:
        return {}

    @cached_property
    def _by_cell(self) -> dict[str, list[msgspec.Raw]]:
        by_cell: dict[str, list[msgspec.Raw]] = {}
        for raw in self.records:
            by_cell.setdefault(_named.decode(raw).cell, []).append(raw)
        return by_cell


class _Named(Value, frozen=True, array_like=True):
    """The first of a record's fields."""

    cell: str


def decode_sheet(data: bytes) -> BatchSheet:
    """Return the batch without decoding its records; raise ValueError when it is none."""
    return _sheet.decode(data)


_sheet = msgspec.json.Decoder(BatchSheet)
_packed = msgspec.json.Decoder(PackedRecord)
_row = msgspec.json.Decoder(tuple[CapabilityRow, ...])
_packages = msgspec.json.Decoder(tuple[tuple[str, str], ...])
_named = msgspec.json.Decoder(_Named)
