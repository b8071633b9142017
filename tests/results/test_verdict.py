"""What the records of a cell add up to."""

import datetime
import itertools
import random
import typing

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.made_records import (
    CELL,
    LOCK,
    OTHER_LOCK,
    OTHER_SUITE,
    SPURIOUS,
    START,
    SUITE,
    capabilities,
    cell_of,
    ran,
    runs,
)

from compat.plan.feasible import Obstacle
from compat.results.answer import Answer, KnownFailure
from compat.results.judge import EvaluationContext, judge
from compat.results.record import Record
from compat.results.runs import History
from compat.run.outcome import Failed, Passed, is_doubtful, is_spurious, parse_outcome

DAY = START.date()
PRESENT = EvaluationContext(suite_digest=SUITE, day=DAY + datetime.timedelta(days=10))
DOUBTFUL = (
    "import-fail:wall-time",
    "import-fail:silence",
    "import-fail:memory",
    "import-fail:killed",
)
OBSTACLE = Obstacle(
    kind="no-artifact", between=("tf2.14",), because="the index has no release 2.14 of it"
)


def judged(
    *records: Record, lock: str | None = LOCK, obstacle: Obstacle | None = None, day: int = 10
) -> Answer:
    present = EvaluationContext(suite_digest=SUITE, day=DAY + datetime.timedelta(days=day))
    return judge(cell_of(CELL), records, present, lock_digest=lock, obstacle=obstacle)


# What an answer says of its runs, so that nobody need read them.
OF_RUNS = ("history", "first", "newest", "due", "outdated", "asks_as_today", "tested", "days",
           "isolation", "is_of_today")  # fmt: skip


def but_for_age(found: Answer) -> Answer:
    """A verdict without what says that it is old, or what a run came to that does not count."""
    first = tuple(reason.partition(": the newest, of ")[0] for reason in found.reasons[:1])
    nothing = {name: getattr(Answer(cell=found.cell), name) for name in OF_RUNS}
    return msgspec.structs.replace(found, stale=False, reasons=first, **nothing)


def on(day: int) -> datetime.date:
    return DAY + datetime.timedelta(days=day)


class TestHelpersOfTheSuite:
    """What a test of the suite's own files comes to says nothing about the subject."""

    def judged(self, *records: Record) -> Answer:
        present = EvaluationContext(
            suite_digest=SUITE, day=PRESENT.day, helpers=frozenset(["queue"])
        )
        return judge(cell_of(CELL), records, present, lock_digest=LOCK)

    def test_they_are_named_apart_from_the_capabilities(self) -> None:
        found = self.judged(ran("pass", capabilities=capabilities(sum="yes", queue="yes")))
        assert [one.id for one in found.capabilities] == ["sum"]
        assert [one.id for one in found.helpers] == ["queue"]

    def test_a_failing_one_makes_no_cell_partial(self) -> None:
        found = self.judged(
            ran("test-fail:assertion(queue)", capabilities=capabilities(sum="yes", queue="no"))
        )
        assert (found.kind, str(found.outcome)) == ("works", "pass")

    def test_a_failing_one_hides_no_failing_capability(self) -> None:
        failing = capabilities(mean="no", queue="no", sum="yes")
        found = self.judged(ran("test-fail:assertion(queue)", capabilities=failing))
        assert (found.kind, str(found.outcome)) == ("partial", "test-fail:error(mean)")

    def test_a_passing_one_alone_makes_no_cell_partial(self) -> None:
        failing = ran("test-fail:assertion(sum)", capabilities=capabilities(sum="no", queue="yes"))
        assert self.judged(failing).kind == "broken"

    def test_one_that_comes_and_goes_makes_no_cell_flaky(self) -> None:
        passed = ran("pass", capabilities=capabilities(sum="yes", queue="yes"))
        failed = ran(
            "test-fail:assertion(queue)", day=1, capabilities=capabilities(sum="yes", queue="no")
        )
        assert self.judged(passed, failed).kind == "works"


