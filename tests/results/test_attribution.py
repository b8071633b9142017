"""Whose fault a failing capability is: only what is shown to fail in every combination of a release
takes nothing from the verdict of one.
"""

import datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from support.examples import examples
from support.made_records import LOCK, OTHER_LOCK, OTHER_SUITE, START, SUITE, capabilities, ran
from support.world import catalogue_of, matrix_of, world

from compat.declare.load import Declared
from compat.declare.matrix import KnownIssue, Matrix, When
from compat.plan.plan import plan
from compat.results.answer import Answer, CapabilityFault, Score
from compat.results.compare import compare
from compat.results.judge import Attribution, EvaluationContext, refuted
from compat.results.record import Capability, Record
from compat.results.snapshot import Snapshot, snapshot
from compat.run.outcome import Cause, Failed
from compat.site.edition import events

WORLD = world("platforms")
MATRIX, CATALOGUE = matrix_of(WORLD), catalogue_of(WORLD)
FATES = plan(MATRIX, CATALOGUE).fates
HERE, THERE, OTHER_RELEASE = "py3.8-dep1-demo2", "py3.9-dep1-demo2", "py3.8-dep1-demo3"
SUM_FAILS = "test-fail:error(sum)"


def known(fault: str = "release", capability: str = "sum", demo: str = "") -> KnownIssue:
    conditions = ((MATRIX.subject, SpecifierSet(demo)),) if demo else ()
    return KnownIssue(
        because="a wrong sign",
        capability=capability,
        fault=fault,  # type: ignore[arg-type]
        when=When(conditions),
    )


def declared(*issues: KnownIssue) -> Matrix:
    return msgspec.structs.replace(MATRIX, known=issues)


def pictured(*runs: Record, issues: tuple[KnownIssue, ...] = (), helpers: str = "") -> Snapshot:
    by_cell: dict[str, list[Record]] = {}
    for run in runs:
        by_cell.setdefault(run.cell, []).append(run)
    present = EvaluationContext(
        suite_digest=SUITE,
        day=START.date() + datetime.timedelta(days=10),
        helpers=frozenset(helpers.split()),
    )
    locks = dict.fromkeys(by_cell, LOCK)
    return snapshot(Declared(matrix=declared(*issues)), CATALOGUE, FATES, locks, by_cell, present)


def failing(cell: str = HERE, outcome: str = SUM_FAILS, **more: Any) -> Record:
    return ran(outcome, cell=cell, **{"capabilities": capabilities(sum="no", mean="yes"), **more})


def passing(cell: str, **more: Any) -> Record:
    return ran("pass", cell=cell, **{"capabilities": capabilities(sum="yes", mean="yes"), **more})


def judged(*runs: Record, issues: tuple[KnownIssue, ...] = (), cell: str = HERE) -> Answer:
    return pictured(*runs, issues=issues).by_id[cell]


