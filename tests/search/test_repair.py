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
from compat.search.repair import Repair, repaired_cell

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
    """A resolver for that world: it takes the newest release that is asked for and visible, of
    floors the oldest, and refuses what has none, and pairs of pins that cannot go together.
    """
    source = source_of(WORLD)

    def answer(inputs: Inputs) -> Lock | Refusal:
        pins: dict[str, Version] = {}
        asked: dict[str, list[Requirement]] = {}
        for line in (*inputs.requirements, *inputs.floors, *inputs.constraints):
            requirement = Requirement(line)
            asked.setdefault(canonicalize_name(requirement.name), []).append(requirement)
        floors = {canonicalize_name(Requirement(line).name) for line in inputs.floors}
        for name, requirements in asked.items():
            if name in ("six", "pytest", "demo"):
                continue
            until = inputs.cutoff(name)
            fitting = [
                release.version
                for release in source.package(name).releases
                if all(r.specifier.contains(release.version) for r in requirements)
            ]
            visible = [
                release.version
                for release in source.package(name).releases
                if release.version in fitting
                and (until is None or (release.uploaded is not None and release.uploaded < until))
            ]
            if not visible:
                return Refusal(
                    cause="no-artifact",
                    subject=str(requirements[0]),
                    because=f"there is no version of {requirements[0]}",
                    hidden=(name,) if fitting else (),
                    named=(name,),
                )
            pins[name] = visible[0] if name in floors else visible[-1]
        for one, other in conflicts:
            name, version = one.split("==")
            second, minimum = other.split(">=")
            if pins.get(name) == Version(version) and pins[second] < Version(minimum):
                because = f"{one} depends on {other} and you require {second}=={pins[second]}"
                named = tuple(sorted((name, second)))
                return Refusal(cause="conflict", subject=one, because=because, named=named)
        subject = [] if inputs.injected_pin is None else [inputs.injected_pin]
        return Lock(
            inputs=inputs,
            pins=(
                *(Pin(name=n, version=v, hashes=(HASH,)) for n, v in sorted(pins.items())),
                *subject,
            ),
            tool="memory",
        )

    return MemoryLocker(answer)


def repaired(
    cell: str, *conflicts: tuple[str, str], refuted: tuple[str, str] = ("", "0")
) -> Repair:
    matrix = matrix_of(WORLD)
    facts = Feasibility(matrix, catalogue_of(WORLD))
    broken = refuted[0], Version(refuted[1])

    def known(lock: Lock, moved: frozenset[str]) -> tuple[str, Version, str] | None:
        pins = {(pin.name, pin.version) for pin in lock.pins if pin.name in moved}
        return (*broken, "a-cell") if broken in pins else None

    package_of = source_of(WORLD).package
    return repaired_cell(facts, parse_cell(cell, matrix), locker(*conflicts), package_of, known)


def moves(repair: Repair) -> dict[str, str]:
    return {moved.package: str(moved.version) for moved in repair.moved}


def test_a_pin_that_is_gone_gives_way_alone() -> None:
    repair = repaired("py3.9-fr1-demo1.0")
    [moved] = repair.moved
    assert (moved.package, moved.published) == ("gone", "==0.4.14")
    # 0.4.20 is as near, and came out after the cell's date.
    assert (str(moved.version), moved.releases, moved.is_later) == ("0.4.13", 1, False)
    assert repair.rule is not None
    assert [r.package for r in repair.rule.relaxations] == ["gone"]
    assert "requires gone ==0.4.14, and" in repair.refusal


def test_the_versions_of_the_cell_never_move() -> None:
    repair = repaired("py3.9-fr2-demo1.0", ("frame==2.0", "lib>=1.1"))
    assert repair.lock is not None
    assert {pin.name: str(pin.version) for pin in repair.lock.pins}["frame"] == "2.0"
    # lib 3.0 would do as well, and lies farther from 1.0.
    assert moves(repair) == {"gone": "0.4.20", "lib": "1.1"}


def test_what_a_record_shows_broken_is_passed_over() -> None:
    repair = repaired("py3.9-fr1-demo1.0", refuted=("gone", "0.4.13"))
    assert moves(repair) == {"gone": "0.4.20"}
    [refuted] = repair.refuted
    assert refuted.startswith("gone 0.4.13 fails in ")
    assert [moved.is_later for moved in repair.moved] == [True]


def test_a_python_that_is_not_declared_is_part_of_the_rule() -> None:
    repair = repaired("py3.8-fr1-demo1.0")
    assert repair.rule is not None
    assert [(r.package, r.ignore_requires_python) for r in repair.rule.relaxations] == [
        ("demo", True),
        ("gone", False),
    ]


def test_the_rule_alone_makes_the_cell_lockable() -> None:
    matrix = matrix_of(WORLD)
    repair = repaired("py3.9-fr1-demo1.0")
    assert repair.rule is not None
    declared = msgspec.structs.replace(matrix, rules=(repair.rule,))
    facts = Feasibility(declared, catalogue_of(WORLD))
    cell = parse_cell("py3.9-fr1-demo1.0+relaxed", declared)
    assert facts.obstacle(cell) is None
    assert "gone==0.4.13" in inputs_of(facts, cell).requirements


def test_what_nothing_mends_says_so() -> None:
    repair = repaired("py3.9-fr1-demo1.0", ("frame==1.0", "lib>=9"))
    assert repair.lock is None
    assert repair.remains.startswith("frame==1.0 depends on lib>=9")
