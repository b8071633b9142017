"""What a declaration says of an axis beside its versions: extras, patches, releases of their own,
and constraints; from the text to the resolver's answer.
"""

import datetime
from typing import Any

import pytest
from support.fake_index import FakeIndex
from support.local_index import fill
from support.world import matrix_of, source_of

from compat.declare.load import load
from compat.errors import DeclarationError
from compat.index.discover import discover
from compat.lock.lockfile import Inputs, Lock, decode_lock, encode_lock
from compat.lock.recipe import inputs_of
from compat.lock.uv import UvLocker
from compat.plan.cell import axis_coordinates, parse_cell
from compat.plan.feasible import Feasibility

HEAD = """
name = "demo"
title = "Demo"
subject = "demo"
platform = "x86_64-manylinux_2_28"
margin_days = 1
suite = { path = "suite" }
HEAD_KEYS
axes = [
  { kind = "interpreter", name = "python", short = "py", releases = ["3.11", "3.12"] },
  { kind = "package", name = "dep", short = "dep", package = "dep", select = { DEP_KEYS } },
  { kind = "package", name = "demo", short = "demo", package = "demo"DEMO_KEYS },
]
"""
DEP = [(version, day, None, []) for day, version in enumerate(("1.0.0", "1.0.1", "1.0.2"), 1)]
PACKAGES: dict[str, list[tuple[str, int, str | None, list[str]]]] = {
    "dep": DEP,
    "demo": [
        ("1.0", 4, None, ["dep>=1.0.1", "free", "more>=2; extra == 'fast'", "old<2; extra=='x'"])
    ],
    "free": [("1.0", 1, None, []), ("2.0", 2, None, [])],
    "more": [("2.0", 1, None, []), ("3.0", 2, None, [])],
    "unused": [("1.0", 1, None, [])],
}


def text(dep: str = 'keep = "minor"', demo: str = "", head: str = "") -> str:
    return HEAD.replace("DEP_KEYS", dep).replace("DEMO_KEYS", demo).replace("HEAD_KEYS", head)


def facts_of(declaration: str) -> Feasibility:
    packages = [
        {
            "name": name,
            "releases": [
                {
                    "version": version,
                    "files": [f"{name}-{version}-py3-none-any.whl"],
                    "requires": requires,
                }
                for version, _, _, requires in releases
            ],
        }
        for name, releases in PACKAGES.items()
    ]
    document: dict[str, Any] = {"matrix": declaration, "packages": packages}
    matrix = matrix_of(document)
    return Feasibility(matrix, discover(matrix, source_of(document)))


@pytest.fixture
def locker(demo_index: FakeIndex, locker: UvLocker) -> UvLocker:
    fill(demo_index, PACKAGES)
    return locker


def asked(declaration: str, cell: str) -> Inputs:
    facts = facts_of(declaration)
    return inputs_of(facts, parse_cell(cell, facts.matrix))


def pins(locker: UvLocker, inputs: Inputs) -> dict[str, str]:
    answer = locker.lock(inputs)
    assert isinstance(answer, Lock), answer
    kept = encode_lock(answer)
    assert decode_lock(kept, "lock") == answer
    return {pin.name: str(pin.version) for pin in answer.pins}


CELL = "py3.11-dep1.0-demo1.0"


def test_a_series_is_locked_to_its_newest_patch_or_to_the_oldest_that_is_admitted(
    locker: UvLocker,
) -> None:
    assert pins(locker, asked(text(), CELL))["dep"] == "1.0.2"
    oldest = text('keep = "minor", patch = "oldest"')
    # The subject asks for 1.0.1; what stands on no axis stays at its newest.
    assert pins(locker, asked(oldest, CELL)) == {"demo": "1.0", "dep": "1.0.1", "free": "2.0"}


def test_a_release_of_its_own_stands_beside_its_series(locker: UvLocker) -> None:
    declaration = text('keep = "minor", also = ["1.0.1"]')
    facts = facts_of(declaration)
    versions = [
        str(coordinate.version)
        for coordinate in axis_coordinates(facts.matrix.packages[0], facts.catalogue)
    ]
    assert versions == ["1.0", "1.0.1"]
    assert pins(locker, asked(declaration, "py3.11-dep1.0.1-demo1.0"))["dep"] == "1.0.1"
    assert pins(locker, asked(declaration, CELL))["dep"] == "1.0.2"
    # The series stands for the release that is named, too.
    series = facts.releases(parse_cell(CELL, facts.matrix), facts.matrix.packages[0])
    assert [str(release.version) for release in series] == ["1.0.0", "1.0.1", "1.0.2"]


def test_extras_of_the_subject_are_installed_in_every_cell(locker: UvLocker) -> None:
    declaration = text(demo=', extras = ["fast"]', head="lowest = true")
    inputs = asked(declaration, CELL)
    assert "demo[fast]==1.0" in inputs.requirements
    assert pins(locker, inputs)["more"] == "3.0"
    lowest = asked(declaration, f"{CELL}+lowest")
    assert lowest.floors == ("dep>=1.0.1", "more>=2")
    assert pins(locker, lowest)["more"] == "2.0"


def test_a_constraint_bounds_and_brings_nothing(locker: UvLocker) -> None:
    inputs = asked(text(head='constraints = ["free<2", "unused<2"]'), CELL)
    assert pins(locker, inputs) == {"demo": "1.0", "dep": "1.0.2", "free": "1.0"}


def test_a_requirement_with_a_marker_holds_where_its_marker_does(locker: UvLocker) -> None:
    declaration = text(head="requirements = [\"unused; python_version < '3.12'\"]")
    assert pins(locker, asked(declaration, CELL))["unused"] == "1.0"
    assert "unused" not in pins(locker, asked(declaration, "py3.12-dep1.0-demo1.0"))


def test_what_is_not_said_leaves_the_question_as_it_was() -> None:
    inputs = asked(text(), CELL)
    assert (inputs.floors, inputs.constraints, inputs.index) == ((), (), "")
    assert inputs.requirements == ("demo==1.0", "dep==1.0.*")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (text('keep = "minor", also = ["1.0.0"]'), "'1.0.0' is the same version as its series"),
        (text('keep = "minor", also = ["1"]'), "select.also[0]: '1' is the same version"),
        (text('specifier = "<1", keep = "minor", also = ["1.0.1"]'), "is not selected by '<1'"),
        (text('keep = "minor", also = ["1.0.1", "1.0.1"]'), "stands at axes[1].select.also[0]"),
        (text('also = ["1.0.1"]'), "axes[1].select.also: each release is a coordinate already"),
        (text('patch = "oldest"'), "axes[1].select.patch: each release is a coordinate already"),
        (text('keep = "minor", patch = "first"'), "allowed: newest, oldest"),
        (text('keep = "minor", also = "1.0.1"'), "expected an array, got '1.0.1'"),
        (text(demo=', extras = ["fast!"]'), "'fast!' is not the name of an extra"),
        (text(head='constraints = ["free=2"]'), "'free=2' is not a requirement such as"),
        (text(head='constraints = "free<2"'), "constraints: expected an array"),
    ],
)
def test_a_wrong_declaration_is_one_line_with_its_place(wrong: str, told: str) -> None:
    with pytest.raises(DeclarationError) as refused:
        load(wrong.encode(), None, folder="demo", today=datetime.date(2026, 11, 23))
    (fault,) = refused.value.faults
    assert told in fault.line()
