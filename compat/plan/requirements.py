"""What a subject's release requires of other packages, by its own metadata."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from compat.index.release import Package, Published
from compat.value import Value


class Asked(Value, frozen=True, kw_only=True):
    """One requirement that holds, with its marker evaluated and removed.

    `name` is normalised (PEP 503); `url` is empty for a release.
    """

    name: str
    specifier: SpecifierSet
    extras: tuple[str, ...]
    url: str


def active(
    published: Published | None, markers: dict[str, str], extras: Sequence[str] = ()
) -> tuple[Asked, ...]:
    """Return the requirements that hold under the marker values, and those of the extras.

    Unreadable requirements are omitted: a resolver ignores them, too.
    """
    if published is None:
        return ()
    requirements = map(parsed, published.requires_dist)
    return tuple(
        _asked(r)
        for r in requirements
        if r is not None
        and (
            r.marker is None
            or any(r.marker.evaluate(markers | {"extra": extra}) for extra in ("", *extras))
        )
    )


def published_names(packages: Iterable[Package]) -> frozenset[str]:
    texts = {
        text
        for package in packages
        for release in package.releases
        if release.published is not None
        for text in release.published.requires_dist
    }
    requirements = (r for r in map(parsed, texts) if r is not None)
    return frozenset(
        canonicalize_name(r.name) for r in requirements if "extra" not in str(r.marker)
    )


def named(asked: tuple[Asked, ...], package: str) -> tuple[Asked, ...]:
    return tuple(requirement for requirement in asked if requirement.name == package)


def _asked(requirement: Requirement) -> Asked:
    return Asked(
        name=canonicalize_name(requirement.name),
        specifier=requirement.specifier,
        extras=tuple(sorted(requirement.extras)),
        url=requirement.url or "",
    )


@lru_cache(maxsize=20_000)
def parsed(text: str) -> Requirement | None:
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None
