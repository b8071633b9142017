"""What a subject's release asks of the other packages, as its own metadata tells."""

from functools import lru_cache

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from compat.index.release import Published


def active(published: Published | None, markers: dict[str, str]) -> tuple[Requirement, ...]:
    """Return the requirements that hold under the marker values, without extras' own.

    An unreadable requirement is left out: what a resolver cannot read it ignores, too.
    """
    if published is None:
        return ()
    parsed = (_requirement(text) for text in published.requires_dist)
    return tuple(r for r in parsed if r is not None and (r.marker is None or r.marker.evaluate(markers)))


def named(requirements: tuple[Requirement, ...], package: str) -> tuple[Requirement, ...]:
    """Return the requirements on one package, by normalised name."""
    return tuple(r for r in requirements if canonicalize_name(r.name) == package)


@lru_cache(maxsize=20_000)
def _requirement(text: str) -> Requirement | None:
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None
