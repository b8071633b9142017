"""Chooses the probe that answers most cells a second: a lock, a core run, or the whole suite.

A lock is worth most for a cell that shares facts with many unanswered cells and whose like failed
before; facts of a lockable cell are no reason. The reach of failures is learnt from earlier ones:
for each set of axes, how often a failure also answered cells that differ in exactly these. A run of
the whole suite may answer the cells up to a neighbour with the same result (`RunReach`).
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Literal

from packaging.version import Version

from compat.plan.cell import Cell
from compat.results.answer import Kind
from compat.results.infer import (
    Lines,
    Signature,
    agreement,
    is_open,
    is_silent,
    tested_signature,
)
from compat.results.snapshot import Snapshot
from compat.value import Value

# While this many lockable cells wait for a run, no locks are made only for their failures; a run
# always finds the next cell ready. Chosen on 2026-11-23.
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
    """The unanswered cells of a matrix, their probes, and the probes' order.

    A cell is locked first, then run with the suite's core, if it has one; the whole suite follows
    once every cell has an answer.
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
        """Take the cells without an answer, locked or not, and those with only a core run.

        The first of equally valuable cells wins. `seconds` is the expected time of a probe; `kinds`
        are the allowed ones; `answers` is how many cells a run is expected to answer.
        """
        self._unlocked = {cell.id: cell for cell in unlocked}
        self._locked = {cell.id: cell for cell in locked}
        self._smoked = {cell.id: cell for cell in smoked}
        self._seconds = seconds
        self._kinds = frozenset(kinds)
        self._run_kinds = [kind for kind in _RUNS if kind in self._kinds]
        self._run_kind = next(iter(self._run_kinds), None)
        self._answers_of_run = answers
        self._busy: dict[str, Cell] = {}
        self._groups_of: dict[str, tuple[Group, ...]] = {}
        self._numbers: dict[tuple[tuple[Version | None, ...], str], int] = {}
        self._open: Counter[Group] = Counter()
        self._tried: Counter[Group] = Counter()
        self._refused: Counter[Group] = Counter()
        self._all_tried = self._all_refused = 0
        # The number of failures, and how many of them answered cells that differ in these axes.
        self._refusals = 0
        self._reach: Counter[frozenset[str]] = Counter()
        self._counted = {cell_id for cells in (self._unlocked, self._locked) for cell_id in cells}
        for cell in (*self._unlocked.values(), *self._locked.values()):
            self._open.update(self._groups(cell))

    def next_lock(self, left: float = math.inf) -> ExploreProbe | None:
        if "lock" not in self._kinds or not self._unlocked:
            return None
        run, cells = self._run_kind, self._unlocked.values()
        if run is None or len(self._locked) < _ENOUGH:
            best = max((ExploreProbe(cell, "lock") for cell in cells), key=self._worth)
            return self._begun(best, left)
        # Enough cells wait for a run: another lock is worth only what its failure would answer.
        best = ExploreProbe(max(cells, key=self._worth_refused), "lock")
        is_worth = self._worth_refused(best.cell) >= 1 / self._seconds(best.cell, run)
        return self._begun(best, left) if is_worth else None

    def next_run(self, left: float = math.inf) -> ExploreProbe | None:
        """Begin the best run that ends in time; whole suites wait until no cell is open."""
        if self._run_kinds and self._locked:
            locked = self._locked.values()
            probes = (ExploreProbe(cell, kind) for cell in locked for kind in self._run_kinds)
            return self._begun(max(probes, key=self._worth), left)
        waits = self._unlocked or self._locked or self._busy
        if "suite" not in self._kinds or not self._smoked or waits:
            return None
        return self._begun(ExploreProbe(next(iter(self._smoked.values())), "suite"), left)

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
        self._reach.update({difference(cell, other) for other in others})
        self.set_aside((cell, *others))

    def ran(self, cell: Cell, kind: ProbeKind, inferred: Iterable[Cell] = ()) -> None:
        self.set_aside((cell, *inferred))
        self._busy.pop(cell.id, None)
        if kind == "smoke":
            self._smoked[cell.id] = cell

    def set_aside(self, cells: Iterable[Cell]) -> None:
        for cell in filter(self._is_open, cells):
            for waiting in (self._unlocked, self._locked, self._busy):
                waiting.pop(cell.id, None)
            if cell.id in self._counted:
                self._counted.remove(cell.id)
                self._open.subtract(self._groups(cell))

    @property
    def unlocked(self) -> tuple[Cell, ...]:
        return tuple(self._unlocked.values())

    @property
    def is_running_left(self) -> bool:
        return bool(self._run_kinds and (self._locked or self._smoked))

    def _begun(self, probe: ExploreProbe, left: float) -> ExploreProbe | None:
        if self._seconds(probe.cell, probe.kind) > left:
            return None
        for cells in (self._unlocked, self._locked, self._smoked):
            cells.pop(probe.cell.id, None)
        self._busy[probe.cell.id] = probe.cell
        return probe

    def _is_open(self, cell: Cell) -> bool:
        return any(cell.id in cells for cells in (self._unlocked, self._locked, self._busy))

    def _worth(self, probe: ExploreProbe) -> float:
        cell = probe.cell
        if probe.kind != "lock":
            return self._answers_of_run(cell, probe.kind) / self._seconds(cell, probe.kind)
        chance, reached = self._chance(cell), self._reached(cell)
        answers, seconds = chance * reached, self._seconds(cell, "lock")
        if (run := self._run_kind) is not None:
            # A lockable cell is answered by the run that follows.
            answers += 1 - chance
            seconds += (1 - chance) * self._seconds(cell, run)
        return answers / seconds

    def _worth_refused(self, cell: Cell) -> float:
        often = (1 + self._all_refused) / (2 + self._all_tried)
        chance = min(self._chance(cell), often)
        return chance * self._reached(cell) / self._seconds(cell, "lock")

    def _chance(self, cell: Cell) -> float:
        tried = refused = 0.0
        for group in self._groups(cell):
            weight = 1 / len(group[0])
            tried += weight * self._tried[group]
            refused += weight * self._refused[group]
        return (1 + refused) / (2 + tried)

    def _reached(self, cell: Cell) -> float:
        """Facts shared with a locked cell are no reason."""
        reached = 1.0
        for group in self._groups(cell):
            if self._tried[group] > self._refused[group]:
                continue
            share = (1 + self._reach[group[0]]) / (2 + self._refusals)
            reached = max(reached, 1 + share * (self._open[group] - 1))
        return reached

    def _groups(self, cell: Cell) -> tuple[Group, ...]:
        if cell.id not in self._groups_of:
            axes, groups = [coordinate.axis for coordinate in cell.coordinates], list[Group]()
            for size in range(1, len(axes)):
                for free in itertools.combinations(axes, size):
                    held = tuple(None if c.axis in free else c.version for c in cell.coordinates)
                    number = self._numbers.setdefault((held, cell.recipe), len(self._numbers))
                    groups.append((frozenset(free), number))
            self._groups_of[cell.id] = tuple(groups)
        return self._groups_of[cell.id]


