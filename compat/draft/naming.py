"""Names for a drafted matrix: of its axes, short ones for the ids of its cells, and of the module
that is imported.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable

from packaging.utils import canonicalize_name

_LONGEST = 12
# What stands at the top of many wheels besides the library itself.
_BESIDE = {"tests", "test", "testing", "docs", "examples", "benchmarks", "scripts"}


def axis_name(package: str, taken: Collection[str] = ()) -> str:
    """Return the name of a package as an axis may have it, none of those that are taken."""
    plain = re.sub(r"[^a-z0-9_-]", "", canonicalize_name(package))
    plain = plain if plain[:1].isalpha() else f"p{plain}"
    return _free(plain[:36], "-2", taken)


def short_name(package: str, taken: Collection[str]) -> str:
    """Return a short name made of the letters of a package's name, none of those that are taken."""
    letters = re.sub(r"[^a-z]", "", canonicalize_name(package)) or "dep"
    return next(
        name
        for length in range(_LONGEST)
        if (name := letters[: _LONGEST - length] + "x" * length) not in taken
    )


def module_of(package: str, paths: Iterable[str]) -> str:
    """Return the module that a wheel with these files brings: the one that is called like the
    package, else the public one with the most files; empty where there is none.

    A folder without `__init__` is a namespace, which other packages share (PEP 420), so
    what is in it is named with its dots: `google.cloud.storage`.
    """
    files = [parts for parts in map(_importable, paths) if parts is not None]
    packages = {parts[:-1] for parts in files if parts[-1] == "__init__"}
    roots = Counter(_root(parts, packages) for parts in files)
    expected = _squashed(package)
    alike = [parts for parts in roots.keys() | packages if _squashed(".".join(parts)) == expected]
    public = [parts for parts in roots if parts[0] not in _BESIDE and not _is_private(parts)]
    if alike:
        plainest = min(alike, key=lambda parts: (_is_private(parts), len(parts), parts))
        return ".".join(plainest)
    by_size = {".".join(parts): roots[parts] for parts in public or roots}
    return min(by_size, key=lambda name: (-by_size[name], len(name), name), default="")


def _importable(path: str) -> tuple[str, ...] | None:
    *folders, name = path.split("/")
    stem, _, kind = name.partition(".")
    parts = *folders, stem
    is_module = kind == "py" or kind.endswith(("so", "pyd"))
    is_named = all(map(str.isidentifier, parts)) and parts != ("__init__",)
    return parts if is_module and is_named else None


def _root(parts: tuple[str, ...], packages: Collection[tuple[str, ...]]) -> tuple[str, ...]:
    within = (parts[:depth] for depth in range(1, len(parts)))
    return next((outer for outer in within if outer in packages), parts)


def _is_private(parts: tuple[str, ...]) -> bool:
    return any(part.startswith("_") for part in parts)


def _squashed(name: str) -> str:
    return re.sub(r"[-_.]", "", name).lower()


def _free(name: str, more: str, taken: Collection[str]) -> str:
    while name in taken:
        name += more
    return name
