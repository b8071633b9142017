"""The `policy` room's answer to "who is affected": what a move of a floor takes from users, and
what it gives them.
"""

from packaging.version import Version

from compat.declare.matrix import Axis
from compat.policy.as_of import package_words
from compat.policy.evaluation import Evaluation
from compat.policy.proposal import Affected


def lost(evaluation: Evaluation, axis: Axis, current: Version, to: Version) -> tuple[Affected, ...]:
    """Return what a raise drops: the versions below, and those of others that go with them only.

    A version that no cell of the newest release can have is not covered now, so it is not lost.
    """
    below = [v for v in evaluation.as_of.existing[axis.name] if current <= v < to]
    dropped = [v for v in below if _is_covered(evaluation, axis, v)]
    own = [_affected(evaluation, axis, dropped)] if dropped else []
    for other in evaluation.as_of.others:
        if other is not axis and to in evaluation.places.reach[axis.name]:
            before = _together(evaluation, axis, other, current)
            gone = sorted(before - _together(evaluation, axis, other, to))
            own += [_affected(evaluation, other, gone)] if gone else []
    return tuple(own)


def _is_covered(evaluation: Evaluation, axis: Axis, version: Version) -> bool:
    """Whether a user of the newest release can have the version: it is promised, or nothing but a
    package that is on no axis rules it out as published.
    """
    places = evaluation.places
    promised = version in places.promised(axis.name)
    return any(
        promised
        or (
            (fresh := places.entries.get(place, {}).get("fresh")) is not None
            and fresh.obstacle is not None
            and not {each.text for each in fresh.cell.coordinates} & set(fresh.obstacle.between)
        )
        for place in places.having(axis.name, version)
    )


def gained(
    evaluation: Evaluation, axis: Axis, current: Version, to: Version
) -> tuple[Affected, ...]:
    return (
        _affected(
            evaluation, axis, [v for v in evaluation.as_of.existing[axis.name] if to <= v < current]
        ),
    )


def _together(evaluation: Evaluation, axis: Axis, other: Axis, floor: Version) -> set[Version]:
    # The promised versions of another axis that can be had with some promised version of this one
    # from a floor on.
    position = [other.name for other in evaluation.as_of.others].index(other.name)
    versions = (v for v in evaluation.places.promised(axis.name) if v >= floor)
    return {
        place[position]
        for version in versions
        for place in evaluation.places.having(axis.name, version)
    }


def affected_words(move: Affected) -> str:
    versions = f"{move.package} {', '.join(map(str, move.versions))}"
    return (
        f"{versions} (releases {', '.join(map(str, move.releases))})" if move.releases else versions
    )


def _affected(evaluation: Evaluation, axis: Axis, versions: list[Version]) -> Affected:
    releases = [
        release for version in versions for release in evaluation.as_of.releases(axis, version)
    ]
    return Affected(
        axis=axis.name,
        package=package_words(axis),
        versions=tuple(versions),
        releases=() if releases == versions else tuple(releases),
    )