class TestKind:
    def test_a_cell_that_passed_works(self) -> None:
        found = judged(ran("pass", capabilities=capabilities(sum="yes", gone="absent")))
        assert (found.kind, found.evidence, str(found.outcome)) == ("works", "tested", "pass")
        assert not found.stale

    def test_a_cell_whose_import_works_and_of_which_some_capability_fails_is_partial(self) -> None:
        found = judged(
            ran("test-fail:assertion(mean)", capabilities=capabilities(sum="yes", mean="no"))
        )
        assert found.kind == "partial"
        [reason] = found.reasons
        assert "test-fail:assertion(mean) on 2026-11-01" in reason
        assert reason.endswith("these fail: mean")
        assert {one.id: one.status for one in found.capabilities} == {"sum": "yes", "mean": "no"}

    def test_a_pass_is_not_green_while_a_capability_fails(self) -> None:
        assert (
            judged(ran("pass", capabilities=capabilities(sum="yes", mean="no"))).kind == "partial"
        )
        assert judged(ran("pass", capabilities=capabilities(mean="no"))).kind == "broken"

    def test_a_cell_of_which_every_capability_fails_is_broken(self) -> None:
        assert (
            judged(
                ran("test-fail:assertion(sum)", capabilities=capabilities(sum="no", gone="absent"))
            ).kind
            == "broken"
        )

    @pytest.mark.parametrize(
        "outcome",
        [
            "plan-fail:excluded",
            "lock-fail:conflict(numpy)",
            "install-fail:hash-mismatch(jax)",
            "import-fail:segfault",
            "collect-fail:no-tests(none ran)",
        ],
    )
    def test_a_cell_that_came_to_no_test_is_broken(self, outcome: str) -> None:
        found = judged(ran(outcome, capabilities=capabilities(sum="yes")))
        assert (found.kind, found.evidence, str(found.outcome)) == ("broken", "tested", outcome)

    def test_a_cell_without_a_record_is_unknown(self) -> None:
        found = judged()
        assert (found.kind, found.evidence, found.outcome, found.since, found.latest) == (
            "unknown",
            "none",
            None,
            None,
            None,
        )

    def test_a_cell_without_a_record_that_the_plan_rules_out_is_infeasible(self) -> None:
        found = judged(obstacle=OBSTACLE)
        assert (found.kind, found.evidence, found.reasons) == (
            "infeasible",
            "declared",
            (OBSTACLE.because,),
        )

    def test_a_record_says_more_than_the_plan(self) -> None:
        found = judged(ran("pass"), obstacle=OBSTACLE)
        assert (found.kind, found.evidence) == ("works", "tested")
        assert found.reasons[-1].endswith(f": {OBSTACLE.because}")


