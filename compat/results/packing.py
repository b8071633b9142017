"""Records side by side in one batch: what several of them say stands there once.

A batch is one JSON object on one line. Its tables hold what records share: the rows of capabilities
(id, spelling, API looked for), the packages installed, names and units of metrics, and the
circumstances of a run. A record refers to them by number, and says of its capabilities one letter
each: `y`es, `n`o, `a`bsent.
"""

import datetime
from collections.abc import Hashable, Iterable
from typing import Annotated, Any, Literal

import msgspec

from compat.declare.suite_table import Tier
from compat.results.record import (
    Record,
    StepSeconds,
    UtcDatetime,
    record_of_parts,
)
from compat.results.upgrades import Raw
from compat.run.evidence import Isolation
from compat.value import StrictValue

PACKED_FORMAT: Literal[6] = 6
_LETTERS = {"yes": "y", "no": "n", "absent": "a"}
_STATUSES = {letter: status for status, letter in _LETTERS.items()}
Number = Annotated[int, msgspec.Meta(ge=0)]


class CapabilityRow(StrictValue, frozen=True, array_like=True):
    """What a capability is called and where it was looked for, whatever came of it."""

    id: str
    spelling: str
    missing: tuple[str, ...]


class MetricName(StrictValue, frozen=True, array_like=True):
    """What a metric measures."""

    name: str
    unit: str
    better: str


class Circumstances(StrictValue, frozen=True, array_like=True):
    """What the runs of one night have in common."""

    suite_digest: str
    host: str
    isolation: Isolation
    tier: Tier
    tool: str
    run_url: str


class PackedTry(StrictValue, frozen=True, array_like=True):
    """One attempt."""

    outcome: str
    seconds: float
    started: UtcDatetime
    isolation: Isolation


class PackedWhy(StrictValue, frozen=True, array_like=True):
    """Why the capability of that number in its row has its status."""

    number: Number
    cause: str
    subject: str


class PackedRecord(StrictValue, frozen=True, array_like=True):
    """A record without what stands in the batch's tables.

    `digits` are those of the name of its file. `attempts` is None where there was one that says
    the same as the run.
    """

    cell: str
    digits: str
    started: UtcDatetime
    seconds: float
    outcome: str
    lock_digest: str
    circumstances: Number
    rows: Number
    statuses: str
    whys: tuple[PackedWhy, ...]
    metrics: Number
    values: tuple[float, ...]
    involved: tuple[str, ...]
    installed: Number
    attempts: tuple[PackedTry, ...] | None
    step_seconds: tuple[float | None, float | None, float | None, float | None]
    remarks: tuple[str, ...]
    log: str

    @property
    def name(self) -> str:
        return f"{self.started:%Y%m%dT%H%M%SZ}-{self.digits}.json"

    @property
    def path(self) -> str:
        return f"{self.cell}/{self.name}"

    @property
    def outcomes(self) -> tuple[str, ...]:
        """What each attempt came to, as text."""
        return tuple(a.outcome for a in self.attempts or ()) or (self.outcome,)


class RecordBatch(StrictValue, frozen=True, kw_only=True):
    """Records of one matrix and the tables that they refer to."""

    format: Literal[6]
    matrix: str
    rows: tuple[tuple[CapabilityRow, ...], ...]
    installed: tuple[tuple[tuple[str, str], ...], ...]
    metrics: tuple[tuple[MetricName, ...], ...]
    circumstances: tuple[Circumstances, ...]
    records: Annotated[tuple[PackedRecord, ...], msgspec.Meta(min_length=1)]

    def record(self, packed: PackedRecord) -> Record:
        """Return one of its records, whole; raise ValueError when it is not a valid one."""
        try:
            return record_of_parts(self._raw(packed))
        except (IndexError, KeyError) as error:
            raise ValueError("refers to what is not in the batch") from error

    def metrics_of(self, packed: PackedRecord) -> list[dict[str, Any]]:
        names = self.metrics[packed.metrics]
        if len(names) != len(packed.values):
            raise ValueError("has not one value for each metric")
        return [
            {"name": n.name, "unit": n.unit, "better": n.better, "value": value}
            for n, value in zip(names, packed.values, strict=True)
        ]

    def _raw(self, packed: PackedRecord) -> Raw:
        place = self.circumstances[packed.circumstances]
        alone = PackedTry(packed.outcome, packed.seconds, packed.started, place.isolation)
        attempts = (alone,) if packed.attempts is None else packed.attempts
        names = StepSeconds.__struct_encode_fields__
        return {
            **_fields(place),
            "cell": packed.cell,
            "matrix": self.matrix,
            "started": _text(packed.started),
            "seconds": packed.seconds,
            "outcome": packed.outcome,
            "lock_digest": packed.lock_digest,
            "capabilities": packed_capabilities(self.rows[packed.rows], packed),
            "metrics": self.metrics_of(packed),
            "installed": [
                {"name": name, "version": version}
                for name, version in self.installed[packed.installed]
            ],
            "involved": list(packed.involved),
            "remarks": list(packed.remarks),
            "log": packed.log,
            "step_seconds": dict(zip(names, packed.step_seconds, strict=True)),
            "attempts": [{**_fields(a), "started": _text(a.started)} for a in attempts],
        }


