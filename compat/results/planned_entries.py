"""The entries of a whole plan, of which each is made when it is asked for: a question about one
cell must not cost what all of them cost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import overload

from packaging.version import InvalidVersion, Version

from compat.plan.cell import Cell, is_in_lane, readable_cell
from compat.plan.kept_plan import PlannedFates
from compat.plan.plan import Fate, Feasible
from compat.results.entry import Entry


class KnownIds(Collection[str]):
    """The ids of the cells that have a lock or a run, by their numbers in a plan and by their
    versions.
    """

    def __init__(self, fates: PlannedFates, *known: Collection[str]) -> None:
        """Take the plan and what has the ids; they are listed when they are needed."""
        self.fates = fates
        self._known = known

    def __contains__(self, cell_id: object) -> bool:
        if "_ids" in self.__dict__:
            return cell_id in self._ids
        return any(cell_id in part for part in self._known)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    @cached_property
    def _ids(self) -> Collection[str]:
        return set().union(*self._known)

    @cached_property
    def numbers(self) -> dict[str, int | None]:
        """The number of the slot of each cell; None for one outside the plan."""
        return {cell_id: self.fates.number(cell_id) for cell_id in sorted(self._ids)}

    def having(self, axis: str, version: Version) -> Sequence[str]:
        return self._by_version[axis].get(version, ())

    @cached_property
    def _by_version(self) -> Mapping[str, Mapping[Version, list[str]]]:
        """The ids by axis and version. All axes at once, as to take ids apart takes the longest."""
        axes = self.fates.matrix.axes
        by_text: list[defaultdict[str, list[str]]] = [defaultdict(list) for _ in axes]
        for cell_id in self._ids:
            parts = cell_id.partition("+")[0].split("-")
            if len(parts) == len(axes):
                for texts, part in zip(by_text, parts, strict=True):
                    texts[part].append(cell_id)
        by_version: dict[str, Mapping[Version, list[str]]] = {}
        for axis, texts in zip(axes, by_text, strict=True):
            versions: defaultdict[Version, list[str]] = defaultdict(list)
            for text, cell_ids in texts.items():
                with suppress(InvalidVersion):
                    versions[Version(text.removeprefix(axis.short))] += cell_ids
            by_version[axis.name] = versions
        return by_version


class KnownKeeper(ABC):
    """Where the final entries of all known cells of a plan are kept in one piece, and what else
    follows from what is known.
    """

    fates: PlannedFates

    @property
    @abstractmethod
    def entries(self) -> Mapping[int | str, Entry] | None:
        """The entries in their order, by the number of their slot, or by the id of a cell outside
        the plan; None where they are not kept.
        """

    @property
    @abstractmethod
    def at_hand(self) -> Mapping[int | str, Entry] | None:
        """The same where they are read already, or that takes no time."""

    @abstractmethod
    def keep(self, entries: Iterable[Entry]) -> None:
        """Keep the entries of all known cells."""

    @abstractmethod
    def of(self, kind: str, make: Callable[[], bytes]) -> bytes:
        """Return what `make` returns, which must follow from what is known alone: as it is kept
        under that name, else made now and kept.
        """


class PlannedEntries(Sequence[Entry]):
    """The entries of a plan in its order, then those of cells outside it.

    `known_ids` are those of the cells that have a lock or a run. `make` makes the entry of a slot
    by its number, with the fate where that is at hand, and `make_outside` that of a cell that no
    longer stands in the plan.
    """

    def __init__(
        self,
        known_ids: KnownIds,
        make: Callable[[int, Fate | None], Entry],
        make_outside: Callable[[Cell], Entry],
        keeper: KnownKeeper | None = None,
        *,
        is_final: bool = False,
    ) -> None:
        self.fates = known_ids.fates
        self.known_ids = known_ids
        self._keeper = keeper
        self._is_final = is_final
        self._make = make
        self._make_outside = make_outside
        self._made: dict[int, Entry] = {}
        self._outside: dict[str, Entry | None] = {}

    @cached_property
    def known(self) -> tuple[Entry, ...]:
        by_place = self._keeper.entries if self._keeper and self._is_final else None
        if by_place is not None:
            return tuple(by_place.values())
        every = self.known_ids.numbers.values()
        numbers = sorted(number for number in every if number is not None)
        entries = (*(self._at(number) for number in numbers), *self.outside)
        if self._keeper is not None and self._is_final:
            self._keeper.keep(entries)
        return entries

    @property
    def untried(self) -> Iterator[Entry]:
        """The planned entries without a lock or a run that no fact rules out."""
        for number, fate in self.fates.numbered():
            if isinstance(fate, Feasible) and fate.cell.id not in self.known_ids:
                yield self._at(number, fate)

    @cached_property
    def outside(self) -> tuple[Entry, ...]:
        numbers = self.known_ids.numbers
        beyond = [cell_id for cell_id, number in numbers.items() if number is None]
        every = (self._beyond(cell_id) for cell_id in beyond)
        return tuple(entry for entry in every if entry is not None)

    def known_on(self, axis: str, version: Version) -> Iterator[Entry]:
        cell_ids = self.known_ids.having(axis, version)
        planned = {c: n for c in cell_ids if (n := self.fates.number(c)) is not None}
        yield from (
            self._at(planned[cell_id]) for cell_id in sorted(planned, key=planned.__getitem__)
        )
        yield from filter(None, map(self._beyond, sorted(set(cell_ids) - planned.keys())))

    def mapped(self, change: Callable[[Entry], Entry]) -> PlannedEntries:
        assert not self._is_final, "nothing changes what is kept"
        return PlannedEntries(
            self.known_ids,
            lambda number, fate: change(self._at(number, fate)),
            lambda cell: change(self._made_outside(cell)),
            self._keeper,
        )

    @property
    def final(self) -> PlannedEntries:
        outside = self._made_outside
        return PlannedEntries(self.known_ids, self._at, outside, self._keeper, is_final=True)

    def _made_outside(self, cell: Cell) -> Entry:
        entry = self._beyond(cell.id)
        assert entry is not None, "it is made of a cell that can be read"
        return entry

    def having(self, versions: Mapping[str, Collection[Version]]) -> Iterator[Entry]:
        """Yield those entries, in their order, that have on each named axis one of the versions."""
        for number, fate in self.fates.numbered(versions):
            yield self._at(number, fate)
        for entry in self._outside_on(versions):
            if all(entry.cell.on(axis).version in versions[axis] for axis in versions):
                yield entry

    def _outside_on(self, versions: Mapping[str, Collection[Version]]) -> Iterable[Entry]:
        """The entries outside the plan with one of the versions on the axis of which the fewest are
        asked for; all where they are at hand.
        """
        if "outside" in self.__dict__ or not versions:
            return self.outside
        axis = min(versions, key=lambda name: len(versions[name]))
        every = {c for version in versions[axis] for c in self.known_ids.having(axis, version)}
        beyond = sorted(cell_id for cell_id in every if self.fates.number(cell_id) is None)
        return filter(None, map(self._beyond, beyond))

    def of_cell(self, cell_id: str) -> Entry:
        """Return the entry of a cell; raise KeyError where there is none."""
        entry = self._get(cell_id)
        if entry is None:
            raise KeyError(cell_id)
        return entry

    def _get(self, cell_id: str) -> Entry | None:
        number = self.fates.number(cell_id)
        if number is not None:
            return self._at(number)
        return self._beyond(cell_id) if cell_id in self.known_ids else None

    def _beyond(self, cell_id: str) -> Entry | None:
        """The entry of a cell outside the plan; None where the matrix cannot read its id, or it
        stands in a lane.
        """
        if cell_id not in self._outside:
            self._outside[cell_id] = self._kept_at(cell_id) or self._new_beyond(cell_id)
        return self._outside[cell_id]

    def _new_beyond(self, cell_id: str) -> Entry | None:
        cell = readable_cell(cell_id, self.fates.matrix)
        is_entry = cell is not None and not cell.is_in_lane
        return self._make_outside(cell) if cell and is_entry else None

    def _at(self, number: int, fate: Fate | None = None) -> Entry:
        if number not in self._made:
            self._made[number] = self._kept_at(number) or self._make(number, fate)
        return self._made[number]

    def _kept_at(self, place: int | str) -> Entry | None:
        by_place = None if self._keeper is None else self._keeper.at_hand
        entry = None if by_place is None else by_place.get(place)
        return entry if entry and (self._is_final or entry.is_tested) else None

    @cached_property
    def _every(self) -> tuple[Entry, ...]:
        planned = (self._at(number, fate) for number, fate in self.fates.numbered())
        return (*planned, *self.outside)

    def __len__(self) -> int:
        return len(self.fates) + len(self.outside)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._every)

    @overload
    def __getitem__(self, index: int) -> Entry: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Entry]: ...

    def __getitem__(self, index: int | slice) -> Entry | Sequence[Entry]:
        return self._every[index]


class EntriesById(Mapping[str, Entry]):
    """The entries of a plan and of lanes by the ids of their cells."""

    def __init__(self, entries: PlannedEntries, lanes: Callable[[], Iterable[Entry]]) -> None:
        self._entries = entries
        self._lanes_of = lanes

    @cached_property
    def _lanes(self) -> dict[str, Entry]:
        return {entry.cell.id: entry for entry in self._lanes_of()}

    def __getitem__(self, cell_id: str) -> Entry:
        if is_in_lane(cell_id):
            return self._lanes[cell_id]
        return self._entries.of_cell(cell_id)

    def __iter__(self) -> Iterator[str]:
        yield from (entry.cell.id for entry in self._entries)
        yield from self._lanes

    def __len__(self) -> int:
        return len(self._entries) + len(self._lanes)
