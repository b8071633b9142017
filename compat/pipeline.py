"""The whole journey on one page: discover, plan, due, lock, run, record, propose, publish; and the
searches beside it.

Each step takes the workspace of a matrix and what it needs from outside, and returns a value.
Nothing is printed here, and neither clock nor environment is read.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace
from packaging.version import Version

from compat.errors import DeclarationError
from compat.files import read, read_if_present, texts_below, tree_state, write
from compat.index.discover import encode_catalogue
from compat.lock.lockfile import Lock, Refusal
from compat.plan.cell import Cell, parse_cell, readable_cell
from compat.plan.feasible import Feasibility
from compat.plan.plan import Infeasible, Plan, cell_status, facts_for, plan
from compat.results.infer import disproved
from compat.results.learnt import (
    LOCKED,
    Disproof,
    FileClause,
    PlainAnswer,
    StoredClauses,
    answer_of,
)
from compat.results.record import Record
from compat.results.snapshot import Snapshot
from compat.run.outcome import Failed, is_spurious, is_suite_fault
from compat.value import Value
from compat.workspace import Workspace

# A step imports the rooms that it alone needs when it is taken: whoever looks something up must
# not load what runs cells, writes pages or asks the index.
if TYPE_CHECKING:
    from compat.fleet.batch import BatchResult, LockResult, Machine, RunOptions
    from compat.fleet.laboratory import LockLaboratory
    from compat.index.release import Artifact
    from compat.lock.lockfile import Locker
    from compat.policy.evaluation import Proposal
    from compat.results.judge import JudgedRun
    from compat.results.learnt import AuditedCell, Finding
    from compat.rewrite.ranges import Move, RepositoryFile, Skipped
    from compat.search.api_change import ApiChange
    from compat.search.blame import Blame
    from compat.search.learning import CellProber, ClauseLearner
    from compat.search.repair import Repair
    from compat.site.edition import Edition
    from compat.site.publication import Written


class ProposedMoves(Value, frozen=True, kw_only=True):
    """What is proposed on a day, what is known then, and what the open moves make of the files.

    `left` says, one line each, which places in the files stay as they are, and why.
    """

    snapshot: Snapshot
    proposals: tuple[Proposal, ...]
    files: Mapping[Path, RepositoryFile]
    left: tuple[str, ...]

    @property
    def opened(self) -> tuple[Proposal, ...]:
        return tuple(proposal for proposal in self.proposals if proposal.is_open)

    @property
    def changed(self) -> tuple[RepositoryFile, ...]:
        return tuple(file for file in self.files.values() if file.before != file.after)


def discovered(workspace: Workspace, keep: bool) -> tuple[str, str]:
    """Discover: ask the index for every package; return the catalogue's text before and now."""
    before = (read_if_present(workspace.catalogue_path) or b"").decode(errors="replace")
    after = encode_catalogue(workspace.rediscovered, workspace.matrix)
    if keep and before != after:
        write(workspace.catalogue_path, after)
    if keep and workspace.matrix.platforms:
        from compat.index.discover import wheels_elsewhere

        required, source = workspace.rediscovered.required, workspace.source
        workspace.platforms.store_wheels(wheels_elsewhere(workspace.matrix, required, source))
    if keep and any(workspace.lock_paths()):
        from compat.site.edition import store_wheels

        locks = (workspace.lock(cell) for cell, _ in workspace.lock_paths())
        store_wheels(workspace.folder, filter(None, locks), workspace.source)
    return before, after


def planned(workspace: Workspace, here: frozenset[Version] | None = None) -> Plan:
    from compat.plan.plan import refuse_empty

    refuse_empty(workspace.matrix, workspace.catalogue)
    return plan(workspace.matrix, workspace.catalogue, here)


def locked(workspace: Workspace, facts: Feasibility, cell: Cell, locker: Locker) -> LockResult:
    from compat.lock.recipe import locked_cell

    facts = facts_for(facts, cell)
    fate = cell_status(facts, cell)
    if isinstance(fate, Infeasible):
        return fate
    near = _given_up_near(workspace, facts, cell)
    failed = failed_imports(workspace, facts, cell)
    return locked_cell(facts, cell, locker, workspace.source.package, near, failed)


