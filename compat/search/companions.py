"""Packages that are released together, so that one rarely works with another day's other."""

import datetime
from collections.abc import Mapping, Sequence

from packaging.version import Version

from compat.index.release import Package, earliest_upload

# Of the packages of the first matrix the parts of one project come out within hours of each other,
# and unlike projects share no days. Looked at on 2026-11-23.
TOGETHER_DAYS = 14
# Two lists of two versions agree by chance.
FEWEST_SHARED = 3


def companions(packages: Sequence[Package]) -> tuple[tuple[str, ...], ...]:
    """Return the names in groups, in their order: those released together stand in one."""
    groups: list[list[Package]] = []
    dates = {package.name: _dates(package) for package in packages}
    for package in packages:
        group = next(
            (
                group
                for group in groups
                if any(_go_together(dates[package.name], dates[other.name]) for other in group)
            ),
            None,
        )
        if group is None:
            groups.append([package])
        else:
            group.append(package)
    return tuple(tuple(package.name for package in group) for group in groups)


def _dates(package: Package) -> Mapping[Version, datetime.datetime | None]:
    return {
        release.version: earliest_upload((release,))
        for release in package.releases
        if not release.version.is_prerelease
    }


def _go_together(
    one: Mapping[Version, datetime.datetime | None],
    other: Mapping[Version, datetime.datetime | None],
) -> bool:
    """Whether most versions of the shorter list are in the other, and most of those came out at
    the same time: files that were put up again later do not count against it.
    """
    shared = one.keys() & other.keys()
    if len(shared) < FEWEST_SHARED or 2 * len(shared) < min(len(one), len(other)):
        return False
    near = 0
    for version in shared:
        first, second = one[version], other[version]
        if first is not None and second is not None:
            near += abs(first - second) <= datetime.timedelta(days=TOGETHER_DAYS)
    return 2 * near > len(shared)