def packed_capabilities(
    rows: tuple[CapabilityRow, ...], packed: PackedRecord
) -> list[dict[str, Any]]:
    if len(rows) != len(packed.statuses):
        raise ValueError("has not one status for each capability")
    capabilities = [
        {
            "id": row.id,
            "status": _STATUSES[letter],
            "cause": "",
            "subject": "",
            "missing": list(row.missing),
            "spelling": row.spelling,
        }
        for row, letter in zip(rows, packed.statuses, strict=True)
    ]
    for why in packed.whys:
        capabilities[why.number].update(cause=why.cause, subject=why.subject)
    return capabilities


class _Table:
    """Values in the order in which they came, each once."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def number(self, value: Hashable) -> int:
        return self._numbers.setdefault(value, len(self._numbers))

    def values(self) -> tuple[Any, ...]:
        return tuple(self._numbers)


class _Tables:
    """The tables of a batch while records are put into it."""

    def __init__(self) -> None:
        self.rows, self.installed = _Table(), _Table()
        self.metrics, self.circumstances = _Table(), _Table()

    def packed(self, digits: str, record: Record) -> PackedRecord:
        capabilities, steps, outcome = record.capabilities, record.step_seconds, str(record.outcome)
        place = Circumstances(*(getattr(record, name) for name in Circumstances.__struct_fields__))
        alone = PackedTry(outcome, float(record.seconds), record.started, record.isolation)
        attempts = tuple(
            PackedTry(str(a.outcome), float(a.seconds), a.started, a.isolation)
            for a in record.attempts
        )
        metrics = tuple(MetricName(m.name, m.unit, m.better) for m in record.metrics)
        return PackedRecord(
            cell=record.cell,
            digits=digits,
            started=record.started,
            seconds=float(record.seconds),
            outcome=outcome,
            lock_digest=record.lock_digest,
            circumstances=self.circumstances.number(place),
            rows=self.rows.number(
                tuple(CapabilityRow(c.id, c.spelling, c.missing) for c in capabilities)
            ),
            statuses="".join(_LETTERS[c.status] for c in capabilities),
            whys=tuple(
                PackedWhy(number, c.cause, c.subject)
                for number, c in enumerate(capabilities)
                if c.cause or c.subject
            ),
            metrics=self.metrics.number(metrics),
            values=tuple(float(m.value) for m in record.metrics),
            involved=record.involved,
            installed=self.installed.number(tuple((i.name, i.version) for i in record.installed)),
            attempts=None if attempts == (alone,) else attempts,
            step_seconds=(steps.install, steps.import_, steps.suite, steps.overhead),
            remarks=record.remarks,
            log=record.log,
        )


def batch_of(matrix: str, records: Iterable[tuple[str, Record]]) -> RecordBatch:
    """Return the batch of these records, each with the digits of the name of its file; the same
    records make the same batch, in whatever order they come.
    """
    tables = _Tables()
    ordered = sorted(records, key=lambda item: (item[1].cell, item[1].started, item[0]))
    packed = tuple(tables.packed(digits, record) for digits, record in ordered)
    return RecordBatch(
        format=PACKED_FORMAT,
        matrix=matrix,
        rows=tables.rows.values(),
        installed=tables.installed.values(),
        metrics=tables.metrics.values(),
        circumstances=tables.circumstances.values(),
        records=packed,
    )


def encode_batch(batch: RecordBatch) -> bytes:
    return msgspec.json.encode(batch)


_decoder = msgspec.json.Decoder(RecordBatch)


def decode_batch(data: bytes) -> RecordBatch:
    """Return the batch of these bytes; raise ValueError when they are none."""
    return _decoder.decode(data)


def _fields(value: msgspec.Struct) -> Raw:
    return {name: getattr(value, name) for name in value.__struct_fields__}


def _text(moment: datetime.datetime) -> str:
    text: str = msgspec.to_builtins(moment)
    return text
