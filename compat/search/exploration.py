"""Which probe answers most cells a second: a lock, a run of the suite's core, or the whole suite.

A refusal repeats a few reasons, and a reason is a few facts of a cell, so a cell is worth a lock
where many unanswered cells share facts with it, and where its like were refused before. Facts of a
cell that could be locked are no reason. How far refusals reach is learnt from those that came: for
each set of axes, how often a refusal also answered cells that differ in exactly these. A run of the
whole suite may answer what lies between it and a neighbour that came to the same
(`run_reach.py`); a run of the core alone answers its own cell.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Literal

from packaging.version import Version

from compat.plan.cell import Cell
from compat.value import Value

# So many cells that can be locked wait for a run before locks are made for their refusals alone:
# while one runs, the next are there. Chosen on 2026-11-23.
_ENOUGH = 4
ProbeKind = Literal["lock", "smoke", "suite"]
_RUNS: tuple[ProbeKind, ...] = ("smoke", "suite")
# The axes in which its cells differ, and its number.
Group = tuple[frozenset[str], int]


class ExploreProbe(Value, frozen=True):
    """What to try next: a cell, and how much of it."""

    cell: Cell
    kind: ProbeKind


class Exploration:
    """The cells of a matrix that have no answer, and what is tried with them, in which order.

    A cell is locked first, then run with the suite's core; once no cell is left without an answer,
    those that ran the core alone run the whole suite. Where the suite has no core, that is what a
    locked cell runs.
    """

    def __init__(
        self,
        unlocked: Iterable[Cell],
        locked: Iterable[Cell],
        smoked: Iterable[Cell],
        seconds: Callable[[Cell, ProbeKind], float],
        kinds: Collection[ProbeKind] = ("lock", "smoke", "suite"),
        answers: Callable[[Cell, ProbeKind], float] = lambda cell, kind: 1.0,
    ) -> None:
        """Take the cells without an answer, by whether they have a lock, and those that ran the
        core alone; the first ones come first where they are worth the same.

        `seconds` says how long a probe is expected to take; `kinds` which may be tried; `answers`
        how many cells a run is expected to answer.
        """
        self._unlocked = {cell.id: cell for cell in unlocked}
        self._locked = {cell.id: cell for cell in locked}
        self._smoked = {cell.id: cell for cell in smoked}
        self._seconds = seconds
        self._kinds = frozenset(kinds)
        self._run_kinds = [kind for kind in _RUNS if kind in self._kinds]
        self._answers_of_run = answers
        self._busy: dict[str, Cell] = {}
        self._groups_of: dict[str, tuple[Group, ...]] = {}
        self._numbers: dict[tuple[tuple[Version | None, ...], str], int] = {}
        self._open: Counter[Group] = Counter()
        self._tried: Counter[Group] = Counter()
        self._refused: Counter[Group] = Counter()
        self._all_tried = self._all_refused = 0
        # How many refusals came, and how many of them answered cells that differ in these axes.
        self._refusals = 0
        self._reach: Counter[frozenset[str]] = Counter()
        self._counted = {cell_id for cells in (self._unlocked, self._locked) for cell_id in cells}
        for cell in (*self._unlocked.values(), *self._locked.values()):
            self._open.update(self._groups(cell))

    @property
    def run_kind(self) -> ProbeKind | None:
        """What a locked cell without an answer runs; None where nothing may run."""
        return next(iter(self._run_kinds), None)

    def next(self) -> ExploreProbe | None:
        """Return the probe that is worth most of all, and count it as begun; None without one."""
        lock, run = self._best_lock(), self._best_run()
        if lock is None or run is None:
            return self._begun(lock or run)
        return self._begun(lock if self._worth(lock) >= self._worth(run) else run)

    def next_lock(self, left: float = math.inf) -> ExploreProbe | None:
        """Return the best lock, and count it as begun; None where it is not expected to end in the
        seconds that are left.
        """
        return self._begun(self._in_time(self._best_lock(), left))

    def next_run(self, left: float = math.inf) -> ExploreProbe | None:
        """Return the best run, and count it as begun; None where it is not expected to end in the
        seconds that are left, and while only the whole suite is left for cells that ran the core,
        and others have no answer yet.
        """
        return self._begun(self._in_time(self._best_run(), left))

    def known(self, cell: Cell, *, is_refused: bool) -> None:
        groups = self._groups(cell)
        self._tried.update(groups)
        self._all_tried += 1
        self._all_refused += is_refused
        if is_refused:
            self._refused.update(groups)

    def locked(self, cell: Cell) -> None:
        self.known(cell, is_refused=False)
        for cells in (self._busy, self._unlocked):
            if cells.pop(cell.id, None) is not None:
                self._locked[cell.id] = cell

    def refused(self, cell: Cell, inferred: Iterable[Cell] = ()) -> None:
        self.known(cell, is_refused=True)
        others = [other for other in inferred if self._is_open(other)]
        self._refusals += 1
        self._reach.update({_difference(cell, other) for other in others})
        for answered in (cell, *others):
            if self._is_open(answered):
                self._answer(answered)

    def ran(self, cell: Cell, kind: ProbeKind, inferred: Iterable[Cell] = ()) -> None:
        for answered in (cell, *inferred):
            if self._is_open(answered):
                self._answer(answered)
        self._busy.pop(cell.id, None)
        if kind == "smoke":
            self._smoked[cell.id] = cell

    def set_aside(self, cells: Iterable[Cell]) -> None:
        """Take that cells get no answer here, so that they are not tried again."""
        for cell in cells:
            if self._is_open(cell):
                self._answer(cell)

    @property
    def unlocked(self) -> tuple[Cell, ...]:
        return tuple(self._unlocked.values())

    @property
    def is_running_left(self) -> bool:
        """Whether cells wait for a run."""
        return bool(self._run_kinds and (self._locked or self._smoked))

    def _in_time(self, probe: ExploreProbe | None, left: float) -> ExploreProbe | None:
        is_long = probe is not None and self._seconds(probe.cell, probe.kind) > left
        return None if is_long else probe

    def _begun(self, probe: ExploreProbe | None) -> ExploreProbe | None:
        if probe is not None:
            for cells in (self._unlocked, self._locked, self._smoked):
                cells.pop(probe.cell.id, None)
            self._busy[probe.cell.id] = probe.cell
        return probe

    def _is_open(self, cell: Cell) -> bool:
        return any(cell.id in cells for cells in (self._unlocked, self._locked, self._busy))

    def _answer(self, cell: Cell) -> None:
        for cells in (self._unlocked, self._locked, self._busy):
            cells.pop(cell.id, None)
        if cell.id in self._counted:
            self._counted.remove(cell.id)
            self._open.subtract(self._groups(cell))

    def _best_lock(self) -> ExploreProbe | None:
        if "lock" not in self._kinds or not self._unlocked:
            return None
        probes = (ExploreProbe(cell, "lock") for cell in self._unlocked.values())
        run = self.run_kind
        if run is None or len(self._locked) < _ENOUGH:
            return max(probes, key=self._worth)
        # Enough cells wait to be run: another lock pays only by what its refusal would answer.
        best = max(probes, key=lambda probe: self._worth_refused(probe.cell))
        least = 1 / self._seconds(best.cell, run)
        return best if self._worth_refused(best.cell) >= least else None

    def _best_run(self) -> ExploreProbe | None:
        if self._run_kinds and self._locked:
            locked = self._locked.values()
            probes = (ExploreProbe(cell, kind) for cell in locked for kind in self._run_kinds)
            return max(probes, key=self._worth)
        waits = self._unlocked or self._locked or self._busy
        if "suite" not in self._kinds or not self._smoked or waits:
            return None
        return ExploreProbe(next(iter(self._smoked.values())), "suite")

    def _worth(self, probe: ExploreProbe) -> float:
        cell = probe.cell
        if probe.kind != "lock":
            return self._answers_of_run(cell, probe.kind) / self._seconds(cell, probe.kind)
        chance, reached = self._chance(cell), self._reached(cell)
        answers, seconds = chance * reached, self._seconds(cell, "lock")
        if (run := self.run_kind) is not None:
            # A cell that can be locked is answered by the run that follows.
            answers += 1 - chance
            seconds += (1 - chance) * self._seconds(cell, run)
        return answers / seconds

    def _worth_refused(self, cell: Cell) -> float:
        often = (1 + self._all_refused) / (2 + self._all_tried)
        chance = min(self._chance(cell), often)
        return chance * self._reached(cell) / self._seconds(cell, "lock")

    def _chance(self, cell: Cell) -> float:
        """How likely a cell is refused, by what became of those that share facts with it; one in
        two as long as nothing is known.
        """
        tried = refused = 0.0
        for group in self._groups(cell):
            weight = 1 / len(group[0])
            tried += weight * self._tried[group]
            refused += weight * self._refused[group]
        return (1 + refused) / (2 + tried)

    def _reached(self, cell: Cell) -> float:
        """How many cells its refusal is expected to answer, its own included.

        What a cell with a lock shares with it is not what it is refused for.
        """
        reached = 1.0
        for group in self._groups(cell):
            if self._tried[group] > self._refused[group]:
                continue
            share = (1 + self._reach[group[0]]) / (2 + self._refusals)
            reached = max(reached, 1 + share * (self._open[group] - 1))
        return reached

    def _groups(self, cell: Cell) -> tuple[Group, ...]:
        """The groups of cells that a cell is one of: those that share its recipe and differ from
        it, if at all, in certain axes; never in all.
        """
        groups = self._groups_of.get(cell.id)
        if groups is None:
            groups = self._groups_of[cell.id] = tuple(self._made(cell))
        return groups

    def _made(self, cell: Cell) -> Iterator[Group]:
        axes = [coordinate.axis for coordinate in cell.coordinates]
        for size in range(1, len(axes)):
            for free in itertools.combinations(axes, size):
                held = tuple(
                    None if coordinate.axis in free else coordinate.version
                    for coordinate in cell.coordinates
                )
                number = self._numbers.setdefault((held, cell.recipe), len(self._numbers))
                yield frozenset(free), number


def _difference(cell: Cell, other: Cell) -> frozenset[str]:
    pairs = zip(cell.coordinates, other.coordinates, strict=True)
    return frozenset(mine.axis for mine, its in pairs if mine.version != its.version)
