"""The `results` room's whole: what is known of every cell of a matrix on one day, for pages and
proposals alike.
"""

import datetime
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from compat.declare.load import Declared
from compat.declare.matrix import KnownIssue
from compat.errors import UsageError
from compat.index.release import Catalogue
from compat.plan.cell import Cell, parse_cell
from compat.plan.feasible import Feasibility
from compat.plan.obstacle import Obstacle
from compat.plan.plan import Fate, Infeasible
from compat.results.attribution import Attribution, holds
from compat.results.plain_answers import KnownRefusal, PlainAnswer
from compat.results.record import Capability, Ran
from compat.results.verdict import Counted, EvaluationContext, History, Verdict, verdict_of
from compat.run.outcome import Failed, brief
from compat.value import StrictValue

T = TypeVar("T")


class Entry(StrictValue, frozen=True, kw_only=True):
    """A cell, what is known of it, and from which runs, oldest first.

    `lock_digest` is None when it has no lock now.

    `history` is what they come to on the snapshot's day. `refusal` is what a resolver says against
    a fresh cell. `planned` is false for a cell that has
    records but no longer stands in the plan.
    """

    cell: Cell
    verdict: Verdict
    obstacle: Obstacle | None = None
    lock_digest: str | None = None
    runs: tuple[Ran, ...] = ()
    history: History = History()
    refusal: KnownRefusal | None = None
    planned: bool = True

    @property
    def counted(self) -> tuple[Counted, ...]:
        """Those of its runs that count on the snapshot's day, oldest first."""
        return self.history.counted

    @property
    def is_tested(self) -> bool:
        """Whether a run says something about it, of the whole suite or of its core."""
        return self.verdict.evidence in ("tested", "smoke")


class Snapshot:
    """Every cell of a matrix, once, in the order of the plan, with its verdict on the day of
    `present`.
    """

    def __init__(
        self,
        ask: Declared,
        catalogue: Catalogue,
        entries: Iterable[Entry],
        present: EvaluationContext,
        plain: Mapping[str, PlainAnswer] | None = None,
    ) -> None:
        """Take what was declared, what existed, and what is known; `snapshot` makes one from a plan
        and records. `plain` is what resolvers said of plain installs, by cell; see `with_answers`.
        """
        self.ask = ask
        self.matrix = ask.matrix
        self.catalogue = catalogue
        self.present = present
        self.plain = dict(plain or {})
        self.entries = tuple(entries)
        self._derived: dict[Hashable, Any] = {}

    @cached_property
    def by_id(self) -> dict[str, Entry]:
        """Each entry by the id of its cell."""
        return {entry.cell.id: entry for entry in self.entries}

    @cached_property
    def known(self) -> tuple[Entry, ...]:
        """The entries that have a lock or a run, in the order of the plan."""
        return tuple(entry for entry in self.entries if entry.runs or entry.lock_digest is not None)

    @cached_property
    def feasibility(self) -> Feasibility:
        """What catalogue and rules say about cells: published requirements, obstacles."""
        return Feasibility(self.matrix, self.catalogue)

    @cached_property
    def attribution(self) -> Attribution:
        """Whose fault it is that capabilities fail, by all cells of each release."""
        return Attribution(
            self.matrix, ((entry.cell, entry.verdict) for entry in self.entries if entry.runs)
        )

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
        """The day that the verdicts hold for."""
        return self.present.day

    def explained(self, entry: Entry, capability: Capability | None = None) -> KnownIssue | None:
        """Return the declared explanation of why the cell, or one capability of it, is not green;
        the first that fits.

        A capability's explanation names the capability; a cell's names the start of the outcome, or
        else the capability by which it fell. One that a cell refutes explains nothing.
        """
        outcome = entry.verdict.outcome
        subject = outcome.subject if isinstance(outcome, Failed) and outcome.stage == "test" else ""
        # An entry may name an outcome to its closing bracket: as a whole, or as it was before
        # things and places stood beside the subject.
        texts = [str(outcome)] if outcome is None else [str(outcome), str(brief(outcome))]
        for number, issue in enumerate(self.matrix.known):
            if number in self.attribution.refuting:
                continue
            named = issue.capability == (subject if capability is None else capability.id)
            begins = capability is None and any(text.startswith(issue.outcome) for text in texts)
            if holds(issue, entry.cell) and (named if issue.capability else begins):
                return issue
        return None


def snapshot(
    ask: Declared,
    catalogue: Catalogue,
    fates: Iterable[Fate],
    locks: Mapping[str, str],
    runs: Mapping[str, Sequence[Ran]],
    present: EvaluationContext,
) -> Snapshot:
    """Return the snapshot of a matrix: the fates of its plan, and by cell id the digests of its
    locks and its runs.

    A run of a cell whose id the matrix cannot read is left out: its axes have changed.
    """
    planned = {fate.cell.id: fate for fate in fates}
    entries = [
        entry_of(
            fate.cell,
            runs.get(fate.cell.id, ()),
            present,
            lock_digest=locks.get(fate.cell.id),
            obstacle=fate.obstacle if isinstance(fate, Infeasible) else None,
        )
        for fate in planned.values()
    ]
    for cell_id in sorted({*runs, *locks} - planned.keys()):
        try:
            cell = parse_cell(cell_id, ask.matrix)
        except UsageError:
            continue
        cell_runs, lock_digest = runs.get(cell_id, ()), locks.get(cell_id)
        entries.append(entry_of(cell, cell_runs, present, lock_digest=lock_digest, planned=False))
    alone = Snapshot(ask, catalogue, entries, present)
    attributed = (_attributed(entry, alone.attribution, present) for entry in alone.entries)
    return Snapshot(ask, catalogue, attributed, present)


def _attributed(entry: Entry, attribution: Attribution, present: EvaluationContext) -> Entry:
    """The entry with its verdict beside the other cells of its release."""
    statuses = {c.status for counted in entry.counted for c in counted.run.capabilities}
    if "no" not in statuses:
        return entry
    beside = attribution.context(entry.cell, present)
    judged = verdict_of(entry.cell.id, entry.history, beside, entry.lock_digest, entry.obstacle)
    return msgspec.structs.replace(entry, verdict=judged)


def entry_of(
    cell: Cell,
    runs: Sequence[Ran],
    present: EvaluationContext,
    *,
    lock_digest: str | None = None,
    obstacle: Obstacle | None = None,
    planned: bool = True,
) -> Entry:
    """Return the entry of one cell, with its verdict by its own runs alone.

    In a whole snapshot the other cells of its release say whose fault a failure is. `runs` are
    those of the cell.
    """
    history = History.of(runs, present.day)
    return Entry(
        cell=cell,
        verdict=verdict_of(cell.id, history, present, lock_digest, obstacle),
        obstacle=obstacle,
        lock_digest=lock_digest,
        runs=tuple(runs),
        history=history,
        planned=planned,
    )
