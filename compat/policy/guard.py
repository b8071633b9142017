"""The `policy` room's guard: which cells a floor promises, and whether their runs support it.

A floor at X promises that the subject's newest release works with X. It is asked at X's corners:
with the lowest and the highest version of each other axis that is promised too (from that axis's
floor to the last that the release itself admits) and that can be had together with X. A corner has
a cell for each recipe, and the strictest recipe that supports it is the representative cell,
because "works with changed dependency pins" answers whether the code works. A place whose cells the
plan rules out, and of which no run counts, is no evidence: where there is no other place, a
sentence says why.

A cell supports a floor when its verdict is `works`, or `partial` where each failing capability has
a declared explanation; tested, not stale, not flaky. Such runs count as witnesses when they were of
today's lock and suite, one a day, and isolated as the policy asks. A cell without such a run moves
no floor, whether it works or is broken.
"""

import datetime
import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Literal

from packaging.version import Version

from compat.plan.cell import RECIPES, Recipe
from compat.policy.as_of import AsOf, package_words
from compat.policy.proposal import Against, CellEvidence, Objection
from compat.results.record import Ran, Status
from compat.results.snapshot import Entry
from compat.results.verdict import History, Verdict, verdict_of
from compat.run.outcome import Failed
from compat.value import StrictValue

Place = tuple[Version, ...]
State = Literal["proven", "green", "red", "open"]


class FloorEvidence(StrictValue, frozen=True, kw_only=True):
    """What is known of a floor at one version.

    `proven`: every corner is green with enough witnesses; `green`: green, with too few; `red`:
    every corner is broken; `open`: anything else. `red_days` is on how many days the least often
    broken corner was.
    """

    version: Version
    state: State
    evidence: tuple[CellEvidence, ...]
    objections: tuple[Objection, ...]
    needs: tuple[str, ...]
    red_days: int = 0

    @property
    def is_green(self) -> bool:
        """Whether every corner supports it, however often."""
        return self.state in ("proven", "green")

    @property
    def is_tested(self) -> bool:
        """Whether any run says something about it."""
        return any(one.latest is not None for one in self.evidence)


