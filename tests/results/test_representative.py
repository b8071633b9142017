"""One rule for the cell that stands for a place or a release: grid, table and proposals agree."""

import msgspec
from packaging.version import Version
from support.floors import DAY, cell, declared, green, ran, seen
from support.made_records import capabilities

from compat.policy.evaluation import Evaluation
from compat.results.answer import Answer, representative
from compat.results.record import Record
from compat.results.snapshot import Snapshot
from compat.results.table import columns
from compat.site.status import place_style

FRESH, DATED, RELAXED = (cell("3.11", "1.3", recipe) for recipe in ("", "dated", "relaxed"))
FAILED = "test-fail:assertion(b)"


def entries(runs: list[Record], *cells: str) -> list[Answer]:
    snapshot = seen(runs)
    return [snapshot.by_id[name] for name in cells]


def flaky(name: str) -> list[Record]:
    return [ran(name, days_ago=2), ran(name, FAILED, days_ago=1)]


def floor_at(snapshot: Snapshot, version: str) -> Evaluation:
    assert snapshot.ask.policy is not None
    evaluation = Evaluation(snapshot, snapshot.ask.policy, DAY)
    assert evaluation.floor("dep", Version(version)).evidence
    return evaluation


def test_a_place_that_installs_by_chance_is_flaky_in_grid_and_proposal() -> None:
    runs = flaky(FRESH) + green(RELAXED, cell("3.9", "1.3"))
    snapshot = seen(runs)
    place = [snapshot.by_id[name] for name in (FRESH, DATED, RELAXED)]
    assert place_style(place).state == "flaky"
    floor = floor_at(snapshot, "1.3").floor("dep", Version("1.3"))
    assert floor.state == "open"
    assert [(one.against, one.cells) for one in floor.objections] == [("flaky", (FRESH,))]


def test_grid_and_table_show_the_same_cell_of_a_release() -> None:
    older = ran(cell("3.9", "1.2"), FAILED, capabilities=capabilities(a="yes", b="no"))
    newer = ran(
        cell("3.11", "1.4", "relaxed"), FAILED, capabilities=capabilities(a="yes", b="no", c="yes")
    )
    snapshot = seen([older, newer])
    (column,) = columns(snapshot)
    release = [
        entry for entry in snapshot.entries if entry.cell.on("demo").version == Version("2.0")
    ]
    assert representative(release) is column.entry is snapshot.by_id[newer.cell]


def test_a_cell_that_works_stands_before_one_with_more_capabilities_in_table_and_grid() -> None:
    works = ran(cell("3.9", "1.2"), capabilities=capabilities(a="yes"))
    more = ran(
        cell("3.11", "1.4"), FAILED, capabilities=capabilities(a="yes", b="no", c="yes", d="yes")
    )
    snapshot = seen([works, more])
    (column,) = columns(snapshot)
    assert column.entry is representative(snapshot.known) is snapshot.by_id[works.cell]


def test_the_verdict_decides_before_the_recipe() -> None:
    fresh, dated, relaxed = entries([ran(FRESH, FAILED), *green(RELAXED)], FRESH, DATED, RELAXED)
    assert representative((fresh, dated, relaxed)) is relaxed
    fresh, dated, relaxed = entries(green(FRESH, RELAXED), FRESH, DATED, RELAXED)
    assert representative((relaxed, dated, fresh)) is fresh


def test_of_cells_that_work_in_part_the_one_with_more_capabilities_is_representative() -> None:
    runs = [
        ran(FRESH, FAILED, capabilities=capabilities(a="yes", b="no", c="no")),
        ran(RELAXED, FAILED, capabilities=capabilities(a="yes", b="no", c="yes")),
    ]
    fresh, relaxed = entries(runs, FRESH, RELAXED)
    assert representative((fresh, relaxed)) is relaxed


def test_one_flaky_place_does_not_stand_for_a_release_that_works_elsewhere() -> None:
    other = cell("3.9", "1.3")
    fresh, works = entries(flaky(FRESH) + green(other), FRESH, other)
    assert representative((fresh, works)) is works


def test_what_may_still_be_tried_stands_before_what_is_ruled_out() -> None:
    snapshot = seen([], declared())
    place = [entry for entry in snapshot.entries if entry.obstacle is not None][:1]
    fresh = snapshot.by_id[FRESH]
    assert representative((*place, fresh)) is fresh


def test_what_ran_stands_before_what_a_resolver_refused() -> None:
    older, newer = cell("3.9", "1.2", "relaxed"), cell("3.11", "1.4", "relaxed")
    tested, unasked = entries([ran(older, "import-fail:error(demo/core.py:7)")], older, newer)
    refused = msgspec.structs.replace(unasked, kind="broken", evidence="asked")
    assert representative([refused, tested]) is tested
