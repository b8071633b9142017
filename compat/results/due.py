"""Decides which cells to run now, and why. Empty when nothing has changed."""

import datetime
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, get_args

from packaging.version import Version

from compat.plan.cell import axis_coordinates
from compat.plan.plan import Infeasible
from compat.results.answer import Answer, Reason
from compat.results.snapshot import Snapshot
from compat.value import StrictValue

Place = Literal["proposal", "floor", "new-release", "elsewhere"]
# Each list has the most informative first; a changed lock and a changed suite rank equally.
REASONS: tuple[Reason, ...] = get_args(Reason)
PLACES: tuple[Place, ...] = get_args(Place)
_RANK: dict[Reason, int] = {reason: number for number, reason in enumerate(REASONS)} | {
    "suite-changed": 1
}


class Due(StrictValue, frozen=True, kw_only=True):
    """A cell that is worth a run now, why, and its position; `last` is the day of its newest run.

    `smoke-only` marks a cell with only a core run, for which the whole suite follows. `asked` marks
    an unchanged one for which a proposal needs a run on another day. `blocked_by` is the package
    that blocks its answer.
    """

    cell: str
    reason: Reason
    last: datetime.date | None = None
    place: Place = "elsewhere"
    blocked_by: str = ""


class Agenda(StrictValue, frozen=True, kw_only=True):
    """The cells worth a run now, the most informative first, and those that the plan prevents."""

    cells: tuple[Due, ...] = ()
    infeasible: tuple[Infeasible, ...] = ()
    unplanned: tuple[Due, ...] = ()


def agenda(snapshot: Snapshot, proposed: Iterable[str] = ()) -> Agenda:
    """Considers cells with locks or runs, quick ones, and untested ones that are of interest."""
    feasible = dict(_places(snapshot))
    subject = snapshot.matrix.subject_axis
    newest = axis_coordinates(subject, snapshot.catalogue)[-1:] if snapshot.lanes else ()
    untried = (entry for entry in snapshot.lanes if entry.planned and not entry.runs)
    in_lanes = (entry.id for entry in untried if entry.cell.on(subject.name) in newest)
    where: dict[str, Place] = dict.fromkeys(in_lanes, "new-release")
    where |= feasible | dict.fromkeys(proposed, "proposal")
    every = (*snapshot.known, *snapshot.lanes)
    known = {entry.cell.id: entry for entry in every if entry.runs or entry.lock_digest is not None}

    candidates = dict.fromkeys([*snapshot.matrix.quick, *where, *known])

    due_cells = (
        due_of(cell, known.get(cell), snapshot.day, where.get(cell, "elsewhere"))
        for cell in candidates
    )
    cells: list[Due] = []
    infeasible: list[Infeasible] = []
    unplanned: list[Due] = []
    for due_cell in sorted(filter(None, due_cells), key=due_order):
        if due_cell.cell in feasible:  # its entry has nothing more here
            cells.append(due_cell)
            continue
        entry = snapshot.by_id.get(due_cell.cell)
        if entry is None or not entry.planned:
            unplanned.append(due_cell)
        elif entry.obstacle is not None and entry.lock_digest is None:
            infeasible.append(Infeasible(cell=entry.cell, obstacle=entry.obstacle))
        else:
            cells.append(due_cell)
    return Agenda(cells=tuple(cells), infeasible=tuple(infeasible), unplanned=tuple(unplanned))


def due_order(entry: Due) -> tuple[int, int, str]:
    return PLACES.index(entry.place), _RANK[entry.reason], entry.cell


def due_of(
    cell: str, known: Answer | None, day: datetime.date, place: Place = "elsewhere"
) -> Due | None:
    if known is None or known.newest is None:
        blocked_by = "" if known is None else known.blocked_by
        return Due(cell=cell, reason="never-run", place=place, blocked_by=blocked_by)
    # Proposals need runs on different days, so one of today is enough.
    waits = place == "proposal" and known.newest < day
    reason: Reason | None = known.due or ("asked" if waits else None)
    last, blocked_by = known.newest, known.blocked_by
    return reason and Due(cell=cell, reason=reason, last=last, place=place, blocked_by=blocked_by)


def _places(snapshot: Snapshot) -> Iterator[tuple[str, Place]]:
    """The feasible cells of a new release, then those near a floor; the order counts."""
    catalogue, matrix = snapshot.catalogue, snapshot.matrix
    coordinates = {axis.name: catalogue.coordinates(axis) for axis in matrix.axes}
    subject = matrix.subject
    newest = coordinates[subject][-1] if coordinates[subject] else None
    # The coordinates of each package axis released after the first run of the matrix.
    ran = [entry for entry in snapshot.known if entry.runs]
    began = min((e.first or min(run.started for run in e.runs) for e in ran), default=None)
    arrived: dict[str, set[Version]] = {axis.name: set() for axis in matrix.packages}
    for axis in matrix.packages if began is not None else ():
        for version in coordinates[axis.name]:
            out = catalogue.came_out(axis, version)
            if out is not None and began is not None and out > began:
                arrived[axis.name].add(version)
    wanted = frozenset(arrived[subject] if newest is None else arrived[subject] | {newest})
    open_entries = (e for e in snapshot.having({subject: wanted}) if e.planned)
    feasible = [entry.cell for entry in open_entries if entry.obstacle is None]
    tested = {entry.cell.id for entry in ran}
    for cell in feasible:
        own = {coordinate.axis: coordinate.version for coordinate in cell.coordinates}
        # A new release of the subject as published, or of another with the newest of the subject.
        is_new = any(own[name] in new for name, new in arrived.items())
        is_new = is_new and own[subject] == newest
        if own[subject] in arrived[subject]:
            is_new = cell.recipe != "relaxed"
        if is_new and cell.id not in tested:
            yield cell.id, "new-release"
    # The coordinates at each declared floor and one step beside it: its evidence, and its possible
    # moves.
    floors: dict[str, Sequence[Version]] = {}
    for floor in matrix.floors:
        versions = coordinates[floor.axis]
        number = bisect_left(versions, floor.at)
        floors[floor.axis] = versions[max(0, number - 1) : number + 2]
    for cell in feasible if floors else ():
        is_near = all(cell.on(axis).version in versions for axis, versions in floors.items())
        if is_near and cell.on(subject).version == newest:
            yield cell.id, "floor"
