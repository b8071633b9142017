"""The command that finds which package, and which release of it, broke what worked."""

import time
from collections.abc import Mapping
from typing import Annotated

import msgspec

from compat import questions
from compat.cli.arguments import Argument, Option, given
from compat.cli.blame_words import Changes, SearchCost, closing, payload, sentences
from compat.cli.machine import cache_folder, install_variables
from compat.cli.machine_search import MachineSearch
from compat.cli.options import (
    IsolationLevel,
    MatrixName,
    needs_extra,
    workspace_of,
)
from compat.cli.output import envelope, note, say
from compat.errors import UsageError
from compat.fleet.batch import Batch, BatchResult, BatchSteps, RunOptions
from compat.fleet.laboratory import LabSteps, LockLaboratory
from compat.fleet.run_plan import seconds_of
from compat.lock.lockfile import Lock
from compat.plan.cell import parse_cell
from compat.plan.named import named_cells
from compat.search.blame import Blame
from compat.site.wording import count
from compat.workspace import Workspace

Good = Annotated[
    str, Argument(metavar="GOOD", help="What works: a cell, or a lock file locks/CELL.txt.")
]
Bad = Annotated[
    str, Argument(metavar="[BAD]", help="What fails; else GOOD fresh, and GOOD dated works.")
]
BudgetTime = Annotated[
    str, Option("--budget", metavar="90m", help="No run begins after so much time.")
]


def blame_command(
    matrix: MatrixName,
    good: Good,
    bad: Bad = "",
    budget: BudgetTime = "",
    isolation: IsolationLevel = "",
) -> None:
    """Find the package release that makes a cell fail.

    Days are bisected where the date is all that differs, then packages are exchanged between both
    locks, then the releases of the culprit are tried. What only breaks together is named together.
    A failure that comes and goes is told from one that stays by repetition. What was run is kept:
    a search that was stopped goes on from there when it is asked again.

    Ends with 0 when the cause is found and verified both ways, with 1 when it is not, with 3 when
    the budget or the network ended the search.

    Examples: compat blame tff py3.9-tf2.8-tff0.20.0+dated py3.9-tf2.8-tff0.20.0; compat blame tff
    py3.9-tf2.8-tff0.20.0 --budget 90m; compat blame tff old.txt new.txt
    """
    needs_extra("sources", "griffe")
    workspace = workspace_of(matrix)
    ends = _ends(workspace, good, bad)
    search, began = MachineSearch(workspace, isolation), time.monotonic()
    machine = search.machine

    def run_batch(steps: BatchSteps, locks: Mapping[str, Lock]) -> BatchResult:
        with search.progress(locks) as progress:
            batch = Batch(workspace, machine, steps, RunOptions(), search.cancel, progress)
            return batch.run([], locks)

    steps = LabSteps(
        run_cell=lambda cell: search.run([cell]),
        run_batch=run_batch,
        locker=machine.locker,
        redacted=machine.redacted,
        clock=lambda: time.monotonic() - began,
        is_stopped=search.cancel.is_set,
        tell=note,
    )
    folder = cache_folder() / "blame" / workspace.name
    laboratory = LockLaboratory(workspace, folder, steps, _seconds(budget))
    answer = questions.blamed(laboratory, *ends)
    if answer.is_verified and answer.causes:
        questions.keep_blame(workspace, laboratory, answer)
    changes = questions.changed_apis(laboratory, answer, install_variables(workspace.index))
    spent = SearchCost(runs=laboratory.runs, seconds=time.monotonic() - began)
    _print(answer, changes, spent)
    search.exit(_exit_code(answer))


def _ends(workspace: Workspace, good: str, bad: str) -> tuple[str, str]:
    """The names of both ends; a cell's is one of the plan."""
    if not bad:
        cell = parse_cell(good, workspace.matrix)
        good, bad = (msgspec.structs.replace(cell, recipe=r).id for r in ("dated", "fresh"))
    cells = [name for name in (good, bad) if not name.endswith(".txt")]
    if cells:
        named = named_cells(workspace.facts_of(workspace.kept_or_asked), cells)
        if len(named) > len(cells):
            raise UsageError.of(
                f"{' '.join(cells)} names {count(len(named), 'cell')}", hint=named[0].id
            )
    return good, bad


def _seconds(budget: str) -> float | None:
    """The seconds of `--budget`; None without one."""
    if budget and not seconds_of(budget):
        raise UsageError.of(f"--budget {budget!r} is not a time such as 90m or 1h30m")
    return float(seconds_of(budget)) if budget else None


def _print(answer: Blame, changes: Changes, spent: SearchCost) -> None:
    if given.as_json:
        envelope(payload(answer, changes, spent))
        return
    for line in sentences(answer, changes):
        say(line)
    note(closing(answer, spent))


def _exit_code(answer: Blame) -> int:
    if not answer.is_finished:
        return 3
    return 0 if answer.causes and answer.is_verified else 1
