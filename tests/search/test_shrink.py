"""Delta debugging against failures whose cause is known."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.search.blame import Culprits, Trial, culprits

PACKAGES = [f"p{number}" for number in range(40)]


class Breaking:
    """A run that fails where all packages of the cause have changed; it counts its runs."""

    def __init__(self, *cause: str) -> None:
        self.cause, self.runs = cause, 0

    def __call__(self, changes: frozenset[str]) -> Trial:
        self.runs += 1
        return "fails" if changes.issuperset(self.cause) else "works"


@pytest.mark.parametrize(
    ("cause", "most"),
    [
        (("p7",), 10),
        (("p3", "p31"), 18),
        (("p0", "p20", "p39"), 27),
        (("p1", "p2", "p3", "p4"), 32),
    ],
)
def test_the_smallest_set_is_found_in_few_runs(cause: tuple[str, ...], most: int) -> None:
    run = Breaking(*cause)
    assert culprits(PACKAGES, run) == Culprits(changes=cause, is_minimal=True)
    assert run.runs <= most - 1


@given(st.sets(st.sampled_from(PACKAGES[:12]), min_size=1, max_size=4))
def test_any_cause_is_found_exactly(cause: set[str]) -> None:
    blamed = culprits(PACKAGES[:12], Breaking(*cause))
    assert set(blamed.changes) == cause


def test_a_right_suspicion_takes_three_environments() -> None:
    run = Breaking("p30")
    assert culprits(PACKAGES, run, first=[["p30"]]).changes == ("p30",)
    assert run.runs == 3


@pytest.mark.parametrize("first", [[["p5"]], [["p5"], ["p6"]], [["p3"]]])
def test_a_wrong_or_half_right_suspicion_changes_no_answer(first: list[list[str]]) -> None:
    run = Breaking("p3", "p31")
    blamed = culprits(PACKAGES, run, first=first)
    assert blamed == Culprits(changes=("p3", "p31"), is_minimal=True)
    assert run.runs <= 21


def test_what_cannot_be_installed_apart_stays_together() -> None:
    def run(changes: frozenset[str]) -> Trial:
        if len(changes & {"numpy", "pandas"}) == 1:
            return "unresolved"
        return "fails" if "numpy" in changes else "works"

    blamed = culprits(["numpy", "six", "pandas", "attrs"], run)
    assert blamed == Culprits(changes=("numpy", "pandas"))


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
    dragged = {name for pair in bound if pair & cause for name in pair}
    assert set(blamed.changes) == cause | dragged
    assert blamed.is_minimal is (not dragged)


def test_of_two_causes_of_the_same_failure_one_is_blamed() -> None:
    blamed = culprits(PACKAGES[:8], lambda changes: "fails" if changes & {"p1", "p6"} else "works")
    assert blamed.changes in (("p1",), ("p6",))


def test_an_end_that_is_not_as_said_blames_nothing() -> None:
    good = culprits(PACKAGES, lambda changes: "fails")
    bad = culprits(PACKAGES, lambda changes: "works")
    assert good.changes == bad.changes == ()
    assert "without any change" in good.because
    assert "every change" in bad.because


def test_no_environment_is_run_twice() -> None:
    runs: list[frozenset[str]] = []

    def run(changes: frozenset[str]) -> Trial:
        runs.append(changes)
        return "fails" if changes >= {"p2", "p9"} else "works"

    culprits(PACKAGES, run)
    assert len(runs) == len(set(runs))
