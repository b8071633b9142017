"""Locks between two locks: the packages that differ, and locks with some of them exchanged."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

import msgspec
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import NOTHING, Relaxation
from compat.declare.parsing import minor_series, name_of_line
from compat.index.release import Artifact, Published, Release, ReleaseSource, release_of
from compat.lock.lockfile import Inputs, Lock, Locker, Pin, Refusal
from compat.lock.recipe import inputs_of
from compat.lock.sources import SourceRelease
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.plan.platform import Asked, active, fits, marker_values
from compat.value import Value

# A cell's question to a resolver as a set of facts: more facts mean fewer solutions.
#
# So a set of facts that cannot be locked answers every cell that holds all of them. A date is no
# fact: what cannot be locked from all releases cannot be locked from fewer.


# The interpreter can differ as well; no package may have this name.
INTERPRETER = "python"
# The requirements of a release on a Python: package, version, the interpreter's version.
Asks = Callable[[str, Version, Version], tuple[Asked, ...]]


class Exchange(Value, frozen=True, kw_only=True):
    """A package that differs between two locks: its version in each, None where it is missing.

    `brings` names the packages that only one of the locks has, and that are added or removed with
    this one.
    """

    package: str
    good: Version | None
    bad: Version | None
    brings: tuple[str, ...] = ()

    @property
    def packages(self) -> tuple[str, ...]:
        return (self.package, *self.brings)


def exchanges_between(
    good: Lock, bad: Lock, asks: Asks, runner: frozenset[str] = frozenset()
) -> tuple[Exchange, ...]:
    """An added or removed package belongs to the exchange of a package that requires it, if any.
    Between two interpreters, packages required on one of them alone belong to the interpreter. So
    do the packages of the test `runner`.
    """
    before, after = _versions(good), _versions(bad)
    common = sorted(before.keys() & after.keys())
    names = sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))
    is_other_python = INTERPRETER in names
    carrier = dict.fromkeys(runner.intersection(names) if is_other_python else (), INTERPRETER)
    moved = {name for name in common if name in names and name not in carrier}
    # Breadth first: the dependencies of an added package belong to the same moved one.
    waiting = [(name, name) for name in common if name in moved]
    if is_other_python:
        waiting += [(name, INTERPRETER) for name in common if name not in moved]
    while waiting:
        name, by = waiting.pop(0)
        for lock, side in ((good, before), (bad, after)):
            if name not in side or name == INTERPRETER:
                continue
            for asked in asks(name, side[name], lock.inputs.python):
                if asked.name in names and asked.name not in moved and asked.name not in carrier:
                    carrier[asked.name] = by
                    waiting.append((asked.name, by))
    return tuple(
        Exchange(
            package=name,
            good=before.get(name),
            bad=after.get(name),
            brings=tuple(sorted(other for other, by in carrier.items() if by == name)),
        )
        for name in names
        if name not in carrier
    )


def exchanged(base: Lock, other: Lock, packages: Iterable[str]) -> Lock:
    pins = {pin.name: pin for pin in other.pins}
    lock = repinned(base, {package: pins.get(package) for package in set(packages)})
    injected = base.inputs.injected_pin or other.inputs.injected_pin
    inputs = lock.inputs
    if injected is not None and injected.name in packages:
        inputs = msgspec.structs.replace(
            inputs,
            injected_pin=other.inputs.injected_pin,
            install_as_python=other.inputs.install_as_python,
        )
    if INTERPRETER in packages:
        inputs = msgspec.structs.replace(inputs, python=other.inputs.python)
    builds = {*(n for n in base.builds if n not in packages)}
    builds |= {n for n in other.builds if n in packages}
    return msgspec.structs.replace(lock, inputs=inputs, builds=tuple(sorted(builds)))


def repinned(base: Lock, pins: Mapping[str, Pin | None]) -> Lock:
    """Return the lock with these pins instead of its own; None removes a package."""
    every: dict[str, Pin | None] = {**{pin.name: pin for pin in base.pins}, **pins}
    chosen = tuple(every[package] for package in sorted(every) if package != INTERPRETER)
    listed = tuple(pin for pin in chosen if pin is not None)
    # With other versions the suite-only packages may differ: the cell determines them from these.
    roots = {name_of_line(t) for t in base.inputs.requirements if t not in base.inputs.suite}
    inputs = msgspec.structs.replace(
        base.inputs,
        cell="blame",
        requirements=tuple(
            f"{pin.name}=={pin.version}"
            for pin in listed
            if pin.name in roots or not base.inputs.suite
        ),
        overrides=(),
        excludes=(),
        cutoffs=(),
    )
    return msgspec.structs.replace(base, inputs=inputs, pins=listed, suite_only=None)


def tree_of(lock: Lock, roots: Iterable[str], asks: Asks) -> frozenset[str]:
    versions = lock.versions
    brought: set[str] = set()
    waiting = [name for name in roots if name in versions]
    while waiting:
        name = waiting.pop()
        if name not in brought:
            brought.add(name)
            asked = asks(name, versions[name], lock.inputs.python)
            waiting += [each.name for each in asked if each.name in versions]
    return frozenset(brought)


def published_requirements(source: ReleaseSource, platform: str) -> Asks:
    @cache
    def asks(name: str, version: Version, python: Version) -> tuple[Asked, ...]:
        release = release_of(source.package, name, version)
        wheel = None if release is None else usable_wheel(release, python, platform)
        if wheel is None:
            return ()
        return active(source.published(wheel), marker_values(python, platform))

    return asks


def usable_wheel(release: Release, python: Version, platform: str) -> Artifact | None:
    files = (artifact for artifact in release.artifacts if not artifact.set_aside)
    return next((file for file in files if fits(file, python, platform)), None)


def refused_by_metadata(lock: Lock, ends: Sequence[Lock], asks: Asks) -> str:
    """Requirements that an end itself violates are allowed, as a matrix may have overruled them."""
    versions, others = _versions(lock), [_versions(end) for end in ends]
    differing = {name for end in others for name in end} | versions.keys()
    differing = {n for n in differing if len({end.get(n) for end in others}) > 1}
    for name in sorted(differing & versions.keys() - {INTERPRETER}):
        for asked in asks(name, versions[name], lock.inputs.python):
            if asked.name not in differing or _admits(asked, versions):
                continue
            if not any(
                end.get(name) == versions[name] and not _admits(asked, end) for end in others
            ):
                return f"{name} {versions[name]} asks for {asked.name}{asked.specifier}"
    return ""


def _admits(asked: Asked, versions: Mapping[str, Version]) -> bool:
    version = versions.get(asked.name)
    return version is not None and asked.specifier.contains(version, prereleases=True)


def _versions(lock: Lock) -> dict[str, Version]:
    return lock.versions | {INTERPRETER: Version(minor_series(lock.inputs.python))}


def changed_pins(before: Lock, after: Lock) -> dict[str, str]:
    """Return how each package changed whose version or files differ, as a line, by its name."""
    old, new = ({pin.name: pin for pin in lock.pins} for lock in (before, after))
    lines = {name: f"- {name} {pin.version}" for name, pin in old.items() if name not in new}
    for name, pin in new.items():
        known = old.get(name)
        if known is None:
            lines[name] = f"+ {name} {pin.version}"
        elif known.version != pin.version:
            lines[name] = f"~ {name} {known.version} -> {pin.version}"
        elif known != pin:
            lines[name] = f"~ {name} {pin.version}: other files"
    return dict(sorted(lines.items()))


def changed_inputs(then: Inputs, now: Inputs) -> list[str]:
    """Return why two locks differ; where nothing changed, only the index has."""
    reasons = []
    for field in Inputs.__struct_fields__:
        old, new = getattr(then, field), getattr(now, field)
        if old == new or field == "injected_pin":
            continue
        if isinstance(old, tuple):
            before, after = set(map(_show, old)), set(map(_show, new))
            old, new = sorted(before - after), sorted(after - before)
        nothing = "now" if field == "as_of" else "none"
        reasons.append(f"{field}: {_show(old) or nothing} -> {_show(new) or nothing}")
    return reasons


def _show(value: object) -> str:
    match value:
        case list():
            return ", ".join(value) or "nothing"
        case msgspec.Struct():
            return " ".join(str(part) for part in msgspec.structs.astuple(value))
        case None:
            return ""
        case _:
            return str(value)


# Makes a version of the checkout that no index can have (PEP 440, local version identifiers).
_LOCAL = "+checkout"


class CheckoutLocker:
    """A Locker that presents a checkout as a release, and pins the checkout's wheel instead."""

    def __init__(self, locker: Locker, pin: Pin) -> None:
        self._locker = locker
        self._pin = pin

    def lock(self, inputs: Inputs) -> Lock | Refusal:
        own = Requirement(f"{self._pin.name}=={self._pin.version.public}")
        each = ((text, Requirement(text)) for text in inputs.requirements)
        asked = tuple(
            f"{text}{_LOCAL}"
            if canonicalize_name(r.name) == own.name and r.specifier == own.specifier
            else text
            for text, r in each
        )
        answer = self._locker.lock(msgspec.structs.replace(inputs, requirements=asked))
        if isinstance(answer, Refusal):
            subject, because = answer.subject, answer.because
            return msgspec.structs.replace(
                answer, subject=subject.replace(_LOCAL, ""), because=because.replace(_LOCAL, "")
            )
        pins = tuple(self._pin if pin.name == self._pin.name else pin for pin in answer.pins)
        injected = None if inputs.injected_pin is None else self._pin
        inputs = msgspec.structs.replace(inputs, injected_pin=injected)
        return msgspec.structs.replace(answer, inputs=inputs, pins=pins)