class TestFaults:
    def test_what_nobody_explained_counts_as_one_of_the_combination(self) -> None:
        verdict = judged(failing())
        assert (verdict.kind, verdict.failing("unexplained")) == ("partial", ("sum",))
        assert (verdict.score.combination, verdict.score.release) == (1, 0)

    @pytest.mark.parametrize("fault", ["release", "index"])
    def test_a_declared_fault_of_release_or_index_takes_nothing(self, fault: str) -> None:
        verdict = judged(failing(), failing(THERE), issues=(known(fault),))
        assert verdict.kind == "works"
        assert verdict.faults == (CapabilityFault(id="sum", fault=fault),)  # type: ignore[arg-type]
        assert verdict.outcome == Failed(stage="test", cause="error", subject="sum")
        words = {
            "release": "in every combination of this release these fail",
            "index": "not available",
        }
        assert words[fault] in verdict.reasons[0]

    def test_a_declared_fault_of_the_combination_counts(self) -> None:
        verdict = judged(failing(), issues=(known("combination"),))
        assert (verdict.kind, verdict.failing("combination")) == ("partial", ("sum",))

    def test_what_passes_in_another_cell_of_the_release_is_of_the_combination(self) -> None:
        verdict = judged(failing(), passing(THERE))
        assert (verdict.kind, verdict.failing("combination")) == ("partial", ("sum",))

    def test_a_pass_in_another_release_shows_nothing(self) -> None:
        assert judged(failing(), passing(OTHER_RELEASE)).failing("unexplained") == ("sum",)
        issues = (known(demo="==2"),)
        assert judged(failing(), passing(OTHER_RELEASE), issues=issues).kind == "works"

    def test_one_fault_of_the_combination_is_enough(self) -> None:
        run = failing(capabilities=capabilities(sum="no", mean="no", last="yes"))
        verdict = judged(run, issues=(known(),))
        assert verdict.kind == "partial"
        assert (verdict.failing("release"), verdict.failing("unexplained")) == (("sum",), ("mean",))

    def test_the_first_entry_that_fits_says_whose_fault_it_is(self) -> None:
        assert judged(failing(), issues=(known("combination"), known())).kind == "partial"
        assert judged(failing(), issues=(known(), known("combination"))).kind == "works"

    def test_an_entry_of_other_releases_excuses_nothing(self) -> None:
        assert judged(failing(), issues=(known(demo=">=3"),)).kind == "partial"


class TestRefuted:
    def test_a_pass_in_the_release_refutes_the_entry_and_it_loses_its_effect(self) -> None:
        runs = (failing(), passing(THERE))
        picture = pictured(*runs, issues=(known(),))
        entry = picture.by_id[HERE]
        assert (entry.kind, entry.failing("combination")) == ("partial", ("sum",))
        assert picture.explained(entry, entry.capabilities[0]) is None

    def test_a_pass_anywhere_in_its_range_refutes_it_for_every_release(self) -> None:
        verdict = judged(failing(), passing(OTHER_RELEASE), issues=(known(),))
        assert (verdict.kind, verdict.failing("unexplained")) == ("partial", ("sum",))

    def test_check_names_the_cell_and_what_the_entry_claims(self) -> None:
        picture = pictured(failing(), passing(THERE), issues=(known("index"),))
        (finding,) = refuted(picture.matrix, picture.known)
        assert finding.message == (
            f"sum works in {THERE}, where this entry says that the index no longer has what it"
            " needs"
        )
        assert "its `when`" in finding.hint

    def test_a_stale_pass_takes_the_excuse_away_and_is_named_as_one_to_run_again(self) -> None:
        old = passing(THERE, suite=OTHER_SUITE)
        picture = pictured(failing(), old, issues=(known(),))
        assert picture.by_id[HERE].kind == "partial"
        (finding,) = refuted(picture.matrix, picture.known)
        assert "its result is stale" in finding.hint

    def test_a_fresh_pass_is_named_before_a_stale_one(self) -> None:
        runs = (failing(), passing("py3.7-dep1-demo2", suite=OTHER_SUITE), passing(THERE))
        picture = pictured(*runs, issues=(known(),))
        (finding,) = refuted(picture.matrix, picture.known)
        assert finding.message.startswith(f"sum works in {THERE} and 1 more, where")

    def test_what_comes_and_goes_refutes_nothing_and_stays_flaky(self) -> None:
        runs = (failing(), failing(THERE), passing(THERE, day=1))
        picture = pictured(*runs, issues=(known(),))
        assert picture.by_id[THERE].kind == "flaky"
        assert picture.by_id[THERE].changing == ("sum",)
        assert picture.by_id[HERE].kind == "works"

    def test_what_passes_steadily_in_a_cell_that_is_flaky_by_another_refutes(self) -> None:
        flaky = failing(
            THERE, "test-fail:error(mean)", capabilities=capabilities(sum="yes", mean="no")
        )
        picture = pictured(failing(), flaky, passing(THERE, day=1), issues=(known(),))
        assert picture.by_id[THERE].kind == "flaky"
        assert picture.by_id[HERE].kind == "partial"

    def test_a_pass_of_the_cell_on_another_lock_is_no_pass_of_today(self) -> None:
        runs = (passing(HERE, lock=OTHER_LOCK), failing(day=1))
        assert judged(*runs, issues=(known(),)).kind == "works"


