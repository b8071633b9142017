"""Packs cells with their expected seconds into balanced shards."""

import heapq
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from compat.value import Value

# GitHub starts at most this many jobs from one matrix:
# https://docs.github.com/en/actions/reference/limits
MOST_SHARDS = 256


class Task(Value, frozen=True, kw_only=True):
    """A cell to run, and its expected seconds."""

    cell: str
    seconds: float


class Budget(Value, frozen=True, kw_only=True):
    """Concurrent shards, the seconds of each, and of these the `overhead` before its cells."""

    seconds: float
    shards: int
    overhead: float = 0.0

    @property
    def room(self) -> float:
        return max(0.0, self.seconds - self.overhead)

    @property
    def most(self) -> int:
        return max(1, min(self.shards, MOST_SHARDS))


class Packing(Value, frozen=True, kw_only=True, dict=True):
    """Shards that run side by side, each the cells of one machine, longest first; none is empty."""

    shards: tuple[tuple[Task, ...], ...] = ()
    overhead: float = 0.0

    @cached_property
    def seconds(self) -> tuple[float, ...]:
        return tuple(self.overhead + sum(task.seconds for task in own) for own in self.shards)

    @cached_property
    def longest(self) -> float:
        return max(self.seconds, default=0.0)

    @cached_property
    def mean(self) -> float:
        return sum(self.seconds) / max(1, len(self.shards))

    @property
    def tasks(self) -> Iterator[Task]:
        return itertools.chain.from_iterable(self.shards)

    @property
    def alone(self) -> Task | None:
        """The cell that takes longer than a mean shard, which prevents balance; else None."""
        if len(self.shards) < 2:
            return None
        task = max(self.tasks, key=lambda task: task.seconds)
        return task if self.overhead + task.seconds > self.mean else None


def packed(tasks: Sequence[Task], budget: Budget) -> Packing:
    """For tasks of `tasks_that_fit`. Each shard has as much work as overhead: set-up costs."""
    if not tasks:
        return Packing()
    most = min(budget.most, len(tasks))
    work = sum(task.seconds for task in tasks)
    worthwhile = most if most * budget.overhead < work else math.ceil(work / budget.overhead)
    # Longest processing time first (Graham 1969): at most 4/3 of the best packing, and far less
    # with many tasks.
    ordered = sorted(tasks, key=lambda task: (-task.seconds, task.cell))
    for count in range(max(1, min(worthwhile, most)), most + 1):
        packing = _packing(_assigned(ordered, count), budget)
        if packing.longest <= budget.seconds:
            return packing
    return _packing(_assigned(tasks, budget.most, budget.room), budget)


def tasks_that_fit(tasks: Iterable[Task], budget: Budget) -> tuple[Task, ...]:
    """A short task may fit where a long one did not. They keep their order."""
    listed = tuple(tasks)
    fitting = set(itertools.chain.from_iterable(_assigned(listed, budget.most, budget.room)))
    return tuple(task for task in listed if task in fitting)


def rounds(tasks: Sequence[Task], budget: Budget) -> Iterator[tuple[Task, ...]]:
    waiting = tasks
    while taken := set(tasks_that_fit(waiting, budget)):
        yield tuple(task for task in waiting if task in taken)
        waiting = [task for task in waiting if task not in taken]


def _assigned(tasks: Iterable[Task], count: int, room: float = math.inf) -> list[list[Task]]:
    # The tasks in shards, each in the one with most room left, or in none where that is too little.
    shards: list[list[Task]] = [[] for _ in range(count)]
    loads = [(0.0, number) for number in range(count)]
    for task in tasks:
        load, number = loads[0]
        if load + task.seconds <= room:
            heapq.heapreplace(loads, (load + task.seconds, number))
            shards[number].append(task)
    return shards


def _packing(assigned: Iterable[Iterable[Task]], budget: Budget) -> Packing:
    ordered = (sorted(tasks, key=lambda task: (-task.seconds, task.cell)) for tasks in assigned)
    shards = tuple(tuple(own) for own in ordered if own)
    return Packing(shards=shards, overhead=budget.overhead)
