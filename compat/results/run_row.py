"""A run as the index has it, in little room: what runs share is a fact, which is kept once."""

import datetime
import zlib
from array import array
from collections.abc import Callable, Hashable, Iterable
from functools import cached_property
from typing import Any

import msgspec

from compat.declare.suite_table import Tier
from compat.results.batch_sheet import IndexedBatch
from compat.results.packing import PackedRecord
from compat.results.record import Capability, Record
from compat.run.evidence import Isolation, Measured, Metric
from compat.run.outcome import Outcome, parse_outcome
from compat.value import Value


class KeptRun(Value, frozen=True, array_like=True):
    """A run as a cell's row has it. `frame`, `told` and `names` are numbers of facts, `values` the
    metrics' values as doubles, and `file` the number of the file that it stands in.
    """

    started: datetime.datetime
    name: str
    file: int
    seconds: float
    lock_digest: str
    frame: int
    told: int
    names: int
    values: bytes


class _Frame(Value, frozen=True, array_like=True):
    outcome: str
    outcomes: tuple[str, ...]
    suite_digest: str
    isolation: Isolation
    tier: Tier


class _ReadFrame:
    """A frame with its outcomes parsed."""

    def __init__(self, fact: bytes) -> None:
        frame = _frame.decode(fact)
        self.outcome = parse_outcome(frame.outcome)
        self.outcomes = tuple(map(parse_outcome, frame.outcomes))
        self.suite_digest, self.isolation, self.tier = (
            frame.suite_digest,
            frame.isolation,
            frame.tier,
        )


class RunFacts:
    """What each capability came to and which packages the outcome speaks of, decoded when it is
    asked for.
    """

    def __init__(self, number: int, fact: bytes) -> None:
        self.number = number
        self._fact = fact

    @cached_property
    def capabilities(self) -> tuple[Capability, ...]:
        return self._decoded[0]

    @cached_property
    def involved(self) -> tuple[str, ...]:
        return self._decoded[1]

    @cached_property
    def _decoded(self) -> tuple[tuple[Capability, ...], tuple[str, ...]]:
        return _told.decode(self._fact)


class RunRow(Value, frozen=True, kw_only=True):
    """A run as the index has it: enough for a verdict, without its file."""

    cell: str
    started: datetime.datetime
    outcome: Outcome
    outcomes: tuple[Outcome, ...]
    seconds: float
    lock_digest: str
    suite_digest: str
    isolation: Isolation
    tier: Tier
    told: RunFacts
    names: tuple[tuple[str, str, str], ...]
    values: bytes

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        return self.told.capabilities

    @property
    def involved(self) -> tuple[str, ...]:
        return self.told.involved

    @property
    def metrics(self) -> tuple[Metric, ...]:
        rows: Iterable[Any] = zip(*self.measured, strict=True)
        return tuple(
            Metric(name=name, unit=unit, better=better, value=value)
            for (name, unit, better), value in rows
        )

    @property
    def measured(self) -> Measured:
        return self.names, array("d", self.values)


