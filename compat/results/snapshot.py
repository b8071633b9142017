"""The `results` room's whole: what is known of every cell of a matrix on one day, for pages and
proposals alike.
"""

import datetime
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from functools import cached_property
from typing import Any, TypeVar

import msgspec
from packaging.version import Version

from compat.declare.load import Declared
from compat.declare.matrix import KnownIssue
from compat.index.release import Catalogue
from compat.plan.cell import Cell, is_in_lane, readable_cell
from compat.plan.feasible import Feasibility
from compat.plan.kept_plan import PlannedFates
from compat.plan.lanes import facts_for, lane_cells
from compat.plan.obstacle import Obstacle
from compat.plan.plain_cells import PlainQuestion, plain_questions
from compat.plan.plan import Fate, Feasible, Infeasible, fate_of
from compat.results.attribution import Attribution, explains, holds, is_machine_issue
from compat.results.clauses import Disproof
from compat.results.entry import Entry, entry_of
from compat.results.kept_verdicts import Judge, JudgedRuns, judged_anew
from compat.results.plain_answers import PlainAnswer
from compat.results.planned_entries import EntriesById, KnownIds, KnownKeeper, PlannedEntries
from compat.results.platform_installs import PlatformInstall
from compat.results.ran import Ran
from compat.results.record import Capability
from compat.results.run_group import Kind
from compat.results.runs_by_cell import RunsByCell
from compat.results.verdict import EvaluationContext, Verdict
from compat.run.outcome import Failed, Outcome
from compat.value import Value

T = TypeVar("T")
LanesOf = Callable[["Snapshot"], tuple[Entry, ...]]
PlatformInstalls = Callable[[], tuple[PlatformInstall, ...]]
# The versions of the axes' packages, by normalised name, in the lock of a cell.
LockedVersions = Callable[[str], Mapping[str, Version]]


class UntriedCell(Value, frozen=True, array_like=True):
    """A cell without a lock or a run: what is known of it, and what is expected of it."""

    cell: str
    kind: Kind
    expected: Kind | None


