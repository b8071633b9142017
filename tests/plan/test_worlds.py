"""Each world's plan is the one that its story tells."""

import pytest
from support.world import WORLDS, catalogue_of, matrix_of, world

from compat.plan.plan import CellStatus, Infeasible, plan

NAMES = sorted(path.stem for path in WORLDS.glob("*.toml"))


def told(fate: CellStatus) -> str:
    if not isinstance(fate, Infeasible):
        return "feasible"
    return f"{fate.obstacle.kind}({', '.join(fate.obstacle.between)})"


@pytest.mark.parametrize("name", NAMES)
def test_every_cell_that_the_story_names_has_the_fate_that_it_tells(name: str) -> None:
    document = world(name)
    made = plan(matrix_of(document), catalogue_of(document))
    fates = {fate.cell.id: told(fate) for fate in made.fates}
    assert {cell: fates.get(cell) for cell in document["fates"]} == document["fates"]


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_is_a_partition_each_cell_once(name: str) -> None:
    document = world(name)
    matrix, catalogue = matrix_of(document), catalogue_of(document)
    ids = [fate.cell.id for fate in plan(matrix, catalogue).fates]
    assert len(ids) == len(set(ids))
    assert set(document["fates"]) <= set(ids)


@pytest.mark.parametrize("name", NAMES)
def test_rules_that_no_cell_needs_are_named_and_no_others(name: str) -> None:
    document = world(name)
    made = plan(matrix_of(document), catalogue_of(document))
    assert list(made.unneeded) == document.get("unneeded", {}).get("rules", [])


def test_a_yanked_release_can_be_had_where_it_is_asked_for_alone_and_else_says_why_not() -> None:
    document = world("troubled")
    cell = "demo1.0-py3.10-d2.0"
    fates = {f.cell.id: f for f in plan(matrix_of(document), catalogue_of(document)).fates}
    swept = fates[cell]
    assert isinstance(swept, Infeasible)
    assert "yanked (it ate files)" in swept.obstacle.because
    exact = 'package = "Demo", select = { specifier = "==1.0" } }'
    document["matrix"] = document["matrix"].replace('package = "Demo" }', exact)
    fates = {f.cell.id: f for f in plan(matrix_of(document), catalogue_of(document)).fates}
    assert told(fates[cell]) == "feasible"
