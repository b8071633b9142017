"""What a subject's release requires of other packages, by its own metadata."""

from collections.abc import Iterable, Sequence

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from compat.declare.parsing import parsed
from compat.index.release import Package, Published
from compat.value import Value


class Asked(Value, frozen=True, kw_only=True):
    """A requirement that holds: `name` is normalised (PEP 503), `url` is empty for a release."""

    name: str
    specifier: SpecifierSet
    extras: tuple[str, ...]
    url: str


def active(
    published: Published | None, markers: dict[str, str], extras: Sequence[str] = ()
) -> tuple[Asked, ...]:
    """Unreadable requirements are omitted: a resolver ignores them, too."""
    if published is None:
        return ()
    return tuple(
        Asked(
            name=canonicalize_name(r.name),
            specifier=r.specifier,
            extras=tuple(sorted(r.extras)),
            url=r.url or "",
        )
        for r in filter(None, map(parsed, published.requires_dist))
        if r.marker is None
        or any(r.marker.evaluate(markers | {"extra": extra}) for extra in ("", *extras))
    )


def published_names(packages: Iterable[Package]) -> frozenset[str]:
    releases = (release for package in packages for release in package.releases)
    texts = {text for release in releases for text in release.requires}
    asked = (r for r in map(parsed, texts) if r is not None and "extra" not in str(r.marker))
    return frozenset(canonicalize_name(r.name) for r in asked)


def named(asked: tuple[Asked, ...], package: str) -> tuple[Asked, ...]:
    return tuple(requirement for requirement in asked if requirement.name == package)
