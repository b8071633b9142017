"""The `policy` room's evaluation of one day: what supports or forbids each floor.

Each corner that a floor promises (see `places`) has a cell for each recipe. What the representative
cell comes to is what the corner comes to; where it works, the strictest recipe with enough runs is
the evidence, because "works with changed dependency pins" answers whether the code works.
"""

import datetime
import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property

from packaging.version import Version

from compat.plan.cell import RECIPES, Recipe
from compat.policy.as_of import AsOf
from compat.policy.cell_evidence import (
    FloorEvidence,
    FloorState,
    cell_evidence,
    is_red,
    no_evidence,
    objection,
)
from compat.policy.places import Place, PromisedPlaces
from compat.policy.proposal import CellEvidence
from compat.results.answer import Answer
from compat.results.record import Status
from compat.results.representative import representative
from compat.results.snapshot import Snapshot
from compat.run.outcome import Failed


def evaluation_on(snapshot: Snapshot, day: datetime.date) -> "Evaluation | None":
    """Return the evaluation of a day, the same for all who ask; None without a policy."""
    policy = snapshot.ask.policy
    if policy is None:
        return None
    return snapshot.once((Evaluation, day), lambda: Evaluation(AsOf(snapshot, policy, day)))


class Evaluation:
    """What supports or forbids a floor, on one day; each version is judged once."""

    def __init__(self, as_of: AsOf) -> None:
        self.as_of = as_of
        self.places = PromisedPlaces(as_of)
        self._floors: dict[tuple[str, Version], FloorEvidence] = {}

    def floor(self, axis: str, version: Version) -> FloorEvidence:
        key = (axis, version)
        if key not in self._floors:
            self._floors[key] = self._floor(axis, version)
        return self._floors[key]

    def raised(self, axis: str, version: Version) -> FloorEvidence:
        # Return what is known of a raise to that version: the newest release must be had with it as
        # published.
        if version not in self.as_of.existing[axis] or version in self.places.reach[axis]:
            return self.floor(axis, version)
        return no_evidence(version, self.places.ruled_out(axis, version, as_published=True))

    def failing(
        self, axis: str, current: Version, to: Version
    ) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        """Yield a cell with the other version, one with the current, what fails in the first alone.

        Each representative cell of the other version is held against that of the place which
        differs from it in this axis alone, where that can be had.
        """
        index = self.places.names.index(axis)
        for place in self.places.corners(axis, to):
            beside = (*place[:index], current, *place[index + 1 :])
            if self.places.can_be_had(beside):
                after, before = self._corner(place)[0].cell, self._corner(beside)[0].cell
                worked = self._statuses(before)
                lost = [name for name, status in self._statuses(after).items() if status == "no"]
                if lost := [name for name in lost if worked.get(name) == "yes"]:
                    yield after, before, tuple(lost)

    def _statuses(self, cell: str) -> dict[str, Status]:
        verdict = self.as_of.snapshot.by_id[cell]
        return {capability.id: capability.status for capability in verdict.capabilities}

    def _floor(self, axis: str, version: Version) -> FloorEvidence:
        policy = self.as_of.policy
        if because := self.places.absence(axis, version):
            return no_evidence(version, because)
        corners = [self._corner(place) for place in self.places.corners(axis, version)]
        deciding = [corner[0] for corner in corners]
        objections = tuple(
            against for cell in deciding if (against := objection(cell, policy)) is not None
        )
        state: FloorState = "open"
        if all(cell.supports for cell in deciding):
            state = "green" if objections else "proven"
        elif all(is_red(cell) for cell in deciding):
            state = "red"
        return FloorEvidence(
            version=version,
            state=state,
            evidence=tuple(itertools.chain.from_iterable(corners)),
            objections=objections,
            needs=tuple(
                cell.cell
                for cell in deciding
                if not cell.supports or len(cell.days) < policy.witnesses
            ),
            red_days=min(len(cell.days) for cell in deciding) if state == "red" else 0,
        )

    def _corner(self, place: Place) -> list[CellEvidence]:
        recipes = self.places.entries[place]
        able = [
            recipes[recipe]
            for recipe in RECIPES
            if recipe in recipes
            and (recipes[recipe].obstacle is None or recipes[recipe].latest is not None)
        ]
        as_of, deciding = self.as_of, self._deciding(able)
        others = (entry for entry in able if entry is not deciding and entry.latest)
        return [cell_evidence(entry, as_of) for entry in (deciding, *others)]

    def _deciding(self, able: Sequence[Answer]) -> Answer:
        """The cell that decides a place, among those that can be had, strictest recipe first.

        The representative cell says what the place comes to. Where that is working, in full or in
        part, a cell that supports the floor decides, rather one with enough runs; where it is
        broken or unknown, one that has not run yet and may still work, rather one with a lock; else
        a broken one of the laxest recipe: where that fails, no other does better.
        """
        best = representative(able)
        match best.kind:
            case "works" | "partial":
                return self._supporting(able) or best
            case "flaky":
                return best
        waiting = [
            entry
            for entry in able
            if entry.kind == "unknown" and entry.cell.recipe not in self._hopeless
        ]
        waiting.sort(key=lambda entry: entry.lock_digest is None)
        return waiting[0] if waiting else able[-1]

    def _supporting(self, able: Sequence[Answer]) -> Answer | None:
        policy = self.as_of.policy
        supporting = [
            (entry, len(evidence.days))
            for entry in able
            if (evidence := cell_evidence(entry, self.as_of)).supports
        ]
        enough = [entry for entry, days in supporting if days >= policy.witnesses]
        return next(iter(enough or [entry for entry, _ in supporting]), None)

    @cached_property
    def _hopeless(self) -> frozenset[Recipe]:
        # Recipes not worth a run: those refused elsewhere for this release; today `dated` too, it
        # asks of the past.
        refused = {entry.cell.recipe for entry in self.as_of.cells if _is_refused(entry)} - {
            "relaxed"
        }
        return frozenset(refused if self.as_of.looks_back else {*refused, "dated"})


def _is_refused(entry: Answer) -> bool:
    outcome = entry.outcome
    return isinstance(outcome, Failed) and outcome.stage == "lock"
