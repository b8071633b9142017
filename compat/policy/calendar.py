"""The calendar of moves in the coming years, and one sentence on whether and when each floor can
move.
"""

import datetime
from collections.abc import Iterator
from typing import Literal

from packaging.version import Version

from compat.declare.matrix import Axis
from compat.declare.parsing import Name
from compat.policy.evaluation import (
    DAY,
    AsOf,
    Evaluation,
    FloorEvidence,
    evaluation_on,
    hold_words,
    months_later,
    package_words,
    rule_of,
)
from compat.policy.proposal import Affected, Against
from compat.policy.propose import FloorStep, lost, steps_of
from compat.results.snapshot import Snapshot
from compat.value import StrictValue, derive

State = Literal["due", "announced", "planned"]


class ScheduledMove(StrictValue, frozen=True, kw_only=True):
    """A coming move: a floor may rise to `to` with the first release after `on`.

    `allowed` is the day on which the window allows it, `on` the first day of the cadence from then
    on, `announced` the day of its announcement. `held` is the hold that makes `on` later than the
    window would, None without one. `proof` is the evidence for the version as a floor, and
    `obstacle` the one cause that blocks it, empty without one. `before` is the previous floor, the
    present one or that of the move before it. `lost` is the coverage that ends with it. `id` and
    `wording` are derived: `id` stays the same when dates change and is fit for a path and for a UID
    of a calendar.
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
    obstacle: str = ""
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
    """A version of an axis for a chart. None: the end is unknown, or upstream names none."""

    axis: Name
    version: Version
    released: datetime.date
    until: datetime.date | None
    end_of_life: datetime.date | None
    is_floor: bool


class Schedule(StrictValue, frozen=True, kw_only=True):
    """The coming moves by day, the minimum versions from each of these days on, and a chart's
    values.
    """

    matrix: str
    title: str
    day: datetime.date
    until: datetime.date
    moves: tuple[ScheduledMove, ...]
    minimums: tuple[MinimumVersions, ...]
    bars: tuple[Bar, ...]


def schedule(snapshot: Snapshot, day: datetime.date, years: int = 3) -> Schedule:
    """Return the schedule from that day on: the newest due move that the calendar allows, below it
    the best that runs support. Packages count when released, Pythons also when planned.
    """
    until = months_later(day, 12 * years)
    evaluation = evaluation_on(snapshot, day)
    coming: list[ScheduledMove] = []
    bars: list[Bar] = []
    minimums: tuple[MinimumVersions, ...] = ()
    if evaluation is not None:
        axes = [axis for axis in evaluation.as_of.others if axis.name in evaluation.as_of.floors]
        for axis in axes:
            before = evaluation.as_of.floors[axis.name]
            for step in steps_of(evaluation, axis).every:
                move = _move(evaluation, axis, step, before)
                before = step.version
                coming += [move] if move.on <= until else []
            bars += _bars(evaluation.as_of, axis)
        coming.sort(key=lambda move: (move.on, move.axis))

        def at(on: datetime.date, proven: bool) -> tuple[tuple[str, Version], ...]:
            reached = [move for move in coming if move.on <= on and (move.proven or not proven)]
            return tuple(
                (name, max([floor, *(m.to for m in reached if m.axis == name)]))
                for name, floor in evaluation.as_of.floors.items()
            )

        days = sorted({day, *(move.on for move in coming if move.on > day)})
        minimums = tuple(
            MinimumVersions(on=on, floors=at(on, False), proven=at(on, True)) for on in days
        )
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
        rule=rule_of(policy.window(axis)),
        source=slot.came.source,
        held=None if step.held is None else hold_words(step.held, floor),
        proven=proof.state == "proven",
        proof="supported by every cell that it needs"
        if not proof.objections
        else proof.objections[0].because,
        obstacle=_obstacle(evaluation, axis, step) if proof.objections else "",
        before=before,
        lost=lost(evaluation, axis, before, version),
    )


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


Prospect = Literal["open", "dated", "runs", "held", "blocked", "settled"]
# What further runs can fix, as far as known before they are made.
_MENDED_BY_RUNS: frozenset[Against] = frozenset(("witnesses", "missing", "stale"))
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


class Outlook(StrictValue, frozen=True, kw_only=True):
    """Where a floor can go next.

    `open`: it can rise to `to` now. `dated`: on the day `on`. `runs`: on that day, if this many
    more `runs` of the cells that it `needs` pass. `held`: a hold blocks it until then. `blocked`:
    by something that no run of today fixes, named in `because`. `settled`: nothing is known to
    follow it. `lost` is what a release with the new floor no longer covers.
    """

    axis: Name
    package: str
    floor: Version
    prospect: Prospect
    to: Version | None
    on: datetime.date | None
    runs: int
    needs: tuple[str, ...]
    because: str
    sentence: str
    lost: tuple[Affected, ...]


class _Prospect(StrictValue, frozen=True, kw_only=True):
    """A step with what blocks its release."""

    step: FloorStep
    on: datetime.date
    runs: int
    is_possible: bool


def outlooks(snapshot: Snapshot, day: datetime.date) -> tuple[Outlook, ...]:
    evaluation = evaluation_on(snapshot, day)
    if evaluation is None:
        return ()
    as_of = evaluation.as_of
    return tuple(_outlook(evaluation, axis) for axis in as_of.others if axis.name in as_of.floors)


def missing_command(matrix: str, needs: tuple[str, ...]) -> str:
    return f"compat run {matrix} {' '.join(needs)}"


def _outlook(evaluation: Evaluation, axis: Axis) -> Outlook:
    as_of, floor = evaluation.as_of, evaluation.as_of.floors[axis.name]
    prospects = [_prospect(evaluation, axis, step) for step in steps_of(evaluation, axis).every]
    chosen = _nearest(prospects, as_of.day)
    what = f"{package_words(axis)} {floor}"
    if chosen is None:
        return Outlook(
            axis=axis.name, package=package_words(axis), floor=floor, prospect="settled",
            to=None, on=None, runs=0, needs=(), because="", lost=(),
            sentence=f"{what} stays: no version is known that may follow it",
        )  # fmt: skip
    step, to = chosen.step, chosen.step.version
    because = "" if chosen.is_possible else _obstacle(evaluation, axis, step)
    prospect, sentence = _told(chosen, what, because, as_of.day)
    return Outlook(
        axis=axis.name,
        package=package_words(axis),
        floor=floor,
        prospect=prospect,
        to=to,
        on=chosen.on,
        runs=chosen.runs,
        needs=evaluation.raised(axis.name, to).needs if chosen.runs else (),
        because=because,
        sentence=sentence,
        lost=lost(evaluation, axis, floor, to),
    )


def _told(chosen: _Prospect, what: str, because: str, day: datetime.date) -> tuple[Prospect, str]:
    to, on, hold = chosen.step.version, chosen.on, chosen.step.held
    if not chosen.is_possible:
        if hold is not None:
            return (
                "held",
                f"{what} is held until {hold.until}; {to} is next, on {on}, but {because}",
            )
        since = f"could move to {to} since {on}" if on <= day else f"could move to {to} on {on}"
        return "blocked", f"{what} {since}, but {because}"
    if chosen.runs:
        many = _NUMBERS[chosen.runs] if chosen.runs < len(_NUMBERS) else f"{chosen.runs:,}"
        runs = "run passes" if chosen.runs == 1 else "runs pass"
        return "runs", f"{what} can move to {to} on {on} if {many} more {runs}"
    if on <= day:
        return "open", f"{what} can move to {to} with the next release"
    return "dated", f"{what} can move to {to} on {on}"


def _nearest(prospects: list[_Prospect], day: datetime.date) -> _Prospect | None:
    possible = [prospect for prospect in prospects if prospect.is_possible]
    if possible:
        first = min(max(prospect.on, day) for prospect in possible)
        fitting = [prospect for prospect in possible if max(prospect.on, day) == first]
        return max(fitting, key=lambda prospect: prospect.step.version)
    return min(prospects, key=lambda prospect: (prospect.on, prospect.step.version), default=None)


def _prospect(evaluation: Evaluation, axis: Axis, step: FloorStep) -> _Prospect:
    proof = evaluation.raised(axis.name, step.version)
    kinds = {objection.against for objection in proof.objections}
    missing = list(_missing(proof, evaluation.as_of))
    is_possible = kinds <= _MENDED_BY_RUNS and bool(missing or not kinds)
    runs = sum(number for number, _ in missing) if is_possible else 0
    days = [on for _, on in missing] if runs else []
    return _Prospect(step=step, on=max([step.on, *days]), runs=runs, is_possible=is_possible)


def _missing(proof: FloorEvidence, as_of: AsOf) -> Iterator[tuple[int, datetime.date]]:
    by_cell = {evidence.cell: evidence for evidence in proof.evidence}
    for cell in proof.needs:
        evidence = by_cell[cell]
        counted = len(evidence.days) if evidence.supports else 0
        number = as_of.policy.witnesses - counted
        ran_today = evidence.supports and evidence.days[-1] >= as_of.day
        yield number, as_of.day + (number if ran_today else number - 1) * DAY


def _obstacle(evaluation: Evaluation, axis: Axis, step: FloorStep) -> str:
    proof = evaluation.raised(axis.name, step.version)
    lasting = (each for each in proof.objections if each.against not in _MENDED_BY_RUNS)
    against = next(lasting, proof.objections[0])
    if proof.evidence or step.version not in evaluation.as_of.existing[axis.name]:
        return against.because
    return evaluation.places.obstacle(axis.name, step.version) or against.because
