"""Compares two answers: of one cell at two times, of a checkout and a release, and of a variant and
an ordinary cell.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

import msgspec
from packaging.requirements import Requirement
from packaging.version import Version

from compat.lock.lockfile import Lock
from compat.lock.recipe import LockedFloor, locked_floors
from compat.plan.cell import Cell, Recipe, axis_coordinates
from compat.plan.plan import variant_axis, why_not_lowest
from compat.results.answer import Answer, Kind, is_refused
from compat.results.record import Status
from compat.results.runs import BEFORE_TESTS
from compat.results.snapshot import Snapshot
from compat.run.outcome import Failed, is_before_import
from compat.value import StrictValue

ChangeKind = Literal["regressed", "fixed", "spurious", "new", "gone", "same"]
_RANK: dict[Kind, int] = {"works": 2, "partial": 1, "broken": 0, "infeasible": 0}


class Change(StrictValue, frozen=True, kw_only=True):
    """The change of a cell's verdict: `lost` and `gained` capabilities ceased or began to be `yes`.

    `spurious` is a change to or from `flaky`, which is random; `new` the first result of a cell.
    """

    cell: str
    kind: ChangeKind
    before: Kind | None
    after: Kind | None
    lost: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()


def compare(before: Answer | None, after: Answer | None) -> Change:
    """The change from one answer to the next. Raises ValueError for answers about two cells."""
    cells = {answer.id for answer in (before, after) if answer is not None}
    if len(cells) > 1:
        raise ValueError(f"verdicts of two cells: {', '.join(sorted(cells))}")
    lost: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()
    # Equal capabilities are one object in the index.
    if before is not None and after is not None and before.capabilities is not after.capabilities:
        old, new = before.statuses, after.statuses
        both = sorted(old.keys() & new.keys())
        lost = tuple(c for c in both if old[c] == "yes" != new[c])
        gained = tuple(c for c in both if new[c] == "yes" != old[c])
    kinds = before.kind if before else None, after.kind if after else None
    kind = change_kind(*kinds)
    if kind == "same" and kinds[1] == "partial" and (lost or gained):
        kind = "regressed" if lost else "fixed"
    if kind == "same" and kinds[1] == "works":
        broke, mended = _failing(after).intersection(lost), _failing(before).intersection(gained)
        kind = "regressed" if broke else "fixed" if mended else kind
    return Change(
        cell="".join(cells), kind=kind, before=kinds[0], after=kinds[1], lost=lost, gained=gained
    )


def change_kind(before: Kind | None, after: Kind | None) -> ChangeKind:
    """A ruled-out cell equals a broken one, flaky changes are random, and known cells are new."""
    if before == after:
        return "same"
    if after is None or after == "unknown":
        return "new" if before is None else "gone"
    if before is None or before == "unknown":
        return "new"
    if "flaky" in (before, after):
        return "spurious"
    steps = _RANK[after] - _RANK[before]
    return "fixed" if steps > 0 else "regressed" if steps < 0 else "same"


def _failing(answer: Answer | None) -> set[str]:
    return {fault.id for fault in answer.faults} if answer else set()


Difference = Literal["breaks", "mends", "same", "flaky", "unknown"]


class CapabilityDifference(StrictValue, frozen=True, kw_only=True):
    """A changed capability; `after` is None where the checkout's run did not report it."""

    id: str
    before: Status | None
    after: Status | None
    cause: str = ""
    subject: str = ""

    @property
    def is_worse(self) -> bool:
        return self.before == "yes"


class CellDifference(StrictValue, frozen=True, kw_only=True):
    """The checkout's cell, the release's, and the difference.

    It `breaks` when something that worked fails, or when it installs only with the checkout, and
    fails. `moved` are packages with other versions in the two locks.
    """

    cell: str
    against: str
    difference: Difference
    before: Kind
    after: Kind
    outcome_before: str = ""
    outcome_after: str = ""
    because: str = ""
    capabilities: tuple[CapabilityDifference, ...] = ()
    moved: tuple[str, ...] = ()


def cell_difference(
    before: Answer, after: Answer, moved: tuple[str, ...] = (), obstacle: str = ""
) -> CellDifference:
    changed = tuple(_changes(before, after))
    return CellDifference(
        cell=after.id,
        against=before.id,
        difference=_difference(before, after, any(c.is_worse for c in changed), bool(changed)),
        before=before.kind,
        after=after.kind,
        outcome_before="" if before.outcome is None else str(before.outcome),
        outcome_after="" if after.outcome is None else str(after.outcome),
        because=obstacle,
        capabilities=changed,
        moved=moved,
    )


def _difference(before: Answer, after: Answer, is_worse: bool, differs: bool) -> Difference:
    for kind in ("flaky", "unknown"):
        if kind in (before.kind, after.kind):
            return kind
    if _is_not_installed(before):
        if _is_not_installed(after):
            return "same"
        return "breaks" if after.kind in ("partial", "broken") else "mends"
    steps = _RANK[after.kind] - _RANK[before.kind]
    if steps < 0 or is_worse:
        return "breaks"
    return "mends" if steps > 0 or differs else "same"


def _is_not_installed(answer: Answer) -> bool:
    return answer.kind == "infeasible" or is_refused(answer)


