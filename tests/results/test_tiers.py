"""What runs of the suite's core alone add up to, alone and beside runs of the whole suite."""

import datetime
from typing import Any

import pytest
from support.made_records import (
    CELL,
    LOCK,
    OTHER_LOCK,
    OTHER_SUITE,
    START,
    SUITE,
    capabilities,
    cell_of,
    ran,
    read_back,
)

from compat.results.answer import STATE_WORDS, Answer, verdict_clause
from compat.results.judge import EvaluationContext, judge
from compat.results.record import Record
from compat.results.runs import History
from compat.results.snapshot import due_of, due_order

TODAY = START.date() + datetime.timedelta(days=10)
PRESENT = EvaluationContext(suite_digest=SUITE, day=TODAY)
FAILED = "test-fail:assertion(mean)"
FULL = capabilities(sum="yes", mean="yes", median="yes")


def smoke(*outcomes: str, day: int = 0, **more: Any) -> Record:
    told = {"capabilities": capabilities(sum="yes")} | more
    return ran(*outcomes, day=day, tier="smoke", **told)


def judged(*records: Record) -> Answer:
    return judge(cell_of(CELL), records, PRESENT, lock_digest=LOCK)


def reasons(*records: Record) -> list[str]:
    due = due_of(CELL, judged(*records), PRESENT.day)
    return [] if due is None else [due.reason]


def test_a_record_keeps_its_tier() -> None:
    assert read_back(smoke("pass")).tier == "smoke"


def test_the_core_alone_is_evidence_of_its_own_and_says_so() -> None:
    alone = judged(smoke("pass"))
    assert (alone.kind, alone.evidence) == ("works", "smoke")
    assert "core of the suite" in alone.reasons[-1]
    assert verdict_clause(alone) == "works (smoke)"
    assert verdict_clause(judged(ran("pass"))) == STATE_WORDS["works"] == "works"


@pytest.mark.parametrize("day", [-1, 1])
def test_the_whole_suite_outranks_the_core_whichever_came_first(day: int) -> None:
    whole = ran(FAILED, capabilities=capabilities(sum="yes", mean="no", median="yes"))
    both = judged(whole, smoke("pass", day=day))
    assert (both.kind, both.evidence) == ("partial", "tested")
    assert both.latest == START.date()
    assert {c.id for c in both.capabilities} == {"sum", "mean", "median"}


def test_a_run_of_the_core_makes_an_old_run_of_the_whole_suite_no_fresher() -> None:
    old = ran("pass", day=-90, capabilities=FULL)
    assert judged(old).stale
    assert judged(old, smoke("pass", day=5)).stale


def test_on_other_files_the_newest_run_decides_whatever_its_tier() -> None:
    newest = judged(ran("pass", suite=OTHER_SUITE, capabilities=FULL), smoke("pass", day=1))
    assert (newest.evidence, newest.stale) == ("smoke", False)
    other = judged(ran("pass", lock=OTHER_LOCK, capabilities=FULL), smoke("pass", day=1))
    assert other.evidence == "smoke"


def test_a_failed_import_is_broken_at_either_tier() -> None:
    broken = judged(smoke("import-fail:abort", capabilities=()))
    assert (broken.kind, broken.evidence) == ("broken", "smoke")


@pytest.mark.parametrize(
    "other",
    [
        smoke("import-fail:abort", day=1, capabilities=()),
        smoke("test-fail:assertion(sum)", day=1, capabilities=capabilities(sum="no")),
    ],
)
def test_a_run_of_the_core_that_contradicts_the_whole_suite_makes_the_cell_flaky(
    other: Record,
) -> None:
    both = judged(ran("pass", capabilities=FULL), other)
    assert (both.kind, both.evidence) == ("flaky", "tested")


def test_what_the_core_does_not_ask_for_is_no_contradiction() -> None:
    whole = ran(FAILED, capabilities=capabilities(sum="yes", mean="no"))
    assert judged(smoke("pass", day=-1), whole, smoke("pass", day=1)).kind == "partial"


def test_a_cell_of_the_core_alone_is_due_for_the_whole_suite_after_all_others() -> None:
    assert reasons(smoke("pass")) == ["smoke-only"]
    assert reasons(ran("pass"), smoke("pass", day=1)) == []
    kinds = ([smoke("pass")], [ran("pass", day=-90)], [])
    due = [due_of(CELL, judged(*records), PRESENT.day) for records in kinds]
    ordered = sorted((one for one in due if one is not None), key=due_order)
    assert [one.reason for one in ordered] == ["never-run", "stale", "smoke-only"]


def test_the_whole_suite_could_say_no_more_where_the_import_fails() -> None:
    assert reasons(smoke("import-fail:abort", capabilities=())) == []
    assert reasons(smoke("test-fail:assertion(sum)")) == ["smoke-only"]


def test_the_runs_that_decide_are_those_of_the_whole_suite_on_the_newest_files() -> None:
    runs = [ran("pass", day=0), smoke("pass", day=1), smoke("pass", day=2, lock=OTHER_LOCK)]
    history = History(runs, TODAY)
    assert [counted.run for counted in history.deciding] == [runs[2]]
    history = History(runs[:2], TODAY)
    assert [counted.run for counted in history.deciding] == [runs[0]]
