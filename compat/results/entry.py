"""A cell and what is known of it: one line of a snapshot."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import overload

from compat.plan.cell import Cell, Recipe
from compat.plan.obstacle import Obstacle
from compat.results.plain_answers import KnownRefusal
from compat.results.ran import Ran, Run
from compat.results.run_overview import RunOverview, overview_of
from compat.results.verdict import Counted, EvaluationContext, History, Verdict, verdict_of
from compat.value import StrictValue


class CellRuns(Sequence[Run]):
    """The runs of one cell, oldest first, read when one of them is asked for: that there are some
    is known before.
    """

    def __init__(self, read: Callable[[], tuple[Run, ...]]) -> None:
        self._read = read

    @cached_property
    def _rows(self) -> tuple[Run, ...]:
        return self._read()

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._rows)

    @overload
    def __getitem__(self, index: int) -> Run: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Run]: ...

    def __getitem__(self, index: int | slice) -> Run | Sequence[Run]:
        return self._rows[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._rows == tuple(other)

    def __hash__(self) -> int:
        return hash(self._rows)


class Entry(StrictValue, frozen=True, kw_only=True):
    """A cell, what is known of it, and from which runs, oldest first.

    `lock_digest` is None when it has no lock now. `history` is what they come to on the snapshot's
    day, `overview` the same without reading them, None where there is no run up to that day.
    `refusal` is what a resolver says against a fresh cell. `planned` is false for a cell that has
    records but no longer stands in the plan. `is_unchanged` says of a relaxed cell that its lock
    keeps every published requirement.
    """

    cell: Cell
    verdict: Verdict
    obstacle: Obstacle | None = None
    lock_digest: str | None = None
    runs: Sequence[Ran] = ()
    history: History = History()
    overview: RunOverview | None = None
    refusal: KnownRefusal | None = None
    planned: bool = True
    is_unchanged: bool = False

    @property
    def recipe(self) -> Recipe:
        """How its packages came to be chosen: a relaxed cell in which nothing had to give way is a
        dated one.
        """
        return "dated" if self.is_unchanged else self.cell.recipe

    @property
    def counted(self) -> tuple[Counted, ...]:
        """Those of its runs that count on the snapshot's day, oldest first."""
        return self.history.counted

    @property
    def is_known(self) -> bool:
        """Whether it has a lock or a run."""
        return bool(self.runs) or self.lock_digest is not None

    @property
    def is_tested(self) -> bool:
        return self.verdict.evidence in ("tested", "smoke")


def entry_of(
    cell: Cell,
    runs: Sequence[Ran],
    present: EvaluationContext,
    beside: tuple[str | None, Obstacle | None] = (None, None),
    *,
    planned: bool = True,
) -> Entry:
    """Return the entry of one cell, with its verdict by its own runs alone; `beside` is the digest
    of its lock and what the plan says against it.

    In a whole snapshot the other cells of its release say whose fault a failure is. `runs` are
    those of the cell.
    """
    lock_digest, obstacle = beside
    history = History(runs, present.day)
    return Entry(
        cell=cell,
        verdict=verdict_of(cell.id, history, present, lock_digest, obstacle),
        obstacle=obstacle,
        lock_digest=lock_digest,
        runs=runs if isinstance(runs, CellRuns) else tuple(runs),
        history=history,
        overview=overview_of(runs, history, present, lock_digest),
        planned=planned,
    )
