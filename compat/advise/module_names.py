"""Modules whose name is not their package's own, and names that tell of no package: both are in
`doctor/grammar.toml`.
"""

import sys
from functools import cache

from compat.advise.doctor.facts import grammar


@cache
def _by_lower() -> dict[str, str]:
    return {module.lower(): package for module, package in grammar()["modules"].items()}


def module_package(module: str) -> str:
    """Return the package of a module: the known one, or the name of its top module. Messages are
    matched without regard to case, so are modules.
    """
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        package = _by_lower().get(".".join(parts[:length]).lower())
        if package is not None:
            return package
    return parts[0]


def is_own_name(name: str) -> bool:
    """Return whether a module of that name may be of one's own, or is of Python's library, so that
    the name alone tells of no package.
    """
    module = name.replace("-", "_").lower()
    return (
        module.startswith(("my_", "_"))
        or module in grammar()["lists"]["of_anybody"]
        or module in {known.lower() for known in sys.stdlib_module_names}
    )