def shown_release(pin: Pin, published: Published) -> SourceRelease:
    version = Version(f"{pin.version.public}{_LOCAL}")
    return SourceRelease(pin=msgspec.structs.replace(pin, version=version), asks=published)


def exchanged_subject(
    lock: Lock, before: Feasibility, facts: Feasibility, cell: Cell, pin: Pin
) -> Lock | None:
    """None where both do not require the same packages and extras, or a pin does not fit."""
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
    if not all(not asked_for.url and _admits(asked_for, pins) for asked_for in asked):
        return None
    inputs = inputs_of(facts, cell, frozenset(facts.relaxations(cell)).difference(relaxations))
    # No pin shows a floor that the checkout has lowered.
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
    before, after = lock.versions, other.versions
    return tuple(
        f"{name} {before.get(name, 'missing')} -> {after.get(name, 'missing')}"
        for name in sorted({*before, *after} - {subject})
        if before.get(name) != after.get(name)
    )


def _relaxed(asked: Iterable[Asked], relaxations: Mapping[str, Relaxation]) -> list[Asked]:
    pairs = [(requirement, relaxations.get(requirement.name)) for requirement in asked]
    return [
        requirement if r is None else msgspec.structs.replace(requirement, specifier=r.specifier)
        for requirement, r in pairs
        if r is None or r.to != NOTHING
    ]