class TestInTheWay:
    """A relaxed cell asks about its subject and coordinates once everything else is free to
    move.
    """

    RELAXED = f"{CELL}+relaxed"

    def judged(
        self, *involved: str, cell: str = RELAXED, outcome: str = "import-fail:missing-attribute(x)"
    ) -> Answer:
        present = EvaluationContext(suite_digest=SUITE, day=DAY, asked=frozenset(("demo", "dep")))
        return judge(
            cell_of(cell), [ran(outcome, cell=cell, involved=involved)], present, lock_digest=LOCK
        )

    def test_a_relaxed_cell_that_fails_by_a_third_package_has_no_answer_and_says_which(
        self,
    ) -> None:
        found = self.judged("dep", "third")
        assert (found.kind, found.evidence, found.latest) == ("unknown", "none", DAY)
        assert found.blocked_by == "third"
        [reason] = found.reasons
        assert reason.startswith("blocked by third: import-fail:missing-attribute(x) ")

    @pytest.mark.parametrize("involved", [("demo",), ("dep", "demo"), ("python",), ()])
    def test_one_that_fails_in_what_was_asked_about_is_broken(
        self, involved: tuple[str, ...]
    ) -> None:
        assert self.judged(*involved).kind == "broken"

    @pytest.mark.parametrize("outcome", ["import-fail:segfault", "test-fail:abort(demo.sum)"])
    def test_a_crash_that_shows_no_code_has_no_answer(self, outcome: str) -> None:
        found = self.judged(outcome=outcome)
        assert (found.kind, found.evidence, found.blocked_by) == ("unknown", "none", "")
        assert self.judged("demo", outcome=outcome).kind == "broken"
        assert self.judged(outcome=outcome, cell=f"{CELL}+dated").kind == "broken"

    @pytest.mark.parametrize("recipe", ["", "+dated"])
    def test_a_cell_that_asks_about_the_published_pins_is_broken_by_any_package(
        self, recipe: str
    ) -> None:
        assert self.judged("third", cell=f"{CELL}{recipe}").kind == "broken"

    @pytest.mark.parametrize("recipe", ["", "+dated", "+relaxed"])
    def test_where_what_runs_the_tests_does_not_start_there_is_no_answer(self, recipe: str) -> None:
        outcome = "collect-fail:test-runner(KeyError; at py/__init__.py:1)"
        found = self.judged("py", cell=f"{CELL}{recipe}", outcome=outcome)
        assert (found.kind, found.evidence, found.latest) == ("unknown", "none", DAY)
        assert found.reasons == (f"blocked by py: {outcome} on 2026-11-01",)

    REFUSALS: typing.ClassVar = {
        "lock-fail:conflict(third>=2)": "dep==2 depends on third>=2 and you require third==1",
        "lock-fail:conflict(dep>=3)": "third==1 depends on dep>=3 and you require dep==2.*",
        "lock-fail:no-artifact(third==1)": "there is no version of third==1",
    }

    def refused(self, recipe: str, outcome: str, because: str) -> Answer:
        present = EvaluationContext(suite_digest=SUITE, day=DAY, asked=frozenset(("demo", "dep")))
        failed = parse_outcome(outcome)
        assert isinstance(failed, Failed)
        cell = f"{CELL}{recipe}"
        refusal = KnownFailure(
            outcome=failed, because=because, on=DAY, ground="asked", witness=cell
        )
        return judge(cell_of(cell), History(), present, refusal=refusal)

    @pytest.mark.parametrize("outcome", REFUSALS)
    def test_a_resolver_that_refuses_by_a_third_package_says_as_little(self, outcome: str) -> None:
        found = self.refused("+relaxed", outcome, self.REFUSALS[outcome])
        assert (found.kind, found.evidence, found.outcome) == ("unknown", "none", None)
        assert found.blocked_by == "third"
        assert found.reasons[0].startswith("blocked by third: ")
        assert self.refused("+dated", outcome, self.REFUSALS[outcome]).kind == "broken"

    @pytest.mark.parametrize(
        ("recipe", "package", "kind"),
        [
            ("+relaxed", "third", "unknown"),
            ("+relaxed", "dep", "infeasible"),
            ("+relaxed", "", "infeasible"),
            ("+dated", "third", "infeasible"),
        ],
    )
    def test_a_plan_that_rules_out_by_a_third_package_says_as_little(
        self, recipe: str, package: str, kind: str
    ) -> None:
        present = EvaluationContext(suite_digest=SUITE, day=DAY, asked=frozenset(("demo", "dep")))
        obstacle = msgspec.structs.replace(OBSTACLE, package=package)
        found = judge(cell_of(f"{CELL}{recipe}"), History(), present, obstacle=obstacle)
        assert (found.kind, found.blocked_by) == (kind, package if kind == "unknown" else "")

    def test_a_resolver_that_refuses_what_was_asked_about_is_believed(self) -> None:
        because = "demo==1 depends on dep<2 and you require dep==2.*"
        found = self.refused("+relaxed", "lock-fail:conflict(dep<2)", because)
        assert (found.kind, found.evidence, found.blocked_by) == ("broken", "asked", "")

    def test_that_one_release_has_no_file_is_a_part_of_the_reason_alone(self) -> None:
        """The plan found another release of the series, so something else refuses that one."""
        because = "dep==2.1 has no wheels with a matching Python tag (e.g., `cp37`)"
        found = self.refused("+relaxed", "lock-fail:no-artifact(dep==2.1)", because)
        assert (found.kind, found.blocked_by) == ("unknown", "")

    def test_one_of_which_something_works_is_partial_whatever_is_in_the_way_of_the_rest(
        self,
    ) -> None:
        run = ran(
            "test-fail:error(sum)",
            cell=self.RELAXED,
            involved=("third",),
            capabilities=capabilities(sum="no", mean="yes"),
        )
        present = EvaluationContext(suite_digest=SUITE, day=DAY, asked=frozenset(("demo", "dep")))
        assert judge(cell_of(self.RELAXED), [run], present).kind == "partial"


