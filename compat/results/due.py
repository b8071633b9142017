"""The `results` room's agenda: which cells to run now, and why.

When nothing has changed it is empty.
"""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, get_args

from packaging.version import Version

from compat.plan.cell import Cell, axis_coordinates
from compat.plan.plan import Infeasible
from compat.results.answer import Answer, Reason
from compat.results.snapshot import Snapshot
from compat.value import StrictValue

Place = Literal["proposal", "floor", "new-release", "elsewhere"]
# Each from the most informative on; a changed lock and a changed suite are equally so.
REASONS: tuple[Reason, ...] = get_args(Reason)
PLACES: tuple[Place, ...] = get_args(Place)
_RANK: dict[Reason, int] = {reason: number for number, reason in enumerate(REASONS)} | {
    "suite-changed": 1
}


class Due(StrictValue, frozen=True, kw_only=True):
    """A cell that is worth a run now, why, and where it lies; `last` is the day of its newest run.

    `smoke-only` is for a cell of which only the suite's core was run, so that the whole suite is
    still to come; `asked` for one in which nothing has changed, but for whose run on another day a
    proposal waits. `blocked_by` is the package that keeps it from an answer.
    """

    cell: str
    reason: Reason
    last: datetime.date | None = None
    place: Place = "elsewhere"
    blocked_by: str = ""


class Agenda(StrictValue, frozen=True, kw_only=True):
    """The cells that are worth a run now, the most informative first.

    Beside them stand those that would be but for the plan: it rules them out, or does not have them
    any more.
    """

    cells: tuple[Due, ...] = ()
    infeasible: tuple[Infeasible, ...] = ()
    unplanned: tuple[Due, ...] = ()


def agenda(snapshot: Snapshot, proposed: Iterable[str] = ()) -> Agenda:
    """Return the agenda of a matrix. It looks at the cells with locks or runs, the quick ones, and
    the untested ones near a floor, of a new release, or in a lane of the newest release. `proposed`
    are cells for which proposals wait. A cell with a lock is never ruled out: that it was locked
    shows more than the plan knows.
    """
    feasible = dict(_places(snapshot))
    where = dict(_places_in_lanes(snapshot)) | feasible | dict.fromkeys(proposed, "proposal")
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
        if due_cell.cell in feasible:  # that is all that its entry could say here
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
    # Proposals want runs on different days, so one of today answers.
    waits = place == "proposal" and known.newest < day
    reason: Reason | None = known.due or ("asked" if waits else None)
    last, blocked_by = known.newest, known.blocked_by
    return reason and Due(cell=cell, reason=reason, last=last, place=place, blocked_by=blocked_by)


def _places(snapshot: Snapshot) -> Iterator[tuple[str, Place]]:
    """The feasible cells near a floor or of a new release; of a cell that is both, the floor comes
    last, so that it counts.
    """
    # The coordinates of each package axis that came out after the first run of the matrix: they
    # came since.
    ran = (entry for entry in snapshot.known if entry.runs)
    began = min((e.first or min(run.started for run in e.runs) for e in ran), default=None)
    arrived, newest, subject = (
        {
            axis.name: frozenset(
                coordinate.version
                for coordinate in axis_coordinates(axis, snapshot.catalogue)
                if began is not None
                and (out := snapshot.catalogue.came_out(axis, coordinate.version)) is not None
                and out > began
            )
            for axis in snapshot.matrix.packages
        },
        _newest(snapshot),
        snapshot.matrix.subject,
    )
    wanted = arrived[subject] if newest is None else arrived[subject] | {newest}
    feasible = list(snapshot.feasible_on(subject, wanted))
    tested = {entry.cell.id for entry in snapshot.known if entry.runs}
    for cell in feasible:
        if cell.id not in tested and _asks_about(arrived, newest, cell, subject):
            yield cell.id, "new-release"
    # The coordinates at each declared floor and one step beside it: what it rests on, and where it
    # could move.
    floors: dict[str, Sequence[Version]] = {}
    axes = {axis.name: axis for axis in snapshot.matrix.axes}
    for floor in snapshot.matrix.floors:
        versions = [
            coordinate.version
            for coordinate in axis_coordinates(axes[floor.axis], snapshot.catalogue)
        ]
        number = next(
            (n for n, version in enumerate(versions) if version >= floor.at), len(versions)
        )
        floors[floor.axis] = versions[max(0, number - 1) : number + 2]
    for cell in feasible:
        if cell.on(subject).version == newest and (
            bool(floors)
            and all(cell.on(axis).version in versions for axis, versions in floors.items())
        ):
            yield cell.id, "floor"


def _places_in_lanes(snapshot: Snapshot) -> Iterator[tuple[str, Place]]:
    newest, subject = _newest(snapshot), snapshot.matrix.subject
    for entry in snapshot.lanes:
        if entry.planned and not entry.runs and entry.cell.on(subject).version == newest:
            yield entry.cell.id, "new-release"


def _newest(snapshot: Snapshot) -> Version | None:
    coordinates = axis_coordinates(snapshot.matrix.subject_axis, snapshot.catalogue)
    return coordinates[-1].version if coordinates else None


def _asks_about(
    arrived: Mapping[str, frozenset[Version]], newest: Version | None, cell: Cell, subject: str
) -> bool:
    """Whether a cell without a run holds a new release: of the subject as published, or of another
    with its newest.
    """
    version = {coordinate.axis: coordinate.version for coordinate in cell.coordinates}
    if version[subject] in arrived[subject]:
        return cell.recipe != "relaxed"
    return version[subject] == newest and any(
        version[axis] in versions for axis, versions in arrived.items()
    )
