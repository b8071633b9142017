"""What changed between two locks of a cell, and why as far as their inputs tell."""

import msgspec
from packaging.version import Version

from compat.lock.lockfile import Inputs, Lock, Pin
from compat.value import Value


class ChangedPin(Value, frozen=True, kw_only=True):
    """A package whose pin differs: another version, other files (same version), or there on one
    side only (None).
    """

    package: str
    before: Version | None
    after: Version | None

    def line(self) -> str:
        if self.before is None:
            return f"+ {self.package} {self.after}"
        if self.after is None:
            return f"- {self.package} {self.before}"
        if self.before == self.after:
            return f"~ {self.package} {self.after}: other files"
        return f"~ {self.package} {self.before} -> {self.after}"


class Drift(Value, frozen=True, kw_only=True):
    """The difference of two locks.

    `reasons` name the inputs that differ; none: only the index has changed.
    """

    moved: tuple[ChangedPin, ...]
    reasons: tuple[str, ...]


def drift(before: Lock, after: Lock) -> Drift:
    old = {pin.name: pin for pin in before.pins}
    new = {pin.name: pin for pin in after.pins}
    moved = tuple(
        ChangedPin(package=name, before=_version(old.get(name)), after=_version(new.get(name)))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    )
    return Drift(moved=moved, reasons=tuple(_reasons(before.inputs, after.inputs)))


def _version(pin: Pin | None) -> Version | None:
    return None if pin is None else pin.version


def _reasons(before: Inputs, after: Inputs) -> list[str]:
    reasons = []
    for field in Inputs.__struct_fields__:
        old, new = getattr(before, field), getattr(after, field)
        if old == new or field == "injected_pin":
            continue
        if isinstance(old, tuple):
            old, new = (
                sorted(set(map(_show, old)) - set(map(_show, new))),
                sorted(set(map(_show, new)) - set(map(_show, old))),
            )
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
