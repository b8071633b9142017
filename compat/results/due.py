"""The `results` room's agenda: which cells to run now, and why.

When nothing has changed it is empty.
"""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from packaging.version import Version

from compat.plan.cell import Cell
from compat.plan.plan import Infeasible
from compat.plan.product import axis_coordinates
from compat.results.record import Ran
from compat.results.snapshot import Entry, Snapshot
from compat.results.verdict import (
    EvaluationContext,
    History,
    in_order,
    is_other_suite,
    is_whole,
    staleness,
    verdict,
)
from compat.value import StrictValue

Reason = Literal[
    "never-run",
    "lock-changed",
    "suite-changed",
    "flaky",
    "spurious-last",
    "stale",
    "smoke-only",
    "asked",
]
Place = Literal["proposal", "floor", "new-release", "elsewhere"]
# Each from the most informative on; a changed lock and a changed suite are equally so.
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

    `smoke-only` is for a cell of which only the suite's core was run, so that the whole suite is
    still to come; `asked` for one in which nothing has changed, but for whose run on another day a
    proposal waits.
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
    entries: Mapping[str, Entry] | None = None,
) -> tuple[Due, ...]:
    """Return the cells to run, the most informative first: by place, by reason, then by id.

    `locks` has each cell that could be run, with its lock's digest, or None where it has no lock to
    compare. Of the cells of `entries` it is known already what their runs add up to.
    """
    known = entries or {}
    where = places or {}
    by_cell: dict[str, list[Ran]] = {cell: [] for cell in locks}
    for run in runs:
        if run.cell in by_cell and run.started.date() <= present.day:
            by_cell[run.cell].append(run)
    awaited = (
        _due(_Asked(cell, by_cell[cell], present, lock, known.get(cell)), where)
        for cell, lock in locks.items()
    )
    return tuple(sorted((entry for entry in awaited if entry is not None), key=_order))


class Agenda(StrictValue, frozen=True, kw_only=True):
    """The cells that are worth a run now, the most informative first.

    Beside them stand those that would be but for the plan: it rules them out, or does not have them
    any more.
    """

    cells: tuple[Due, ...] = ()
    infeasible: tuple[Infeasible, ...] = ()
    unplanned: tuple[Due, ...] = ()


def agenda(snapshot: Snapshot, proposed: Iterable[str] = ()) -> Agenda:
    """Return the agenda of a matrix.

    It looks at the cells with locks or runs, the quick ones, and the untested ones near a floor, of
    a new release, or in a lane of the newest release.

    `proposed` are cells for which proposals wait. A cell with a lock is never ruled out: that it
    was locked shows more than the plan knows.
    """
    where = dict(_places(snapshot)) | dict.fromkeys(proposed, "proposal")
    every = (*snapshot.known, *snapshot.lanes)
    known = {entry.cell.id: entry for entry in every if entry.runs or entry.lock_digest is not None}
    runs = [run for entry in every for run in entry.runs]
    locks = {cell: entry.lock_digest for cell, entry in known.items()}
    candidates = dict.fromkeys([*snapshot.matrix.quick, *where]) | locks
    cells: list[Due] = []
    infeasible: list[Infeasible] = []
    unplanned: list[Due] = []
    for due_cell in due(candidates, runs, snapshot.present, where, known):
        entry = snapshot.by_id.get(due_cell.cell)
        if entry is None or not entry.planned:
            unplanned.append(due_cell)
        elif entry.obstacle is not None and entry.lock_digest is None:
            infeasible.append(Infeasible(cell=entry.cell, obstacle=entry.obstacle))
        else:
            cells.append(due_cell)
    return Agenda(cells=tuple(cells), infeasible=tuple(infeasible), unplanned=tuple(unplanned))


def _order(entry: Due) -> tuple[int, int, str]:
    return PLACES.index(entry.place), _RANK[entry.reason], entry.cell


class _Asked(NamedTuple):
    """A cell, its runs up to the day, its lock, and what its runs add up to where that is known."""

    cell: str
    runs: Sequence[Ran]
    present: EvaluationContext
    lock: str | None
    entry: Entry | None

    @property
    def history(self) -> History:
        if self.entry is not None:
            return self.entry.history
        return History.of(self.runs, self.present.day)

    @property
    def is_flaky(self) -> bool:
        if self.entry is not None:
            return self.entry.verdict.kind == "flaky"
        return verdict(self.cell, self.runs, self.present).kind == "flaky"


