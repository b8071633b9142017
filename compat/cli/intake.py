"""What `compat ci record` takes from other machines: records, locks, what was learnt of refusals,
and answers about other platforms. The sound ones are kept, the others are named.
"""

import datetime
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from compat import files
from compat.cli.arguments import given
from compat.cli.installs import MOST_DAYS, AskedAgain, republished, untimely
from compat.cli.machine import now, run_url, without_places
from compat.cli.output import envelope, note, report, say
from compat.declare.capabilities import suite_ids
from compat.declare.platforms import PlatformName
from compat.declare.suite_table import Tier
from compat.errors import CompatError, DeclarationError, Fault, UsageError, reason
from compat.lock.demands import Demands
from compat.lock.layers import handed_lock
from compat.lock.lock_text import kept_lock
from compat.lock.lockfile import Lock
from compat.lock.recipe import asks_as_declared
from compat.plan.cell import Cell, parse_cell, split_platform
from compat.plan.plan import every_cell, lockable_cells
from compat.results.clauses import Clause, ClauseBook
from compat.results.installs import ANSWERS
from compat.results.intake import OLDEST, Checkout, handed
from compat.results.learnt import (
    CLAUSES,
    PROBES,
    PlainAnswer,
    decode_answers,
    keep_clauses,
    keep_probes,
    kept_clauses,
    kept_probes,
)
from compat.results.record import strict
from compat.run.evidence import Isolation
from compat.run.outcome import Failed
from compat.run.suitefiles import owed_capabilities
from compat.search.learning import RefusalLearner
from compat.site.wording import count
from compat.value import Value
from compat.workspace import Workspace

_MOST_FILES = 20_000
_MOST_BYTES = 4_000_000  # a lock of 130 pins has 0.3 MB


class Shards(Value, frozen=True):
    """What `compat plan --print github` prints: which cells each shard was given, and when."""

    class Row(Value, frozen=True, kw_only=True):
        """A shard; it hands its records over in the folder `records-<shard>`. Of the cells in
        `smoke` it runs the suite's core alone.
        """

        shard: Annotated[int, msgspec.Meta(ge=1)]
        cells: str
        smoke: str = ""
        since: Annotated[datetime.datetime, msgspec.Meta(tz=True)]

    include: tuple[Row, ...]


def take_records(
    workspace: Workspace,
    folder: Path,
    plan: Path | None,
    made_by: str,
    level: Isolation | None,
) -> int:
    """Keep the sound records of the folder, tell what is wrong with the others, and return the exit
    code.

    `plan` is the file that says which shard was given which cells, `made_by` the address of the
    run, and `level` the one at which it was to run.
    """
    _refuse_no_folder(folder, "--from takes the folder that holds the records")
    taken: list[str] = []
    known: list[str] = []
    faults: list[Fault] = []
    try:
        shards = None if plan is None else _shards(plan)
        checkout = _checkout(workspace, made_by, shards, level)
        for name, record in handed(folder, checkout):
            if isinstance(record, Fault):
                faults.append(record)
            else:
                (taken if workspace.store.add(record) else known).append(name)
    except OSError as fault:
        raise CompatError.of(f"cannot be listed: {reason(fault)}") from fault
    _show({"kept": taken, "known": known}, faults, taken)
    if checkout.suite_ids.unreadable:
        where = "/".join(filter(None, (workspace.matrix.suite.path, checkout.suite_ids.unreadable)))
        note(
            f"warning: capabilities were not compared with the suite: {where} makes ids that only a"
            " run can tell"
        )
    note(f"{count(len(taken), 'record')} kept, {len(known)} there already, {len(faults)} refused")
    return 1 if faults or not (taken or known) else 0


def _shards(path: Path) -> Shards:
    try:
        text = files.read(path).decode()
        strict(text)  # no key twice
        shards = msgspec.json.decode(text, type=Shards)
        rows = shards.include
        cells = Counter(cell for row in rows for cell in (row.cells + " " + row.smoke).split())
        for what, number in (*cells.items(), *Counter(row.shard for row in rows).items()):
            if number > 1:
                raise ValueError(f"{what} stands there {number} times")
        return shards
    except (ValueError, RecursionError) as fault:
        hint = "`compat plan MATRIX --budget 90m --print github` writes one"
        raise UsageError.of(f"is not a valid plan: {fault}", path=str(path), hint=hint) from fault


