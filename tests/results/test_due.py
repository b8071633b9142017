"""Which cells to run now, and why."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.made_records import (
    CELL,
    LOCK,
    OTHER_LOCK,
    OTHER_SUITE,
    START,
    SUITE,
    cell_of,
    ran,
    runs,
)

from compat.results.judge import EvaluationContext, judge
from compat.results.record import Record
from compat.results.snapshot import Due, due_of, due_order

TODAY = START.date() + datetime.timedelta(days=10)
PRESENT = EvaluationContext(suite_digest=SUITE, day=TODAY)


def due(
    locks: dict[str, str | None], records: list[Record], present: EvaluationContext
) -> list[Due]:
    """The cells that are due, the most telling first."""
    answers = {
        cell: judge(cell_of(cell), records, present, lock_digest=lock)
        for cell, lock in locks.items()
    }
    found = (due_of(cell, known, present.day) for cell, known in answers.items())
    return sorted((one for one in found if one is not None), key=due_order)


def reasons(
    *records: Record, lock: str | None = LOCK, present: EvaluationContext = PRESENT
) -> list[str]:
    return [one.reason for one in due({CELL: lock}, list(records), present)]


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ([], "never-run"),
        ([ran("pass", lock=OTHER_LOCK)], "lock-changed"),
        ([ran("pass", suite=OTHER_SUITE)], "suite-changed"),
        ([ran("pass", lock=OTHER_LOCK, suite=OTHER_SUITE)], "lock-changed"),
        ([ran("install-fail:network")], "spurious-last"),
        ([ran("pass"), ran("test-fail:memory", day=1)], "spurious-last"),
        ([ran("test-fail:wall-time")], "spurious-last"),
        ([ran("pass", lock=OTHER_LOCK), ran("test-fail:memory", day=1)], "spurious-last"),
        ([ran("pass"), ran("test-fail:memory", day=1, lock=OTHER_LOCK)], "lock-changed"),
        ([ran("pass", day=-81)], "stale"),
        ([ran("test-fail:error(a)", "pass", day=3)], "flaky"),
        ([ran("pass"), ran("test-fail:error(a)", day=3)], "flaky"),
        ([ran("pass", day=-90), ran("test-fail:error(a)", day=-85)], "flaky"),
        ([ran("lock-fail:conflict(numpy)", lock="", suite="")], "lock-changed"),
    ],
)
def test_a_cell_is_due_for_a_reason(records: list[Record], reason: str) -> None:
    assert reasons(*records) == [reason]


@pytest.mark.parametrize(
    "records",
    [
        [ran("pass")],
        [ran("import-fail:abort")],
        [ran("test-fail:error(a)", "pass", day=4)],
        [ran("install-fail:network", "pass")],
        [ran("install-fail:network"), ran("pass", day=1)],
        [ran("test-fail:wall-time"), ran("test-fail:wall-time", day=1)],
        [ran("pass", day=-80)],
    ],
)
def test_when_nothing_has_changed_nothing_is_due(records: list[Record]) -> None:
    assert reasons(*records) == []


@pytest.mark.parametrize("outcome", ["conflict(numpy)", "source-only(pandocfilters==1.5)"])
def test_a_refused_cell_is_due_only_when_it_is_stale(outcome: str) -> None:
    refused = ran(f"lock-fail:{outcome}", lock="", suite="")
    assert reasons(refused, lock=None) == []
    later = EvaluationContext(suite_digest=OTHER_SUITE, day=TODAY + datetime.timedelta(days=100))
    assert reasons(refused, lock=None, present=later) == ["stale"]


def test_the_most_telling_cells_come_first() -> None:
    records = [
        ran("pass", cell="a-stale", day=-90),
        ran("test-fail:memory", cell="b-spurious"),
        ran("pass", cell="d-suite", suite=OTHER_SUITE),
        ran("pass", cell="c-lock", lock=OTHER_LOCK),
        ran("pass", cell="a-sound"),
        ran("pass", cell="not-asked"),
    ]
    cells = ["z-never", "a-stale", "b-spurious", "d-suite", "c-lock", "a-sound", "y-never"]
    assert [
        (one.cell, one.reason) for one in due(dict.fromkeys(cells, LOCK), records, PRESENT)
    ] == [
        ("y-never", "never-run"),
        ("z-never", "never-run"),
        ("c-lock", "lock-changed"),
        ("d-suite", "suite-changed"),
        ("b-spurious", "spurious-last"),
        ("a-stale", "stale"),
    ]


def test_a_due_cell_says_when_it_ran_last() -> None:
    assert due({CELL: LOCK}, [ran("test-fail:memory", day=2)], PRESENT) == [
        Due(cell=CELL, reason="spurious-last", last=START.date() + datetime.timedelta(days=2))
    ]


def test_a_run_from_the_future_has_not_been_yet() -> None:
    assert reasons(ran("pass", day=11)) == ["never-run"]


class TestLaws:
    @examples(150)
    @given(
        st.lists(runs(), max_size=6),
        st.sampled_from(["pass", "test-fail:assertion(sum)", "lock-fail:yanked(jax)"]),
    )
    def test_what_has_just_been_recorded_is_not_due(self, history: list[Record], told: str) -> None:
        assert reasons(*history, ran(told, day=10)) == []

    @examples(150)
    @given(st.lists(runs(), max_size=6))
    def test_a_cell_with_a_stale_verdict_or_none_is_due(self, history: list[Record]) -> None:
        found = judge(cell_of(CELL), history, PRESENT, lock_digest=LOCK)
        if found.stale or found.kind == "unknown":
            assert reasons(*history)

    @examples(100)
    @given(st.lists(runs(), max_size=6), st.randoms(use_true_random=False))
    def test_the_order_of_the_records_does_not_matter(
        self, history: list[Record], chance: object
    ) -> None:
        shuffled = sorted(history, key=lambda _: chance.random())  # type: ignore[attr-defined]
        assert reasons(*shuffled) == reasons(*history)