class Guard:
    """What supports or forbids a floor, on one day; each version is judged once."""

    def __init__(self, moment: AsOf) -> None:
        """Take the day."""
        self.moment = moment
        self._names = tuple(axis.name for axis in moment.others)
        self._axes = {axis.name: axis for axis in moment.others}
        self._proofs: dict[tuple[str, Version], FloorEvidence] = {}

    @cached_property
    def _places(self) -> dict[Place, dict[Recipe, Entry]]:
        places: dict[Place, dict[Recipe, Entry]] = {}
        for entry in self.moment.cells:
            place = tuple(entry.cell.on(name).version for name in self._names)
            places.setdefault(place, {})[entry.cell.recipe] = entry
        return places

    @cached_property
    def reach(self) -> dict[str, frozenset[Version]]:
        """The versions of each axis with which the newest release can be had as published."""
        reached: dict[str, set[Version]] = {name: set() for name in self._names}
        for place, recipes in self._places.items():
            if any(
                entry.obstacle is None for recipe, entry in recipes.items() if recipe != "relaxed"
            ):
                for name, version in zip(self._names, place, strict=True):
                    reached[name].add(version)
        return {name: frozenset(versions) for name, versions in reached.items()}

    def promised(self, axis: str) -> frozenset[Version]:
        """Return the versions of an axis from its floor on that the newest release admits, and the
        floor itself.
        """
        floor = self.moment.floors.get(axis)
        above = frozenset(
            version for version in self.reach[axis] if floor is None or version >= floor
        )
        return above if floor is None else above | {floor}

    def corners(self, axis: str, at: Version) -> tuple[Place, ...]:
        """Return the places at which a floor of the axis at that version is asked, in order."""
        had = self.places(axis, at)
        if not had:
            return ()
        ends = [{min(versions), max(versions)} for versions in zip(*had, strict=True)]
        outer = tuple(
            place for place in had if all(v in end for v, end in zip(place, ends, strict=True))
        )
        return outer or (had[0], had[-1])

    def places(self, axis: str, at: Version) -> tuple[Place, ...]:
        """Return every place with that version that is promised and can be had, in order."""
        spans = [frozenset((at,)) if name == axis else self.promised(name) for name in self._names]
        return tuple(
            place for place in itertools.product(*map(sorted, spans)) if self._can_be_had(place)
        )

    def proof(self, axis: str, at: Version) -> FloorEvidence:
        """Return what is known of a floor of the axis at that version."""
        key = (axis, at)
        if key not in self._proofs:
            self._proofs[key] = self._proof(axis, at)
        return self._proofs[key]

    def raised(self, axis: str, at: Version) -> FloorEvidence:
        """Return what is known of a raise to that version: the newest release must be had with it
        as published.
        """
        if at not in self.moment.existing[axis] or at in self.reach[axis]:
            return self.proof(axis, at)
        return _unknown(at, self._ruled_out(axis, at, as_published=True))

    def absent(self, axis: str, at: Version) -> str:
        """Return why no cell can tell of that version; empty when one can."""
        if self.moment.newest is None:
            return f"{self.moment.matrix.subject_axis.package} has no release that is not yanked"
        if at not in self.moment.existing[axis]:
            if at in self.moment.asked[axis]:
                return f"{self._called(axis, at)} was not out on {self.moment.day}"
            return f"no cell has {self._called(axis, at)}: the matrix does not ask about it"
        return "" if self.corners(axis, at) else self._ruled_out(axis, at, as_published=False)

    def failing(
        self, axis: str, current: Version, to: Version
    ) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        """Yield a cell with the other version, one with the current, what fails in the first alone.

        Each representative cell of the other version is held against that of the place which
        differs from it in this axis alone, where that can be had.
        """
        index = self._names.index(axis)
        for place in self.corners(axis, to):
            beside = (*place[:index], current, *place[index + 1 :])
            if self._can_be_had(beside):
                after, before = self._corner(place)[0].cell, self._corner(beside)[0].cell
                worked = self._statuses(before)
                lost = [name for name, status in self._statuses(after).items() if status == "no"]
                if lost := [name for name in lost if worked.get(name) == "yes"]:
                    yield after, before, tuple(lost)

    def _statuses(self, cell: str) -> dict[str, Status]:
        return {one.id: one.status for one in self.moment.picture.by_id[cell].verdict.capabilities}

    def _can_be_had(self, place: Place) -> bool:
        recipes = self._places.get(place, {}).values()
        return any(entry.obstacle is None or entry.is_tested for entry in recipes)

    def _proof(self, axis: str, at: Version) -> FloorEvidence:
        witnesses = self.moment.policy.witnesses
        if because := self.absent(axis, at):
            return _unknown(at, because)
        corners = [self._corner(place) for place in self.corners(axis, at)]
        deciding = [corner[0] for corner in corners]
        objections = tuple(found for one in deciding if (found := self._objection(one)) is not None)
        state: State = "open"
        if all(one.supports for one in deciding):
            state = "green" if objections else "proven"
        elif all(_is_red(one) for one in deciding):
            state = "red"
        return FloorEvidence(
            version=at,
            state=state,
            evidence=tuple(itertools.chain.from_iterable(corners)),
            objections=objections,
            needs=tuple(
                one.cell for one in deciding if not one.supports or len(one.days) < witnesses
            ),
            red_days=min(len(one.days) for one in deciding) if state == "red" else 0,
        )

    def _corner(self, place: Place) -> list[CellEvidence]:
        """The evidence of a place that can be had: its representative cell, then others that
        ran.
        """
        recipes = self._places[place]
        told = [self._evidence(recipes[recipe]) for recipe in RECIPES if recipe in recipes]
        able = [
            one for one in told if recipes[one.recipe].obstacle is None or one.latest is not None
        ]
        locked = frozenset(
            recipe for recipe, entry in recipes.items() if entry.lock_digest is not None
        )
        speaking = self._speaking(able, locked)
        return [speaking, *(one for one in able if one is not speaking and one.latest is not None)]

    def _speaking(self, able: Sequence[CellEvidence], locked: frozenset[Recipe]) -> CellEvidence:
        """The representative cell among those of a place that can be had, strictest recipe first.

        It is one that supports the floor, with enough runs before one with too few; then one that
        might, once it runs again; then one that has not run yet, rather one with a lock; else the
        one of the laxest recipe: where that fails, no other does better.
        """
        green = [one for one in able if one.supports]
        hopeful = [
            one
            for one in able
            if one.latest is not None and one.verdict in ("works", "partial", "flaky")
        ]
        waiting = [
            one for one in able if one.verdict == "unknown" and one.recipe not in self._hopeless
        ]
        if green:
            return next(
                (one for one in green if len(one.days) >= self.moment.policy.witnesses), green[0]
            )
        waiting.sort(key=lambda one: one.recipe not in locked)
        return (hopeful or waiting or able[-1:])[0]

    @cached_property
    def _hopeless(self) -> frozenset[Recipe]:
        """Recipes not worth a run: those refused elsewhere for this release; today `dated` too, it
        asks of the past.
        """
        refused = {e.cell.recipe for e in self.moment.cells if _is_refused(e)} - {"relaxed"}
        return frozenset(refused if self.moment.looks_back else {*refused, "dated"})

    def _evidence(self, entry: Entry) -> CellEvidence:
        found = self._untroubled(entry)
        unexplained = [
            one.id
            for one in found.capabilities
            if one.status == "no" and not self.moment.picture.explained(entry, one)
        ]
        fits = found.kind == "works" or (found.kind == "partial" and not unexplained)
        known = self.moment.picture.explained(entry)
        because = "; ".join(
            (*found.reasons, *([] if known is None else [f"it is known: {known.because}"]))
        )
        if found.kind == "partial" and unexplained:
            because = f"no explanation is declared of why these fail: {', '.join(unexplained)}"
        days = self._days(entry)
        return CellEvidence(
            cell=entry.cell.id,
            recipe=entry.cell.recipe,
            verdict=found.kind,
            outcome="" if found.outcome is None else str(found.outcome),
            latest=found.latest,
            days=days,
            supports=fits and found.evidence == "tested" and not found.stale and bool(days),
            stale=found.stale,
            because=because,
        )

    def _untroubled(self, entry: Entry) -> Verdict:
        """The verdict without the newer run that says nothing: trouble neither moves a floor nor
        stops it.
        """
        if entry.history.unanswered is None:
            return entry.verdict
        counted, present = History(counted=entry.counted), self.moment.picture.present
        return verdict_of(entry.cell.id, counted, present, entry.lock_digest, entry.obstacle)

    def _days(self, entry: Entry) -> tuple[datetime.date, ...]:
        """The days of the isolated runs that made the verdict: those of the newest run's lock and
        suite.
        """
        counted = [one.run for one in entry.counted]
        if not counted:
            return ()
        newest = (counted[-1].lock_digest, counted[-1].suite_digest)
        same = (run for run in counted if (run.lock_digest, run.suite_digest) == newest)
        return tuple(sorted({run.started.date() for run in same if self._is_isolated(run)}))

    def _is_isolated(self, run: Ran) -> bool:
        """Whether the cell was isolated as the policy asks; one that was never locked ran
        nothing.
        """
        return run.lock_digest == "" or run.isolation >= self.moment.policy.isolation

    def _objection(self, one: CellEvidence) -> Objection | None:
        def says(against: Against, because: str) -> Objection:
            return Objection(against=against, because=because, cells=(one.cell,))

        if one.supports:
            return self._too_few(one)
        if one.latest is None:
            return says("missing", f"no run of {one.cell} counts yet")
        if one.verdict == "flaky":
            return says("flaky", f"{one.cell} is flaky: {one.because}")
        if one.stale:
            return says("stale", f"{one.cell} must run again: {one.because}")
        if not one.days and one.verdict in ("works", "partial", "broken"):
            least = self.moment.policy.isolation
            return says(
                "isolation",
                f"{one.cell} has no run at isolation {least}, which a floor needs: {one.because}",
            )
        if one.verdict == "unknown":
            return says("missing", f"{one.cell} has no answer yet: {one.because}")
        if one.verdict == "partial":
            return says("red", f"{one.cell} works only in part: {one.because}")
        return says("red", f"{one.cell} does not work: {one.because}")

    def _too_few(self, one: CellEvidence) -> Objection | None:
        wanted = self.moment.policy.witnesses
        if len(one.days) >= wanted:
            return None
        after = one.days[-1] + datetime.timedelta(days=1)
        days = ", ".join(str(day) for day in one.days)
        because = f"{one.cell} has supporting runs on {len(one.days)} of {wanted} days ({days})"
        return Objection(
            against="witnesses",
            because=f"{because}; a run from {after} on is the next that counts",
            cells=(one.cell,),
        )

    def _called(self, axis: str, at: Version) -> str:
        return f"{package_words(self._axes[axis])} {at}"

    def _ruled_out(self, axis: str, at: Version, as_published: bool) -> str:
        """Why the plan has no cell of the newest release with that version, by one such cell."""
        index, what = self._names.index(axis), f"{self.moment.called} with {self._called(axis, at)}"
        subject = self.moment.matrix.subject_axis.short
        obstacles = [
            (
                not any(part.startswith(subject) for part in entry.obstacle.between),
                RECIPES.index(recipe),
                place,
                entry.obstacle.because,
            )
            for place, recipes in self._places.items()
            if place[index] == at and self._is_promised(place, index)
            for recipe, entry in recipes.items()
            if entry.obstacle is not None and (recipe != "relaxed" or not as_published)
        ]
        if not obstacles:
            return (
                f"no planned cell of {what} has promised versions of the others:"
                f" {self._unpromised(axis)}"
            )
        _, recipe_rank, place, because = min(obstacles)
        cell = self._places[place][RECIPES[recipe_rank]].cell.id
        which = (
            " as published"
            if as_published
            else " and promised versions of the others"
            if self._names[1:]
            else ""
        )
        return f"the plan rules out every cell of {what}{which}, such as {cell}: {because}"

    def _unpromised(self, besides: str) -> str:
        """Which other axis promises nothing that exists."""
        empty = [
            (package_words(axis), self.moment.floors.get(axis.name))
            for axis in self.moment.others
            if axis.name != besides
            and self.promised(axis.name).isdisjoint(self.moment.existing[axis.name])
        ]
        without = (
            f"{package}{'' if floor is None else f' from {floor} on'}" for package, floor in empty
        )
        return f"as published, it can be had with no {' and no '.join(without)}"

    def _is_promised(self, place: Place, besides: int) -> bool:
        others = (
            pair for i, pair in enumerate(zip(self._names, place, strict=True)) if i != besides
        )
        return all(version in self.promised(name) for name, version in others)


def _unknown(at: Version, because: str) -> FloorEvidence:
    against = Objection(against="missing", because=because)
    return FloorEvidence(version=at, state="open", evidence=(), objections=(against,), needs=())


def _is_refused(entry: Entry) -> bool:
    outcome = entry.verdict.outcome
    return isinstance(outcome, Failed) and outcome.stage == "lock"


def _is_red(one: CellEvidence) -> bool:
    return one.verdict == "broken" and bool(one.days) and not one.stale


def merged(
    proofs: Iterable[FloorEvidence],
) -> tuple[tuple[CellEvidence, ...], tuple[Objection, ...], tuple[str, ...]]:
    """Return the evidence, the objections and the needs of several proofs, each once."""
    several = tuple(proofs)
    return (
        tuple(dict.fromkeys(one for proof in several for one in proof.evidence)),
        tuple(dict.fromkeys(one for proof in several for one in proof.objections)),
        tuple(dict.fromkeys(one for proof in several for one in proof.needs)),
    )
