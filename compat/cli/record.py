"""`compat ci record`: judges cached evidence again, or imports what other machines measured."""

import datetime
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from compat import files, pipeline
from compat.cli.arguments import Exit, given, option
from compat.cli.machine import now, run_url, without_places
from compat.cli.options import MATRIX_NAME, workspace_of
from compat.cli.output import envelope, note, report, say
from compat.declare.capabilities import suite_ids
from compat.declare.suite_table import Tier
from compat.errors import CompatError, DeclarationError, Fault, UsageError, reason
from compat.lock.demands import Demands
from compat.lock.layers import handed_lock
from compat.lock.lock_text import kept_lock
from compat.lock.lockfile import Lock, Locker
from compat.lock.recipe import asks_as_declared, inputs_of, lock_cell
from compat.plan.cell import Cell, parse_cell, split_platform
from compat.plan.feasible import Feasibility
from compat.plan.plan import every_cell, lockable_cells
from compat.results.clauses import Clause, ClauseBook
from compat.results.installs import ANSWERS, declared_installs
from compat.results.intake import OLDEST, Checkout, handed
from compat.results.learnt import (
    CLAUSES,
    LOCKED,
    PLAIN,
    PROBES,
    LearntFiles,
    PlainAnswer,
    answer_of,
    decode_answers,
    keep_answers,
    keep_clauses,
)
from compat.results.record import strict
from compat.run.events import read_bytes
from compat.run.evidence import Isolation
from compat.run.outcome import Failed, is_spurious
from compat.run.suitefiles import owed_capabilities
from compat.search.learning import RefusalLearner
from compat.site.wording import count
from compat.value import Value
from compat.workspace import Workspace

Dated = TypeVar("Dated", PlainAnswer, Clause)
_MOST_FILES = 20_000
_MOST_BYTES = 4_000_000  # a lock of 130 pins has 0.3 MB
# So many resolution failures of another machine are checked, at about a second each.
_MOST_AGAIN = 300
# Answers of another machine that are older are not of its run. The same as for records.
_MOST_DAYS = 7


def record_command(
    matrix: str = MATRIX_NAME,
    rejudge: bool = option("Judge the cached evidence again."),
    source: Path | None = option(
        "Import valid records from this folder.", "--from", metavar="FOLDER"
    ),
    plan: Path | None = option("Output of `compat plan --print github`."),
    made_by: str = option(
        "CI run of the records (default: this GitHub Actions run).", "--run-url", metavar="URL"
    ),
    level: Isolation | None = option(
        "Import only records of this level (default with --plan: L3).", "--isolation"
    ),
    locks: Path | None = option("Import valid locks from this folder.", metavar="FOLDER"),
    plain: Path | None = option("Import valid plain-install results from this file."),
    learnt: Path | None = option(
        "Import valid clauses and probes from this folder.", metavar="FOLDER"
    ),
    platforms: Path | None = option(
        "Import valid platform results from this folder.", metavar="FOLDER"
    ),
    withdraw: str = option("Withdraw the record with this digest.", metavar="DIGEST"),
    because: str = option("Reason for withdrawing it.", metavar="REASON"),
) -> None:
    """Judge cached evidence again, or import records of other machines.

    Imports records that are intact, new, and match a cell, lock and suite of this checkout; without
    --plan at most 7 days old. With --plan: also the planned shard (folder records-SHARD), since the
    plan, at L3 or --isolation. Imports locks whose pins match their metadata, recent plain-install
    results, and clauses whose resolution fails again. Rejected items are reported (exit 1).

    A withdrawn record's line stays and is ignored; 12 digits of the digest suffice.

    Examples: compat ci record tff --rejudge; compat ci record tff --from handed --plan plan.json;
    compat ci record tff --locks planned/locks; compat ci record tff --plain planned/plain.json;
    compat ci record tff --withdraw 0a1b2c3d4e5f --because "the suite read a file of its own"
    """
    ways = (source, locks, plain, learnt, platforms)
    if sum((rejudge, bool(withdraw), *(way is not None for way in ways))) != 1:
        choices = (
            "--rejudge (judge cached evidence again), --from (records), --locks, --plain (plain"
            " installs), --learnt (clauses), --platforms (other platforms), --withdraw DIGEST"
        )
        raise UsageError.of(f"name one of {choices}")
    if withdraw:
        if len(withdraw) < 12 or not because:
            message = "--withdraw needs at least 12 digits of a digest, and --because TEXT"
            raise UsageError.of(message)
        withdrawn = workspace_of(matrix).store.withdraw(withdraw, because)
        if given.as_json:
            envelope({"withdrawn": [record.cell for record in withdrawn]})
        for record in () if given.as_json else withdrawn:
            say(f"{record.cell}  {record.outcome} of {record.started:%Y-%m-%d %H:%M} is withdrawn")
        if not withdrawn:
            note(f"no record has a digest that begins with {withdraw}")
        raise Exit(0 if withdrawn else 1)
    if source is None and (plan is not None or made_by or level):
        raise UsageError.of("--plan, --run-url and --isolation need --from FOLDER")
    workspace = workspace_of(matrix)
    intake = _Intake(workspace)
    if source is not None:
        raise Exit(intake.records(source, plan, made_by, level))
    if learnt is not None:
        raise Exit(_LearntIntake(workspace).learnt(learnt))
    for path, take in ((locks, intake.locks), (plain, intake.plain), (platforms, intake.platforms)):
        if path is not None:
            raise Exit(take(path))
    changed, suite_faults = pipeline.rejudged(workspace, without_places)
    for record in suite_faults:
        note(f"warning: {record.cell} is not recorded again: {record.outcome}")
    if given.as_json:
        rows = [{"id": record.cell, "outcome": str(record.outcome)} for record in changed]
        envelope({"changed": rows})
        return
    say(*(f"{record.cell}  {record.outcome}" for record in changed))
    differing = count(len(changed), "record differs", "records differ")
    note(f"{differing} when judged again")


