"""Delta debugging against failures whose cause is known."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.search.shrink import Culprits, Trial, Unblamed, culprits

PACKAGES = [f"p{number}" for number in range(40)]
ALONE = [[package] for package in PACKAGES]


def breaking(*cause: str) -> Callable[[frozenset[str]], Trial]:
    """A run that fails where all packages of the cause have changed."""
    return lambda changes: "fails" if changes.issuperset(cause) else "works"


@pytest.mark.parametrize(
    ("cause", "most"), [(("p7",), 16), (("p3", "p31"), 60), (("p0", "p20", "p39"), 110)]
)
def test_the_smallest_set_is_found_and_verified_both_ways(
    cause: tuple[str, ...], most: int
) -> None:
    blamed = culprits(ALONE, breaking(*cause))
    assert isinstance(blamed, Culprits)
    assert blamed.changes == cause
    assert blamed.is_minimal
    assert blamed.is_verified
    assert blamed.trials <= most


@given(st.sets(st.sampled_from(PACKAGES[:12]), min_size=1, max_size=4))
def test_any_cause_is_found_exactly(cause: set[str]) -> None:
    blamed = culprits(ALONE[:12], breaking(*cause))
    assert isinstance(blamed, Culprits)
    assert set(blamed.changes) == cause


def test_groups_are_tried_together_and_taken_apart_after_that() -> None:
    groups = [PACKAGES[start::4] for start in range(4)]
    blamed = culprits(groups, breaking("p3", "p39"))
    assert isinstance(blamed, Culprits)
    assert blamed.changes == ("p3", "p39")
    apart = culprits(ALONE, breaking("p3", "p39"))
    assert blamed.trials < apart.trials


def test_what_cannot_be_installed_apart_stays_together() -> None:
    def run(changes: frozenset[str]) -> Trial:
        if len(changes & {"numpy", "pandas"}) == 1:
            return "unresolved"
        return "fails" if "numpy" in changes else "works"

    blamed = culprits([["numpy"], ["pandas"], ["six"], ["attrs"]], run)
    assert isinstance(blamed, Culprits)
    assert blamed.changes == ("numpy", "pandas")
    assert not blamed.is_minimal
    assert blamed.is_verified


def test_two_causes_of_the_same_failure_are_not_called_verified() -> None:
    blamed = culprits(ALONE[:8], lambda changes: "fails" if changes & {"p1", "p6"} else "works")
    assert isinstance(blamed, Culprits)
    assert blamed.changes in (("p1",), ("p6",))
    assert not blamed.is_verified


def test_an_end_that_is_not_as_said_blames_nothing() -> None:
    always: Callable[[frozenset[str]], Trial] = lambda changes: "fails"  # noqa: E731
    never: Callable[[frozenset[str]], Trial] = lambda changes: "works"  # noqa: E731
    good = culprits(ALONE, always)
    bad = culprits(ALONE, never)
    assert isinstance(good, Unblamed)
    assert isinstance(bad, Unblamed)
    assert "without any change" in good.because
    assert "every change" in bad.because


def test_no_environment_is_run_twice() -> None:
    runs: list[frozenset[str]] = []

    def run(changes: frozenset[str]) -> Trial:
        runs.append(changes)
        return breaking("p2", "p9")(changes)

    culprits(ALONE, run)
    assert len(runs) == len(set(runs))