class TestNothingElseIsExcused:
    """A declared fault of the release makes no cell green where more than that test failed."""

    @pytest.mark.parametrize(
        "outcome",
        [
            "test-fail:segfault(sum)",
            "test-fail:abort(sum)",
            "test-fail:premature-exit(sum)",
            "test-fail:premature-exit(some tests never ran)",
            "test-fail:wall-time(sum)",
            "test-fail:killed(sum)",
            "test-fail:memory(sum)",
            "test-fail:assertion(sum)",
            "test-fail:error(other)",
            "test-fail:environment-mismatch(sum)",
        ],
    )
    def test_a_crash_or_another_failure_is_never_green(self, outcome: str) -> None:
        runs = (failing(outcome=outcome), failing(outcome=outcome, day=1))
        verdict = judged(*runs, issues=(known(),))
        assert verdict.kind == "partial"
        assert not verdict.score.finished
        assert verdict.score.words.endswith("; the tests did not run to their end")

    @pytest.mark.parametrize(
        "outcome",
        [
            "lock-fail:conflict(sum)",
            "install-fail:build(sum)",
            "import-fail:error(sum)",
            "import-fail:segfault(sum)",
            "collect-fail:no-tests(none ran)",
        ],
    )
    @pytest.mark.parametrize("statuses", [{}, {"sum": "no"}, {"sum": "no", "mean": "yes"}])
    def test_what_never_reached_the_tests_stays_broken(
        self, outcome: str, statuses: dict[str, str]
    ) -> None:
        run = failing(outcome=outcome, capabilities=capabilities(**statuses))
        assert judged(run, issues=(known(), known(capability="mean"))).kind == "broken"

    def test_a_cell_in_which_nothing_works_stays_broken(self) -> None:
        run = failing(capabilities=capabilities(sum="no", mean="absent"))
        assert judged(run, issues=(known(),)).kind == "broken"

    def test_what_a_machine_can_be_at_fault_for_is_no_fault_of_a_release(self) -> None:
        told = (
            Capability(id="sum", status="no", cause="memory"),
            Capability(id="mean", status="yes"),
        )
        runs = [failing(outcome="test-fail:memory(sum)", capabilities=told, day=n) for n in (0, 1)]
        verdict = judged(*runs, issues=(known(),))
        assert (verdict.kind, verdict.failing("unexplained")) == ("partial", ("sum",))

    def test_the_tests_of_a_flaky_cell_ran_to_their_end(self) -> None:
        verdict = judged(failing(), passing(HERE, day=1))
        assert (verdict.kind, verdict.score.words) == ("flaky", "all 2 work")

    def test_one_crash_on_the_same_lock_keeps_the_cell_from_being_green(self) -> None:
        verdict = judged(
            failing(outcome="test-fail:segfault(sum)"), failing(day=1), issues=(known(),)
        )
        assert (verdict.kind, verdict.score.finished) == ("flaky", False)

    def test_a_run_that_counts_for_nothing_is_not_green_either(self) -> None:
        run = failing(outcome="test-fail:disk(sum)")
        assert judged(run, issues=(known(),)).kind == "unknown"

    def test_a_failing_helper_beside_an_excused_capability_changes_nothing(self) -> None:
        run = failing(
            outcome="test-fail:error(own)",
            capabilities=capabilities(sum="no", mean="yes", own="no"),
        )
        picture = pictured(run, issues=(known(),), helpers="own")
        verdict = picture.by_id[HERE]
        assert (verdict.kind, verdict.score.release) == ("works", 1)
        assert [helper.id for helper in verdict.helpers] == ["own"]


