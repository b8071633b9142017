"""The cells of a checkout in a matrix: their selection, locks and runs, and the comparison with a
release.

The release's cells without a result run first. A failure in a single combination is run again
before it counts as broken.
"""

import contextlib
import datetime
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property

import msgspec
from packaging.version import InvalidVersion, Version

from compat.errors import NothingToDo, UsageError
from compat.files import write
from compat.fleet.batch import Batch, BatchResult, LockResult, Machine, RunOptions
from compat.fleet.choices import MOST_UNASKED, outside, sifted
from compat.index.release import Artifact, Release
from compat.lock.lockfile import Lock, Pin, encode_lock
from compat.lock.mixed import CheckoutLocker, exchanged_subject, moved_besides, shown_release
from compat.lock.recipe import locked_cell
from compat.lock.sources import SourceRelease
from compat.plan.cell import Cell, Recipe, local_cell, parse_cell
from compat.plan.feasible import Feasibility
from compat.plan.plan import (
    Infeasible,
    cell_status,
    checkout_cells,
    facts_for,
    facts_of_checkout,
    released_cell,
    variant_cells,
)
from compat.plan.platform import accepted_tags
from compat.results.answer import Answer
from compat.results.compare import CellDifference, cell_difference
from compat.results.judge import JudgedRun, judge
from compat.results.record import Record
from compat.results.record_files import CHECKOUTS, RecordFiles
from compat.results.runs import Ran
from compat.run.checkout import BuiltCheckout, CheckoutWheel
from compat.site.wording import count
from compat.value import Value
from compat.workspace import Workspace

NEWEST = "newest"


class CheckoutChoice(Value, frozen=True, kw_only=True):
    """The selected cells of a checkout: runnable ones, and others.

    `beyond` counts those that are too many to run by default.
    """

    cells: tuple[Cell, ...]
    infeasible: tuple[Infeasible, ...]
    beyond: int = 0


