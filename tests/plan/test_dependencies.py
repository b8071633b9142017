"""What the subject pins is read one level deep, and only what no resolver could mend rules a cell
out.
"""

import msgspec
import pytest
from support.world import catalogue_of, matrix_of, source_of, world

from compat.declare.matrix import Source
from compat.index.discover import discover
from compat.index.release import Catalogue
from compat.plan.cell import parse_cell
from compat.plan.feasible import Feasibility
from compat.plan.plan import explain

DOCUMENT = world("dependencies")
MATRIX = matrix_of(DOCUMENT)
CATALOGUE = catalogue_of(DOCUMENT)


def because(cell: str, catalogue: Catalogue = CATALOGUE) -> str | None:
    found = Feasibility(MATRIX, catalogue).obstacle(parse_cell(cell, MATRIX))
    return None if found is None else found.because


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        (
            "py3.10-dep1-demo1.0",
            (
                "demo 1.0 requires engine ==1.0: 1.0 has no file for Python 3.10 on"
                " x86_64-manylinux_2_28"
            ),
        ),
        ("py3.9-dep1-demo1.1", "demo 1.1 requires engine ==9.0, and the index has no such release"),
        ("py3.9-dep2-demo1.2", "demo 1.2 requires engine ~=2.0: 2.0 requires dep <2, not 2.0"),
        (
            "py3.9-dep1-demo1.3",
            "demo 1.3 requires engine ==2.0: 2.0 requires part >=2; demo 1.3 requires part ==1.*",
        ),
        (
            "py3.9-dep1-demo1.4",
            "demo 1.4 requires young ==1.0: 1.0 requires Python >=3.10, not 3.9",
        ),
        (
            "py3.10-dep3-demo1.2+relaxed",
            (
                "demo 1.2 requires engine: 1.0 has no file for"
                " Python 3.10 on x86_64-manylinux_2_28; 2.0 requires dep <2, not 3.0; 3.0 requires"
                " dep ==2.*, not 3.0"
            ),
        ),
    ],
)
def test_the_sentence_names_the_real_package_and_both_sides(cell: str, sentence: str) -> None:
    assert because(cell) == sentence
    assert (
        explain(Feasibility(MATRIX, CATALOGUE), parse_cell(cell, MATRIX))[-1]
        == f"infeasible: {sentence}"
    )


def test_an_archive_that_may_have_what_the_index_lacks_is_named() -> None:
    archive = Source(
        package="Engine",
        find_links="https://wheels.example/all.html",
        because="Old ones stand there.",
    )
    known = Feasibility(msgspec.structs.replace(MATRIX, sources=(archive,)), CATALOGUE)
    for cell, is_named in (("py3.9-dep1-demo1.1", True), ("py3.9-dep2-demo1.2", False)):
        found = known.obstacle(parse_cell(cell, MATRIX))
        assert found is not None
        named = " (pip with --find-links https://wheels.example/all.html may find it)"
        assert found.because.endswith(named) is is_named


def test_a_bound_of_a_rule_on_a_third_package_rules_nothing_out() -> None:
    old = MATRIX.rules
    bound = tuple(
        msgspec.structs.replace(
            rule,
            relaxations=tuple(
                msgspec.structs.replace(r, to="==9.0") if r.package == "engine" else r
                for r in rule.relaxations
            ),
        )
        for rule in old
    )
    assert bound != old
    known = Feasibility(msgspec.structs.replace(MATRIX, rules=bound), CATALOGUE)
    for cell in ("py3.9-dep1-demo1.2+relaxed", "py3.10-dep3-demo1.2+relaxed"):
        asked = parse_cell(cell, MATRIX)
        assert known.obstacle(asked) == Feasibility(MATRIX, CATALOGUE).obstacle(asked)
    found = known.obstacle(parse_cell("py3.10-dep3-demo1.2+relaxed", MATRIX))
    assert found is not None
    assert found.package == "engine"


def test_what_is_not_known_rules_nothing_out() -> None:
    unread = tuple(
        msgspec.structs.replace(
            found,
            releases=tuple(msgspec.structs.replace(r, published=None) for r in found.releases),
        )
        for found in CATALOGUE.required
    )
    assert (
        because("py3.9-dep2-demo1.2", msgspec.structs.replace(CATALOGUE, required=unread)) is None
    )
    assert because("py3.9-dep1-demo1.1", msgspec.structs.replace(CATALOGUE, required=())) is None


def test_a_pin_that_nobody_asked_the_index_about_rules_nothing_out() -> None:
    # The catalogue was kept before demo 1.1 came out, which pins another engine.
    early = tuple(
        msgspec.structs.replace(
            found, whole=False, pins=tuple(p for p in found.pins if p != "==9.0")
        )
        for found in CATALOGUE.required
    )
    assert because("py3.9-dep1-demo1.1", msgspec.structs.replace(CATALOGUE, required=early)) is None


def test_metadata_is_read_only_of_releases_that_a_pin_admits_and_only_where_it_says_something() -> (
    None
):
    asked: list[str] = []
    source = source_of(DOCUMENT)
    read = source.published
    source.published = lambda artifact: (asked.append(artifact.filename), read(artifact))[1]
    catalogue = discover(MATRIX, source)
    assert {found.name for found in catalogue.required} == {
        "engine",
        "part",
        "young",
        "old",
        "sealed",
        "gone",
    }
    assert "part-2.0-py3-none-any.whl" not in asked
    assert all("win" not in name for name in asked)
