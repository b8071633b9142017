"""The `results` room's reading of lanes: each cell held against an ordinary one, and one alert for
all that it breaks.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec
from packaging.requirements import Requirement
from packaging.version import Version

from compat.declare.matrix import PackageAxis
from compat.lock.floors import LockedFloor, locked_floors
from compat.lock.lockfile import Lock
from compat.plan.cell import Cell, Recipe, axis_coordinates
from compat.plan.lanes import lane_axis, why_not_lowest
from compat.results.answer import Answer, Kind
from compat.results.snapshot import Snapshot
from compat.run.outcome import Failed
from compat.value import StrictValue

_WORKING: tuple[Kind, ...] = ("works", "partial")


class LaneCell(StrictValue, frozen=True, kw_only=True):
    """A cell of a lane, what it came to, and the ordinary cell that it is held against.

    `against` is empty where no ordinary cell of the same release and Python works: then nothing
    shows that the lane is at fault. `in_part` says that it works only in part. `is_broken` says
    that something fails here that works there, once the packages are installed. `floors` are those
    of a lowest cell, as its lock has them.
    """

    cell: str
    lane: Recipe
    verdict: Kind
    outcome: str = ""
    because: str = ""
    against: str = ""
    in_part: bool = False
    is_broken: bool = False
    floors: tuple[LockedFloor, ...] = ()


class LaneAlert(StrictValue, frozen=True, kw_only=True):
    """What a lane breaks: so many of so many cells that work otherwise; the sentence says it."""

    lane: Recipe
    what: str
    broken: int
    compared: int
    cells: tuple[str, ...]
    sentence: str


class LaneReport(StrictValue, frozen=True, kw_only=True):
    """The cells of every lane of a matrix, in the order of the plan, and one alert for each thing
    that breaks some.
    """

    cells: tuple[LaneCell, ...]
    alerts: tuple[LaneAlert, ...]


def lane_report(known: Snapshot, lock_of: Callable[[str], Lock | None]) -> LaneReport:
    """Return what is known of the lanes of a matrix; `lock_of` gives the lock of a cell."""
    pairs = [(entry, _lane_cell(known, entry, lock_of)) for entry in known.lanes]
    return LaneReport(
        cells=tuple(row for _, row in pairs),
        alerts=tuple(_alerts(known, ((entry.cell, row) for entry, row in pairs))),
    )


def _lane_cell(known: Snapshot, entry: Answer, lock_of: Callable[[str], Lock | None]) -> LaneCell:
    against, verdict = _ordinary(known, entry.cell), entry
    lock = None if entry.lock_digest is None else lock_of(entry.cell.id)
    return LaneCell(
        cell=entry.cell.id,
        lane=entry.cell.recipe,
        verdict=verdict.kind,
        outcome="" if verdict.outcome is None else str(verdict.outcome),
        because="" if entry.obstacle is None else entry.obstacle.because,
        against="" if against is None else against.cell.id,
        in_part=against is not None and against.kind == "partial",
        is_broken=against is not None and _breaks(entry, against),
        floors=() if lock is None else tuple(_floors(known, entry.cell, lock)),
    )


def _floors(known: Snapshot, cell: Cell, lock: Lock) -> Iterator[LockedFloor]:
    for floor in locked_floors(lock):
        because = ""
        if not floor.is_exact and floor.installed is not None:
            asked = Requirement(floor.declared)
            because = why_not_lowest(known.feasibility, cell, asked, floor.installed)
        yield msgspec.structs.replace(floor, because=because)


def _ordinary(known: Snapshot, cell: Cell) -> Answer | None:
    axis = lane_axis(known.matrix, cell)
    entry = _highest(known, cell) if axis is None else _before(known, cell, axis)
    is_working = entry is not None and entry.is_tested and entry.kind in _WORKING
    return entry if is_working else None


def _before(known: Snapshot, cell: Cell, axis: PackageAxis) -> Answer | None:
    awaited = cell.on(axis.name).version
    earlier = [c for c in axis_coordinates(axis, known.catalogue) if c.version < awaited]
    place = tuple(earlier[-1] if c.axis == axis.name and earlier else c for c in cell.coordinates)
    return known.by_id.get(Cell(matrix=cell.matrix, coordinates=place, recipe="fresh").id)


def _highest(known: Snapshot, cell: Cell) -> Answer | None:
    # Of the cells with the same release on the same Python, as published today, the one at the same
    # place first, then the newest that works.
    matrix = known.matrix
    axes = (matrix.interpreters.name, matrix.subject)

    def closeness(entry: Answer) -> tuple[bool, bool, tuple[Version, ...]]:
        same = entry.cell.coordinates == cell.coordinates
        return entry.kind == "works", same, entry.cell.versions[::-1]

    candidates = (
        entry
        for entry in known.known
        if entry.cell.recipe == "fresh"
        and entry.is_tested
        and entry.kind in _WORKING
        and all(entry.cell.on(axis).version == cell.on(axis).version for axis in axes)
    )
    return max(candidates, key=closeness, default=None)


def _breaks(entry: Answer, against: Answer) -> bool:
    # Whether something fails in a cell that works in the other, for another reason than that its
    # packages cannot be installed together.
    if not entry.is_tested or entry.kind == "works":
        return False
    outcome = entry.outcome
    if isinstance(outcome, Failed) and outcome.stage in ("plan", "lock", "install"):
        return False
    failing = {c.id for c in entry.capabilities if c.status == "no"}
    failing_otherwise = {c.id for c in against.capabilities if c.status == "no"}
    return bool(failing - failing_otherwise) or entry.kind == "broken"


def _alerts(known: Snapshot, pairs: Iterable[tuple[Cell, LaneCell]]) -> Iterator[LaneAlert]:
    groups: dict[tuple[str, str], list[LaneCell]] = {}
    for cell, row in pairs:
        if row.against and row.verdict != "unknown":
            groups.setdefault(_what(known, cell, row), []).append(row)
    for (what, beside), rows in groups.items():
        broken = tuple(row.cell for row in rows if row.is_broken)
        if broken:
            verb = "breaks" if rows[0].lane == "prerelease" else "break"
            compared = _compared(sum(row.in_part for row in rows), len(rows), beside)
            yield LaneAlert(
                lane=rows[0].lane,
                what=what,
                broken=len(broken),
                compared=len(rows),
                cells=broken,
                sentence=f"{what} {verb} {len(broken)} of {compared}",
            )


def _what(known: Snapshot, cell: Cell, row: LaneCell) -> tuple[str, str]:
    axis = lane_axis(known.matrix, cell)
    if axis is None:
        return "the lowest declared versions", "with newer ones"
    earlier = known.by_id[row.against].cell.on(axis.name).version
    return f"{axis.package} {cell.on(axis.name).version}", f"with {earlier}"


def _compared(in_part: int, number: int, beside: str) -> str:
    if number == 1:
        return f"1 cell that works {'in part ' if in_part else ''}{beside}"
    those = "all" if in_part == number else f"{in_part}"
    return f"{number} cells that work {beside}{f', {those} of them in part' if in_part else ''}"