def failed_imports(
    workspace: Workspace, facts: Feasibility, cell: Cell
) -> Iterator[Mapping[str, Version]]:
    """Third packages, with versions, by which imports failed in cells alike on the axes."""
    from compat.results.judge import asked_about
    from compat.results.record import blocked_import

    asked = asked_about(cell.id, workspace.context)
    if not asked:
        return
    subject = facts.matrix.subject_axis
    axes = {axis.name for axis in facts.matrix.packages} - {subject.name}
    for name in workspace.runs:
        other = readable_cell(name, facts.matrix)
        if other is None or other.recipe != "relaxed":
            continue
        if any(cell.on(axis) != other.on(axis) for axis in axes):
            continue
        for record in workspace.records(name):
            is_own = other.on(subject.name) == cell.on(subject.name)
            is_shared = is_own or subject.normalised_name not in record.involved
            if is_shared and blocked_import(record.outcome, record.involved, asked):
                installed = {item.name: item.version for item in record.installed}
                third = [n for n in record.involved if n in installed and n not in asked]
                yield {n: Version(str(installed[n])) for n in third}


def _given_up_near(
    workspace: Workspace, facts: Feasibility, cell: Cell
) -> Iterator[frozenset[str]]:
    from compat.lock.recipe import given_up

    places = {(c.axis, c.version): n for known in facts.coordinates.values()
              for n, c in enumerate(known)}  # fmt: skip

    def apart(other: Cell) -> tuple[int, int]:
        pairs = zip(cell.coordinates, other.coordinates, strict=True)
        steps = {
            a.axis: abs(places[a.axis, a.version] - places[b.axis, b.version]) for a, b in pairs
        }
        return steps[facts.matrix.subject], sum(steps.values())

    if cell.recipe != "relaxed" or any((c.axis, c.version) not in places for c in cell.coordinates):
        return
    locked = (readable_cell(name, facts.matrix) for name in workspace.lock_digests)
    others = [other for other in locked if other and other.recipe == "relaxed" and other != cell]
    known = (o for o in others if all((c.axis, c.version) in places for c in o.coordinates))
    for other in sorted(known, key=apart)[:2]:
        lock = workspace.lock(other.id)
        if lock is not None and facts.obstacle(other) is None:
            yield given_up(facts, other, lock)


def plain_install_of(
    workspace: Workspace,
    facts: Feasibility,
    cell: Cell,
    locker: Locker,
    redacted: Callable[[str], str],
) -> tuple[PlainAnswer, Lock | None]:
    """Lock: resolve a plain install, whatever the plan knows; build nothing for other platforms."""
    from compat.lock.recipe import locked_cell

    result = locked_cell(facts, cell, locker, workspace.source.package)
    is_elsewhere = facts.matrix.platform != workspace.matrix.platform
    if is_elsewhere and isinstance(result, Lock) and result.builds:
        pins = [f"{pin.name}=={pin.version}" for pin in result.pins if pin.name in result.builds]
        rest = "apart from what that requires, the rest resolves"
        because = f"{', '.join(pins)} {_ONLY_SOURCE}; {rest}"
        result = Refusal(cause="source-only", subject=pins[0], because=because)
    elif is_elsewhere and isinstance(result, Refusal) and result.cause == "source-only":
        result = replace(result, because=f"{result.subject} {_ONLY_SOURCE}")
    answer = answer_of(cell.id, result, workspace.day, redacted)
    return answer, result if isinstance(result, Lock) else None


def run(
    workspace: Workspace, cells: Sequence[str], machine: Machine, options: RunOptions
) -> BatchResult:
    """Run: lock what has no current lock, run and record it; set foreign records aside."""
    from compat.fleet.batch import Batch
    from compat.results.record_files import SET_ASIDE, StoreWatch

    watch = StoreWatch(workspace.store) if machine.level != "L3" else None

    def add(record: Record, attempts: Sequence[JudgedRun]) -> None:
        workspace.store.add(record if watch is None else watch.own(record))

    def locking() -> Callable[[str], LockResult]:
        facts, locker = workspace.feasibility, machine.locker()
        return lambda cell: locked(workspace, facts, parse_cell(cell, facts.matrix), locker)

    result = Batch(workspace, machine, options, add, locking, workspace.keep_lock).run(cells)
    foreign = watch.set_aside() if watch is not None else ()
    if foreign:
        machine.tell(
            f"compat: {len(foreign):,} records appeared while cells ran at {machine.level}, where a"
            f" cell can write them, and this run did not: {', '.join(foreign[:3])}"
            f"{', ...' if len(foreign) > 3 else ''}; they are in records/{SET_ASIDE} now, and"
            f" `compat ci record {workspace.name} --from` takes those that you know"
        )
    return replace(result, set_aside=foreign)


