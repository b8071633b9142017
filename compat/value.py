"""The bases of all values: frozen, keyword-only, compared by what they hold."""

import msgspec


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """A value that is made here, or read leniently: unknown keys are passed over."""


class StrictValue(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value that people or other machines write: an unknown key is a fault, never passed over."""
