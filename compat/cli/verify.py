"""The command that tells whether a published site is whole: verify."""

from pathlib import Path
from typing import Annotated

from compat.cli import arguments as typer
from compat.cli.options import Json
from compat.cli.output import envelope, report, say
from compat.errors import UsageError
from compat.site.wording import count
from compat.site.writer import verified


def verify_command(
    folder: Annotated[Path, typer.Argument(help="A published site, or a copy of it.")],
    as_json: Json = False,
) -> None:
    """Check that a published site is complete and unchanged.

    Exit code 1 when not.

    The list, files.json, has every page, badge, feed and document; what is changed, missing or
    added is named.

    Examples: compat site check public
    """
    if not folder.is_dir():
        raise UsageError.of("is not a directory", path=str(folder))
    checked = verified(folder)
    if as_json:
        envelope({"listed": checked.listed}, checked.faults)
    else:
        say(
            f"{folder}: {count(checked.listed, 'file')} listed,"
            f" {count(len(checked.faults), 'fault')}"
        )
        report(checked.faults)
    raise typer.Exit(1 if checked.faults else 0)