class CheckoutCells:
    """The cells of a matrix with a checkout in place of the subject's releases; their results."""

    def __init__(
        self, workspace: Workspace, checkout: BuiltCheckout, moment: datetime.datetime, keep: bool
    ) -> None:
        """`moment` is when the checkout counts as released; with `keep`, results are stored."""
        catalogue = workspace.stored_or_fetched
        self.workspace = workspace
        self.checkout = checkout
        self.released = workspace.facts_of(catalogue)
        release = Release(
            version=Version(checkout.version.public),
            artifacts=tuple(
                Artifact(
                    filename=wheel.path.rpartition("/")[2],
                    tags=wheel.tags,
                    requires_python=wheel.published.requires_python,
                    uploaded=moment,
                    sha256=wheel.sha256,
                )
                for wheel in checkout.wheels
            ),
            published=checkout.wheels[0].published,
        )
        self.facts = facts_of_checkout(workspace.matrix, catalogue, release)
        self.records: dict[str, list[Record]] = {}
        # How long each test function took in the last run of a cell, in the order of the run.
        self.seconds: dict[str, dict[str, float]] = {}
        # The package of each module that is not named like it, in the last run of a cell.
        self.owners: dict[str, dict[str, str]] = {}
        self.locks: dict[str, Lock] = {}
        self._keep = keep
        self._folder = workspace.folder / CHECKOUTS / checkout.name
        self._store = RecordFiles(self._folder, workspace.name)

    @property
    def shown(self) -> SourceRelease:
        wheel = self.checkout.wheels[0]
        return shown_release(self._pin(wheel), wheel.published)

    def chosen(self, words: Sequence[str], quick: bool) -> CheckoutChoice:
        """Return the cells that words name; or those of the quick cells, of a plain install of the
        checkout, and of the variants.

        If there are many, the quick ones come first, then the variants, then the newest versions. A
        glob matches cells of variants only where it has a `+`. Raises UsageError for words that
        name no cell, NothingToDo where none can run.
        """
        every = {cell.id: cell for cell in checkout_cells(self.facts)}
        if quick:
            meant = [every[name] for name in self._quick() if name in every]
        elif words:
            meant = [
                cell
                for cell in every.values()
                if any(
                    cell.id == word or fnmatchcase(cell.id, word)
                    for word in words
                    if "+" in word or not cell.is_variant
                )
            ]
        else:
            first = self._quick() if self.workspace.matrix.quick else []
            meant = [c for c in every.values() if c.recipe == "fresh" or c.is_variant]
            versions = {c.id: [place.version for place in c.coordinates] for c in meant}
            meant.sort(key=lambda c: versions[c.id], reverse=True)
            meant.sort(key=lambda c: (c.id not in first, not c.is_variant))
        if words and not meant:
            form = next(iter(every), "")
            hint = f"ids have the form {form}" if form else ""
            raise UsageError.of(f"no cell of the checkout is {words[0]!r}", hint=hint)
        cells, infeasible = sifted(self.facts, meant)
        most = len(cells) if words or quick else MOST_UNASKED
        beyond = max(len(cells) - most, 0)
        return CheckoutChoice(cells=cells[:most], infeasible=infeasible, beyond=beyond)

    def _quick(self) -> list[str]:
        matrix, subject = self.workspace.matrix, self.workspace.matrix.subject
        if not matrix.quick:
            hint = f"'GLOB' names cells, such as '*-{matrix.subject_axis.short}-local'"
            raise NothingToDo.of(f"matrix {matrix.name!r} names no quick cells", hint=hint)
        names: dict[str, None] = {}
        for text in matrix.quick:
            cell = local_cell(parse_cell(text, matrix), subject)
            recipe: Recipe = "fresh" if cell.recipe == "dated" else cell.recipe
            names[msgspec.structs.replace(cell, recipe=recipe).id] = None
        return list(names)

    def against(self, text: str) -> Version:
        """Of `newest`, the newest that is neither yanked nor a pre-release."""
        matrix = self.workspace.matrix
        axis, catalogue = matrix.subject_axis, self.released.catalogue
        versions = catalogue.coordinates(axis)
        if text != NEWEST:
            with contextlib.suppress(InvalidVersion):
                text = str(Version(text))
            known = [version for version in versions if str(version) == text]
            if not known:
                newest = ", ".join(map(str, versions[-5:])) or "none"
                hint = f"'newest', or one that the matrix has, such as {newest}"
                raise UsageError.of(f"{text!r} is no release of the matrix", hint=hint)
            return known[0]
        for version in reversed(versions):
            members = catalogue.members(axis, version)
            if any(not (r.yanked or r.version.is_prerelease) for r in members):
                return version
        raise UsageError.of(f"the index has no release of {axis.package} to compare with")

    def counterpart(self, cell: Cell, against: Version) -> Cell:
        """The lowest versions that the checkout declares are compared with those of the release."""
        matrix = self.workspace.matrix
        beside = released_cell(cell, matrix.subject, against)
        ends = (matrix.subject, matrix.interpreters.name)
        lowest = (known for known in self._lowest if cell.recipe == "lowest")
        alike = (known for known in lowest if all(known.on(a) == beside.on(a) for a in ends))
        return next(alike, beside)

    @cached_property
    def _lowest(self) -> tuple[Cell, ...]:
        return tuple(cell for cell in variant_cells(self.released) if cell.recipe == "lowest")

    def run(
        self,
        pairs: Mapping[str, str],
        machine: Machine,
        options: RunOptions,
        locks: Mapping[str, Lock] | None = None,
    ) -> BatchResult:
        """Each uses the lock of the release's cell with which it is compared, where that fits. An
        empty id means no such cell. `locks` run under names that are no cells.
        """
        known = {cell: self.locks[cell] for cell in pairs if cell in self.locks} | dict(locks or {})

        def keep_lock(cell: str, lock: Lock) -> None:
            self.locks[cell] = lock
            if self._keep:
                write(self._folder / "locks" / f"{cell}.txt", encode_lock(lock))

        def add(record: Record, attempts: Sequence[JudgedRun]) -> None:
            taken = self.seconds[record.cell] = dict[str, float]()
            self.owners[record.cell] = dict(attempts[-1].evidence.owners) if attempts else {}
            for trial in attempts[-1].evidence.tests if attempts else ():
                taken[trial.function] = taken.get(trial.function, 0) + trial.seconds
            self.records.setdefault(record.cell, []).append(record)
            if self._keep:
                self._folder.mkdir(parents=True, exist_ok=True)
                self._store.add(record)

        def locking() -> Callable[[str], LockResult]:
            locker, source = machine.locker(), self.workspace.source
            every = {cell.id: cell for cell in checkout_cells(self.facts)}

            def lock(name: str) -> LockResult:
                cell = every[name]
                facts = facts_for(self.facts, cell)
                fate = cell_status(facts, cell)
                if isinstance(fate, Infeasible):
                    return fate
                pin = self.pin_of(cell)
                released = self.workspace.lock(pairs[name]) if pairs[name] else None
                alike = released and exchanged_subject(released, self.released, facts, cell, pin)
                return alike or locked_cell(
                    facts, cell, CheckoutLocker(locker, pin), source.package
                )

            return lock

        wheels = tuple((wheel.sha256, wheel.path) for wheel in self.checkout.wheels)
        options = msgspec.structs.replace(options, wheels=wheels)
        batch = Batch(self.workspace, machine, options, add, locking, keep_lock)
        return batch.run([*pairs], known)

    def verdict(self, cell: Cell) -> Answer:
        lock, runs = self.locks.get(cell.id), self.records.get(cell.id, ())
        return self._judged(self.facts, cell, runs, None if lock is None else lock.digest)

    def released_verdict(self, cell: Cell) -> Answer:
        runs, locks = self.workspace.runs, self.workspace.lock_digests
        return self._judged(self.released, cell, runs.get(cell.id, ()), locks.get(cell.id))

    def _judged(
        self, facts: Feasibility, cell: Cell, runs: Iterable[Ran], digest: str | None
    ) -> Answer:
        obstacle, context = facts_for(facts, cell).obstacle(cell), self.workspace.context
        return judge(cell, runs, context, lock_digest=digest, obstacle=obstacle)

    def is_due(self, cell: Cell) -> bool:
        known = self.released_verdict(cell)
        return known.kind != "infeasible" and (known.stale or known.evidence != "tested")

    def difference(self, cell: Cell, beside: Cell) -> CellDifference:
        own, released = self.locks.get(cell.id), self.workspace.lock(beside.id)
        subject = self.workspace.matrix.subject_axis.normalised_name
        moved = () if own is None or released is None else moved_besides(released, own, subject)
        verdict = self.verdict(cell)
        because = "" if verdict.obstacle is None else verdict.obstacle.because
        return cell_difference(self.released_verdict(beside), verdict, moved, because)

    def pin_of(self, cell: Cell) -> Pin:
        matrix = self.workspace.matrix
        tags = accepted_tags(cell.on(matrix.interpreters.name).version, matrix.platform)
        fitting = (wheel for wheel in self.checkout.wheels if not tags.isdisjoint(wheel.tags))
        return self._pin(next(fitting, self.checkout.wheels[0]))

    def _pin(self, wheel: CheckoutWheel) -> Pin:
        name = self.workspace.matrix.subject_axis.normalised_name
        return Pin(name=name, version=wheel.version, hashes=(wheel.sha256,))


