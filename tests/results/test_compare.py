"""Changes: the whole truth table, and what capabilities add to it."""

import itertools
from typing import get_args

import pytest
from support.made_records import CELL, capabilities, cell_of

from compat.results.answer import KINDS, Answer, Kind
from compat.results.compare import ChangeKind, change_kind, compare

EVERY: tuple[Kind | None, ...] = (*KINDS, None)
WORSE = [
    ("works", "partial"),
    ("works", "broken"),
    ("works", "infeasible"),
    ("partial", "broken"),
    ("partial", "infeasible"),
]
BETTER = [(after, before) for before, after in WORSE]
KNOWN = [kind for kind in KINDS if kind != "unknown"]


def verdict(kind: Kind | None, **statuses: str) -> Answer | None:
    return (
        None
        if kind is None
        else Answer(
            cell=cell_of(CELL), kind=kind, evidence="tested", capabilities=capabilities(**statuses)
        )
    )


def expected(before: Kind | None, after: Kind | None) -> str:
    """The table once more, as sentences."""
    if before == after or {before, after} == {"broken", "infeasible"}:
        return "same"
    if before is None or (before == "unknown" and after is not None):
        return "new"
    if after is None or after == "unknown":
        return "gone"
    if "flaky" in (before, after):
        return "spurious"
    return "regressed" if (before, after) in WORSE else "fixed"


@pytest.mark.parametrize(("before", "after"), list(itertools.product(EVERY, EVERY)))
def test_every_pair_of_verdicts_has_its_kind_of_change(
    before: Kind | None, after: Kind | None
) -> None:
    found = compare(verdict(before), verdict(after))
    assert found.kind == expected(before, after)
    assert (found.before, found.after) == (before, after)


def test_a_regression_seen_backwards_is_a_fix() -> None:
    back = {
        "regressed": "fixed",
        "fixed": "regressed",
        "new": "gone",
        "gone": "new",
        "same": "same",
        "spurious": "spurious",
    }
    for before, after in itertools.product(EVERY, EVERY):
        assert change_kind(after, before) == back[change_kind(before, after)]


def test_every_kind_of_change_occurs() -> None:
    assert {change_kind(*pair) for pair in itertools.product(EVERY, EVERY)} == set(
        get_args(ChangeKind)
    )


def test_between_partial_verdicts_a_lost_capability_decides() -> None:
    before, after = (
        verdict("partial", sum="yes", mean="no"),
        verdict("partial", sum="no", mean="yes"),
    )
    found = compare(before, after)
    assert (found.kind, found.lost, found.gained) == ("regressed", ("sum",), ("mean",))
    found = compare(
        verdict("partial", sum="yes", mean="no"),
        verdict("partial", sum="yes", mean="yes", last="no"),
    )
    assert (found.kind, found.lost, found.gained) == ("fixed", (), ("mean",))


def test_a_capability_that_nobody_asked_for_is_not_lost() -> None:
    assert (
        compare(verdict("partial", sum="yes", mean="no"), verdict("partial", mean="no")).kind
        == "same"
    )


def test_verdicts_of_two_cells_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="two cells"):
        compare(
            Answer(cell=cell_of("a1"), kind="works", evidence="tested"),
            Answer(cell=cell_of("b1"), kind="works", evidence="tested"),
        )
