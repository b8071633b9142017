"""The lowest versions that a release declares of its dependencies, and what a lock made of them."""

from collections.abc import Iterable

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.index.required import lowest_of
from compat.lock.lockfile import Lock
from compat.plan.requirements import Asked
from compat.value import Value


class LockedFloor(Value, frozen=True, kw_only=True):
    """What a release declares of a dependency, the lowest version that this names, and the one
    that the lock installs; None where the lock has no such package.

    Where another one is installed, `because` says why, as far as the catalogue tells.
    """

    package: str
    declared: str
    lowest: Version
    installed: Version | None
    because: str = ""

    @property
    def is_exact(self) -> bool:
        return self.installed == self.lowest


def floor_lines(asked: Iterable[Asked]) -> tuple[str, ...]:
    """Return the requirements that declare a lowest version, sorted.

    What declares none is left to the resolver: of no version is it said that it works.
    """
    lines = {
        f"{r.name}[{','.join(r.extras)}]{r.specifier}" if r.extras else f"{r.name}{r.specifier}"
        for r in asked
        if not r.url and lowest_of(r.specifier) is not None
    }
    return tuple(sorted(lines))


def locked_floors(lock: Lock) -> tuple[LockedFloor, ...]:
    """Return each floor that a lock was asked for with what it installs, in the lock's order."""
    pins = {pin.name: pin.version for pin in lock.pins}
    floors = []
    for text in lock.inputs.floors:
        requirement = Requirement(text)
        lowest, name = lowest_of(requirement.specifier), canonicalize_name(requirement.name)
        if lowest is not None:
            floors.append(
                LockedFloor(package=name, declared=text, lowest=lowest, installed=pins.get(name))
            )
    return tuple(floors)
