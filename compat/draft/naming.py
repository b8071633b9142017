"""Names for a drafted matrix: of its axes, short ones for the ids of its cells, and of the module
that is imported.
"""

import re
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
    """Return the module that a wheel with these files brings, by the package's name where it fits;
    empty where the files do not tell.
    """
    tops = {_top(path) for path in paths} - {""}
    expected = canonicalize_name(package).replace("-", "_")
    alike = sorted(top for top in tops if top.lower().replace("_", "") == expected.replace("_", ""))
    if alike:
        return alike[0]
    public = sorted(
        (top for top in tops - _BESIDE if not top.startswith("_")), key=lambda top: (len(top), top)
    )
    return public[0] if public else ""


def _top(path: str) -> str:
    """The module or regular package that a file of a wheel makes importable; else nothing."""
    first, slash, rest = path.partition("/")
    if slash:
        return first if rest.startswith("__init__.") and first.isidentifier() else ""
    name, dot, kind = first.partition(".")
    return name if dot and name.isidentifier() and (kind == "py" or kind.endswith("so")) else ""


def _free(name: str, more: str, taken: Collection[str]) -> str:
    while name in taken:
        name += more
    return name
