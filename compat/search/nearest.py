"""The nearest version with which something is possible, found with few questions."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from packaging.specifiers import SpecifierSet
from packaging.version import Version

Answer = TypeVar("Answer")


def distances(releases: Sequence[Version], asked: Sequence[SpecifierSet]) -> Mapping[Version, int]:
    """Return how many releases each lies from the nearest that was asked for.

    A pinned version that the index has lost counts as one of them. Empty where anything will do.
    """
    if not any(map(str, asked)):
        return {}
    named = [c for s in asked for c in s if c.operator != "==="]
    bounds = {Version(clause.version.removesuffix(".*")) for clause in named}
    lost = {
        Version(clause.version)
        for clause in named
        if clause.operator == "==" and not clause.version.endswith(".*")
    }
    every = sorted({*releases, *lost})
    admitted = [v for v in every if all(specifier.contains(v) for specifier in asked)]
    if not admitted:
        # Nothing that was asked for is left: the bounds themselves say where it was.
        every, admitted = sorted({*releases, *bounds}), sorted(bounds)
    if not admitted:
        return {}
    places = {version: place for place, version in enumerate(every)}
    wanted = [places[version] for version in admitted]
    return {version: min(abs(place - places[version]) for place in wanted) for version in releases}


def nearest_possible(
    apart: Mapping[Version, int], possible: Callable[[SpecifierSet], Answer | None]
) -> Answer | None:
    """Return the answer for the narrowest range around what was asked in which it is possible.

    `apart` says how far each version lies; `possible` is asked about ranges, of which each holds
    those before it: so the range is found by doubling, then by halving. None when no range does it.
    """
    steps = sorted(set(apart.values()))
    answers: dict[int, Answer | None] = {}

    def ask(place: int) -> Answer | None:
        within = [version for version, far in apart.items() if far <= steps[place]]
        answers[place] = possible(SpecifierSet(f">={min(within)},<={max(within)}"))
        return answers[place]

    if not steps:
        return None
    below, above, last = -1, 0, len(steps) - 1
    while ask(above) is None:
        if above == last:
            return None
        below, above = above, min(2 * above + 1, last)
    while above - below > 1:
        middle = (above + below) // 2
        if ask(middle) is None:
            below = middle
        else:
            above = middle
    return answers[above]
