"""The `results` room's agenda: which cells to run now, and why.

When nothing has changed it is empty.
"""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, get_args

from packaging.version import Version

from compat.plan.cell import Cell
from compat.plan.product import axis_coordinates
from compat.results.record import Ran
from compat.results.snapshot import Entry, Snapshot
from compat.results.verdict import (
    EvaluationContext,
    History,
    in_order,
    is_other_suite,
    staleness,
    verdict,
)
from compat.value import StrictValue

Reason = Literal[
    "never-run", "lock-changed", "suite-changed", "flaky", "spurious-last", "stale", "asked"
]
Place = Literal["proposal", "floor", "new-release", "elsewhere"]
# Each from the most telling on; a changed lock and a changed suite tell the same.
REASONS: tuple[Reason, ...] = get_args(Reason)
PLACES: tuple[Place, ...] = get_args(Place)
_RANK: dict[Reason, int] = {reason: number for number, reason in enumerate(REASONS)} | {
    "suite-changed": 1
}
# A flaky cell is asked again each week: often enough to learn how often it fails, and time is left
# for others.
AGAIN_DAYS = 7


class Due(StrictValue, frozen=True, kw_only=True):
    """A cell that is worth a run now, why, and where it lies; `last` is the day of its newest run.

    `asked` is for a cell in which nothing has changed, but for whose run on another day a proposal
    waits.
    """

    cell: str
    reason: Reason
    last: datetime.date | None = None
    place: Place = "elsewhere"


def due(
    locks: Mapping[str, str | None],
    runs: Iterable[Ran],
    present: EvaluationContext,
    places: Mapping[str, Place] | None = None,
) -> tuple[Due, ...]:
    """Return the cells to run, the most telling first: by their place, by the reason, then by id.

    `locks` has each cell that could be run, with its lock's digest, or None where it has no lock to
    compare.
    """
    where = places or {}
    by_cell: dict[str, list[Ran]] = {cell: [] for cell in locks}
    for run in runs:
        if run.cell in by_cell and run.started.date() <= present.day:
            by_cell[run.cell].append(run)
    found = (
        _due(cell, by_cell[cell], present, lock, where.get(cell, "elsewhere"))
        for cell, lock in locks.items()
    )
    return tuple(sorted((one for one in found if one), key=_order))


def agenda(
    picture: Snapshot, others: Iterable[str] = (), proposed: Iterable[str] = ()
) -> tuple[Due, ...]:
    """Return the due cells of a matrix: those with locks or runs, `others`, and the untested ones
    in telling places.

    `proposed` are cells for which proposals wait.
    """
    where = dict(_places(picture)) | dict.fromkeys(proposed, "proposal")
    known = {entry.cell.id: entry.lock_digest for entry in picture.known}
    runs = [run for entry in picture.known for run in entry.runs]
    return due({**dict.fromkeys([*others, *where]), **known}, runs, picture.present, where)


def _order(one: Due) -> tuple[int, int, str]:
    return PLACES.index(one.place), _RANK[one.reason], one.cell


def _due(
    cell: str, runs: list[Ran], present: EvaluationContext, lock: str | None, place: Place
) -> Due | None:
    if not runs:
        return Due(cell=cell, reason="never-run", place=place)
    last = in_order(runs)[-1]
    day = last.started.date()
    # Proposals want runs on different days, so one of today answers.
    asked: Reason | None = "asked" if place == "proposal" and day < present.day else None
    reason = _reason(last, runs, present, lock) or asked
    return None if reason is None else Due(cell=cell, reason=reason, last=day, place=place)


def _reason(
    last: Ran, runs: list[Ran], present: EvaluationContext, lock: str | None
) -> Reason | None:
    if lock is not None and last.lock_digest != lock:
        return "lock-changed"
    if is_other_suite(last, present):
        return "suite-changed"
    history = History.of(runs, present.day)
    if not history.counted or history.counted[-1].run is not last:
        return "spurious-last"
    if (present.day - last.started.date()).days >= AGAIN_DAYS and verdict(
        last.cell, runs, present
    ).kind == "flaky":
        return "flaky"
    return "stale" if staleness(history, present, lock) else None


def _places(picture: Snapshot) -> Iterator[tuple[str, Place]]:
    """The feasible cells in telling places; where a cell lies in two, the more telling one comes
    last.
    """
    feasible = [entry for entry in picture.entries if entry.planned and entry.obstacle is None]
    arrived = _new_releases(picture)
    newest = _newest(picture)
    for entry in feasible:
        if _asks_about(arrived, newest, entry, picture.matrix.subject):
            yield entry.cell.id, "new-release"
    floors = _around_floors(picture)
    for entry in feasible:
        if entry.cell.on(picture.matrix.subject).version == newest and _lies_in(floors, entry.cell):
            yield entry.cell.id, "floor"


def _newest(picture: Snapshot) -> Version | None:
    at = axis_coordinates(picture.matrix.subject_axis, picture.catalogue)
    return at[-1].version if at else None


def _lies_in(floors: Mapping[str, Sequence[Version]], cell: Cell) -> bool:
    return bool(floors) and all(
        cell.on(axis).version in versions for axis, versions in floors.items()
    )


def _around_floors(picture: Snapshot) -> dict[str, Sequence[Version]]:
    """The coordinates at each declared floor and one step beside it: what it rests on, and where it
    could move.
    """
    found: dict[str, Sequence[Version]] = {}
    axes = {axis.name: axis for axis in picture.matrix.axes}
    for floor in picture.matrix.floors:
        versions = [at.version for at in axis_coordinates(axes[floor.axis], picture.catalogue)]
        number = next(
            (n for n, version in enumerate(versions) if version >= floor.at), len(versions)
        )
        found[floor.axis] = versions[max(0, number - 1) : number + 2]
    return found


def _asks_about(
    arrived: Mapping[str, frozenset[Version]], newest: Version | None, entry: Entry, subject: str
) -> bool:
    """Whether an untested cell holds a new release: of the subject as published, or of another with
    its newest.
    """
    at = {coordinate.axis: coordinate.version for coordinate in entry.cell.coordinates}
    if entry.runs:
        return False
    if at[subject] in arrived[subject]:
        return entry.cell.recipe != "relaxed"
    return at[subject] == newest and any(at[axis] in versions for axis, versions in arrived.items())


def _new_releases(picture: Snapshot) -> dict[str, frozenset[Version]]:
    """The coordinates of each package axis that came out after the first run of the matrix: they
    came since.
    """
    began = min((run.started for entry in picture.known for run in entry.runs), default=None)
    return {
        axis.name: frozenset(
            at.version
            for at in axis_coordinates(axis, picture.catalogue)
            if began is not None
            and (out := picture.catalogue.came_out(axis, at.version)) is not None
            and out > began
        )
        for axis in picture.matrix.packages
    }
