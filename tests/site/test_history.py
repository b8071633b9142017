"""What a change of a verdict is put down to: the versions, or a suite or lock that had changed
besides.
"""

from support.editions import edition
from support.known import OTHER_SUITE, Shelf, lock_of, ran
from support.printed import printed

from compat.site.history import events

CELL = "py3.9-dep2-demo2.0"
FAULT = "import-fail:abort"
LOCK = lock_of(CELL)


def besides(*records: object) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.change.kind, one.beside) for one in events(Shelf(records, [LOCK]).picture())]


def test_the_same_suite_and_lock_leave_it_to_chance() -> None:
    assert besides(ran(LOCK, days_ago=3), ran(LOCK, FAULT)) == [("spurious", ()), ("new", ())]


def test_another_suite_and_another_lock_are_named() -> None:
    before = ran(lock_of(CELL, pytest="7.0"), days_ago=3, suite=OTHER_SUITE)
    assert besides(before, ran(LOCK, FAULT)) == [("regressed", ("lock", "suite")), ("new", ())]


def test_a_run_that_came_to_no_lock_says_nothing_of_lock_and_suite() -> None:
    assert besides(ran(LOCK, days_ago=3), ran(CELL, "lock-fail:no-artifact(dep==1.0)")) == [
        ("regressed", ()),
        ("new", ()),
    ]


def test_a_page_does_not_blame_the_versions_for_a_suite_that_asks_more() -> None:
    page = printed(
        edition(Shelf([ran(LOCK, days_ago=3, suite=OTHER_SUITE), ran(LOCK, FAULT)], [LOCK]))
    )
    told = page["demo/changes/index.html"]
    assert "New tests found problems; the packages did not change" in told
    assert "Regression" not in told
