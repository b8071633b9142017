"""How states look: three recipes of a place fold into one, and no two states look alike."""

from support.editions import edition
from support.known import Shelf, lock_of, ran
from support.printed import every_state

from compat.site.status import BLOCKED, DECLARED, LOOKS, REFUSED, StatusStyle, place_look

PLACE = "py3.8-dep1-demo1.0"


def look(*records: object, place: str = PLACE) -> StatusStyle:
    (volume,) = edition(Shelf(records)).reports  # type: ignore[arg-type]
    return place_look(volume.places[place])


def test_no_two_looks_share_a_symbol_a_word_or_a_class() -> None:
    every = [*LOOKS.values(), REFUSED, DECLARED, BLOCKED]
    for field in ("symbol", "word", "css", "sentence"):
        assert len({getattr(one, field) for one in every}) == len(every)


def test_a_place_that_works_as_published_works() -> None:
    assert look(ran(lock_of(PLACE))) == LOOKS["works"]


def test_what_worked_when_new_and_is_refused_today_worked_once() -> None:
    refused = ran(PLACE, "lock-fail:no-artifact(dep==1.0)")
    assert look(ran(lock_of(f"{PLACE}+dated")), refused) == LOOKS["decayed"]


def test_what_worked_when_new_and_was_not_tried_today_works() -> None:
    assert look(ran(lock_of(f"{PLACE}+dated"))) == LOOKS["works"]


def test_only_the_relaxed_recipe_works() -> None:
    refused = ran(PLACE, "lock-fail:no-artifact(dep==1.0)")
    assert look(ran(lock_of(f"{PLACE}+relaxed")), refused) == LOOKS["relaxed"]


def test_chance_today_is_not_outdone_by_an_older_set_that_works() -> None:
    lock = lock_of(PLACE)
    by_chance = [ran(lock, "test-fail:assertion(test_mean)", minute=1), ran(lock, minute=2)]
    assert look(*by_chance, ran(lock_of(f"{PLACE}+dated"))) == LOOKS["flaky"]


def test_a_place_that_cannot_be_installed_differs_from_one_that_ran_and_failed() -> None:
    assert look(ran(PLACE, "lock-fail:no-artifact(dep==1.0)")) == REFUSED
    assert look(ran(lock_of(PLACE), "import-fail:missing-module(dep)")) == LOOKS["broken"]


def test_trouble_of_the_machine_leaves_a_place_untested() -> None:
    assert look(ran(lock_of(PLACE), "install-fail:network")) == DECLARED


def test_an_untested_place_is_declared_where_the_release_admits_it_and_else_unknown() -> None:
    assert look() == DECLARED
    assert look(place="py3.8-dep2-demo1.0") == LOOKS["unknown"]
    assert look(place="py3.9-dep1-demo1.0") == LOOKS["infeasible"]


def test_the_shelf_of_every_state_has_them_all() -> None:
    (volume,) = edition(every_state()).reports
    assert {place_look(entries).state for entries in volume.places.values()} == LOOKS.keys() - {
        "unknown"
    }
