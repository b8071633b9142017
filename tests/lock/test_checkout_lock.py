"""The lock of a checkout: the release's with the subject exchanged, or what a resolver finds when
it is shown the checkout.
"""

import datetime

import msgspec
import pytest
from packaging.specifiers import SpecifierSet
from packaging.tags import parse_tag
from packaging.version import Version
from support.memory_locker import MemoryLocker
from support.world import catalogue_of, matrix_of, world

from compat.index.release import Artifact, Published, Release
from compat.lock.lockfile import Inputs, Lock, Pin, Refusal
from compat.lock.mixed import CheckoutLocker, exchanged_subject, moved_besides, shown_release
from compat.lock.recipe import inputs_of
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.plan.plan import checkout_cells, facts_of_checkout, released_cell

OWN = Pin(name="demo", version=Version("1.1.dev3+g12ab"), hashes=("f" * 64,))
NOW = datetime.datetime(2026, 11, 23, tzinfo=datetime.timezone.utc)


def facts(*requires: str) -> Feasibility:
    """What is known of a checkout of demo with these requirements."""
    document = world("published")
    published = Published(requires_python=SpecifierSet(">=3.8"), requires_dist=requires)
    tags = parse_tag("py3-none-any")
    wheel = Artifact("demo-1.1.dev3-py3-none-any.whl", "", tags, uploaded=NOW, sha256="f" * 64)
    release = Release(version=Version("1.1.dev3"), artifacts=(wheel,), published=published)
    return facts_of_checkout(matrix_of(document), catalogue_of(document), release)


def cell_of(known: Feasibility, name: str = "py3.8-dep1-demo-local") -> Cell:
    return next(cell for cell in checkout_cells(known) if cell.id == name)


def released() -> tuple[Feasibility, Lock]:
    """What is known of the releases, and a lock of demo 1.0 with dep 1.1."""
    document = world("published")
    known = Feasibility(matrix_of(document), catalogue_of(document))
    cell = released_cell(cell_of(facts("dep~=1.0")), known.matrix.subject, Version("1.0"))
    pins = [Pin(name=n, version=Version(v), hashes=("a" * 64,)) for n, v in PINS.items()]
    return known, Lock(inputs=inputs_of(known, cell), pins=tuple(pins), tool="uv 0")


PINS = {"demo": "1.0", "dep": "1.1", "pytest": "8.0"}


def test_a_checkout_that_asks_for_the_same_packages_takes_the_place_of_the_release() -> None:
    (before, lock), checkout = released(), facts("dep>=1.1")
    cell = cell_of(checkout)
    exchanged = exchanged_subject(lock, before, checkout, cell, OWN)
    assert exchanged is not None
    assert [pin for pin in exchanged.pins if pin.name == "demo"] == [OWN]
    assert [pin for pin in exchanged.pins if pin.name != "demo"] == list(lock.pins[1:])
    assert exchanged.inputs.cell == "py3.8-dep1-demo-local"
    assert moved_besides(lock, exchanged, "demo") == ()


@pytest.mark.parametrize(
    "requires",
    [
        ("dep>=1.2",),  # the lock has 1.1
        ("dep~=1.0", "new"),  # a package that the lock lacks
        (),  # one that would be there although nobody asks for it any more
        ("dep[fast]~=1.0",),  # what the extra brings is not in the lock
        ("dep @ https://a.example/dep.whl",),
    ],
)
def test_one_that_asks_for_others_is_locked_anew(requires: tuple[str, ...]) -> None:
    (before, lock), checkout = released(), facts(*requires)
    cells = [cell for cell in checkout_cells(checkout) if cell.id == "py3.8-dep1-demo-local"]
    assert all(exchanged_subject(lock, before, checkout, c, OWN) is None for c in cells)
    assert cells


def test_a_resolver_is_shown_a_version_that_no_index_can_have() -> None:
    shown = shown_release(OWN, Published(requires_python=None, requires_dist=("dep",)))
    assert str(shown.pin.version) == "1.1.dev3+checkout"

    def answer(inputs: Inputs) -> Lock | Refusal:
        pins = (shown.pin, Pin(name="dep", version=Version("1.1"), hashes=("a" * 64,)))
        return Lock(inputs=inputs, pins=pins, tool="uv 0")

    memory, checkout = MemoryLocker(answer), facts("dep~=1.0")
    inputs = inputs_of(checkout, cell_of(checkout))
    lock = CheckoutLocker(memory, OWN).lock(inputs)
    assert isinstance(lock, Lock)
    assert "demo==1.1.dev3+checkout" in memory.asked[0].requirements
    assert lock.inputs == inputs
    assert OWN in lock.pins
    assert shown.pin not in lock.pins


def test_a_refusal_speaks_of_the_checkouts_own_version() -> None:
    def answer(inputs: Inputs) -> Lock | Refusal:
        because = "demo==1.1.dev3+checkout depends on new"
        return Refusal(cause="conflict", subject="demo==1.1.dev3+checkout", because=because)

    checkout = facts("dep~=1.0")
    refusal = CheckoutLocker(MemoryLocker(answer), OWN).lock(inputs_of(checkout, cell_of(checkout)))
    assert isinstance(refusal, Refusal)
    assert refusal.because == "demo==1.1.dev3 depends on new"


def test_packages_that_moved_besides_are_named() -> None:
    _, lock = released()
    pins = (OWN, Pin("dep", Version("1.2"), ()), Pin("new", Version("3"), ()))
    other = msgspec.structs.replace(lock, pins=pins)
    assert moved_besides(lock, other, "demo") == (
        "dep 1.1 -> 1.2",
        "new missing -> 3",
        "pytest 8.0 -> missing",
    )
