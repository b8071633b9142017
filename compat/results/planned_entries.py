"""The entries of a whole plan, of which each is made when it is asked for: a question about one
cell must not cost what all of them cost.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, overload

from packaging.version import Version

from compat.errors import UsageError
from compat.plan.cell import parse_cell
from compat.plan.kept_plan import PlannedFates
from compat.plan.plan import Fate

if TYPE_CHECKING:
    from compat.results.snapshot import Entry


class PlannedEntries(Sequence["Entry"]):
    """The entries of a plan in its order, then those of cells outside it.

    `known` are the entries of the plan that have a lock or a run, `outside` those of cells that no
    longer stand in it; `make` makes the entry of any other fate.
    """

    def __init__(
        self,
        fates: PlannedFates,
        known: Mapping[int, Entry],
        outside: Iterable[Entry],
        make: Callable[[Fate], Entry],
    ) -> None:
        """Take the plan and what is known, by the number of the cell's slot."""
        self.fates = fates
        self.outside = tuple(outside)
        self._known = {number: known[number] for number in sorted(known)}
        self._make = make
        self._made: dict[int, Entry] = dict(self._known)
        self._every: tuple[Entry, ...] | None = None
        self._by_id = {entry.cell.id: entry for entry in self.known}

    @property
    def known(self) -> tuple[Entry, ...]:
        """The entries that have a lock or a run, in the order of the plan."""
        return *self._known.values(), *self.outside

    def mapped(self, change: Callable[[Entry], Entry]) -> PlannedEntries:
        """Return the entries as the function changes each."""
        known = {number: change(entry) for number, entry in self._known.items()}
        outside = map(change, self.outside)
        return PlannedEntries(self.fates, known, outside, lambda fate: change(self._make(fate)))

    def having(self, versions: Mapping[str, Collection[Version]]) -> Iterator[Entry]:
        """Yield those entries, in their order, that have on each named axis one of the versions."""
        for number, fate in self.fates.numbered(versions):
            yield self._at(number, fate)
        for entry in self.outside:
            if all(entry.cell.on(axis).version in versions[axis] for axis in versions):
                yield entry

    def of_cell(self, cell_id: str) -> Entry:
        """Return the entry of a cell; raise KeyError where there is none."""
        if cell_id not in self._by_id:
            try:
                number = self.fates.number(parse_cell(cell_id, self.fates.matrix))
            except UsageError:
                number = None
            if number is None:
                raise KeyError(cell_id)
            self._by_id[cell_id] = self._at(number, self.fates.fate(number))
        return self._by_id[cell_id]

    def _at(self, number: int, fate: Fate) -> Entry:
        if number not in self._made:
            self._made[number] = self._make(fate)
        return self._made[number]

    def _all(self) -> tuple[Entry, ...]:
        if self._every is None:
            planned = (self._at(number, fate) for number, fate in self.fates.numbered())
            self._every = (*planned, *self.outside)
        return self._every

    def __len__(self) -> int:
        """Return how many entries there are."""
        return len(self.fates) + len(self.outside)

    def __iter__(self) -> Iterator[Entry]:
        """Yield every entry; all are made the first time."""
        return iter(self._all())

    @overload
    def __getitem__(self, index: int) -> Entry: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Entry]: ...

    def __getitem__(self, index: int | slice) -> Entry | Sequence[Entry]:
        """Return the entry at that place, or several."""
        return self._all()[index]


class EntriesById(Mapping[str, "Entry"]):
    """The entries of a plan and of lanes by the ids of their cells."""

    def __init__(self, entries: PlannedEntries, lanes: Mapping[str, Entry]) -> None:
        """Take the entries, and those of lanes by their ids."""
        self._entries = entries
        self._lanes = lanes

    def __getitem__(self, cell_id: str) -> Entry:
        """Return the entry of a cell, made now if need be."""
        return self._lanes[cell_id] if cell_id in self._lanes else self._entries.of_cell(cell_id)

    def __iter__(self) -> Iterator[str]:
        """Yield every id; all entries are made."""
        yield from (entry.cell.id for entry in self._entries)
        yield from self._lanes

    def __len__(self) -> int:
        """Return how many entries there are."""
        return len(self._entries) + len(self._lanes)