def rejudged(
    workspace: Workspace, redacted: Callable[[str], str]
) -> tuple[list[Record], list[Record]]:
    """Record: judge kept evidence again; return what differs, and what a suite's fault leaves."""
    from compat.results.judge import judged, record_of
    from compat.run.evidence import decode_evidence

    changed: list[Record] = []
    suite_faults: list[Record] = []
    folder = workspace.cache() / "evidence" / workspace.name
    for path in sorted(folder.glob("*/*/evidence.json")):
        evidence = decode_evidence(read(path))
        if evidence.postponed:
            continue
        record = record_of([judged(evidence)], tool="rejudged", redacted=redacted)
        if is_suite_fault(record.outcome):
            suite_faults.append(record)
            continue
        earlier = [
            other for other in workspace.records(record.cell) if other.started == record.started
        ]
        if earlier and not any(record.outcome in other.outcomes for other in earlier):
            workspace.store.add(record)
            changed.append(record)
    return changed, suite_faults


def proposed(
    workspace: Workspace,
    day: datetime.date,
    targets: Sequence[Path] = (),
    folders: Sequence[Path] = (),
) -> ProposedMoves:
    """Propose: the moves and extensions that a day allows, and the files after them."""
    from compat.policy.propose import proposals, proposed_extensions
    from compat.rewrite.ranges import Move, RepositoryFile

    snapshot = known_on(workspace, day)
    every = (*proposals(snapshot, day), *proposed_extensions(snapshot, day))
    opened = [proposal for proposal in every if proposal.is_open]
    before = read(workspace.matrix_path).decode(errors="replace")
    after = before
    for proposal in opened:
        from compat.rewrite.toml_values import matrix_after

        after = matrix_after(after, proposal, proposal.because)
    matrix_file = f"matrices/{workspace.name}/matrix.toml"
    moved = {workspace.matrix_path: RepositoryFile(path=matrix_file, before=before, after=after)}
    axes, moves = {axis.name: axis for axis in snapshot.matrix.axes}, []
    for proposal in opened:
        is_extension, current = proposal.kind == "extend", proposal.current
        floor = current if is_extension else proposal.lowest_run or proposal.proposed
        move = Move(
            package=axes[proposal.axis].package,
            floor=floor,
            before=current,
            known=snapshot.catalogue.coordinates(axes[proposal.axis]),
            added=proposal.proposed if is_extension else None,
        )
        moves.append(move)
    files, left = rewritten_files(targets, folders, moves, workspace.folder.parent)
    return ProposedMoves(snapshot=snapshot, proposals=every, files=moved | files, left=left)


def rewritten_files(
    targets: Sequence[Path], folders: Sequence[Path], moves: Sequence[Move], besides: Path
) -> tuple[dict[Path, RepositoryFile], tuple[str, ...]]:
    """Return each target before and after the moves, and a line for each place in the folders that
    still states a minimum which they leave. The repository is that of the folder `besides`.
    """
    from compat.rewrite.ranges import RepositoryFile

    left: list[str] = []
    done: dict[Path, RepositoryFile] = {}
    for target in targets:
        full, repository = target.resolve(), besides.parent.resolve()
        path = full.relative_to(repository) if full.is_relative_to(repository) else target.name
        text = read(target).decode(errors="replace")
        after = rewritten_by(str(target), text, moves, left)
        done[target] = RepositoryFile(path=str(path), before=text, after=after)
    passed = {path.resolve() for path in done}
    for folder in folders if moves else ():
        from compat.rewrite.file import mentions

        for name, text in texts_below(folder, besides):
            if (folder / name).resolve() not in passed:
                left += (_left(name, s) for move in moves for s in mentions(name, text, move))
    return done, tuple(dict.fromkeys(left))


def known_on(workspace: Workspace, day: datetime.date) -> Snapshot:
    """Return what is known on that day; of a day in the past, what is known today."""
    return workspace.snapshot if day <= workspace.day else workspace.snapshot_on(day)


def applied(moves: ProposedMoves) -> None:
    for path, file in moves.files.items():
        write(path, file.after)


def edition_of(
    workspaces: Iterable[Workspace], base_url: str, day: datetime.date, repository: str = ""
) -> Edition:
    from compat.results.learnt import stored_audit
    from compat.search.why import stored_needs
    from compat.site.edition import Edition, MatrixReport, stored_wheels

    reports = [
        MatrixReport(
            workspace.snapshot,
            workspace,
            workspace.suite_texts,
            workspace.described,
            stored_needs(workspace.folder),
            stored_audit(workspace.folder),
            stored_wheels(workspace.folder),
        )
        for workspace in workspaces
    ]
    return Edition(reports, base_url, day, repository)