def refuse_no_cells(choice: CheckoutChoice) -> None:
    if not choice.cells:
        why = outside(choice.infeasible) if choice.infeasible else "the matrix has no such places"
        raise NothingToDo.of(f"no cell of the checkout is left to run; {why}")


class Comparison(Value, frozen=True, kw_only=True):
    """The difference in each combination, the batches that ran, and the count of cached results."""

    differences: tuple[CellDifference, ...]
    batches: tuple[BatchResult, ...]
    kept: int

    @property
    def breaking(self) -> tuple[CellDifference, ...]:
        return tuple(known for known in self.differences if known.difference == "breaks")

    @property
    def has_suite_fault(self) -> bool:
        return any(batch.suite_faults for batch in self.batches)

    @property
    def is_incomplete(self) -> bool:
        """A missing Python does not count, unless all are missing."""
        absent = {cell for batch in self.batches for cell in batch.absent}
        able = [d for d in self.differences if not absent.intersection((d.cell, d.against))]
        return not able or any(known.difference == "unknown" for known in able)


def compared(
    cells: CheckoutCells,
    choice: CheckoutChoice,
    release: Version,
    machines: tuple[Machine, Machine],
    options: RunOptions,
) -> Comparison:
    """A combination in which only the release can be installed counts. Of the two machines the
    first is for the release, the second sees the checkout.
    """
    of_release, of_checkout = machines

    places = [(cell, cells.counterpart(cell, release)) for cell in choice.cells]
    for fate in choice.infeasible:
        beside = cells.counterpart(fate.cell, release)
        if cells.released_verdict(beside).obstacle is None:
            places.append((fate.cell, beside))
    due = [beside.id for _, beside in places if cells.is_due(beside)]
    batches = []
    if due:
        of_release.tell(f"{count(len(due), 'cell')} of the release to run: no fresh results")
        batches.append(of_release.run(due, options))
    cells.workspace.refresh()
    feasible = {cell.id for cell in choice.cells}
    pairs = {cell.id: beside.id for cell, beside in places if cell.id in feasible}
    of_checkout.tell(f"{count(len(pairs), 'cell')} of the checkout to run")
    batches.append(cells.run(pairs, of_checkout, options))
    # Another try finds no other Python, so untried cells are not run again.
    untried = {cell: why for batch in batches for cell, why in batch.untried.items()}
    alone = _alone([cells.difference(cell, beside) for cell, beside in places])
    worth = alone.intersection(cells.locks).difference(untried)
    again = {name: beside for name, beside in pairs.items() if name in worth}
    if again:
        of_checkout.tell(f"{count(len(again), 'cell')} of the checkout to run")
        batches.append(cells.run(again, of_checkout, options))
    differences = []
    for known in (cells.difference(cell, beside) for cell, beside in places):
        why = untried.get(known.cell, untried.get(known.against, ""))
        is_open = known.difference == "unknown" and why
        differences.append(msgspec.structs.replace(known, because=why) if is_open else known)
    fresh = len(places) - len(due)
    return Comparison(differences=tuple(differences), batches=tuple(batches), kept=fresh)


def _alone(differences: Sequence[CellDifference]) -> set[str]:
    """These are cells without an answer, and those that fail as no other does."""
    signs: dict[str, set[str]] = {}
    for known in differences:
        worse = {change.id for change in known.capabilities if change.is_worse}
        breaks = known.difference == "breaks"
        signs[known.cell] = (worse or {known.outcome_after}) if breaks else set()
    counts = Counter(sign for own in signs.values() for sign in own)
    return {
        known.cell
        for known in differences
        if known.after == "unknown" or any(counts[sign] == 1 for sign in signs[known.cell])
    }
