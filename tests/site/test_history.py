"""What a change of a verdict is put down to: the versions, or a suite or lock that had changed
besides.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.editions import edition
from support.known import OTHER_SUITE, OUTCOMES, SUITE, Shelf, lock_of, ran, statuses
from support.printed import printed

from compat.results.judge import judge
from compat.site import edition as module
from compat.site.edition import events

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
    assert "packages did not change" in told
    assert "Regression" not in told


# What runs share is one object, as in the index.
ANSWERS = (statuses(), statuses(sum="yes"), statuses(sum="no", mean="yes"))
RUN = st.tuples(
    st.sampled_from(OUTCOMES),
    st.sampled_from(ANSWERS),
    st.sampled_from((SUITE, SUITE, OTHER_SUITE)),
    st.sampled_from(("full", "full", "smoke")),
)


@given(st.lists(st.tuples(RUN, st.integers(1, 3)), min_size=1, max_size=4))
def test_a_run_that_repeats_the_one_before_is_passed_over_and_nothing_with_it(
    runs: list[tuple[tuple[str, tuple[object, ...], str, str], int]],
) -> None:
    every = [run for run, times in runs for _ in range(times)]
    records = [
        ran(LOCK, outcome, suite=suite, tier=tier, capabilities=answers, minute=minute)
        for minute, (outcome, answers, suite, tier) in enumerate(every)
    ]
    known = Shelf(records, [LOCK]).picture()
    quick = events(known)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "_is_repeated", lambda *_: False)
        assert events(known) == quick


def test_nightly_runs_that_say_the_same_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[int] = []
    worked_out = judge
    monkeypatch.setattr(
        module,
        "judge",
        lambda cell, runs, at: judged.append(len(runs)) or worked_out(cell, runs, at),
    )
    records = [ran(LOCK, days_ago=30 - night, capabilities=ANSWERS[1]) for night in range(30)]
    (event,) = events(Shelf(records, [LOCK]).picture())
    assert event.change.kind == "new"
    assert judged == [1]
