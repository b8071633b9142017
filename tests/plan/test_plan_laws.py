"""Laws of the plan: over any small matrix it is a partition of the product, the same each time, ids
round-trip.
"""

import datetime
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.tags import parse_tag
from packaging.version import Version
from support.world import catalogue_of, matrix_of, world

from compat.declare.matrix import (
    InterpreterAxis,
    Matrix,
    PackageAxis,
    Relaxation,
    Rule,
    Selector,
    Suite,
    When,
)
from compat.errors import UsageError
from compat.index.release import Artifact, Catalogue, Package, Published, Release
from compat.plan.cell import RECIPES, Cell, Coordinate, parse_cell, product
from compat.plan.feasible import Feasibility
from compat.plan.plan import Feasible, Infeasible, counts, explain, plan

VERSIONS = st.builds(
    lambda major, minor, patch: Version(f"{major}.{minor}.{patch}"),
    *(st.integers(min_value=0, max_value=3),) * 3,
)
WHEN = datetime.datetime(2024, 5, 1, tzinfo=datetime.timezone.utc)
TAGS = ("py3-none-any", "cp39-cp39-manylinux_2_17_x86_64", "cp311-cp311-win_amd64")
PINS = ("dep", "dep<2", "dep~=1.0", "other>=1", "dep==9; python_version < '3.10'")


def axis_package(name: str) -> st.SearchStrategy[Package]:
    def release(version: Version, tag: str, yanked: bool, pins: list[str]) -> Release:
        filename = f"{name}-{version}-{tag}.whl"
        artifact = Artifact(
            filename=filename, url=filename, tags=parse_tag(tag), uploaded=WHEN, yanked=yanked
        )
        published = Published(requires_python=None, requires_dist=tuple(pins))
        return Release(version=version, artifacts=(artifact,), published=published)

    releases = st.lists(
        st.builds(
            release,
            VERSIONS,
            st.sampled_from(TAGS),
            st.booleans(),
            st.lists(st.sampled_from(PINS), max_size=2),
        ),
        max_size=6,
        unique_by=lambda release: release.version,
    )
    return releases.map(
        lambda found: Package(name=name, releases=tuple(sorted(found, key=lambda r: r.version)))
    )


def matrix(keep: str, rules: tuple[Rule, ...] = ()) -> Matrix:
    python = InterpreterAxis(
        name="python", short="py", releases=(Version("3.9.18"), Version("3.11.7"))
    )
    dep = PackageAxis(name="dep", short="dep", package="dep", select=Selector(keep=keep))
    demo = PackageAxis(name="demo", short="demo", package="demo")
    return Matrix(
        name="demo",
        title="Demo",
        subject="demo",
        platform="x86_64-manylinux_2_28",
        margin_days=0,
        axes=(python, dep, demo),
        suite=Suite(path="suite"),
        rules=rules,
    )


def relaxing(*relaxations: Relaxation, when: str = "") -> Rule:
    conditions = When((("demo", SpecifierSet(when)),)) if when else When(())
    return Rule(name="r", effect="relax", because="tried", when=conditions, relaxations=relaxations)


CATALOGUES = st.tuples(axis_package("dep"), axis_package("demo")).map(
    lambda found: Catalogue(packages=found)
)
KEPT = st.sampled_from(["each", "minor", "major"])


DEEP = relaxing(Relaxation(package="deep", to="any", everywhere=True))


@given(CATALOGUES, KEPT, st.booleans())
def test_a_plan_is_a_partition_of_the_product(
    catalogue: Catalogue, keep: str, relaxed: bool
) -> None:
    asked = matrix(keep, (DEEP,) if relaxed else ())
    made = plan(asked, catalogue)
    fields = {"each": 3, "minor": 2, "major": 1}[keep]
    deps = {r.version.release[:fields] for r in catalogue.package("dep").releases}
    demos = {r.version for r in catalogue.package("demo").releases}
    expected = len(deps) * len(demos) * 2 * (len(RECIPES) if relaxed else len(RECIPES) - 1)
    ids = [fate.cell.id for fate in made.fates]
    assert len(ids) == len(set(ids)) == expected
    assert sum(counter.total() for counter in counts(made.fates).values()) == expected


