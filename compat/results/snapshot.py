"""The snapshot of all cells of a matrix on one day, for pages and proposals alike."""

import datetime
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import takewhile
from types import MappingProxyType
from typing import Any, Literal, TypeVar, get_args

from msgspec.structs import asdict, replace
from packaging.version import Version

from compat.declare.load import Declared
from compat.declare.matrix import KnownIssue
from compat.index.release import Catalogue
from compat.plan.cell import Cell, axis_coordinates, checkout_cell, is_variant, readable_cell
from compat.plan.feasible import Feasibility, Obstacle
from compat.plan.plan import CellStatus, Infeasible, cell_status, facts_for, variant_cells
from compat.results.answer import Answer, EvidenceKind, Kind, Reason
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
from compat.value import StrictValue, grouped

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
        entries = [entry for entry in named if not entry.cell.is_variant]
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
    fates: Iterable[CellStatus],
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

    def all_of(fates: Iterable[CellStatus], beside: Iterable[str]) -> Iterator[Answer]:
        ids = set()
        for fate in fates:
            ids.add(fate.cell.id)
            obstacle = fate.obstacle if isinstance(fate, Infeasible) else None
            yield made(fate.cell, obstacle, planned=True)
        cells = (readable_cell(cell_id, ask.matrix) for cell_id in sorted({*beside} - ids))
        yield from (made(cell, planned=False) for cell in cells if cell is not None)

    known_ids = {*runs, *locks}
    lanes = {cell_id for cell_id in known_ids if is_variant(cell_id)}
    alone = Snapshot(ask, catalogue, tuple(all_of(fates, known_ids - lanes)), present)
    facts = alone.feasibility if catalogue.packages and ask.matrix.has_variants else None
    in_variants = () if facts is None else ((facts, cell) for cell in variant_cells(facts))
    own = (cell for cell_id in runs if (cell := checkout_cell(cell_id, ask.matrix)) is not None)
    alone.checkout = tuple(made(cell, planned=False) for cell in own)
    alone.lanes = tuple(all_of((cell_status(facts_for(f, c), c) for f, c in in_variants), lanes))

    def attributed(known: Answer) -> Answer:
        if known.id in judged or known.first is None:
            return known
        # Runs with the same results share one object.
        every = {id(each.run.capabilities): each.run.capabilities for each in known.counted}
        if not any(c.status == "no" for capabilities in every.values() for c in capabilities):
            return known
        return judged_again(known, alone.attribution.context(known.cell, present))

    return alone.mapped(attributed)


# Counts how many cells and combinations of a matrix have an answer.
#
# A combination of versions has a cell for each recipe. It is answered where one of its cells works,
# if only in part, or where each of them has an answer. A lock is half an answer: lockable cells are
# counted separately.

WORKING: tuple[Kind, ...] = ("works", "partial")
# The most informative first.
_RANKED: tuple[EvidenceKind, ...] = ("tested", "smoke", "asked", "inferred", "declared", "none")


