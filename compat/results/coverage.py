"""The `results` room's coverage: how many cells and combinations of a matrix have an answer.

A combination of versions is a place, with a cell for each recipe. It is answered where one of its
cells works, if only in part, or where each of them has an answer.
"""

from collections import Counter
from collections.abc import Iterable

from compat.plan.cell import Cell
from compat.results.run_group import Kind
from compat.results.snapshot import Snapshot
from compat.results.verdict import EvidenceKind
from compat.value import StrictValue

WORKING: tuple[Kind, ...] = ("works", "partial")


class Coverage(StrictValue, frozen=True, kw_only=True):
    """How much of a plan has an answer, and from what: numbers of cells by evidence."""

    cells: int
    answered: int
    places: int
    answered_places: int
    evidence: dict[EvidenceKind, int]

    @property
    def words(self) -> str:
        """Say it: `300 of 400 cells (75.0 %), 80 of 100 combinations (80.0 %)`."""
        return (
            f"{_part(self.answered, self.cells, 'cells')},"
            f" {_part(self.answered_places, self.places, 'combinations')}"
        )


class CoverageCount:
    """Which cells have an answer, while answers come."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Take what is known at the beginning."""
        self._kinds: dict[str, Kind] = {}
        self._places: dict[str, list[str]] = {}
        self._place_of: dict[str, str] = {}
        self._evidence: Counter[EvidenceKind] = Counter()
        for entry in snapshot.entries:
            if entry.planned:
                cell = entry.cell
                self._kinds[cell.id] = entry.verdict.kind
                self._places.setdefault(cell.place, []).append(cell.id)
                self._place_of[cell.id] = cell.place
                self._evidence[entry.verdict.evidence] += 1
        self._answered = sum(kind != "unknown" for kind in self._kinds.values())
        self._answered_places = sum(map(self._is_answered, self._places.values()))

    @property
    def coverage(self) -> Coverage:
        """The numbers now; those by evidence are of the beginning."""
        return Coverage(
            cells=len(self._kinds),
            answered=self._answered,
            places=len(self._places),
            answered_places=self._answered_places,
            evidence=dict(sorted(self._evidence.items())),
        )

    def answer(self, cells: Iterable[Cell], kind: Kind) -> None:
        """Take the answer to some cells; one that is not planned, and no answer, change nothing."""
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


def coverage(snapshot: Snapshot) -> Coverage:
    """Return how much of a snapshot's plan has an answer."""
    return CoverageCount(snapshot).coverage


def _part(number: int, whole: int, what: str) -> str:
    share = f" ({number / whole:.1%})".replace("%", " %") if whole else ""
    return f"{number:,} of {whole:,} {what}{share}"
