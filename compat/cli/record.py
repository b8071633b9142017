"""The command that records: it judges kept evidence again, or takes what other machines made."""

from pathlib import Path
from typing import Annotated

from compat import pipeline
from compat.cli import arguments as typer
from compat.cli.learnt_intake import take_learnt
from compat.cli.lock_intake import take_locks
from compat.cli.machine import without_places
from compat.cli.options import Json, MatrixName, Root, workspace_of
from compat.cli.output import envelope, note, say
from compat.cli.plain import take_plain
from compat.cli.platform_intake import take_platforms
from compat.cli.shard_intake import take
from compat.errors import UsageError
from compat.run.evidence import Isolation
from compat.site.wording import count

Rejudge = Annotated[bool, typer.Option("--rejudge", help="Judge the kept evidence again.")]
Source = Annotated[
    Path | None, typer.Option("--from", help="Take the sound records below this folder.")
]
PlanFile = Annotated[
    Path | None, typer.Option("--plan", help="What `compat plan --print github` printed.")
]
MadeBy = Annotated[
    str,
    typer.Option(
        "--run-url", help="The run that made the records; else this run of GitHub Actions."
    ),
]
Level = Annotated[
    Isolation | None,
    typer.Option("--isolation", help="Take records of this level alone; with --plan, of L3."),
]
LocksFolder = Annotated[
    Path | None, typer.Option("--locks", help="Take the sound locks of this folder.")
]
PlainFile = Annotated[
    Path | None,
    typer.Option("--plain", help="Take the sound answers about plain installs of this file."),
]


LearntFolder = Annotated[
    Path | None,
    typer.Option("--learnt", help="Take the sound clauses and probes of this folder."),
]


PlatformsFolder = Annotated[
    Path | None,
    typer.Option("--platforms", help="Take the sound answers about other platforms below this."),
]


def record_command(
    matrix: MatrixName,
    rejudge: Rejudge = False,
    source: Source = None,
    plan: PlanFile = None,
    made_by: MadeBy = "",
    level: Level = None,
    locks: LocksFolder = None,
    plain: PlainFile = None,
    learnt: LearntFolder = None,
    platforms: PlatformsFolder = None,
    as_json: Json = False,
    root: Root = None,
) -> None:
    """Judge cached evidence again, or import records of other machines.

    A record from elsewhere is taken when it is whole, new, of a cell, a lock and the suite as they
    are here, and as a run of them can leave it; one of a cell. With --plan it was also started
    since that plan was made, of a cell that the plan gives to the shard in whose folder,
    records-SHARD, it lies, and ran at L3 or at --isolation; without, it is at most 7 days old.
    Where no run is named, it names none. A lock is taken when its pins are what this checkout and
    their metadata ask for; an answer about a plain install, here or on another platform, when it is
    of the last days and newer than the one here; a clause, or a refusal, when a resolver refuses
    the same again. The others are named and refused (exit 1).

    Examples: compat ci record tff --rejudge; compat ci record tff --from handed --plan plan.json;
    compat ci record tff --locks planned/locks; compat ci record tff --plain planned/plain.json
    """
    ways_taken = (way is not None for way in (source, locks, plain, learnt, platforms))
    if sum((rejudge, *ways_taken)) != 1:
        ways = (
            "--rejudge judges the kept evidence again, --from FOLDER takes records, --locks FOLDER"
            " takes locks, --plain FILE takes answers about plain installs, --learnt FOLDER takes"
            " clauses, --platforms FOLDER takes answers about other platforms"
        )
        raise UsageError.of(f"{ways}: one of the six")
    if source is None and (plan is not None or made_by or level):
        about = "whose records they are about"
        raise UsageError.of(f"--plan, --run-url and --isolation need --from FOLDER, {about}")
    if locks is not None:
        raise typer.Exit(take_locks(workspace_of(matrix, root), locks, as_json))
    workspace = workspace_of(matrix, root)
    if plain is not None:
        raise typer.Exit(take_plain(workspace, plain, as_json))
    if platforms is not None:
        raise typer.Exit(take_platforms(workspace, platforms, as_json))
    if learnt is not None:
        raise typer.Exit(take_learnt(workspace, learnt, as_json))
    if source is not None:
        raise typer.Exit(take(workspace, source, as_json, plan, made_by, level))
    result = pipeline.rejudged(workspace, without_places)
    for record in result.suite_faults:
        note(f"warning: {record.cell} is not recorded again: {record.outcome}")
    if as_json:
        rows = [{"id": record.cell, "outcome": str(record.outcome)} for record in result.changed]
        envelope({"changed": rows})
        return
    for record in result.changed:
        say(f"{record.cell}  {record.outcome}")
    differing = count(len(result.changed), "record differs", "records differ")
    note(f"{differing} when judged again")