class Coverage(StrictValue, frozen=True, kw_only=True):
    """How much of a plan has an answer, and from what: numbers of cells by evidence.

    `lockable` cells, and places with one, have a lock and wait for a run. `place_evidence` counts
    the answered combinations, each by its best evidence.
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
    def count() -> CellCount:
        states: Counter[str] = Counter()
        untried = [(kind, expected, "untried") for _, kind, expected in snapshot.untried]
        ruled_out = snapshot.ruled_out
        for entry in snapshot.known:
            if entry.planned and entry.is_tested:
                # Where a fact rules out a tested cell, the test counts.
                ruled_out -= entry.obstacle is not None
                states["tested"] += 1
            elif entry.planned and entry.obstacle is None:
                of_run = "undecided" if entry.runs else "untried"
                untried.append((entry.kind, entry.expected, of_run))
        for kind, expected, otherwise in untried:
            known = "refused" if kind == "broken" else otherwise
            states[known if expected is None else "expected"] += 1
        return CellCount(ruled_out=ruled_out, **states)

    return snapshot.once("cell-count", count)


class CoverageCount:
    """The answered cells, updated with each answer."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._kinds: dict[str, Kind] = {}
        self._evidence: dict[str, EvidenceKind] = {}
        self._places: dict[str, list[str]] = {}
        self._lockable: set[str] = set()
        for entry in snapshot.entries:
            if entry.planned:
                cell = entry.cell
                self._kinds[cell.id] = entry.likely
                self._evidence[cell.id] = entry.evidence
                self._places.setdefault(cell.place, []).append(cell.id)
                answer = snapshot.plain.get(cell.id)
                if entry.lock_digest is not None or (answer is not None and not answer.refusal):
                    self._lockable.add(cell.id)

    @property
    def coverage(self) -> Coverage:
        kinds, best, lockable_places = self._kinds, Counter[EvidenceKind](), 0
        waiting = {cell for cell in self._lockable if kinds[cell] == "unknown"}
        for place in self._places.values():
            working = [cell for cell in place if kinds[cell] in WORKING]
            if working or all(kinds[cell] != "unknown" for cell in place):
                known = (self._evidence[cell] for cell in working or place)
                best[min(known, key=_RANKED.index)] += 1
            else:
                lockable_places += not waiting.isdisjoint(place)
        return Coverage(
            cells=len(kinds),
            answered=sum(kind != "unknown" for kind in kinds.values()),
            lockable=len(waiting),
            places=len(self._places),
            answered_places=best.total(),
            lockable_places=lockable_places,
            evidence=dict(sorted(Counter(self._evidence.values()).items())),
            place_evidence=dict(sorted(best.items())),
        )

    def lock(self, cells: Iterable[Cell]) -> None:
        self._lockable.update(cell.id for cell in cells if cell.id in self._kinds)

    def answer(self, cells: Iterable[Cell], kind: Kind) -> None:
        if kind != "unknown":
            self._kinds |= {cell.id: kind for cell in cells if cell.id in self._kinds}


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


# Decides which cells to run now, and why. Empty when nothing has changed.

Place = Literal["proposal", "floor", "new-release", "elsewhere"]
# Each list has the most informative first; a changed lock and a changed suite rank equally.
REASONS: tuple[Reason, ...] = get_args(Reason)
PLACES: tuple[Place, ...] = get_args(Place)
_RANK: dict[Reason, int] = {reason: number for number, reason in enumerate(REASONS)} | {
    "suite-changed": 1
}


class Due(StrictValue, frozen=True, kw_only=True):
    """A cell that is worth a run now, why, and its position; `last` is the day of its newest run.

    `smoke-only` marks a cell with only a core run, for which the whole suite follows. `asked` marks
    an unchanged one for which a proposal needs a run on another day. `blocked_by` is the package
    that blocks its answer.
    """

    cell: str
    reason: Reason
    last: datetime.date | None = None
    place: Place = "elsewhere"
    blocked_by: str = ""


class Agenda(StrictValue, frozen=True, kw_only=True):
    """The cells worth a run now, the most informative first, and those that the plan prevents."""

    cells: tuple[Due, ...] = ()
    infeasible: tuple[Infeasible, ...] = ()
    unplanned: tuple[Due, ...] = ()


