"""Axes whose truth is known: flaky runs, versions against the others, and such as cannot be had."""

import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from compat.search.boundary import Boundary, BoundarySearch, Probe

Run = Callable[[int], Probe]


class Kind(NamedTuple):
    """Axes of one kind.

    `fails` is the chance that a version that works fails in a run, `passes` that one that does not
    passes. `holes` is how many versions may do the opposite of their side, `untestable` how many
    cannot be installed. `runs` is what Bayesian bisection takes, both ends verified, by the table
    of `docs/figures.md`; None where there is no figure to compare with.
    """

    name: str
    versions: int
    fails: float = 0.0
    passes: float = 0.0
    holes: int = 0
    untestable: int = 0
    runs: float | None = None

    @property
    def is_flaky(self) -> bool:
        """Whether runs may mislead."""
        return bool(self.fails or self.passes)


KINDS = (
    Kind("deterministic", 71, runs=12.6),
    Kind("green fails 5 %", 71, fails=0.05, runs=14.9),
    Kind("red passes half the time", 71, passes=0.5, runs=46.6),
    Kind("red passes 20 %, green fails 10 %", 71, fails=0.1, passes=0.2, runs=41.3),
    Kind("green fails 5 %, few versions", 19, fails=0.05, runs=12.4),
    Kind("up to 2 versions against the others", 71, holes=2),
    Kind("a middle of up to 9 that cannot be installed", 71, untestable=9),
    Kind("all of these, green fails 5 %", 71, fails=0.05, holes=1, untestable=9),
)


class World(NamedTuple):
    """One axis: where support begins, which versions are against it, which cannot be installed."""

    first: int
    truth: tuple[bool, ...]
    untestable: frozenset[int]

    def is_right(self, boundary: Boundary) -> bool:
        """Whether a boundary is the true one, as far as runs can tell.

        Both ends do what is said of them. Where no version is against the others, nothing that
        could be tried lies between them; else none of what lies between was passed over, and none
        beyond the ends is taken for a part of its side although it was seen to be none.
        """
        works, fails = boundary.works, boundary.fails
        count = len(self.truth)
        if (works is not None and not self.truth[works]) or (
            fails is not None and self.truth[fails]
        ):
            return False
        between = range((-1 if fails is None else fails) + 1, count if works is None else works)
        return all(i in self.untestable or i in boundary.exceptions for i in between)


def world(kind: Kind, chance: random.Random) -> World:
    """Return an axis of that kind by chance."""
    first = chance.randrange(kind.versions + 1)
    truth = [i >= first for i in range(kind.versions)]
    for hole in chance.sample(range(kind.versions), chance.randrange(kind.holes + 1)):
        truth[hole] = not truth[hole]
    begin = chance.randrange(kind.versions)
    untestable = frozenset(range(begin, min(begin + kind.untestable, kind.versions)))
    return World(first, tuple(truth), untestable)


def run_in(world: World, kind: Kind, chance: random.Random) -> Run:
    """Return what a run of each version comes to."""

    def run(position: int) -> Probe:
        if position in world.untestable:
            return "untestable"
        works = world.truth[position]
        misleads = chance.random() < (kind.fails if works else kind.passes)
        return "works" if works is not misleads else "fails"

    return run


def searched(count: int, run: Run) -> Boundary:
    """Return what a search comes to that tries positions with `run`."""
    search = BoundarySearch(count)
    while (position := search.next()) is not None:
        search.observe(position, run(position))
    return search.result


def searches(kind: Kind, number: int, seed: int) -> Iterator[tuple[World, Boundary]]:
    """Yield so many axes of a kind, each with what a search came to."""
    chance = random.Random(f"{seed} {kind.name}")
    for _ in range(number):
        axis = world(kind, chance)
        yield axis, searched(kind.versions, run_in(axis, kind, chance))
