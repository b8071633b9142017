"""The calendar of moves in the coming years, and one sentence on whether and when each floor can
move.
"""

import datetime
from typing import Literal

from packaging.version import Version

from compat.advise.request import label
from compat.declare.matrix import Axis
from compat.declare.parsing import Name
from compat.policy.evaluation import (
    DAY,
    Affected,
    Against,
    Evaluation,
    evaluation_on,
    hold_words,
    months_later,
    rule_of,
)
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
    floors: dict[Name, Version]
    proven: dict[Name, Version]


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
    """Packages count when released, Pythons also when planned."""
    until = months_later(day, 12 * years)
    as_of = evaluation_on(snapshot, day)
    coming: list[ScheduledMove] = []
    bars: list[Bar] = []
    minimums: tuple[MinimumVersions, ...] = ()
    if as_of is not None:
        for axis in as_of.moving:
            before = as_of.floors[axis.name]
            for step in steps_of(as_of, axis).every:
                move = _move(as_of, axis, step, before)
                before = step.version
                coming += [move] if move.on <= until else []
            known, name = as_of.slots[axis.name], axis.name
            ends = [
                max(slot.on, as_of.lifted(name, slot.version) or slot.on)
                if slot.on is not None and slot.version not in as_of.bad(name)
                else None
                for slot in known
            ]
            for number, slot in enumerate(known, start=1):
                bar = Bar(
                    axis=name,
                    version=slot.version,
                    released=slot.released,
                    until=min((end for end in ends[number:] if end is not None), default=None),
                    end_of_life=slot.ends,
                    is_floor=slot.version == as_of.floors[name],
                )
                bars.append(bar)
        coming.sort(key=lambda move: (move.on, move.axis))

        def at(on: datetime.date, proven: bool) -> dict[str, Version]:
            reached = [move for move in coming if move.on <= on and (move.proven or not proven)]
            return {
                name: max([floor, *(m.to for m in reached if m.axis == name)])
                for name, floor in as_of.floors.items()
            }

        days = sorted({day, *(move.on for move in coming if move.on > day)})
        minimums = tuple(
            MinimumVersions(on=on, floors=at(on, False), proven=at(on, True)) for on in days
        )
    return Schedule(
        matrix=snapshot.matrix.name,
        title=snapshot.matrix.title,
        day=day,
        until=until,
        moves=tuple(coming),
        minimums=minimums,
        bars=tuple(bars),
    )


def _move(as_of: Evaluation, axis: Axis, step: FloorStep, before: Version) -> ScheduledMove:
    slot, on, floor = step.slot, step.on, as_of.floors[axis.name]
    assert slot.allowed is not None
    announced = on - datetime.timedelta(days=as_of.policy.notice_days)
    proof = as_of.raised(axis.name, step.version)
    return ScheduledMove(
        axis=axis.name,
        package=label(axis),
        floor=floor,
        to=step.version,
        released=slot.released,
        allowed=slot.allowed,
        announced=announced,
        on=on,
        state="due" if on <= as_of.day else "announced" if announced <= as_of.day else "planned",
        rule=rule_of(as_of.policy.window(axis)),
        source=slot.source,
        held=None if step.held is None else hold_words(step.held, floor),
        proven=proof.state == "proven",
        proof="supported by every cell that it needs"
        if not proof.objections
        else proof.objections[0].because,
        obstacle=_obstacle(as_of, axis, step) if proof.objections else "",
        before=before,
        lost=lost(as_of, axis, before, step.version),
    )


Prospect = Literal["open", "dated", "runs", "held", "blocked", "settled"]
# What further runs may fix, as far as is known without them.
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


# A step, its first possible day, the passing runs that it needs, and whether runs can suffice.
_Prospect = tuple[FloorStep, datetime.date, int, bool]


def outlooks(snapshot: Snapshot, day: datetime.date) -> tuple[Outlook, ...]:
    as_of = evaluation_on(snapshot, day)
    if as_of is None:
        return ()
    return tuple(_outlook(as_of, axis) for axis in as_of.moving)


def missing_command(matrix: str, needs: tuple[str, ...]) -> str:
    return f"compat run {matrix} {' '.join(needs)}"


def _outlook(as_of: Evaluation, axis: Axis) -> Outlook:
    package, floor, day = label(axis), as_of.floors[axis.name], as_of.day
    what = f"{package} {floor}"
    prospects = [_prospect(as_of, axis, step) for step in steps_of(as_of, axis).every]
    possible = [prospect for prospect in prospects if prospect[3]]
    if not prospects:
        return Outlook(
            axis=axis.name, package=package, floor=floor, prospect="settled",
            to=None, on=None, runs=0, needs=(), because="", lost=(),
            sentence=f"{what} stays: no version is known that may follow it",
        )  # fmt: skip
    if possible:
        first = min(max(on, day) for _, on, _, _ in possible)
        fitting = [prospect for prospect in possible if max(prospect[1], day) == first]
        chosen = max(fitting, key=lambda prospect: prospect[0].version)
    else:
        chosen = min(prospects, key=lambda prospect: (prospect[1], prospect[0].version))
    step, on, runs, is_possible = chosen
    to, because = step.version, "" if is_possible else _obstacle(as_of, axis, step)
    prospect: Prospect = "open" if on <= day else "dated"
    when = "with the next release" if on <= day else f"on {on}"
    sentence = f"{what} can move to {to} {when}"
    if not is_possible and step.held is not None:
        prospect = "held"
        sentence = f"{what} is held until {step.held.until}; {to} is next, on {on}, but {because}"
    elif not is_possible:
        prospect = "blocked"
        sentence = f"{what} could move to {to} {'since' if on <= day else 'on'} {on}, but {because}"
    elif runs:
        prospect, many = "runs", _NUMBERS[runs] if runs < len(_NUMBERS) else f"{runs:,}"
        passing = "run passes" if runs == 1 else "runs pass"
        sentence = f"{what} can move to {to} on {on} if {many} more {passing}"
    return Outlook(
        axis=axis.name,
        package=package,
        floor=floor,
        prospect=prospect,
        to=to,
        on=on,
        runs=runs,
        needs=as_of.raised(axis.name, to).needs if runs else (),
        because=because,
        sentence=sentence,
        lost=lost(as_of, axis, floor, to),
    )


def _prospect(as_of: Evaluation, axis: Axis, step: FloorStep) -> _Prospect:
    proof = as_of.raised(axis.name, step.version)
    kinds = {objection.against for objection in proof.objections}
    by_cell = {evidence.cell: evidence for evidence in proof.evidence}
    runs, days = 0, [step.on]
    for evidence in (by_cell[cell] for cell in proof.needs):
        number = as_of.policy.witnesses - (len(evidence.days) if evidence.supports else 0)
        ran_today = evidence.supports and evidence.days[-1] >= as_of.day
        runs += number
        days.append(as_of.day + (number if ran_today else number - 1) * DAY)
    is_possible = kinds <= _MENDED_BY_RUNS and bool(proof.needs or not kinds)
    runs = runs if is_possible else 0
    return step, max(days) if runs else step.on, runs, is_possible


def _obstacle(as_of: Evaluation, axis: Axis, step: FloorStep) -> str:
    proof = as_of.raised(axis.name, step.version)
    lasting = (each for each in proof.objections if each.against not in _MENDED_BY_RUNS)
    against = next(lasting, proof.objections[0])
    if proof.evidence or step.version not in as_of.existing[axis.name]:
        return against.because
    return as_of.obstacle(axis.name, step.version) or against.because
