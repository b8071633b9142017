"""What is recommended, and what is said where nothing is proven."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from support.examples import examples
from support.known import (
    CAPABILITIES,
    DAY,
    MATRIX,
    OTHER_SUITE,
    Shelf,
    answered,
    lock_of,
    proven,
    ran,
    shelves,
    statuses,
)

from compat.advise.answer import (
    AdviceTable,
    Advisor,
    Recommended,
    Unproven,
    advise_rows,
    requested_pins,
    unmet,
)
from compat.advise.request import GOALS, Goal, Request, request_of
from compat.declare.matrix import KnownIssue, Source, Unpublished, When
from compat.results.answer import Answer as Combination


def advisor(shelf: Shelf) -> Advisor:
    return Advisor(shelf.picture(), shelf.locks)


def asked(*words: str, needs: tuple[str, ...] = (), goal: Goal = "newest") -> Request:
    return request_of(words, MATRIX, CAPABILITIES, needs, goal)


def recommended(
    shelf: Shelf, *words: str, needs: tuple[str, ...] = (), goal: Goal = "newest"
) -> Recommended:
    answer = advisor(shelf).answer(asked(*words, needs=needs, goal=goal))
    assert isinstance(answer, Recommended)
    return answer


def with_numpy(old: str, new: str, *words: str) -> Recommended | Unproven:
    locks = [lock_of(OLD, numpy=old), lock_of(NEW, numpy=new)]
    shelf = Shelf([ran(lock) for lock in locks], locks)
    return advisor(shelf).answer(request_of(words, MATRIX, (), locked=lambda: ["numpy"]))


def unproven(shelf: Shelf, *words: str, needs: tuple[str, ...] = ()) -> Unproven:
    answer = advisor(shelf).answer(asked(*words, needs=needs))
    assert isinstance(answer, Unproven)
    return answer


OLD, NEW = "py3.8-dep1-demo1.0", "py3.9-dep2-demo2.0"


class TestBest:
    def test_the_newest_release_of_the_subject_comes_first(self) -> None:
        answer = recommended(proven(OLD, NEW))
        assert answer.best.proof.cell.id == NEW

    def test_a_package_on_no_axis_is_looked_for_in_the_locks(self) -> None:
        answer = with_numpy("1.26", "2.1", "numpy<2")
        assert isinstance(answer, Recommended)
        assert answer.best.proof.cell.id == OLD
        assert requested_pins(answer.best.lock, answer.request) == {"numpy": Version("1.26")}

    def test_where_no_lock_has_it_so_the_nearest_says_what_it_has(self) -> None:
        answer = with_numpy("1.26", "2.1", "numpy>=3")
        assert isinstance(answer, Unproven)
        assert answer.in_the_way == ("2 of 2 that fit otherwise have numpy 1.26 to 2.1",)
        [change] = answer.changes
        assert "numpy 2.1" in change

    def test_a_set_without_the_package_does_not_have_the_version_that_was_asked_for(self) -> None:
        locks = [lock_of(OLD, numpy="1.26"), lock_of(NEW)]
        advice = advisor(Shelf([ran(lock) for lock in locks], locks))

        def answer(word: str) -> Recommended | Unproven:
            return advice.answer(request_of([word], MATRIX, (), locked=lambda: ["numpy"]))

        has = answer("numpy<2")
        assert isinstance(has, Recommended)
        assert has.best.proof.cell.id == OLD
        lacks = answer("numpy>=2")
        assert isinstance(lacks, Unproven)
        assert len(lacks.in_the_way) == 2
        assert "no numpy" in lacks.in_the_way[1]

    def test_what_is_better_in_nothing_is_no_alternative(self) -> None:
        assert recommended(proven(OLD, NEW)).alternatives == ()

    def test_what_is_asked_is_met(self) -> None:
        assert recommended(proven(OLD, NEW), "python==3.8").best.proof.cell.id == OLD
        assert recommended(proven(OLD, NEW), "dep<2").best.proof.cell.id == OLD
        assert recommended(proven(OLD, NEW), "demo==2").best.proof.cell.id == NEW

    def test_a_specifier_with_more_numbers_speaks_of_what_the_lock_installs(self) -> None:
        lock = lock_of(OLD, dep="1.1")
        shelf = Shelf([ran(lock)], [lock])
        assert recommended(shelf, "dep==1.1").best.proof.cell.id == OLD
        answer = unproven(shelf, "dep==1.0")
        [change] = answer.changes
        assert change.startswith("use dep 1.1 (")
        assert answer.in_the_way[0] == f"{OLD} works, but with dep 1.1, not ==1.0"

    def test_as_published_comes_before_relaxed_and_today_before_its_own_time(self) -> None:
        assert (
            recommended(proven(f"{NEW}+relaxed", f"{NEW}+dated")).best.proof.cell.recipe == "dated"
        )
        assert recommended(proven(NEW, f"{NEW}+dated")).best.proof.cell.recipe == "fresh"

    def test_a_whole_success_comes_before_a_part_of_one_and_the_part_says_what_fails(self) -> None:
        part, whole = lock_of(NEW), lock_of(OLD)
        failing = ran(
            part, "test-fail:assertion(mean)", capabilities=statuses(sum="yes", mean="no")
        )
        answer = recommended(Shelf([failing, ran(whole)], [part, whole]))
        assert answer.best.proof.cell.id == OLD
        (other,) = answer.alternatives
        assert other.trade_off == "Newer demo 2.0, newer dep 2.0, newer Python 3.9, but mean fails."
        assert other.card.proof.fails == other.card.proof.failing_here == ("mean",)

    def test_a_success_by_an_older_suite_counts_no_more_than_a_part_of_one_by_todays(self) -> None:
        part, whole = lock_of(NEW), lock_of(OLD)
        failing = ran(
            part, "test-fail:assertion(mean)", capabilities=statuses(sum="yes", mean="no")
        )
        shelf = Shelf([failing, ran(whole, suite=OTHER_SUITE)], [part, whole])
        assert recommended(shelf).best.proof.cell.id == NEW

    def test_a_needed_capability_must_have_been_seen_to_work(self) -> None:
        part, whole = lock_of(NEW), lock_of(OLD)
        failing = ran(
            part, "test-fail:assertion(mean)", capabilities=statuses(sum="yes", mean="no")
        )
        shelf = Shelf(
            [failing, ran(whole, "pass", capabilities=statuses(sum="yes", mean="yes"))],
            [part, whole],
        )
        assert recommended(shelf, needs=("sum",)).best.proof.cell.id == NEW
        assert recommended(shelf, needs=("mean",)).best.proof.cell.id == OLD
        changes = unproven(shelf, "demo==2", needs=("mean",)).changes
        [change] = changes
        assert change.startswith("use demo 1.0 (2 works")

    @pytest.mark.parametrize(
        "outcome", ["import-fail:abort", "lock-fail:conflict(dep)", "install-fail:network"]
    )
    def test_what_did_not_work_is_never_recommended(self, outcome: str) -> None:
        lock = lock_of(NEW)
        assert unproven(Shelf([ran(lock, outcome)], [lock])).nearest is None

    def test_a_run_on_another_lock_than_would_be_installed_proves_nothing(self) -> None:
        lock = lock_of(NEW)
        answer = unproven(Shelf([ran(lock_of(NEW, pytest="7.0"))], [lock]))
        assert answer.in_the_way[0].startswith(
            f"{NEW} passed on an earlier lock and has not run since"
        )

    def test_a_cell_without_a_lock_has_nothing_to_install(self) -> None:
        answer = unproven(Shelf([ran(lock_of(NEW))], []))
        assert answer.nearest is None
        assert answer.in_the_way[0] == f"{NEW} passed, but has no installable lock"

    def test_old_evidence_is_said_to_be_old(self) -> None:
        lock = lock_of(NEW)
        proof = recommended(Shelf([ran(lock, days_ago=200)], [lock])).best.proof
        assert "is 200 days old" in proof.outdated[0]

    def test_the_goals_differ(self) -> None:
        old, new = lock_of(OLD), lock_of(NEW)
        shelf = Shelf([ran(old), ran(old, days_ago=1), ran(new)], [old, new])
        found = {goal: recommended(shelf, goal=goal).best.proof.cell.id for goal in GOALS}
        assert found == {
            "best": NEW,
            "newest": NEW,
            "stable": OLD,
            "closest": OLD,
            "published": NEW,
            "minimum": OLD,
        }
        proof = recommended(shelf, goal="stable").best.proof
        assert (proof.tested, proof.days) == (2, 2)

    def test_two_runs_of_one_day_are_no_more_stable_than_one(self) -> None:
        old, new = lock_of(OLD), lock_of(NEW)
        runs = [ran(old, minute=minute) for minute in range(3)]
        answer = recommended(Shelf([*runs, ran(new)], [old, new]), goal="stable")
        assert answer.best.proof.cell.id == NEW
        assert answer.alternatives == ()
        (often,) = (p for p in advisor(Shelf(runs, [old])).proofs if p.id == OLD)
        assert (often.tested, often.days) == (3, 1)
        twice = Shelf([*runs, ran(new), ran(old, days_ago=1)], [old, new])
        assert recommended(twice, goal="stable").best.proof.cell.id == OLD
        (other,) = recommended(twice).alternatives
        assert "Tested on 2 days" in other.trade_off
        assert "older dep 1.0" in other.trade_off

    def test_an_alternative_says_what_it_gains_and_loses(self) -> None:
        lifting, old = lock_of(LIFTED, install_as_python="3.9.18"), lock_of(OLD)
        shelf = Shelf([ran(lifting), ran(old)], [lifting, old])
        for goal in ("newest", "closest"):
            (other,) = recommended(shelf, goal=goal).alternatives
            assert other.trade_off == (
                "Newer demo 2.0, newer dep 2.0, but not published for these versions, only with"
                " changed dependency pins."
            )


LIFTED, MOVED = "py3.8-dep2-demo2.0+relaxed", "py3.8-dep2-demo1.0+relaxed"


def with_failing(cell: str, failing: int, asked: int, **lock: str) -> Shelf:
    """A cell in which so many of the capabilities fail."""
    made = lock_of(cell, **lock)
    found = {f"c{n}": "no" if n < failing else "yes" for n in range(asked)}
    outcome = "test-fail:assertion(c0)" if failing else "pass"
    return Shelf([ran(made, outcome, capabilities=statuses(**found))], [made])


def both(one: Shelf, other: Shelf) -> Shelf:
    cells = {**one.locks, **other.locks}
    records = [record for shelf in (one, other) for cell in cells for record in shelf.records(cell)]
    return Shelf(records, cells.values())


class TestRankedByProof:
    """What is published for the versions and mostly works, then by goal."""

    @pytest.mark.parametrize("goal", ["best", "newest"])
    @pytest.mark.parametrize(
        ("cell", "failing", "best"),
        [(OLD, 1, OLD), (OLD, 2, MOVED), (f"{OLD}+relaxed", 1, f"{OLD}+relaxed")],
    )
    def test_one_failure_does_not_outrank_being_published_for_the_versions(
        self, goal: Goal, cell: str, failing: int, best: str
    ) -> None:
        shelf = both(with_failing(MOVED, 0, 10), with_failing(cell, failing, 10))
        answer = recommended(shelf, "demo==1", goal=goal)
        assert answer.best.proof.id == best
        assert ("No release" in answer.because) is (best == MOVED)

    def test_what_is_needed_works_so_that_being_published_counts(self) -> None:
        shelf = both(with_failing(MOVED, 0, 10), with_failing(OLD, 5, 10))
        request = request_of(("demo==1",), MATRIX, ("c9",), ("c9",), "newest")
        answer = advisor(shelf).answer(request)
        assert isinstance(answer, Recommended)
        assert answer.best.proof.id == OLD

    def test_fewer_failures_come_before_fewer_changes(self) -> None:
        moved, fresh = lock_of(MOVED), lock_of(OLD)
        failing = ran(
            fresh, "test-fail:assertion(mean)", capabilities=statuses(sum="yes", mean="no")
        )
        shelf = Shelf([ran(moved), failing], [moved, fresh])
        assert recommended(shelf, goal="best").best.proof.id == MOVED
        assert recommended(shelf, goal="closest").best.proof.id == OLD
        assert recommended(shelf, goal="published").best.proof.id == OLD

    def test_newer_versions_come_before_more_days(self) -> None:
        old, new = lock_of(OLD), lock_of(NEW)
        shelf = Shelf([ran(old), ran(old, days_ago=1), ran(new)], [old, new])
        assert recommended(shelf, goal="best").best.proof.id == NEW
        assert recommended(shelf, goal="stable").best.proof.id == OLD

    def test_a_fault_of_the_release_costs_nothing(self) -> None:
        old, new = lock_of(OLD), lock_of(NEW)
        failing = ran(new, "test-fail:assertion(mean)", capabilities=statuses(sum="yes", mean="no"))
        shelf = Shelf([ran(old), failing], [old, new])
        issue = KnownIssue(because="a wrong sign", capability="mean", fault="release")
        matrix = msgspec.structs.replace(MATRIX, known=(issue,))
        proof = Advisor(shelf.picture(matrix=matrix), shelf.locks).answer(asked(goal="best"))
        assert isinstance(proof, Recommended)
        best = proof.best.proof
        assert (best.id, best.kind, best.fails, best.failing_here) == (NEW, "works", ("mean",), ())

    def test_tests_that_did_not_run_to_their_end_count_as_a_failure(self) -> None:
        old, new = lock_of(OLD), lock_of(NEW)
        crashed = ran(new, "test-fail:segfault(mean)", capabilities=statuses(sum="yes"))
        shelf = Shelf([ran(old), crashed], [old, new])
        answer = recommended(shelf)
        assert answer.best.proof.id == OLD
        (other,) = answer.alternatives
        assert (other.card.proof.failing_here, other.card.proof.doubts) == ((), 1)
        assert "did not finish" in other.trade_off

    @pytest.mark.parametrize("missing", ["dep==1.0", "dep~=1.0", "other==1.0", "dep-more==1.0"])
    def test_an_archive_of_the_release_that_is_missing_is_named(self, missing: str) -> None:
        lock = lock_of(f"{NEW}+relaxed")
        refused = answered(NEW, f"lock-fail:no-artifact({missing})")
        shelf = Shelf([ran(lock)], [lock], plain=[refused])
        link = "https://archive.example/links.html"
        archive = Source(package="dep", find_links=link, because="the old files")
        matrix = msgspec.structs.replace(MATRIX, sources=(archive,))
        answer = Advisor(shelf.picture(matrix=matrix), shelf.locks).answer(asked())
        assert isinstance(answer, Recommended)
        assert (link in answer.best.published.sentence) is (missing[:4] in ("dep=", "dep~"))

    def test_where_nothing_works_as_published_that_is_said(self) -> None:
        lifting = lock_of(LIFTED, install_as_python="3.9.18")
        answer = advisor(Shelf([ran(lifting)], [lifting])).answer(asked(goal="published"))
        assert isinstance(answer, Unproven)
        assert answer.in_the_way[0] == f"{LIFTED} works, but with changed dependency pins"
        assert answer.changes == ("with changed dependency pins",)


class TestHonesty:
    def test_what_a_plain_install_does_is_said_where_it_is_known(self) -> None:
        relaxed, fresh = lock_of(f"{NEW}+relaxed"), lock_of(NEW)
        broken = ran(fresh, "import-fail:missing-module(dep)")
        told = recommended(Shelf([ran(relaxed), broken], [relaxed, fresh])).best.published
        assert told.command == "pip install 'dep==2.*' 'demo==2.0'"
        assert told.state == "fails"
        assert f"import-fail:missing-module(dep), tested on {DAY}" in told.sentence
        part = ran(fresh, "test-fail:assertion(mean)", capabilities=statuses(sum="yes", mean="no"))
        told = recommended(Shelf([ran(relaxed), part], [relaxed, fresh])).best.published
        words = "partly works: 1 of 2 works; 1 fails in this combination"
        assert (told.state, told.sentence) == ("fails", f"{words}; tested on {DAY}")
        assert recommended(proven(NEW)).best.published.state == "works"
        assert recommended(proven(f"{NEW}+relaxed")).best.published.state == "unknown"
        cannot = recommended(proven("py3.8-dep2-demo1.0+relaxed")).best.published
        assert "demo 1.0 requires dep" in cannot.sentence

    def test_what_was_lifted_is_said_with_the_rule_and_its_reason(self) -> None:
        (one,) = recommended(proven("py3.8-dep2-demo1.0+relaxed")).best.lifted
        assert (one.sentence, one.rule, one.because) == (
            "dep 2.0 instead of ~=1.0",
            "dep-moved",
            "dep keeps its promises",
        )

    def test_a_python_that_was_set_aside_is_lifted_too(self) -> None:
        lock = lock_of("py3.8-dep2-demo2.0+relaxed", install_as_python="3.9.18")
        (one,) = recommended(Shelf([ran(lock)], [lock])).best.lifted
        assert one.sentence.startswith("Python 3.8 instead")

    def test_a_relaxed_lock_that_keeps_every_requirement_lifts_nothing(self) -> None:
        assert recommended(proven(f"{NEW}+relaxed")).best.lifted == ()


class TestUnproven:
    def test_a_run_that_failed_speaks_first(self) -> None:
        new, old = lock_of(NEW), lock_of(OLD)
        shelf = Shelf([ran(new, "import-fail:abort"), ran(old)], [new, old])
        answer = unproven(shelf, "python==3.9", "demo==2")
        assert answer.in_the_way[0] == f"{NEW} is broken: import-fail:abort, tested on {DAY}"
        assert answer.nearest is not None
        assert answer.nearest.proof.cell.id == OLD
        assert [change.partition(" (no tested combination")[0] for change in answer.changes] == [
            "use Python 3.8",
            "use demo 1.0",
        ]

    def test_metadata_that_rules_all_out_speaks_of_what_was_asked(self) -> None:
        answer = unproven(proven(NEW), "python==3.8", "demo==2")
        ruled_out, lifted = answer.in_the_way
        assert "requires Python >=3.9" in ruled_out
        assert lifted.endswith(" py3.8-dep2-demo2.0+relaxed")
        [change] = answer.changes
        assert "3.8 was tested" in change

    def test_a_version_that_does_not_exist_is_said_not_to(self) -> None:
        answer = unproven(proven(NEW), "python==3.14")
        [obstacle] = answer.in_the_way
        assert "has 3.8 to 3.9" in obstacle
        [change] = answer.changes
        assert "(3.14 is not in" in change

    @pytest.mark.parametrize(
        ("words", "fits"),
        [
            (("python==3.14",), True),
            (("python==3.9", "demo==2"), False),
            (("demo>=9",), True),
            (("demo==9", "python==3.8"), False),
        ],
    )
    def test_a_tag_that_was_never_published_is_named_where_it_fits(
        self, words: tuple[str, ...], fits: bool
    ) -> None:
        declares = When((("demo", SpecifierSet("==9")), ("python", SpecifierSet(">=3.14"))))
        tag = Unpublished(state="The tag v9", when=declares, because="nobody built it.")
        shelf = proven(OLD)
        matrix = msgspec.structs.replace(MATRIX, unpublished=(tag,))
        answer = Advisor(shelf.picture(matrix=matrix), shelf.locks).answer(asked(*words))
        assert isinstance(answer, Unproven)
        said = f"The tag v9 of {MATRIX.title} is not on the index: nobody built it."
        assert (said in answer.in_the_way) is fits

    @pytest.mark.parametrize(
        ("word", "nearest"), [("demo>=9", NEW), ("demo==1.5", NEW), ("demo<1", OLD)]
    )
    def test_the_nearest_to_a_version_that_is_none_is_beside_where_it_would_stand(
        self, word: str, nearest: str
    ) -> None:
        answer = unproven(proven(OLD, NEW), word)
        assert answer.nearest is not None
        assert answer.nearest.proof.id == nearest

    def test_what_was_never_run_is_counted(self) -> None:
        answer = unproven(proven(OLD), "demo==2")
        assert answer.in_the_way[-1].startswith(
            "4 combinations that fit could work and were never run, such as"
        )

    def test_the_nearest_is_the_smallest_change(self) -> None:
        shelf = proven(OLD, "py3.8-dep2-demo2.0+relaxed")
        changes = unproven(shelf, "python==3.9", "demo==1").changes
        [change] = changes
        assert change.startswith("use Python 3.8 (")
        assert "3.9 was tested" in change

    def test_further_runs_that_do_not_do_are_counted(self) -> None:
        cells = (NEW, OLD, f"{OLD}+dated")
        locks = [lock_of(cell) for cell in cells]
        for number, more in (
            (1, ""),
            (2, "; 1 other tested cell does not fit"),
            (3, "; 2 other tested cells do not fit"),
        ):
            shelf = Shelf([ran(lock) for lock in locks[:number]], locks)
            assert (
                unproven(shelf, needs=("mean",)).in_the_way[0]
                == f"{NEW} works, but mean was not tested{more}"
            )

    def test_a_lacking_capability_is_named(self) -> None:
        answer = unproven(proven(NEW), needs=("mean",))
        assert answer.in_the_way[0] == f"{NEW} works, but mean was not tested"
        assert answer.changes == ("without mean",)


REQUESTS = st.builds(
    lambda python, dep, demo, needs, goal: asked(
        *([f"python=={python}"] if python else []),
        *([f"dep=={dep}"] if dep else []),
        *([f"demo=={demo}"] if demo else []),
        needs=tuple(needs),
        goal=goal,
    ),
    st.sampled_from(["", "3.8", "3.9"]),
    st.sampled_from(["", "1", "2"]),
    st.sampled_from(["", "1.0", "2.0"]),
    st.lists(st.sampled_from(CAPABILITIES), max_size=2, unique=True),
    st.sampled_from(GOALS),
)


@given(shelves(), REQUESTS)
@examples(150)
def test_every_answer_is_honest(shelf: Shelf, request: Request) -> None:
    found = advisor(shelf)
    answer = found.answer(request)
    cards = (
        [answer.best, *(one.card for one in answer.alternatives)]
        if isinstance(answer, Recommended)
        else []
    )
    for card in cards:
        entry = found.snapshot.by_id[card.proof.cell.id]
        assert entry.kind == card.proof.kind
        assert entry.kind in ("works", "partial")
        assert card.lock.digest == entry.lock_digest
        assert not unmet(card.proof, request)
        assert set(request.needs).isdisjoint(card.proof.fails)
    if isinstance(answer, Unproven):
        assert answer.in_the_way
        assert (answer.nearest is None) is (not found.proofs)
        assert bool(answer.changes) is (answer.nearest is not None)


def criteria(found: Advisor, proof: Combination, request: Request) -> tuple[int, ...]:
    """What no answer may be worse in than another without being better in something; less is
    better.
    """
    matrix = found.snapshot.matrix
    axes = (matrix.subject, "dep", matrix.interpreters.name)
    places = tuple(proof.cell.on(axis).version for axis in axes)
    every = sorted({tuple(p.cell.on(axis).version for axis in axes) for p in found.proofs})
    age = every.index(places) if request.goal == "minimum" else -every.index(places)
    tier = min(proof.outside, 1) if request.needs else proof.tier
    tier = 0 if request.goal == "closest" else tier
    return tier, proof.doubts, proof.changed, -proof.days, age


@given(shelves(), REQUESTS)
@examples(300)
def test_no_answer_is_dominated_by_another_that_is_known(shelf: Shelf, request: Request) -> None:
    found = advisor(shelf)
    answer = found.answer(request)
    if not isinstance(answer, Recommended):
        return
    every = [criteria(found, proof, request) for proof in found.fitting(request)]
    for proof in (answer.best.proof, *(other.card.proof for other in answer.alternatives)):
        own = criteria(found, proof, request)
        better = [
            other
            for other in every
            if other != own and all(a <= b for a, b in zip(other, own, strict=True))
        ]
        assert not better
        assert request.goal != "published" or not proof.lifted


@given(shelves(), REQUESTS)
@examples(150)
def test_the_table_alone_gives_the_same_answer(shelf: Shelf, request: Request) -> None:
    found = advisor(shelf)
    table, answer = (
        advise_rows(
            found,
            lambda proof: ((proof.id,), ()),
            lambda proof: (proof.kind, ()),
        ),
        found.answer(request),
    )
    best = answer.best if isinstance(answer, Recommended) else answer.nearest
    assert _by_table(table, request) == (None if best is None else best.proof.cell.id)


def _by_table(table: AdviceTable, request: Request) -> str | None:
    """What a page does: no version is compared, only numbers."""
    names = [axis.name for axis in table.axes]
    wishes = {
        names.index(want.axis.name): [
            number
            for number, text in enumerate(table.axes[names.index(want.axis.name)].coordinates)
            if text == str(want.specifier).removeprefix("==")
        ]
        for want in request.wants
    }

    def order(row: object) -> tuple[int, ...]:
        at, lacks = row.at, {table.capabilities[number] for number in row.lacks}
        off = [axis for axis, numbers in wishes.items() if at[axis] not in numbers]
        steps = sum(
            min(
                (abs(at[axis] - number) for number in wishes[axis]),
                default=len(table.axes[axis].coordinates),
            )
            for axis in off
        )
        lacking = sum(need in lacks or need not in table.capabilities for need in request.needs)
        partly = min(row.outside, 1) if request.needs else row.tier
        partly = 0 if request.goal == "closest" else partly
        refused = request.goal == "published" and row.changed > 0
        return int(refused), lacking, len(off), steps, partly, row.rank[request.goal]

    return min(table.rows, key=order).id if table.rows else None
