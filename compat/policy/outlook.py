"""The `policy` room's outlook: for each floor in one sentence whether it can move, to what, when,
and what is missing.
"""

import datetime
from collections.abc import Iterator
from typing import Literal

from packaging.version import Version

from compat.declare.matrix import Axis
from compat.declare.parsing import Name
from compat.policy.affected import lost
from compat.policy.as_of import AsOf, package_words
from compat.policy.cell_evidence import FloorEvidence
from compat.policy.evaluation import Evaluation, evaluation_on
from compat.policy.floor_steps import FloorStep, steps_of
from compat.policy.proposal import Affected, Against
from compat.policy.window import DAY
from compat.results.snapshot import Snapshot
from compat.value import StrictValue

Prospect = Literal["open", "dated", "runs", "held", "blocked", "settled"]
# What further runs can mend, as far as anybody knows before they are made.
_MENDED_BY_RUNS: frozenset[Against] = frozenset(("witnesses", "missing", "stale"))
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


class Outlook(StrictValue, frozen=True, kw_only=True):
    """Where a floor can go next.

    `open`: it can rise to `to` now. `dated`: on the day `on`. `runs`: on that day, if so many more
    `runs` of the cells that it `needs` pass. `held`: a hold is in the way until then; `blocked`:
    something that no run of today mends, told in `because`. `settled`: nothing is known to follow
    it. `lost` is what a release with the new floor no longer covers.
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
    """A step with what stands between it and a release."""

    step: FloorStep
    on: datetime.date
    runs: int
    is_possible: bool


def outlooks(snapshot: Snapshot, day: datetime.date) -> tuple[Outlook, ...]:
    # Return the outlook of each floor on that day, in the order of the axes; none without a policy.
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
    against = next(
        objection for objection in proof.objections
        if objection.against not in _MENDED_BY_RUNS or not proof.needs
    )  # fmt: skip
    if proof.evidence or step.version not in evaluation.as_of.existing[axis.name]:
        return against.because
    return evaluation.places.obstacle(axis.name, step.version) or against.because
