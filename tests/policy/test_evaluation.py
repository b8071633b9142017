"""Which cells a floor promises, and which of them decides its place."""

import datetime

import msgspec
import pytest
from packaging.version import Version
from support.floors import DAY, OTHER_LOCK, bad, cell, declared, green, policy, ran, red, seen

from compat.declare.matrix import Policy
from compat.policy.calendar import schedule
from compat.policy.evaluation import Evaluation, evaluation_on
from compat.policy.propose import floors, proposals
from compat.results.record import Record
from compat.results.snapshot import Snapshot


def evaluation(
    runs: list[Record], rules: Policy | None = None, locked: bool = True, **floors: str
) -> Evaluation:
    known = seen(runs, declared({"python": "3.9", "dep": "1.2"} | floors, rules), has_locks=locked)
    assert known.ask.policy is not None
    return Evaluation(known, known.ask.policy, DAY)


def corners(found: Evaluation, axis: str, at: str) -> list[tuple[str, ...]]:
    return [tuple(map(str, place)) for place in found.corners(axis, Version(at))]


def test_a_floor_is_asked_with_the_lowest_and_the_highest_of_the_other_axis() -> None:
    assert corners(evaluation([]), "dep", "1.3") == [("3.9", "1.3"), ("3.11", "1.3")]
    assert corners(evaluation([]), "python", "3.10") == [("3.10", "1.2"), ("3.10", "1.4")]


def test_the_lowest_of_the_other_axis_is_its_floor() -> None:
    assert corners(evaluation([], python="3.10"), "dep", "1.3") == [
        ("3.10", "1.3"),
        ("3.11", "1.3"),
    ]


def test_the_newest_release_says_how_far_an_axis_reaches() -> None:
    found = evaluation([])
    assert sorted(map(str, found.reach["dep"])) == ["1.2", "1.3", "1.4"]
    assert sorted(map(str, found.reach["python"])) == ["3.10", "3.11", "3.9"]


def test_the_strictest_recipe_that_supports_a_floor_decides() -> None:
    proof = evaluation(
        green(cell("3.9", "1.3"), cell("3.9", "1.3", "relaxed"), cell("3.11", "1.3", "relaxed"))
        + red(cell("3.11", "1.3"))
    ).floor("dep", Version("1.3"))
    assert proof.state == "proven"
    assert [one.cell for one in proof.evidence if one.supports] == [
        cell("3.9", "1.3"),
        cell("3.9", "1.3", "relaxed"),
        cell("3.11", "1.3", "relaxed"),
    ]


def test_what_is_needed_is_the_published_cell_first_and_the_relaxed_one_once_that_is_refused() -> (
    None
):
    assert evaluation([]).floor("dep", Version("1.3")).needs == (
        cell("3.9", "1.3"),
        cell("3.11", "1.3"),
    )
    refused = [ran(cell("3.9", "1.2"), "lock-fail:conflict(other)")]
    needs = evaluation(refused).floor("dep", Version("1.3")).needs
    assert needs == (cell("3.9", "1.3", "relaxed"), cell("3.11", "1.3", "relaxed"))


def test_what_is_locked_already_is_needed_rather_than_what_is_not() -> None:
    spurious = [ran(cell("3.9", "1.3", "relaxed"), "install-fail:network")]
    needs = evaluation(spurious).floor("dep", Version("1.3")).needs
    assert needs == (cell("3.9", "1.3", "relaxed"), cell("3.11", "1.3"))


def test_a_floor_is_broken_only_when_the_laxest_recipe_fails_too() -> None:
    published = [cell("3.9", "1.3"), cell("3.11", "1.3")]
    assert evaluation(red(*published)).floor("dep", Version("1.3")).state == "open"
    relaxed = [f"{one}+relaxed" for one in published]
    assert evaluation(red(*published, *relaxed)).floor("dep", Version("1.3")).state == "red"


def test_runs_on_another_lock_are_no_witnesses() -> None:
    names = [cell("3.9", "1.3"), cell("3.11", "1.3")]
    earlier = [ran(one, days_ago=5, lock_digest=OTHER_LOCK) for one in names]
    proof = evaluation(green(*names, days=[1]) + earlier).floor("dep", Version("1.3"))
    assert proof.state == "green"
    assert [one.against for one in proof.objections] == ["witnesses", "witnesses"]


@pytest.mark.parametrize("level", ["L2", "L1", "L0"])
def test_runs_that_other_cells_could_have_written_to_move_no_floor_but_count_as_verdicts(
    level: str,
) -> None:
    names = [cell("3.9", "1.3"), cell("3.11", "1.3")]
    found = evaluation(
        [ran(name, days_ago=ago, isolation=level) for name in names for ago in (1, 2, 3)]
    )
    proof = found.floor("dep", Version("1.3"))
    assert (proof.state, proof.needs) == ("open", tuple(names))
    assert [each.verdict for each in proof.evidence] == ["works", "works"]
    assert [each.word for each in proof.evidence] == ["not isolated", "not isolated"]
    assert [(each.against, each.because) for each in proof.objections] == [
        (
            "isolation",
            (f"{name} has no run at isolation L3, which a floor needs: pass on 2026-06-14"),
        )
        for name in names
    ]


