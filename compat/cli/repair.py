"""The command that finds the smallest changes with which refused cells can be locked."""

from typing import Annotated, Any

import tomlkit
import typer

from compat import questions
from compat.cli.lockers import locker_of
from compat.cli.machine_search import MachineSearch
from compat.cli.options import (
    ExtraIndexUrl,
    IndexUrl,
    IsolationLevel,
    Json,
    MatrixName,
    Root,
    refuse_faulty_suite,
    workspace_of,
)
from compat.cli.output import envelope, note, say
from compat.cli.repair_all import repair_all
from compat.errors import DeclarationError, UsageError
from compat.plan.named import named_cells
from compat.plan.platform import python_name, python_remedy
from compat.results.judged import JudgedRun
from compat.rewrite.rule_text import rule_text
from compat.run.outcome import Failed, is_suite_fault
from compat.search.corrections import LARGEST
from compat.search.repair import MovedPackage, Repair, RepairOptions, Repairs
from compat.site.wording import count, listed
from compat.workspace import Workspace

CellName = Annotated[
    str, typer.Argument(metavar="[CELL]", help="The id of a cell; or --all-refused.")
]
WithoutRules = Annotated[
    bool,
    typer.Option("--without-rules", help="Begin with the published metadata, without our rules."),
]
Verify = Annotated[
    bool, typer.Option("--verify/--no-verify", help="Install and import the best of them.")
]
Locks = Annotated[
    int, typer.Option("--locks", min=1, metavar="N", help="At most so many resolutions a cell.")
]
AllRefused = Annotated[
    bool, typer.Option("--all-refused", help="Every cell that is known to be refused.")
]
Sample = Annotated[
    int | None, typer.Option("--sample", min=1, help="Only so many of them, by chance.")
]
Seed = Annotated[int, typer.Option("--seed", help="Of that chance.")]
BudgetText = Annotated[
    str, typer.Option("--budget", metavar="90m", help="Begin no cell after so much time.")
]


def repair_command(
    matrix: MatrixName,
    cell: CellName = "",
    without_rules: WithoutRules = False,
    verify: Verify = True,
    locks: Locks = 100,
    all_refused: AllRefused = False,
    sample: Sample = None,
    seed: Seed = 0,
    budget: BudgetText = "",
    isolation: IsolationLevel = "",
    as_json: Json = False,
    root: Root = None,
    index_url: IndexUrl = None,
    extra_index_url: ExtraIndexUrl = None,
) -> None:
    """Find the smallest changes of requirements with which a cell can be locked.

    The versions that the cell names stay. Up to three packages are moved to other versions; to
    leave one out is not tried. Each change is a lock that the resolver made; the best is installed
    and imported, and where that fails the next. What is printed for matrix.toml lets compat run the
    whole suite.

    With --all-refused one change often mends many cells; nothing is installed then. What was found
    is kept: the same command goes on where it was stopped.

    Ends with 0 when a change is found or none is needed, with 1 when there is none so small or none
    that imports, with 3 when the resolutions or the time ran out.

    Examples: compat repair tff py3.11-tf2.14-tff0.87.0 --without-rules; compat repair tff
    --all-refused --sample 40 --seed 7
    """
    if bool(cell) is all_refused:
        raise UsageError.of("name a cell, or --all-refused: one of the two")
    if not all_refused and (sample is not None or budget):
        raise UsageError.of("--sample and --budget go with --all-refused")
    workspace = workspace_of(matrix, root, index_url, extra_index_url)
    if all_refused:
        choice = (sample, seed, budget, locks)
        raise typer.Exit(repair_all(workspace, not without_rules, choice, as_json))
    cells = named_cells(workspace.facts_of(workspace.kept_or_asked), [cell])
    if len(cells) != 1:
        hint = f"for example {cells[0].id}"
        raise UsageError.of(f"{cell!r} names {count(len(cells), 'cell')}, not one", hint=hint)
    if verify:
        refuse_faulty_suite(workspace)  # before the search, whose answer would be lost
    options = RepairOptions(most_locks=locks)
    locker = locker_of(workspace, "uv")
    answer = questions.repaired(workspace, cells[0], locker, not without_rules, options)
    verifying = verify and bool(answer.repairs) and bool(answer.refusal)
    runs = _verified(workspace, answer, isolation) if verifying else {}
    if as_json:
        envelope(_payload(answer, runs))
    else:
        _print(answer, runs, workspace)
    raise typer.Exit(_exit_code(answer, runs))


def _verified(workspace: Workspace, answer: Repairs, isolation: str) -> dict[str, JudgedRun]:
    """Install and import the repairs in their order until one does; what each came to, by the
    digest of its lock.
    """
    search = MachineSearch(workspace, isolation)
    runs: dict[str, JudgedRun] = {}
    for repair in answer.repairs:
        missing = search.machine.missing_interpreter(repair.lock)
        if missing is not None:
            name = python_name(missing, repair.lock.inputs.platform)
            note(f"not imported, as this machine has no Python {name}; {python_remedy(name)}")
            return {}
        with search.progress([answer.cell]) as progress:
            run = questions.imported(
                workspace, answer.cell, repair.lock, search.machine, search.cancel, progress
            )
        search.exit_if_interrupted()
        if run is not None and is_suite_fault(run.outcome):
            path = f"matrices/{workspace.name}/matrix.toml"
            raise DeclarationError.of(f"the subject cannot be imported: {run.outcome}", path=path)
        if run is not None:
            runs[repair.lock.digest] = run
            if not isinstance(run.outcome, Failed):
                break
    return runs


