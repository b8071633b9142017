"""The runs of each cell out of the index, read when they are asked for, and what is kept beside
them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import overload

from compat.errors import CompatError
from compat.files import code_of
from compat.results.index import RecordIndex
from compat.results.kept_verdicts import KeptFacts, KeptVerdicts
from compat.results.record_files import RecordFiles
from compat.results.run_row import RunFacts, RunRow
from compat.results.verdict import EvaluationContext

# A release has no more cells, and reading their rows singly takes 20 ms. Of a large matrix it is
# this share of its cells: so many new records are fewer than all.
_FEW, _FEW_OF, _FEW_NAMES = 500, 8, 2_000
# From the code of these rooms follows what a cell's runs add up to.
_JUDGING_ROOMS = ("declare", "plan", "run", "results")


class CellRuns(Sequence[RunRow]):
    """The runs of one cell, oldest first, read when one of them is asked for: that there are some
    is known before.
    """

    def __init__(self, read: Callable[[], tuple[RunRow, ...]]) -> None:
        self._read = read

    @cached_property
    def _rows(self) -> tuple[RunRow, ...]:
        return self._read()

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[RunRow]:
        return iter(self._rows)

    @overload
    def __getitem__(self, index: int) -> RunRow: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[RunRow]: ...

    def __getitem__(self, index: int | slice) -> RunRow | Sequence[RunRow]:
        return self._rows[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._rows == tuple(other)

    def __hash__(self) -> int:
        return hash(self._rows)


class RunsByCell(Mapping[str, CellRuns]):
    """The runs of each cell: those of few cells are read one by one, and all of them once many are
    asked for.
    """

    def __init__(self, index: RecordIndex, store: RecordFiles) -> None:
        self._index = index
        self._store = store
        self.changes = index.changes(store)
        self._count = index.cell_count(store)
        self._few = max(_FEW, self._count // _FEW_OF)
        self._asked: dict[object, bool] = {}
        self._rows: dict[str, tuple[RunRow, ...]] = {}
        self._runs: dict[str, CellRuns] = {}

    @cached_property
    def _cells(self) -> dict[str, None]:
        return dict.fromkeys(self._index.cells(self._store))

    def __getitem__(self, cell: str) -> CellRuns:
        if cell not in self._runs:
            if cell not in self:
                raise KeyError(cell)
            self._runs[cell] = CellRuns(partial(self._read, cell))
        return self._runs[cell]

    def _read(self, cell: str) -> tuple[RunRow, ...]:
        if cell not in self._rows:
            if len(self._rows) < self._few:
                self._rows[cell] = self._index.of_cell(self._store, cell)
            else:
                self._rows = self._index.every_row(self._store)
        if not (rows := self._rows.get(cell)):
            message = f"the records of {cell} were taken away while they were read"
            raise CompatError.of(message, hint="ask again")
        return rows

    def __contains__(self, cell: object) -> bool:
        """Return whether a cell has runs, without reading them; of few that are asked about no
        other is listed.
        """
        if "_cells" in self.__dict__ or len(self._asked) >= _FEW_NAMES:
            return cell in self._cells
        if cell not in self._asked:
            self._asked[cell] = self._index.has(self._store, str(cell))
        return self._asked[cell]

    def __iter__(self) -> Iterator[str]:
        """Yield the ids of the cells, sorted."""
        return iter(self._cells)

    def __len__(self) -> int:
        return self._count

    def verdicts(self, present: EvaluationContext) -> KeptVerdicts:
        """Return the verdicts that are kept beside the runs, as of that suite."""
        return KeptVerdicts(self, code_of(*_JUDGING_ROOMS), present)

    def kept(self, kind: str) -> KeptFacts:
        return self._index.kept(self._store, kind, self.changes)

    def kept_of(self, kind: str, cell: str) -> tuple[bytes, bytes] | None:
        return self._index.kept_of(self._store, kind, self.changes, cell)

    def keep(self, kind: str, facts: Sequence[tuple[str, bytes, bytes]]) -> None:
        """Keep facts of that kind, each with its cell and the digest of what it follows from."""
        self._index.keep(self._store, kind, self.changes, facts)

    def told(self, number: int) -> RunFacts:
        return self._index.told(self._store, number)