class FactTable:
    """The facts by their numbers, read when they are asked for, and numbered when they are new."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._frames: dict[int, _ReadFrame] = {}
        self._told: dict[int, RunFacts] = {}
        self._names: dict[int, tuple[tuple[str, str, str], ...]] = {}
        self._texts: dict[str, str] = {}

    def row(self, cell: str, kept: KeptRun) -> RunRow:
        frame = self._frames.get(kept.frame)
        if frame is None:
            frame = self._frames[kept.frame] = _ReadFrame(self._read(kept.frame))
        names = self._names.get(kept.names)
        if names is None:
            names = self._names[kept.names] = _names.decode(self._read(kept.names))
        return RunRow(
            cell=cell,
            started=kept.started,
            outcome=frame.outcome,
            outcomes=frame.outcomes,
            seconds=kept.seconds,
            # A cell's runs have few locks.
            lock_digest=self._texts.setdefault(kept.lock_digest, kept.lock_digest),
            suite_digest=frame.suite_digest,
            isolation=frame.isolation,
            tier=frame.tier,
            told=self.told(kept.told),
            names=names,
            values=kept.values,
        )

    def told(self, number: int) -> RunFacts:
        facts = self._told.get(number)
        if facts is None:
            facts = self._told[number] = RunFacts(number, self._read(number))
        return facts


class RunKeeper:
    """Turns the records of batches into runs of cells; a fact that is new gets the next number."""

    def __init__(self, facts: Iterable[tuple[int, bytes]]) -> None:
        self._numbers = {fact: number for number, fact in facts}
        self.new: list[tuple[int, bytes]] = []
        self._next = 1 + max(self._numbers.values(), default=0)
        # Batches of other days have the same rows.
        self._rows: dict[bytes, int] = {}
        self._told: dict[Hashable, int] = {}

    def runs(self, batch: IndexedBatch, file: int) -> list[tuple[str, KeptRun]]:
        """Return the runs of a batch with their cells; raise ValueError when one is no run."""
        frames: dict[Hashable, int] = {}
        rows = [self._rows.setdefault(bytes(row), len(self._rows)) for row in batch.rows]
        told_numbers = self._told
        names = [self._number(msgspec.msgpack.encode(metrics)) for metrics in batch.metrics]

        def kept(packed: PackedRecord) -> KeptRun:
            frame_key = (packed.outcome, packed.circumstances, packed.attempts and packed.outcomes)
            frame = frames.get(frame_key)
            if frame is None:
                frame = frames[frame_key] = self._number(_frame_of(batch, packed))
            told_key = (rows[packed.rows], packed.statuses, packed.whys, packed.involved)
            told_number = told_numbers.get(told_key)
            if told_number is None:
                told_number = told_numbers[told_key] = self._number(_told_of(batch, packed))
            return KeptRun(
                packed.started,
                packed.name,
                file,
                packed.seconds,
                packed.lock_digest,
                frame,
                told_number,
                names[packed.metrics],
                array("d", packed.values).tobytes(),
            )

        try:
            return [(packed.cell, kept(packed)) for packed in batch.records]
        except (IndexError, KeyError):
            raise ValueError("a record refers to what is not in the batch") from None

    def run_of_record(self, record: Record, name: str, file: int) -> KeptRun:
        outcomes = tuple(map(str, record.outcomes))
        place = (record.suite_digest, record.isolation, record.tier)
        names, values = record.measured
        facts = record.capabilities, record.involved
        return KeptRun(
            record.started,
            name,
            file,
            float(record.seconds),
            record.lock_digest,
            self._number(msgspec.msgpack.encode(_Frame(str(record.outcome), outcomes, *place))),
            self._number(msgspec.msgpack.encode(facts)),
            self._number(msgspec.msgpack.encode(names)),
            array("d", values).tobytes(),
        )

    def _number(self, fact: bytes) -> int:
        number = self._numbers.get(fact)
        if number is None:
            number = self._numbers[fact] = self._next
            self.new.append((number, fact))
            self._next += 1
        return number


def encode_runs(runs: Iterable[KeptRun]) -> bytes:
    ordered = sorted(runs, key=lambda run: (run.started, run.name))
    return msgspec.msgpack.encode(ordered)


def decode_runs(data: bytes) -> list[KeptRun]:
    return _runs.decode(data)


def checksum(data: bytes, cell: str = "") -> int:
    """Return a checksum of what a row says: SQLite's own checks look at its pages' structure, not
    at what stands in them.
    """
    return zlib.crc32(data, zlib.crc32(cell.encode()))


def _frame_of(batch: IndexedBatch, packed: PackedRecord) -> bytes:
    place = batch.circumstances[packed.circumstances]
    for text in (packed.outcome, *packed.outcomes):
        parse_outcome(text)
    frame = _Frame(packed.outcome, packed.outcomes, place.suite_digest, place.isolation, place.tier)
    return msgspec.msgpack.encode(frame)


def _told_of(batch: IndexedBatch, packed: PackedRecord) -> bytes:
    capabilities = msgspec.convert(batch.capabilities_of(packed), tuple[Capability, ...])
    return msgspec.msgpack.encode((capabilities, packed.involved))


_frame = msgspec.msgpack.Decoder(_Frame)
_runs = msgspec.msgpack.Decoder(list[KeptRun])
_told = msgspec.msgpack.Decoder(tuple[tuple[Capability, ...], tuple[str, ...]])
_names = msgspec.msgpack.Decoder(tuple[tuple[str, str, str], ...])
