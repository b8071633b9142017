"""How long a cell will take."""

from support.made_records import ran
from support.world import matrix_of, world

from compat.plan.cell import Cell, parse_cell
from compat.results.runs import Durations

MATRIX = matrix_of(world("floors"))


def cell(text: str) -> Cell:
    return parse_cell(text, MATRIX)


def known(**seconds: list[float]) -> Durations:
    ran_so = {"same": "py3.9-d3-demo3.0", "beside": "py3.10-d3-demo3.0", "far": "py3.7-d6-demo1.0"}
    return Durations(
        (cell(ran_so[name]), [ran("pass", seconds=s) for s in taken])
        for name, taken in seconds.items()
    )


def test_a_cell_takes_as_long_as_the_median_of_its_own_runs() -> None:
    assert known(same=[10, 30, 500], beside=[900]).of(cell("py3.9-d3-demo3.0")) == 30


def test_an_untested_cell_takes_as_long_as_its_neighbours_in_coordinate_or_recipe() -> None:
    found = known(same=[10], beside=[30], far=[500])
    assert found.of(cell("py3.11-d3-demo3.0")) == 20
    assert found.of(cell("py3.9-d3-demo3.0+dated")) == 10


def test_a_cell_without_neighbours_takes_as_long_as_all_and_in_an_empty_matrix_nobody_knows() -> (
    None
):
    assert known(same=[10], beside=[30], far=[500]).of(cell("py3.8-d4-demo2.0")) == 30
    assert known().of(cell("py3.8-d4-demo2.0")) is None
    assert known(same=[0.0]).together([cell("py3.8-d4-demo2.0")], 1) is None


def test_cells_side_by_side_take_their_share_but_never_less_than_the_longest() -> None:
    found = known(same=[10], beside=[30], far=[500])
    cells = [cell("py3.9-d3-demo3.0"), cell("py3.10-d3-demo3.0")]
    assert found.together(cells, 1) == 40
    assert found.together(cells, 2) == 30
    assert found.together([], 2) == 0


def test_a_cell_that_could_not_be_locked_says_nothing_about_time() -> None:
    assert known(same=[0.0], far=[50]).of(cell("py3.9-d3-demo3.0")) == 50
