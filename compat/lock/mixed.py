"""What lies between two locks: the packages that differ, and locks with some of them exchanged."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

import msgspec
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.errors import NoPage
from compat.index.release import Artifact, Release
from compat.index.source import ReleaseSource
from compat.lock.lockfile import Inputs, Lock, Pin
from compat.plan.platform import accepted_tags, admits, marker_values
from compat.plan.requirements import Asked, active
from compat.value import Value

# The interpreter can differ as well; no package may be called so.
INTERPRETER = "python"
# What a release asks for on a Python: package, version, the interpreter's version.
Asks = Callable[[str, Version, Version], tuple[Asked, ...]]


class Exchange(Value, frozen=True, kw_only=True):
    """A package that differs between two locks: its version in each, None where it is missing.

    `brings` names the packages that only one of the locks has, and that come or go with this one.
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
    """Return what differs, by name. What comes or goes is part of the exchange of the package that
    asks for it, where one does.

    Between two interpreters, what is asked for on one of them alone goes with the interpreter, and
    so do the packages of the test `runner`.
    """
    before, after = _versions(good), _versions(bad)
    common = sorted(before.keys() & after.keys())
    names = sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))
    is_other_python = INTERPRETER in names
    carrier = dict.fromkeys(runner.intersection(names) if is_other_python else (), INTERPRETER)
    moved = {name for name in common if name in names and name not in carrier}
    # Breadth first: what an added package asks for comes with the same moved one.
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


def exchanged(base: Lock, other: Lock, packages: Iterable[str], name: str) -> Lock:
    """Return the lock `base` with these packages as `other` has them, under another cell's name."""
    pins = {pin.name: pin for pin in other.pins}
    lock = repinned(base, {package: pins.get(package) for package in set(packages)}, name)
    injected = base.inputs.injected_pin or other.inputs.injected_pin
    inputs = lock.inputs
    if injected is not None and injected.name in packages:
        inputs = _injected(inputs, other.inputs)
    if INTERPRETER in packages:
        inputs = msgspec.structs.replace(inputs, python=other.inputs.python)
    builds = {*(n for n in base.builds if n not in packages)}
    builds |= {n for n in other.builds if n in packages}
    return msgspec.structs.replace(lock, inputs=inputs, builds=tuple(sorted(builds)))


def repinned(base: Lock, pins: Mapping[str, Pin | None], name: str) -> Lock:
    """Return the lock with other pins in the place of its own; None takes a package away."""
    every: dict[str, Pin | None] = {**{pin.name: pin for pin in base.pins}, **pins}
    chosen = tuple(every[package] for package in sorted(every) if package != INTERPRETER)
    listed = tuple(pin for pin in chosen if pin is not None)
    # With other versions, other packages may be the suite's alone: the cell finds out from these.
    asked = {text for text in base.inputs.requirements if text not in base.inputs.suite}
    roots = {canonicalize_name(Requirement(text).name) for text in asked}
    inputs = msgspec.structs.replace(
        base.inputs,
        cell=name,
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
    versions = dict(_pinned(lock))
    brought: set[str] = set()
    waiting = [name for name in roots if name in versions]
    while waiting:
        name = waiting.pop()
        if name not in brought:
            brought.add(name)
            asked = asks(name, versions[name], lock.inputs.python)
            waiting += [each.name for each in asked if each.name in versions]
    return frozenset(brought)


def published_asks(source: ReleaseSource, platform: str) -> Asks:
    """Return what tells the requirements of a release; nothing is known of one without a wheel."""

    @cache
    def asks(name: str, version: Version, python: Version) -> tuple[Asked, ...]:
        try:
            releases = source.package(name).releases
        except NoPage:
            return ()
        release = next((r for r in releases if r.version == version), None)
        wheel = None if release is None else usable_wheel(release, python, platform)
        if wheel is None:
            return ()
        return active(source.published(wheel), marker_values(python, platform))

    return asks


def usable_wheel(release: Release, python: Version, platform: str) -> Artifact | None:
    """Return a wheel of the release that the interpreter can install; None when it has none."""
    tags = accepted_tags(_series(python), platform)
    return next(
        (
            artifact
            for artifact in release.artifacts
            if not tags.isdisjoint(artifact.tags)
            and not artifact.set_aside
            and admits(artifact.requires_python, python)
        ),
        None,
    )


def refused_by_metadata(lock: Lock, ends: Sequence[Lock], asks: Asks) -> str:
    """Return what in a mixed lock its own metadata forbids; empty where nothing does.

    Only what differs between the ends is looked at, and what an end itself disregards is allowed:
    a matrix may have overruled it.
    """
    versions, others = _versions(lock), [_versions(end) for end in ends]
    differing = {name for end in others for name in end} | versions.keys()
    differing = {n for n in differing if len({end.get(n) for end in others}) > 1}
    for name in sorted(differing & versions.keys() - {INTERPRETER}):
        for asked in asks(name, versions[name], lock.inputs.python):
            if asked.name not in differing or _admits(asked, versions):
                continue
            if not any(_disregards(end, name, versions[name], asked) for end in others):
                return f"{name} {versions[name]} asks for {asked.name}{asked.specifier}"
    return ""


def _disregards(end: Mapping[str, Version], name: str, version: Version, asked: Asked) -> bool:
    return end.get(name) == version and not _admits(asked, end)


def _admits(asked: Asked, versions: Mapping[str, Version]) -> bool:
    version = versions.get(asked.name)
    return version is not None and asked.specifier.contains(version, prereleases=True)


def _versions(lock: Lock) -> dict[str, Version]:
    return {**dict(_pinned(lock)), INTERPRETER: _series(lock.inputs.python)}


def _pinned(lock: Lock) -> Iterator[tuple[str, Version]]:
    return ((pin.name, pin.version) for pin in lock.pins)


def _series(python: Version) -> Version:
    return Version(f"{python.major}.{python.minor}")


def _injected(inputs: Inputs, other: Inputs) -> Inputs:
    return msgspec.structs.replace(
        inputs, injected_pin=other.injected_pin, install_as_python=other.install_as_python
    )
