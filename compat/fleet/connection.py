"""What a run asks of a connection to a scheduler, whichever engine is behind it."""

from typing import Any, Protocol

from compat.fleet.cell_order import CellOrder, WorkerMessage


class Connection(Protocol):
    """A connection to a scheduler; once it is lost, `offers` and `submit` raise CompatError."""

    def message(self, seconds: float) -> WorkerMessage | None:
        """Return the next message; None when none comes in so many seconds."""

    def offers(self) -> dict[str, dict[str, float]]:
        """Return the resources of each worker that is there, by its address."""

    def submit(self, order: CellOrder, key: str) -> Any:
        """Hand an order to the scheduler and return its future."""

    def state(self, future: Any) -> tuple[str, str]:
        """Return how far a future is: pending, finished or lost; of one that is lost, why."""

    def drop(self, future: Any) -> None:
        """Let go of a future."""

    def close(self) -> None:
        """Leave the cluster."""
