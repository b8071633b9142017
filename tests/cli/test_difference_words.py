"""What a checkout breaks, in words: capabilities with one fate are one line, however many."""

from compat.cli.diff import differing
from compat.fleet.checkout_run import Comparison
from compat.results.compare import CapabilityDifference, CellDifference, Difference
from compat.results.record import Status

RAISED = "NameError: name 'x' is not defined (demo/core.py:7)"


def comparison(
    number: int, before: Status = "yes", after: Status = "no", kind: Difference = "breaks"
) -> Comparison:
    """Two cells in which so many capabilities have one fate, and the first cell one more."""
    alike = tuple(
        CapabilityDifference(id=f"t.{n}", before=before, after=after, subject=RAISED)
        for n in range(number)
    )
    other = CapabilityDifference(id="other", before="yes", after="absent", subject="demo.y")
    places = (("py3.9-d-local", (*alike, other)), ("py3.10-d-local", alike))
    return Comparison(
        differences=tuple(
            CellDifference(
                cell=cell,
                against=cell.replace("local", "1.0"),
                difference=kind,
                before="works",
                after="partial",
                outcome_after="test-fail:error(t.0)",
                capabilities=changed,
            )
            for cell, changed in places
        ),
        batches=(),
        kept=0,
    )


def test_a_few_have_a_line_each() -> None:
    both = ["py3.9-d-local", "py3.10-d-local"]
    assert list(differing(comparison(3), {"t.1": "Title"}, "d 1.0")) == [
        ("breaks", f"t.0 fails: {RAISED}", both),
        ("breaks", f"t.1 (Title) fails: {RAISED}", both),
        ("breaks", f"t.2 fails: {RAISED}", both),
        ("breaks", "other was removed: demo.y", ["py3.9-d-local"]),
    ]


def test_many_with_one_fate_in_the_same_cells_are_one_line() -> None:
    both = ["py3.9-d-local", "py3.10-d-local"]
    assert list(differing(comparison(100), {}, "d 1.0")) == [
        ("breaks", f"t.0, t.1, t.2 and 97 more fail: {RAISED}", both),
        ("breaks", "other was removed: demo.y", ["py3.9-d-local"]),
    ]


def test_what_is_mended_or_gone_folds_in_its_own_words() -> None:
    (mended, *_) = differing(comparison(4, "no", "yes", "mends"), {}, "d 1.0")
    assert mended[1] == "t.0, t.1, t.2 and 1 more work now"
    (gone, *_) = differing(comparison(4, after="absent"), {}, "d 1.0")
    assert gone[1] == f"t.0, t.1, t.2 and 1 more were removed: {RAISED}"
