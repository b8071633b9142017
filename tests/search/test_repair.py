"""Repairs of cells in small worlds whose conflicts are known."""

import hashlib

import msgspec
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from support.memory_locker import MemoryLocker
from support.world import FRAME_MATRIX, catalogue_of, matrix_of, source_of

from compat.lock.lockfile import Inputs, Lock, Pin, Refusal
from compat.lock.recipe import inputs_of
from compat.plan.cell import parse_cell
from compat.plan.feasible import Feasibility
from compat.search.repair import Repairs, repairs

HASH = hashlib.sha256(b"").hexdigest()
WORLD = {
    "matrix": FRAME_MATRIX,
    "packages": [
        {
            "name": "frame",
            "releases": [
                {"version": "1.0", "files": ["frame-1.0-py3-none-any.whl"]},
                {"version": "2.0", "files": ["frame-2.0-py3-none-any.whl"]},
            ],
        },
        {
            "name": "lib",
            "releases": [
                {"version": "1.0", "files": ["lib-1.0-py3-none-any.whl"]},
                {"version": "1.1", "files": ["lib-1.1-py3-none-any.whl"]},
                {"version": "3.0", "files": ["lib-3.0-py3-none-any.whl"]},
            ],
        },
        {
            "name": "gone",
            "releases": [
                {"version": "0.4.13", "files": ["gone-0.4.13-py3-none-any.whl"]},
                {"version": "0.4.20", "files": ["gone-0.4.20-py3-none-any.whl"]},
            ],
        },
        {
            "name": "demo",
            "releases": [
                {
                    "version": "1.0",
                    "files": ["demo-1.0-py3-none-any.whl"],
                    "requires": ["frame ~=1.0", "lib ==1.0", "gone ==0.4.14", "six"],
                    "requires_python": ">=3.9",
                },
            ],
        },
    ],
}


def locker(*conflicts: tuple[str, str]) -> MemoryLocker:
    """A resolver for that world: it takes the newest release that is asked for and visible, and
    refuses what has none, and pairs of pins that cannot go together.
    """
    source = source_of(WORLD)

    def answer(inputs: Inputs) -> Lock | Refusal:
        pins: dict[str, Version] = {}
        for requirement in map(Requirement, inputs.requirements):
            name = canonicalize_name(requirement.name)
            if name in ("six", "pytest", "demo"):
                continue
            until = inputs.cutoff(name)
            visible = [
                release.version
                for release in source.package(name).releases
                if until is None or (release.uploaded is not None and release.uploaded < until)
            ]
            fitting = [v for v in visible if requirement.specifier.contains(v)]
            if not fitting:
                hidden = (name,) if not requirement.specifier else ()
                because = f"there is no version of {requirement}"
                return Refusal(
                    cause="no-artifact", subject=str(requirement), because=because, hidden=hidden
                )
            pins[name] = fitting[-1]
        for one, other in conflicts:
            name, version = one.split("==")
            second, minimum = other.split(">=")
            if pins.get(name) == Version(version) and pins[second] < Version(minimum):
                because = f"{one} depends on {other} and you require {second}=={pins[second]}"
                return Refusal(cause="conflict", subject=one, because=because)
        return Lock(
            inputs=inputs,
            pins=tuple(Pin(name=n, version=v, hashes=(HASH,)) for n, v in sorted(pins.items())),
            tool="memory",
        )

    return MemoryLocker(answer)


def repaired(cell: str, *conflicts: tuple[str, str]) -> Repairs:
    matrix = matrix_of(WORLD)
    facts = Feasibility(matrix, catalogue_of(WORLD))
    package_of = source_of(WORLD).package
    return repairs(facts, parse_cell(cell, matrix), locker(*conflicts), package_of)


def test_a_pin_that_is_gone_gives_way_alone() -> None:
    answer = repaired("py3.9-fr1-demo1.0")
    assert answer.is_complete
    [repair] = answer.repairs
    [moved] = repair.moved
    assert (moved.package, moved.published) == ("gone", "==0.4.14")
    # 0.4.13 is as near, and older.
    assert moved.version == Version("0.4.20")
    assert repair.rule is not None
    assert [r.package for r in repair.rule.relaxations] == ["gone"]
    assert answer.refusal == "demo 1.0 requires gone ==0.4.14, and the index has no such release"


def test_the_coordinates_of_the_cell_never_move() -> None:
    answer = repaired("py3.9-fr2-demo1.0", ("frame==2.0", "lib>=1.1"))
    assert answer.repairs
    for repair in answer.repairs:
        assert {pin.name: str(pin.version) for pin in repair.lock.pins}["frame"] == "2.0"
        assert {moved.package for moved in repair.moved} == {"gone", "lib"}


def test_what_moves_less_comes_first_and_a_date_moves_only_as_far_as_needed() -> None:
    answer = repaired("py3.9-fr2-demo1.0", ("frame==2.0", "lib>=1.1"))
    moved = {entry.package: entry for entry in answer.repairs[0].moved}
    # lib 3.0 came out sixty days after frame 1.0; frame 2.0 and lib 1.1 thirty days.
    assert moved["lib"].version == Version("1.1")
    assert moved["lib"].releases == 1


def test_a_pin_is_moved_to_the_nearest_release_that_does() -> None:
    # gone 0.4.20 is as near as 0.4.13 and newer; what the resolver takes by itself is the newest.
    [repair] = repaired("py3.9-fr2-demo1.0", ("gone==0.4.13", "lib>=1.1")).repairs
    [moved] = repair.moved
    assert (str(moved.version), moved.releases) == ("0.4.20", 1)


def test_a_python_that_is_not_declared_is_part_of_the_rule() -> None:
    [repair] = repaired("py3.8-fr1-demo1.0").repairs
    assert repair.rule is not None
    assert [(r.package, r.ignore_requires_python) for r in repair.rule.relaxations] == [
        ("demo", True),
        ("gone", False),
    ]


def test_the_rule_alone_makes_the_cell_lockable() -> None:
    matrix = matrix_of(WORLD)
    [repair] = repaired("py3.9-fr1-demo1.0").repairs
    assert repair.rule is not None
    declared = msgspec.structs.replace(matrix, rules=(repair.rule,))
    facts = Feasibility(declared, catalogue_of(WORLD))
    cell = parse_cell("py3.9-fr1-demo1.0+relaxed", declared)
    assert facts.obstacle(cell) is None
    assert "gone==0.4.20" in inputs_of(facts, cell).requirements


def test_what_nothing_mends_says_so() -> None:
    answer = repaired("py3.9-fr1-demo1.0", ("frame==1.0", "lib>=9"))
    assert answer.repairs == ()
    assert answer.is_complete
