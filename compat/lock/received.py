"""Locks that another machine made, each looked at before it may stand among ours: what is asked,
and what is pinned.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

from packaging.version import Version

from compat.declare.parsing import parse_release
from compat.errors import DeclarationError, NoPage
from compat.index.source import ReleaseSource
from compat.lock.lock_text import decode_lock
from compat.lock.lockfile import Lock, Pin
from compat.lock.recipe import asks_as_declared, inputs_of
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.plan.lanes import facts_for


def handed_lock(
    text: str, name: str, planned: Mapping[str, Cell], facts: Feasibility, source: ReleaseSource
) -> Lock:
    """Return the lock of a file `<cell>.txt`; raise DeclarationError when it is not one that this
    checkout asks for.

    Its cell is planned and feasible, its inputs are those of the cell's recipe, its builds are
    named, and the index lists each of its hashes for that version.
    """
    lock = decode_lock(text, name)
    refuse = partial(DeclarationError.of, path=name, hint="`compat lock` makes it anew")
    cell = planned.get(lock.inputs.cell)
    if cell is None or name != f"{cell.id}.txt":
        raise refuse("is not the lock of a planned cell of that name")
    facts = facts_for(facts, cell)
    obstacle = facts.obstacle(cell)
    if obstacle is not None:
        raise refuse(f"is of a cell that cannot work: {obstacle.because}")
    wrong = _unasked(lock, cell, facts) or _unnamed(lock, facts)
    index = lock.inputs.index
    sources = [source, *([source.elsewhere(index)] if index else [])]
    wrong = wrong or next((why for pin in lock.pins if (why := _unlisted(pin, sources))), "")
    if wrong:
        raise refuse(wrong)
    return lock


def _unasked(lock: Lock, cell: Cell, facts: Feasibility) -> str:
    """Why these are not the inputs of the cell's recipe; empty when they are."""
    inputs, asked = lock.inputs, inputs_of(facts, cell)
    if cell.recipe != "relaxed":
        return "" if inputs == asked else "asks for something else than the cell does"
    fields = "python platform no_prereleases as_of injected_pin install_as_python"
    for field in fields.split():
        if getattr(inputs, field) != getattr(asked, field):
            return f"has another `{field}` than the cell"
    is_asked = asks_as_declared(facts, cell, lock)
    return "" if is_asked else "asks for something that the cell does not"


def _unnamed(lock: Lock, facts: Feasibility) -> str:
    named = set(map(parse_release, facts.matrix.builds))
    pins: dict[str, Version] = {pin.name: pin.version for pin in lock.pins}
    strange = [name for name in lock.builds if (name, pins.get(name)) not in named]
    return f"builds {strange[0]}, and the matrix names no such build" if strange else ""


def _unlisted(pin: Pin, sources: Sequence[ReleaseSource]) -> str:
    """Why no index backs the pin; empty when they list each of its hashes."""
    listed: set[str | None] = set()
    for source in sources:
        with suppress(NoPage):
            releases = source.package(pin.name).releases
            files = (file for r in releases if r.version == pin.version for file in r.artifacts)
            listed |= {file.sha256 for file in files}
    if pin.hashes and set(pin.hashes) <= listed:
        return ""
    return f"pins {pin.name} {pin.version} to files that the index does not list"
