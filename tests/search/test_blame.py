"""Blame in worlds whose cause is known: single packages, pairs, triples, mixes that cannot be had,
failures that come and go.
"""

import datetime
import random

import pytest
from packaging.version import Version
from support.made_worlds import MadeLaboratory, Versions, lock_of

from compat.run.outcome import Failed, Outcome, Passed, parse_outcome
from compat.search.blame import Blame, SearchStopped, blame

BROKEN = parse_outcome("import-fail:missing-attribute(dep.gone)")
OTHER = parse_outcome("import-fail:missing-attribute(late.gone)")
WRONG = parse_outcome("test-fail:assertion(sum)")
RELEASES = [f"1.{n}" for n in range(12)] + [f"2.{n}" for n in range(12)]
PACKAGES = [f"p{number}" for number in range(30)]
GOOD = lock_of(dict.fromkeys(PACKAGES, "1.0"))
BAD = lock_of(dict.fromkeys(PACKAGES, "2.11"))


def since(**first: str) -> "object":
    """An outcome that fails where all of these packages have come to a version."""

    def outcome(versions: Versions, chance: random.Random) -> Outcome:
        broken = all(versions[name] >= Version(text) for name, text in first.items())
        return BROKEN if broken else Passed()

    return outcome


def laboratory(outcome: object, **more: object) -> MadeLaboratory:
    return MadeLaboratory(outcome, releases=dict.fromkeys(PACKAGES, RELEASES), **more)  # type: ignore[arg-type]


def named(answer: Blame) -> list[tuple[tuple[str, str], ...]]:
    return [tuple((p.package, str(p.first_bad)) for p in cause.packages) for cause in answer.causes]


class TestASteadyFailure:
    @pytest.mark.parametrize("release", ["1.1", "1.7", "2.0", "2.11"])
    def test_the_package_and_its_release_are_named_and_verified(self, release: str) -> None:
        lab = laboratory(since(p17=release))
        answer = blame(GOOD, BAD, lab)
        assert named(answer) == [(("p17", release),)]
        [cause] = answer.causes
        assert cause.failure == BROKEN
        [package] = cause.packages
        assert RELEASES.index(str(package.last_good)) + 1 == RELEASES.index(release)
        assert answer.is_verified
        assert len(lab.ran) <= 20

    def test_a_package_that_the_failure_names_is_tried_first(self) -> None:
        lab = laboratory(since(p17="2.0"))
        lab.involved = ("p17", "p3")
        answer = blame(GOOD, BAD, lab)
        assert named(answer) == [(("p17", "2.0"),)]
        assert answer.is_verified
        assert len(lab.ran) <= 12

    def test_a_wrongly_suspected_package_changes_no_answer(self) -> None:
        lab = laboratory(since(p17="2.0"))
        lab.involved = ("p2", "p3")
        assert named(blame(GOOD, BAD, lab)) == [(("p17", "2.0"),)]

    def test_two_that_break_only_together_are_named_together(self) -> None:
        lab = laboratory(since(p4="1.3", p21="2.2"))
        answer = blame(GOOD, BAD, lab)
        assert named(answer) == [(("p21", "2.2"), ("p4", "1.3"))]
        assert answer.causes[0].is_minimal
        assert answer.is_verified
        assert len(lab.ran) <= 32

    def test_three_that_break_only_together_are_named_together(self) -> None:
        answer = blame(GOOD, BAD, laboratory(since(p4="1.3", p8="2.0", p21="2.2")))
        assert named(answer) == [(("p21", "2.2"), ("p4", "1.3"), ("p8", "2.0"))]
        assert answer.is_verified

    def test_the_interpreter_can_be_to_blame(self) -> None:
        lab = laboratory(since(python="3.12"))
        answer = blame(GOOD, lock_of(dict.fromkeys(PACKAGES, "2.11"), "3.12.1"), lab)
        assert [p.package for p in answer.causes[0].packages] == ["python"]
        assert answer.is_verified

    def test_one_cause_that_hides_another_is_followed_by_it(self) -> None:
        def outcome(versions: Versions, chance: random.Random) -> Outcome:
            if versions["p5"] >= Version("2.0"):
                return BROKEN
            return OTHER if versions["p9"] >= Version("1.4") else Passed()

        answer = blame(GOOD, BAD, laboratory(outcome))
        assert named(answer) == [(("p5", "2.0"),), (("p9", "1.4"),)]
        assert answer.is_verified

    @pytest.mark.parametrize(("failure", "most"), [(BROKEN, 45), (WRONG, 65)])
    def test_two_packages_that_each_break_it_alike_are_both_named(
        self, failure: Outcome, most: int
    ) -> None:
        def outcome(versions: Versions, chance: random.Random) -> Outcome:
            broken = max(versions["p5"], versions["p9"]) >= Version("2.0")
            return failure if broken else Passed()

        lab = laboratory(outcome)
        lab.withdrawn = {"p5": [Version("1.3"), Version("2.0")]}
        answer = blame(GOOD, BAD, lab)
        assert sorted(named(answer)) == [(("p5", "2.0"),), (("p9", "2.0"),)]
        assert [package.yanked for cause in answer.causes for package in cause.packages] == [
            (Version("2.0"),) if cause.names == ("p5",) else () for cause in answer.causes
        ]
        assert answer.is_verified
        ends = [what for what in lab.ran if what in ("GOOD", "BAD")]
        assert len(ends) <= 6
        assert len(lab.ran) <= most

    @pytest.mark.parametrize("marked", [True, False])
    def test_what_the_runner_needs_on_one_python_alone_is_no_culprit(self, marked: bool) -> None:
        def outcome(versions: Versions, chance: random.Random) -> Outcome:
            if versions["python"] < Version("3.11") and "backport" not in versions:
                return parse_outcome("collect-fail:test-runner(backport)")
            return WRONG if versions["python"] >= Version("3.11") else Passed()

        good = lock_of({"p1": "1.0", "pytest": "8.0", "backport": 1}, "3.10.1")
        requires = {("pytest", "8.0"): "backport; python_version < '3.11'"} if marked else {}
        lab = laboratory(outcome, requires=requires)
        lab.runner = frozenset({"pytest", "backport"})
        answer = blame(good, lock_of({"p1": "1.0", "pytest": "8.0"}, "3.11.1"), lab)
        [cause] = answer.causes
        assert [(p.package, p.brings) for p in cause.packages] == [("python", ("backport",))]
        assert answer.is_verified

    def test_a_runner_that_does_not_start_is_no_answer(self) -> None:
        lab = laboratory(
            lambda versions, chance: (
                parse_outcome("collect-fail:test-runner(x)")
                if versions["p1"] > Version("1.0")
                else Passed()
            )
        )
        answer = blame(GOOD, BAD, lab)
        assert not answer.causes
        assert not answer.is_finished

    def test_where_both_work_there_is_nothing_to_blame(self) -> None:
        answer = blame(GOOD, BAD, laboratory(lambda versions, chance: Passed()))
        assert not answer.causes
        assert "works as GOOD does" in answer.because

    def test_what_fails_at_both_ends_is_no_cause(self) -> None:
        answer = blame(GOOD, BAD, laboratory(lambda versions, chance: BROKEN))
        assert not answer.causes
        assert answer.because == f"GOOD fails: {BROKEN}"


