"""One matrix on disk: its declarations, catalogue, locks and records, and the snapshot they make.

The clock, the environment and the cache folder are given to it.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.capabilities import Described, described, helper_ids
from compat.declare.load import Declared, load
from compat.declare.matrix import Matrix, Tier
from compat.declare.project import PYPROJECT, with_groups
from compat.errors import Fault, UsageError
from compat.files import code_of, read, read_if_present, write
from compat.index.discover import catalogue_notes, catalogue_with_axes, discover
from compat.index.release import Catalogue
from compat.index.settings import IndexOptions
from compat.lock.lockfile import Lock, LockDigests, encode_lock, stored_lock
from compat.plan.cell import RECIPES, readable_cell, unread_cell
from compat.plan.feasible import Feasibility
from compat.plan.plan import plan
from compat.results.answer import Answer
from compat.results.answers import AnswerTable, Before, Sources, StoredSnapshot
from compat.results.infer import with_answers, with_locks
from compat.results.installs import PlatformFiles
from compat.results.judge import EvaluationContext, judge
from compat.results.learnt import ResolverFiles
from compat.results.record import Record
from compat.results.record_files import RecordFiles
from compat.results.runs import CellRuns, Durations, durations_by_tier
from compat.results.snapshot import Snapshot, snapshot
from compat.run.suitefiles import placed_suite, python_texts, suite_contents, suite_digest
from compat.value import encode

if TYPE_CHECKING:
    from compat.index.pypi import PyPISource
    from compat.index.settings import IndexSettings

CATALOGUE = "catalogue.json"
ANSWERS = "answers"  # the folder of the tables of answers in the cache
# From the code of these rooms follows what is derived of a matrix with a catalogue.
DERIVING_ROOMS = ("declare", "index", "plan", "lock", "run", "results", "advise")


class Workspace:
    """Everything that is known of one matrix; each part is read when it is first needed."""

    def __init__(
        self,
        folder: Path,
        date: datetime.date,
        cache: Callable[[], Path],
        *,
        day: datetime.date | None = None,
        index: IndexOptions | None = None,
        notify: Callable[[str], None] = lambda line: None,
    ) -> None:
        """Take the matrix's folder, the date of today, and where the cache folder is: not every
        user has one. Verdicts hold for `day`, by default today. `notify` gets one line for what a
        reader should know of the index's answers.
        """
        self.folder = folder
        self.day = day or date
        self._date = date
        self.store = RecordFiles(folder)
        self.platforms = PlatformFiles(folder)
        self.cache = cache
        self._options = index or IndexOptions()
        self._notify = notify
        self._facts: dict[int, Feasibility] = {}
        self._newer_tests: dict[Version, tuple[str, ...]] = {}

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def matrix(self) -> Matrix:
        return self.declared.matrix

    @cached_property
    def declared(self) -> Declared:
        policy = read_if_present(self.folder / "policy.toml")
        declared = load(self._matrix_text, policy, folder=self.name, today=self._date)
        matrix = with_groups(declared.matrix, self._project, f"matrices/{self.name}/matrix.toml")
        return msgspec.structs.replace(declared, matrix=matrix)

    @cached_property
    def _project(self) -> bytes | None:
        return read_if_present(self.folder.parents[1] / PYPROJECT)

    @cached_property
    def _matrix_text(self) -> bytes:
        return read(self.matrix_path)

    @property
    def matrix_path(self) -> Path:
        return self.folder / "matrix.toml"

    @cached_property
    def suite_folder(self) -> Path:
        return placed_suite(self.folder, self.matrix, self.cache)

    def newer_tests(self, lock: Lock) -> tuple[str, ...]:
        """Its own tests that are newer than the release in a lock, as far as git knows."""
        own = self.matrix.subject_axis.normalised_name
        release = next((pin.version for pin in lock.pins if pin.name == own), None)
        if release is None or not self.matrix.suite.tests:
            return ()
        if release not in self._newer_tests:
            from compat.run.checkout import newer_tests

            contents = suite_contents(self.suite_folder)
            package, repository = self.matrix.subject_axis.package, self.folder.parents[1]
            self._newer_tests[release] = newer_tests(repository, package, release, contents)
        return self._newer_tests[release]

    @cached_property
    def suite_texts(self) -> dict[str, str]:
        return python_texts(self.suite_folder)

    @cached_property
    def described(self) -> tuple[Described, ...]:
        texts, is_own = self.suite_texts, bool(self.matrix.suite.tests)
        sources = (msgspec.msgpack.encode((texts, is_own), order="sorted"), code_of("declare"))
        body = self._table.of(
            "described", sources, lambda: msgspec.msgpack.encode(described(texts, unmarked=is_own))
        )
        return msgspec.msgpack.decode(body, type=tuple[Described, ...])

    @cached_property
    def index(self) -> IndexSettings:
        from compat.index.settings import settings

        configured = settings(
            index_url=self._options.index_url, extra_index_urls=self._options.extra_index_urls
        )
        return msgspec.structs.replace(configured, merged=self.matrix.indexes == "all")

    @cached_property
    def source(self) -> PyPISource:
        from compat.index.pypi import PyPISource

        return PyPISource(self.index, self.cache(), refresh=self._options.refresh)

    @property
    def catalogue_path(self) -> Path:
        return self.folder / CATALOGUE

    @cached_property
    def _catalogue_text(self) -> bytes | None:
        return read_if_present(self.catalogue_path)

    @cached_property
    def stored_catalogue(self) -> Catalogue | None:
        """The stored one, or None. Raises DeclarationError where it is older than an axis."""
        text, path = self._catalogue_text, f"matrices/{self.name}/{CATALOGUE}"
        if text is None:
            return None
        return catalogue_with_axes(text.decode(errors="replace"), path, self.matrix)

    @cached_property
    def catalogue(self) -> Catalogue:
        """What the index has now; what the subject pins is taken from the stored one, if any."""
        required = None if self.stored_catalogue is None else self.stored_catalogue.required
        return self._noted(discover(self.matrix, self.source, required))

    @cached_property
    def rediscovered(self) -> Catalogue:
        return self._noted(discover(self.matrix, self.source, None))

    @cached_property
    def stored_or_fetched(self) -> Catalogue:
        if self.stored_catalogue is not None:
            return self.stored_catalogue
        self._notify(
            f"no stored catalogue, reading the index; compat matrix discover {self.name} --write"
            f" stores one"
        )
        return self.catalogue

    @property
    def feasibility(self) -> Feasibility:
        return self.facts_of(self.catalogue)

    def facts_of(self, catalogue: Catalogue) -> Feasibility:
        if id(catalogue) not in self._facts:
            # It holds the catalogue, so that no other gets its id.
            self._facts[id(catalogue)] = Feasibility(self.matrix, catalogue)
        return self._facts[id(catalogue)]

    def _noted(self, catalogue: Catalogue) -> Catalogue:
        for line in catalogue_notes(catalogue):
            self._notify(line)
        return catalogue

    def lock_path(self, cell: str) -> Path:
        return self.folder / "locks" / f"{cell}.txt"

    def lock_paths(self) -> Iterator[tuple[str, Path]]:
        yield from ((path.stem, path) for path in sorted((self.folder / "locks").glob("*.txt")))

    def lock(self, cell: str) -> Lock | None:
        return stored_lock(self.lock_path(cell)) if self.lock_path(cell).exists() else None

    def lock_text(self, cell: str) -> str | None:
        text = read_if_present(self.lock_path(cell))
        return None if text is None else text.decode()

    def declaration(self) -> str:
        return read(self.matrix_path).decode(errors="replace")

    def keep_lock(self, cell: str, lock: Lock) -> None:
        write(self.lock_path(cell), encode_lock(lock))

    @cached_property
    def lock_digests(self) -> LockDigests:
        return LockDigests(self.folder / "locks")

    @cached_property
    def learnt(self) -> ResolverFiles:
        return ResolverFiles(self.folder, self.matrix)

    @cached_property
    def _table(self) -> AnswerTable:
        return self._table_of(self.day)

    def _table_of(self, day: datetime.date) -> AnswerTable:
        folder = None
        with contextlib.suppress(UsageError):
            folder = self.cache() / ANSWERS
        table = AnswerTable(folder, self.store, day)
        table.refresh()
        return table

    @cached_property
    def runs(self) -> Mapping[str, CellRuns]:
        return self._table.runs

    def records(self, cell: str) -> tuple[Record, ...]:
        return self.store.records(cell)

    @property
    def checkout(self) -> str:
        return self.store.checkout

    def newest_records(self, cell: str, lock_digest: str | None = None) -> Iterator[Record]:
        ours = self.store.of_files(cell, self._table.files_on(cell, lock_digest))
        return (record for record in ours if lock_digest in (None, record.lock_digest))

    def damaged(self, now: datetime.datetime) -> tuple[Fault, ...]:
        return self._table.damaged(now)

    @cached_property
    def context(self) -> EvaluationContext:
        return EvaluationContext(
            suite_digest=suite_digest(self.suite_folder),
            day=self.day,
            asked=frozenset(canonicalize_name(axis.package) for axis in self.matrix.packages),
            helpers=helper_ids(self.described),
        )

    @cached_property
    def snapshot(self) -> Snapshot:
        return self.snapshot_on(self.day)

    def snapshot_on(self, day: datetime.date) -> Snapshot:
        catalogue, present = self.stored_or_fetched, msgspec.structs.replace(self.context, day=day)
        installs = partial(self.platforms.installs, self.matrix, catalogue)
        if catalogue is not self.stored_catalogue:
            whole = self._derived(catalogue, present, Before())
            return whole.with_installs(installs)
        table = self._table if day == self.day else self._table_of(day)
        plan_sources = hashlib.sha256(b"".join(map(_digest, self._own_sources))).digest()
        judging = _digest(plan_sources + encode(present))
        learnt = b"".join(map(_digest, self.learnt.texts))
        sources = Sources(plan_sources, judging, learnt, self.lock_digests.states)
        derive = partial(self._derived, catalogue, present, runs=table.runs)
        table.answer(sources, self.matrix, derive)
        stored = StoredSnapshot(table, self.declared, catalogue, present, lambda: self.learnt.asked)
        return stored.with_installs(partial(installs, self.keep))

    def _derived(
        self,
        catalogue: Catalogue,
        present: EvaluationContext,
        before: Before,
        runs: Mapping[str, CellRuns] | None = None,
    ) -> Snapshot:
        fates = before.fates or plan(self.matrix, catalogue).fates
        runs, locks = self.runs if runs is None else runs, self.lock_digests
        known = snapshot(self.declared, catalogue, fates, locks, runs, present, before.entries)
        answered = with_answers(known, self.learnt.asked, self.learnt.clauses)
        return with_locks(answered, self.lock, before.locked)

    def keep(self, kind: str, sources: Iterable[bytes], make: Callable[[], bytes]) -> bytes:
        return self._table.of(kind, (*self._own_sources, *sources), make)

    @property
    def _own_sources(self) -> tuple[bytes, ...]:
        own = (self._matrix_text, self._project or b"", self._catalogue_text or b"")
        return *own, code_of(*DERIVING_ROOMS)

    @cached_property
    def known(self) -> Snapshot:
        return self._known(self.known_ids())

    def shown_ids(self) -> tuple[str, ...]:
        if self.stored_catalogue is None:
            return self.known_ids()
        expected = (cell for cell, _, kind in self.snapshot.untried if kind is not None)
        return tuple(sorted({*self.known_ids(), *expected}))

    @cached_property
    def known_combinations(self) -> Snapshot:
        """What is known of the same places under every recipe, as a place is shown by the best."""
        cells = [entry.cell for entry in self._known(self.shown_ids()).entries]
        alike = (msgspec.structs.replace(cell, recipe=r).id for cell in cells for r in RECIPES)
        return self._known(tuple(dict.fromkeys(alike)))

    def _known(self, ids: Sequence[str]) -> Snapshot:
        if self.stored_catalogue is None:
            locks, nothing = self.lock_digests, Catalogue(packages=())
            known = snapshot(self.declared, nothing, (), locks, self.runs, self.context)
            # Without requirements nobody knows which clauses a cell contains.
            return with_answers(known, self.learnt.asked)
        return self.snapshot.limited_to(ids)

    def known_ids(self) -> tuple[str, ...]:
        return tuple(sorted({*self.matrix.quick, *self.runs, *self.lock_digests}))

    def is_known(self, cell: str) -> bool:
        return cell in self.runs or cell in self.lock_digests or cell in self.matrix.quick

    @property
    def at_hand(self) -> Snapshot:
        """What is known of every cell, as far as that is known without asking an index."""
        return self.known if self.stored_catalogue is None else self.snapshot

    def verdict(self, cell: str) -> Answer:
        """Return what is known of a cell; of one that the matrix cannot read, what its runs say."""
        entry = self.at_hand.by_id.get(cell)
        if entry is not None:
            return entry
        known = readable_cell(cell, self.matrix) or unread_cell(cell, self.matrix)
        lock_digest = self.lock_digests.get(cell)
        return judge(known, self.runs.get(cell, ()), self.context, lock_digest=lock_digest)

    @cached_property
    def durations(self) -> dict[Tier, Durations]:
        return durations_by_tier(self.runs, self.matrix)

    def refresh(self) -> None:
        files = ("_table", "runs", "lock_digests", "learnt")
        for name in (*files, "snapshot", "known", "known_combinations", "durations"):
            self.__dict__.pop(name, None)


def _digest(source: bytes) -> bytes:
    return hashlib.sha256(source).digest()
