"""The command that finds the smallest change with which a refused cell can be locked."""

from typing import Annotated, Any

import typer

from compat import pipeline
from compat.cli.lockers import locker_of
from compat.cli.options import (
    ExtraIndexUrl,
    IndexUrl,
    Json,
    MatrixName,
    Root,
    workspace_of,
)
from compat.cli.output import envelope, note, say
from compat.errors import UsageError
from compat.plan.named import named_cells
from compat.rewrite.rule_text import rule_text
from compat.search.corrections import LARGEST
from compat.search.repair import MovedPackage, Repair, Repairs
from compat.site.wording import count, listed

CellName = Annotated[str, typer.Argument(metavar="CELL", help="The id of a cell.")]
WithoutRules = Annotated[
    bool,
    typer.Option("--without-rules", help="Begin with the published metadata, without our rules."),
]


def repair_command(
    matrix: MatrixName,
    cell: CellName,
    without_rules: WithoutRules = False,
    as_json: Json = False,
    root: Root = None,
    index_url: IndexUrl = None,
    extra_index_url: ExtraIndexUrl = None,
) -> None:
    """Find the smallest changes of requirements with which a cell can be locked.

    The versions that the cell names stay. Each change is a lock that the resolver made, none has
    been run: what is printed for matrix.toml lets compat run it.

    Ends with 0 when a change is found or none is needed, with 1 when there is none so small.

    Examples: compat repair tff py3.11-tf2.14-tff0.87.0 --without-rules
    """
    workspace = workspace_of(matrix, root, index_url, extra_index_url)
    cells = named_cells(workspace.facts_of(workspace.kept_or_asked), [cell])
    if len(cells) != 1:
        hint = f"for example {cells[0].id}"
        raise UsageError.of(f"{cell!r} names {count(len(cells), 'cell')}, not one", hint=hint)
    wanted = cells[0]
    locker = locker_of(workspace, "uv")
    answer = pipeline.repaired(workspace, wanted, locker, with_rules=not without_rules)
    if as_json:
        envelope(_payload(answer))
    else:
        _print(answer)
    raise typer.Exit(0 if answer.repairs else 1)


def _print(answer: Repairs) -> None:
    if not answer.refusal:
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
        say(f"no change of up to {LARGEST} requirements mends it{least}")
        return
    for number, repair in enumerate(answer.repairs, start=1):
        say(f"{number}. {_sentence(repair)}")
    best = answer.repairs[0]
    if best.rule is not None:
        say()
        say("For matrix.toml, the first of them:")
        say()
        for line in rule_text(best.rule).splitlines():
            say(line)
    say()
    say("For a project of your own, as constraints; with uv also as override-dependencies:")
    for line in _constraints(best):
        say(f"  {line}")
    note(f"{count(answer.locks, 'lock')} were made; none of them has been run")


def _sentence(repair: Repair) -> str:
    return listed([_change(moved) for moved in repair.moved]) or "nothing but the cell's own place"


def _change(moved: MovedPackage) -> str:
    if moved.version is None:
        return f"{moved.package} left out"
    apart = "" if moved.releases is None else f", {count(moved.releases, 'release')} away"
    published = moved.published or "what other packages ask"
    return f"{moved.package} {moved.version} instead of {published}{apart}"


def _constraints(repair: Repair) -> list[str]:
    return [f"{moved.package}=={moved.version}" for moved in repair.moved if moved.version]


def _payload(answer: Repairs) -> dict[str, Any]:
    return {
        "cell": answer.cell,
        "refusal": answer.refusal,
        "conflicts": answer.conflicts,
        "is_complete": answer.is_complete,
        "locks": answer.locks,
        "repairs": [
            {
                "moved": repair.moved,
                "rule": "" if repair.rule is None else rule_text(repair.rule),
                "constraints": _constraints(repair),
                "digest": repair.lock.digest,
            }
            for repair in answer.repairs
        ],
    }
