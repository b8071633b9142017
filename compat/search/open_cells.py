"""Which cell to ask a resolver about next: one of the largest group of which nothing is known."""

import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence

from packaging.version import Version

from compat.plan.cell import Cell


class OpenCells:
    """Cells without an answer, by their coordinates beside the subject's. Several threads may use
    it.
    """

    def __init__(
        self, cells: Iterable[Cell], subject: str, alike: Callable[[Cell], Hashable] | None = None
    ) -> None:
        """Take the cells, and the name of the subject's axis.

        Cells of which `alike` returns the same ask for the same, though perhaps on other days.
        """
        self._subject = subject
        self._alike = alike or (lambda cell: cell.id)
        self._guard = threading.Lock()
        self._groups: dict[tuple[object, ...], list[Cell]] = defaultdict(list)
        for cell in cells:
            others = (c.version for c in cell.coordinates if c.axis != subject)
            self._groups[(cell.recipe, *others)].append(cell)
        for group in self._groups.values():
            group.sort(key=self._place)
        self._asked: dict[tuple[object, ...], list[Cell]] = defaultdict(list)

    def __len__(self) -> int:
        with self._guard:
            return sum(map(len, self._groups.values()))

    def next(self) -> Cell | None:
        """Return the next to ask about, which is open no longer; None when none is left.

        It is of the group with the most open cells for each that was asked, and among them the
        farthest from those; of cells that ask for the same the oldest, as its packages were there
        for all of them.
        """
        with self._guard:
            key = max(self._groups, key=self._worth, default=None)
            if key is None or not self._groups[key]:
                return None
            group = self._groups[key]
            asked = self._alike(self._farthest(group, self._asked[key]))
            cell = next(cell for cell in group if self._alike(cell) == asked)
            group.remove(cell)
            self._asked[key].append(cell)
            return cell

    def close(self, is_answered: Callable[[Cell], bool]) -> tuple[Cell, ...]:
        """Take out the cells that have an answer now, and return them."""
        with self._guard:
            closed = [c for group in self._groups.values() for c in group if is_answered(c)]
            gone = set(closed)
            for group in self._groups.values():
                group[:] = [cell for cell in group if cell not in gone]
            return tuple(closed)

    def _worth(self, key: tuple[object, ...]) -> float:
        return len(self._groups[key]) / (1 + len(self._asked[key]))

    def _farthest(self, cells: Sequence[Cell], asked: Sequence[Cell]) -> Cell:
        """The middle one first; then the one with the most cells up to the next that was asked."""
        if not asked:
            return cells[len(cells) // 2]
        everything = sorted({*cells, *asked}, key=self._place)
        places = {cell: number for number, cell in enumerate(everything)}
        return max(cells, key=lambda cell: min(abs(places[cell] - places[a]) for a in asked))

    def _place(self, cell: Cell) -> Version:
        return cell.on(self._subject).version