class Shards(Value, frozen=True):
    """The output of `compat plan --print github`: shards, and when each was planned."""

    class Row(Value, frozen=True, kw_only=True):
        """A shard, whose records arrive in the folder `records-<shard>`; `smoke` cells run the core
        only.
        """

        shard: Annotated[int, msgspec.Meta(ge=1)]
        cells: str
        smoke: str = ""
        since: Annotated[datetime.datetime, msgspec.Meta(tz=True)]

    include: tuple[Row, ...]


def shards_in(path: Path) -> Shards:
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
    """This checkout, which records must fit. Reads catalogue and locks whole, so that they are
    sound.
    """
    rows = () if plan is None else plan.include
    oldest = now() - OLDEST
    stale = next((row.since for row in rows if not oldest <= row.since <= now()), None)
    if stale is not None:
        raise UsageError.of(f"the plan of {stale.isoformat()} is older than {OLDEST.days} days")
    tiers: dict[str, Tier] = {}
    for row in rows:
        tiers |= dict.fromkeys(row.smoke.split(), "smoke")
        tiers |= dict.fromkeys(row.cells.split(), "full")
    return Checkout(
        matrix=workspace.name,
        cells=frozenset(c.id for c in lockable_cells(workspace.facts_of(workspace.kept_or_asked))),
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
                c: f"records-{r.shard}" for r in rows for c in (*r.cells.split(), *r.smoke.split())
            }
        ),
        tiers=tiers,
    )


def _handed_texts(folder: Path) -> Iterator[tuple[str, str | Fault]]:
    """Yield each file of a folder of locks with its text or its fault, without following links."""
    for number, name in enumerate(sorted(os.listdir(folder))):
        shown = name.encode(errors="backslashreplace").decode()
        if number >= _MOST_FILES:
            because = f"is one file too many: at most {_MOST_FILES:,} can be imported at once"
            yield shown, _fault(shown, because)
            return
        yield shown, _text(folder / name, shown)


def _text(path: Path, name: str) -> str | Fault:
    if not name.endswith(".txt"):
        return _fault(name, "is not a lock")
    try:
        content = read_bytes(path.parent, path.name, _MOST_BYTES + 1)
    except OSError:
        return _fault(name, "is not a regular file")
    if len(content) > _MOST_BYTES:
        return _fault(name, f"is larger than {_MOST_BYTES:,} bytes")
    return content.decode(errors="replace")


def _fault(name: str, message: str) -> Fault:
    return Fault(code=DeclarationError.code, path=name, message=message)


