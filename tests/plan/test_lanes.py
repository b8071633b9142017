"""Lanes: cells beside the grid, that a matrix has where it declares them."""

from pathlib import Path

import msgspec
import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from support.world import matrix_of, source_of, world

from compat.declare.load import decode_matrix
from compat.errors import EmptyVariant, UsageError
from compat.index.discover import decode_catalogue, discover, encode_catalogue
from compat.lock.lockfile import decode_lock, encode_lock
from compat.lock.recipe import inputs_of
from compat.plan.cell import RECIPES, VARIANTS, parse_cell
from compat.plan.feasible import Feasibility
from compat.plan.plan import every_cell, facts_for, named_cells, plan, variant_cells, why_not_lowest

ROOT = Path(__file__).parents[2]
DOCUMENT = world("patches")


def facts(*, lowest: bool = True) -> Feasibility:
    matrix = msgspec.structs.replace(matrix_of(DOCUMENT), lowest=lowest)
    return Feasibility(matrix, discover(matrix, source_of(DOCUMENT)))


def test_a_matrix_that_declares_no_lane_has_none() -> None:
    assert not tuple(variant_cells(facts(lowest=False)))


def test_no_lane_stands_in_the_plan() -> None:
    with_lane, without = facts(), facts(lowest=False)
    assert plan(with_lane.matrix, with_lane.catalogue) == plan(without.matrix, without.catalogue)
    assert {cell.recipe for cell in every_cell(with_lane)} <= set(RECIPES)


def test_each_python_and_release_has_the_lowest_place_that_the_release_admits() -> None:
    assert [cell.id for cell in variant_cells(facts())] == [
        # 1.0.3, the newest of its series, asks for dep 2.1.
        "py3.9-dep2-tool1-demo1.0+lowest",
        "py3.9-dep1-tool1-demo1.1+lowest",
        "py3.9-dep1-tool1-demo1.2+lowest",
        "py3.9-dep1-tool1-demo1.3+lowest",
        "py3.9-dep1-tool2-demo1.4+lowest",
        # 1.5.1 needs Python 3.10.
        "py3.10-dep2-tool1-demo1.0+lowest",
        "py3.10-dep1-tool1-demo1.1+lowest",
        "py3.10-dep1-tool1-demo1.2+lowest",
        "py3.10-dep1-tool1-demo1.3+lowest",
        "py3.10-dep1-tool2-demo1.4+lowest",
        "py3.10-dep1-tool1-demo1.5+lowest",
    ]


def test_a_glob_without_a_plus_names_no_cell_of_a_lane() -> None:
    known = facts()
    assert not any(cell.is_variant for cell in named_cells(known, ["*"]))
    assert {cell.recipe for cell in named_cells(known, ["*+lowest"])} == {"lowest"}


def test_an_id_of_a_lane_that_is_not_declared_is_refused() -> None:
    cell = next(variant_cells(facts())).id
    assert [c.id for c in named_cells(facts(), [cell])] == [cell]
    with pytest.raises(UsageError, match="no cell of matrix"):
        named_cells(facts(lowest=False), [cell])


def test_a_recipe_that_there_is_not_is_named_with_those_that_there_are() -> None:
    place = next(variant_cells(facts())).place
    with pytest.raises(UsageError, match=r"none of dated, relaxed, lowest, prerelease"):
        parse_cell(f"{place}+lower", facts().matrix)
    assert not set(VARIANTS) & set(RECIPES)


def test_the_floors_of_a_lowest_cell_are_what_its_release_declares() -> None:
    known = facts()
    cell = parse_cell("py3.9-dep2-tool1-demo1.0+lowest", known.matrix)
    asked = inputs_of(known, cell)
    assert asked.as_of is None
    assert "demo==1.0.3" in asked.requirements
    assert asked.floors == ("dep>=2.1",)


LOCKS = sorted((ROOT / "matrices").glob("*/locks/*.txt"))


@pytest.mark.parametrize("name", sorted({path.parts[-3] for path in LOCKS}))
def test_the_committed_locks_keep_their_ids_and_their_bytes(name: str) -> None:
    folder = ROOT / "matrices" / name
    matrix = decode_matrix((folder / "matrix.toml").read_bytes(), name)
    for path in LOCKS:
        if path.parts[-3] == name:
            text = path.read_text(encoding="utf-8")
            assert parse_cell(path.stem, matrix).id == path.stem
            assert encode_lock(decode_lock(text, path.name)) == text