def failed_by(cause: Cause, cell: str = HERE) -> Record:
    told = (Capability(id="sum", status="no", cause=cause), Capability(id="mean", status="yes"))
    return failing(cell, f"test-fail:{cause}(sum)", capabilities=told)


class TestHowItFails:
    """On 26 November 2026 a wrong sign explained 20 cells that lack a name of the framework."""

    SIGN = msgspec.structs.replace(known(), outcome="test-fail:assertion")

    def test_an_entry_explains_the_failure_that_it_names(self) -> None:
        picture = pictured(failed_by("assertion"), issues=(self.SIGN,))
        entry = picture.by_id[HERE]
        assert (entry.kind, entry.failing("release")) == ("works", ("sum",))
        assert picture.explained(entry) == self.SIGN
        assert picture.explained(entry, entry.capabilities[0]) == self.SIGN

    def test_another_failure_of_the_same_capability_is_unexplained(self) -> None:
        picture = pictured(failed_by("missing-attribute"), issues=(self.SIGN,))
        entry = picture.by_id[HERE]
        assert (entry.kind, entry.failing("unexplained")) == ("partial", ("sum",))
        assert picture.explained(entry) is None
        assert picture.explained(entry, entry.capabilities[0]) is None

    def test_each_of_several_ways_has_its_own_entry(self) -> None:
        name = msgspec.structs.replace(
            known("index"), because="gone", outcome="test-fail:missing-attribute"
        )
        picture = pictured(failed_by("missing-attribute"), issues=(self.SIGN, name))
        assert picture.by_id[HERE].failing("index") == ("sum",)

    @pytest.mark.parametrize(
        ("outcome", "codes"),
        [("", ["vague"]), ("test-fail:assertion", []), ("test-fail:segfault", ["unmatched"])],
    )
    def test_an_entry_that_the_failures_in_its_range_do_not_fit_is_a_fault(
        self, outcome: str, codes: list[str]
    ) -> None:
        issue = msgspec.structs.replace(self.SIGN, outcome=outcome)
        picture = pictured(failed_by("assertion"), failed_by("error", THERE), issues=(issue,))
        assert [finding.code for finding in refuted(picture.matrix, picture.known)] == codes


def test_what_depends_on_the_machine_is_a_caution_on_a_cell_that_works() -> None:
    lacking = KnownIssue(
        because="needs AVX-512",
        outcome="test-fail:illegal-instruction",
        when=When(((MATRIX.subject, SpecifierSet("==2")),)),
    )
    steady = msgspec.structs.replace(lacking, because="steady", outcome="import-fail:type-error")
    picture = pictured(passing(HERE), passing(OTHER_RELEASE), issues=(lacking, steady))
    assert picture.cautions(picture.by_id[HERE]) == ("needs AVX-512",)
    untried = pictured(issues=(lacking, steady))
    assert untried.cautions(untried.by_id[HERE]) == ("needs AVX-512", "steady")
    assert picture.cautions(picture.by_id[OTHER_RELEASE]) == ()


class TestHistory:
    def test_a_cell_works_since_its_faults_are_no_longer_the_combinations(self) -> None:
        both = failing(capabilities=capabilities(sum="no", mean="no", last="yes"))
        one = failing(
            capabilities=capabilities(sum="no", mean="yes", last="yes"), day=2, lock=OTHER_LOCK
        )
        picture = pictured(both, one, issues=(known(),))
        verdict = picture.by_id[HERE]
        assert (verdict.kind, verdict.since) == ("works", one.started.date())
        assert [event.change.after for event in events(picture)] == ["works", "partial"]

    def test_equal_runs_make_no_event_by_being_judged_anew(self) -> None:
        runs = [failing(day=day) for day in range(3)]
        picture = pictured(*runs, issues=(known(),))
        (event,) = events(picture)
        assert (event.change.kind, event.change.after) == ("new", "works")
        assert picture.by_id[HERE].since == START.date()

    def test_what_ceases_to_work_in_every_combination_is_told(self) -> None:
        before = judged(passing(HERE))
        after = judged(failing(), issues=(known("index"),))
        assert compare(before, after).kind == "regressed"
        assert compare(before, after).lost == ("sum",)
        assert compare(after, before).kind == "fixed"
        assert compare(after, after).kind == "same"


