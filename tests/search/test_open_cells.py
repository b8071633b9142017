"""Which cell is asked about next."""

from collections.abc import Sequence

from packaging.version import Version

from compat.plan.cell import Cell, Coordinate, Recipe
from compat.search.open_cells import OpenCells


def cell(frame: int, release: int, recipe: Recipe = "fresh") -> Cell:
    coordinates = (
        Coordinate(axis="frame", short="fr", version=Version(str(frame))),
        Coordinate(axis="demo", short="demo", version=Version(f"{release}.0")),
    )
    return Cell(matrix="demo", coordinates=coordinates, recipe=recipe)


def order(cells: Sequence[Cell]) -> list[str]:
    waiting = OpenCells(cells, "demo")
    return [asked.id for _ in cells if (asked := waiting.next()) is not None]


def test_every_cell_is_asked_about_once() -> None:
    cells = [cell(frame, release) for frame in (1, 2) for release in range(1, 6)]
    assert sorted(order(cells)) == sorted(each.id for each in cells)
    assert OpenCells([], "demo").next() is None


def test_the_largest_group_comes_first_and_its_middle_before_its_ends() -> None:
    cells = [*(cell(1, release) for release in (1, 2)), *(cell(2, r) for r in range(1, 8))]
    assert order(cells)[:2] == ["fr2-demo4.0", "fr2-demo1.0"]


def test_a_group_that_was_asked_waits_for_the_others() -> None:
    cells = [cell(frame, release) for frame in (1, 2, 3) for release in range(1, 4)]
    assert {name.partition("-")[0] for name in order(cells)[:3]} == {"fr1", "fr2", "fr3"}


def test_what_is_answered_is_asked_no_more() -> None:
    waiting = OpenCells([cell(1, release) for release in range(1, 6)], "demo")
    closed = waiting.close(lambda each: each.versions[1] < Version("4.0"))
    assert {each.id for each in closed} == {f"fr1-demo{release}.0" for release in (1, 2, 3)}
    assert len(waiting) == 2
    assert {each.id for _ in range(2) if (each := waiting.next())} == {"fr1-demo4.0", "fr1-demo5.0"}


def test_the_recipes_are_groups_of_their_own() -> None:
    cells = [cell(1, 1), cell(1, 1, "relaxed"), cell(1, 2, "relaxed")]
    assert order(cells)[0] == "fr1-demo2.0+relaxed"


def test_of_cells_that_ask_for_the_same_the_oldest_comes_first() -> None:
    cells = [cell(1, release) for release in range(1, 8)]
    waiting = OpenCells(cells, "demo", lambda each: each.versions[1] < Version("3.0"))
    first = waiting.next()
    assert first == cell(1, 3)
    waiting.close(lambda each: each.versions[1] > Version("3.0"))
    assert waiting.next() == cell(1, 1)