def test_only_isolated_runs_are_witnesses() -> None:
    names = [cell("3.9", "1.3"), cell("3.11", "1.3")]
    weaker = [ran(name, days_ago=5, isolation="L2") for name in names]
    proof = evaluation(green(*names, days=[1]) + weaker).floor("dep", Version("1.3"))
    assert proof.state == "green"
    assert [each.days for each in proof.evidence] == [(DAY - datetime.timedelta(1),)] * 2


def test_runs_that_were_not_isolated_break_no_floor_but_refusals_that_ran_nothing_do() -> None:
    names = [
        cell(python, "1.3", recipe) for python in ("3.9", "3.11") for recipe in ("", "relaxed")
    ]
    told = "import-fail:missing-module(dep.old)"
    weaker = [ran(name, told, days_ago=ago, isolation="L1") for name in names for ago in (1, 2)]
    assert evaluation(weaker).floor("dep", Version("1.3")).state == "open"
    refused = [
        ran(name, "lock-fail:conflict(demo)", ago, isolation="L0", lock_digest="", suite_digest="")
        for name in names
        for ago in (1, 2)
    ]
    assert evaluation(refused, locked=False).floor("dep", Version("1.3")).state == "red"


def test_a_policy_may_lower_the_isolation_that_a_floor_needs() -> None:
    names = [cell("3.9", "1.3"), cell("3.11", "1.3")]
    runs = [ran(name, days_ago=ago, isolation="L2") for name in names for ago in (1, 2)]
    assert evaluation(runs, policy(isolation="L2")).floor("dep", Version("1.3")).state == "proven"
    assert evaluation(runs, policy(isolation="L3")).floor("dep", Version("1.3")).state == "open"


def test_an_order_is_given_to_run_what_has_too_few_witnesses() -> None:
    names = [cell("3.9", "1.3"), cell("3.11", "1.3")]
    proof = evaluation(green(names[0]) + green(names[1], days=[1])).floor("dep", Version("1.3"))
    assert proof.needs == (names[1],)


def test_a_version_that_the_matrix_does_not_ask_about_has_no_cell() -> None:
    (objection,) = evaluation([]).floor("python", Version("3.14")).objections
    assert "Python 3.14:" in objection.because


def test_a_bad_version_may_still_be_judged() -> None:
    known = seen([], declared(rules=policy(known_bad=(bad("dep", "1.3"),))))
    assert known.ask.policy is not None
    assert Evaluation(known, known.ask.policy, DAY).floor("dep", Version("1.3")).state == "open"


def test_a_relaxed_cell_with_a_third_package_in_the_way_neither_supports_nor_contradicts() -> None:
    failed = "import-fail:missing-module(third)"
    blocked = [ran(cell("3.9", "1.3", "relaxed"), failed, involved=("third",))]
    refused = [
        ran(cell("3.9", "1.3"), "lock-fail:conflict(third<2)"),
        ran(cell("3.11", "1.3"), "lock-fail:conflict(third<2)"),
    ]
    proof = evaluation(blocked + refused + red(cell("3.11", "1.3", "relaxed"))).floor(
        "dep", Version("1.3")
    )
    evidence = next(one for one in proof.evidence if one.cell == cell("3.9", "1.3", "relaxed"))
    assert (evidence.verdict, evidence.word, evidence.supports) == (
        "unknown",
        "no answer yet",
        False,
    )
    assert proof.state == "open"
    told = [objection for objection in proof.objections if evidence.cell in objection.cells]
    assert [(one.against, one.because.partition(" on 20")[0]) for one in told] == [
        ("missing", f"{evidence.cell} has no answer yet: blocked by third: {failed}")
    ]


def test_proposals_floors_and_schedule_share_one_evaluation_of_a_day(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    days: list[datetime.date] = []

    class Counted(Evaluation):
        def __init__(self, snapshot: Snapshot, rules: Policy, day: datetime.date) -> None:
            days.append(day)
            super().__init__(snapshot, rules, day)

    monkeypatch.setattr("compat.policy.evaluation.Evaluation", Counted)
    known, earlier = seen(green(cell("3.9", "1.3"))), DAY - datetime.timedelta(days=200)
    for day in (DAY, earlier, DAY):
        proposals(known, day)
        floors(known, day)
        schedule(known, day)
    assert days == [DAY, earlier]


def test_without_a_policy_there_is_nothing_to_evaluate() -> None:
    known = seen([], msgspec.structs.replace(declared(), policy=None))
    assert evaluation_on(known, DAY) is None
