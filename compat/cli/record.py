"""`compat ci record`: judges cached evidence again, or imports what other machines measured."""

import datetime
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from compat import files, pipeline
from compat.cli.arguments import Exit, option
from compat.cli.machine import now, run_url, without_paths
from compat.cli.options import MATRIX_NAME, workspace_of
from compat.cli.output import envelope, note, report, say
from compat.declare.capabilities import suite_ids
from compat.declare.matrix import PlatformName, Tier
from compat.errors import CompatError, DeclarationError, Fault, UsageError, reason
from compat.lock.demands import Demands
from compat.lock.lockfile import Lock, Locker, stored_lock
from compat.lock.recipe import inputs_of, lock_cell, requires_as_declared
from compat.lock.sources import imported_lock
from compat.plan.cell import Cell, parse_cell, split_platform
from compat.plan.feasible import Feasibility
from compat.plan.plan import every_cell, lockable_cells
from compat.results.installs import ANSWERS, declared_installs
from compat.results.learnt import (
    CLAUSES,
    LOCKED,
    PLAIN,
    PROBES,
    Clause,
    ClauseBook,
    PlainAnswer,
    ResolverFiles,
    answer_of,
    decode_answers,
    store_answers,
    store_clauses,
)
from compat.results.record import strict
from compat.results.record_files import OLDEST, Checkout, handed
from compat.run.events import read_bytes
from compat.run.evidence import Isolation
from compat.run.outcome import Failed, is_spurious
from compat.run.suitefiles import expected_capabilities
from compat.search.learning import ClauseLearner
from compat.site.wording import count, listed
from compat.value import Value
from compat.workspace import Workspace

Dated = TypeVar("Dated", PlainAnswer, Clause)
_MOST_FILES = 20_000
_MOST_BYTES = 4_000_000  # a lock of 130 pins has 0.3 MB
# So many resolution failures of another machine are checked, at about a second each.
_MOST_AGAIN = 300
# Answers of another machine that are older are not of its run. The same as for records.
_MOST_DAYS = 7
LOCKS, PLATFORMS = "locks", "platforms"
# One of these makes a folder the one of a matrix. The catalogue is read from the index, not taken.
_OF_MATRIX = ("catalogue.json", LOCKS, PLAIN, PLATFORMS, CLAUSES, PROBES)


def record_command(
    matrix: str = MATRIX_NAME,
    rejudge: bool = option("Judge the cached evidence again."),
    source: Path | None = option(
        "Import what is valid in this folder: of a matrix, or of records.",
        "--from",
        metavar="FOLDER",
    ),
    plan: Path | None = option("Output of `compat plan --github`; imports its records only."),
    made_by: str = option(
        "CI run of the records (default: this GitHub Actions run).", "--run-url", metavar="URL"
    ),
    level: Isolation | None = option(
        "Import only records of this level (default with --plan: L3).", "--isolation"
    ),
    withdraw: str = option("Withdraw the record with this digest.", metavar="DIGEST"),
    because: str = option("Reason for withdrawing it.", metavar="REASON"),
) -> None:
    """Judge cached evidence again, or import what other machines measured.

    From the folder of a matrix --from imports locks whose pins match their metadata, recent results
    of plain installs (plain.json, platforms), and clauses and probes whose resolution fails again.
    From any other it imports records that are intact, new, and match a cell, lock and suite of this
    checkout; without --plan at most 7 days old. With --plan: also the planned shard (folder
    records-SHARD), since the plan, at L3 or --isolation. Rejected items are reported (exit 1).

    A withdrawn record's line stays and is ignored; 12 digits of the digest suffice.

    Examples: compat ci record tff --rejudge; compat ci record tff --from planned; compat ci record
    tff --from handed --plan plan.json; compat ci record tff --withdraw 0a1b2c3d4e5f --because "the
    suite read a file of its own"
    """
    if rejudge + bool(withdraw) + (source is not None) != 1:
        ways = "--rejudge (judge cached evidence again), --from FOLDER (import), --withdraw DIGEST"
        raise UsageError.of(f"name one of {ways}")
    if source is None and (plan is not None or made_by or level):
        raise UsageError.of("--plan, --run-url and --isolation need --from FOLDER")
    if withdraw and (len(withdraw) < 12 or not because):
        message = "--withdraw needs at least 12 digits of a digest, and --because TEXT"
        raise UsageError.of(message)
    workspace = workspace_of(matrix)
    if source is not None:
        if source.is_symlink() or not source.is_dir():
            raise UsageError.of("is not a directory", path=str(source), hint="--from FOLDER")
        intake = _Intake(workspace)
        # A shard's folder has records alone, whatever else a cell has put there.
        if plan is None and any((source / name).exists() for name in _OF_MATRIX):
            intake.matrix(source)
        else:
            intake.records(source, plan, made_by, level)
        raise Exit(intake.end())
    if withdraw:
        withdrawn = workspace.store.withdraw(withdraw, because)
        envelope({"withdrawn": [record.cell for record in withdrawn]})
        for record in withdrawn:
            say(f"{record.cell}  {record.outcome} of {record.started:%Y-%m-%d %H:%M} is withdrawn")
        if not withdrawn:
            note(f"no record has a digest that begins with {withdraw}")
        raise Exit(0 if withdrawn else 1)
    changed, suite_faults = pipeline.rejudged(workspace, without_paths)
    for record in suite_faults:
        note(f"warning: {record.cell} is not recorded again: {record.outcome}")
    rows = [{"id": record.cell, "outcome": str(record.outcome)} for record in changed]
    envelope({"changed": rows})
    say(*(f"{record.cell}  {record.outcome}" for record in changed))
    differing = count(len(changed), "record differs", "records differ")
    note(f"{differing} when judged again")