def published(
    make: Callable[[], Edition], matrices: Path, out: Path, sources: Iterable[object] = ()
) -> Written:
    """Publish: write what has changed of a site; nothing where its `sources` have not."""
    from compat.site.publication import URLS, write_site

    return write_site(make, out, matrices / URLS, (tree_state(matrices), *sources))


def rewritten_by(path: str, text: str, moves: Sequence[Move], left: list[str]) -> str:
    from compat.rewrite.file import nearest_floor, rewritten
    from compat.rewrite.ranges import Unsatisfiable

    for move in moves:
        try:
            outcome = rewritten(path, text, move)
        except DeclarationError as error:
            left.append(f"{path}: {error.faults[0].message}")
            return text
        if isinstance(outcome, Unsatisfiable):
            nearest = nearest_floor(path, text, move)
            possible = "" if nearest is None else f"; the nearest that fits is {nearest}"
            left.append(f"{path}: {outcome.place}: {outcome.because}{possible}: {outcome.text}")
            continue
        left += (_left(path, skipped) for skipped in outcome.left)
        text = outcome.text
    return text


def _left(path: str, skipped: Skipped) -> str:
    place = skipped.place.removeprefix("line ")
    where = f"{path}:{place}" if place != skipped.place else f"{path}: {place}".rstrip(": ")
    return f"{where}: {skipped.because}{f': {skipped.text}' if skipped.text else ''}"


# The searches beside the journey follow: what they try goes through its steps.
_ONLY_SOURCE = "can be had there only as source, and no build was tried"


def repaired(workspace: Workspace, cell: Cell, locker: Locker, with_rules: bool) -> Repair:
    from compat.search.repair import repaired_cell

    facts = workspace.feasibility
    if not with_rules:
        facts = Feasibility(replace(facts.matrix, rules=()), facts.catalogue)
    refuted = partial(_refuted, workspace, cell)
    return repaired_cell(facts, cell, locker, workspace.source.package, refuted)


def _refuted(
    workspace: Workspace, cell: Cell, lock: Lock, moved: frozenset[str]
) -> tuple[str, Version, str] | None:
    """A moved package at the version with which, by the newest records, each cell of the same
    release of the subject fails that has it, while another works; and such a cell.
    """
    subject = workspace.matrix.subject
    failing: dict[tuple[str, Version], str] = {}
    passing: set[tuple[str, Version]] = set()
    for name, rows in workspace.runs.items():
        other, own = readable_cell(name, workspace.matrix), workspace.lock(name)
        if other is None or own is None or other.on(subject) != cell.on(subject):
            continue
        outcomes = [row.outcomes[-1] for row in rows if row.lock_digest == own.digest][-1:]
        pins = {(pin.name, pin.version) for pin in own.pins if pin.name in moved}
        for outcome in outcomes:
            if not isinstance(outcome, Failed):
                passing |= pins
            elif outcome.stage in ("import", "collect", "test") and not is_spurious(outcome):
                failing |= dict.fromkeys(pins, name)
    mine = [(pin.name, pin.version) for pin in lock.pins if pin.name in moved]
    return next((((*pin, failing[pin])) for pin in mine if pin in failing.keys() - passing), None)


def tried(workspace: Workspace, cell: str, lock: Lock, machine: Machine) -> JudgedRun | None:
    """Run: run the core, or all of the suite, with another lock; store nothing. None: it cannot."""
    from compat.fleet.batch import Batch, RunOptions

    runs: list[JudgedRun] = []
    options = RunOptions(tier="smoke" if workspace.matrix.suite.core else "full")
    Batch(workspace, machine, options, lambda _, a: runs.extend(a)).run([], {cell: lock})
    return runs[-1] if runs else None


def freed(
    workspace: Workspace, cell: Cell, locker: Locker, with_suite: bool = True
) -> Lock | Refusal:
    """Lock: ask about a cell without rules and bounds on packages that are on no axis."""
    from compat.lock.recipe import inputs_of, lock_cell

    facts = workspace.facts_of(workspace.stored_or_fetched)
    inputs = inputs_of(facts, cell, with_suite=with_suite, free=facts.relaxations(cell))
    return lock_cell(locker, inputs, workspace.source.package, facts.matrix.margin_days)


def blamed(laboratory: LockLaboratory, good: str, bad: str) -> Blame:
    from compat.search.blame import Blame, SearchStopped, blame

    try:
        ends = laboratory.end(good), laboratory.end(bad)
    except SearchStopped as stopped:
        return Blame(causes=(), is_backward=False, because=str(stopped), is_finished=False)
    laboratory.compare(*ends)
    return blame(*ends, laboratory)


