"""Infers the answers of cells without runs: from resolvers, clauses, locks, and tested neighbours
that agree.

The last is an expectation and no proof. Such a cell stays `unknown`, ranks behind every tested one,
and moves nothing.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType

import msgspec
from packaging.version import Version

from compat.errors import DeclarationError
from compat.lock.lockfile import Lock
from compat.plan.cell import Cell, axis_coordinates, readable_cell
from compat.plan.feasible import Feasibility
from compat.results.answer import Answer, KnownFailure, lifted
from compat.results.judge import holds, judged_again
from compat.results.learnt import (
    LOCKED,
    Clause,
    ClauseBook,
    Disproof,
    FileClause,
    PlainAnswer,
    StoredClauses,
)
from compat.results.record import third_package
from compat.results.snapshot import Snapshot
from compat.run.outcome import PLACED, STAGES, Failed, brief, is_lasting, is_spurious

_NOTHING = StoredClauses()


def with_answers(
    known: Snapshot, answers: Mapping[str, PlainAnswer], clauses: StoredClauses = _NOTHING
) -> Snapshot:
    """Infer from clauses that were known then and stand since, or from neighbours that agree."""
    on_day = {cell: answer for cell, answer in answers.items() if answer.on <= known.day}
    before = clauses.until(known.day)
    if not on_day and before == _NOTHING:
        return with_expectations(known)

    standing: Consequences | None = None
    if before != _NOTHING:
        standing = Consequences(known.feasibility, before)
        standing = standing.without(tuple(_disproofs(known, on_day, standing)))

    def answered(entry: Answer) -> Answer:
        # The resolver's answer, else an inference. A failure that concerns only our builds does not
        # count; a missing wheel is no answer either, but it names the package.
        answer = on_day.get(entry.id)
        refusal: KnownFailure | None = None
        asked = None if answer is None else answer.refusal
        if (
            answer is not None
            and asked is not None
            and (not is_spurious(asked) or (is_lasting(asked) and is_open(entry)))
        ):
            because, on, witness = answer.because, answer.on, answer.cell
            refusal = KnownFailure(
                outcome=asked, because=because, on=on, ground="asked", witness=witness
            )
        elif standing is not None and _is_open(entry):
            refusal = standing.of(entry.cell)
        if refusal is None:
            return entry
        # Fault is only attributed where something ran.
        context = known.attribution.context
        present = context(entry.cell, known.present) if entry.runs else known.present
        return judged_again(entry, present, refusal)

    after = known.mapped(answered)
    after.plain = on_day
    return with_expectations(after)


def with_locks(
    known: Snapshot,
    lock_of: Callable[[str], Lock | None],
    before: Mapping[str, Answer] = MappingProxyType({}),
) -> Snapshot:
    """The lock of a cell in `before` is not read again; an unreadable one is ignored."""
    packages = [axis.normalised_name for axis in known.matrix.axes]
    current = {id(e.capabilities): e.capabilities for e in known.known if e.asks_as_today}
    todays = frozenset(c.id for capabilities in current.values() for c in capabilities)

    def marked(entry: Answer) -> Answer:
        if entry.lock_digest is None:
            return entry
        same, changed = before.get(entry.id), None
        if same is not None:
            locked, changed = same.locked, same.lifted
        else:
            locked = ()
            with suppress(DeclarationError):
                is_asked = entry.cell.recipe == "relaxed" and (entry.planned or entry.is_proof)
                lock = lock_of(entry.id)
                if lock is not None and is_asked and lock.inputs.injected_pin is not None:
                    changed = lifted(known.feasibility, entry.cell, lock)
                pins = lock.versions if lock else {}
                locked = tuple(str(pins.get(package, "")) for package in packages)
        untried: tuple[str, ...] = ()
        if entry.is_proof and (entry.evidence == "smoke" or not entry.is_of_today):
            untried = tuple(sorted(todays.difference(c.id for c in entry.capabilities)))
        # Only the release's own requirements; those of other packages on an axis are not included.
        outside = sum(
            len({"Python", *packages}.intersection(each.packages))
            for each in changed or ()
            if each.published
        )
        return msgspec.structs.replace(
            entry, locked=locked, lifted=changed, outside=outside, untried=untried
        )

    return known.mapped(marked)


class Consequences:
    """Applies clauses to many cells; each fact is computed once."""

    def __init__(self, facts: Feasibility, clauses: StoredClauses) -> None:
        self.clauses = clauses
        from compat.lock.demands import Demands

        self._facts = facts
        self._book = ClauseBook(clauses.conflicts)
        self._demands = Demands(facts)
        self._interpreters = facts.matrix.interpreters.name

    def without(self, disproofs: tuple[Disproof, ...]) -> "Consequences":
        return Consequences(self._facts, self.clauses.without(disproofs)) if disproofs else self

    def of(self, cell: Cell) -> KnownFailure | None:
        clauses = self._book.answer(self._sets(cell), self._python(cell))
        refusal = None
        if clauses:
            first = clauses[0]
            refusal = KnownFailure(
                outcome=first.failed,
                because=first.because,
                on=first.on,
                ground="clause",
                witness=first.cell,
                facts=first.facts,
            )
        axes = (a.normalised_name for a in self._facts.matrix.packages if cell.recipe == "relaxed")
        # A failing file is stronger evidence than a missing build or a package that may move.
        if refusal and not (
            is_spurious(refusal.outcome) or third_package(refusal.involved, frozenset(axes))
        ):
            return refusal
        return next(
            (
                KnownFailure(
                    outcome=f.failed,
                    because=f"it works in {f.works}",
                    on=f.on,
                    ground="file",
                    witness=f.cell,
                    facts=(f.path,),
                )
                for f in self.clauses.files
                if self._holds(f, cell)
            ),
            refusal,
        )

    def contained(self, cell: Cell) -> tuple[tuple[Clause, ...], tuple[FileClause, ...]]:
        conflicts = self._book.contained(self._sets(cell), self._python(cell))
        return tuple(conflicts), tuple(f for f in self.clauses.files if self._holds(f, cell))

    def _sets(self, cell: Cell) -> tuple[frozenset[str], ...]:
        return self._demands.of(cell) if self._book.clauses else ()

    def _python(self, cell: Cell) -> str:
        return str(cell.on(self._interpreters).version)

    def _holds(self, file: FileClause, cell: Cell) -> bool:
        if self._python(cell) not in file.pythons:
            return False
        usable = self._facts.usable(cell, self._facts.matrix.subject_axis)
        return bool(usable) and all(str(release.version) in file.releases for release in usable)


def disproved(
    known: Snapshot, clauses: StoredClauses
) -> tuple[tuple[Disproof, ...], tuple[str, ...]]:
    """Return which clauses locks and runs disprove, and the cells that no other clause answers."""
    before = Consequences(known.feasibility, clauses.until(known.day))
    disproofs = tuple(_disproofs(known, known.plain, before))
    every = Consequences(known.feasibility, clauses)
    standing = every.without(disproofs)
    fell = (
        entry.cell.id
        for entry in (known.entries if disproofs else ())
        if entry.evidence == "none"
        and _is_open(entry)
        and every.of(entry.cell) is not None
        and standing.of(entry.cell) is None
    )
    return disproofs, tuple(sorted(fell))


def _is_open(entry: Answer) -> bool:
    return entry.planned and entry.obstacle is None and not entry.is_tested


def _disproofs(
    known: Snapshot, answers: Mapping[str, PlainAnswer], consequences: Consequences
) -> Iterator[Disproof]:
    disproved: set[Clause | FileClause] = set()
    locked = sorted(cell for cell, answer in answers.items() if answer.outcome == LOCKED)
    beside = (entry for cell in locked if (entry := known.by_id.get(cell)) is not None)
    planned = {e.cell.id: e for e in (*known.known, *beside) if e.planned}
    for cell, entry in planned.items():
        conflicts, files = consequences.contained(entry.cell)
        clauses: tuple[Clause | FileClause, ...] = (*conflicts, *files)
        # The day of each run, and where it failed: one stage more than the last if it passed.
        reached = [
            (
                each.run.started.date(),
                max(
                    STAGES.index(o.stage) if isinstance(o, Failed) else len(STAGES)
                    for o in each.outcomes
                ),
            )
            for each in (entry.counted if clauses else ())
            if each.run.lock_digest
        ]
        answer = answers.get(cell)
        if answer is not None and answer.outcome == LOCKED:
            reached.append((answer.on, STAGES.index("install")))
        for day, stage in reached:
            for clause in sorted(clauses, key=str):
                is_later = clause.on <= day and stage > STAGES.index(
                    "lock" if isinstance(clause, Clause) else "import"
                )
                if is_later and clause not in disproved:
                    disproved.add(clause)
                    yield Disproof(clause=clause, cell=cell, on=day)


# A tested cell's evidence for others: its kind, and the cause, the failing capabilities, or those
# that a working one lacks; empty where it has none.
Signature = tuple[str, ...]
# The ids of two tested neighbours in reading order, and the axis on which they are adjacent.
_Ends = tuple[str, str, str]
# A line by its axis, and the text before and after the version in the ids of its cells.
_Line = tuple[str, str, str]
_MOST_NAMED = 4


def with_expectations(known: Snapshot) -> Snapshot:
    if not known.catalogue.packages:  # without one none is planned, and no axis has coordinates
        return known
    by_id = known.by_id

    def tested(cell_id: str) -> Signature | None:
        entry = by_id.get(cell_id)
        return None if entry is None else tested_signature(entry)

    def blocked(cell_id: str) -> Signature | None:
        entry = by_id.get(cell_id)
        if entry is not None and entry.planned and entry.counted and entry.blocked_by:
            return "unknown", entry.blocked_by
        return tested(cell_id)

    def is_even(cell_id: str) -> bool:
        return cell_id in by_id and is_silent(by_id[cell_id])

    lines, of_blocked = (Lines(known, each, is_even) for each in (tested, blocked))

    def awaited(entry: Answer) -> Answer:
        if not is_open(entry):
            return entry
        # Only where no answer follows: a blocked cell does not divide a line.
        ends = list(lines.around(entry.cell)) or list(of_blocked.around(entry.cell))
        expected = [_expected(entry, by_id[low], by_id[high], axis) for low, high, axis in ends]
        agreed = {(each.expected, each.blocked_by) for each in expected}
        return expected[0] if len(agreed) == 1 else entry

    return known.mapped(awaited)


class Lines:
    """Cells that differ on one axis alone, in its order; stretches between tested ones."""

    def __init__(
        self,
        known: Snapshot,
        tested: Callable[[str], Signature | None],
        is_even: Callable[[str], bool],
    ) -> None:
        self._known = known
        self._tested = tested
        self._is_even = is_even
        self._axes = {
            axis.name: [coordinate.text for coordinate in axis_coordinates(axis, known.catalogue)]
            for axis in known.matrix.axes
        }
        self._between: dict[_Line, dict[str, _Ends]] = {}

    def through(self, cell: Cell) -> Iterator[list[str]]:
        return map(self._cells, self._lines(cell))

    def around(self, cell: Cell) -> Iterator[_Ends]:
        for line in self._lines(cell):
            if line not in self._between:
                cells, self._between[line] = self._cells(line), {}
                signatures = ((n, self._tested(each)) for n, each in enumerate(cells))
                tested = [(n, signature) for n, signature in signatures if signature is not None]
                for (first, low), (last, high) in pairwise(tested):
                    between = cells[first + 1 : last]
                    # A cell in between with another answer of its own: the line is uneven.
                    if between and agreement(low, high) and all(map(self._is_even, between)):
                        pair = cells[first], cells[last], line[0]
                        self._between[line] |= dict.fromkeys(between, pair)
            ends = self._between[line].get(cell.id)
            if ends is None or self._is_known_to_fail(cell, ends):
                continue
            # What one end lacks came or went between them: only the release itself can answer.
            release = cell.on(self._known.matrix.subject).version
            if differing(*map(self._tested, ends[:2])) <= self._ran.get(release, set()):
                yield ends

    @cached_property
    def _ran(self) -> dict[Version, set[str]]:
        """The capabilities that tested cells of each release have, or lack."""
        ran: dict[Version, set[str]] = defaultdict(set)
        for entry in self._known.known:
            if tested_signature(entry) is not None:
                tried = (c.id for c in entry.capabilities if c.status != "no")
                ran[entry.cell.on(self._known.matrix.subject).version].update(tried)
        return ran

    def _is_known_to_fail(self, cell: Cell, ends: _Ends) -> bool:
        """Where the declaration includes both ends, they work in spite of it."""
        kind = (self._tested(ends[0]) or ("broken",))[0]
        cells = [readable_cell(end, self._known.matrix) for end in ends[:2]]
        about = (
            issue
            for issue in self._known.holding(cell)
            # A cell that works in part may lack one capability more.
            if issue.fault == "combination" and (kind == "works" or not issue.capability)
        )
        return kind != "broken" and any(
            not all(end is not None and holds(issue, end) for end in cells) for issue in about
        )

    def forget(self, cell: Cell) -> None:
        for line in self._lines(cell):
            self._between.pop(line, None)

    def _lines(self, cell: Cell) -> Iterator[_Line]:
        own = [coordinate.text for coordinate in cell.coordinates]
        recipe = cell.id.removeprefix(cell.place)
        for number, axis in enumerate(self._axes):
            before = "".join(f"{text}-" for text in own[:number])
            after = "".join(f"-{text}" for text in own[number + 1 :]) + recipe
            yield axis, before, after

    def _cells(self, line: _Line) -> list[str]:
        axis, before, after = line
        return [f"{before}{text}{after}" for text in self._axes[axis]]


def tested_signature(entry: Answer) -> Signature | None:
    is_tested = entry.planned and entry.evidence == "tested"
    return signature_of(entry) if is_tested else None


def signature_of(verdict: Answer) -> Signature:
    match verdict.kind:
        case "works":
            return "works", *sorted(c.id for c in verdict.capabilities if c.status == "absent")
        case "partial":
            return "partial", *verdict.failing("combination", "unexplained")
        case "broken":
            outcome = verdict.outcome
            # Lines move between releases, and so does the first of many files that a Python cannot
            # run.
            if isinstance(outcome, Failed) and outcome.cause in PLACED:
                package = outcome.subject.partition("/")[0]
                outcome = Failed(stage=outcome.stage, cause=outcome.cause, subject=package)
            elif outcome is not None:
                outcome = brief(outcome)
            return "broken", str(outcome or "")
    return ()


def agreement(low: Signature, high: Signature) -> Signature:
    """What both have in common; a capability that differs is left open, and changes no other."""
    shared = tuple(each for each in low if each in high)
    if low == high or shared[:1] == ("works",) or (shared[:1] == ("partial",) and shared[1:]):
        return shared
    return ()


def differing(low: Signature | None, high: Signature | None) -> set[str]:
    """The capabilities that only one of two working neighbours has."""
    return {*low[1:]} ^ {*high[1:]} if low and high and low[0] == "works" else set()


def is_open(entry: Answer) -> bool:
    return is_silent(entry) and entry.refusal is None and not entry.runs


def is_silent(entry: Answer) -> bool:
    """Whether a planned cell is no evidence for its line: nothing about its versions is known."""
    return entry.planned and entry.evidence == "none" and entry.obstacle is None


def _expected(entry: Answer, low: Answer, high: Answer, axis: str) -> Answer:
    kind, outcome, other = low.kind, low.outcome, high.outcome
    ends = f"{low.cell.id} and {high.cell.id}"
    same = f"both gave {outcome}" if outcome == other else f"gave {outcome} and {other}"
    if kind == "works":
        same = "both work"
        if ids := sorted(differing(signature_of(low), signature_of(high))):
            same += f", and {_some(ids)}, which one of them lacks, ran in this release"
    elif kind == "partial":
        lower, upper = signature_of(low), signature_of(high)
        same = "both work in part"
        if shared := agreement(lower, upper)[1:]:
            same += f": {_some(shared)} {'fails' if len(shared) == 1 else 'fail'} in both"
        if open_ids := sorted({*lower[1:]} ^ {*upper[1:]}):
            same += f", and {_some(open_ids)} in one of them alone, which stays open"
    reason = f"inferred: of the versions of {axis} around it, {ends} {same}; no result disagrees"
    if blocker := low.blocked_by:  # no answer about the cell's versions
        reasons = (f"blocked by {blocker}: {reason}",)
        return msgspec.structs.replace(entry, blocked_by=blocker, reasons=reasons)
    return msgspec.structs.replace(
        entry,
        evidence="inferred",
        expected=kind,
        stale=low.stale or high.stale,
        reasons=(reason,),
    )


def _some(ids: Sequence[str]) -> str:
    rest = len(ids) - _MOST_NAMED
    return ", ".join(ids[:_MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")
