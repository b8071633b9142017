"""The runs of each cell out of the index, read when they are asked for, and what is kept beside
them.
"""

from collections.abc import Iterator, Mapping, Sequence

from compat.files import code_of
from compat.results.index import RecordIndex
from compat.results.kept_verdicts import KeptFacts, KeptVerdicts
from compat.results.record_files import RecordFiles
from compat.results.run_row import RunFacts, RunRow
from compat.results.verdict import EvaluationContext

# A release has no more cells, and reading their rows singly takes 20 ms.
_FEW = 500
# From the code of these rooms follows what a cell's runs add up to.
_JUDGING_ROOMS = ("declare", "plan", "run", "results")


class RunsByCell(Mapping[str, tuple[RunRow, ...]]):
    """The runs of each cell, oldest first: those of few cells are read one by one, and all of them
    once many are asked for.
    """

    def __init__(self, index: RecordIndex, store: RecordFiles) -> None:
        """Take the index, which has read the store."""
        self._index = index
        self._store = store
        self._changes = index.changes(store)
        self._cells = dict.fromkeys(index.cells(store))
        self._rows: dict[str, tuple[RunRow, ...]] = {}

    def __getitem__(self, cell: str) -> tuple[RunRow, ...]:
        """Return the runs of a cell."""
        if cell not in self._rows:
            if cell not in self._cells:
                raise KeyError(cell)
            if len(self._rows) < _FEW:
                self._rows[cell] = self._index.of_cell(self._store, cell)
            else:
                # Records that were taken away meanwhile leave cells without runs.
                self._rows = dict.fromkeys(self._cells, ()) | self._index.every_row(self._store)
        return self._rows[cell]

    def __contains__(self, cell: object) -> bool:
        """Return whether a cell has runs, without reading them."""
        return cell in self._cells

    def __iter__(self) -> Iterator[str]:
        """Yield the ids of the cells, sorted."""
        return iter(self._cells)

    def __len__(self) -> int:
        """Return how many cells have runs."""
        return len(self._cells)

    def verdicts(self, present: EvaluationContext) -> KeptVerdicts:
        """Return the verdicts that are kept beside the runs, as of that suite."""
        return KeptVerdicts(self, code_of(*_JUDGING_ROOMS), present)

    def kept(self, kind: str) -> KeptFacts:
        """Return what is kept of that kind, by cell."""
        return self._index.kept(self._store, kind, self._changes)

    def keep(self, kind: str, facts: Sequence[tuple[str, bytes, bytes]]) -> None:
        """Keep facts of that kind, each with its cell and the digest of what it follows from."""
        self._index.keep(self._store, kind, self._changes, facts)

    def told(self, number: int) -> RunFacts:
        """Return what runs were told, by its number."""
        return self._index.told(self._store, number)
