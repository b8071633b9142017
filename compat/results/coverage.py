"""Counts how many cells and combinations of a matrix have an answer.

A combination of versions has a cell for each recipe. It is answered where one of its cells works,
if only in part, or where each of them has an answer. A lock is half an answer: lockable cells are
counted separately.
"""

from collections import Counter
from collections.abc import Iterable

from msgspec.structs import asdict

from compat.plan.cell import Cell
from compat.results.answer import EvidenceKind, Kind
from compat.results.snapshot import Snapshot
from compat.value import StrictValue

WORKING: tuple[Kind, ...] = ("works", "partial")
# The most informative first.
_RANKED: tuple[EvidenceKind, ...] = ("tested", "smoke", "asked", "inferred", "declared", "none")


class Coverage(StrictValue, frozen=True, kw_only=True):
    """How much of a plan has an answer, and from what: numbers of cells by evidence.

    `lockable` cells, and places with one, have a lock and wait for a run. `place_evidence` counts
    the answered combinations, each by its best evidence.
    """

    cells: int
    answered: int
    lockable: int
    places: int
    answered_places: int
    lockable_places: int
    evidence: dict[EvidenceKind, int]
    place_evidence: dict[EvidenceKind, int]

    @property
    def words(self) -> str:
        return (
            f"{_part(self.answered, self.cells, 'cells')},"
            f" {_part(self.answered_places, self.places, 'combinations')}"
        )

    @property
    def waiting(self) -> str:
        if not self.lockable:
            return ""
        return (
            f"{_part(self.lockable, self.cells, 'cells')},"
            f" {_part(self.lockable_places, self.places, 'combinations')}"
        )


class CellCount(StrictValue, frozen=True, kw_only=True):
    """Each planned cell once: `tested`; `undecided` by its runs; `refused` or `expected` to work or
    to fail, where that is known without a run; `untried`; or `ruled_out` before any run.
    """

    tested: int = 0
    undecided: int = 0
    refused: int = 0
    expected: int = 0
    untried: int = 0
    ruled_out: int = 0

    @property
    def planned(self) -> int:
        return sum(asdict(self).values())

    @property
    def words(self) -> str:
        parts = (
            (self.ruled_out, "ruled out before any run"),
            (self.tested, "tested"),
            (self.expected, "inferred from tested neighbours"),
            (self.refused, "known to fail without a run"),
            (self.undecided, "undecided after a run"),
            (self.untried, "without an answer"),
        )
        counted = ", ".join(f"{number:,} {what}" for number, what in parts if number)
        return f"{self.planned:,} {'cell' if self.planned == 1 else 'cells'}: {counted or 'none'}"


def cell_count(snapshot: Snapshot) -> CellCount:
    def count() -> CellCount:
        states: Counter[str] = Counter()
        untried = [(kind, expected, "untried") for _, kind, expected in snapshot.untried]
        ruled_out = snapshot.ruled_out
        for entry in snapshot.known:
            if entry.planned and entry.is_tested:
                # Where a fact rules out a tested cell, the test counts.
                ruled_out -= entry.obstacle is not None
                states["tested"] += 1
            elif entry.planned and entry.obstacle is None:
                of_run = "undecided" if entry.runs else "untried"
                untried.append((entry.kind, entry.expected, of_run))
        for kind, expected, otherwise in untried:
            known = "refused" if kind == "broken" else otherwise
            states[known if expected is None else "expected"] += 1
        return CellCount(ruled_out=ruled_out, **states)

    return snapshot.once("cell-count", count)


class CoverageCount:
    """The answered cells, updated with each answer."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._kinds: dict[str, Kind] = {}
        self._evidence: dict[str, EvidenceKind] = {}
        self._places: dict[str, list[str]] = {}
        self._lockable: set[str] = set()
        for entry in snapshot.entries:
            if entry.planned:
                cell = entry.cell
                self._kinds[cell.id] = entry.likely
                self._evidence[cell.id] = entry.evidence
                self._places.setdefault(cell.place, []).append(cell.id)
                answer = snapshot.plain.get(cell.id)
                if entry.lock_digest is not None or (answer is not None and not answer.refusal):
                    self._lockable.add(cell.id)

    @property
    def coverage(self) -> Coverage:
        kinds, best, lockable_places = self._kinds, Counter[EvidenceKind](), 0
        waiting = {cell for cell in self._lockable if kinds[cell] == "unknown"}
        for place in self._places.values():
            working = [cell for cell in place if kinds[cell] in WORKING]
            if working or all(kinds[cell] != "unknown" for cell in place):
                known = (self._evidence[cell] for cell in working or place)
                best[min(known, key=_RANKED.index)] += 1
            else:
                lockable_places += not waiting.isdisjoint(place)
        return Coverage(
            cells=len(kinds),
            answered=sum(kind != "unknown" for kind in kinds.values()),
            lockable=len(waiting),
            places=len(self._places),
            answered_places=best.total(),
            lockable_places=lockable_places,
            evidence=dict(sorted(Counter(self._evidence.values()).items())),
            place_evidence=dict(sorted(best.items())),
        )

    def lock(self, cells: Iterable[Cell]) -> None:
        self._lockable.update(cell.id for cell in cells if cell.id in self._kinds)

    def answer(self, cells: Iterable[Cell], kind: Kind) -> None:
        if kind != "unknown":
            self._kinds |= {cell.id: kind for cell in cells if cell.id in self._kinds}


def coverage(snapshot: Snapshot) -> Coverage:
    return CoverageCount(snapshot).coverage


def _part(number: int, whole: int, what: str) -> str:
    share = f" ({number / whole:.1%})".replace("%", " %") if whole else ""
    return f"{number:,} of {whole:,} {what}{share}"


def coverage_lines(before: Coverage, after: Coverage) -> list[str]:
    lines = [f"before: {before.words}", f"after:  {after.words}"]
    for name, earlier, later in (
        ("cells", before.evidence, after.evidence),
        ("combinations", before.place_evidence, after.place_evidence),
    ):
        kinds = sorted({*earlier, *later})
        moves = (f"{kind} {earlier.get(kind, 0):,} -> {later.get(kind, 0):,}" for kind in kinds)
        lines.append(f"  {name} by evidence: {', '.join(moves)}")
    if after.waiting:
        lines.append(f"  can be locked, and wait for a run: {after.waiting}")
    return lines
