"""A series stands for its patches: any usable one that admits the other coordinates will do, and
each is told of.
"""

import datetime

from packaging.version import Version
from support.corpus import each
from support.memory_locker import MemoryLocker
from support.world import catalogue_of, matrix_of, source_of, world

from compat.declare.matrix import NEWEST
from compat.lock.lockfile import Inputs, Lock
from compat.lock.recipe import inputs_of, lock_cell
from compat.plan.cell import parse_cell
from compat.plan.feasible import Feasibility, Obstacle
from compat.plan.plan import explain, plan
from compat.policy.evaluation import PYTHONS

DOCUMENT = world("patches")
MATRIX = matrix_of(DOCUMENT)
FACTS = Feasibility(MATRIX, catalogue_of(DOCUMENT))


def inputs(cell: str) -> Inputs:
    return inputs_of(FACTS, parse_cell(cell, MATRIX))


def given(cell: str) -> str:
    pin = inputs(cell).injected_pin
    assert pin is not None
    return str(pin.version)


def obstacle(cell: str) -> Obstacle:
    found = FACTS.obstacle(parse_cell(cell, MATRIX))
    assert found is not None
    return found


def test_a_coordinate_that_a_later_patch_admits_is_not_moved() -> None:
    assert not FACTS.moved(parse_cell("py3.9-dep2-tool1-demo1.0", MATRIX), "dep")
    assert FACTS.moved(parse_cell("py3.9-dep2-tool1-demo1.1", MATRIX), "dep")
    # The patch of 1.2 that admits it needs Python 3.10.
    assert FACTS.moved(parse_cell("py3.9-dep2-tool1-demo1.2", MATRIX), "dep")
    assert not FACTS.moved(parse_cell("py3.10-dep2-tool1-demo1.2", MATRIX), "dep")


def test_a_relaxed_cell_is_given_the_newest_patch_that_admits_it_and_what_that_asks() -> None:
    assert given("py3.9-dep2-tool1-demo1.0+relaxed") == "1.0.2"
    assert inputs("py3.9-dep2-tool1-demo1.0+relaxed").requirements == (
        "dep==2.*",
        "dep>=2.1",
        "free",
        "other",
        "tool==1.*",
    )
    assert given("py3.9-dep1-tool1-demo1.0+relaxed") == "1.0.0"
    assert given("py3.9-dep2-tool1-demo1.1+relaxed") == "1.1.0"
    assert given("py3.10-dep2-tool1-demo1.2+relaxed") == "1.2.1"


def test_a_dated_cell_is_asked_as_of_the_day_when_its_coordinates_could_first_be_had_together() -> (
    None
):
    # demo 1.0.2, the first that takes dep 2, came out 60 days after the beginning; dep 2.1, the one
    # it takes, too.
    assert str(inputs("py3.9-dep2-tool1-demo1.0+dated").as_of) == "2020-03-12 00:00:00+00:00"
    # With dep 1 the first patch will do: tool 1.0 and all others are of the first day.
    assert str(inputs("py3.9-dep1-tool1-demo1.0+dated").as_of) == "2020-01-12 00:00:00+00:00"


def test_a_relaxed_cell_is_given_no_patch_that_came_out_after_its_date() -> None:
    document = world("patches")
    document["matrix"] = document["matrix"].replace("margin_days = 10", "margin_days = 40")
    matrix = matrix_of(document)
    facts = Feasibility(matrix, catalogue_of(document))
    cell = parse_cell("py3.9-dep1-tool1-demo1.0+relaxed", matrix)
    early = inputs_of(FACTS, parse_cell("py3.9-dep1-tool1-demo1.0+relaxed", MATRIX)).injected_pin
    late = inputs_of(facts, cell).injected_pin
    assert early is not None
    assert late is not None
    assert [str(early.version), str(late.version)] == ["1.0.0", "1.0.1"]


def test_the_sentence_names_each_patch_that_was_refused_and_why() -> None:
    because = obstacle("py3.9-dep2-tool1-demo1.1").because
    assert because.startswith("demo 1.1 requires dep ")
    assert because.endswith(" 1.1.1 is yanked")
    because = obstacle("py3.9-dep2-tool1-demo1.2").because
    assert because.startswith("demo 1.2 requires dep ")
    assert because.endswith(" 1.2.1 requires Python >=3.10")
    because = obstacle("py3.9-dep2-tool2-demo1.4").because
    assert "1.4.0 requires tool <2" in because
    assert "1.4.1 requires dep <2" in because
    because = obstacle("py3.9-dep1-tool1-demo1.5").because
    assert "1.5.0 is yanked" in because
    assert "1.5.1 requires Python >=3.10" in because


def test_the_explanation_goes_through_every_patch() -> None:
    lines = explain(FACTS, parse_cell("py3.9-dep2-tool1-demo1.0", MATRIX))
    assert "demo 1.0.0 requires dep <2; the cell is outside it" in lines
    assert "demo 1.0.3 requires dep >=2.1; the cell is inside it" in lines
    assert "of demo 1.0 these admit every coordinate: 1.0.2, 1.0.3" in lines
    lines = explain(FACTS, parse_cell("py3.9-dep2-tool1-demo1.1", MATRIX))
    assert "demo 1.1.0 requires dep <2; the cell is outside it: moved" in lines
    assert "demo 1.1.1 cannot be taken: it is yanked" in lines


@each("cell", sorted(fate.cell.id for fate in plan(MATRIX, FACTS.catalogue).fates))
def test_every_feasible_cell_has_inputs(cell: str) -> None:
    asked = parse_cell(cell, MATRIX)
    if FACTS.obstacle(asked) is None:
        locker = MemoryLocker(lambda inputs: Lock(inputs=inputs, pins=(), tool="none"))
        assert isinstance(
            lock_cell(locker, inputs_of(FACTS, asked), source_of(DOCUMENT).package, 10), Lock
        )


def test_a_series_of_python_without_a_patch_is_its_newest_known_one() -> None:
    document = world("patches")
    document["matrix"] = document["matrix"].replace(
        '"3.9.18", "3.10.13"', '"3.9", "3.10.13", "3.99"'
    )
    matrix = matrix_of(document)
    facts = Feasibility(matrix, catalogue_of(document))
    cells = [f"py{series}-dep1-tool1-demo1.0" for series in ("3.9", "3.10", "3.99")]
    patches = [str(inputs_of(facts, parse_cell(cell, matrix)).python) for cell in cells]
    # What asks for 3.9.2 can be had there; a series that the list does not know begins with its
    # `.0`.
    assert patches == [str(NEWEST["3.9"]), "3.10.13", "3.99.0"]
    assert Version(patches[0]) > Version("3.9.2")


def test_each_series_of_python_that_is_out_has_its_patch() -> None:
    listed = {
        str(series.version) for series in PYTHONS if series.released <= datetime.date(2026, 11, 22)
    }
    assert listed <= set(NEWEST)