@given(CATALOGUES, st.sampled_from(PINS), st.sampled_from(["", "<2", ">=2"]))
def test_a_relaxed_cell_is_planned_exactly_where_a_rule_changes_something(
    catalogue: Catalogue, pin: str, when: str
) -> None:
    package = Requirement(pin).name
    asked = matrix("each", (relaxing(Relaxation(package=package, to="any"), when=when),))
    facts = Feasibility(asked, catalogue)
    planned = {fate.cell.id for fate in plan(asked, catalogue).fates}
    for place in product(asked, catalogue):
        cell = Cell(matrix="demo", coordinates=place, recipe="relaxed")
        version, python = cell.on("demo").version, cell.on("python").version
        names = {requirement.name for requirement in facts.requirements(version, python)}
        holds = version in SpecifierSet(when) and package in names
        assert (cell.id in planned) == holds


@given(CATALOGUES, KEPT)
def test_the_same_catalogue_gives_the_same_plan(catalogue: Catalogue, keep: str) -> None:
    assert plan(matrix(keep), catalogue) == plan(matrix(keep), catalogue)


@given(CATALOGUES, KEPT)
def test_an_id_parses_back_to_its_cell(catalogue: Catalogue, keep: str) -> None:
    asked = matrix(keep)
    for fate in plan(asked, catalogue).fates:
        assert parse_cell(fate.cell.id, asked) == fate.cell


@given(CATALOGUES)
def test_the_explanation_of_a_cell_ends_in_its_fate(catalogue: Catalogue) -> None:
    asked = matrix("minor")
    facts = Feasibility(asked, catalogue)
    for fate in itertools.islice(plan(asked, catalogue).fates, 20):
        last = explain(facts, fate.cell)[-1]
        assert last.startswith("infeasible: " if isinstance(fate, Infeasible) else "feasible: ")


def test_an_interpreter_that_this_machine_lacks_is_an_obstacle_only_when_asked() -> None:
    document = world("published")
    asked, catalogue = matrix_of(document), catalogue_of(document)
    cell = "py3.8-dep1-demo1.0"
    anywhere = {fate.cell.id: fate for fate in plan(asked, catalogue).fates}
    here = {
        fate.cell.id: fate for fate in plan(asked, catalogue, frozenset({Version("3.9")})).fates
    }
    assert isinstance(anywhere[cell], Feasible)
    missing = here[cell]
    assert isinstance(missing, Infeasible)
    assert missing.obstacle.kind == "no-interpreter"
    assert "uv python install 3.8" in missing.obstacle.because


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "py3.9-dep1",
            "does not have the form py<version>-dep<version>-demo<version>[+dated|+relaxed]",
        ),
        ("py3.9-dep1-demo1.0+relxed", "did you mean 'relaxed'?"),
        ("py3.9-dep1-demo1.0+fresh", "'fresh' is none of dated, relaxed"),
        ("py3.9-dep1-tool1.0", "'tool1.0' is not 'demo' and a version"),
        ("py3.9-dep1-demo", "'demo' is not 'demo' and a version"),
        ("py3.9-dep1-demo1.0.RC1", "'demo1.0.RC1' is not 'demo' and a version in its normal form"),
        ("", "does not have the form"),
    ],
)
def test_a_wrong_id_is_told_by_the_part_that_is_wrong(text: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_cell(text, matrix("each"))
    assert told in str(caught.value)


def test_the_recipe_stands_behind_the_place_unless_it_is_fresh() -> None:
    place = (Coordinate(axis="dep", short="dep", version=Version("2.1")),)
    assert [Cell(matrix="demo", coordinates=place, recipe=recipe).id for recipe in RECIPES] == [
        "dep2.1",
        "dep2.1+dated",
        "dep2.1+relaxed",
    ]