def _changes(before: Answer, after: Answer) -> Iterator[CapabilityDifference]:
    """None where one side ran no test, as its outcome is enough."""
    for outcome in (before.outcome, after.outcome):
        if outcome is None or (isinstance(outcome, Failed) and outcome.stage in BEFORE_TESTS):
            return
    earlier, later = ({c.id: c for c in answer.capabilities} for answer in (before, after))
    for name in sorted({*earlier, *later}):
        was, now = earlier.get(name), later.get(name)
        if (was is not None and was.status == "yes") != (now is not None and now.status == "yes"):
            yield CapabilityDifference(
                id=name,
                before=None if was is None else was.status,
                after=None if now is None else now.status,
                cause="" if now is None else now.cause,
                subject="" if now is None else now.subject or ", ".join(now.missing),
            )


class VariantCell(StrictValue, frozen=True, kw_only=True):
    """A cell of a variant, its result, and the ordinary cell with which it is compared.

    Without a working one `against` is empty: nothing shows that the variant is at fault. `in_part`:
    that one works only in part. `is_broken`: something fails only here, once all is installed.
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


class VariantAlert(StrictValue, frozen=True, kw_only=True):
    """What a variant breaks, in how many of the compared cells; the sentence describes it."""

    lane: Recipe
    what: str
    broken: int
    compared: int
    cells: tuple[str, ...]
    sentence: str


class VariantReport(StrictValue, frozen=True, kw_only=True):
    """The cells of each variant in the order of the plan, and an alert for each that breaks."""

    cells: tuple[VariantCell, ...]
    alerts: tuple[VariantAlert, ...]


def variant_report(known: Snapshot, lock_of: Callable[[str], Lock | None]) -> VariantReport:
    pairs = []
    for entry in known.lanes:
        against = _ordinary(known, entry.cell)
        is_comparable = against is not None and entry.is_tested and entry.kind != "works"
        further = set() if against is None else {*entry.fails}.difference(against.fails)
        fails = entry.kind == "broken" or bool(further)
        lock, floors = None if entry.lock_digest is None else lock_of(entry.cell.id), []
        for floor in () if lock is None else locked_floors(lock):
            because = ""
            if not floor.is_exact and floor.installed is not None:
                asked = Requirement(floor.declared)
                because = why_not_lowest(known.feasibility, entry.cell, asked, floor.installed)
            floors.append(msgspec.structs.replace(floor, because=because))
        row = VariantCell(
            cell=entry.cell.id,
            lane=entry.cell.recipe,
            verdict=entry.kind,
            outcome="" if entry.outcome is None else str(entry.outcome),
            because="" if entry.obstacle is None else entry.obstacle.because,
            against="" if against is None else against.cell.id,
            in_part=against is not None and against.kind == "partial",
            is_broken=is_comparable and fails and not is_before_import(entry.outcome),
            floors=tuple(floors),
        )
        pairs.append((entry.cell, row))
    return VariantReport(cells=tuple(row for _, row in pairs), alerts=tuple(_alerts(known, pairs)))


def _ordinary(known: Snapshot, cell: Cell) -> Answer | None:
    """The working cell of the same release and Python; for a pre-release, of the version before."""
    matrix, axis = known.matrix, variant_axis(known.matrix, cell)
    if axis is not None:
        awaited = cell.on(axis.name).version
        earlier = [c for c in axis_coordinates(axis, known.catalogue) if c.version < awaited]
        place = (earlier[-1] if c.axis == axis.name and earlier else c for c in cell.coordinates)
        beside = Cell(matrix=cell.matrix, coordinates=tuple(place), recipe="fresh")
        entry = known.by_id.get(beside.id)
        return entry if entry is not None and _is_working(entry) else None
    axes = (matrix.interpreters.name, matrix.subject)

    def closeness(entry: Answer) -> tuple[bool, bool, tuple[Version, ...]]:
        same = entry.cell.coordinates == cell.coordinates
        return entry.kind == "works", same, entry.cell.versions[::-1]

    candidates = (
        entry
        for entry in known.known
        if entry.cell.recipe == "fresh"
        and _is_working(entry)
        and all(entry.cell.on(axis).version == cell.on(axis).version for axis in axes)
    )
    return max(candidates, key=closeness, default=None)


def _is_working(entry: Answer) -> bool:
    return entry.is_tested and entry.kind in ("works", "partial")


def _alerts(known: Snapshot, pairs: Iterable[tuple[Cell, VariantCell]]) -> Iterator[VariantAlert]:
    groups: dict[tuple[str, str], list[VariantCell]] = {}
    for cell, row in pairs:
        if row.against and row.verdict != "unknown":
            names = "the lowest declared versions", "newer ones"
            if (axis := variant_axis(known.matrix, cell)) is not None:
                earlier = known.by_id[row.against].cell.on(axis.name).version
                names = f"{axis.package} {cell.on(axis.name).version}", str(earlier)
            groups.setdefault(names, []).append(row)
    for (what, beside), rows in groups.items():
        broken = tuple(row.cell for row in rows if row.is_broken)
        if broken:
            verb = "breaks" if rows[0].lane == "prerelease" else "break"
            compared = _compared(sum(row.in_part for row in rows), len(rows), beside)
            yield VariantAlert(
                lane=rows[0].lane,
                what=what,
                broken=len(broken),
                compared=len(rows),
                cells=broken,
                sentence=f"{what} {verb} {len(broken)} of {compared}",
            )


def _compared(in_part: int, number: int, beside: str) -> str:
    if number == 1:
        return f"1 cell that works {'in part ' if in_part else ''}with {beside}"
    those = f", {'all' if in_part == number else in_part} of them in part" if in_part else ""
    return f"{number} cells that work with {beside}{those}"
