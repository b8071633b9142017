"""The interface of lockers: Inputs in; a Lock, or a `Refusal` (a resolution failure with its
cause), out.
"""

import datetime
import hashlib
from collections.abc import Iterable
from typing import Literal, Protocol

from packaging.version import Version

from compat.value import Value

Cause = Literal[
    "no-artifact",
    "requires-python",
    "conflict",
    "yanked",
    "build",
    "build-tool",
    "unsupported",
    "source-only",
    "suite-fault",
]


class Pin(Value, frozen=True):
    """A package (name as in PEP 503) at one version, with the sorted sha256 of its files."""

    name: str
    version: Version
    hashes: tuple[str, ...]


class Cutoff(Value, frozen=True):
    """A package's own date inside a lock: releases up to `until` are visible; None: all."""

    package: str
    until: datetime.datetime | None


class Inputs(Value, frozen=True):
    """Everything that decides a lock, in resolver's terms; sorted, so that equal inputs are equal.

    `python` is a full CPython version and `platform` an architecture with a glibc
    (`x86_64-manylinux_2_31`). `requirements` are the roots; packages in `no_prereleases` may not be
    pre-releases. `overrides` replace requirements throughout the tree, and `excludes` drop packages
    from it. `as_of` hides later releases; `cutoffs` are the exemptions. `injected_pin` joins the
    answer unresolved: the subject, when its own requirements are among the roots.
    `install_as_python` is a Python that it admits, when it does not admit the cell's: the installer
    needs it to install the pin. `floors` are requirements whose packages get the lowest version
    that the others and the tree allow. `constraints` bound packages without requiring them. `index`
    is the address of a further index for this lock alone; all indexes then rank equally. `suite`
    are the requirements of the suite alone: the library is resolved without them.
    """

    cell: str
    python: Version
    platform: str
    requirements: tuple[str, ...]
    no_prereleases: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    as_of: datetime.datetime | None = None
    cutoffs: tuple[Cutoff, ...] = ()
    injected_pin: Pin | None = None
    install_as_python: Version | None = None
    floors: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    index: str = ""
    suite: tuple[str, ...] = ()

    def cutoff(self, package: str) -> datetime.datetime | None:
        """Return the moment up to which releases of the package are visible; None: all of them."""
        return next(
            (cutoff.until for cutoff in self.cutoffs if cutoff.package == package), self.as_of
        )


class Lock(Value, frozen=True):
    """Exact pins by name; `builds` have no fitting wheel; `suite_only` is None where unknown."""

    inputs: Inputs
    pins: tuple[Pin, ...]
    tool: str
    builds: tuple[str, ...] = ()
    suite_only: tuple[str, ...] | None = None

    @property
    def versions(self) -> dict[str, Version]:
        return {pin.name: pin.version for pin in self.pins}

    @property
    def library_pins(self) -> tuple[Pin, ...]:
        """What a user installs: the pins without the suite's; all where that is unknown."""
        return tuple(pin for pin in self.pins if pin.name not in (self.suite_only or ()))

    @property
    def suite_pins(self) -> tuple[Pin, ...]:
        return tuple(pin for pin in self.pins if pin.name in (self.suite_only or ()))

    @property
    def digest(self) -> str:
        """The sha256 over names, versions and hashes: equal digests install the same files."""
        return lock_digest(self.pins)


def lock_digest(pins: Iterable[Pin]) -> str:
    lines = (f"{pin.name}=={pin.version} {' '.join(pin.hashes)}\n" for pin in pins)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


class Refusal(Value, frozen=True):
    """A resolution failure that the resolver proved.

    `subject` is the requirement that cannot be met, `because` one sentence. `hidden` names packages
    that the date hid from the resolver, in order of mention. `wheelless` names those with a release
    that has no usable wheel. `named` are all packages of its derivation, normalised (PEP 503) and
    sorted; empty where it shows none.
    """

    cause: Cause
    subject: str
    because: str
    hidden: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    wheelless: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"lock-fail:{self.cause}({self.subject})"


class Locker(Protocol):
    """Turns inputs into exact pins."""

    def lock(self, inputs: Inputs) -> Lock | Refusal:
        """Return the pins or a Refusal; raise IndexUnreachable, or ToolFailed on other trouble."""
