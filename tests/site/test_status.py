"""How states are shown: three recipes of a place fold into one, and no two states look alike."""

import pytest
from packaging.version import Version
from support.editions import edition, matrix_report
from support.known import Shelf, lock_of, ran
from support.printed import every_state

from compat.lock.lockfile import Lock
from compat.results.answer import Answer, Kind
from compat.results.infer import with_locks
from compat.site.pictures import matrix_badges
from compat.site.results import grid, recipe_words
from compat.site.status import STATES, STYLES, StatusStyle, place_style, style_of

PLACE = "py3.8-dep1-demo1.0"


def style(*records: object, place: str = PLACE) -> StatusStyle:
    (volume,) = edition(Shelf(records)).reports  # type: ignore[arg-type]
    return place_style(volume.places[place])


def test_no_two_styles_share_a_symbol_a_word_or_a_class() -> None:
    every = [*STYLES.values()]
    for field in ("symbol", "word", "css", "sentence"):
        assert len({getattr(one, field) for one in every}) == len(every)


def test_a_place_that_works_as_published_works() -> None:
    assert style(ran(lock_of(PLACE))) == STYLES["works"]


def test_what_worked_when_new_and_is_refused_today_works_with_packages_of_its_time() -> None:
    refused = ran(PLACE, "lock-fail:no-artifact(dep==1.0)")
    assert style(ran(lock_of(f"{PLACE}+dated")), refused) == STYLES["decayed"]


def test_what_worked_when_new_and_was_not_tried_today_claims_nothing_of_today() -> None:
    assert style(ran(lock_of(f"{PLACE}+dated"))) == STYLES["dated"]
    assert "plain install of today" in STYLES["dated"].sentence


def test_which_locks_keep_every_requirement_is_kept() -> None:
    lock = lock_of("py3.8-dep2-demo1.0+relaxed", dep="1.0")
    shelf, nothing = Shelf([ran(lock)], [lock]), dict[str, Lock]()
    # The second time no lock is read.
    before: dict[str, Answer] = {}
    for lock_of_cell in (shelf.locks.get, nothing.get):
        known = with_locks(shelf.picture(), lock_of_cell, before=before)
        before = {entry.cell.id: entry for entry in known.entries}
        assert known.by_id[lock.inputs.cell].is_unchanged


def test_a_relaxed_cell_in_which_nothing_gave_way_is_not_called_changed() -> None:
    place = "py3.8-dep2-demo1.0"
    kept = lock_of(f"{place}+relaxed", dep="1.0")
    (report,) = edition(Shelf([ran(kept)], [kept])).reports
    (entry,) = [entry for entry in report.snapshot.known if entry.is_tested]
    assert entry.is_unchanged
    assert style_of(entry, report.places[place]) == STYLES["decayed"]
    assert style_of(entry) == STYLES["dated"]
    assert "pin had to change" in recipe_words(entry)
    lifted = lock_of("py3.8-dep2-demo2.0+relaxed", install_as_python="3.9.18")
    (report,) = edition(Shelf([ran(lifted)], [lifted])).reports
    assert place_style(report.places["py3.8-dep2-demo2.0"]) == STYLES["relaxed"]


def test_only_the_relaxed_recipe_works() -> None:
    refused = ran(PLACE, "lock-fail:no-artifact(dep==1.0)")
    assert style(ran(lock_of(f"{PLACE}+relaxed")), refused) == STYLES["relaxed"]


def test_chance_today_is_not_outdone_by_an_older_set_that_works() -> None:
    lock = lock_of(PLACE)
    by_chance = [ran(lock, "test-fail:assertion(test_mean)", minute=1), ran(lock, minute=2)]
    assert style(*by_chance, ran(lock_of(f"{PLACE}+dated"))) == STYLES["flaky"]


def test_a_place_that_cannot_be_installed_differs_from_one_that_ran_and_failed() -> None:
    assert style(ran(PLACE, "lock-fail:no-artifact(dep==1.0)")) == STYLES["refused"]
    assert style(ran(lock_of(PLACE), "import-fail:missing-module(dep)")) == STYLES["broken"]


def test_trouble_of_the_machine_leaves_a_place_untested() -> None:
    assert style(ran(lock_of(PLACE), "install-fail:network")) == STYLES["declared"]


def test_an_untested_place_is_declared_where_the_release_admits_it_and_else_unknown() -> None:
    assert style() == STYLES["declared"]
    assert style(place="py3.8-dep2-demo1.0") == STYLES["unknown"]
    assert style(place="py3.9-dep1-demo1.0") == STYLES["infeasible"]


def test_the_shelf_of_every_state_has_them_all() -> None:
    (volume,) = edition(every_state()).reports
    states = {place_style(entries).state for entries in volume.places.values()}
    assert states == {*STATES} - {"unknown"}


@pytest.mark.parametrize(
    ("expected", "words"), [("works", "expected to work"), ("broken", "expected to fail")]
)
def test_what_is_inferred_has_a_sign_of_its_own_and_is_never_counted_as_tested(
    expected: Kind, words: str
) -> None:
    def inferred(entry: Answer) -> Answer:
        if entry.cell.id != PLACE:
            return entry
        return Answer(cell=entry.cell, evidence="inferred", expected=expected)

    report = matrix_report(Shelf(), Shelf().picture().mapped(inferred))
    shown = grid(report, Version("3.8"))
    (key,) = [key for key in shown.legend if key.word == f"{words} (inferred)"]
    assert shown.tested == 0
    signs = [place.symbol for row in shown.rows for place in row.places if place is not None]
    assert signs.count(key.symbol) == 1
    assert dict(matrix_badges(report))["release", "1.0"].message == words