class _Intake:
    """What another machine measured: what is imported, and the faults of the rest."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.taken: list[str] = []
        self.there: list[str] = []
        self.faults: list[Fault] = []
        self._asked = self._left = 0

    @contextmanager
    def about(self, place: str) -> Iterator[None]:
        try:
            yield
        except DeclarationError as error:
            self.faults += (msgspec.structs.replace(f, path=f.path or place) for f in error.faults)

    def end(self, document: Mapping[str, Any], tally: str, named: Iterable[str] = ()) -> int:
        if given.as_json:
            envelope({**document, "refused": [fault.path for fault in self.faults]}, self.faults)
        else:
            say(*(f"{name}  imported" for name in named))
        report(self.faults)
        if self._left:
            note(f"{self._left:,} more were not imported: too many to resolve again")
        note(f"{tally}, {len(self.faults)} rejected")
        return 1 if self.faults else 0

    def records(
        self, folder: Path, plan: Path | None, made_by: str, level: Isolation | None
    ) -> int:
        """Import records; `plan` is the file with the shards, `made_by` the URL of the run."""
        _refuse_no_folder(folder, "--from needs the folder of the records")
        try:
            shards = None if plan is None else shards_in(plan)
            checkout = _checkout(self.workspace, made_by, shards, level)
            for name, record in handed(folder, checkout):
                if isinstance(record, Fault):
                    self.faults.append(record)
                else:
                    is_new = self.workspace.store.add(record)
                    (self.taken if is_new else self.there).append(name)
        except OSError as fault:
            raise CompatError.of(f"cannot be listed: {reason(fault)}") from fault
        if unreadable := checkout.suite_ids.unreadable:
            where = "/".join(filter(None, (self.workspace.matrix.suite.path, unreadable)))
            note(
                f"warning: capabilities were not compared with the suite: {where} creates"
                " ids that only a run can determine"
            )
        tally = f"{count(len(self.taken), 'record')} imported, {len(self.there)} already here"
        code = self.end({"kept": self.taken, "known": self.there}, tally, self.taken)
        return code or int(not (self.taken or self.there))

    def locks(self, folder: Path) -> int:
        _refuse_no_folder(folder, "--locks needs the folder of the locks")
        workspace, facts = self.workspace, self.workspace.feasibility
        planned = {cell.id: cell for cell in lockable_cells(facts)}
        for name, text in _handed_texts(folder):
            with self.about(name):
                if isinstance(text, Fault):
                    raise DeclarationError(text)
                cell = name.removesuffix(".txt")
                path = workspace.lock_path(cell)
                before = files.read_if_there(path) if cell in planned else None
                if before == text.encode():
                    self.there.append(name)
                    continue
                workspace.keep_lock(cell, handed_lock(text, name, planned, facts, workspace.source))
                self.taken.append(name)
        tally = f"{count(len(self.taken), 'lock')} imported, {len(self.there)} already here"
        return self.end({"kept": self.taken, "current": self.there}, tally, self.taken)

    def plain(self, path: Path) -> int:
        """Import plain-install results; a successful one needs its lock here."""
        workspace, taken = self.workspace, list[PlainAnswer]()
        facts = workspace.feasibility
        asked = (install.cell for install in declared_installs(facts) if install.cell)
        planned = {cell: parse_cell(cell, workspace.matrix) for cell in asked}

        handed_over = decode_answers(files.read(path).decode(errors="replace"), path.name)
        unplanned, known = "is not a plain install of this matrix", workspace.learnt.plain
        for answer in self._timely(handed_over.values(), path.name, known, planned, unplanned):
            with self.about(f"{path.name}: {answer.cell}"):
                if answer.refusal is None and answer.cell not in workspace.lock_digests:
                    raise DeclarationError.of("reports packages, but its lock is not here")
                taken += self.checked(answer, facts, planned[answer.cell])
        if taken:
            keep_answers(workspace.folder, PLAIN, taken)
            workspace.refresh()
        return self.end({"kept": taken}, f"{count(len(taken), 'answer')} imported")

    def platforms(self, folder: Path) -> int:
        _refuse_no_folder(folder, "--platforms needs a folder with one for each platform")
        workspace, files_of = self.workspace, self.workspace.platforms
        for name in workspace.matrix.platforms:
            if not (folder / name / ANSWERS).is_file():
                continue
            facts = files_of.facts(workspace.matrix, workspace.kept_or_asked, name)
            opened = (i for i in workspace.snapshot.platform_installs if i.platform == name)
            ids = [split_platform(install.cell)[0] for install in opened if install.is_open]
            planned = {cell: parse_cell(cell, workspace.matrix) for cell in ids}
            source, locks_in = f"{name}/{ANSWERS}", folder / name / "locks"
            locks = dict(_handed_texts(locks_in)) if locks_in.is_dir() else {}

            text = files.read(folder / name / ANSWERS).decode(errors="replace")
            handed_over, known = decode_answers(text, source), files_of.answers(name)
            unplanned = "is already answered by metadata"
            for answer in self._timely(handed_over.values(), source, known, planned, unplanned):
                with self.about(f"{source}: {answer.cell}"):
                    lock: Lock | None = None
                    if answer.refusal is None:
                        named = f"{answer.cell}.txt"
                        lock_text = locks.get(named, "")
                        if isinstance(lock_text, Fault):
                            raise DeclarationError(lock_text)
                        lock = handed_lock(lock_text, named, planned, facts, workspace.source)
                    for own in self.checked(answer, facts, planned[answer.cell]):
                        files_of.keep_answer(name, own, lock)
                        self.taken.append(f"{name}/{answer.cell}")
        return self.end({"kept": self.taken}, f"{count(len(self.taken), 'answer')} imported")

    def _timely(
        self,
        handed_over: Iterable[Dated],
        source: str,
        known: Mapping[str, Dated],
        planned: Mapping[str, Cell],
        unplanned: str,
    ) -> Iterator[Dated]:
        day = self.workspace.day
        for answer in handed_over:
            before, why = known.get(answer.cell), ""
            if answer == before:
                continue
            if answer.cell not in planned:
                why = unplanned
            elif not -1 <= (day - answer.on).days <= _MOST_DAYS:
                why = f"is of {answer.on}, not of the last {_MOST_DAYS} days"
            elif before is not None and answer.on < before.on:
                why = f"is of {answer.on}, older than the stored one of {before.on}"
            if why:
                self.faults.append(_fault(f"{source}: {answer.cell}", why))
            else:
                yield answer

    @cached_property
    def locker(self) -> Locker:
        """Builds nothing: a machine that stores records must not run other people's code."""
        from compat.cli.this_machine import refusing_locker

        return refusing_locker(self.workspace)

    def may_ask(self, questions: int = 1) -> bool:
        """Count questions; return False beyond the limit."""
        if self._asked + questions > _MOST_AGAIN:
            self._left += 1
            return False
        self._asked += questions
        return True

    def checked(self, answer: PlainAnswer, facts: Feasibility, cell: Cell) -> Sequence[PlainAnswer]:
        """Return the answer as the resolver here words it; none beyond the limit of questions.

        An unfinished build says nothing about the versions, and a build that the matrix names is
        trusted. Raises DeclarationError for a resolution failure that does not occur here.
        """
        refusal, matrix = answer.refusal, facts.matrix
        if refusal is None or is_spurious(refusal) or refusal.subject in matrix.builds:
            return [_republished(answer)]
        if refusal.cause in ("build", "unsupported"):
            raise DeclarationError.of("failed for a build that the matrix does not name")
        if not self.may_ask():
            return []
        inputs = inputs_of(facts, cell, with_suite=False)
        result = lock_cell(self.locker, inputs, self.workspace.source.package, matrix.margin_days)
        own = answer_of(cell.id, result, answer.on, without_places)
        if own.refusal is None:
            raise DeclarationError.of(f"is {refusal} there, but resolves here")
        return [own]