def _checkout(
    workspace: Workspace, made_by: str, plan: Shards | None, level: Isolation | None
) -> Checkout:
    """This checkout, as records must fit it; its catalogue and its locks are read whole, so that
    they are sound.
    """
    rows = () if plan is None else plan.include
    oldest = now() - OLDEST
    stale = next((row.since for row in rows if not oldest <= row.since <= now()), None)
    if stale is not None:
        raise UsageError.of(
            f"the plan was made at {stale.isoformat()}, and one of the last {OLDEST.days} days is"
            " taken"
        )
    tiers: dict[str, Tier] = {}
    for row in rows:
        tiers |= dict.fromkeys(row.smoke.split(), "smoke")
        tiers |= dict.fromkeys(row.cells.split(), "full")
    return Checkout(
        matrix=workspace.name,
        cells=frozenset(
            cell.id for cell in lockable_cells(workspace.facts_of(workspace.kept_or_asked))
        ),
        locks={cell: kept_lock(path) for cell, path in workspace.lock_paths()},
        suite_digest=workspace.context.suite_digest,
        suite_ids=suite_ids(workspace.suite_texts),
        moment=now(),
        since=min((row.since for row in rows), default=oldest),
        run_url=made_by or run_url(),
        # Without a word about it a plan asks for the level that moves floors.
        isolation=level or (None if plan is None else "L3"),
        owed=owed_capabilities(workspace.suite_folder, workspace.matrix.suite),
        shards=(
            None
            if plan is None
            else {
                cell: f"records-{row.shard}"
                for row in rows
                for cell in (*row.cells.split(), *row.smoke.split())
            }
        ),
        tiers=tiers,
    )


def take_locks(workspace: Workspace, folder: Path) -> int:
    _refuse_no_folder(folder, "--locks takes the folder that holds the locks")
    planned = {cell.id: cell for cell in lockable_cells(workspace.feasibility)}
    taken: list[str] = []
    current: list[str] = []
    faults: list[Fault] = []
    for name, text in _handed_texts(folder):
        try:
            if isinstance(text, Fault):
                raise DeclarationError(text)
            cell = name.removesuffix(".txt")
            path = workspace.lock_path(cell)
            before = files.read_if_there(path) if cell in planned else None
            if before == text.encode():
                current.append(name)
                continue
            lock = handed_lock(text, name, planned, workspace.feasibility, workspace.source)
            workspace.keep_lock(cell, lock)
            taken.append(name)
        except DeclarationError as error:
            faults.extend(error.faults)
    _show({"kept": taken, "current": current}, faults, taken)
    note(f"{count(len(taken), 'lock')} kept, {len(current)} there already, {len(faults)} refused")
    return 1 if faults else 0


def _handed_texts(folder: Path) -> Iterator[tuple[str, str | Fault]]:
    """Yield each entry of a folder of locks with its text, or with what is wrong; links are not
    followed.
    """
    for number, name in enumerate(sorted(os.listdir(folder))):
        shown = name.encode(errors="backslashreplace").decode()
        if number >= _MOST_FILES:
            because = f"is one file too many: at most {_MOST_FILES:,} are handed over at once"
            yield shown, _fault(shown, because)
            return
        yield shown, _text(folder / name, shown)


