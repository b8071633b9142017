"""What a verdict needs to know of a run, whoever has it."""

import datetime
from typing import Protocol

from compat.declare.suite_table import Tier
from compat.results.record import Capability
from compat.run.evidence import Isolation, Measured, Metric
from compat.run.outcome import Outcome


class Ran(Protocol):
    """What a verdict needs to know of a run: a Record has it, and so has a row of the index."""

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
