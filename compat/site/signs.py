"""The `site` room's requirements that the package index no longer meets, which a pasted text may
show.
"""

import re
from collections.abc import Iterable

from packaging.version import Version

from compat.results.answer import Answer
from compat.site.wording import ranges
from compat.value import Value

_GONE = re.compile(r"requires (?P<name>\S+) (?P<pin>\S+), and the index has no such release")


class Gone(Value, frozen=True, kw_only=True):
    """A requirement that the package index no longer has a release for, and which releases of the
    subject have it, as ranges.
    """

    requirement: str
    releases: str
    is_of_one: bool


def vanished(entries: Iterable[Answer], subject: str) -> tuple[Gone, ...]:
    releases: dict[str, set[str]] = {}
    versions: set[Version] = set()
    for entry in entries:
        versions.add(entry.cell.on(subject).version)
        match = None if entry.obstacle is None else _GONE.search(entry.obstacle.because)
        if match is not None:
            requirement = f"{match['name']}{match['pin']}"
            releases.setdefault(requirement, set()).add(str(entry.cell.on(subject).version))
    every = [str(version) for version in sorted(versions)]
    newest_first = sorted(
        releases.items(), key=lambda item: -max(every.index(version) for version in item[1])
    )
    return tuple(
        Gone(
            requirement=requirement,
            releases=ranges(chosen, every),
            is_of_one=len(chosen) == 1,
        )
        for requirement, chosen in newest_first
    )