class Shards(Value, frozen=True):
    """The output of `compat plan --github`: shards, and when each was planned."""

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
        hint = "`compat plan MATRIX --budget 90m --github` writes one"
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
    tiers, shards = dict[str, Tier](), dict[str, str]()
    for row in rows:
        tiers |= dict.fromkeys(row.smoke.split(), "smoke")
        tiers |= dict.fromkeys(row.cells.split(), "full")
        shards |= dict.fromkeys(f"{row.cells} {row.smoke}".split(), f"records-{row.shard}")
    return Checkout(
        matrix=workspace.name,
        cells=frozenset(
            c.id for c in lockable_cells(workspace.facts_of(workspace.stored_or_fetched))
        ),
        locks={cell: stored_lock(path) for cell, path in workspace.lock_paths()},
        suite_digest=workspace.context.suite_digest,
        suite_ids=suite_ids(workspace.suite_texts),
        moment=now(),
        since=min((row.since for row in rows), default=oldest),
        run_url=made_by or run_url(),
        # Without a word about it a plan asks for the level that moves floors.
        isolation=level or (None if plan is None else "L3"),
        owed=expected_capabilities(workspace.suite_folder, workspace.matrix.suite),
        shards=None if plan is None else shards,
        tiers=tiers,
    )


def _lock_text(folder: Path, name: str) -> str:
    """Return the text of a lock that was handed over, without following links; raise
    DeclarationError for anything else.
    """
    if not name.endswith(".txt"):
        raise DeclarationError.of("is not a lock")
    try:
        content = read_bytes(folder, name, _MOST_BYTES + 1)
    except OSError as error:
        raise DeclarationError.of("is not a regular file", path=name) from error
    if len(content) > _MOST_BYTES:
        raise DeclarationError.of(f"is larger than {_MOST_BYTES:,} bytes", path=name)
    return content.decode(errors="replace")


