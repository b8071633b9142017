"""The `policy` room's places: which combinations of versions a floor promises, or why none.

A floor at X promises that the subject's newest release works with X. It is asked at X's corners:
with the lowest and the highest version of each other axis that is promised too (from that axis's
floor to the last that the release itself admits) and that can be had together with X. A place whose
cells the plan rules out, and of which no run counts, is no evidence: where there is no other place,
a sentence says why.
"""

import itertools
from functools import cached_property

from packaging.version import Version

from compat.plan.cell import RECIPES, Recipe
from compat.policy.as_of import AsOf, package_words
from compat.results.answer import Answer

Place = tuple[Version, ...]
_OF_THE_INDEX = ("no-artifact", "yanked")


class PromisedPlaces:
    """The places of the subject's newest release on one day; a place has a version of each axis but
    the subject's, in their order.
    """

    def __init__(self, as_of: AsOf) -> None:
        self.as_of = as_of
        self.names = tuple(axis.name for axis in as_of.others)
        self._axes = {axis.name: axis for axis in as_of.others}

    @cached_property
    def entries(self) -> dict[Place, dict[Recipe, Answer]]:
        entries: dict[Place, dict[Recipe, Answer]] = {}
        for entry in self.as_of.cells:
            place = tuple(entry.cell.on(name).version for name in self.names)
            entries.setdefault(place, {})[entry.cell.recipe] = entry
        return entries

    @cached_property
    def reach(self) -> dict[str, frozenset[Version]]:
        """The versions of each axis with which the newest release can be had as published."""
        reached: dict[str, set[Version]] = {name: set() for name in self.names}
        for place, recipes in self.entries.items():
            if any(
                entry.obstacle is None for recipe, entry in recipes.items() if recipe != "relaxed"
            ):
                for name, version in zip(self.names, place, strict=True):
                    reached[name].add(version)
        return {name: frozenset(versions) for name, versions in reached.items()}

    def promised(self, axis: str) -> frozenset[Version]:
        floor = self.as_of.floors.get(axis)
        above = frozenset(
            version for version in self.reach[axis] if floor is None or version >= floor
        )
        return above if floor is None else above | {floor}

    def corners(self, axis: str, floor: Version) -> tuple[Place, ...]:
        """Return the places at which a floor of the axis at that version is asked, in order."""
        places = self.having(axis, floor)
        if not places:
            return ()
        ends = [{min(versions), max(versions)} for versions in zip(*places, strict=True)]
        outer = tuple(
            place for place in places if all(v in end for v, end in zip(place, ends, strict=True))
        )
        return outer or (places[0], places[-1])

    def having(self, axis: str, version: Version) -> tuple[Place, ...]:
        """Return every place with that version that is promised and can be had, in order."""
        spans = [
            frozenset((version,)) if name == axis else self.promised(name) for name in self.names
        ]
        return tuple(
            place for place in itertools.product(*map(sorted, spans)) if self.can_be_had(place)
        )

    def can_be_had(self, place: Place) -> bool:
        recipes = self.entries.get(place, {}).values()
        return any(entry.obstacle is None or entry.is_tested for entry in recipes)

    def absence(self, axis: str, version: Version) -> str:
        """Return why no cell says anything about that version; empty when one can."""
        if self.as_of.newest is None:
            return f"{self.as_of.matrix.subject_axis.package} has no release that is not yanked"
        if version not in self.as_of.existing[axis]:
            if version in self.as_of.asked[axis]:
                return f"{self._words(axis, version)} was not out on {self.as_of.day}"
            return f"no cell has {self._words(axis, version)}: the matrix does not ask about it"
        if self.corners(axis, version):
            return ""
        return self.ruled_out(axis, version, as_published=False)

    def ruled_out(self, axis: str, version: Version, as_published: bool) -> str:
        what = f"{self.as_of.called} with {self._words(axis, version)}"
        obstacles = self._obstacles(axis, version, as_published)
        if not obstacles:
            return (
                f"no planned cell of {what} has promised versions of the others:"
                f" {self._unpromised(axis)}"
            )
        _, recipe_rank, place, because = min(obstacles)
        cell = self.entries[place][RECIPES[recipe_rank]].cell.id
        which = (
            " as published"
            if as_published
            else " and promised versions of the others"
            if self.names[1:]
            else ""
        )
        return f"the plan rules out every cell of {what}{which}, such as {cell}: {because}"

    def obstacle(self, axis: str, version: Version) -> str:
        # Return the first fact that rules out the newest release with that version as published;
        # empty where none does.
        known = min(self._obstacles(axis, version, as_published=True), default=None)
        return "" if known is None else known[-1]

    def _obstacles(
        self, axis: str, version: Version, as_published: bool
    ) -> list[tuple[bool, int, Place, str]]:
        index, subject = self.names.index(axis), self.as_of.matrix.subject_axis.short
        return [
            (
                not any(part.startswith(subject) for part in entry.obstacle.between),
                RECIPES.index(recipe),
                place,
                entry.obstacle.because
                # What the index lacks today it may have had: nobody can tell since when.
                + (self.as_of.as_of_today if entry.obstacle.kind in _OF_THE_INDEX else ""),
            )
            for place, recipes in self.entries.items()
            if place[index] == version and self._is_promised(place, index)
            for recipe, entry in recipes.items()
            if entry.obstacle is not None and (recipe != "relaxed" or not as_published)
        ]

    def _words(self, axis: str, version: Version) -> str:
        return f"{package_words(self._axes[axis])} {version}"

    def _unpromised(self, besides: str) -> str:
        empty = [
            (package_words(axis), self.as_of.floors.get(axis.name))
            for axis in self.as_of.others
            if axis.name != besides
            and self.promised(axis.name).isdisjoint(self.as_of.existing[axis.name])
        ]
        without = (
            f"{package}{'' if floor is None else f' from {floor} on'}" for package, floor in empty
        )
        return f"as published, it can be had with no {' and no '.join(without)}"

    def _is_promised(self, place: Place, besides: int) -> bool:
        others = (
            pair for i, pair in enumerate(zip(self.names, place, strict=True)) if i != besides
        )
        return all(version in self.promised(name) for name, version in others)