class TestFlaky:
    def test_the_same_lock_and_suite_with_different_outcomes_are_flaky(self) -> None:
        found = judged(ran("pass"), ran("test-fail:assertion(sum)", day=1), ran("pass", day=2))
        assert (found.kind, str(found.outcome), found.since) == (
            "flaky",
            "test-fail:assertion(sum)",
            on(1),
        )
        [reason] = found.reasons
        assert "pass and test-fail:assertion(sum)" in reason

    def test_attempts_of_one_run_that_disagree_are_flaky(self) -> None:
        assert judged(ran("test-fail:error(sum)", "pass")).kind == "flaky"

    def test_of_eight_attempts_a_test_that_fails_half_the_time_is_found_flaky(self) -> None:
        # Eight equal attempts come once in 128 times, 0.8 %; 1,000 worlds with seeds of their own.
        def attempts(seed: int, share: float) -> list[str]:
            chance = random.Random(seed)
            return ["test-fail:error(sum)" if chance.random() < share else "pass" for _ in range(8)]

        worlds = {share: [attempts(seed, share) for seed in range(1000)] for share in (0.5, 0.05)}
        flaky = {
            share: sum(judged(ran(*world)).kind == "flaky" for world in drawn)
            for share, drawn in worlds.items()
        }
        assert flaky[0.5] >= 990
        # One that fails once in twenty runs is found in a third of the worlds.
        assert 300 <= flaky[0.05] <= 375

    def test_a_retry_after_infrastructure_trouble_is_not_flaky(self) -> None:
        assert judged(ran("install-fail:network", "pass")).kind == "works"

    def test_a_capability_that_comes_and_goes_is_flaky(self) -> None:
        first = ran(
            "test-fail:error(sum)", capabilities=capabilities(sum="no", mean="yes", last="yes")
        )
        second = ran(
            "test-fail:error(sum)",
            day=1,
            capabilities=capabilities(sum="no", mean="no", last="yes"),
        )
        found = judged(first, second)
        assert (found.kind, found.reasons[0].rpartition(": ")[2]) == ("flaky", "mean")

    @pytest.mark.parametrize("other", [{"lock": OTHER_LOCK}, {"suite": OTHER_SUITE}])
    def test_another_lock_or_suite_is_another_question(self, other: dict[str, str]) -> None:
        assert judged(ran("test-fail:error(sum)", **other), ran("pass", day=1)).kind == "works"

    def test_a_new_lock_ends_flakiness(self) -> None:
        found = judged(
            ran("pass", lock=OTHER_LOCK),
            ran("import-fail:abort", lock=OTHER_LOCK, day=1),
            ran("pass", day=2),
        )
        assert (found.kind, found.since) == ("works", on(2))