def _due(asked: _Asked, where: Mapping[str, Place]) -> Due | None:
    place = where.get(asked.cell, "elsewhere")
    if not asked.runs:
        return Due(cell=asked.cell, reason="never-run", place=place)
    last = in_order(asked.runs)[-1]
    day = last.started.date()
    # Proposals want runs on different days, so one of today answers.
    again: Reason | None = "asked" if place == "proposal" and day < asked.present.day else None
    reason = _reason(last, asked) or again
    return None if reason is None else Due(cell=asked.cell, reason=reason, last=day, place=place)


def _reason(last: Ran, asked: _Asked) -> Reason | None:
    present, lock = asked.present, asked.lock
    if lock is not None and last.lock_digest != lock:
        return "lock-changed"
    if is_other_suite(last, present):
        return "suite-changed"
    history = asked.history
    if not history.counted or history.counted[-1].run is not last:
        return "spurious-last"
    if (present.day - last.started.date()).days >= AGAIN_DAYS and asked.is_flaky:
        return "flaky"
    if staleness(history, present, lock):
        return "stale"
    return None if is_whole(history.deciding[-1].run) else "smoke-only"


def _places(snapshot: Snapshot) -> Iterator[tuple[str, Place]]:
    """The feasible cells near a floor or of a new release; of a cell that is both, the floor comes
    last, so that it counts.
    """
    feasible = [entry for entry in snapshot.entries if entry.planned and entry.obstacle is None]
    arrived = _new_releases(snapshot)
    newest = _newest(snapshot)
    for entry in snapshot.lanes:
        if (
            entry.planned
            and not entry.runs
            and entry.cell.on(snapshot.matrix.subject).version == newest
        ):
            yield entry.cell.id, "new-release"
    for entry in feasible:
        if _asks_about(arrived, newest, entry, snapshot.matrix.subject):
            yield entry.cell.id, "new-release"
    floors = _around_floors(snapshot)
    for entry in feasible:
        if entry.cell.on(snapshot.matrix.subject).version == newest and _lies_in(
            floors, entry.cell
        ):
            yield entry.cell.id, "floor"


def _newest(snapshot: Snapshot) -> Version | None:
    coordinates = axis_coordinates(snapshot.matrix.subject_axis, snapshot.catalogue)
    return coordinates[-1].version if coordinates else None


def _lies_in(floors: Mapping[str, Sequence[Version]], cell: Cell) -> bool:
    return bool(floors) and all(
        cell.on(axis).version in versions for axis, versions in floors.items()
    )


def _around_floors(snapshot: Snapshot) -> dict[str, Sequence[Version]]:
    """The coordinates at each declared floor and one step beside it: what it rests on, and where it
    could move.
    """
    around: dict[str, Sequence[Version]] = {}
    axes = {axis.name: axis for axis in snapshot.matrix.axes}
    for floor in snapshot.matrix.floors:
        versions = [
            coordinate.version
            for coordinate in axis_coordinates(axes[floor.axis], snapshot.catalogue)
        ]
        number = next(
            (n for n, version in enumerate(versions) if version >= floor.at), len(versions)
        )
        around[floor.axis] = versions[max(0, number - 1) : number + 2]
    return around


def _asks_about(
    arrived: Mapping[str, frozenset[Version]], newest: Version | None, entry: Entry, subject: str
) -> bool:
    """Whether an untested cell holds a new release: of the subject as published, or of another with
    its newest.
    """
    if entry.runs:
        return False
    version = {coordinate.axis: coordinate.version for coordinate in entry.cell.coordinates}
    if version[subject] in arrived[subject]:
        return entry.cell.recipe != "relaxed"
    return version[subject] == newest and any(
        version[axis] in versions for axis, versions in arrived.items()
    )


def _new_releases(snapshot: Snapshot) -> dict[str, frozenset[Version]]:
    """The coordinates of each package axis that came out after the first run of the matrix: they
    came since.
    """
    began = min((run.started for entry in snapshot.known for run in entry.runs), default=None)
    return {
        axis.name: frozenset(
            coordinate.version
            for coordinate in axis_coordinates(axis, snapshot.catalogue)
            if began is not None
            and (out := snapshot.catalogue.came_out(axis, coordinate.version)) is not None
            and out > began
        )
        for axis in snapshot.matrix.packages
    }