def _exit_code(answer: Repairs, runs: dict[str, JudgedRun]) -> int:
    if answer.repairs:
        all_fail = runs and all(isinstance(run.outcome, Failed) for run in runs.values())
        return 1 if all_fail else 0
    return 1 if answer.is_complete else 3


def _best(answer: Repairs, runs: dict[str, JudgedRun]) -> Repair:
    """The first repair that imports; where none was seen to, the one that moves least."""
    imported = (
        repair
        for repair in answer.repairs
        if (run := runs.get(repair.lock.digest)) and not isinstance(run.outcome, Failed)
    )
    return next(imported, answer.repairs[0])


def _print(answer: Repairs, runs: dict[str, JudgedRun], workspace: Workspace) -> None:
    if not answer.refusal and answer.repairs:
        say(f"{answer.cell} can be locked as it is")
        return
    say(f"{answer.cell} cannot be locked as it is: {answer.refusal}")
    for conflict in answer.conflicts:
        if len(conflict) == 1:
            say(f"  cannot hold: the published requirement of {conflict[0]}")
        elif conflict:
            say(f"  cannot all hold: the published requirements of {listed(conflict)}")
    if not answer.repairs:
        least = "" if answer.is_complete else f", as far as {count(answer.locks, 'lock')} tell"
        say(f"moving up to {LARGEST} packages does not mend it{least}; none was left out")
        if answer.remains:
            say(f"  when all of them have given way: {answer.remains}")
        return
    for number, repair in enumerate(answer.repairs, start=1):
        say(f"{number}. {_sentence(repair)}{_seen(repair, runs)}")
    best = _best(answer, runs)
    rule = _rule(best, runs, workspace)
    if rule:
        say()
        say(f"For matrix.toml, number {answer.repairs.index(best) + 1}:")
        say()
        for line in rule.splitlines():
            say(line)
    if pins := _constraints(best):
        say()
        say("For a project of your own, in the pyproject.toml that uv reads:")
        say()
        for line in _override(pins).splitlines():
            say(line)
        subject = workspace.matrix.subject_axis.package
        say()
        say(f"As a constraints file; pip heeds it when {subject} is installed with --no-deps, as")
        say("its published requirements forbid these:")
        for line in pins:
            say(f"  {line}")
    run = "the best was installed and imported; no suite was run" if runs else "none was run"
    note(f"{count(answer.locks, 'lock')} were made; {run}")


def _seen(repair: Repair, runs: dict[str, JudgedRun]) -> str:
    run = runs.get(repair.lock.digest)
    if run is None:
        return ""
    failed = isinstance(run.outcome, Failed)
    return f"; but {run.outcome}" if failed else "; it was installed and imported"


def _sentence(repair: Repair) -> str:
    return listed([change(moved) for moved in repair.moved]) or "nothing but the cell's own place"


def change(moved: MovedPackage) -> str:
    """Return in words what a repair makes of a package."""
    if moved.version is None:
        return f"{moved.package} left out"
    away = [] if moved.releases is None else [count(moved.releases, "release")]
    away += [] if moved.days is None else [count(moved.days, "day")]
    apart = f", {' and '.join(away)} away" if away else ""
    published = moved.published or "what other packages ask"
    return f"{moved.package} {moved.version} instead of {published}{apart}"


def _constraints(repair: Repair) -> list[str]:
    return [f"{moved.package}=={moved.version}" for moved in repair.moved if moved.version]


def _override(pins: list[str]) -> str:
    overrides = tomlkit.array().multiline(True)
    overrides.extend(pins)
    uv = tomlkit.table()
    uv["override-dependencies"] = overrides
    tool = tomlkit.table(is_super_table=True)
    tool["uv"] = uv
    document = tomlkit.document()
    document["tool"] = tool
    return tomlkit.dumps(document)


def _rule(repair: Repair, runs: dict[str, JudgedRun], workspace: Workspace) -> str:
    """The rule of a repair, with what is known of it."""
    if repair.rule is None:
        return ""
    run = runs.get(repair.lock.digest)
    if run is None or isinstance(run.outcome, Failed):
        return rule_text(repair.rule)
    return rule_text(repair.rule, f"; installed and imported on {workspace.day}")


def _payload(answer: Repairs, runs: dict[str, JudgedRun]) -> dict[str, Any]:
    return {
        "cell": answer.cell,
        "refusal": answer.refusal,
        "remains": answer.remains,
        "conflicts": answer.conflicts,
        "is_complete": answer.is_complete,
        "locks": answer.locks,
        "repairs": [
            {
                "moved": repair.moved,
                "rule": "" if repair.rule is None else rule_text(repair.rule),
                "constraints": _constraints(repair),
                "uv": _override(_constraints(repair)),
                "digest": repair.lock.digest,
                "import": str(run.outcome) if (run := runs.get(repair.lock.digest)) else None,
            }
            for repair in answer.repairs
        ],
    }
