"""What proposals and the schedule say: no more than runs, plan and calendar show."""

import datetime

import msgspec
from hypothesis import given
from packaging.specifiers import SpecifierSet
from support.editions import URL, matrix_report
from support.examples import examples
from support.floors import (
    DAY,
    LOCK,
    SUITE,
    bad,
    catalogue,
    cell,
    declared,
    green,
    hold,
    policy,
    red,
    release,
    seen,
)
from support.known import Shelf
from support.printed import printed
from test_propose import worlds

from compat.declare.load import Declared
from compat.index.release import Catalogue, Package, Published
from compat.plan.plan import plan
from compat.policy.calendar import schedule
from compat.policy.evaluation import Proposal
from compat.policy.propose import floors, proposals
from compat.results.judge import EvaluationContext
from compat.results.record import Record
from compat.results.snapshot import Snapshot, snapshot
from compat.site.edition import Edition
from compat.site.exports import ical
from compat.site.paths import page

AT_12, AT_13, AT_14 = ((cell("3.9", dep), cell("3.11", dep)) for dep in ("1.2", "1.3", "1.4"))
LATER = datetime.date(2028, 1, 1)


def strict(runs: list[Record], ask: Declared) -> Snapshot:
    """What is known where no rule lifts a pin: demo 2.0 cannot be had with Python 3.8, nor with dep
    below 1.2.
    """
    ask = msgspec.structs.replace(ask, matrix=msgspec.structs.replace(ask.matrix, rules=()))
    by_cell: dict[str, list[Record]] = {}
    for run in runs:
        by_cell.setdefault(run.cell, []).append(run)
    present = EvaluationContext(suite_digest=SUITE, day=DAY)
    fates = plan(ask.matrix, catalogue()).fates
    return snapshot(ask, catalogue(), fates, dict.fromkeys(by_cell, LOCK), by_cell, present)


def named(found: tuple[Proposal, ...]) -> dict[str, Proposal]:
    return {one.id: one for one in found}


class TestAPlaceThatCannotBeHad:
    ASK = declared({"python": "3.8", "dep": "1.2"}, policy(default_months=36))

    def test_is_no_evidence_but_a_sentence(self) -> None:
        found = named(proposals(strict([], self.ASK), DAY))
        assert (
            found["raise-python-3.8-to-3.11"].grounds[1]
            == "no passing cell supports the current floor: the plan rules out every cell of"
            " demo 2.0 with Python 3.8 and promised versions of the others, such as"
            " py3.8-dep1.2-demo2.0: demo 2.0 requires Python >=3.9, not 3.8"
        )
        assert not [each for one in found.values() for each in one.evidence if "py3.8" in each.cell]

    def test_is_not_among_what_users_lose(self) -> None:
        one = named(proposals(strict([], self.ASK), DAY))["raise-python-3.8-to-3.11"]
        assert [str(version) for version in one.lost[0].versions] == ["3.9", "3.10"]

    def test_has_its_schedule(self) -> None:
        assert "python-3.11" in [move.id for move in schedule(strict([], self.ASK), DAY).moves]

    def test_may_lie_above_the_axis(self) -> None:
        ask = declared({"python": "3.9", "dep": "99"}, policy(default_months=36))
        one = named(proposals(strict([], ask), DAY))["raise-python-3.9-to-3.11"]
        assert (
            one.objections[0].because
            == "no planned cell of demo 2.0 with Python 3.11 has promised versions of the others: "
            "as published, it can be had with no dep from 99 on"
        )

    def test_that_came_later_was_not_out(self) -> None:
        (late,) = [
            one
            for one in schedule(seen([]), datetime.date(2022, 6, 10)).moves
            if one.id == "python-3.11"
        ]
        assert late.proof == "Python 3.11 was not out on 2022-06-10"


class TestTheReasonOfAMove:
    def test_says_works_where_every_representative_cell_does(self) -> None:
        one = named(proposals(seen(green(*AT_14)), DAY))["raise-dep-1.2-to-1.4"]
        assert one.because == "demo 2.0 works with dep 1.4, allowed from 2026-04-01 on"

    def test_says_may_work_where_nothing_ran(self) -> None:
        one = named(proposals(seen([]), DAY))["raise-dep-1.2-to-1.4"]
        assert (
            one.because == "demo 2.0 may work with dep 1.4, allowed from 2026-04-01 on; "
            "it waits: no run of py3.9-dep1.4-demo2.0 counts yet"
        )

    def test_says_works_and_what_it_waits_for_where_a_hold_is_in_the_way(self) -> None:
        ask = declared({"dep": "1.2"}, policy(holds=(hold("dep", "1.3"),)))
        one = named(proposals(seen(green(*AT_14, cell("3.9", "1.4")), ask), DAY))[
            "raise-dep-1.2-to-1.4"
        ]
        assert one.because.startswith(
            "demo 2.0 works with dep 1.4, allowed from 2027-04-01 on; it waits: a hold at 1.3 "
        )

    def test_names_changed_pins_where_only_they_work(self) -> None:
        relaxed = [f"{one}+relaxed" for one in AT_14]
        one = named(proposals(seen(green(*relaxed) + red(*AT_14)), DAY))["raise-dep-1.2-to-1.4"]
        assert one.is_open
        assert one.because.endswith(", only with changed dependency pins")

    def test_of_a_lowering_ends_at_the_floor(self) -> None:
        ask = declared({"dep": "1.2"}, policy(holds=(hold("dep", "1.0"),)))
        at_11 = (cell("3.9", "1.1", "relaxed"), cell("3.11", "1.1", "relaxed"))
        one = named(proposals(seen(green(*AT_12, *at_11), ask), DAY))["lower-dep-1.2-to-1.1"]
        assert "dep from 1.1 on, up to 1.2" in one.because