# The axis begins at 2, and what is declared is 1.5; wheels of 1.6 are for Python 3.9 alone.
NARROW = {
    "matrix": """
name = "demo"
title = "Demo"
subject = "demo"
platform = "x86_64-manylinux_2_28"
margin_days = 10
lowest = true
prereleases = { axes = ["dep"] }
suite = { path = "suite" }
axes = [
  { kind = "interpreter", name = "python", short = "py", releases = ["3.9.18", "3.10.13"] },
  { kind = "package", name = "dep", short = "dep", package = "dep",
    select = { specifier = ">=2", keep = "minor" } },
  { kind = "package", name = "demo", short = "demo", package = "demo" },
]
""".replace('"dep",\n    select', '"dep", select'),
    "packages": [
        {
            "name": "dep",
            "releases": [
                {"version": "1.0", "files": ["dep-1.0-py3-none-any.whl"]},
                {"version": "1.5.1", "files": ["dep-1.5.1.tar.gz"]},
                {
                    "version": "1.6.2",
                    "files": [
                        "dep-1.6.2-cp39-cp39-manylinux_2_17_x86_64.whl",
                        "dep-1.6.2-cp39-cp39-win_amd64.whl",
                    ],
                },
                {"version": "1.7.0", "files": ["dep-1.7.0-py3-none-any.whl"]},
                {"version": "2.0.0", "files": ["dep-2.0.0-py3-none-any.whl"]},
            ],
        },
        {
            "name": "demo",
            "releases": [
                {
                    "version": "1.0",
                    "files": ["demo-1.0-py3-none-any.whl"],
                    "requires": ["dep>=1.5"],
                }
            ],
        },
    ],
}


class TestTheAxisBeginsAboveWhatIsDeclared:
    """The lane asks for the lowest release that is declared and can be installed, and says why it
    is not the declared one.
    """

    @staticmethod
    def facts(kept: bool) -> Feasibility:
        matrix = matrix_of(NARROW)
        catalogue = discover(matrix, source_of(NARROW))
        if kept:
            catalogue = decode_catalogue(encode_catalogue(catalogue, matrix), "text")
        return Feasibility(matrix, catalogue)

    @pytest.mark.parametrize("kept", [False, True])
    def test_and_the_lowest_for_each_python_is_asked(self, kept: bool) -> None:
        known = self.facts(kept)
        cells = list(variant_cells(known))
        assert [cell.id for cell in cells] == [
            "py3.9-dep1.6-demo1.0+lowest",
            "py3.10-dep1.7-demo1.0+lowest",
        ]
        for cell in cells:
            own = facts_for(known, cell)
            assert own.obstacle(cell) is None
            assert inputs_of(own, cell).floors == ("dep>=1.5",)
        assert [cell.id for cell in every_cell(known) if cell.recipe == "fresh"] == [
            "py3.9-dep2.0-demo1.0",
            "py3.10-dep2.0-demo1.0",
        ]

    @pytest.mark.parametrize(
        ("cell", "declared", "installed", "because"),
        [
            ("py3.9-dep1.6-demo1.0", "dep>=1.5", "1.6.2", "1.5.1 has no wheel for Python 3.9"),
            ("py3.10-dep1.7-demo1.0", "dep>=1.6", "1.7.0", "1.6.2 has no file for Python 3.10"),
            ("py3.9-dep1.7-demo1.0", "dep>=1.5", "1.7.0", "1.6.2 has a wheel here, and the rest"),
            ("py3.10-dep1.7-demo1.0", "dep>=1.6.9", "1.7.0", "the index has no 1.6.9"),
            ("py3.10-dep1.7-demo1.0", "other>=1", "2", ""),
        ],
    )
    def test_and_the_reason_is_the_true_one(
        self, cell: str, declared: str, installed: str, because: str
    ) -> None:
        known = self.facts(True)
        asked = parse_cell(f"{cell}+lowest", known.matrix)
        words = why_not_lowest(known, asked, Requirement(declared), Version(installed))
        assert words.startswith(because)
        assert bool(words) is bool(because)

    def test_a_lane_that_has_no_cell_today_is_no_wrong_use(self) -> None:
        known = self.facts(True)
        with pytest.raises(EmptyVariant, match="no pre-release of dep is newer") as raised:
            named_cells(known, ["*+prerelease"])
        assert raised.value.exit_code == 0
        both = named_cells(known, ["*+prerelease", "py3.9*+lowest"])
        assert [cell.id for cell in both] == ["py3.9-dep1.6-demo1.0+lowest"]
        for wrong in ("py8*+prerelease", "*+prereleas"):
            with pytest.raises(UsageError, match=r"\|\+lowest\|\+prerelease"):
                named_cells(known, [wrong])
