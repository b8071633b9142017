"""Minimal correction sets against conflicts that are known."""

from collections.abc import Callable, Iterable
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from compat.search.corrections import Corrections, Resolution, Spent, corrections

NAMES = [f"r{number}" for number in range(20)]


def resolver(
    conflicts: Iterable[Iterable[str]], is_talkative: bool = False
) -> Callable[[frozenset[str]], Resolution]:
    """A resolver that refuses as long as all of a conflict's requirements hold."""
    every = [frozenset(conflict) for conflict in conflicts]

    def resolve(relaxed: frozenset[str]) -> Resolution:
        standing = [conflict for conflict in every if not conflict & relaxed]
        named = standing[0] | {"r19"} if standing and is_talkative else frozenset()
        return Resolution(is_possible=not standing, named=named)

    return resolve


def by_trying_all(names: list[str], conflicts: list[frozenset[str]]) -> set[frozenset[str]]:
    """Every minimal correction of at most three requirements, found by trying all."""
    hitting = [
        frozenset(chosen)
        for size in range(4)
        for chosen in combinations(names, size)
        if all(conflict.intersection(chosen) for conflict in conflicts)
    ]
    return {chosen for chosen in hitting if not any(other < chosen for other in hitting)}


def sets_of(found: Corrections) -> set[frozenset[str]]:
    return {frozenset(correction) for correction in found.sets}


def test_nothing_gives_way_where_nothing_is_in_the_way() -> None:
    assert corrections(NAMES, resolver([])).sets == ((),)


def test_the_smallest_change_comes_first() -> None:
    found = corrections(NAMES, resolver([["r1", "r2"], ["r2", "r3"]]))
    assert found.sets == (("r2",), ("r1", "r3"))
    assert set(found.conflicts) == {("r1", "r2"), ("r2", "r3")}
    assert found.is_complete


def test_a_refusal_that_names_names_saves_trials() -> None:
    conflicts = [["r1", "r2"], ["r7", "r12"]]
    silent = corrections(NAMES, resolver(conflicts))
    talkative = corrections(NAMES, resolver(conflicts, is_talkative=True))
    assert sets_of(silent) == sets_of(talkative)
    assert talkative.trials < silent.trials


def test_what_nothing_mends_is_proven_so() -> None:
    found = corrections(NAMES, lambda relaxed: Resolution(is_possible=False))
    assert found.sets == ()
    assert found.conflicts == ((),)
    assert found.is_complete


def test_what_needs_more_than_three_is_proven_so() -> None:
    found = corrections(NAMES, resolver([["r0"], ["r5"], ["r9"], ["r14"]]))
    assert found.sets == ()
    assert len(found.conflicts) == 4
    assert found.is_complete


def test_it_says_when_its_trials_ran_out() -> None:
    resolve, asked = resolver([["r0", "r1", "r2"], ["r5", "r6"]]), []

    def limited(relaxed: frozenset[str]) -> Resolution:
        if len(asked) >= 6:
            raise Spent
        asked.append(relaxed)
        return resolve(relaxed)

    found = corrections(NAMES, limited)
    assert not found.is_complete
    assert found.trials == 6


def test_it_ends_when_it_has_enough() -> None:
    found = corrections(NAMES, resolver([["r1", "r2"], ["r2", "r3"]]), enough=1)
    assert found.sets == (("r2",),)
    assert not found.is_complete


@given(
    st.lists(
        st.sets(st.sampled_from(NAMES[:9]), min_size=1, max_size=4).map(frozenset), max_size=4
    ),
    st.booleans(),
)
def test_it_finds_what_trying_all_finds(
    conflicts: list[frozenset[str]], is_talkative: bool
) -> None:
    names = [*NAMES[:9], "r19"]
    found = corrections(names, resolver(conflicts, is_talkative))
    assert sets_of(found) == by_trying_all(names, conflicts)
    sizes = [len(correction) for correction in found.sets]
    assert sizes == sorted(sizes)
