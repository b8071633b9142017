"""Which probe comes next: those whose answer reaches most cells a second, learnt from what came."""

import random
from collections.abc import Callable, Iterator

from packaging.version import Version

from compat.plan.cell import Cell, Coordinate
from compat.search.exploration import Exploration, ExploreProbe, ProbeKind

SECONDS: dict[ProbeKind, float] = {"lock": 4, "smoke": 20, "suite": 120}


def cell(python: int, dep: int, demo: int, recipe: str = "relaxed") -> Cell:
    versions = {"python": f"3.{python}", "dep": f"{dep}.0", "demo": f"{demo}.0"}
    return Cell(
        matrix="demo",
        coordinates=tuple(
            Coordinate(axis=axis, short=axis, version=Version(text))
            for axis, text in versions.items()
        ),
        recipe=recipe,  # type: ignore[arg-type]
    )


def best(exploration: Exploration) -> ExploreProbe | None:
    """The next lock, or a run where none is worth one."""
    return exploration.next_lock() or exploration.next_run()


class World:
    """A matrix with hidden structure: of its releases some want a pin that is gone, some a newer
    Python, and some refuse an old partner; the rest can be locked, and works.
    """

    def __init__(self) -> None:
        self.cells = [
            cell(python, dep, demo) for demo in range(12) for dep in range(8) for python in range(5)
        ]
        self.locks: set[str] = set()
        self.probes = 0

    def clause(self, one: Cell) -> Callable[[Cell], bool] | None:
        """The cells that the refusal of this one answers; None where it can be locked."""
        python, dep, demo = (
            c.version.release[1 if c.axis == "python" else 0] for c in one.coordinates
        )
        if demo in (2, 3, 7):
            return lambda other: other.versions[2] == one.versions[2]
        if demo >= 8 and python < 2:
            return lambda other: (
                (other.versions[0], other.versions[2])
                == (
                    one.versions[0],
                    one.versions[2],
                )
            )
        if demo < 6 and dep >= 5:
            return lambda other: other.versions[1:] == one.versions[1:]
        return None


def explored(world: World, share: float) -> int:
    """How many probes it takes until that share of the cells is answered."""
    exploration = Exploration(world.cells, (), (), lambda _, kind: SECONDS[kind])
    answered: set[str] = set()
    while len(answered) < share * len(world.cells):
        probe = best(exploration)
        assert probe is not None
        world.probes += 1
        answered |= {other.id for other in answers(world, probe, exploration)}
    return world.probes


def answers(world: World, probe: ExploreProbe, exploration: Exploration) -> Iterator[Cell]:
    if probe.kind == "lock":
        clause = world.clause(probe.cell)
        if clause is None:
            exploration.locked(probe.cell)
            return
        alike = [other for other in world.cells if clause(other)]
        exploration.refused(probe.cell, alike)
        yield from (probe.cell, *alike)
        return
    exploration.ran(probe.cell, probe.kind)
    yield probe.cell


def at_random(world: World, share: float, seed: int) -> int:
    """The same in an order of chance, with the same clauses: lock a cell, run it if it can be."""
    order = world.cells[:]
    random.Random(seed).shuffle(order)
    answered: set[str] = set()
    for one in order:
        if len(answered) >= share * len(world.cells):
            break
        if one.id in answered:
            continue
        world.probes += 1
        clause = world.clause(one)
        if clause is None:
            world.probes += 1
            answered.add(one.id)
        else:
            answered |= {other.id for other in world.cells if clause(other)}
    return world.probes


def test_half_of_a_world_is_answered_by_fewer_probes_than_in_any_order_of_chance() -> None:
    assert explored(World(), 0.5) < min(at_random(World(), 0.5, seed) for seed in range(8))


