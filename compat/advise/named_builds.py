"""Builds under another name: `demo-nightly` and `demo-gpu` are builds of demo. They hold its
modules, but pip treats them as separate packages, and none satisfies a requirement on another.
"""

import datetime
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.advise.doctor.facts import grammar
from compat.value import Value

if TYPE_CHECKING:
    from compat.declare.matrix import Matrix

# Suffixes that describe a build. The meaning of "-binary" or "-headless" differs by package.
_KINDS = frozenset(("nightly", "gpu", "cpu", "rocm"))
_DAY = re.compile(r"(?:dev|a|b|rc)(20\d{6})(?:\d{2})?(?!\d)")
# Nightly builds of one week mostly fit each other. A choice, not a measured value.
_MOST_DAYS = 7


class NamedBuild(Value, frozen=True):
    """An installed build under another, normalised name; `day` is that in its version."""

    name: str
    base: str
    version: Version

    @property
    def day(self) -> datetime.date | None:
        match = _DAY.search(str(self.version))
        try:
            return None if match is None else datetime.datetime.strptime(match[1], "%Y%m%d").date()
        except ValueError:
            return None

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def named_builds(
    versions: Mapping[str, Version], short: Mapping[str, str]
) -> tuple[NamedBuild, ...]:
    """`short` has names with which builds may begin, and names that only look like builds."""
    return tuple(
        NamedBuild(name=name, base=base, version=version)
        for name, version in versions.items()
        if (base := base_of(name, short)) != name
    )


def lying_over_each_other(
    versions: Mapping[str, Version], short: Mapping[str, str], bases: Collection[str]
) -> Iterator[tuple[str, tuple[NamedBuild, ...]]]:
    """Yield each package with its installed builds of different releases, including its own name.

    A nightly build towards 2.8.0 beside 2.8.0 may be a requirement of that release itself.
    """
    builds: dict[str, list[NamedBuild]] = {}
    for build in named_builds(versions, short):
        if build.base in bases:
            builds.setdefault(build.base, []).append(build)
    for base, others in builds.items():
        version = versions.get(base)
        plain = [] if version is None else [NamedBuild(name=base, base=base, version=version)]
        if len({build.version.base_version for build in (*plain, *others)}) > 1:
            yield base, (*plain, *others)


def of_other_days(
    subject: str, versions: Mapping[str, Version], short: Mapping[str, str]
) -> tuple[NamedBuild, ...]:
    """Return the subject's nightly build and those of other packages of other weeks, if any."""
    builds = [build for build in named_builds(versions, short) if build.day is not None]
    nightly = next((build for build in builds if build.base == subject), None)
    if nightly is None or nightly.day is None:
        return ()
    day = nightly.day
    far = [b for b in builds if b.day is not None and abs((b.day - day).days) > _MOST_DAYS]
    return (nightly, *far) if far else ()


def stand_ins(versions: Mapping[str, Version], short: Mapping[str, str]) -> dict[str, NamedBuild]:
    return {b.base: b for b in named_builds(versions, short) if b.base not in versions}


def base_of(name: str, short: Mapping[str, str]) -> str:
    tokens = name.split("-")
    rest = [token for token in tokens if token not in _KINDS]
    if len(rest) == len(tokens) or not rest or name in short:
        return name
    return "-".join((short.get(rest[0], rest[0]), *rest[1:]))


def short_names(matrix: "Matrix") -> dict[str, str]:
    others = {canonicalize_name(name): name for name in matrix.namesakes}
    return others | {axis.short: axis.normalised_name for axis in matrix.packages}


def is_own_name(name: str) -> bool:
    """Return whether a module of that name may be the user's or Python's own."""
    module = name.replace("-", "_").lower()
    return (
        module.startswith(("my_", "_"))
        or module in grammar()["lists"]["of_anybody"]
        or module in {known.lower() for known in sys.stdlib_module_names}
    )