class TestAProcessorThatLacksAnInstruction:
    SILENT = "test-fail:silence(test_aggregators.py::test_sum)"
    LACKING = "test-fail:illegal-instruction(test_aggregators.py::test_sum; by worker_binary)"

    def test_explains_every_silence_over_the_same_files(self) -> None:
        silences = [ran(self.SILENT), ran(self.SILENT, day=1)]
        assert judged(*silences).kind == "broken"
        assert judged(*silences, ran(self.LACKING, day=2)).kind == "unknown"

    def test_explains_no_silence_over_others(self) -> None:
        silences = [ran(self.SILENT), ran(self.SILENT, day=1)]
        assert judged(*silences, ran(self.LACKING, lock=OTHER_LOCK, day=2)).kind == "broken"

    def test_explains_no_other_failure(self) -> None:
        assert judged(ran("import-fail:abort"), ran(self.LACKING, day=2)).kind == "broken"


class TestSpurious:
    @pytest.mark.parametrize("outcome", [*SPURIOUS, TestAProcessorThatLacksAnInstruction.LACKING])
    def test_a_spurious_run_is_no_verdict(self, outcome: str) -> None:
        found = judged(ran(outcome))
        assert found.kind == "unknown"
        told = (
            "" if "cancelled" in outcome else f": the newest, of {on(0)}, result {outcome}, which"
        )
        assert found.reasons[0].startswith(f"no run of it counts so far{told}")

    @pytest.mark.parametrize("outcome", SPURIOUS)
    def test_a_spurious_run_replaces_no_older_real_verdict(self, outcome: str) -> None:
        assert but_for_age(judged(ran("pass"), ran(outcome, day=3))) == but_for_age(
            judged(ran("pass"))
        )

    @pytest.mark.parametrize("outcome", sorted({*SPURIOUS} - {"test-fail:cancelled"}))
    def test_after_a_spurious_run_the_older_verdict_is_stale_until_a_run_counts_again(
        self, outcome: str
    ) -> None:
        found = judged(ran("pass"), ran(outcome, day=3))
        assert (found.kind, found.stale, found.latest) == ("works", True, on(0))
        because = (
            f"a newer run, of {on(3)}, result {outcome}, which says nothing about the versions"
        )
        assert found.reasons[-1].startswith(because)
        assert not judged(ran("pass"), ran(outcome, day=3), ran("pass", day=4)).stale
        assert not judged(ran(outcome, day=-1), ran("pass")).stale

    @pytest.mark.parametrize(
        ("outcomes", "chosen", "twice"),
        [
            (["test-fail:output"], True, False),
            (["test-fail:output", "test-fail:processes"], True, True),
            (["test-fail:disk", "test-fail:cancelled", "import-fail:disk"], True, True),
            (["test-fail:disk", "test-fail:network", "test-fail:disk"], True, False),
            (["test-fail:network", "test-fail:network"], False, False),
        ],
    )
    def test_what_a_package_can_choose_is_named_and_what_it_does_twice(
        self, outcomes: list[str], chosen: bool, twice: bool
    ) -> None:
        (reason,) = judged(*(ran(text, day=day) for day, text in enumerate(outcomes))).reasons
        assert ("can choose" in reason, "twice in a row" in reason) == (chosen, twice)

    def test_a_run_that_somebody_cancelled_makes_no_verdict_stale_and_hides_no_trouble_before_it(
        self,
    ) -> None:
        found = judged(ran("pass"), ran("test-fail:cancelled", day=3))
        assert (found.stale, but_for_age(found)) == (False, but_for_age(judged(ran("pass"))))
        found = judged(
            ran("pass"), ran("install-fail:network", day=2), ran("test-fail:cancelled", day=3)
        )
        assert found.stale

    @pytest.mark.parametrize("outcome", DOUBTFUL)
    def test_what_the_machine_may_have_done_says_nothing_the_first_time(self, outcome: str) -> None:
        assert judged(ran(outcome)).kind == "unknown"
        found = judged(ran("pass"), ran(outcome, day=1))
        assert but_for_age(found) == but_for_age(judged(ran("pass")))
        assert "needs a second run" in found.reasons[-1]

    @pytest.mark.parametrize("outcome", DOUBTFUL)
    def test_it_counts_after_two_runs_of_the_same_lock_and_suite(self, outcome: str) -> None:
        found = judged(ran(outcome), ran(outcome, day=1))
        assert (found.kind, found.since, found.latest) == ("broken", on(0), on(1))

    @pytest.mark.parametrize("outcome", DOUBTFUL)
    def test_two_attempts_of_one_run_are_one_machine_and_count_once(self, outcome: str) -> None:
        assert judged(ran(outcome, outcome)).kind == "unknown"

    @pytest.mark.parametrize("other", [{"lock": OTHER_LOCK}, {"suite": OTHER_SUITE}])
    def test_twice_on_different_locks_or_suites_is_not_twice(self, other: dict[str, str]) -> None:
        assert (
            judged(ran("import-fail:wall-time", **other), ran("import-fail:wall-time", day=1)).kind
            == "unknown"
        )

    def test_wall_time_and_silence_are_not_twice_the_same(self) -> None:
        assert (
            judged(ran("import-fail:wall-time"), ran("import-fail:silence", day=1)).kind
            == "unknown"
        )

    def test_a_time_limit_that_struck_twice_beside_a_pass_is_flaky(self) -> None:
        assert (
            judged(
                *(
                    ran(told, day=day)
                    for day, told in enumerate(["pass", *["test-fail:silence"] * 2])
                )
            ).kind
            == "flaky"
        )


