"""Locks that were made, and what they say of other questions: packages that meet all that another
question asks are an answer to it, too, and no resolver need be asked.

It is what a solver does that keeps its models beside its conflicts: a model that fits saves a
question (Cadar, Dunbar and Engler, "KLEE", OSDI 2008, section 3.4).
"""

import datetime
import threading
from collections import defaultdict
from collections.abc import Callable
from functools import cache

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from compat.errors import NoPage
from compat.index.release import Artifact, Package
from compat.lock.lockfile import Inputs, Lock, Pin
from compat.lock.sources import fits_cell
from compat.value import Value


class KnownLocks:
    """The locks of a session. Several threads may use it."""

    def __init__(self, package_of: Callable[[str], Package]) -> None:
        self._package_of = package_of
        self._guard = threading.Lock()
        self._locks: dict[tuple[object, ...], list[_KnownLock]] = defaultdict(list)
        self._dates: dict[tuple[object, ...], datetime.datetime | None] = {}

    def add(self, lock: Lock) -> None:
        """Keep a lock. One with a pre-release is passed over: who may have that is no matter of
        its version alone.
        """
        if any(pin.version.is_prerelease for pin in lock.pins):
            return
        with self._guard:
            self._locks[_world(lock.inputs)].append(_known(lock))

    def number(self, inputs: Inputs) -> int:
        with self._guard:
            return len(self._locks.get(_world(inputs), ()))

    def answering(self, inputs: Inputs, after: int = 0) -> Lock | None:
        """Return a lock whose pins meet these inputs, the newest first; None where there is none.

        So the inputs can be locked, though a resolver may choose other pins. The first `after` of
        them are passed over. Raises IndexUnreachable as the index does.
        """
        with self._guard:
            known = self._locks.get(_world(inputs), [])[after:]
        meeting = (entry.lock for entry in reversed(known) if self._meets(entry, inputs))
        return next(meeting, None)

    def _meets(self, entry: "_KnownLock", inputs: Inputs) -> bool:
        replaced = _by_name(inputs.overrides)
        if not entry.replaced & entry.pins.keys() <= replaced.keys():
            return False
        for name, demand in replaced.items():
            if name in entry.pins and not _admits(demand, entry.pins[name]):
                return False
        for text in inputs.requirements:
            # What both ask in the same words holds, unless it is replaced.
            if text in entry.requirements:
                continue
            demand = _demand(text)
            pin = entry.pins.get(demand.name)
            if pin is None or not demand.extras <= entry.extras(demand.name):
                return False
            if not demand.is_simple:
                return False
            if demand.name not in replaced and not _admits(demand, pin):
                return False
        # The suite's own packages have no date.
        only = entry.lock.suite_only or ()
        return all(
            self._is_seen(pin, inputs, entry.lock)
            for pin in entry.pins.values()
            if pin.name not in only
        )

    def _is_seen(self, pin: Pin, inputs: Inputs, lock: Lock) -> bool:
        """Whether the date of the inputs shows a file of the pin that the cell can have."""
        until = inputs.cutoff(pin.name)
        if until is None:
            return True
        key = (pin.name, pin.version, _world(inputs))
        if key not in self._dates:
            dates = [
                artifact.uploaded
                for artifact in self._files(pin)
                if artifact.uploaded is not None
                and not artifact.yanked
                and (fits_cell(artifact, inputs) or pin.name in lock.builds)
            ]
            self._dates[key] = min(dates, default=None)
        first = self._dates[key]
        return first is not None and first < until

    def _files(self, pin: Pin) -> tuple[Artifact, ...]:
        try:
            releases = self._package_of(pin.name).releases
        except NoPage:
            return ()
        return next((r.artifacts for r in releases if r.version == pin.version), ())


class _Demand(Value, frozen=True, kw_only=True):
    """A requirement, taken apart; `is_simple` unless it names a file or has a marker."""

    name: str
    specifier: SpecifierSet
    extras: frozenset[str]
    is_simple: bool


class _KnownLock(Value, frozen=True, kw_only=True):
    """A lock with what is asked of it again and again. The subject's own pin was not resolved."""

    lock: Lock
    pins: dict[str, Pin]
    requirements: frozenset[str]
    replaced: frozenset[str]

    def extras(self, name: str) -> frozenset[str]:
        """The extras of a package that the lock's roots ask for."""
        asked = (_demand(text) for text in self.requirements)
        return frozenset(extra for d in asked if d.name == name for extra in d.extras)


def _known(lock: Lock) -> _KnownLock:
    injected = lock.inputs.injected_pin
    return _KnownLock(
        lock=lock,
        pins={pin.name: pin for pin in lock.pins if injected is None or pin.name != injected.name},
        requirements=frozenset(lock.inputs.requirements),
        replaced=frozenset(_by_name(lock.inputs.overrides)),
    )


def _world(inputs: Inputs) -> tuple[object, ...]:
    return inputs.python, inputs.platform, inputs.excludes, inputs.no_prereleases


def _by_name(overrides: tuple[str, ...]) -> dict[str, _Demand]:
    return {demand.name: demand for demand in map(_demand, overrides)}


@cache
def _demand(text: str) -> _Demand:
    requirement = Requirement(text)
    return _Demand(
        name=canonicalize_name(requirement.name),
        specifier=requirement.specifier,
        extras=frozenset(requirement.extras),
        is_simple=requirement.url is None and requirement.marker is None,
    )


def _admits(demand: _Demand, pin: Pin) -> bool:
    return demand.is_simple and demand.specifier.contains(pin.version)
