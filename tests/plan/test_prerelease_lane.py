"""The lane of pre-releases: which release is tried, where it is looked for, and what is asked."""

import datetime
from typing import Any

import msgspec
import pytest
from packaging.version import Version
from support.world import matrix_of, source_of

from compat.declare.load import load
from compat.errors import DeclarationError
from compat.index.discover import decode_catalogue, discover, encode_catalogue
from compat.index.release import Catalogue, Package
from compat.lock.recipe import inputs_of
from compat.plan.feasible import Feasibility
from compat.plan.plan import cell_status, every_cell, facts_for, variant_cells

HEAD = """
name = "demo"
title = "Demo"
subject = "demo"
platform = "x86_64-manylinux_2_28"
margin_days = 10
suite = { path = "suite" }
prereleases = { axes = ["dep"]KEYS }
axes = [
  { kind = "interpreter", name = "python", short = "py", releases = ["3.9.18", "3.10.13"] },
  { kind = "package", name = "dep", short = "dep", package = "dep", select = { keep = "minor" } },
  { kind = "package", name = "demo", short = "demo", package = "demo" },
]
"""
# A release comes out thirty days after the one before it, the first on 1 January 2020.
DEP = ("1.0", "1.1rc1", "1.1", "1.2.dev1", "1.2rc1")


def release(package: str, version: str, **more: Any) -> dict[str, Any]:
    return {"version": version, "files": [f"{package}-{version}-py3-none-any.whl"], **more}


def document(keys: str = "") -> dict[str, Any]:
    demo = [
        release("demo", "1.0", requires=["dep<1.2"]),
        release("demo", "2.0", requires=["dep>=1.1"], requires_python=">=3.10"),
    ]
    packages = [
        {"name": "dep", "releases": [release("dep", version) for version in DEP]},
        {"name": "demo", "releases": demo},
    ]
    return {"matrix": HEAD.replace("KEYS", keys), "packages": packages}


def discovered(keys: str = "", others: dict[str, Package] | None = None) -> Feasibility:
    listed = document(keys)
    matrix, source = matrix_of(listed), source_of(listed)
    source.others["https://example.org/nightly/"] = others or {}
    return Feasibility(matrix, discover(matrix, source))


def tried(facts: Feasibility) -> list[str]:
    return [str(r.version) for package in facts.catalogue.prereleases for r in package.releases]


def test_the_newest_pre_release_that_is_newer_than_every_final_one_is_tried() -> None:
    assert tried(discovered()) == ["1.2rc1"]


@pytest.mark.parametrize(
    ("day", "version"),
    [
        # Of what was out before that day: 1.0 and 1.1rc1; then 1.1 too, so that nothing is newer.
        ("2020-02-15", ["1.1rc1"]),
        ("2020-03-15", []),
        ("2020-04-15", ["1.2.dev1"]),
    ],
)
def test_a_day_looks_at_what_was_out_before_it(day: str, version: list[str]) -> None:
    assert tried(discovered(f", as_of = {day}")) == version


def test_an_index_of_its_own_is_asked_for_the_pre_release_alone() -> None:
    nightly = source_of(
        {"packages": [{"name": "dep", "releases": [release("dep", "1.3.dev20200101")]}]}
    )
    keys = ', index = "https://example.org/nightly/"'
    facts = discovered(keys, {"dep": nightly.package("dep")})
    assert tried(facts) == ["1.3.dev20200101"]
    assert Version("1.3.dev20200101") not in [
        release.version for release in facts.catalogue.package("dep").releases
    ]
    cell = next(cell for cell in variant_cells(facts) if cell_status(facts_for(facts, cell), cell))
    assert inputs_of(facts_for(facts, cell), cell).index == "https://example.org/nightly/"
    assert tried(discovered(keys)) == []


def test_its_cells_have_the_pre_release_in_the_place_of_the_axis() -> None:
    facts = discovered()
    assert [cell.id for cell in variant_cells(facts)] == [
        f"py{python}-dep1.2rc1-demo{demo}+prerelease"
        for python in ("3.9", "3.10")
        for demo in ("1.0", "2.0")
    ]
    assert not any("rc" in cell.id for cell in every_cell(facts))


def test_what_the_metadata_refuses_is_not_tried() -> None:
    facts = discovered()
    fates = {cell.id: facts_for(facts, cell).obstacle(cell) for cell in variant_cells(facts)}
    kinds = {cell: obstacle and obstacle.kind for cell, obstacle in fates.items()}
    assert kinds == {
        # By PEP 440 a pre-release of 1.2 does not satisfy <1.2.
        "py3.9-dep1.2rc1-demo1.0+prerelease": "conflicting-pin",
        "py3.9-dep1.2rc1-demo2.0+prerelease": "requires-python",
        "py3.10-dep1.2rc1-demo1.0+prerelease": "conflicting-pin",
        "py3.10-dep1.2rc1-demo2.0+prerelease": None,
    }


def test_it_is_asked_for_exactly_as_of_now() -> None:
    facts = discovered()
    cell = list(variant_cells(facts))[-1]
    asked = inputs_of(facts_for(facts, cell), cell)
    assert asked.requirements == ("demo==2.0", "dep==1.2rc1")
    assert (asked.no_prereleases, asked.as_of, asked.index) == (("demo",), None, "")


def test_a_kept_catalogue_has_the_pre_release_and_none_where_no_lane_is_declared() -> None:
    facts = discovered()
    text = encode_catalogue(facts.catalogue, facts.matrix)
    assert decode_catalogue(text, "kept").prerelease(
        facts.matrix.prerelease_axes[0]
    ) == without_addresses(facts.catalogue)
    bare = msgspec.structs.replace(facts.catalogue, prereleases=())
    assert "prereleases" not in encode_catalogue(bare, facts.matrix)


def without_addresses(catalogue: Catalogue) -> Any:
    (package,) = catalogue.prereleases
    (known,) = package.releases
    files = tuple(
        msgspec.structs.replace(file, url="", sha256=None, has_metadata=None)
        for file in known.artifacts
    )
    return msgspec.structs.replace(known, artifacts=files)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ('{ axes = ["depp"] }', "prereleases.axes[0]: 'depp' is no package axis of a dependency"),
        ('{ axes = ["demo"] }', "prereleases.axes[0]: 'demo' is the subject"),
        ('{ axes = ["python"] }', "prereleases.axes[0]: 'python' is no package axis"),
        ('{ axes = ["dep", "dep"] }', "'dep' stands at prereleases.axes[0] already"),
        ("{ axes = [] }", "prereleases.axes: has 0 entries"),
        ("{ index = 'https://example.org/' }", "missing key 'axes'"),
        ("{ axes = ['dep'], index = 'http://example.org/' }", "is not the address of a package"),
        ("{ axes = ['dep'], index = 'https://me:pw@example.org/' }", "without a password"),
        ("{ axes = ['dep'], as_of = 'May' }", "is not a date such as"),
        ("true", "prereleases: expected a table, got true"),
    ],
)
def test_a_wrong_lane_is_one_line_with_its_place(table: str, told: str) -> None:
    text = HEAD.replace('{ axes = ["dep"]KEYS }', table)
    with pytest.raises(DeclarationError) as refused:
        load(text.encode(), None, folder="demo", today=datetime.date(2026, 11, 23))
    (fault,) = refused.value.faults
    assert told in fault.line()
