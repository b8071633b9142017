"""Cells that are known to be refused, mended by search: many share one reason and one repair."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec
from packaging.version import Version

from compat.declare.matrix import Relaxation, Rule
from compat.fleet.batch import Machine, job_of
from compat.fleet.local import Local, Reporter
from compat.lock.locker import Locker
from compat.lock.lockfile import Lock
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.plan.plan import Infeasible, fate_of
from compat.plan.product import product
from compat.results.judged import JudgedRun
from compat.run.canary import canary
from compat.run.job import Bench, Job
from compat.run.outcome import Failed
from compat.run.scratch import Scratch
from compat.search.repair import MovedPackage, RepairOptions, repairs
from compat.value import Value
from compat.workspace import Workspace

MendedFate = Literal["mended", "lockable", "unmendable", "open"]
# Of the repairs that fit a cell so many are tried before it is searched: each costs a resolution.
MOST_HINTS = 2


class RefusedCells(Value, frozen=True, kw_only=True):
    """The refused cells that a change of requirements may mend, and how many it cannot: a
    coordinate of theirs has no file for their Python and platform.
    """

    cells: tuple[Cell, ...]
    without_files: int


class MendedCell(Value, frozen=True, kw_only=True):
    """What became of a refused cell: `mended` by these moves, `lockable` as it is, `unmendable` by
    moving so many packages (to leave one out is not tried), or `open`, as the resolutions ran out.

    `remains` is what is in the way when every requirement has given way, `conflicts` what cannot
    hold together. `answered_by` is the cell whose repair mended it, too; empty where it was
    searched itself.
    """

    cell: str
    fate: MendedFate
    refusal: str
    remains: str = ""
    moved: tuple[MovedPackage, ...] = ()
    conflicts: tuple[tuple[str, ...], ...] = ()
    answered_by: str = ""
    locks: int = 0


def refused_cells(workspace: Workspace, facts: Feasibility) -> RefusedCells:
    """Return the cells that plan, resolver or records refuse by these facts, one for each place.

    Whether the subject declares a Python is no matter: a repair may set that aside.
    """
    matrix = facts.matrix
    subject = Relaxation(package=matrix.subject_axis.package, ignore_requires_python=True)
    any_python = Rule(
        name="any-python", effect="relax", because="to see which files are there",
        relaxations=(subject,),
    )  # fmt: skip
    undeclared = Feasibility(
        msgspec.structs.replace(matrix, rules=(*matrix.rules, any_python)), facts.catalogue
    )
    cells: list[Cell] = []
    without_files = 0
    for place in product(matrix, facts.catalogue):
        cell = Cell(matrix=matrix.name, coordinates=place, recipe="relaxed")
        if not facts.changing(cell):
            cell = msgspec.structs.replace(cell, recipe="fresh")
        if not _is_refused(workspace, facts, cell):
            continue
        relaxed = msgspec.structs.replace(cell, recipe="relaxed")
        if undeclared.unavailable(relaxed) is not None:
            without_files += 1
        else:
            cells.append(cell)
    return RefusedCells(cells=tuple(cells), without_files=without_files)


def mended_cells(
    facts: Feasibility,
    cells: Iterable[Cell],
    locker: Locker,
    workspace: Workspace,
    known: Sequence[MendedCell],
    most_locks: int,
) -> Iterator[MendedCell]:
    """Yield what becomes of each cell; what mended another, or a `known` one, is tried first.

    Raises IndexUnreachable and ToolFailed as the locker does.
    """
    mended = [answer for answer in known if answer.fate == "mended"]
    for cell in cells:
        release = facts.subject_releases(cell.on(facts.matrix.subject).version)[-1]
        python = cell.on(facts.matrix.interpreters.name).version
        asked = facts.requirements(release.version, python)
        published: dict[str, str] = {}
        for requirement in asked:
            both = (published.get(requirement.name), str(requirement.specifier))
            published[requirement.name] = ",".join(filter(None, both))
        fitting = [answer for answer in mended if _fits(answer.moved, published)]
        answer = _mended(facts, cell, locker, workspace, (fitting, most_locks))
        if answer.fate == "mended" and not answer.answered_by:
            mended.append(answer)
        yield answer


def imported_lock(
    workspace: Workspace,
    cell: str,
    lock: Lock,
    machine: Machine,
    cancel: threading.Event,
    reporter: Reporter,
    *,
    is_core: bool = False,
) -> JudgedRun | None:
    """Install a lock that the matrix does not declare, import the subject or run the core of the
    suite, and return what that came to; None where it could not be run. It is no record: it is not
    the matrix's own lock.
    """
    scratch = Scratch(machine.cells(), keep=False)
    runs: list[JudgedRun] = []

    def bench(worker: int, job: Job) -> Bench:
        return machine.bench(job, f"{scratch.folder.name}/{worker}", False)

    def known_good(job: Job) -> Job:
        inputs = job.lock.inputs
        return canary(scratch.folder / "canary", inputs.python, inputs.platform)

    job = job_of(workspace, cell, lock, "smoke" if workspace.matrix.suite.core else "full")
    if not is_core:
        job = msgspec.structs.replace(job, suite_folder="")
    try:
        fleet = Local(bench, machine.clock, cancel)
        fleet.run([job], known_good, lambda _, attempts: runs.extend(attempts), reporter)
    finally:
        scratch.close()
    return runs[-1] if runs else None


def _is_refused(workspace: Workspace, facts: Feasibility, cell: Cell) -> bool:
    if isinstance(fate_of(facts, cell), Infeasible):
        return True
    outcomes = [row.outcomes[-1] for row in workspace.runs.get(cell.id, ())[-1:]]
    if any(isinstance(last, Failed) and last.stage == "lock" for last in outcomes):
        return True
    plain = workspace.learnt.plain.get(cell.id)
    return plain is not None and plain.outcome != "locked"


def _fits(moved: Sequence[MovedPackage], published: dict[str, str]) -> bool:
    """Whether a repair speaks of requirements that this release has, too, word for word."""
    return any(package.published for package in moved) and all(
        published.get(package.package, "") == package.published for package in moved
    )


def _mended(
    facts: Feasibility,
    cell: Cell,
    locker: Locker,
    workspace: Workspace,
    effort: tuple[Sequence[MendedCell], int],
) -> MendedCell:
    fitting, most_locks = effort
    hints = sorted(fitting, key=lambda answer: len(answer.moved))[:MOST_HINTS]
    pins = tuple(
        {moved.package: f"=={moved.version}" for moved in hint.moved if moved.version is not None}
        for hint in hints
    )
    options = RepairOptions(most_locks=most_locks, enough=1, hints=pins)
    answer = repairs(facts, cell, locker, workspace.source.package, options)
    best = answer.repairs[0] if answer.repairs else None
    fate: MendedFate = "open" if not answer.is_complete else "unmendable"
    if best is not None:
        fate = "mended" if answer.refusal else "lockable"
    by = next((hint.cell for hint in hints if best and _same(hint.moved, best.moved)), "")
    return MendedCell(
        cell=cell.id,
        fate=fate,
        refusal=answer.refusal,
        remains=answer.remains,
        moved=() if best is None else best.moved,
        conflicts=answer.conflicts,
        answered_by=by,
        locks=answer.locks,
    )


def _same(one: Iterable[MovedPackage], other: Iterable[MovedPackage]) -> bool:
    def pins(moved: Iterable[MovedPackage]) -> set[tuple[str, Version | None]]:
        return {(package.package, package.version) for package in moved}

    return pins(one) == pins(other)