def agenda(snapshot: Snapshot, proposed: Iterable[str] = ()) -> Agenda:
    """Considers cells with locks or runs, quick ones, and untested ones that are of interest."""
    feasible = dict(_places(snapshot))
    subject = snapshot.matrix.subject_axis
    newest = axis_coordinates(subject, snapshot.catalogue)[-1:] if snapshot.lanes else ()
    untried = (entry for entry in snapshot.lanes if entry.planned and not entry.runs)
    in_variants = (entry.id for entry in untried if entry.cell.on(subject.name) in newest)
    where: dict[str, Place] = dict.fromkeys(in_variants, "new-release")
    where |= feasible | dict.fromkeys(proposed, "proposal")
    every = (*snapshot.known, *snapshot.lanes)
    known = {entry.cell.id: entry for entry in every if entry.runs or entry.lock_digest is not None}

    candidates = dict.fromkeys([*snapshot.matrix.quick, *where, *known])

    due_cells = (
        due_of(cell, known.get(cell), snapshot.day, where.get(cell, "elsewhere"))
        for cell in candidates
    )
    cells: list[Due] = []
    infeasible: list[Infeasible] = []
    unplanned: list[Due] = []
    for due_cell in sorted(filter(None, due_cells), key=due_order):
        if due_cell.cell in feasible:  # its entry has nothing more here
            cells.append(due_cell)
            continue
        entry = snapshot.by_id.get(due_cell.cell)
        if entry is None or not entry.planned:
            unplanned.append(due_cell)
        elif entry.obstacle is not None and entry.lock_digest is None:
            infeasible.append(Infeasible(cell=entry.cell, obstacle=entry.obstacle))
        else:
            cells.append(due_cell)
    return Agenda(cells=tuple(cells), infeasible=tuple(infeasible), unplanned=tuple(unplanned))


def due_order(entry: Due) -> tuple[int, int, str]:
    return PLACES.index(entry.place), _RANK[entry.reason], entry.cell


def due_of(
    cell: str, known: Answer | None, day: datetime.date, place: Place = "elsewhere"
) -> Due | None:
    if known is None or known.newest is None:
        blocked_by = "" if known is None else known.blocked_by
        return Due(cell=cell, reason="never-run", place=place, blocked_by=blocked_by)
    # Proposals need runs on different days, so one of today is enough.
    waits = place == "proposal" and known.newest < day
    reason: Reason | None = known.due or ("asked" if waits else None)
    last, blocked_by = known.newest, known.blocked_by
    return reason and Due(cell=cell, reason=reason, last=last, place=place, blocked_by=blocked_by)


def _places(snapshot: Snapshot) -> Iterator[tuple[str, Place]]:
    """The feasible cells of a new release, then those near a floor; the order counts."""
    catalogue, matrix = snapshot.catalogue, snapshot.matrix
    coordinates = {axis.name: catalogue.coordinates(axis) for axis in matrix.axes}
    subject = matrix.subject
    newest = coordinates[subject][-1] if coordinates[subject] else None
    # The coordinates of each package axis released after the first run of the matrix.
    ran = [entry for entry in snapshot.known if entry.runs]
    began = min((e.first or min(run.started for run in e.runs) for e in ran), default=None)
    arrived: dict[str, set[Version]] = {axis.name: set() for axis in matrix.packages}
    for axis in matrix.packages if began is not None else ():
        for version in coordinates[axis.name]:
            out = catalogue.release_day(axis, version)
            if out is not None and began is not None and out > began:
                arrived[axis.name].add(version)
    wanted = frozenset(arrived[subject] if newest is None else arrived[subject] | {newest})
    open_entries = (e for e in snapshot.having({subject: wanted}) if e.planned)
    feasible = [entry.cell for entry in open_entries if entry.obstacle is None]
    tested = {entry.cell.id for entry in ran}
    for cell in feasible:
        own = {coordinate.axis: coordinate.version for coordinate in cell.coordinates}
        # A new release of the subject as published, or of another with the newest of the subject.
        is_new = any(own[name] in new for name, new in arrived.items())
        is_new = is_new and own[subject] == newest
        if own[subject] in arrived[subject]:
            is_new = cell.recipe != "relaxed"
        if is_new and cell.id not in tested:
            yield cell.id, "new-release"
    # The coordinates at each declared floor and one step beside it: its evidence, and its possible
    # moves.
    floors: dict[str, Sequence[Version]] = {}
    for floor in matrix.floors:
        versions = coordinates[floor.axis]
        number = bisect_left(versions, floor.at)
        floors[floor.axis] = versions[max(0, number - 1) : number + 2]
    for cell in feasible if floors else ():
        is_near = all(cell.on(axis).version in versions for axis, versions in floors.items())
        if is_near and cell.on(subject).version == newest:
            yield cell.id, "floor"