class TestAHold:
    ASK = declared({"dep": "1.1"}, policy(holds=(hold("dep", "1.3"),)))

    def test_leaves_the_step_that_it_allows_even_where_a_shorter_one_is_proven(self) -> None:
        found = named(proposals(seen(green(*AT_12), self.ASK), DAY))
        assert found["raise-dep-1.1-to-1.2"].is_open
        assert found["raise-dep-1.1-to-1.3"].needs == AT_13

    def test_leaves_the_step_that_it_allows_even_where_the_release_does_not_admit_it(self) -> None:
        ask = declared({"dep": "1.0"}, policy(holds=(hold("dep", "1.1"),)))
        assert "raise-dep-1.0-to-1.1" in named(proposals(strict([], ask), DAY))

    def test_is_named_with_the_step_that_it_allows(self) -> None:
        one = named(proposals(seen(green(*AT_12), self.ASK), DAY))["raise-dep-1.1-to-1.4"]
        assert (
            one.objections[0].because
            == "a hold at 1.3 until 2027-01-01: a large user needs it; now calendar and hold allow"
            " dep 1.3"
        )

    def test_puts_the_earliest_day_off(self) -> None:
        one = named(proposals(seen([], self.ASK), DAY))["raise-dep-1.1-to-1.4"]
        assert one.earliest == datetime.date(2027, 4, 1)
        assert (
            one.grounds[0]
            == "calendar and hold allow dep 1.4 from 2027-04-01 on, and the floor is 1.1"
        )

    def test_that_lasts_longest_decides_the_day_of_the_schedule(self) -> None:
        ask = declared(
            {"dep": "1.2"}, policy(holds=(hold("dep", "1.2"), hold("dep", "1.3", LATER)))
        )
        (one,) = [move for move in schedule(seen([], ask), DAY).moves if move.id == "dep-1.4"]
        assert (str(one.on), one.held[:30]) == ("2028-04-01", "a hold at 1.3 until 2028-01-01")

    def test_leaves_an_early_move_to_what_has_not_failed_under_it(self) -> None:
        ask = declared({"dep": "1.2"}, policy(default_months=120, holds=(hold("dep", "1.3"),)))
        every = [f"{one}{recipe}" for one in AT_12 for recipe in ("", "+dated", "+relaxed")]
        found = named(proposals(seen(red(*every) + green(*AT_14), ask), DAY))
        assert "early-dep-1.2-to-1.3" in found


def test_a_broken_floor_supports_the_move_that_leaves_it() -> None:
    broken = red(*AT_12, *(f"{one}+relaxed" for one in AT_12))
    ask = declared({"dep": "1.2"}, policy(default_months=120))
    one = named(proposals(seen(broken + green(*AT_13), ask), DAY))["early-dep-1.2-to-1.3"]
    assert {each.word for each in one.evidence} == {"supports"}
    assert one.because == "demo 2.0 is broken with dep 1.2, and works with 1.3"


class TestTheArithmetic:
    def lines(self, *, known_bad: tuple[str, ...] = (), day: datetime.date = DAY) -> str:
        ask = declared(
            rules=policy(known_bad=tuple(bad("python", version) for version in known_bad))
        )
        return "\n".join(
            line for floor in floors(seen([], ask, day), day) for line in floor.arithmetic
        )

    def test_passes_over_a_bad_version_for_the_next(self) -> None:
        assert "The next is 3.14, out since 2025-10-07" in self.lines(known_bad=("3.13",))

    def test_says_of_what_is_planned_that_it_is(self) -> None:
        assert "The next is 3.15, planned for 2026-10-01" in self.lines(known_bad=("3.13", "3.14"))

    def test_a_planned_version_comes_out_in_the_calendar_file(self) -> None:
        text = ical(schedule(seen([]), DAY)).replace("\r\n ", "")
        assert "Python 3.15 is planned for 1 October 2026" in text
        assert "Python 3.13 was released on 7 October 2024" in text


def test_where_there_is_no_cell_to_ask_the_page_says_so() -> None:
    known = snapshot(
        declared(), catalogue(), (), {}, {}, EvaluationContext(suite_digest=SUITE, day=DAY)
    )
    report = matrix_report(Shelf(), known)
    assert report.proposals
    shown = printed(Edition([report], URL, DAY))
    pages = [shown[page("demo", "proposals", each.id)] for each in report.proposals]
    assert all("No cell tests it." in text for text in pages)


@given(worlds)
@examples(80)
def test_nothing_works_by_a_proposal_whose_cells_do_not_all_support_it(
    world: tuple[list[Record], Declared],
) -> None:
    runs, ask = world
    for one in proposals(seen(runs, ask), DAY):
        kinds = {objection.against for objection in one.objections}
        doubtful = kinds & {"missing", "red", "flaky", "stale"} or not any(
            each.supports for each in one.evidence
        )
        assert ("may work" in one.because) is bool(doubtful), one.because
        assert "None" not in one.because
        assert not any("None" in line for line in (*one.grounds, *one.arithmetic))


def test_what_a_release_asks_is_read_for_the_newest_python_that_it_admits() -> None:
    known = seen([])
    admitted = Published(
        requires_python=SpecifierSet(">=3.8,<3.10"),
        requires_dist=("dep>=1.1; python_version<'3.10'",),
    )
    demo = Package(name="demo", releases=(release("demo", "2.0", "2024-05-05", admitted),))
    other = Snapshot(
        known.ask,
        Catalogue(packages=(demo, known.catalogue.package("dep"))),
        known.entries,
        known.present,
    )
    _, dep = floors(other, DAY)
    assert dep.arithmetic[-1] == "The newest release, demo 2.0, asks for dep >=1.1 on Python 3.9."
