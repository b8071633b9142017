"""Delta debugging against failures whose cause is known."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.search.shrink import Culprits, Trial, Unblamed, culprits

PACKAGES = [f"p{number}" for number in range(40)]


def breaking(*cause: str) -> Callable[[frozenset[str]], Trial]:
    """A run that fails where all packages of the cause have changed."""
    return lambda changes: "fails" if changes.issuperset(cause) else "works"


@pytest.mark.parametrize(
    ("cause", "most"),
    [
        (("p7",), 10),
        (("p3", "p31"), 18),
        (("p0", "p20", "p39"), 27),
        (("p1", "p2", "p3", "p4"), 32),
    ],
)
def test_the_smallest_set_is_found_and_verified_both_ways(
    cause: tuple[str, ...], most: int
) -> None:
    blamed = culprits(PACKAGES, breaking(*cause))
    assert isinstance(blamed, Culprits)
    assert blamed.changes == cause
    assert blamed.is_minimal
    assert blamed.is_verified
    assert blamed.trials <= most


@given(st.sets(st.sampled_from(PACKAGES[:12]), min_size=1, max_size=4))
def test_any_cause_is_found_exactly(cause: set[str]) -> None:
    blamed = culprits(PACKAGES[:12], breaking(*cause))
    assert isinstance(blamed, Culprits)
    assert set(blamed.changes) == cause


def test_a_right_suspicion_takes_four_environments() -> None:
    blamed = culprits(PACKAGES, breaking("p30"), first=[["p30"]])
    assert isinstance(blamed, Culprits)
    assert (blamed.changes, blamed.is_verified, blamed.trials) == (("p30",), True, 4)


@pytest.mark.parametrize("first", [[["p5"]], [["p5"], ["p6"]], [["p3"]]])
def test_a_wrong_or_half_right_suspicion_changes_no_answer(first: list[list[str]]) -> None:
    blamed = culprits(PACKAGES, breaking("p3", "p31"), first=first)
    assert isinstance(blamed, Culprits)
    assert blamed.changes == ("p3", "p31")
    assert blamed.is_minimal
    assert blamed.trials <= 22


def test_what_cannot_be_installed_apart_stays_together() -> None:
    def run(changes: frozenset[str]) -> Trial:
        if len(changes & {"numpy", "pandas"}) == 1:
            return "unresolved"
        return "fails" if "numpy" in changes else "works"

    blamed = culprits(["numpy", "six", "pandas", "attrs"], run)
    assert isinstance(blamed, Culprits)
    assert blamed.changes == ("numpy", "pandas")
    assert not blamed.is_minimal
    assert blamed.is_verified


@pytest.mark.parametrize("seed", range(40))
def test_mixes_that_say_nothing_hide_no_culprit(seed: int) -> None:
    """Some pairs of packages have to move together; they are blamed together."""
    chance = random.Random(seed)
    packages = PACKAGES[:20]
    cause = set(chance.sample(packages, chance.choice((1, 2, 3))))
    partners = chance.sample(packages, 8)
    bound = [frozenset(pair) for pair in zip(partners[::2], partners[1::2], strict=True)]

    def run(changes: frozenset[str]) -> Trial:
        if any(len(pair & changes) == 1 for pair in bound):
            return "unresolved"
        return "fails" if cause <= changes else "works"

    blamed = culprits(packages, run)
    assert isinstance(blamed, Culprits)
    dragged = {name for pair in bound if pair & cause for name in pair}
    assert set(blamed.changes) == cause | dragged
    assert blamed.is_minimal is (not dragged)


def test_two_causes_of_the_same_failure_are_not_called_verified() -> None:
    blamed = culprits(PACKAGES[:8], lambda changes: "fails" if changes & {"p1", "p6"} else "works")
    assert isinstance(blamed, Culprits)
    assert blamed.changes in (("p1",), ("p6",))
    assert not blamed.is_verified


def test_an_end_that_is_not_as_said_blames_nothing() -> None:
    good = culprits(PACKAGES, lambda changes: "fails")
    bad = culprits(PACKAGES, lambda changes: "works")
    assert isinstance(good, Unblamed)
    assert isinstance(bad, Unblamed)
    assert "without any change" in good.because
    assert "every change" in bad.because


def test_no_environment_is_run_twice() -> None:
    runs: list[frozenset[str]] = []

    def run(changes: frozenset[str]) -> Trial:
        runs.append(changes)
        return breaking("p2", "p9")(changes)

    culprits(PACKAGES, run)
    assert len(runs) == len(set(runs))
