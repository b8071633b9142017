"""The `advise` room's order: which proof is recommended before which.

Combinations are ranked by proof: the fewest failures of the combination, then the fewest changed
pins, then runs on the most days, then the newest versions. Each goal asks in an order of its own;
as it asks all four before anything else, what it names is never dominated: no other tested
combination is at least as good in all four and better in one. For `minimum` older is better.
"""

import operator
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial

from packaging.version import Version

from compat.advise.proof import TestedCombination, is_goal_met
from compat.advise.request import Goal, Request, Want
from compat.plan.cell import RECIPES
from compat.plan.product import axis_coordinates
from compat.results.snapshot import Snapshot


class Ranks:
    """The order in which proofs are recommended, by goal; the same for the command, the pages and
    their data.
    """

    def __init__(self, snapshot: Snapshot, proofs: tuple[TestedCombination, ...]) -> None:
        """Take all proofs of the snapshot; what is asked about later must be one of these."""
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
        """Return what proofs are sorted by: what works wholly comes first, unless it was said what
        must work, or that the fewest changed pins count first.
        """
        is_first = not request.needs and request.goal != "closest"
        return proof.tier if is_first else 0, *self._key(request.goal, proof)

    def dominates(self, proof: TestedCombination, other: TestedCombination, goal: Goal) -> bool:
        """Return whether a proof is at least as good as another in failures, changed pins, days of
        runs and newness, and better in one.
        """
        ours, theirs = self._criteria[id(proof)], self._criteria[id(other)]
        if goal == "minimum":
            ours, theirs = (*ours[:3], -ours[3]), (*theirs[:3], -theirs[3])
        return ours != theirs and all(map(operator.le, ours, theirs))

    def contenders(
        self, proofs: Iterable[TestedCombination], goal: Goal
    ) -> list[TestedCombination]:
        """Return those proofs that no other dominates which is equal in all but newness: what is
        left is quick to sort, where there are many proofs.
        """
        by_rest: dict[tuple[int, int, int], list[TestedCombination]] = {}
        ages: dict[tuple[int, int, int], int] = {}
        sign = -1 if goal == "minimum" else 1
        for proof in proofs:
            doubts, changed, days, age = self._criteria[id(proof)]
            rest, age = (doubts, changed, days), sign * age
            best = ages.get(rest)
            if best is None or age < best:
                ages[rest] = age
                by_rest[rest] = [proof]
            elif age == best:
                by_rest[rest].append(proof)
        return [proof for equals in by_rest.values() for proof in equals]

    def undominated(
        self, proofs: Iterable[TestedCombination], goal: Goal
    ) -> Iterator[TestedCombination]:
        """Yield those proofs that no other dominates; they must come the best first, as only an
        earlier one dominates a later one.
        """
        front: list[TestedCombination] = []
        for proof in proofs:
            if not any(self.dominates(better, proof, goal) for better in front):
                front.append(proof)
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
        return doubts, changed, days, age, *last

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
        none is, all of its coordinates count.
        """
        steps = sum(self._steps(proof, want.axis.name, asked[want.axis.name]) for want in unmet)
        return (
            int(not is_goal_met(proof, request)),
            len(proof.lacking(request)),
            len(unmet),
            steps,
            *self.order(proof, request),
        )

    def _steps(self, proof: TestedCombination, axis: str, asked: Collection[Version]) -> int:
        places = self.positions[axis]
        position = places[proof.cell.on(axis).version]
        return min((abs(position - places[version]) for version in asked), default=len(places))


def positions(snapshot: Snapshot) -> dict[str, dict[Version, int]]:
    """Return the number of each coordinate on its axis, oldest first; those that only records know
    are among them.
    """

    def read() -> dict[str, set[str]]:
        tested: dict[str, set[str]] = {axis.name: set() for axis in snapshot.matrix.axes}
        for entry in snapshot.known:
            for coordinate in entry.cell.coordinates:
                tested[coordinate.axis].add(str(coordinate.version))
        return tested

    by_axis: dict[str, dict[Version, int]] = {}
    tested = snapshot.kept("coordinates", dict[str, set[str]], read)
    for axis in snapshot.matrix.axes:
        known = {coordinate.version for coordinate in axis_coordinates(axis, snapshot.catalogue)}
        known |= {Version(text) for text in tested[axis.name]}
        by_axis[axis.name] = {version: number for number, version in enumerate(sorted(known))}
    return by_axis
