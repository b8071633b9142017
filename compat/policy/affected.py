"""The `policy` room's answer to "who is affected": what a move of a floor takes from users, and
what it gives them.
"""

from packaging.version import Version

from compat.declare.matrix import Axis
from compat.policy.as_of import package_words
from compat.policy.guard import Guard
from compat.policy.proposal import Affected


def lost(guard: Guard, axis: Axis, current: Version, to: Version) -> tuple[Affected, ...]:
    """Return what a raise drops: the versions below, and those of others that go with them only.

    A version that no cell of the newest release can have is not covered now, so it is not lost.
    """
    promised = guard.promised(axis.name)
    below = [v for v in guard.moment.existing[axis.name] if v in promised and current <= v < to]
    dropped = [v for v in below if guard.places(axis.name, v)]
    own = [_affected(guard, axis, dropped)] if dropped else []
    for other in guard.moment.others:
        if other is not axis and to in guard.reach[axis.name]:
            before = _together(guard, axis, other, current)
            gone = sorted(before - _together(guard, axis, other, to))
            own += [_affected(guard, other, gone)] if gone else []
    return tuple(own)


def gained(guard: Guard, axis: Axis, current: Version, to: Version) -> tuple[Affected, ...]:
    """Return what a lowering adds."""
    return (
        _affected(guard, axis, [v for v in guard.moment.existing[axis.name] if to <= v < current]),
    )


def _together(guard: Guard, axis: Axis, other: Axis, floor: Version) -> set[Version]:
    """The promised versions of another axis that can be had with some promised version of this one
    from a floor on.
    """
    here = [at.name for at in guard.moment.others].index(other.name)
    versions = (v for v in guard.promised(axis.name) if v >= floor)
    return {place[here] for version in versions for place in guard.places(axis.name, version)}


def _affected(guard: Guard, axis: Axis, versions: list[Version]) -> Affected:
    releases = [release for version in versions for release in guard.moment.releases(axis, version)]
    return Affected(
        axis=axis.name,
        package=package_words(axis),
        versions=tuple(versions),
        releases=() if releases == versions else tuple(releases),
    )