class _Intake:
    """What another machine measured: what is imported by kind, what was known, and the faults."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.taken = defaultdict[str, list[str]](list)
        self.there: list[str] = []
        self.faults: list[Fault] = []
        self._asked = self._left = 0

    @cached_property
    def facts(self) -> Feasibility:
        return self.workspace.facts_of(self.workspace.stored_or_fetched)

    def end(self) -> int:
        taken = [name for names in self.taken.values() for name in names]
        refused = [fault.path for fault in self.faults]
        envelope({"kept": taken, "known": self.there, "refused": refused}, self.faults)
        say(*(f"{name}  imported" for name in taken))
        report(self.faults)
        if self._left:
            note(f"{self._left:,} more were not imported: too many to resolve again")
        tally = listed([count(len(names), kind) for kind, names in self.taken.items()])
        others = f"{len(self.there)} already here, {len(self.faults)} rejected"
        note(f"{tally or 'nothing'} imported, {others}")
        # A folder of a matrix may have nothing new; one of records is to have some.
        is_empty = "record" in self.taken and not (taken or self.there)
        return 1 if self.faults or is_empty else 0

    @contextmanager
    def about(self, place: str) -> Iterator[None]:
        try:
            yield
        except DeclarationError as error:
            self.faults += (msgspec.structs.replace(f, path=f.path or place) for f in error.faults)

    def records(
        self, folder: Path, plan: Path | None, made_by: str, level: Isolation | None
    ) -> None:
        """Import records; `plan` is the file with the shards, `made_by` the URL of the run."""
        taken = self.taken["record"]
        try:
            shards = None if plan is None else shards_in(plan)
            checkout = _checkout(self.workspace, made_by, shards, level)
            for name, record in handed(folder, checkout):
                if isinstance(record, Fault):
                    self.faults.append(record)
                else:
                    (taken if self.workspace.store.add(record) else self.there).append(name)
        except OSError as fault:
            raise CompatError.of(f"cannot be listed: {reason(fault)}") from fault
        if unreadable := checkout.suite_ids.unreadable:
            where = "/".join(filter(None, (self.workspace.matrix.suite.path, unreadable)))
            note(
                f"warning: capabilities were not compared with the suite: {where} creates"
                " ids that only a run can determine"
            )

    def matrix(self, folder: Path) -> None:
        """Import what is sound of a matrix's folder; a damaged file is a fault."""
        # Locks come first, as a successful plain install needs its own here.
        if (folder / LOCKS).is_dir():
            self.locks(folder / LOCKS)
        for name in (None, *self.workspace.matrix.platforms):
            with self.about(PLATFORMS):
                self.installs(folder if name is None else folder / PLATFORMS / name, name)
        with self.about(CLAUSES):
            self.learnt(ResolverFiles(folder, self.workspace.matrix))

    def locks(self, folder: Path) -> None:
        workspace, taken = self.workspace, self.taken["lock"]
        planned = {cell.id: cell for cell in lockable_cells(self.facts)}
        for number, listed_name in enumerate(sorted(os.listdir(folder))[: _MOST_FILES + 1]):
            name = listed_name.encode(errors="backslashreplace").decode()
            with self.about(name):
                if number == _MOST_FILES:
                    most = f"at most {_MOST_FILES:,} can be imported at once"
                    raise DeclarationError.of(f"is one file too many: {most}")
                cell, text = name.removesuffix(".txt"), _lock_text(folder, listed_name)
                path = workspace.lock_path(cell)
                before = files.read_if_present(path) if cell in planned else None
                if before == text.encode():
                    self.there.append(name)
                    continue
                lock = imported_lock(text, name, planned, self.facts, workspace.source)
                workspace.keep_lock(cell, lock)
                taken.append(name)

    def installs(self, folder: Path, name: PlatformName | None) -> None:
        """Import results of plain installs, here or on a platform, whose locks lie beside them."""
        workspace, elsewhere, facts = self.workspace, self.workspace.platforms, self.facts
        path = folder / (PLAIN if name is None else ANSWERS)
        if not path.is_file():
            return
        if name is None:
            source, known = PLAIN, workspace.learnt.plain
            stray = "is not a plain install of this matrix"
            ids = [install.cell for install in declared_installs(facts) if install.cell]
        else:
            source, known = f"{name}/{ANSWERS}", elsewhere.answers(name)
            stray = "is already answered by metadata"
            facts = elsewhere.facts(workspace.matrix, workspace.stored_or_fetched, name)
            opened = (i for i in workspace.snapshot.platform_installs if i.platform == name)
            ids = [split_platform(install.cell)[0] for install in opened if install.is_open]
        planned = {cell: parse_cell(cell, workspace.matrix) for cell in ids}
        answers = decode_answers(files.read(path).decode(errors="replace"), source)
        for place, answer in self._timely(source, answers.values(), known, planned, stray):
            with self.about(place):
                lock: Lock | None = None
                if answer.refusal is None and name is None:
                    if answer.cell not in workspace.lock_digests:
                        raise DeclarationError.of("reports packages, but its lock is not here")
                elif answer.refusal is None:
                    named = f"{answer.cell}.txt"
                    text = _lock_text(folder / LOCKS, named)
                    lock = imported_lock(text, named, planned, facts, workspace.source)
                for own in self.checked(answer, facts, planned[answer.cell]):
                    if name is None:
                        store_answers(workspace.folder, PLAIN, [own])
                    else:
                        elsewhere.store_answer(name, own, lock)
                    self.taken["answer"].append(place)
        workspace.refresh()

    def _timely(
        self,
        source: str,
        handed_over: Iterable[Dated],
        known: Mapping[str, Dated],
        planned: Mapping[str, Cell],
        stray: str,
    ) -> Iterator[tuple[str, Dated]]:
        day = self.workspace.day
        for answer in handed_over:
            before, why, place = known.get(answer.cell), "", f"{source}: {answer.cell}"
            if answer == before:
                self.there.append(place)
                continue
            if answer.cell not in planned:
                why = stray
            elif not -1 <= (day - answer.on).days <= _MOST_DAYS:
                why = f"is of {answer.on}, not of the last {_MOST_DAYS} days"
            elif before is not None and answer.on < before.on:
                why = f"is of {answer.on}, older than the stored one of {before.on}"
            if why:
                self.faults.append(Fault(code=DeclarationError.code, path=place, message=why))
            else:
                yield place, answer

    def learnt(self, handed_over: ResolverFiles) -> None:
        """Import clauses and probes.

        A clause is sound if it is recent, its facts are among those of its own cell on a Python
        that it names, no locked cell has them, and resolution fails here too on each of its
        Pythons. A probe is sound if a sound clause or the resolver confirms it. Clauses about files
        rest on a run, whose record is imported instead.
        """
        workspace, facts, known = self.workspace, self.facts, self.workspace.learnt.clauses
        conflicts, probed = handed_over.clauses.conflicts, handed_over.probes.values()
        if not (conflicts or probed):
            return
        cells = {cell.id: cell for cell in every_cell(facts)}
        series = {
            cell.id: str(cell.on(facts.matrix.interpreters.name).version) for cell in cells.values()
        }
        on = {series[name]: cell for name, cell in cells.items()}
        demands, stray = Demands(facts), "is not a cell of this matrix"
        learner = ClauseLearner(facts, self.locker.lock, (), workspace.day, without_paths)
        settled = {(c.facts, p) for c in known.conflicts for p in c.pythons}
        new = [c for c in conflicts if not settled.issuperset((c.facts, p) for p in c.pythons)]
        new.sort(key=lambda c: (c.facts, c.outcome))
        clauses: list[Clause] = []
        for place, clause in self._timely(CLAUSES, new, {}, cells, stray):
            with self.about(place):
                self._refuse_unfit(clause, cells, series, demands)
                if not self.may_ask(len(clause.pythons)):
                    continue
                for python in clause.pythons:
                    refusal = learner.ask(on[python], frozenset(clause.facts))
                    if refusal is None:
                        why = f"does not resolve there, but resolves here, on Python {python}"
                        raise DeclarationError.of(why)
                    # As the resolver here words it.
                    subject = without_paths(refusal.subject)
                    failed = Failed(stage="lock", cause=refusal.cause, subject=subject)
                    because = without_paths(refusal.because) or "it finds no solution"
                    own = msgspec.structs.replace(clause, outcome=str(failed), because=because)
                clauses.append(own)
                self.taken["clause"].append(place)
        if clauses:
            both = msgspec.structs.replace(known, conflicts=(*known.conflicts, *clauses))
            store_clauses(workspace.folder, workspace.matrix, both)
        book = ClauseBook([*known.conflicts, *clauses])
        for place, probe in self._timely(PROBES, probed, workspace.learnt.asked, cells, stray):
            with self.about(place):
                cell = cells[probe.cell]
                if facts.obstacle(cell) is not None:
                    continue  # the plan says more of it
                own_probes = [_republished(probe)]
                if not book.answer(demands.of(cell), series[cell.id]):
                    own_probes = [*self.checked(probe, facts, cell)]
                elif probe.refusal is None:
                    raise DeclarationError.of("reports packages, but a clause excludes it")
                for each in own_probes:
                    store_answers(workspace.folder, PROBES, [each])
                    self.taken["probe"].append(place)

    def _refuse_unfit(
        self, clause: Clause, cells: Mapping[str, Cell], series: Mapping[str, str], demands: Demands
    ) -> None:
        workspace, asked = self.workspace, set(clause.facts)
        of_own = demands.of(cells[clause.cell])
        if series[clause.cell] not in clause.pythons or not any(asked <= held for held in of_own):
            raise DeclarationError.of("names facts that its own cell does not have here")
        if strange := sorted({*clause.pythons} - {*series.values()}):
            raise DeclarationError.of(
                f"names Python {strange[0]}, which no cell of this matrix has"
            )
        for name in workspace.lock_digests:
            locked = cells.get(name)
            if locked is None or series[name] not in clause.pythons:
                continue
            held_by = demands.of(locked)
            if (
                held_by
                and all(asked <= held for held in held_by)
                and self.facts.obstacle(locked) is None
                and (lock := workspace.lock(name)) is not None
                and requires_as_declared(self.facts, locked, lock)
            ):
                raise DeclarationError.of(f"{name} has a lock with {' and '.join(clause.facts)}")

    @cached_property
    def locker(self) -> Locker:
        """Builds nothing: a machine that stores records must not run other people's code."""
        from compat.cli.this_machine import uv_locker

        return uv_locker(self.workspace)

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
        own = answer_of(cell.id, result, answer.on, without_paths)
        if own.refusal is None:
            raise DeclarationError.of(f"is {refusal} there, but resolves here")
        return [own]


def _republished(answer: PlainAnswer) -> PlainAnswer:
    refusal = answer.refusal
    if refusal is None:
        return PlainAnswer(cell=answer.cell, on=answer.on, outcome=LOCKED)
    failed = Failed(stage="lock", cause=refusal.cause, subject=without_paths(refusal.subject))
    because = without_paths(answer.because)
    return PlainAnswer(cell=answer.cell, on=answer.on, outcome=str(failed), because=because)
