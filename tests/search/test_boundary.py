"""The search for a boundary against worlds whose truth is known, lying runs and holes included."""

import os
import random
from collections.abc import Callable, Sequence
from statistics import mean

import pytest

from compat.search.boundary import Boundary, BoundarySearch, Probe

WORLDS = int(os.environ.get("COMPAT_EXAMPLES", "40"))


def searched(count: int, run: Callable[[int], Probe]) -> Boundary:
    """What a search comes to that tries positions with `run`."""
    search = BoundarySearch(count)
    while (position := search.next()) is not None:
        search.observe(position, run(position))
    return search.result


def answer(works: bool) -> Probe:
    return "works" if works else "fails"


@pytest.mark.parametrize("count", [1, 2, 3, 19, 71])
def test_wherever_support_begins_it_is_found_and_both_sides_were_tried(count: int) -> None:
    for first in range(count + 1):
        boundary = searched(count, lambda i, first=first: answer(i >= first))
        assert boundary.is_decided
        assert boundary.works == (first if first < count else None)
        assert boundary.fails == (first - 1 if first else None)
        assert not boundary.exceptions


def test_it_takes_few_runs() -> None:
    # The table of plain and Bayesian bisection for 71 versions: 10.6 runs and both ends: 12.6.
    runs = [searched(71, lambda i, k=k: answer(i >= k)).runs for k in range(72)]
    assert mean(runs) <= 12.6 * 1.2


# Of the same table, for 71 versions: the chance that a run from the boundary on fails, that one
# below it passes, and the runs with both ends.
@pytest.mark.parametrize(
    ("fails", "passes", "runs"), [(0.05, 0.0, 14.9), (0.0, 0.5, 46.6), (0.1, 0.2, 41.3)]
)
def test_flaky_runs_do_not_mislead_it(fails: float, passes: float, runs: float) -> None:
    chance = random.Random(20261123)
    right, spent = 0, []
    for _ in range(WORLDS):
        first = chance.randrange(72)

        def run(position: int, first: int = first) -> Probe:
            works = position >= first
            lies = chance.random() < (fails if works else passes)
            return answer(works is not lies)

        boundary = searched(71, run)
        right += boundary.works == (first if first < 71 else None)
        spent.append(boundary.runs)
    assert right >= 0.9 * WORLDS
    assert mean(spent) <= runs * 1.3


def verified(boundary: Boundary, truth: Sequence[bool], tested: Sequence[int]) -> bool:
    """Whether what is claimed holds: the ends do what is said, and nothing lies between them."""
    works, fails = boundary.works, boundary.fails
    between = range(-1 if fails is None else fails, len(truth) if works is None else works)[1:]
    return (
        (works is None or truth[works])
        and (fails is None or not truth[fails])
        and all(i in boundary.exceptions for i in between if i in tested)
    )


def test_with_holes_and_versions_that_cannot_be_installed_it_claims_only_what_holds() -> None:
    chance = random.Random(7)
    for _ in range(WORLDS):
        first = chance.randrange(31)
        truth = [i >= first for i in range(30)]
        for hole in chance.sample(range(30), chance.choice([0, 1, 1, 2])):
            truth[hole] = not truth[hole]
        start = chance.randrange(30)
        untestable = {*range(start, start + chance.choice([0, 0, 5])), *chance.sample(range(30), 3)}
        tested = [i for i in range(30) if i not in untestable]
        boundary = searched(
            30,
            lambda i, truth=truth, untestable=untestable: (
                "untestable" if i in untestable else answer(truth[i])
            ),
        )
        assert not boundary.is_decided or verified(boundary, truth, tested)
        assert untestable.issuperset(boundary.untestable)


def test_a_network_that_fails_moves_nothing() -> None:
    boundary = searched(20, lambda i: "unanswered" if 4 <= i <= 9 else answer(i >= 7))
    assert (boundary.works, boundary.fails) == (10, 3)
    assert set(boundary.unanswered) <= set(range(4, 10))
    assert boundary.unanswered


def test_a_network_that_recovers_leaves_no_trace() -> None:
    tries: dict[int, int] = {}

    def run(position: int) -> Probe:
        tries[position] = tries.get(position, 0) + 1
        return "unanswered" if tries[position] == 1 else answer(position >= 7)

    boundary = searched(20, run)
    assert (boundary.works, boundary.fails, boundary.unanswered) == (7, 6, ())


def test_a_network_that_never_answers_ends_the_search_without_a_claim() -> None:
    boundary = searched(5, lambda i: "unanswered")
    assert (boundary.works, boundary.fails, boundary.runs) == (None, None, 0)
    assert boundary.unanswered == (0, 1, 2, 3, 4)


def test_the_budget_is_raised_when_a_version_turns_out_flaky() -> None:
    search = BoundarySearch(20)
    before = search.budget
    search.observe(10, "works")
    search.observe(10, "fails")
    assert search.flaky == (10,)
    assert search.budget > before


def test_a_likely_boundary_is_tried_first() -> None:
    weights = [1.0] * 72
    weights[40] = 1000.0
    search = BoundarySearch(71, weights)
    assert search.next() in (39, 40)
