"""A cell and what is known of it: one line of a snapshot."""

from collections.abc import Sequence

from compat.plan.cell import Cell, Recipe
from compat.plan.obstacle import Obstacle
from compat.results.kept_verdicts import Judge, JudgedRuns, judged_anew
from compat.results.plain_answers import KnownRefusal
from compat.results.ran import Ran
from compat.results.run_overview import RunOverview
from compat.results.runs_by_cell import CellRuns
from compat.results.verdict import Counted, EvaluationContext, History, Verdict
from compat.value import StrictValue


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
    def is_tested(self) -> bool:
        return self.verdict.evidence in ("tested", "smoke")


def entry_of(
    cell: Cell,
    runs: Sequence[Ran],
    present: EvaluationContext,
    beside: tuple[str | None, Obstacle | None] = (None, None),
    *,
    planned: bool = True,
    judge: Judge = judged_anew,
) -> Entry:
    """Return the entry of one cell, with its verdict by its own runs alone; `beside` is the digest
    of its lock and what the plan says against it.

    In a whole snapshot the other cells of its release say whose fault a failure is. `runs` are
    those of the cell. `judge` returns a verdict that is kept.
    """
    lock_digest, obstacle = beside
    history = History(runs, present.day)
    judged = JudgedRuns(cell.id, runs, history, lock_digest, obstacle)
    verdict, overview = judge("alone", judged, present)
    return Entry(
        cell=cell,
        verdict=verdict,
        obstacle=obstacle,
        lock_digest=lock_digest,
        runs=runs if isinstance(runs, CellRuns) else tuple(runs),
        history=history,
        overview=overview,
        planned=planned,
    )