class TestScore:
    @pytest.mark.parametrize(
        ("score", "words"),
        [
            (Score(), ""),
            (Score(absent=3, finished=True), ""),
            (Score(passing=125, finished=True), "all 125 work"),
            (Score(passing=1, finished=True), "the 1 asked works"),
            (
                Score(passing=123, release=2, absent=8, finished=True),
                "123 of 125 work; 2 fail in every combination of this release",
            ),
            (
                Score(passing=1, combination=1, release=1, gone=1, finished=True),
                "1 of 4 works; 1 fails in this combination; 1 fails in every combination of this"
                " release; 1 is not available today",
            ),
            (
                Score(passing=0, combination=2, gone=2, finished=True),
                "0 of 4 work; 2 fail in this combination; 2 are not available today",
            ),
            (Score(passing=3), "all 3 work; the tests did not run to their end"),
        ],
    )
    def test_its_words(self, score: Score, words: str) -> None:
        assert score.words == words


STATUSES = st.sampled_from(["yes", "no", "absent"])
FAULTS = st.sampled_from(["combination", "release", "index"])


@st.composite
def worlds(draw: st.DrawFn) -> Snapshot:
    """Any few runs in cells of two releases, and any entries about what they ask."""
    runs = []
    for cell in (HERE, THERE, OTHER_RELEASE, "py3.9-dep1-demo3"):
        for day in range(draw(st.integers(0, 2))):
            told = draw(st.dictionaries(st.sampled_from(["sum", "mean", "last"]), STATUSES))
            outcome = draw(
                st.sampled_from([SUM_FAILS, "test-fail:error(mean)", "test-fail:segfault(sum)"])
                if "no" in told.values()
                else st.sampled_from(["pass", "import-fail:error(sum)"])
            )
            runs.append(ran(outcome, cell=cell, day=day, capabilities=capabilities(**told)))
    issues = draw(
        st.lists(
            st.builds(
                known, FAULTS, st.sampled_from(["sum", "mean"]), st.sampled_from(["", "==2", ">=3"])
            ),
            max_size=3,
        )
    )
    return pictured(*runs, issues=tuple(issues))


@given(worlds())
@examples(300)
def test_no_declaration_makes_more_green_than_the_runs_allow(picture: Snapshot) -> None:
    attribution = Attribution(picture.matrix, picture.known)
    assert attribution.refuting == picture.attribution.refuting
    works_in: dict[object, set[str]] = {}
    for entry in picture.known:
        release = entry.cell.on(picture.matrix.subject).version
        steady = {c.id for c in entry.capabilities if c.status == "yes"}
        works_in.setdefault(release, set()).update(steady - set(entry.changing))
    for entry in picture.known:
        verdict, release = entry, entry.cell.on(picture.matrix.subject).version
        lacking = {c.id for c in verdict.capabilities if c.status == "no"}
        assert {fault.id for fault in verdict.faults} == lacking
        excused = set(verdict.failing("release", "index"))
        assert not excused & works_in[release]
        assert verdict.score.asked == len(lacking) + verdict.score.passing
        if verdict.kind == "works":
            assert lacking == excused
            assert verdict.score.passing or not lacking
            assert verdict.score.finished or not lacking
        if lacking > excused:
            assert verdict.kind != "works"
