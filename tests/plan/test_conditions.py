"""When a rule holds: a coordinate outside, below or above what the subject's own metadata
admits.
"""

import pytest
from support.world import catalogue_of, matrix_of, world

from compat.plan.cell import parse_cell
from compat.plan.feasible import Feasibility


@pytest.mark.parametrize(
    ("cell", "holding"),
    [
        # demo 1.0 asks for dep 1, demo 2.0 for dep 2.
        ("py3.8-dep1-demo1.0+relaxed", ()),
        ("py3.8-dep2-demo1.0+relaxed", ("moved", "newer")),
        ("py3.8-dep1-demo2.0+relaxed", ("moved", "older")),
        ("py3.8-dep2-demo2.0+relaxed", ()),
    ],
)
def test_a_moved_coordinate_is_older_or_newer(cell: str, holding: tuple[str, ...]) -> None:
    document = world("published")
    words = ("moved", "older", "newer")
    rules = ",".join(
        f'{{ name = "{word}", effect = "relax", because = "it is tried here", when = {{ dep ='
        f' "{word}" }}, relaxations = [{{ package = "dep", to = "any" }}] }}'
        for word in words
    )
    document["matrix"] = document["matrix"].split("rules = [")[0] + f"rules = [{rules}]\n"
    matrix = matrix_of(document)
    facts = Feasibility(matrix, catalogue_of(document))
    assert tuple(rule.name for rule in facts.rules.relaxing(parse_cell(cell, matrix))) == holding


def test_a_coordinate_in_a_gap_of_what_is_admitted_is_neither_older_nor_newer() -> None:
    document = world("published")
    demo = next(package for package in document["packages"] if package["name"] == "demo")
    demo["releases"][0]["requires"] = ["dep !=2.*"]
    document["matrix"] = document["matrix"].replace(
        'keep = "major"', 'keep = "major", prereleases = true'
    )
    matrix = matrix_of(document)
    facts = Feasibility(matrix, catalogue_of(document))
    cell = parse_cell("py3.8-dep2-demo1.0+relaxed", matrix)
    assert [facts.moved(cell, "dep", word) for word in ("moved", "older", "newer")] == [
        True,
        False,
        False,
    ]
