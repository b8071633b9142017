"""What a locker is asked and what it answers: Inputs in; a Lock, or a Refusal with its cause,
out.
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
    """A package's own date inside a lock: releases up to `until` are seen; None: all."""

    package: str
    until: datetime.datetime | None


class Inputs(Value, frozen=True):
    """Everything that decides a lock, in resolver's terms; sorted, so that equal questions are
    equal values.

    `python` is a full CPython version and `platform` an architecture with a glibc
    (`x86_64-manylinux_2_31`). `requirements` are the roots, and of the packages in
    `no_prereleases` no pre-release counts. `overrides` replace what any package of the tree asks of
    theirs, and `excludes` drop packages from it. `as_of` hides releases that came out later;
    `cutoffs` are the exemptions from it. `injected_pin` joins the answer without being resolved:
    the subject, when its own requirements stand among the roots in its place. `install_as_python`
    is a Python that it admits, when it does not admit the cell's: an installer must be told that
    one to install it at all. `floors` are requirements each of whose packages is to be the lowest
    that the others and the tree let in. `constraints` bound packages and bring none. `index` is the
    address of a further index for this lock alone; all indexes count alike then. `suite` are those
    of the requirements that only the suite has: the library is resolved without them.
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
        """Return the moment up to which releases of the package are seen; None: all of them."""
        return next(
            (cutoff.until for cutoff in self.cutoffs if cutoff.package == package), self.as_of
        )


class Lock(Value, frozen=True):
    """The exact pins that answer the inputs, sorted by name. `tool` is the locker and its version.

    `builds` names the pins that no wheel of the index fits: they are built from their source
    distribution. `suite_only` names the pins that only the suite and pytest need; None where
    that is not known, as in locks from before 26 November 2026.
    """

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
        """What a user installs: the pins without the suite's; all where that is not known."""
        return tuple(pin for pin in self.pins if pin.name not in (self.suite_only or ()))

    @property
    def digest(self) -> str:
        """The sha256 over names, versions and hashes: equal digests install the same files."""
        return lock_digest(self.pins)


def lock_digest(pins: Iterable[Pin]) -> str:
    lines = (f"{pin.name}=={pin.version} {' '.join(pin.hashes)}\n" for pin in pins)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


class Refusal(Value, frozen=True):
    """The resolver's considered no.

    `subject` is the requirement that cannot be met, `because` one sentence.

    `hidden` names packages that the resolver missed because of the date it was asked about, in
    order of mention, and `wheelless` those of which it met a release without a usable wheel.
    `named` are all packages that its whole derivation names, normalised (PEP 503) and sorted; empty
    where it tells none.
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
    """Something that turns inputs into exact pins."""

    def lock(self, inputs: Inputs) -> Lock | Refusal:
        """Return the pins or a refusal; raise IndexUnreachable, or ToolFailed when the resolver
        broke.
        """