class TestMixesThatCannotBeHad:
    def test_what_the_metadata_forbids_is_not_run(self) -> None:
        # Each new release of p7 asks for the new p8; the failure is p8's.
        lab = laboratory(since(p8="2.11"), requires={("p7", "2.11"): "p8>=2.11"})
        answer = blame(GOOD, BAD, lab)
        assert [p.package for p in answer.causes[0].packages] == ["p8"]

    def test_a_package_that_only_one_end_has_goes_with_the_one_that_asks_for_it(self) -> None:
        def outcome(versions: Versions, chance: random.Random) -> Outcome:
            if versions["p8"] >= Version("2.0") and "new" not in versions:
                return OTHER
            return BROKEN if versions["p8"] >= Version("2.0") else Passed()

        bad = lock_of({**dict.fromkeys(PACKAGES, "2.11"), "new": 1})
        lab = laboratory(outcome, requires={("p8", "2.11"): "new>=1"})
        answer = blame(GOOD, bad, lab)
        [package] = answer.causes[0].packages
        assert (package.package, package.brings) == ("p8", ("new",))
        assert answer.is_verified

    def test_mixes_that_fail_otherwise_say_nothing_and_hide_nothing(self) -> None:
        def outcome(versions: Versions, chance: random.Random) -> Outcome:
            if versions["p1"].major != versions["p2"].major:
                return OTHER
            return BROKEN if versions["p20"] >= Version("2.0") else Passed()

        answer = blame(GOOD, BAD, laboratory(outcome))
        assert named(answer) == [(("p20", "2.0"),)]
        assert answer.is_verified

    def test_releases_that_say_nothing_are_counted_as_untested(self) -> None:
        def outcome(versions: Versions, chance: random.Random) -> Outcome:
            if Version("1.5") <= versions["p3"] < Version("1.9"):
                return OTHER
            return BROKEN if versions["p3"] >= Version("1.9") else Passed()

        [package] = blame(GOOD, BAD, laboratory(outcome)).causes[0].packages
        ends = str(package.last_good), str(package.first_bad), package.untested
        assert ends == ("1.4", "1.9", 4)


