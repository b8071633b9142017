"""The bases of all values: frozen, keyword-only, compared by what they hold; and the one way in
which they are written as JSON.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache, partial
from typing import Any, TypeVar, cast

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

T = TypeVar("T")
K = TypeVar("K")


def grouped(pairs: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    """Return the values of each key; both stand in the order in which they come."""
    groups: dict[K, list[T]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """A value that is made here, or read leniently: unknown keys are passed over."""


class StrictValue(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value that people or other machines write: an unknown key is a fault, never passed over."""


def derive(value: msgspec.Struct, **fields: Any) -> None:
    """Set fields that follow from the others: for `__post_init__` of a frozen value only.

    They are fields, not properties, because JSON and its schema have fields only.
    """
    for name, derived in fields.items():
        msgspec.structs.force_setattr(value, name, derived)


def encode(value: Any) -> bytes:
    """Return a value as JSON on one line, for the API, `--json` and the index alike.

    Keys stand in the order of their type; those of a mapping are sorted. Raises NotImplementedError
    for a type that has no JSON form.
    """
    return msgspec.json.encode(value, enc_hook=encode_hook, order="deterministic")


def encode_hook(value: Any) -> str:
    """Return the text of a value that msgspec does not know: the `enc_hook` of `encode`."""
    if isinstance(value, Version | SpecifierSet):
        return str(value)
    raise NotImplementedError(type(value))


# Many values share a specifier, and parsing takes a while.
_specifier = lru_cache(maxsize=1024)(SpecifierSet)


def decode_hook(kind: type, raw: object) -> Version | SpecifierSet:
    """Return the value of such a text: the `dec_hook` of what `encode` wrote."""
    if kind not in (Version, SpecifierSet) or not isinstance(raw, str):
        raise ValueError(f"Expected `str`, got `{type(raw).__name__}`")
    return Version(raw) if kind is Version else _specifier(raw)


_decoder = lru_cache(partial(msgspec.json.Decoder, dec_hook=decode_hook))
_MAKING = threading.Lock()


def decode(content: bytes | str, kind: type[T]) -> T:
    """Return the value of a kind that JSON holds. Raises msgspec.DecodeError for other content."""
    # Threads that let msgspec look into a new type at the same time crash the interpreter.
    with _MAKING:
        decoder = _decoder(cast(Any, kind))
    return cast(T, decoder.decode(content))


def schema_hook(kind: type) -> dict[str, Any]:
    if kind is Version:
        return {"type": "string", "format": "pep440-version"}
    if kind is SpecifierSet:
        return {"type": "string", "format": "pep440-specifier"}
    raise NotImplementedError(kind)


class LazyMapping(Mapping[str, T]):
    """Values by name, each read once, on first use. `read` returns None or raises KeyError for an
    unknown name. `names` returns all of them, and is called only where that matters.
    """

    def __init__(self, names: Callable[[], Iterable[str]], read: Callable[[str], T | None]) -> None:
        self._every, self._read = names, read
        self._known: dict[str, T] = {}

    @cached_property
    def _names(self) -> dict[str, None]:
        return dict.fromkeys(self._every())

    def __getitem__(self, name: str) -> T:
        if name not in self._known:
            value = self._read(name)
            if value is None:
                raise KeyError(name)
            self._known[name] = value
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