class TestDates:
    def test_since_is_the_first_day_without_interruption(self) -> None:
        told = [
            ("pass", LOCK),
            ("import-fail:abort", OTHER_LOCK),
            ("pass", "3" * 64),
            ("pass", "3" * 64),
            ("pass", LOCK),
        ]
        found = judged(
            *(ran(outcome, lock=lock, day=day) for day, (outcome, lock) in enumerate(told[:-1]))
        )
        assert (found.kind, found.since, found.latest) == ("works", on(2), on(3))

    def test_a_verdict_is_fresh_for_ninety_days(self) -> None:
        assert not judged(ran("pass"), day=90).stale
        found = judged(ran("pass"), day=91)
        assert found.stale
        assert "91 days old" in found.reasons[-1]

    def test_a_spurious_run_does_not_refresh(self) -> None:
        assert judged(ran("pass"), ran("install-fail:network", day=90), day=91).stale

    @pytest.mark.parametrize(
        ("other", "because"),
        [
            ({"lock": OTHER_LOCK}, "the cell's lock has changed since"),
            ({"suite": OTHER_SUITE}, "the suite has changed since"),
        ],
    )
    def test_a_verdict_of_another_lock_or_suite_is_stale(
        self, other: dict[str, str], because: str
    ) -> None:
        found = judged(ran("pass", **other))
        assert found.stale
        assert because in found.reasons

    @pytest.mark.parametrize("suite", ["", OTHER_SUITE])
    def test_a_refusal_has_no_suite_that_could_change(self, suite: str) -> None:
        found = judged(ran("lock-fail:conflict(numpy)", lock="", suite=suite), lock=None)
        assert (found.kind, found.stale) == ("broken", False)

    @pytest.mark.parametrize("outcome", ["install-fail:environment-mismatch", "import-fail:abort"])
    def test_what_failed_before_the_first_test_outlives_a_change_of_the_suite(
        self, outcome: str
    ) -> None:
        assert not judged(ran(outcome, suite=OTHER_SUITE)).stale

    def test_a_suite_that_could_not_be_collected_is_asked_again_when_it_changes(self) -> None:
        assert judged(ran("collect-fail:no-tests", suite=OTHER_SUITE)).stale

    def test_a_run_that_needed_no_suite_is_not_stale_when_it_changes(self) -> None:
        assert not judged(ran("pass", suite="")).stale

    def test_a_refusal_is_stale_once_there_is_a_lock(self) -> None:
        assert judged(ran("lock-fail:conflict(numpy)", lock="", suite="")).stale

    def test_a_run_from_the_future_says_nothing(self) -> None:
        assert judged(ran("pass"), ran("import-fail:abort", day=11)) == judged(ran("pass"))
        assert judged(ran("pass", day=11)).kind == "unknown"

    def test_a_run_of_another_cell_says_nothing(self) -> None:
        assert judged(ran("pass", cell="py3.9-tf2.3-tff0.17.0")).kind == "unknown"


