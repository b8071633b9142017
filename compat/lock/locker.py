"""The door to resolvers: Protocol Locker, and the in-memory one."""

from collections.abc import Callable
from typing import Protocol

from compat.lock.lockfile import Inputs, Lock, Refusal


class Locker(Protocol):
    """Something that turns inputs into exact pins."""

    def lock(self, inputs: Inputs) -> Lock | Refusal:
        """Return the pins, or the resolver's refusal.

        Raises IndexUnreachable when the index gave no answer, ToolFailed when the resolver itself
        broke.
        """


class MemoryLocker:
    """A Locker over a function: for tests that need a resolver's answers without a resolver."""

    def __init__(self, answer: Callable[[Inputs], Lock | Refusal]) -> None:
        """Take the function that answers; every question is kept in `asked`."""
        self._answer = answer
        self.asked: list[Inputs] = []

    def lock(self, inputs: Inputs) -> Lock | Refusal:
        """Return the function's answer."""
        self.asked.append(inputs)
        return self._answer(inputs)
