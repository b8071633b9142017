"""What is asked of a resolver: Protocol Locker."""

from typing import Protocol

from compat.lock.lockfile import Inputs, Lock, Refusal


class Locker(Protocol):
    """Something that turns inputs into exact pins."""

    def lock(self, inputs: Inputs) -> Lock | Refusal:
        """Return the pins, or the resolver's refusal.

        Raises IndexUnreachable when the index gave no answer, ToolFailed when the resolver itself
        broke.
        """
