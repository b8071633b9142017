"""The command `compat`: its groups, and how errors end in an exit code."""

import os
import sys
from collections.abc import Sequence

import typer

from compat.cli import version
from compat.cli.command_table import LazyGroup
from compat.errors import CompatError, Fault

# typer may bring click along or use the installed one; the base of its own class is right in both
# cases.
WrongUsage: type[Exception] = typer.BadParameter.__bases__[0]

app = typer.Typer(
    cls=LazyGroup,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.callback()(version.options)


def main() -> None:
    """Run the command line and leave with one exit code.

    0 yes; 1 done, with findings; 2 wrong usage or declaration; 3 infrastructure, incomplete;
    4 authentication; 130 interrupted.
    """
    try:
        code = app(args=sys.argv[1:] or ["--help"], prog_name="compat", standalone_mode=False)
        sys.stdout.flush()
    except CompatError as error:
        _tell(error.faults)
        code = error.exit_code
    except WrongUsage as error:
        message = str(getattr(error, "format_message", error.__str__)())
        _tell(
            [Fault(code="usage", path="", message=message, hint="compat --help shows the commands")]
        )
        code = 2
    except (KeyboardInterrupt, typer.Abort):
        print("compat: interrupted", file=sys.stderr)
        code = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code if isinstance(code, int) else 0)


def _tell(faults: Sequence[Fault]) -> None:
    # What prints is imported where it is needed, see `docs/architecture.md`.
    from compat.cli.output import envelope, report

    report(faults)
    if "--json" in sys.argv:
        envelope(None, faults)
