"""A resolver that is a function: for tests that need its answers without one."""

from collections.abc import Callable

from compat.lock.lockfile import Inputs, Lock, Refusal


class MemoryLocker:
    """A Locker over a function."""

    def __init__(self, answer: Callable[[Inputs], Lock | Refusal]) -> None:
        """Take the function that answers; every question is kept in `asked`."""
        self._answer = answer
        self.asked: list[Inputs] = []

    def lock(self, inputs: Inputs) -> Lock | Refusal:
        """Return the function's answer."""
        self.asked.append(inputs)
        return self._answer(inputs)