class TestDates:
    BEGIN = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)

    def dated(self, outcome: object) -> MadeLaboratory:
        """Each day of a month another package moves, the first on the second day."""
        lab = laboratory(outcome)

        def lock_at(moment: datetime.datetime) -> object:
            days = (moment - self.BEGIN).days
            return lock_of({name: "2.11" if n < days else "1.0" for n, name in enumerate(PACKAGES)})

        lab.dates = self.BEGIN, self.BEGIN + datetime.timedelta(days=60)
        lab.days = lock_at  # type: ignore[assignment]
        return lab

    def test_dates_are_bisected_before_packages_are_mixed(self) -> None:
        lab = self.dated(since(p17="2.0"))
        answer = blame(GOOD, BAD, lab)
        assert named(answer) == [(("p17", "2.0"),)]
        assert answer.is_verified
        [cause] = answer.causes
        assert cause.days is not None
        assert cause.days[0] <= datetime.date(2024, 1, 18) <= cause.days[1]
        assert any(what.startswith("as of 2024-01-") for what in lab.ran)
        assert len(lab.ran) <= 16

    def test_a_pair_whose_second_half_came_later_is_still_named_as_a_pair(self) -> None:
        answer = blame(GOOD, BAD, self.dated(since(p3="2.0", p25="2.0")))
        assert named(answer) == [(("p25", "2.0"), ("p3", "2.0"))]
        assert answer.is_verified

    def test_where_the_old_world_cannot_be_mixed_the_world_of_the_day_is(self) -> None:
        def outcome(versions: Versions, chance: random.Random) -> Outcome:
            if versions["p20"].major > versions["p2"].major:
                return OTHER
            return BROKEN if versions["p20"] >= Version("2.0") else Passed()

        answer = blame(GOOD, BAD, self.dated(outcome))
        [cause] = answer.causes
        assert {p.package for p in cause.packages} == {"p20"}
        assert cause.is_near
        assert answer.is_verified


class TestFailuresThatComeAndGo:
    """Shares over seeds, so that a worse method fails: single runs would be wrong in half."""

    @staticmethod
    def world(bad: float, good: float) -> "object":
        def outcome(versions: Versions, chance: random.Random) -> Outcome:
            rate = bad if versions["p17"] >= Version("2.0") else good
            return WRONG if chance.random() < rate else Passed()

        return outcome

    def right(self, bad: float, good: float, seeds: int) -> tuple[int, float]:
        """How many answers are right, and how many runs they took on average."""
        right, runs = 0, 0
        for seed in range(seeds):
            lab = laboratory(self.world(bad, good), seed=seed)
            answer = blame(GOOD, BAD, lab)
            right += named(answer) == [(("p17", "2.0"),)]
            runs += len(lab.ran)
        return right, runs / seeds

    def test_an_assertion_that_always_fails_costs_a_few_runs_more(self) -> None:
        right, runs = self.right(1.0, 0.0, 3)
        assert right == 3
        assert runs <= 30

    @pytest.mark.parametrize(
        ("bad", "good", "least"), [(0.5, 0.0, 23), (0.7, 0.05, 27), (1.0, 0.1, 27), (0.9, 0.0, 28)]
    )
    def test_it_is_told_from_chance_by_repetition(
        self, bad: float, good: float, least: int
    ) -> None:
        right, _ = self.right(bad, good, 30)
        assert right >= least

    def test_where_both_ends_fail_alike_nothing_is_blamed(self) -> None:
        lab = laboratory(lambda versions, chance: WRONG if chance.random() < 0.5 else Passed())
        answer = blame(GOOD, BAD, lab)
        assert not answer.causes


class TestASearchThatIsStopped:
    def test_what_was_run_is_not_run_again(self) -> None:
        class Budgeted(MadeLaboratory):
            left = 5

            def run(self, lock: "object", what: str) -> "object":  # type: ignore[override]
                if not self.left:
                    raise SearchStopped("the budget is spent")
                self.left -= 1
                return super().run(lock, what)  # type: ignore[arg-type]

        lab = Budgeted(since(p17="1.7"), releases=dict.fromkeys(PACKAGES, RELEASES))  # type: ignore[arg-type]
        stopped = blame(GOOD, BAD, lab)
        assert not stopped.is_finished
        assert stopped.because == "the budget is spent"
        lab.left = 100
        finished = blame(GOOD, BAD, lab)
        whole = laboratory(since(p17="1.7"))
        assert finished == blame(GOOD, BAD, whole)
        assert len(lab.ran) == len(whole.ran)
        assert isinstance(finished.causes[0].failure, Failed)

    def test_a_machine_on_which_nothing_installs_any_more_ends_the_search(self) -> None:
        def outcome(versions: Versions, chance: random.Random) -> Outcome:
            news = sum(versions[name] >= Version("2.0") for name in PACKAGES)
            if news == len(PACKAGES):
                return WRONG
            return parse_outcome("install-fail:error") if news else Passed()

        lab = laboratory(outcome)
        answer = blame(GOOD, BAD, lab)
        assert not answer.causes
        assert not answer.is_finished
        assert len(lab.ran) < 30
