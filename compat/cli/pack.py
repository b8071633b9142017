"""The command that puts the records of past days into batches."""

import datetime
from typing import Annotated

from compat.cli import arguments as typer
from compat.cli.machine import now
from compat.cli.options import Json, MatrixName, Root, workspace_of
from compat.cli.output import envelope, note, say
from compat.errors import UsageError
from compat.results.record_packing import pack
from compat.site.wording import count

Before = Annotated[
    str, typer.Option("--before", metavar="DATE", help="Only days before this one; else today.")
]


def pack_command(
    matrix: MatrixName, before: Before = "", as_json: Json = False, root: Root = None
) -> None:
    """Pack the records of past days into batches.

    Records of older formats are converted on the way. A batch never changes, and its name holds the
    digest of what is inside; `zcat` shows it. A record's own file goes once its batch is on the
    disk and was read back. What is wrong with a file is told, and it stays (exit 1).

    Examples: compat ci pack tff; compat ci pack tff --before 2026-11-01
    """
    day = now().date()
    if before:
        try:
            day = datetime.date.fromisoformat(before)
        except ValueError as error:
            raise UsageError.of(
                f"{before[:40]!r} is not a date such as 2026-11-01", path="--before"
            ) from error
    packed = pack(workspace_of(matrix, root).store, day)
    for fault in packed.faults:
        note(fault.line())
    if as_json:
        envelope({"matrix": matrix, "records": packed.records, "batches": packed.batches})
    else:
        batches = count(packed.batches, "new batch", "new batches")
        say(f"{matrix}: {count(packed.records, 'record')} put into {batches}")
    raise typer.Exit(1 if packed.faults else 0)