def _text(path: Path, name: str) -> str | Fault:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return _fault(name, "is not a regular file")
    if not name.endswith(".txt") or not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return _fault(name, "is not a lock")
    with os.fdopen(handle, "rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        return _fault(name, f"is larger than {_MOST_BYTES:,} bytes")
    return content.decode(errors="replace")


def _fault(name: str, message: str) -> Fault:
    return Fault(code=DeclarationError.code, path=name, message=message)


def take_learnt(workspace: Workspace, folder: Path) -> int:
    """Take the sound clauses and probes of a folder that another machine filled; return the exit
    code.

    A clause is sound when it is of the last days, its facts are among those that its own cell has
    here, on a Python that the clause names, no cell with a lock has them, and the resolver refuses
    them here, too, on each of its Pythons. A probe is sound when a sound clause or the resolver
    says the same. Clauses about files are not taken: they rest on a run, whose record is what
    another machine hands in. Raises DeclarationError for a damaged file.
    """
    intake = _LearntIntake(workspace)
    clauses = tuple(intake.sound_clauses(kept_clauses(folder, workspace.matrix).conflicts))
    probes = tuple(intake.sound_probes(kept_probes(folder).values()))
    if clauses:
        before = workspace.learnt.clauses
        both = msgspec.structs.replace(before, conflicts=(*before.conflicts, *clauses))
        keep_clauses(workspace.folder, workspace.matrix, both)
    if probes:
        keep_probes(workspace.folder, probes)
    if given.as_json:
        envelope({"clauses": clauses, "probes": probes}, intake.faults)
    report(intake.faults)
    intake.again.tell()
    tally = f"{count(len(clauses), 'clause')} and {count(len(probes), 'probe')} kept"
    note(f"{tally}, {len(intake.faults)} refused")
    return 1 if intake.faults else 0


class _LearntIntake:
    """What is sound by this checkout, and what was refused."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._facts = workspace.facts_of(workspace.kept_or_asked)
        self._cells: dict[str, Cell] = {cell.id: cell for cell in every_cell(self._facts)}
        self._on: dict[str, Cell] = {self._python(cell): cell for cell in self._cells.values()}
        self._demands = Demands(self._facts)
        self._sound: list[Clause] = []
        self.again = AskedAgain(workspace)
        ask = self.again.locker.lock
        self._learner = RefusalLearner(self._facts, ask, (), workspace.day, without_places)
        self.faults: list[Fault] = []

    def sound_clauses(self, clauses: Iterable[Clause]) -> Iterable[Clause]:
        known = self._workspace.learnt.clauses.conflicts
        self._sound += known
        settled = {(clause.facts, python) for clause in known for python in clause.pythons}
        for clause in sorted(clauses, key=lambda clause: (clause.facts, clause.outcome)):
            if settled.issuperset((clause.facts, python) for python in clause.pythons):
                continue
            if self._refused(CLAUSES, clause, self._unfit(clause)):
                continue
            if self.again.may_ask(len(clause.pythons)):
                own = self._refused_again(clause)
                if own is not None:
                    self._sound.append(own)
                    yield own

    def sound_probes(self, probes: Iterable[PlainAnswer]) -> Iterable[PlainAnswer]:
        known, book = self._workspace.learnt.asked, ClauseBook(self._sound)
        for probe in probes:
            before, cell = known.get(probe.cell), self._cells.get(probe.cell)
            is_older = before is not None and probe.on < before.on
            why = f"is of {probe.on}, and a newer one is kept" if is_older else ""
            if probe == before or self._refused(PROBES, probe, why) or cell is None:
                continue
            if self._facts.obstacle(cell) is not None:
                continue  # the plan says more of it
            clauses = book.answer(self._demands.of(cell), self._python(cell))
            try:
                if clauses and probe.refusal is None:
                    raise DeclarationError.of("says that packages were found, against a clause")
                own = (
                    republished(probe) if clauses else self.again.checked(probe, self._facts, cell)
                )
            except DeclarationError as error:
                self._refused(PROBES, probe, error.faults[0].message)
                continue
            if own is not None:
                yield own

    def _refused(self, name: str, learnt: Clause | PlainAnswer, why: str) -> bool:
        age = (self._workspace.day - learnt.on).days
        if learnt.cell not in self._cells:
            why = "is not a cell of this matrix"
        elif not -1 <= age <= MOST_DAYS:
            why = f"is of {learnt.on}, and what was learnt in the last {MOST_DAYS} days is taken"
        if why:
            self.faults.append(_fault(f"{name}: {learnt.cell}", why))
        return bool(why)

    def _unfit(self, clause: Clause) -> str:
        cell = self._cells.get(clause.cell)
        if cell is None:
            return ""
        held = self._demands.of(cell)
        if self._python(cell) not in clause.pythons or not any(
            set(clause.facts) <= facts for facts in held
        ):
            return "names facts that its own cell does not have here"
        if strange := sorted({*clause.pythons} - self._on.keys()):
            return f"names Python {strange[0]}, which no cell of this matrix has"
        locked = next(self._locked_with(clause), None)
        return "" if locked is None else f"{locked} has a lock with {' and '.join(clause.facts)}"

    def _locked_with(self, clause: Clause) -> Iterator[str]:
        """The cells that hold all facts of a clause, and that a lock of what they ask now has."""
        for name in self._workspace.lock_digests:
            cell = self._cells.get(name)
            if cell is None or self._python(cell) not in clause.pythons:
                continue
            held = self._demands.of(cell)
            if (
                held
                and all(set(clause.facts) <= facts for facts in held)
                and self._facts.obstacle(cell) is None
                and (lock := self._workspace.lock(name)) is not None
                and asks_as_declared(self._facts, cell, lock)
            ):
                yield name

    def _refused_again(self, clause: Clause) -> Clause | None:
        """The clause in the words of the resolver here; None where it finds packages."""
        own = None
        for python in clause.pythons:
            refusal = self._learner.ask(self._on[python], frozenset(clause.facts))
            if refusal is None:
                why = f"is refused there, and not by a resolver here, on Python {python}"
                self._refused(CLAUSES, clause, why)
                return None
            subject = without_places(refusal.subject)
            failed = Failed(stage="lock", cause=refusal.cause, subject=subject)
            because = without_places(refusal.because) or "it finds no solution"
            own = msgspec.structs.replace(clause, outcome=str(failed), because=because)
        return own

    def _python(self, cell: Cell) -> str:
        return str(cell.on(self._workspace.matrix.interpreters.name).version)


def take_platforms(workspace: Workspace, folder: Path) -> int:
    """Keep the sound answers of the folder, each with its lock, tell what is wrong with the others,
    and return the exit code.

    An answer is sound when metadata leaves open what it is about, it is of today or of the last
    days, newer than the one that is kept, and, where packages were found, its lock is one that
    this checkout asks for.
    """
    _refuse_no_folder(folder, "--platforms takes the folder that holds one for each platform")
    taken: list[str] = []
    faults: list[Fault] = []
    again = AskedAgain(workspace)
    for name in workspace.matrix.platforms:
        if (folder / name / ANSWERS).is_file():
            intake = _PlatformIntake(workspace, name, folder / name, again)
            taken += intake.taken
            faults += intake.faults
    _show({"kept": taken}, faults)
    again.tell()
    note(f"{count(len(taken), 'answer')} kept, {len(faults)} refused")
    return 1 if faults else 0


class _PlatformIntake:
    """The answers about one platform: which were taken, and what is wrong with the others."""

    def __init__(
        self, workspace: Workspace, platform: PlatformName, folder: Path, again: AskedAgain
    ) -> None:
        self._workspace, self._platform = workspace, platform
        self.taken: list[str] = []
        self.faults: list[Fault] = []
        files_of = workspace.platforms
        facts = files_of.facts(workspace.matrix, workspace.kept_or_asked, platform)
        planned = {
            cell: parse_cell(cell, self._workspace.matrix)
            for install in self._workspace.snapshot.platform_installs
            if install.platform == self._platform and install.is_open
            for cell in (split_platform(install.cell)[0],)
        }
        before = files_of.answers(platform)
        source = f"{platform}/{ANSWERS}"
        text = files.read(folder / ANSWERS).decode(errors="replace")
        locks = dict(_handed_texts(folder / "locks")) if (folder / "locks").is_dir() else {}
        for answer in decode_answers(text, source).values():
            if answer == before.get(answer.cell):
                continue
            try:
                self._refuse_unsound(answer, before, planned)
                lock: Lock | None = None
                if answer.refusal is None:
                    lock_text = locks.get(f"{answer.cell}.txt", "")
                    if isinstance(lock_text, Fault):
                        raise DeclarationError(lock_text)
                    named = f"{answer.cell}.txt"
                    lock = handed_lock(lock_text, named, planned, facts, workspace.source)
                own = again.checked(answer, facts, planned[answer.cell])
                if own:
                    files_of.keep_answer(platform, own, lock)
                    self.taken.append(f"{platform}/{answer.cell}")
            except DeclarationError as error:
                place = f"{source}: {answer.cell}"
                self.faults += (replace(f, path=f.path or place) for f in error.faults)

    def _refuse_unsound(
        self, answer: PlainAnswer, before: Mapping[str, PlainAnswer], planned: Mapping[str, Cell]
    ) -> None:
        why = (
            "is about nothing that metadata leaves open"
            if answer.cell not in planned
            else untimely(answer, before.get(answer.cell), self._workspace.day)
        )
        if why:
            raise DeclarationError.of(why)


def _refuse_no_folder(folder: Path, hint: str) -> None:
    if folder.is_symlink() or not folder.is_dir():
        raise UsageError.of("is not a directory", path=str(folder), hint=hint)


def _show(document: dict[str, Any], faults: Sequence[Fault], kept: Iterable[str] = ()) -> None:
    if given.as_json:
        envelope({**document, "refused": [fault.path for fault in faults]}, faults)
    else:
        say(*(f"{name}  kept" for name in kept))
    report(faults)