def store_blame(workspace: Workspace, laboratory: LockLaboratory, answer: Blame) -> None:
    from compat.results.learnt import BlamedReleases, StoredBlame, store_blames

    bad = laboratory.bad
    pins = {pin.name: str(pin.version) for pin in bad.pins}
    axes = [axis.normalised_name for axis in workspace.matrix.packages]
    blames = []
    for cause in answer.causes if answer.is_verified else ():
        blamed = tuple(
            BlamedReleases(
                package=p.package,
                works=str(p.last_good),
                fails=str(p.first_bad),
                # Where days were bisected, the search's own end lies before BAD.
                also_fails=pins.get(p.package, str(p.bad)),
            )
            for p in cause.packages
            if p.last_good and p.bad
        )
        if len(blamed) == len(cause.packages):
            blames.append(
                StoredBlame(
                    cell=bad.inputs.cell,
                    on=str(workspace.day),
                    python=f"{bad.inputs.python.major}.{bad.inputs.python.minor}",
                    versions={n: pins[n] for n in axes if n in pins and n not in cause.names},
                    packages=blamed,
                    failed=str(cause.failure),
                )
            )
    if blames:
        store_blames(workspace.folder, blames)


def changed_apis(
    laboratory: LockLaboratory, answer: Blame, variables: Iterable[tuple[str, str]]
) -> dict[str, ApiChange]:
    changes: dict[str, ApiChange] = {}
    for cause in answer.causes:
        text = f"{cause.failure.thing} {cause.message}"
        for package in cause.packages:
            change = laboratory.api_change(package, text, dict(variables))
            if change is not None:
                changes[package.package] = change
    return changes


def prober(workspace: Workspace, learner: ClauseLearner, locker: Locker) -> CellProber:
    from compat.search.learning import CellProber

    facts = workspace.facts_of(workspace.stored_or_fetched)
    known = CellProber(facts, learner, locker, workspace.source.package, workspace.day)
    for cell in workspace.lock_digests:
        lock = workspace.lock(cell)
        if lock is not None:
            known.add(lock)
    return known


def audited(
    workspace: Workspace, cell: Cell, locker: Locker, learner: ClauseLearner
) -> tuple[AuditedCell, PlainAnswer]:
    """Lock: verify with a resolver that a cell cannot be locked, as its clauses say. Keeps nothing.
    If the resolver first reports a missing build, it is asked again with the clauses' facts alone.
    """
    from compat.results.learnt import AuditedCell

    clauses = learner.answer(cell)
    result = freed(workspace, cell, locker, with_suite=False)
    answer = answer_of(cell.id, result, workspace.day, learner.redacted)
    finding: Finding = "wrong" if answer.refusal is None else "agrees"
    if answer.refusal is not None and is_spurious(answer.refusal):
        agrees = all(learner.is_refused(clause, cell) for clause in clauses)
        finding = "agrees" if agrees else "no-answer"
    inferred, outcome = clauses[0].outcome if clauses else "", answer.outcome
    asked = AuditedCell(cell=cell.id, inferred=inferred, outcome=outcome, finding=finding)
    return asked, answer


def resolver_files(workspace: Workspace) -> tuple[FileClause, ...]:
    from compat.search.learning import file_clauses

    package = workspace.source.package(workspace.matrix.subject_axis.normalised_name)
    # The kept catalogue has no addresses.
    listed = {wheel.filename: wheel for release in package.releases for wheel in release.artifacts}

    def contents(artifact: Artifact) -> dict[str, str]:
        wheel = listed.get(artifact.filename)
        return {} if wheel is None else workspace.source.contents(wheel)

    return file_clauses(workspace.snapshot, contents)


def settled(
    workspace: Workspace, locked: Iterable[str] = ()
) -> tuple[tuple[Disproof, ...], tuple[str, ...]]:
    """Record: remove what locks, also today's, or runs disproved; return it and its cells."""
    from compat.results.learnt import PROBES, store_answers, store_clauses

    if (clauses := workspace.learnt.clauses) == StoredClauses():
        return (), ()
    entries = filter(None, map(workspace.snapshot.by_id.get, locked))
    refused = [e.id for e in entries if e.refusal and e.refusal.outcome.stage == "lock"]
    if refused:
        answers = (PlainAnswer(cell=c, on=workspace.day, outcome=LOCKED) for c in refused)
        store_answers(workspace.folder, PROBES, answers)
        workspace.refresh()
    disproofs, fell = disproved(workspace.snapshot, clauses)
    if disproofs:
        store_clauses(workspace.folder, workspace.matrix, clauses.without(disproofs))
        workspace.refresh()
    return disproofs, fell
