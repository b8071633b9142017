"""How many probes `compat matrix explore` needs beside orders of chance, simulated from what is
known of a matrix: which cells a resolver refused, which it found packages for, and the clauses
that answer others. `pytest -s -m benchmark` prints it.
"""

import datetime
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat.lock.demands import Demands, Facts
from compat.plan.cell import Cell
from compat.results.learnt import Clause, ClauseBook
from compat.run.outcome import is_spurious
from compat.search.exploration import Exploration, ProbeKind
from compat.workspace import Workspace

pytestmark = pytest.mark.benchmark
MATRICES = Path(__file__).parents[2] / "matrices"
MET = "what it asks for is met by the packages found for "
# What probes of this matrix took: a lock 2 to 8 seconds, the core of the suite 15 to 25.
SECONDS: dict[ProbeKind, float] = {"lock": 4, "smoke": 20, "suite": 120}
SHARES = (0.5, 0.9, 1.0)
# (share, seconds, probes)
Mark = tuple[float, float, int]


class KnownWorld:
    """Cells of which it is known whether they can be locked, and what an answer to one says of
    others.
    """

    def __init__(self, workspace: Workspace) -> None:
        snapshot = workspace.snapshot
        facts = workspace.facts_of(workspace.stored_or_fetched)
        demands, book = Demands(facts), ClauseBook(workspace.learnt.clauses.conflicts)
        self.cells: dict[str, Cell] = {}
        self.followers: dict[str, set[str]] = defaultdict(set)
        self.facts: dict[str, tuple[tuple[Facts, ...], str]] = {}
        self.clauses: dict[str, tuple[Clause, ...]] = {}
        for entry in reversed(snapshot.entries):
            cell, answer = entry.cell, snapshot.plain.get(entry.cell.id)
            if not entry.planned or entry.obstacle is not None:
                continue
            if entry.lock_digest is not None or (answer is not None and not answer.refusal):
                if answer is not None and answer.because.startswith(MET):
                    self.followers[answer.because.removeprefix(MET)].add(cell.id)
            elif entry.refusal is not None or (
                answer is not None and answer.refusal and not is_spurious(answer.refusal)
            ):
                python = str(cell.on(facts.matrix.interpreters.name).version)
                self.facts[cell.id] = demands.of(cell), python
                self.clauses[cell.id] = book.answer(*self.facts[cell.id])
            else:
                continue
            self.cells[cell.id] = cell

    def answers(self, order: "Order") -> Iterator[Mark]:
        """How far an order comes, probe by probe."""
        learnt: set[Clause] = set()
        waiting, answered = set(self.facts), set[str]()
        seconds, probes = 0.0, 0
        while (probe := order.next()) is not None:
            name, kind = probe
            seconds, probes = seconds + SECONDS[kind], probes + 1
            if kind == "lock" and name not in self.facts:
                order.locked({name} | self.followers[name])
                continue
            told = {name}
            if kind == "lock" and not learnt.issuperset(self.clauses[name]):
                learnt.update(self.clauses[name])
                book = ClauseBook(learnt)
                told |= {other for other in waiting if book.answer(*self.facts[other])}
            waiting -= told
            answered |= told
            order.answered(name, kind, told)
            yield len(answered) / len(self.cells), seconds, probes


class Order:
    """Which cell is tried next."""

    def __init__(self, world: KnownWorld, seed: int) -> None:
        self._left = list(world.cells)
        random.Random(seed).shuffle(self._left)
        self._lockable: list[str] = []
        self._done: set[str] = set()

    def next(self) -> tuple[str, ProbeKind] | None:
        for cells, kind in ((self._lockable, "smoke"), (self._left, "lock")):
            while cells:
                name = cells.pop()
                if name not in self._done:
                    return name, kind  # type: ignore[return-value]
        return None

    def locked(self, names: set[str]) -> None:
        self._lockable += names
        self._left = [name for name in self._left if name not in names]

    def answered(self, name: str, kind: ProbeKind, told: set[str]) -> None:
        self._done |= told


class ExploredOrder(Order):
    """The order of `compat matrix explore`."""

    def __init__(self, world: KnownWorld, seed: int = 0) -> None:
        super().__init__(world, seed)
        self._cells = world.cells
        kinds: tuple[ProbeKind, ...] = ("lock", "smoke")
        self._exploration = Exploration(
            world.cells.values(), (), (), lambda _, kind: SECONDS[kind], kinds
        )

    def next(self) -> tuple[str, ProbeKind] | None:
        probe = self._exploration.next()
        return None if probe is None else (probe.cell.id, probe.kind)

    def locked(self, names: set[str]) -> None:
        for name in names:
            self._exploration.locked(self._cells[name])

    def answered(self, name: str, kind: ProbeKind, told: set[str]) -> None:
        if kind == "lock":
            self._exploration.refused(self._cells[name], [self._cells[one] for one in told])
        else:
            self._exploration.ran(self._cells[name], kind)


def reached(marks: list[Mark], share: float) -> tuple[float, int]:
    """The seconds and the probes until that share is answered."""
    return next((seconds, probes) for now, seconds, probes in marks if now >= share)


def test_explore_answers_a_matrix_sooner_than_orders_of_chance(tmp_path: Path) -> None:
    day = datetime.date(2026, 11, 23)
    world = KnownWorld(Workspace(MATRICES / "tff", day, lambda: tmp_path))
    explored = list(world.answers(ExploredOrder(world)))
    by_chance = [list(world.answers(Order(world, seed))) for seed in range(10)]
    print(f"\n{len(world.cells):,} cells, {len(world.facts):,} of them refused")
    for share in SHARES:
        seconds, probes = reached(explored, share)
        others = sorted(reached(marks, share) for marks in by_chance)
        middle = others[len(others) // 2]
        print(
            f"{share:.0%}: {seconds / 60:.0f} min, {probes:,} probes; by chance"
            f" {others[0][0] / 60:.0f} to {others[-1][0] / 60:.0f} min, in the middle"
            f" {middle[0] / 60:.0f} min, {middle[1]:,} probes"
        )
        assert seconds < others[0][0]