class Snapshot:
    """Every cell of a matrix, once, in the order of the plan, with its verdict on the day of
    `present`.

    The cells of lanes stand apart, in `lanes`: no grid, floor or advice is made of them.
    """

    def __init__(
        self,
        ask: Declared,
        catalogue: Catalogue,
        entries: Iterable[Entry],
        present: EvaluationContext,
        plain: Mapping[str, PlainAnswer] | None = None,
        disproofs: Callable[[], Sequence[Disproof]] = tuple,
    ) -> None:
        self.ask = ask
        self.matrix = ask.matrix
        self.catalogue = catalogue
        self.present = present
        self.plain = dict(plain or {})
        self._disproofs = disproofs
        self.entries: Sequence[Entry] = (
            entries if isinstance(entries, PlannedEntries) else tuple(entries)
        )
        self._derived: dict[Hashable, Any] = {}
        self._lanes: LanesOf | None = None
        self._before: Snapshot | None = None
        self._keeper: KnownKeeper | None = None
        self._platforms: PlatformInstalls = tuple
        self.versions: LockedVersions = lambda cell: {}

    @cached_property
    def disproofs(self) -> tuple[Disproof, ...]:
        return tuple(self._disproofs())

    def with_lanes(self, lanes: "LanesOf | None") -> "Snapshot":
        self._lanes = lanes
        return self

    def with_platforms(self, installs: PlatformInstalls, versions: LockedVersions) -> "Snapshot":
        self._platforms, self.versions = installs, versions
        return self

    @cached_property
    def platform_installs(self) -> tuple[PlatformInstall, ...]:
        return self._platforms()

    @cached_property
    def lanes(self) -> tuple[Entry, ...]:
        """The entries of the lanes that the matrix declares, and of others that have a run."""
        return () if self._lanes is None else self._lanes(self)

    @cached_property
    def by_id(self) -> Mapping[str, Entry]:
        if isinstance(self.entries, PlannedEntries):
            return EntriesById(self.entries, lambda: self.lanes)
        beside = {entry.cell.id: entry for entry in self.lanes}
        return beside | {entry.cell.id: entry for entry in self.entries}

    @cached_property
    def known(self) -> tuple[Entry, ...]:
        if isinstance(self.entries, PlannedEntries):
            return self.entries.known
        return tuple(entry for entry in self.entries if entry.runs or entry.lock_digest is not None)

    @cached_property
    def known_ids(self) -> Collection[str]:
        """The ids of the cells that have a lock or a run; some may be of cells without an entry."""
        if isinstance(self.entries, PlannedEntries):
            return self.entries.known_ids
        return frozenset(entry.cell.id for entry in self.known)

    def limited_to(self, cells: Iterable[str]) -> "Snapshot":
        named = [entry for cell in cells if (entry := self.by_id.get(cell)) and entry.planned]
        entries = [entry for entry in named if not entry.cell.is_in_lane]
        every = self.entries
        beyond = every.outside if isinstance(every, PlannedEntries) else self.known
        entries += [entry for entry in beyond if not entry.planned]
        limited = self._of(entries)
        return limited.with_lanes(self._lanes and (lambda _: self.lanes))

    def mapped(self, change: Callable[[Entry], Entry]) -> "Snapshot":
        entries = self.entries
        return self._of(
            entries.mapped(change) if isinstance(entries, PlannedEntries) else map(change, entries)
        )._after(self)

    def final(self, keeper: KnownKeeper) -> "Snapshot":
        """Return the same, which nothing changes any more; what is known is kept there."""
        assert isinstance(self.entries, PlannedEntries)
        after = self._of(self.entries.final)._after(self)
        after._keeper = keeper
        return after

    def place_of(self, entry: Entry) -> int | str:
        """Return what `cell_at` finds the cell of an entry by: a number, where the plan has it."""
        cell_id, every = entry.cell.id, self.entries
        return every.fates.place(cell_id) if isinstance(every, PlannedEntries) else cell_id

    def cell_at(self, place: int | str) -> Cell:
        """Return the cell at that place; its entry is not made."""
        if isinstance(place, int) and isinstance(self.entries, PlannedEntries):
            return self.entries.fates.cell(place)
        return self.by_id[str(place)].cell

    def kept(self, kind: str, form: type[T], make: Callable[[], T]) -> T:
        """Return what `make` returns, of that type, which must follow from the known entries and
        their locks alone: kept under that name, where there is something that keeps it.
        """
        if self._keeper is None:
            return make()
        body = self._keeper.of(kind, lambda: msgspec.msgpack.encode(make()))
        return msgspec.msgpack.decode(body, type=form)

    def with_plain(
        self, plain: Mapping[str, PlainAnswer], disproofs: Callable[[], Sequence[Disproof]]
    ) -> "Snapshot":
        after = Snapshot(self.ask, self.catalogue, self.entries, self.present, plain, disproofs)
        return after._after(self)

    def _after(self, before: "Snapshot") -> "Snapshot":
        self._before = before
        return self.with_lanes(before._lanes and (lambda _: before.lanes))

    def _of(self, entries: Iterable[Entry]) -> "Snapshot":
        answered = self.plain, lambda: self.disproofs
        return Snapshot(self.ask, self.catalogue, entries, self.present, *answered)

    @cached_property
    def untried(self) -> tuple[UntriedCell, ...]:
        """What is known of the planned cells without a lock or a run that no fact rules out."""

        def made() -> tuple[UntriedCell, ...]:
            every = self.entries
            entries: Iterable[Entry] = (
                every.untried
                if isinstance(every, PlannedEntries)
                else (
                    entry
                    for entry in every
                    if entry.planned
                    and entry.obstacle is None
                    and entry.cell.id not in self.known_ids
                )
            )
            return tuple(
                UntriedCell(e.cell.id, e.verdict.kind, e.verdict.expected) for e in entries
            )

        return self.kept("untried", tuple[UntriedCell, ...], made)

    @cached_property
    def ruled_out(self) -> int:
        """How many planned cells a fact rules out, tested ones included."""
        if isinstance(self.entries, PlannedEntries):
            return self.entries.fates.infeasible
        return sum(entry.planned and entry.obstacle is not None for entry in self.entries)

    def having(self, versions: Mapping[str, Collection[Version]]) -> Iterator[Entry]:
        """Yield those entries, in their order, that have on each named axis one of the versions."""
        if isinstance(self.entries, PlannedEntries):
            return self.entries.having(versions)
        return (
            entry
            for entry in self.entries
            if all(entry.cell.on(axis).version in versions[axis] for axis in versions)
        )

    def feasible_on(self, axis: str, versions: Collection[Version]) -> Iterator[Cell]:
        """Yield the planned cells with one of the versions on the axis that no fact rules out, in
        the order of the plan; no entry is made.
        """
        if isinstance(self.entries, PlannedEntries):
            fates = self.entries.fates.numbered({axis: versions})
            return (fate.cell for _, fate in fates if isinstance(fate, Feasible))
        entries = self.having({axis: versions})
        return (entry.cell for entry in entries if entry.planned and entry.obstacle is None)

    @cached_property
    def plain_questions(self) -> tuple[PlainQuestion, ...]:
        if isinstance(self.entries, PlannedEntries):
            return self.entries.fates.questions
        return plain_questions(self.feasibility)

    @cached_property
    def feasibility(self) -> Feasibility:
        return Feasibility(self.matrix, self.catalogue)

    @cached_property
    def attribution(self) -> Attribution:
        if self._before is not None:
            return self._before.attribution
        if not isinstance(self.entries, PlannedEntries):
            return Attribution(self.matrix, self._ran())
        return Attribution(self.matrix, self._ran(), self._verdicts_of)

    def known_on(self, axis: str, version: Version) -> Iterator[Entry]:
        """Yield what has a lock or a run and that version on the axis; no other entry is made."""
        if isinstance(self.entries, PlannedEntries):
            return self.entries.known_on(axis, version)
        return (entry for entry in self.known if entry.cell.on(axis).version == version)

    def _verdicts_of(self, version: Version) -> Iterator[Verdict]:
        return (entry.verdict for entry in self.known_on(self.matrix.subject, version))

    def _ran(self) -> Iterator[tuple[Cell, Verdict]]:
        for entry in self.known:
            if entry.runs:
                yield entry.cell, entry.verdict

    def once(self, key: Hashable, derive: Callable[[], T]) -> T:
        """Return what later rooms derive from this snapshot under a key; it is derived only once.

        A snapshot never changes, so neither does what follows from it.
        """
        if key not in self._derived:
            self._derived[key] = derive()
        derived: T = self._derived[key]
        return derived

    @property
    def day(self) -> datetime.date:
        return self.present.day

    def explained(self, entry: Entry, capability: Capability | None = None) -> KnownIssue | None:
        """Return the declared explanation of why the cell, or one capability of it, is not green;
        the first that fits.

        A capability's explanation names the capability; a cell's names the outcome alone, or else
        the capability by which it fell. One that a cell refutes explains nothing. Of a cell on
        which no run counts it is what its newest run came to.
        """
        outcome: Outcome | None = entry.verdict.outcome
        if outcome is None and (newest := entry.history.unanswered) is not None:
            outcome = newest.outcomes[-1]
        subject = outcome.subject if isinstance(outcome, Failed) and outcome.stage == "test" else ""
        names = ("", subject) if capability is None else (capability.id,)
        failed = outcome if capability is None else capability.failed
        about = (issue for issue in self.holding(entry.cell) if issue.capability in names)
        return next((issue for issue in about if explains(issue, failed)), None)

    def holding(self, cell: Cell) -> Iterator[KnownIssue]:
        for number, issue in enumerate(self.matrix.known):
            if number not in self.attribution.refuting and holds(issue, cell):
                yield issue

    def cautions(self, entry: Entry) -> tuple[str, ...]:
        """Return what is declared about outcomes that this cell may still come to: on another
        machine, or, of one that nobody tried, at all.

        An entry without conditions speaks of no cell in particular.
        """
        if entry.obstacle is not None and not entry.is_tested:
            return ()
        is_untried = entry.lock_digest is None and not entry.counted
        about = (issue for issue in self.holding(entry.cell) if not issue.capability)
        return tuple(
            issue.because
            for issue in about
            if is_machine_issue(issue) or (is_untried and issue.when.conditions)
        )


