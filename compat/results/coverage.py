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

    `lockable` counts unanswered cells that have a lock and wait for a run, and `lockable_places`
    combinations with such a cell. `place_evidence` counts the answered combinations, each by its
    best evidence.
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
    return snapshot.once("cell-count", lambda: _cell_count(snapshot))


def _cell_count(snapshot: Snapshot) -> CellCount:
    states: Counter[str] = Counter()
    for entry in snapshot.known:
        if not entry.planned:
            continue
        # Where a fact rules out a tested cell, the test counts.
        states["ruled out twice"] += entry.is_tested and entry.obstacle is not None
        if entry.is_tested:
            states["tested"] += 1
        elif entry.obstacle is None:
            of_run = "undecided" if entry.runs else "untried"
            states[_without_run(entry.kind, entry.expected) or of_run] += 1
    for _, kind, expected in snapshot.untried:
        states[_without_run(kind, expected) or "untried"] += 1
    ruled_out = snapshot.ruled_out - states.pop("ruled out twice", 0)
    return CellCount(ruled_out=ruled_out, **states)


def _without_run(kind: Kind, expected: Kind | None) -> str:
    if expected is not None:
        return "expected"
    return "refused" if kind == "broken" else ""


class CoverageCount:
    """The answered cells, updated with each answer."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._kinds: dict[str, Kind] = {}
        self._evidence: dict[str, EvidenceKind] = {}
        self._places: dict[str, list[str]] = {}
        self._place_of: dict[str, str] = {}
        self._lockable: set[str] = set()
        for entry in snapshot.entries:
            if entry.planned:
                cell = entry.cell
                self._kinds[cell.id] = entry.likely
                self._evidence[cell.id] = entry.evidence
                self._places.setdefault(cell.place, []).append(cell.id)
                self._place_of[cell.id] = cell.place
                answer = snapshot.plain.get(cell.id)
                if entry.lock_digest is not None or (answer is not None and not answer.refusal):
                    self._lockable.add(cell.id)
        self._answered = sum(kind != "unknown" for kind in self._kinds.values())
        self._answered_places = sum(map(self._is_answered, self._places.values()))

    @property
    def coverage(self) -> Coverage:
        waiting = {c for c in self._lockable if self._kinds[c] == "unknown"}
        answered = [place for place in self._places.values() if self._is_answered(place)]
        return Coverage(
            cells=len(self._kinds),
            answered=self._answered,
            lockable=len(waiting),
            places=len(self._places),
            answered_places=self._answered_places,
            lockable_places=sum(
                not waiting.isdisjoint(place) and not self._is_answered(place)
                for place in self._places.values()
            ),
            evidence=dict(sorted(Counter(self._evidence.values()).items())),
            place_evidence=dict(sorted(Counter(map(self._best, answered)).items())),
        )

    def lock(self, cells: Iterable[Cell]) -> None:
        self._lockable.update(cell.id for cell in cells if cell.id in self._kinds)

    def answer(self, cells: Iterable[Cell], kind: Kind) -> None:
        for cell in cells:
            if cell.id not in self._kinds or kind == "unknown":
                continue
            place = self._places[self._place_of[cell.id]]
            before = self._is_answered(place)
            self._answered += self._kinds[cell.id] == "unknown"
            self._kinds[cell.id] = kind
            self._answered_places += self._is_answered(place) - before

    def _is_answered(self, place: list[str]) -> bool:
        kinds = [self._kinds[cell] for cell in place]
        return any(kind in WORKING for kind in kinds) or "unknown" not in kinds

    def _best(self, place: list[str]) -> EvidenceKind:
        working = [cell for cell in place if self._kinds[cell] in WORKING]
        return min((self._evidence[cell] for cell in working or place), key=_RANKED.index)


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
