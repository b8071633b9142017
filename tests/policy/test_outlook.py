"""One sentence a floor: whether it can move, to what, when, and what is missing."""

import datetime

from support.floors import DAY, cell, declared, green, hold, policy, red, seen

from compat.declare.load import Declared
from compat.policy.calendar import Outlook, outlooks
from compat.policy.propose import proposals
from compat.results.record import Record

DATE = datetime.date
AT_14 = (cell("3.9", "1.4"), cell("3.11", "1.4"))
AT_13 = (cell("3.9", "1.3"), cell("3.11", "1.3"))


def of_dep(runs: list[Record], ask: Declared | None = None, day: datetime.date = DAY) -> Outlook:
    return next(one for one in outlooks(seen(runs, ask, day), day) if one.axis == "dep")


def test_what_is_open_can_move_with_the_next_release() -> None:
    found = of_dep(green(*AT_14))
    assert found.sentence == "dep 1.2 can move to 1.4 with the next release"
    assert (found.prospect, found.runs, found.needs) == ("open", 0, ())
    assert [str(version) for version in found.lost[0].versions] == ["1.2", "1.3"]


def test_runs_that_are_missing_are_counted_with_the_day_of_the_last() -> None:
    ask = declared({"dep": "1.2"}, policy(witnesses=3))
    found = of_dep(green(*AT_14, days=[1]), ask)
    assert found.prospect == "runs"
    assert found.needs == AT_14
    assert (
        found.sentence == f"dep 1.2 can move to 1.4 on {DAY + datetime.timedelta(1)} if four"
        " more runs pass"
    )


def test_a_run_of_today_counts_and_the_next_is_tomorrows() -> None:
    ask = declared({"dep": "1.2"}, policy(witnesses=2))
    found = of_dep(green(*AT_14, days=[0]), ask)
    assert (found.runs, found.on) == (2, DAY + datetime.timedelta(1))


def test_one_run_is_told_in_the_singular() -> None:
    ask = declared({"dep": "1.2"}, policy(witnesses=1))
    found = of_dep(green(AT_14[0]), ask)
    assert found.sentence == f"dep 1.2 can move to 1.4 on {DAY} if one more run passes"


def test_a_step_that_works_is_preferred_to_one_that_is_missing_runs() -> None:
    found = of_dep(green(*AT_13))
    assert (str(found.to), found.prospect) == ("1.3", "open")


def test_before_its_day_a_supported_move_has_a_date() -> None:
    day = DATE(2026, 3, 10)
    found = of_dep(green(*AT_14, days=[100, 101]), declared({"dep": "1.3"}, policy()), day)
    assert found.sentence == "dep 1.3 can move to 1.4 on 2026-04-01"


def test_what_no_run_mends_is_told_with_its_cause() -> None:
    found = of_dep(
        red(*AT_14, *(f"{one}+relaxed" for one in AT_14)), declared({"dep": "1.3"}, policy())
    )
    assert found.prospect == "blocked"
    assert found.sentence.startswith("dep 1.3 could move to 1.4 since 2026-04-01, but py3.9-dep1.4")


def test_a_hold_is_named_with_its_end() -> None:
    ask = declared({"dep": "1.3"}, policy(holds=(hold("dep", "1.3"),)))
    waiting = of_dep(green(*AT_14), ask)
    assert waiting.sentence == "dep 1.3 can move to 1.4 on 2027-04-01"
    broken = of_dep(red(*AT_14, *(f"{one}+relaxed" for one in AT_14)), ask)
    assert broken.sentence.startswith(
        "dep 1.3 is held until 2027-01-01; 1.4 is next, on 2027-04-01, but"
    )


def test_a_floor_at_the_newest_stays() -> None:
    found = of_dep([], declared({"dep": "1.4"}, policy()))
    assert (found.prospect, found.to, found.on) == ("settled", None, None)


def test_what_is_open_is_the_open_proposal() -> None:
    picture = seen(green(*AT_14))
    found = next(one for one in outlooks(picture, DAY) if one.axis == "dep")
    opened = [one for one in proposals(picture, DAY) if one.is_open and one.axis == "dep"]
    assert [(one.proposed, one.lost) for one in opened] == [(found.to, found.lost)]


def test_without_a_policy_there_is_none() -> None:
    assert outlooks(seen([], Declared(matrix=declared().matrix)), DAY) == ()
