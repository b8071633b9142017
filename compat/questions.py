"""The searches beside the journey: repair, blame, learn, audit.

Each takes the workspace of a matrix and what it needs from outside, and returns a value; what they
try goes through the steps of `pipeline`. Nothing is printed here, and neither clock nor environment
is read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace
from packaging.version import Version

from compat.lock.lockfile import Lock, Refusal
from compat.plan.cell import Cell, parse_cell, readable_cell, split_platform
from compat.plan.feasible import Feasibility
from compat.results.clauses import Disproof, FileClause, KeptClauses
from compat.results.infer import fallen
from compat.results.installs import Install
from compat.results.learnt import LOCKED, PlainAnswer, answer_of
from compat.run.outcome import Failed, is_spurious
from compat.workspace import Workspace

_ONLY_SOURCE = "can be had there only as source, and no build was tried"

# A step imports the rooms that it alone needs when it is taken: whoever looks something up must
# not load what runs cells, writes pages or asks the index.
if TYPE_CHECKING:
    from compat.fleet.batch import BatchReporter, Machine
    from compat.fleet.laboratory import LockLaboratory
    from compat.index.release import Artifact
    from compat.lock.lockfile import Locker
    from compat.results.judged import JudgedRun
    from compat.results.learnt import AuditedCell, Finding
    from compat.search.api_change import ApiChange
    from compat.search.blame import Blame
    from compat.search.learning import CellProber, RefusalLearner
    from compat.search.repair import Repair


def repaired(workspace: Workspace, cell: Cell, locker: Locker, with_rules: bool) -> Repair:
    from compat.search.repair import repaired_cell

    def refuted(lock: Lock, moved: frozenset[str]) -> tuple[str, Version, str] | None:
        return _refuted(workspace, cell, lock, moved)

    facts = _facts(workspace, with_rules)
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


def tried(
    workspace: Workspace,
    cell: str,
    lock: Lock,
    machine: Machine,
    cancel: threading.Event,
    reporter: BatchReporter,
) -> JudgedRun | None:
    from compat.fleet.batch import run_unrecorded

    return run_unrecorded(workspace, cell, lock, machine, cancel, reporter)


def freed(
    workspace: Workspace, cell: Cell, locker: Locker, with_suite: bool = True
) -> Lock | Refusal:
    """Lock: ask about a cell, a relaxed one without its rules and without bounds on packages that
    are on no axis. What those require stays.
    """
    from compat.lock.recipe import inputs_of, lock_cell

    facts = workspace.facts_of(workspace.kept_or_asked)
    inputs = inputs_of(facts, cell, with_suite=with_suite, free=facts.relaxations(cell))
    return lock_cell(locker, inputs, workspace.source.package, facts.matrix.margin_days)


def _facts(workspace: Workspace, with_rules: bool) -> Feasibility:
    facts = workspace.feasibility
    if with_rules:
        return facts
    return Feasibility(msgspec.structs.replace(facts.matrix, rules=()), facts.catalogue)


def blamed(laboratory: LockLaboratory, good: str, bad: str) -> Blame:
    from compat.search.blame import Blame, SearchStopped, blame

    try:
        ends = laboratory.end(good), laboratory.end(bad)
    except SearchStopped as stopped:
        return Blame(causes=(), is_backward=False, because=str(stopped), is_finished=False)
    laboratory.compare(*ends)
    return blame(*ends, laboratory)


def keep_blame(workspace: Workspace, laboratory: LockLaboratory, answer: Blame) -> None:
    from compat.results.learnt import BlamedReleases, KeptBlame, keep_blames

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
                KeptBlame(
                    cell=bad.inputs.cell,
                    on=str(workspace.day),
                    python=f"{bad.inputs.python.major}.{bad.inputs.python.minor}",
                    versions={n: pins[n] for n in axes if n in pins and n not in cause.names},
                    packages=blamed,
                    failed=str(cause.failure),
                )
            )
    if blames:
        keep_blames(workspace.folder, blames)


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


def prober(workspace: Workspace, learner: RefusalLearner, locker: Locker) -> CellProber:
    from compat.search.learning import CellProber

    facts = workspace.facts_of(workspace.kept_or_asked)
    known = CellProber(facts, learner, locker, workspace.source.package, workspace.day)
    for cell in workspace.lock_digests:
        lock = workspace.lock(cell)
        if lock is not None:
            known.add(lock)
    return known


def audited(
    workspace: Workspace, cell: Cell, locker: Locker, learner: RefusalLearner
) -> tuple[AuditedCell, PlainAnswer]:
    """Lock: ask in earnest about a cell that clauses say cannot be locked. Keeps nothing. Where the
    resolver speaks of a missing build first, the clauses' own facts are asked about.
    """
    from compat.results.learnt import AuditedCell

    clauses = learner.answer(cell)
    result = freed(workspace, cell, locker, with_suite=False)
    answer = answer_of(cell.id, result, workspace.day, learner.redacted)
    finding: Finding = "wrong" if answer.refusal is None else "agrees"
    if answer.refusal is not None and is_spurious(answer.refusal):
        agrees = all(learner.is_refused(clause, cell) for clause in clauses)
        finding = "agrees" if agrees else "no-answer"
    inferred = clauses[0].outcome if clauses else ""
    audited_cell = AuditedCell(
        cell=cell.id, inferred=inferred, outcome=answer.outcome, finding=finding
    )
    return audited_cell, answer


def files_learnt(workspace: Workspace) -> tuple[FileClause, ...]:
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
    """Record: remove what a lock or a run has disproved; return it, and which cells fell. Of cells
    that were `locked` today it is kept where that was known to be impossible.
    """
    from compat.results.learnt import keep_clauses, keep_probes

    if workspace.learnt.clauses == KeptClauses():
        return (), ()
    entries = (workspace.snapshot.by_id.get(cell) for cell in locked)
    refused = [
        e.cell.id
        for e in entries
        if e is not None and (e.refusal is not None and e.refusal.outcome.stage == "lock")
    ]
    if refused:
        answers = (PlainAnswer(cell=c, on=workspace.day, outcome=LOCKED) for c in refused)
        keep_probes(workspace.folder, answers)
        workspace.refresh()
    disproofs = workspace.snapshot.disproofs
    if not disproofs:
        return (), ()
    fell = fallen(workspace.snapshot, workspace.learnt.clauses)
    keep_clauses(workspace.folder, workspace.matrix, workspace.learnt.clauses.without(disproofs))
    workspace.refresh()
    return disproofs, fell


def asked_elsewhere(
    workspace: Workspace,
    facts: Feasibility,
    install: Install,
    locker: Locker,
    redacted: Callable[[str], str],
) -> tuple[PlainAnswer, Lock | None]:
    """Lock: ask a resolver about a plain install on another platform, whose facts are given, and
    return its answer with the lock, if it came to one.
    """
    from compat.lock.recipe import locked_cell

    cell = parse_cell(split_platform(install.cell)[0], facts.matrix)
    result = _without_builds(locked_cell(facts, cell, locker, workspace.source.package))
    answer = answer_of(cell.id, result, workspace.day, redacted)
    return answer, result if isinstance(result, Lock) else None


def _without_builds(result: Lock | Refusal) -> Lock | Refusal:
    if isinstance(result, Refusal):
        if result.cause != "source-only":
            return result
        return replace(result, because=f"{result.subject} {_ONLY_SOURCE}")
    if not result.builds:
        return result
    pins = [f"{pin.name}=={pin.version}" for pin in result.pins if pin.name in result.builds]
    because = f"{', '.join(pins)} {_ONLY_SOURCE}; apart from what that requires, the rest resolves"
    return Refusal(cause="source-only", subject=pins[0], because=because)
