"""The lock of a checkout's cell: that of a release with the subject exchanged, where both ask for
the same packages; else what a resolver finds when it is shown the checkout as a release.
"""

from collections.abc import Iterable, Mapping

import msgspec
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import NOTHING, Relaxation
from compat.index.release import Published
from compat.lock.lockfile import Inputs, Lock, Locker, Pin, Refusal
from compat.lock.recipe import inputs_of
from compat.lock.sources import SourceRelease
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.plan.requirements import Asked

# What makes a version of the checkout that no index can have (PEP 440, local version identifiers).
_LOCAL = "+checkout"


class CheckoutLocker:
    """A Locker that asks another one about a checkout, and puts the wheel's own pin in the place of
    the release that was shown.
    """

    def __init__(self, locker: Locker, pin: Pin) -> None:
        """Take a locker to which `shown_release` is shown, and the pin of the checkout's wheel."""
        self._locker = locker
        self._pin = pin

    def lock(self, inputs: Inputs) -> Lock | Refusal:
        """Return the locker's answer about the checkout."""
        asked = tuple(
            f"{text}{_LOCAL}" if self._is_own(text) else text for text in inputs.requirements
        )
        answer = self._locker.lock(msgspec.structs.replace(inputs, requirements=asked))
        if isinstance(answer, Refusal):
            subject, because = answer.subject, answer.because
            return msgspec.structs.replace(
                answer, subject=subject.replace(_LOCAL, ""), because=because.replace(_LOCAL, "")
            )
        pins = tuple(self._pin if pin.name == self._pin.name else pin for pin in answer.pins)
        injected = None if inputs.injected_pin is None else self._pin
        own = msgspec.structs.replace(inputs, injected_pin=injected)
        return msgspec.structs.replace(answer, inputs=own, pins=pins)

    def _is_own(self, text: str) -> bool:
        requirement = Requirement(text)
        is_named = canonicalize_name(requirement.name) == self._pin.name
        return is_named and str(requirement.specifier) == f"=={self._pin.version.public}"


def shown_release(pin: Pin, published: Published) -> SourceRelease:
    """Return the release that a resolver is shown for a checkout."""
    version = Version(f"{pin.version.public}{_LOCAL}")
    return SourceRelease(pin=msgspec.structs.replace(pin, version=version), asks=published)


def exchanged_subject(
    lock: Lock, before: Feasibility, facts: Feasibility, cell: Cell, pin: Pin
) -> Lock | None:
    """Return a release's lock with the checkout in the place of its subject; None where another
    lock is needed.

    Both must ask for the same packages with the same extras, as `before` and `facts` tell, and what
    the checkout admits must be pinned: else a package would be missing, or there although nobody
    asks for it any more.
    """
    python = cell.on(facts.matrix.interpreters.name).version
    pins = {known.name: known.version for known in lock.pins}
    release = pins.get(pin.name)
    checkout = facts.subject_release(cell)
    if release is None or checkout is None or before.published(release) is None:
        return None
    relaxations = facts.rules.relaxations(cell)
    asked = _relaxed(facts.requirements(checkout.version, python), relaxations)
    earlier = _relaxed(before.requirements(release, python), relaxations)
    if {(a.name, a.extras) for a in asked} != {(a.name, a.extras) for a in earlier}:
        return None
    if not all(_is_met(requirement, pins) for requirement in asked):
        return None
    inputs = inputs_of(facts, cell, frozenset(facts.relaxations(cell)).difference(relaxations))
    # A floor that the checkout has lowered shows in no pin.
    if inputs.floors != lock.inputs.floors:
        return None
    injected = inputs.injected_pin
    return msgspec.structs.replace(
        lock,
        inputs=msgspec.structs.replace(
            lock.inputs,
            cell=cell.id,
            requirements=inputs.requirements,
            injected_pin=None if injected is None else pin,
            install_as_python=inputs.install_as_python,
        ),
        pins=tuple(pin if known.name == pin.name else known for known in lock.pins),
    )


def moved_besides(lock: Lock, other: Lock, subject: str) -> tuple[str, ...]:
    """Return how the packages of two locks differ besides the subject, one line for each."""
    before = {pin.name: str(pin.version) for pin in lock.pins if pin.name != subject}
    after = {pin.name: str(pin.version) for pin in other.pins if pin.name != subject}
    names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    return tuple(
        f"{name} {before.get(name, 'missing')} -> {after.get(name, 'missing')}" for name in names
    )


def _relaxed(asked: Iterable[Asked], relaxations: Mapping[str, Relaxation]) -> list[Asked]:
    requirements: list[Asked] = []
    for requirement in asked:
        relaxation = relaxations.get(requirement.name)
        if relaxation is None:
            requirements.append(requirement)
        elif relaxation.to != NOTHING:
            requirements.append(
                msgspec.structs.replace(requirement, specifier=relaxation.specifier)
            )
    return requirements


def _is_met(requirement: Asked, pins: Mapping[str, Version]) -> bool:
    version = pins.get(requirement.name)
    if version is None or requirement.url:
        return False
    return requirement.specifier.contains(version, prereleases=True)
