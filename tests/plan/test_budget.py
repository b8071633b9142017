"""Cells with their seconds, packed into shards."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.examples import examples

from compat.plan.plan import MOST_SHARDS, Budget, Packing, Task, packed, rounds, tasks_that_fit

WIDE = 1e9


def tasks_of(seconds: Sequence[float]) -> list[Task]:
    return [Task(cell=f"c{number:05}", seconds=one) for number, one in enumerate(seconds)]


some_seconds = st.lists(st.floats(min_value=1, max_value=900), max_size=60)
some_tasks = some_seconds.map(tasks_of)
budgets = st.builds(
    Budget,
    seconds=st.floats(min_value=200, max_value=5000),
    shards=st.integers(1, 40),
    overhead=st.floats(min_value=0, max_value=190),
)


def night(tasks: Sequence[Task], budget: Budget) -> Packing:
    return packed(tasks_that_fit(tasks, budget), budget)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shards", [1, 7, 20, 64, 256])
def test_the_longest_of_5000_cells_shards_takes_at_most_a_tenth_more_than_the_mean(
    seed: int, shards: int
) -> None:
    chance = random.Random(seed)
    # Most cells take a minute or two, a few take a quarter of an hour, and refused ones a second.
    usual = [chance.lognormvariate(4.2, 0.6) for _ in range(4600)]
    seconds = [*usual, *(chance.uniform(600, 900) for _ in range(200)), *([1.0] * 200)]
    chance.shuffle(seconds)
    for limit in (WIDE, 5400):
        found = night(tasks_of(seconds), Budget(seconds=limit, shards=shards, overhead=180))
        assert len(found.shards) == shards
        assert found.longest <= 1.1 * found.mean
        assert found.alone is None


class TestLaws:
    @examples(20)
    @given(
        st.lists(st.floats(min_value=1, max_value=900), min_size=20, max_size=200),
        st.integers(1, MOST_SHARDS),
    )
    @example([120.0], MOST_SHARDS)
    def test_5000_cells_are_balanced_whatever_they_take(
        self, seconds: list[float], shards: int
    ) -> None:
        found = packed(tasks_of((seconds * 5000)[:5000]), Budget(seconds=WIDE, shards=shards))
        assert found.alone is not None or found.longest <= 1.1 * found.mean

    @examples(200)
    @given(some_tasks, budgets)
    @example(
        tasks_of([15.0, 544.0, 530.0, 759.0, 745.0]),
        Budget(seconds=1370.0, shards=2, overhead=67.0),
    )
    def test_each_cell_that_fits_runs_once_no_shard_is_empty_and_each_ends_in_time(
        self, tasks: list[Task], budget: Budget
    ) -> None:
        chosen = tasks_that_fit(tasks, budget)
        found = packed(chosen, budget)
        assert sorted(task.cell for task in found.tasks) == sorted(task.cell for task in chosen)
        assert len(found.shards) <= min(budget.shards, MOST_SHARDS)
        assert all(found.shards)
        assert found.longest <= budget.seconds + 1e-6

    @examples(200)
    @given(some_tasks, budgets)
    def test_no_shard_takes_more_than_the_mean_and_the_longest_cell(
        self, tasks: list[Task], budget: Budget
    ) -> None:
        found = night(tasks, Budget(seconds=WIDE, shards=budget.shards, overhead=budget.overhead))
        longest = max((task.seconds for task in tasks), default=0.0)
        assert found.longest <= found.mean + longest + 1e-6

    @examples(100)
    @given(some_tasks, budgets, st.randoms(use_true_random=False))
    def test_the_same_cells_are_packed_the_same_way_in_whatever_order_they_come(
        self, tasks: list[Task], budget: Budget, chance: random.Random
    ) -> None:
        wide = Budget(seconds=WIDE, shards=budget.shards, overhead=budget.overhead)
        assert packed(sorted(tasks, key=lambda _: chance.random()), wide) == packed(tasks, wide)

    @examples(100)
    @given(some_tasks, budgets)
    def test_every_cell_comes_in_some_run_unless_it_is_longer_than_a_whole_shard(
        self, tasks: list[Task], budget: Budget
    ) -> None:
        found = [task for one in rounds(tasks, budget) for task in one]
        assert len(found) == len(set(found))
        assert set(tasks) - set(found) == {task for task in tasks if task.seconds > budget.room}


def test_the_most_telling_cells_get_the_room_and_a_short_one_fills_what_is_left() -> None:
    budget = Budget(seconds=100, shards=1)
    assert [task.seconds for task in tasks_that_fit(tasks_of([60, 50, 30, 20]), budget)] == [60, 30]
    assert [
        [task.seconds for task in one] for one in rounds(tasks_of([60, 50, 30, 20]), budget)
    ] == [
        [60, 30],
        [50, 20],
    ]


def test_a_machine_is_not_set_up_for_less_work_than_its_set_up_takes() -> None:
    found = packed(tasks_of([10] * 40), Budget(seconds=1000, shards=20, overhead=180))
    assert len(found.shards) == 3


def test_a_cell_longer_than_the_mean_is_named() -> None:
    found = packed(tasks_of([500, 10, 10]), Budget(seconds=WIDE, shards=3))
    assert found.alone == Task(cell="c00000", seconds=500)
    assert found.longest == 500


def test_never_more_than_256_shards() -> None:
    assert (
        len(packed(tasks_of([10] * 1000), Budget(seconds=WIDE, shards=1000)).shards) == MOST_SHARDS
    )


def test_where_longest_first_would_be_late_the_shards_still_end_in_time() -> None:
    # Longest first puts 3+2+2 beside 3+2: too long for 6, while 3+3 and 2+2+2 fit.
    budget = Budget(seconds=6, shards=2)
    assert night(tasks_of([3, 2, 3, 2, 2]), budget).longest <= 6


def test_nothing_due_is_no_shard() -> None:
    assert packed([], Budget(seconds=60, shards=3)) == Packing()
    assert packed([], Budget(seconds=60, shards=3)).longest == 0
