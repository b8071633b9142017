"""What a checkout makes of a place: from two verdicts to one word, and what is behind it."""

import pytest
from support.made_records import capabilities, cell_of

from compat.results.answer import Answer, Kind
from compat.results.compare import CellDifference, Difference, cell_difference
from compat.run.outcome import parse_outcome

PASS, FAIL = "pass", "test-fail:assertion(a)"
IMPORT, LOCK = "import-fail:missing-module(b)", "lock-fail:conflict(c)"


def verdict(cell: str, kind: Kind, outcome: str, **statuses: str) -> Answer:
    return Answer(
        cell=cell_of(cell),
        kind=kind,
        evidence="tested",
        outcome=parse_outcome(outcome) if outcome else None,
        capabilities=capabilities(**statuses),
    )


def compared(before: tuple[Kind, str, str], after: tuple[Kind, str, str]) -> CellDifference:
    """The difference of two verdicts, each a kind, an outcome, and the status of two capabilities,
    the first letter of each: `yn` for one that works and one that does not.
    """
    names = {"y": "yes", "n": "no", "a": "absent"}
    sides = [
        verdict(
            cell,
            kind,
            outcome,
            **{name: names[sign] for name, sign in zip("ab", signs, strict=False) if sign in names},
        )
        for cell, (kind, outcome, signs) in (("py3.11-d1", before), ("py3.11-d-local", after))
    ]
    return cell_difference(*sides)


@pytest.mark.parametrize(
    ("before", "after", "difference", "changed"),
    [
        (("works", PASS, "yy"), ("works", PASS, "yy"), "same", ""),
        (("works", PASS, "yy"), ("partial", FAIL, "ny"), "breaks", "a"),
        (("partial", FAIL, "ny"), ("works", PASS, "yy"), "mends", "a"),
        (("partial", FAIL, "ny"), ("partial", FAIL, "ny"), "same", ""),
        (("partial", FAIL, "ny"), ("partial", FAIL, "yn"), "breaks", "ab"),
        # The API went, or the tests did not come to it: whoever used it is broken.
        (("works", PASS, "yy"), ("works", PASS, "ya"), "breaks", "b"),
        (("partial", FAIL, "ny"), ("partial", FAIL, "n"), "breaks", "b"),
        (("works", PASS, "ya"), ("works", PASS, "yy"), "mends", "b"),
        (("works", PASS, "yy"), ("broken", IMPORT, ""), "breaks", ""),
        (("works", PASS, "yy"), ("infeasible", "", ""), "breaks", ""),
        (("broken", IMPORT, ""), ("broken", IMPORT, ""), "same", ""),
        (("broken", IMPORT, ""), ("infeasible", "", ""), "same", ""),
        (("broken", IMPORT, ""), ("works", PASS, "yy"), "mends", ""),
        # What only the checkout can be installed in, and fails, is a new failure.
        (("infeasible", "", ""), ("partial", FAIL, "ny"), "breaks", ""),
        (("infeasible", "", ""), ("works", PASS, "yy"), "mends", ""),
        (("broken", LOCK, ""), ("broken", IMPORT, ""), "breaks", ""),
        (("broken", LOCK, ""), ("infeasible", "", ""), "same", ""),
        # Chance, and no answer, are no failure.
        (("flaky", FAIL, "ny"), ("partial", FAIL, "ny"), "flaky", ""),
        (("works", PASS, "yy"), ("flaky", FAIL, "ny"), "flaky", "a"),
        (("works", PASS, "yy"), ("unknown", "", ""), "unknown", ""),
        (("unknown", "", ""), ("broken", IMPORT, ""), "unknown", ""),
    ],
)
def test_a_place_breaks_when_something_that_worked_does_not(
    before: tuple[Kind, str, str],
    after: tuple[Kind, str, str],
    difference: Difference,
    changed: str,
) -> None:
    result = compared(before, after)
    assert result.difference == difference
    assert "".join(change.id for change in result.capabilities) == changed