histories = st.lists(runs(), max_size=7)


class TestLaws:
    @examples(150)
    @given(histories, st.randoms(use_true_random=False))
    def test_a_verdict_does_not_depend_on_the_order_of_the_records(
        self, history: list[Record], chance: object
    ) -> None:
        shuffled = sorted(history, key=lambda _: chance.random())  # type: ignore[attr-defined]
        assert judged(*shuffled) == judged(*history)

    def test_not_even_for_runs_of_the_same_moment(self) -> None:
        one = ran("pass", capabilities=capabilities(sum="yes"))
        other = ran("pass", capabilities=capabilities(sum="yes", mean="yes"))
        assert judged(one, other) == judged(other, one)

    @examples(150)
    @given(st.lists(st.tuples(runs(), st.integers(1, 3)), max_size=4))
    def test_it_does_not_depend_on_whether_runs_share_what_they_came_to(
        self, answers: list[tuple[Record, int]]
    ) -> None:
        # As the index does: nightly runs came to the same, and hold one object.
        moments = itertools.count()
        shared = [
            msgspec.structs.replace(record, started=START + datetime.timedelta(hours=next(moments)))
            for record, times in answers
            for _ in range(times)
        ]
        apart = [
            msgspec.structs.replace(
                record, capabilities=(*map(msgspec.structs.replace, record.capabilities),)
            )
            for record in shared
        ]
        assert judged(*shared) == judged(*apart)

    @examples(150)
    @given(histories, st.lists(runs(told=SPURIOUS), min_size=1, max_size=3))
    def test_spurious_records_never_change_a_verdict(
        self, history: list[Record], spurious: list[Record]
    ) -> None:
        assert but_for_age(judged(*history, *spurious)) == but_for_age(judged(*history))

    @examples(150)
    @given(histories)
    def test_nothing_is_green_that_failed_on_the_newest_lock_and_suite(
        self, history: list[Record]
    ) -> None:
        found = judged(*history)
        if found.kind != "works":
            return
        passed = [
            one
            for one in history
            if Passed() in one.outcomes and one.started.date() == found.latest
        ]
        assert passed
        keys = {(one.lock_digest, one.suite_digest) for one in passed}
        told = [
            (one.lock_digest, one.suite_digest, o)
            for one in history
            for o in one.outcomes
            if not is_spurious(o)
        ]
        assert any(
            all(
                isinstance(o, Passed) or is_doubtful(o)
                for lock, suite, o in told
                if (lock, suite) == key
            )
            for key in keys
        )

    @examples(150)
    @given(histories)
    def test_a_tested_verdict_has_its_dates_in_order_and_a_reason(
        self, history: list[Record]
    ) -> None:
        found = judged(*history)
        assert found.reasons
        assert (found.evidence == "tested") == (found.outcome is not None)
        if found.since is not None and found.latest is not None:
            assert found.since <= found.latest <= PRESENT.day

    @examples(100)
    @given(histories)
    def test_an_identical_record_changes_nothing_but_the_count_of_doubts(
        self, history: list[Record]
    ) -> None:
        settled = [one for one in history if not any(map(is_doubtful, one.outcomes))]
        # A sentence counts how often in a row a cell ended so; nothing else depends on it.
        once, twice = judged(*settled), judged(*settled, *settled)
        kept = {name: getattr(once, name) for name in ("reasons", *OF_RUNS)}
        assert msgspec.structs.replace(twice, **kept) == once


def test_a_long_history_is_judged_in_no_time() -> None:
    history = [
        ran(
            "pass",
            second=number,
            lock=lock,
            capabilities=capabilities(**{f"c{n}": "yes" for n in range(40)}),
        )
        for number, lock in zip(range(3000), itertools.cycle([LOCK, OTHER_LOCK]), strict=False)
    ]
    assert judged(*history).kind == "works"
