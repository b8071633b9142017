"""The `advise` room's order: which proof is recommended before which.

First come releases that are published for the versions and work for the most part, then
combinations in which all works (`tier`). Then each goal asks in an order of its own about failures
of the combination, changed pins, days of runs and newness. As it asks all four before anything
else, what it names is never dominated: no other tested combination is at least as good in tier and
in all four, and better in one. For `minimum` older is better.
"""

import operator
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial

from packaging.version import Version

from compat.advise.proof import TestedCombination, is_goal_met
from compat.advise.request import Goal, Request, Want
from compat.plan.cell import RECIPES, axis_coordinates
from compat.results.snapshot import Snapshot


class Ranks:
    """The order in which proofs are recommended, by goal; the same for the command, the pages and
    their data.
    """

    def __init__(self, snapshot: Snapshot, proofs: tuple[TestedCombination, ...]) -> None:
        self.positions = positions(snapshot)
        subject, python = snapshot.matrix.subject, snapshot.matrix.interpreters.name
        axes = (
            subject,
            *(axis.name for axis in snapshot.matrix.packages if axis.name != subject),
            python,
        )
        names = [axis.name for axis in snapshot.matrix.axes]
        columns = [names.index(axis) for axis in axes]
        # By text: many proofs share a coordinate, and a version is slow to look up.
        by_text: list[dict[str, int]] = [{} for _ in names]

        def place(proof: TestedCombination, column: int) -> int:
            coordinate = proof.cell.coordinates[column]
            number = by_text[column].get(coordinate.text)
            if number is None:
                number = self.positions[coordinate.axis][coordinate.version]
                by_text[column][coordinate.text] = number
            return number

        every = [tuple([place(proof, column) for column in columns]) for proof in proofs]
        newest_first = sorted(set(every), reverse=True)
        age = {places: number for number, places in enumerate(newest_first)}
        # By identity: to write down the id of each cell would take longer than all of this.
        self._subjects = {id(proof): places[0] for proof, places in zip(proofs, every, strict=True)}
        # What proofs are compared by; less is better in each.
        self._criteria = {
            id(proof): (proof.doubts, proof.changed, -proof.days, age[places])
            for proof, places in zip(proofs, every, strict=True)
        }
        self._proofs = proofs
        self._ranks: dict[Goal, dict[int, int]] = {}

    def of(self, proof: TestedCombination, goal: Goal) -> int:
        """Return the place of a proof among all, 0 for the best, whether or not it works wholly."""
        ranks = self._ranks.get(goal)
        if ranks is None:
            ordered = sorted(self._proofs, key=partial(self._key, goal))
            ranks = self._ranks[goal] = {id(proof): rank for rank, proof in enumerate(ordered)}
        return ranks[id(proof)]

    def order(self, proof: TestedCombination, request: Request) -> tuple[object, ...]:
        return tier_of(proof, request), *self._key(request.goal, proof)

    def criteria(self, proof: TestedCombination, request: Request) -> tuple[int, ...]:
        """Return tier, failures, changed pins, days of runs and newness: less is better in each."""
        *rest, age = self._criteria[id(proof)]
        return tier_of(proof, request), *rest, -age if request.goal == "minimum" else age

    def contenders(
        self, proofs: Iterable[TestedCombination], request: Request
    ) -> list[TestedCombination]:
        """Return those proofs that no other dominates which is equal in all but newness: what is
        left is quick to sort, where there are many proofs.
        """
        by_rest: dict[tuple[int, ...], list[TestedCombination]] = {}
        ages: dict[tuple[int, ...], int] = {}
        for proof in proofs:
            *other, age = self.criteria(proof, request)
            rest = tuple(other)
            best = ages.get(rest)
            if best is None or age < best:
                ages[rest] = age
                by_rest[rest] = [proof]
            elif age == best:
                by_rest[rest].append(proof)
        return [proof for equals in by_rest.values() for proof in equals]

    def undominated(
        self, proofs: Iterable[TestedCombination], request: Request
    ) -> Iterator[TestedCombination]:
        """Yield those proofs that no other dominates; they must come the best first, as only an
        earlier one dominates a later one.
        """
        front: list[tuple[int, ...]] = []
        for proof in proofs:
            own = self.criteria(proof, request)
            if not any(each != own and all(map(operator.le, each, own)) for each in front):
                front.append(own)
                yield proof

    def _key(self, goal: Goal, proof: TestedCombination) -> tuple[object, ...]:
        """What proofs are ordered by: all four criteria in the order of the goal, then what no goal
        asks about.
        """
        doubts, changed, days, age = self._criteria[id(proof)]
        subject = self._subjects[id(proof)]
        last = (bool(proof.stale), RECIPES.index(proof.cell.recipe), proof.id)
        match goal:
            case "newest":
                return -subject, doubts, changed, days, age, *last
            case "stable":
                return days, doubts, changed, age, *last
            case "closest":
                return changed, doubts, days, age, *last
            case "minimum":
                return subject, doubts, changed, -age, days, *last
        return changed > 0, doubts, changed, age, days, *last

    def distance(
        self,
        proof: TestedCombination,
        unmet: Collection[Want],
        request: Request,
        asked: Mapping[str, Collection[Version]],
    ) -> tuple[object, ...]:
        """Return how far a proof is from a request: whether its pins are refused, needs it lacks,
        wants it leaves unmet, coordinates off, its order.

        `unmet` are those wants, and `asked` has the coordinates that are wanted of each axis. Where
        none is, the steps to where what is wanted would stand count.
        """
        steps = sum(self._steps(proof, want, asked[want.axis.name]) for want in unmet)
        return (
            int(not is_goal_met(proof, request)),
            len(proof.lacking(request)),
            len(unmet),
            steps,
            *self.order(proof, request),
        )

    def _steps(
        self, proof: TestedCombination, want: Want, asked: Collection[Version]
    ) -> int | float:
        places = self.positions[want.axis.name]
        position = places[proof.cell.on(want.axis.name).version]
        wanted: list[float] = [places[version] for version in asked]
        # Between two coordinates: a version that is none lies as far from both.
        wanted = wanted or [bisect_left([*places], v) - 0.5 for v in want.bounds]
        return min((abs(position - place) for place in wanted), default=len(places))


def tier_of(proof: TestedCombination, request: Request) -> int:
    """What counts before a goal's own order: the tier; where capabilities are needed, and so work,
    whether the release is published for the versions; with the goal `closest` nothing.
    """
    if request.goal == "closest":
        return 0
    return min(proof.outside, 1) if request.needs else proof.tier


def positions(snapshot: Snapshot) -> dict[str, dict[Version, int]]:
    """Return the number of each coordinate on its axis, oldest first; those that only records know
    are among them.
    """

    # By text: many cells share a coordinate, and a version is slow to look up.
    tested: dict[str, dict[str, Version]] = {axis.name: {} for axis in snapshot.matrix.axes}
    for entry in snapshot.known:
        for coordinate in entry.cell.coordinates:
            tested[coordinate.axis][coordinate.text] = coordinate.version
    by_axis: dict[str, dict[Version, int]] = {}
    for axis in snapshot.matrix.axes:
        known = {coordinate.version for coordinate in axis_coordinates(axis, snapshot.catalogue)}
        known |= {*tested[axis.name].values()}
        by_axis[axis.name] = {version: number for number, version in enumerate(sorted(known))}
    return by_axis
