"""The floors of a lock: what a release declares as lowest, and what is installed of it."""

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from support.fake_index import FakeIndex
from support.local_index import fill

from compat.lock.lockfile import Inputs, Lock, Refusal, decode_lock, encode_lock
from compat.lock.recipe import declared, has_floor, locked_floors, lowest_of
from compat.lock.uv import UvLocker
from compat.plan.platform import Asked


@pytest.mark.parametrize(
    ("specifier", "lowest"),
    [
        (">=2.0.0,<3", "2.0.0"),
        ("~=1.4.2", "1.4.2"),
        (">1,>=1.2", "1.2"),
        ("==2.*", "2"),
        # One version, none, or only upper bounds: nothing is declared as lowest.
        ("==2.1", None),
        ("<3,!=2.5", None),
        ("", None),
    ],
)
def test_the_lowest_version_of_a_specifier(specifier: str, lowest: str | None) -> None:
    assert lowest_of(SpecifierSet(specifier)) == (None if lowest is None else Version(lowest))


def test_only_what_declares_a_lowest_version_is_a_floor() -> None:
    asked = [
        Asked(name="dep", specifier=SpecifierSet(">=1"), extras=("fast", "more"), url=""),
        Asked(name="free", specifier=SpecifierSet(""), extras=(), url=""),
        Asked(name="exact", specifier=SpecifierSet("==1.0"), extras=(), url=""),
        Asked(name="far", specifier=SpecifierSet(">=1"), extras=(), url="https://example.org/a"),
    ]
    assert {declared(each) for each in asked if has_floor(each)} == {"dep[fast,more]>=1"}


def inputs(*requirements: str, floors: tuple[str, ...]) -> Inputs:
    return Inputs(
        cell="py3.11-dep1-demo1.0+lowest",
        python=Version("3.11.7"),
        platform="x86_64-manylinux_2_28",
        requirements=requirements,
        floors=floors,
    )


def pins(answer: Lock | Refusal) -> dict[str, str]:
    assert isinstance(answer, Lock), answer
    return {pin.name: str(pin.version) for pin in answer.pins}


def test_a_floor_is_locked_to_the_lowest_and_the_rest_to_the_newest(
    locker: UvLocker, demo_index: FakeIndex
) -> None:
    fill(demo_index, {"pytest": [("1.0", 1, None, []), ("8.0", 2, None, [])]})
    answer = locker.lock(inputs("demo==1.0", "pytest", floors=("dep~=1.0",)))
    # `pytest` has no lower bound and is not the subject's, so it is none of the floors.
    assert pins(answer) == {"demo": "1.0", "dep": "1.0", "pytest": "8.0"}


def test_the_tree_may_raise_a_floor_and_that_is_told(
    locker: UvLocker, demo_index: FakeIndex
) -> None:
    raising = {"tool": [("1.0", 1, None, ["dep>=1.1"])]}
    fill(demo_index, raising)
    answer = locker.lock(inputs("demo==1.0", "tool==1.0", floors=("dep~=1.0", "tool>=1.0")))
    assert isinstance(answer, Lock)
    raised, exact = locked_floors(answer)
    assert (raised.lowest, raised.installed, raised.is_exact) == (
        Version("1.0"),
        Version("1.1"),
        False,
    )
    assert exact.is_exact


def test_floors_that_cannot_be_met_are_refused(locker: UvLocker) -> None:
    answer = locker.lock(inputs("demo==1.0", floors=("dep>=2",)))
    assert isinstance(answer, Refusal)
    assert answer.cause == "conflict"


def test_a_lock_tells_its_floors(locker: UvLocker) -> None:
    answer = locker.lock(inputs("demo==1.0", floors=("dep~=1.0",)))
    assert isinstance(answer, Lock)
    text = encode_lock(answer)
    assert "# floor: dep~=1.0\n" in text
    assert decode_lock(text, "lock") == answer
