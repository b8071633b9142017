"""What a verdict needs to know of a run, whoever has it."""

import datetime
from array import array
from collections.abc import Iterable
from typing import Any, Protocol

from compat.declare.suite_table import Tier
from compat.results.record import Capability
from compat.run.evidence import Isolation, Measured, Metric
from compat.run.outcome import Outcome
from compat.value import Value


class Ran(Protocol):
    """What a verdict needs to know of a run: a Record has it, and so has a row of the table."""

    @property
    def cell(self) -> str:
        """The cell's id."""

    @property
    def started(self) -> datetime.datetime:
        """When it started, in UTC."""

    @property
    def lock_digest(self) -> str:
        """What was installed."""

    @property
    def suite_digest(self) -> str:
        """What was asked of it."""

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """What each attempt came to, at least one."""

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        """What each capability came to."""

    @property
    def involved(self) -> tuple[str, ...]:
        """The packages that its outcome speaks of."""

    @property
    def isolation(self) -> Isolation:
        """How far the cell was shut in."""

    @property
    def tier(self) -> Tier:
        """How much of the suite was asked for."""

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The numbers that it reports."""

    @property
    def measured(self) -> Measured:
        """What its metrics measure, and the values."""

    @property
    def seconds(self) -> float:
        """How long it took."""


class Run(Value, frozen=True, kw_only=True):
    """A run as the table has it: enough for a verdict, without its file. Runs with the same results
    share one object of capabilities.
    """

    cell: str
    started: datetime.datetime
    outcome: Outcome
    outcomes: tuple[Outcome, ...]
    seconds: float
    lock_digest: str
    suite_digest: str
    isolation: Isolation
    tier: Tier
    capabilities: tuple[Capability, ...]
    involved: tuple[str, ...]
    names: tuple[tuple[str, str, str], ...]
    values: bytes

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