def difference(cell: Cell, other: Cell) -> frozenset[str]:
    pairs = zip(cell.coordinates, other.coordinates, strict=True)
    return frozenset(mine.axis for mine, its in pairs if mine.version != its.version)


# ---- how many cells a run is expected to answer: its own, and those between it and a tested
# neighbour with the same result (`results/infer.py`)
#
# A line without a tested cell is worth most at its ends: a second run may then answer all between.
# Between two neighbours with other results the middle is worth most, as in a bisection. A run may
# have no result, because another package blocks it or the time ran out; that is likelier beside
# such a cell.


# The probability of a result without a tested neighbour: of the first 90 cells of the largest
# matrix here that ran, 73 had one (24 November 2026).
_ANSWERS = 0.8
# Of a running cell.
_NOT_YET: Signature = ("",)


class RunReach:
    """The lines of a matrix, their tested cells, and what follows from a run."""

    def __init__(self, known: Snapshot) -> None:
        self._tested: dict[str, Signature] = {}
        # Cells without results of their own, and those of them with an expected result.
        self._open: dict[str, Cell] = {}
        self._expected: set[str] = set()
        # Cells without an expected answer, those of them that ran, and those that run now.
        self._silent: set[str] = set()
        self._blocked: set[str] = set()
        self._running: set[str] = set()
        for entry in known.entries:
            cell_id, signature = entry.cell.id, tested_signature(entry)
            if signature is not None:
                self._tested[cell_id] = signature
            elif is_open(entry) or entry.expected is not None:
                self._open[cell_id] = entry.cell
                if entry.expected is not None:
                    self._expected.add(cell_id)
            elif is_silent(entry):
                self._silent.add(cell_id)
                if entry.runs:
                    self._blocked.add(cell_id)
        self._lines = Lines(
            known, self._tested.get, lambda cell: cell in self._open or cell in self._silent
        )
        self._worth: dict[str, tuple[float, float]] = {}
        self._agreed = self._compared = 0
        for entry in known.known:
            if entry.cell.id in self._tested:
                self._compare(entry.cell)

    def answers(self, cell: Cell, *, is_whole: bool = True) -> float:
        if cell.id not in self._worth:
            lines = list(self._lines.through(cell))
            others = sum(self._on_line(cell.id, line) for line in lines)
            self._worth[cell.id] = self._chance(cell.id, lines), others
        chance, others = self._worth[cell.id]
        return chance * (1 + others if is_whole else 1)

    def ran(self, cell: Cell, signature: Signature) -> dict[Cell, Kind]:
        self.answered([cell])
        self._tested[cell.id] = signature
        self._compare(cell)
        followers: dict[Cell, Kind] = {}
        for line in self._lines.through(cell):
            for cell_id in line:
                other = self._open.get(cell_id)
                if other is None or cell_id in self._expected:
                    continue
                kinds = {self._tested[low][0] for low, _, _ in self._lines.around(other)}
                if len(kinds) == 1:
                    followers[other] = kinds.pop()  # type: ignore[assignment]
        for other in followers:
            self._expected.add(other.id)
            self._forget(other)
        return followers

    def answered(self, cells: Iterable[Cell]) -> None:
        for cell in cells:
            self._open.pop(cell.id, None)
            self._running.discard(cell.id)
            self._expected.discard(cell.id)
            self._lines.forget(cell)
            self._forget(cell)

    def begun(self, cell: Cell) -> None:
        self.answered([cell])
        self._running.add(cell.id)

    def blocked(self, cell: Cell) -> None:
        self.answered([cell])
        self._silent.add(cell.id)
        self._blocked.add(cell.id)

    def _forget(self, cell: Cell) -> None:
        for line in self._lines.through(cell):
            for cell_id in line:
                self._worth.pop(cell_id, None)

    def _compare(self, cell: Cell) -> None:
        for line in self._lines.through(cell):
            place = line.index(cell.id)
            beside = next((other for other in line[place + 1 :] if other in self._tested), None)
            if beside is not None:
                self._compared += 1
                self._agreed += bool(agreement(self._tested[cell.id], self._tested[beside]))

    def _on_line(self, cell_id: str, line: Sequence[str]) -> float:
        place = line.index(cell_id)
        before, low = self._up_to(reversed(line[:place]))
        after, high = self._up_to(line[place + 1 :])
        chance = (1 + self._agreed) / (2 + self._compared)
        if (low and high and not agreement(low, high)) or low == high == _NOT_YET:
            # The result changes somewhere between them, at an unknown position. Where an end runs
            # now, that holds only if both differ: else they answer what lies between.
            halves = (before * (after + 1) + after * (before + 1)) / (before + after + 1)
            return halves * (1 - chance if _NOT_YET in (low, high) else 1)
        sides = ((before, low), (after, high))
        # Without a tested neighbour another run is needed, at the far end.
        return chance * sum(cells if end else max(0, cells - 1) / 2 for cells, end in sides)

    def _chance(self, cell_id: str, lines: Iterable[Sequence[str]]) -> float:
        answers, weights = _ANSWERS, 1.0
        for line in lines:
            place = line.index(cell_id)
            for cells in (reversed(line[:place]), line[place + 1 :]):
                for distance, other in enumerate(cells, 1):
                    if other in self._tested or other in self._blocked:
                        answers += (other in self._tested) / distance
                        weights += 1 / distance
                        break
        return answers / weights

    def _up_to(self, cells: Iterable[str]) -> tuple[int, Signature | None]:
        waiting = 0
        for cell_id in cells:
            if cell_id in self._silent:
                continue
            if cell_id not in self._open:
                is_running = cell_id in self._running
                return waiting, _NOT_YET if is_running else self._tested.get(cell_id)
            waiting += cell_id not in self._expected
        return waiting, None