def test_a_cell_that_many_others_resemble_is_locked_first() -> None:
    alone, crowd = cell(4, 2, 9), [cell(python, 1, 1) for python in range(4)]
    exploration = Exploration([alone, *crowd], (), (), lambda _, kind: SECONDS[kind])
    probe = best(exploration)
    assert probe is not None
    assert probe.kind == "lock"
    assert probe.cell in crowd


def test_what_a_lock_shares_with_others_is_not_why_they_are_refused() -> None:
    """Once one of the crowd can be locked, its refusal answers no other: it is tried last."""
    alone, crowd = cell(4, 2, 9), [cell(python, 1, 1) for python in range(4)]
    exploration = Exploration([alone, *crowd], (), (), lambda _, kind: SECONDS[kind])
    first = exploration.next_lock()
    assert first is not None
    exploration.locked(first.cell)
    probe = exploration.next_lock()
    assert probe == ExploreProbe(alone, "lock")


def test_a_refusal_closes_what_it_answers_and_they_are_not_tried() -> None:
    cells = [cell(python, 1, 1) for python in range(4)]
    exploration = Exploration(cells, (), (), lambda _, kind: SECONDS[kind])
    probe = best(exploration)
    assert probe is not None
    exploration.refused(probe.cell, cells)
    assert best(exploration) is None


def test_the_whole_suite_waits_until_no_cell_is_without_an_answer() -> None:
    smoked, locked = cell(1, 1, 1), cell(2, 1, 1)
    exploration = Exploration((), [locked], [smoked], lambda _, kind: SECONDS[kind])
    assert exploration.next_run() == ExploreProbe(locked, "smoke")
    assert exploration.next_run() is None
    exploration.ran(locked, "smoke")
    assert exploration.next_run() == ExploreProbe(smoked, "suite")
    exploration.ran(smoked, "suite")
    assert exploration.next_run() == ExploreProbe(locked, "suite")


def test_the_whole_suite_runs_first_where_it_may_answer_many_others() -> None:
    alone, end = cell(1, 1, 1), cell(2, 1, 1)
    exploration = Exploration(
        (),
        [alone, end],
        (),
        lambda _, kind: SECONDS[kind],
        answers=lambda one, kind: 9.0 if (one, kind) == (end, "suite") else 1.0,
    )
    assert exploration.next_run() == ExploreProbe(end, "suite")
    assert exploration.next_run() == ExploreProbe(alone, "smoke")


def test_what_a_run_answers_besides_is_not_tried() -> None:
    end, between = cell(1, 1, 1), cell(2, 1, 1)
    exploration = Exploration((), [end, between], (), lambda _, kind: SECONDS[kind])
    probe = exploration.next_run()
    assert probe is not None
    exploration.ran(probe.cell, "suite", [between if probe.cell == end else end])
    assert exploration.next_run() is None


def test_without_a_core_a_locked_cell_runs_the_whole_suite() -> None:
    locked = cell(2, 1, 1)
    exploration = Exploration(
        (), [locked], (), lambda _, kind: SECONDS[kind], kinds=("lock", "suite")
    )
    assert exploration.next_run() == ExploreProbe(locked, "suite")
    exploration.ran(locked, "suite")
    assert best(exploration) is None


def test_what_came_to_nothing_is_not_tried_again() -> None:
    exploration = Exploration([cell(1, 1, 1)], (), (), lambda _, kind: SECONDS[kind])
    probe = best(exploration)
    assert probe is not None
    exploration.set_aside([probe.cell])
    assert best(exploration) is None


def test_while_enough_cells_wait_for_a_run_none_is_locked_that_is_hardly_refused() -> None:
    cells = [cell(python, dep, 1) for python in range(5) for dep in range(8)]
    exploration = Exploration(cells, (), (), lambda _, kind: SECONDS[kind])
    locks = 0
    while (probe := exploration.next_lock()) is not None:
        exploration.locked(probe.cell)
        locks += 1
    assert 4 <= locks < len(cells)
    run = exploration.next_run()
    assert run is not None
    assert run.kind == "smoke"