def _republished(answer: PlainAnswer) -> PlainAnswer:
    refusal = answer.refusal
    if refusal is None:
        return PlainAnswer(cell=answer.cell, on=answer.on, outcome=LOCKED)
    failed = Failed(stage="lock", cause=refusal.cause, subject=without_places(refusal.subject))
    because = without_places(answer.because)
    return PlainAnswer(cell=answer.cell, on=answer.on, outcome=str(failed), because=because)


class _LearntIntake(_Intake):
    """Clauses and probes of another machine, checked here."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._facts = workspace.facts_of(workspace.kept_or_asked)
        self._cells: dict[str, Cell] = {cell.id: cell for cell in every_cell(self._facts)}
        self._on: dict[str, Cell] = {self._python(cell): cell for cell in self._cells.values()}
        self._demands = Demands(self._facts)

    def learnt(self, folder: Path) -> int:
        """Import the sound clauses and probes of a folder; return the exit code.

        A clause is sound if it is recent, its facts are among those of its own cell on a Python
        that it names, no locked cell has them, and resolution fails here too on each of its
        Pythons. A probe is sound if a sound clause or the resolver confirms it. Clauses about files
        rest on a run, whose record is imported instead. Raises DeclarationError for a damaged file.
        """
        workspace, known = self.workspace, self.workspace.learnt.clauses
        settled = {(c.facts, p) for c in known.conflicts for p in c.pythons}
        clauses: list[Clause] = []
        handed_over = LearntFiles(folder, workspace.matrix)
        conflicts = sorted(handed_over.clauses.conflicts, key=lambda c: (c.facts, c.outcome))
        new = [c for c in conflicts if not settled.issuperset((c.facts, p) for p in c.pythons)]
        stray = "is not a cell of this matrix"
        for clause in self._timely(new, CLAUSES, {}, self._cells, stray):
            with self.about(f"{CLAUSES}: {clause.cell}"):
                self._refuse_unfit(clause)
                if self.may_ask(len(clause.pythons)):
                    clauses.append(self._refused_again(clause))
        book, probes = ClauseBook([*known.conflicts, *clauses]), list[PlainAnswer]()
        probed, asked = handed_over.probes, workspace.learnt.asked
        for probe in self._timely(probed.values(), PROBES, asked, self._cells, stray):
            with self.about(f"{PROBES}: {probe.cell}"):
                cell = self._cells[probe.cell]
                if self._facts.obstacle(cell) is not None:
                    continue  # the plan says more of it
                if not book.answer(self._demands.of(cell), self._python(cell)):
                    probes += self.checked(probe, self._facts, cell)
                elif probe.refusal is None:
                    raise DeclarationError.of("reports packages, but a clause excludes it")
                else:
                    probes.append(_republished(probe))
        if clauses:
            both = msgspec.structs.replace(known, conflicts=(*known.conflicts, *clauses))
            keep_clauses(workspace.folder, workspace.matrix, both)
        if probes:
            keep_answers(workspace.folder, PROBES, probes)
        tally = f"{count(len(clauses), 'clause')} and {count(len(probes), 'probe')} imported"
        return self.end({"clauses": clauses, "probes": probes}, tally)

    def _refuse_unfit(self, clause: Clause) -> None:
        workspace, facts = self.workspace, set(clause.facts)
        cell = self._cells[clause.cell]
        if self._python(cell) not in clause.pythons or not any(
            facts <= held for held in self._demands.of(cell)
        ):
            raise DeclarationError.of("names facts that its own cell does not have here")
        if strange := sorted({*clause.pythons} - self._on.keys()):
            raise DeclarationError.of(
                f"names Python {strange[0]}, which no cell of this matrix has"
            )
        for name in workspace.lock_digests:
            locked = self._cells.get(name)
            if locked is None or self._python(locked) not in clause.pythons:
                continue
            demands = self._demands.of(locked)
            if (
                demands
                and all(facts <= held for held in demands)
                and self._facts.obstacle(locked) is None
                and (lock := workspace.lock(name)) is not None
                and asks_as_declared(self._facts, locked, lock)
            ):
                raise DeclarationError.of(f"{name} has a lock with {' and '.join(clause.facts)}")

    def _refused_again(self, clause: Clause) -> Clause:
        """The clause as the resolver here words it."""
        own = clause
        for python in clause.pythons:
            refusal = self._learner.ask(self._on[python], frozenset(clause.facts))
            if refusal is None:
                why = f"does not resolve there, but resolves here, on Python {python}"
                raise DeclarationError.of(why)
            subject = without_places(refusal.subject)
            failed = Failed(stage="lock", cause=refusal.cause, subject=subject)
            because = without_places(refusal.because) or "it finds no solution"
            own = msgspec.structs.replace(clause, outcome=str(failed), because=because)
        return own

    @cached_property
    def _learner(self) -> RefusalLearner:
        return RefusalLearner(self._facts, self.locker.lock, (), self.workspace.day, without_places)

    def _python(self, cell: Cell) -> str:
        return str(cell.on(self.workspace.matrix.interpreters.name).version)


def _refuse_no_folder(folder: Path, hint: str) -> None:
    if folder.is_symlink() or not folder.is_dir():
        raise UsageError.of("is not a directory", path=str(folder), hint=hint)
