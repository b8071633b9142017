"""The command that records: it judges kept evidence again, or takes what other machines made."""

from pathlib import Path

from compat import pipeline
from compat.cli.arguments import Exit, given, option
from compat.cli.installs import take_plain
from compat.cli.intake import take_learnt, take_locks, take_platforms, take_records
from compat.cli.machine import without_places
from compat.cli.options import MATRIX_NAME, workspace_of
from compat.cli.output import envelope, note, report, say
from compat.errors import UsageError
from compat.results.record_files import convert_records
from compat.run.evidence import Isolation
from compat.site.wording import count
from compat.workspace import Workspace


def record_command(
    matrix: str = MATRIX_NAME,
    rejudge: bool = option("Judge the kept evidence again."),
    source: Path | None = option("Take the sound records below this folder.", "--from"),
    plan: Path | None = option("What `compat plan --print github` printed."),
    made_by: str = option(
        "The run that made the records; else this run of GitHub Actions.", "--run-url"
    ),
    level: Isolation | None = option(
        "Take records of this level alone; with --plan, of L3.", "--isolation"
    ),
    locks: Path | None = option("Take the sound locks of this folder."),
    plain: Path | None = option("Take the sound answers about plain installs of this file."),
    learnt: Path | None = option("Take the sound clauses and probes of this folder."),
    platforms: Path | None = option("Take the sound answers about other platforms below this."),
    withdraw: str = option("Take back the record of this digest.", metavar="DIGEST"),
    because: str = option("Why it is withdrawn."),
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

    A withdrawn record keeps its line, and no question reads it; 12 digits of its digest suffice.

    Examples: compat ci record tff --rejudge; compat ci record tff --from handed --plan plan.json;
    compat ci record tff --locks planned/locks; compat ci record tff --plain planned/plain.json;
    compat ci record tff --withdraw 0a1b2c3d4e5f --because "the suite read a file of its own"
    """
    ways_taken = (way is not None for way in (source, locks, plain, learnt, platforms))
    if sum((rejudge, bool(withdraw), *ways_taken)) != 1:
        ways = (
            "--rejudge judges the kept evidence again, --from FOLDER takes records, --locks FOLDER"
            " takes locks, --plain FILE takes answers about plain installs, --learnt FOLDER takes"
            " clauses, --platforms FOLDER takes answers about other platforms, --withdraw DIGEST"
            " takes a record back"
        )
        raise UsageError.of(f"{ways}: one of the seven")
    if withdraw:
        raise Exit(_withdraw(workspace_of(matrix), withdraw, because))
    if source is None and (plan is not None or made_by or level):
        about = "whose records they are about"
        raise UsageError.of(f"--plan, --run-url and --isolation need --from FOLDER, {about}")
    if locks is not None:
        raise Exit(take_locks(workspace_of(matrix), locks))
    workspace = workspace_of(matrix)
    if plain is not None:
        raise Exit(take_plain(workspace, plain))
    if platforms is not None:
        raise Exit(take_platforms(workspace, platforms))
    if learnt is not None:
        raise Exit(take_learnt(workspace, learnt))
    if source is not None:
        raise Exit(take_records(workspace, source, plan, made_by, level))
    result = pipeline.rejudged(workspace, without_places)
    for record in result.suite_faults:
        note(f"warning: {record.cell} is not recorded again: {record.outcome}")
    if given.as_json:
        rows = [{"id": record.cell, "outcome": str(record.outcome)} for record in result.changed]
        envelope({"changed": rows})
        return
    say(*(f"{record.cell}  {record.outcome}" for record in result.changed))
    differing = count(len(result.changed), "record differs", "records differ")
    note(f"{differing} when judged again")


def _withdraw(workspace: Workspace, digest: str, because: str) -> int:
    if len(digest) < 12 or not because:
        raise UsageError.of("--withdraw needs 12 digits of a digest at least, and --because TEXT")
    withdrawn = workspace.store.withdraw(digest, because)
    if given.as_json:
        envelope({"withdrawn": [record.cell for record in withdrawn]})
    for record in () if given.as_json else withdrawn:
        say(f"{record.cell}  {record.outcome} of {record.started:%Y-%m-%d %H:%M} is withdrawn")
    if not withdrawn:
        note(f"no record has a digest that begins with {digest}")
    return 0 if withdrawn else 1


def convert_command(
    matrix: str = MATRIX_NAME,
) -> None:
    """Convert records of earlier releases.

    Records move into a file for each day. A file of the earlier form goes when its content is on
    the disk in the new one; what cannot be read stays and is named (exit 1).

    Example: compat ci convert tff
    """
    records, faults = convert_records(workspace_of(matrix).store)
    if given.as_json:
        envelope({"matrix": matrix, "records": records}, faults)
    else:
        say(f"{matrix}: {count(records, 'record')} converted")
        report(faults)
    raise Exit(1 if faults else 0)