def snapshot(
    ask: Declared,
    catalogue: Catalogue,
    fates: Iterable[Fate] | KnownKeeper,
    locks: Mapping[str, str],
    runs: Mapping[str, Sequence[Ran]],
    present: EvaluationContext,
) -> Snapshot:
    """Return the snapshot of a matrix: the fates of its plan, or where the final entries of what is
    known of it are kept; and by cell id the digests of its locks and its runs.

    A run of a cell whose id the matrix cannot read is left out: its axes have changed.
    """
    judge = runs.verdicts(present).of if isinstance(runs, RunsByCell) else judged_anew

    def made(cell: Cell, obstacle: Obstacle | None, *, planned: bool) -> Entry:
        cell_runs, beside = runs.get(cell.id, ()), (locks.get(cell.id), obstacle)
        return entry_of(cell, cell_runs, present, beside, planned=planned, judge=judge)

    def make(fate: Fate) -> Entry:
        obstacle = fate.obstacle if isinstance(fate, Infeasible) else None
        return made(fate.cell, obstacle, planned=True)

    def unplanned(cell: Cell) -> Entry:
        return made(cell, None, planned=False)

    def lanes_of(known: Snapshot) -> tuple[Entry, ...]:
        is_asked = catalogue.packages and ask.matrix.has_lanes
        every = lane_cells(known.feasibility) if is_asked else ()
        beside = {cell_id for cell_id in (*runs, *locks) if is_in_lane(cell_id)}
        planned = {
            cell.id: make(fate_of(facts_for(known.feasibility, cell), cell)) for cell in every
        }
        cells = (readable_cell(cell_id, ask.matrix) for cell_id in sorted(beside - set(planned)))
        return (*planned.values(), *(unplanned(cell) for cell in cells if cell is not None))

    keeper = fates if isinstance(fates, KnownKeeper) else None
    fates = fates.fates if isinstance(fates, KnownKeeper) else fates
    if isinstance(fates, PlannedFates):
        known_ids, fate_at = KnownIds(fates, locks, runs), fates.fate
        entries: Iterable[Entry] = PlannedEntries(
            known_ids, lambda number, fate: make(fate or fate_at(number)), unplanned, keeper
        )
    else:
        planned = {fate.cell.id: fate for fate in fates}
        cells = (
            readable_cell(cell_id, ask.matrix)
            for cell_id in sorted({*runs, *locks} - planned.keys())
        )
        outside = (unplanned(cell) for cell in cells if cell is not None and not cell.is_in_lane)
        entries = (*map(make, planned.values()), *outside)
    alone = Snapshot(ask, catalogue, entries, present)
    attributed = alone.mapped(lambda entry: _attributed(entry, alone.attribution, present, judge))
    return attributed.with_lanes(lanes_of)


def _attributed(
    entry: Entry, attribution: Attribution, present: EvaluationContext, judge: Judge
) -> Entry:
    if entry.overview is None or not entry.overview.has_failures:
        return entry
    beside = entry.lock_digest, entry.obstacle
    judged = JudgedRuns(entry.cell.id, entry.runs, entry.history, *beside)
    present = attribution.context(entry.cell, present)
    verdict, _ = judge("attributed", judged, present)
    return msgspec.structs.replace(entry, verdict=verdict)
