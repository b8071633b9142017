"""The `policy` room's calendar: the dated moves that the windows let every floor make in the coming
years.
"""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from packaging.version import Version

from compat.declare.matrix import Axis
from compat.declare.parsing import Name
from compat.policy.affected import lost
from compat.policy.as_of import AsOf, package_words
from compat.policy.evaluation import Evaluation, evaluation_on
from compat.policy.floor_steps import FloorStep, steps_of
from compat.policy.proposal import Affected
from compat.policy.window import hold_words, months_later, rule_of, window_of
from compat.results.snapshot import Snapshot
from compat.value import StrictValue, derive

State = Literal["due", "announced", "planned"]


class ScheduledMove(StrictValue, frozen=True, kw_only=True):
    """A coming move: a floor may rise to `to` with the first release after `on`.

    `allowed` is the day on which the window lets it, `on` the first day of the cadence from then
    on, `announced` the day on which it is announced. `held` is the hold that makes `on` later than
    the window would, None without one. `proof` is what is known of the version as a floor. `before`
    is the floor that it follows on, the present one or that of the move before it, and `lost` what
    is covered from there on and ends with it. `id` and `wording` are derived: `id` stays the same
    when dates change and is fit for a path and for a UID of a calendar.
    """

    id: str = ""
    axis: Name
    package: str
    floor: Version
    to: Version
    released: datetime.date
    allowed: datetime.date
    announced: datetime.date
    on: datetime.date
    wording: str = ""
    state: State
    rule: str
    source: str
    held: str | None
    proven: bool
    proof: str
    before: Version
    lost: tuple[Affected, ...]

    def __post_init__(self) -> None:
        derive(self, id=f"{self.axis}-{self.to}", wording=f"first release after {self.on}")


class MinimumVersions(StrictValue, frozen=True, kw_only=True):
    """The floors from a day on, by axis: by the rules, and with the moves that are proven now."""

    on: datetime.date
    floors: tuple[tuple[Name, Version], ...]
    proven: tuple[tuple[Name, Version], ...]


class Bar(StrictValue, frozen=True, kw_only=True):
    """A version of an axis for a chart: when it came out, when its window ends, and upstream's end
    of life.

    None means that nobody can know yet, or that upstream names no end. `is_floor` marks the present
    floor.
    """

    axis: Name
    version: Version
    released: datetime.date
    until: datetime.date | None
    end_of_life: datetime.date | None
    is_floor: bool


class Schedule(StrictValue, frozen=True, kw_only=True):
    """The coming moves of a matrix, by day; the minimum versions from each of these days on; and a
    chart's values.
    """

    matrix: str
    title: str
    day: datetime.date
    until: datetime.date
    moves: tuple[ScheduledMove, ...]
    minimums: tuple[MinimumVersions, ...]
    bars: tuple[Bar, ...]


def schedule(snapshot: Snapshot, day: datetime.date, years: int = 3) -> Schedule:
    """Return the schedule of a matrix from that day on; without a policy nothing moves.

    Of the moves that are due it has the newest that the calendar allows, and below it the best that
    runs support. Of packages only what has come out is known, of Python also what upstream plans.
    """
    until = months_later(day, 12 * years)
    evaluation = evaluation_on(snapshot, day)
    coming: list[ScheduledMove] = []
    bars: list[Bar] = []
    minimums: tuple[MinimumVersions, ...] = ()
    if evaluation is not None:
        axes = [axis for axis in evaluation.as_of.others if axis.name in evaluation.as_of.floors]
        for axis in axes:
            coming += (
                scheduled_move
                for scheduled_move in _coming(evaluation, axis)
                if scheduled_move.on <= until
            )
            bars += _bars(evaluation.as_of, axis)
        coming.sort(key=lambda move: (move.on, move.axis))
        minimums = _minimums(evaluation.as_of.floors, coming, day)
    matrix = snapshot.matrix
    return Schedule(
        matrix=matrix.name,
        title=matrix.title,
        day=day,
        until=until,
        moves=tuple(coming),
        minimums=minimums,
        bars=tuple(bars),
    )


def _coming(evaluation: Evaluation, axis: Axis) -> Iterator[ScheduledMove]:
    before = evaluation.as_of.floors[axis.name]
    for step in steps_of(evaluation, axis).every:
        yield _move(evaluation, axis, step, before)
        before = step.version


def _move(evaluation: Evaluation, axis: Axis, step: FloorStep, before: Version) -> ScheduledMove:
    as_of = evaluation.as_of
    policy, version, slot, on = as_of.policy, step.version, step.slot, step.on
    assert slot.allowed is not None
    floor = as_of.floors[axis.name]
    announced = on - datetime.timedelta(days=policy.notice_days)
    proof = evaluation.raised(axis.name, version)
    return ScheduledMove(
        axis=axis.name,
        package=package_words(axis),
        floor=floor,
        to=version,
        released=slot.came.released,
        allowed=slot.allowed,
        announced=announced,
        on=on,
        state="due" if on <= as_of.day else "announced" if announced <= as_of.day else "planned",
        rule=rule_of(window_of(policy, axis.name)),
        source=slot.came.source,
        held=None if step.held is None else hold_words(step.held, floor),
        proven=proof.state == "proven",
        proof="supported by every cell that it needs"
        if not proof.objections
        else proof.objections[0].because,
        before=before,
        lost=lost(evaluation, axis, before, version),
    )


def _minimums(
    floors: Mapping[str, Version], moves: Sequence[ScheduledMove], day: datetime.date
) -> tuple[MinimumVersions, ...]:
    def at(on: datetime.date, proven: bool) -> tuple[tuple[str, Version], ...]:
        reached = [move for move in moves if move.on <= on and (move.proven or not proven)]
        return tuple(
            (name, max([floor, *(m.to for m in reached if m.axis == name)]))
            for name, floor in floors.items()
        )

    days = sorted({day, *(move.on for move in moves if move.on > day)})
    return tuple(MinimumVersions(on=on, floors=at(on, False), proven=at(on, True)) for on in days)


def _bars(as_of: AsOf, axis: Axis) -> Iterator[Bar]:
    known, name = as_of.slots[axis.name], axis.name
    ends = [
        max(slot.on, as_of.lifted(name, slot.version) or slot.on)
        if slot.on is not None and slot.version not in as_of.bad(name)
        else None
        for slot in known
    ]
    for number, slot in enumerate(known):
        yield Bar(
            axis=name,
            version=slot.version,
            released=slot.came.released,
            until=min((end for end in ends[number + 1 :] if end is not None), default=None),
            end_of_life=slot.came.ends,
            is_floor=slot.version == as_of.floors[name],
        )
