"""The snapshot of all cells of a matrix on one day, for pages and proposals alike."""

import datetime
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import takewhile
from types import MappingProxyType
from typing import Any, TypeVar

from msgspec.structs import replace
from packaging.version import Version

from compat.declare.load import Declared
from compat.declare.matrix import KnownIssue
from compat.index.release import Catalogue
from compat.plan.cell import Cell, checkout_cell, is_in_lane, readable_cell
from compat.plan.feasible import Feasibility, Obstacle
from compat.plan.plan import Fate, Infeasible, facts_for, fate_of, lane_cells
from compat.results.answer import Answer, Kind
from compat.results.installs import Install, declared_installs
from compat.results.judge import (
    Attribution,
    EvaluationContext,
    explains,
    holds,
    is_machine_issue,
    judge,
    judged_again,
)
from compat.results.learnt import PlainAnswer
from compat.results.record import Capability
from compat.results.runs import History, Ran
from compat.run.outcome import Failed, Outcome
from compat.value import grouped

T = TypeVar("T")
# A cell without a lock or a run: its plain answer, and the expected one.
Untried = tuple[str, Kind, Kind | None]


class Snapshot:
    """Every cell once, in the order of the plan, on a day; `lanes` are those of variants."""

    def __init__(
        self,
        ask: Declared,
        catalogue: Catalogue,
        entries: Iterable[Answer],
        present: EvaluationContext,
        before: "Snapshot | None" = None,
    ) -> None:
        """Takes the entries; whatever does not depend on them is copied from `before`."""
        self.ask = ask
        self.matrix = ask.matrix
        self.catalogue = catalogue
        self.present = present
        self._entries = entries
        self._before = before
        self._derived: dict[Hashable, Any] = {}
        self._installs: Callable[[], Iterable[Install]] = lambda: declared_installs(
            self.feasibility
        )

    @cached_property
    def entries(self) -> tuple[Answer, ...]:
        return tuple(self._entries)

    @cached_property
    def lanes(self) -> tuple[Answer, ...]:
        return () if self._before is None else self._before.lanes

    @cached_property
    def checkout(self) -> tuple[Answer, ...]:
        """The cells of the checkout that ran last: like variants, no other answer uses them."""
        return () if self._before is None else self._before.checkout

    @cached_property
    def plain(self) -> Mapping[str, PlainAnswer]:
        return {} if self._before is None else self._before.plain

    def with_installs(self, installs: Callable[[], Iterable[Install]]) -> "Snapshot":
        self._installs = installs
        return self

    @cached_property
    def own_installs(self) -> tuple[Install, ...]:
        return tuple(takewhile(lambda install: not install.platform, self._installs()))

    @cached_property
    def platform_installs(self) -> tuple[Install, ...]:
        return tuple(install for install in self._installs() if install.platform)

    @cached_property
    def by_id(self) -> Mapping[str, Answer]:
        beside = {entry.cell.id: entry for entry in (*self.lanes, *self.checkout)}
        return beside | {entry.cell.id: entry for entry in self.entries}

    @cached_property
    def known(self) -> tuple[Answer, ...]:
        return tuple(entry for entry in self.entries if entry.is_known)

    @cached_property
    def unanswered(self) -> tuple[Answer, ...]:
        return tuple(e for e in self.entries if e.planned and e.likely == "unknown")

    def limited_to(self, cells: Iterable[str]) -> "Snapshot":
        named = [entry for cell in cells if (entry := self.by_id.get(cell)) and entry.planned]
        entries = [entry for entry in named if not entry.cell.is_in_lane]
        entries += [entry for entry in self.known if not entry.planned]
        return self._after(entries)

    def mapped(self, change: Callable[[Answer], Answer]) -> "Snapshot":
        return self._after(tuple(map(change, self.entries)))

    def kept(self, kind: str, form: type[T], make: Callable[[], T]) -> T:
        """Return what `make` returns, of that type, which must depend only on the known entries and
        their locks: a snapshot in a table caches it there under that name.
        """
        return make()

    def _after(self, entries: Iterable[Answer]) -> "Snapshot":
        return Snapshot(self.ask, self.catalogue, entries, self.present, self)

    @cached_property
    def untried(self) -> tuple[Untried, ...]:
        return tuple(
            (e.cell.id, e.kind, e.expected)
            for e in self.entries
            if e.planned and e.obstacle is None and not e.is_known
        )

    @cached_property
    def ruled_out(self) -> int:
        return sum(entry.planned and entry.obstacle is not None for entry in self.entries)

    def having(self, versions: Mapping[str, Collection[Version]]) -> Iterator[Answer]:
        asked = versions.items()
        return (e for e in self.entries if all(e.cell.on(a).version in of for a, of in asked))

    @cached_property
    def feasibility(self) -> Feasibility:
        if self._before is not None:
            return self._before.feasibility
        return Feasibility(self.matrix, self.catalogue)

    @cached_property
    def attribution(self) -> Attribution:
        if self._before is not None:
            return self._before.attribution
        ran = (known for known in self.known if known.runs)
        return Attribution(self.matrix, ran, partial(self.known_on, self.matrix.subject))

    def known_on(self, axis: str, version: Version) -> Iterator[Answer]:
        def by_version() -> dict[Version, list[Answer]]:
            return grouped((entry.cell.on(axis).version, entry) for entry in self.known)

        return iter(self.once(("known", axis), by_version).get(version, ()))

    def once(self, key: Hashable, derive: Callable[[], T]) -> T:
        """What later rooms derive under a key, computed once: a snapshot never changes."""
        if key not in self._derived:
            self._derived[key] = derive()
        derived: T = self._derived[key]
        return derived

    @property
    def day(self) -> datetime.date:
        return self.present.day

    def explained(self, entry: Answer, capability: Capability | None = None) -> KnownIssue | None:
        """Return the first declared explanation of why the cell, or a capability, is not green.

        That of a cell names its outcome alone, or the capability by which it failed; without a
        counting run the newest run's. A refuted one explains nothing.
        """
        outcome: Outcome | None = entry.outcome
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

    def cautions(self, entry: Answer) -> tuple[str, ...]:
        """They may occur on another machine, or at all for an untested cell."""
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
    fates: Iterable[Fate],
    locks: Mapping[str, str],
    runs: Mapping[str, Sequence[Ran]],
    present: EvaluationContext,
    judged: Mapping[str, Answer] = MappingProxyType({}),
) -> Snapshot:
    """By cell id: the digests of locks, the runs, and the still valid entries with counting runs. A
    run of a cell whose id the matrix cannot parse is omitted: its axes have changed.
    """

    def made(cell: Cell, obstacle: Obstacle | None = None, *, planned: bool) -> Answer:
        history = History(runs.get(cell.id, ()), present.day)
        if (before := judged.get(cell.id)) is not None:
            return replace(before, cell=cell, history=history, refusal=None)
        lock = locks.get(cell.id)
        return judge(cell, history, present, lock_digest=lock, obstacle=obstacle, planned=planned)

    def all_of(fates: Iterable[Fate], beside: Iterable[str]) -> Iterator[Answer]:
        ids = set()
        for fate in fates:
            ids.add(fate.cell.id)
            obstacle = fate.obstacle if isinstance(fate, Infeasible) else None
            yield made(fate.cell, obstacle, planned=True)
        cells = (readable_cell(cell_id, ask.matrix) for cell_id in sorted({*beside} - ids))
        yield from (made(cell, planned=False) for cell in cells if cell is not None)

    known_ids = {*runs, *locks}
    lanes = {cell_id for cell_id in known_ids if is_in_lane(cell_id)}
    alone = Snapshot(ask, catalogue, tuple(all_of(fates, known_ids - lanes)), present)
    facts = alone.feasibility if catalogue.packages and ask.matrix.has_lanes else None
    in_lanes = () if facts is None else ((facts, cell) for cell in lane_cells(facts))
    own = (cell for cell_id in runs if (cell := checkout_cell(cell_id, ask.matrix)) is not None)
    alone.checkout = tuple(made(cell, planned=False) for cell in own)
    alone.lanes = tuple(all_of((fate_of(facts_for(f, c), c) for f, c in in_lanes), lanes))

    def attributed(known: Answer) -> Answer:
        if known.id in judged or known.first is None:
            return known
        # Runs with the same results share one object.
        every = {id(each.run.capabilities): each.run.capabilities for each in known.counted}
        if not any(c.status == "no" for capabilities in every.values() for c in capabilities):
            return known
        return judged_again(known, alone.attribution.context(known.cell, present))

    return alone.mapped(attributed)
