"""The `policy` room's steps: to which versions a floor may rise, and from which day on.

Proposals, schedule, outlook, calendar files, feeds and pages all read a raise and its day from
here, so no two of them name another version for one day.
"""

import datetime
from collections.abc import Iterable, Iterator
from functools import cached_property

from packaging.version import Version

from compat.declare.matrix import Axis
from compat.declare.policy import Hold
from compat.policy.cell_evidence import FloorEvidence
from compat.policy.evaluation import Evaluation
from compat.policy.window import Slot
from compat.value import StrictValue


class FloorStep(StrictValue, frozen=True, kw_only=True):
    """A version to which a floor may rise with the first release after `on`.

    `slot` is what the window alone says of it; `held` is the hold that makes `on` later than that,
    None without one.
    """

    slot: Slot
    on: datetime.date
    held: Hold | None

    @property
    def version(self) -> Version:
        return self.slot.version


class FloorSteps:
    """The steps of one axis on the day of an evaluation."""

    def __init__(self, evaluation: Evaluation, axis: Axis) -> None:
        self.evaluation = evaluation
        self.as_of = evaluation.as_of
        self.axis = axis
        self.at = self.as_of.floors[axis.name]
        self.hold = self.as_of.hold(axis.name)
        reached = self.as_of.calendar(axis.name)
        oldest = min((self.at, *self.as_of.existing[axis.name]))
        self.allowed = oldest if reached is None else reached.version
        self.limit = self.allowed if self.hold is None else min(self.allowed, self.hold.at)

    @cached_property
    def every(self) -> tuple[FloorStep, ...]:
        # Every step that is known, oldest version first: those of the calendar, and below what is
        # due already the best that runs support.
        best = [step for step in self._above if step.version in self._best()]
        return _once((*self.calendar, *best))

    @cached_property
    def proposed(self) -> tuple[FloorStep, ...]:
        # The steps that are due or announced, and the first that a hold puts off, where it is the
        # hold alone that is in the way now.
        soon = self.as_of.day + datetime.timedelta(days=self.as_of.policy.notice_days)
        reached = self.as_of.calendar(self.axis.name, soon)
        held = [step for step in self.calendar if step.held is not None]
        is_in_the_way = (
            self.hold is not None and reached is not None and reached.version > self.hold.at
        )
        return _once(
            (
                *(step for step in self.every if step.on <= soon),
                *(held[:1] if is_in_the_way else ()),
            )
        )

    @cached_property
    def calendar(self) -> tuple[FloorStep, ...]:
        # The steps by date alone, with holds: of what is due the newest, then each that is newest
        # on its day.
        due = max((step.version for step in self._above if step.on <= self.as_of.day), default=None)
        return tuple(
            step
            for step in self._above
            if (due is None or step.version >= due)
            and not any(
                later.version > step.version and later.on <= step.on for later in self._above
            )
        )

    @cached_property
    def under_the_hold(self) -> Version | None:
        # The newest version above the floor that calendar and hold allow now; None without a hold.
        if self.hold is None:
            return None
        step = self.as_of.calendar(self.axis.name, up_to=self.hold.at)
        return None if step is None or step.version <= self.at else step.version

    def proof(self, version: Version) -> FloorEvidence:
        return self.evaluation.floor(self.axis.name, version)

    def reachable(self) -> list[Version]:
        """Return the versions that the calendar allows now, may be a floor, and can be had as
        published.

        Each is allowed by its own date: a lower version may be the younger one.
        """
        bad, reach = self.as_of.bad(self.axis.name), self.evaluation.places.reach[self.axis.name]
        slots, day = self.as_of.slots[self.axis.name], self.as_of.day
        allowed = {slot.version for slot in slots if slot.on is not None and slot.on <= day}
        existing = self.as_of.existing[self.axis.name]
        return [v for v in existing if v in allowed and v in reach and v not in bad]

    def _best(self) -> list[Version]:
        # The newest proven version above the floor up to the limit; else the newest green one, else
        # the newest.
        within = [v for v in self.reachable() if self.at < v <= self.limit]
        green = [v for v in within if self.proof(v).is_green]
        proven = [v for v in green if self.proof(v).state == "proven"]
        return (proven or green or within)[-1:]

    @cached_property
    def _above(self) -> tuple[FloorStep, ...]:
        # A step for each version above the floor whose day is known and that is not known to be
        # bad.
        return tuple(self._dated())

    def _dated(self) -> Iterator[FloorStep]:
        bad, name = self.as_of.bad(self.axis.name), self.axis.name
        for slot in self.as_of.slots[name]:
            if slot.version > self.at and slot.version not in bad and slot.on is not None:
                holds = self.as_of.holds(name, slot.version)
                yield FloorStep(
                    slot=slot,
                    on=max(slot.on, self.as_of.lifted(name, slot.version) or slot.on),
                    held=max(holds, key=lambda hold: hold.until, default=None),
                )


def steps_of(evaluation: Evaluation, axis: Axis) -> FloorSteps:
    snapshot, day = evaluation.as_of.snapshot, evaluation.as_of.day
    return snapshot.once((FloorSteps, day, axis.name), lambda: FloorSteps(evaluation, axis))


def _once(steps: Iterable[FloorStep]) -> tuple[FloorStep, ...]:
    by_version = {step.version: step for step in steps}
    return tuple(by_version[version] for version in sorted(by_version))
