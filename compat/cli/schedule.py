"""The command that shows the coming moves of minimum versions: schedule."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from compat import files, pipeline
from compat.cli.options import Json, MatrixName, PolicyDay, Root, policy_day, workspace_of
from compat.cli.output import console, envelope, say
from compat.policy.calendar import Schedule, outlooks, schedule


def schedule_command(
    matrix: MatrixName,
    day: PolicyDay = "",
    ics: Annotated[
        Path | None, typer.Option("--ics", help="Write the calendar to this file.")
    ] = None,
    as_json: Json = False,
    root: Root = None,
) -> None:
    """List the coming moves of every minimum, three years ahead.

    Examples: compat matrix schedule tff; compat matrix schedule tff --json; compat matrix schedule
    tff --ics tff.ics
    """
    workspace = workspace_of(matrix, root)
    when = policy_day(day, workspace)
    snapshot = pipeline.known_on(workspace, when)
    coming = schedule(snapshot, when)
    if ics is not None:
        from compat.site.exports.ical import ical

        files.write(ics, ical(coming))
    if as_json:
        envelope(msgspec.structs.asdict(coming))
        return
    _print_schedule(coming)
    for outlook in outlooks(snapshot, when):
        say(f"  {outlook.sentence}.")


def _print_schedule(coming: Schedule) -> None:
    say(f"{coming.title}: coming moves of its minimum versions, {coming.day} to {coming.until}")
    for package, rule in dict.fromkeys((move.package, move.rule) for move in coming.moves):
        say(f"  {package}: the minimum may rise to {rule}")
    from rich.table import Table

    table = Table("when", "minimum", "state", "release date", "source", "proven")
    for move in coming.moves:
        proven = "yes" if move.proven else "no"
        table.add_row(
            move.wording,
            f"{move.package} {move.to}",
            move.state,
            str(move.released),
            move.source,
            proven,
        )
    console().print(table)
    for move in coming.moves:
        for because in (move.held, "" if move.proven else move.proof):
            if because:
                say(f"  {move.package} {move.to}: {because}")
    minimums = Table("from", "minimum by the rules", "with the moves that are proven now")
    for minimum in coming.minimums:
        minimums.add_row(str(minimum.on), _versions(minimum.floors), _versions(minimum.proven))
    console().print(minimums)


def _versions(pairs: Sequence[tuple[str, Any]]) -> str:
    return ", ".join(f"{axis} {version}" for axis, version in pairs)
