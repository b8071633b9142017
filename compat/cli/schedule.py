"""The command that shows the coming moves of minimum versions: schedule."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from compat import files, pipeline
from compat.cli.arguments import Option, given
from compat.cli.options import MatrixName, PolicyDay, policy_day, workspace_of
from compat.cli.output import envelope, say, table
from compat.policy.calendar import Schedule, schedule
from compat.policy.outlook import outlooks


def schedule_command(
    matrix: MatrixName,
    day: PolicyDay = "",
    ics: Annotated[Path | None, Option("--ics", help="Write the calendar to this file.")] = None,
) -> None:
    """List the coming moves of every minimum, three years ahead.

    Examples: compat matrix schedule tff; compat matrix schedule tff --json; compat matrix schedule
    tff --ics tff.ics
    """
    workspace = workspace_of(matrix)
    when = policy_day(day, workspace)
    snapshot = pipeline.known_on(workspace, when)
    coming = schedule(snapshot, when)
    if ics is not None:
        from compat.site.exports.ical import ical

        files.write(ics, ical(coming))
    if given.as_json:
        envelope(msgspec.structs.asdict(coming))
        return
    _print_schedule(coming)
    for outlook in outlooks(snapshot, when):
        say(f"  {outlook.sentence}.")


def _print_schedule(coming: Schedule) -> None:
    say(f"{coming.title}: coming moves of its minimum versions, {coming.day} to {coming.until}")
    for package, rule in dict.fromkeys((move.package, move.rule) for move in coming.moves):
        say(f"  {package}: the minimum may rise to {rule}")
    rows = [
        (
            *(move.wording, f"{move.package} {move.to}", move.state, move.released, move.source),
            "yes" if move.proven else "no",
        )
        for move in coming.moves
    ]
    table(("when", "minimum", "state", "release date", "source", "proven"), rows)
    for move in coming.moves:
        for because in (move.held, "" if move.proven else move.proof):
            if because:
                say(f"  {move.package} {move.to}: {because}")
    names = ("from", "minimum by the rules", "with the moves that are proven now")
    table(names, [(m.on, _versions(m.floors), _versions(m.proven)) for m in coming.minimums])


def _versions(pairs: Sequence[tuple[str, Any]]) -> str:
    return ", ".join(f"{axis} {version}" for axis, version in pairs)
