"""From which measurement on values are of another size."""

import random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.results.runs import change_point

SLOW, FAST = [8.0, 9.0, 7.5, 10.0, 8.5], [2.0, 2.5, 1.9, 2.1, 2.2]


def test_a_round_that_becomes_four_times_faster() -> None:
    found = change_point([*SLOW, *FAST])
    assert found is not None
    assert (found.index, found.is_lower) == (5, True)
    assert found.ratio == pytest.approx(8.5 / 2.1)


def test_one_that_becomes_slower() -> None:
    found = change_point([*FAST, *SLOW])
    assert found is not None
    assert (found.index, found.is_lower) == (5, False)


@pytest.mark.parametrize(
    "values",
    [
        [*SLOW, *FAST, *SLOW, *FAST],  # by turns
        [*SLOW, *FAST[:3]],  # too few after it
        [1.2, 1.3, 1.25, 1.21, 1.2, 1.0, 1.1, 1.05, 1.0, 1.0],  # a small step
        [1.0] * 12,
        [10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 9.5, 8.5, 7.5, 6.5],  # no step at all
        [],
        [0.0] * 5 + [1.0] * 5,  # no ratio
    ],
)
def test_where_the_data_show_none_none_is_claimed(values: list[float]) -> None:
    assert change_point(values) is None


def test_one_outlier_does_not_hide_a_step() -> None:
    found = change_point([*SLOW, 2.0, *SLOW, *FAST, *FAST])
    assert found is not None
    assert (found.index, found.is_lower) == (11, True)
    assert found.ratio == pytest.approx(8.5 / 2.1)


def test_values_in_random_order_seldom_look_like_a_step() -> None:
    order = random.Random(38)
    rows = [[order.lognormvariate(0, 1) for _ in range(30)] for _ in range(400)]
    assert sum(change_point(row) is not None for row in rows) <= 12


@given(st.lists(st.floats(0.001, 1000), max_size=20))
def test_a_claim_is_of_medians_that_differ_by_a_half(values: list[float]) -> None:
    found = change_point(values)
    if found is not None:
        before, after = values[: found.index], values[found.index :]
        assert found.ratio >= 1.5
        assert (median(after) < median(before)) is found.is_lower
