"""The command `compat`: its groups, and how errors end in an exit code."""

import gc
import logging
import os
import re
import sys
from collections.abc import Sequence

import typer

from compat.cli import version
from compat.cli.command_table import Commands
from compat.errors import CompatError, Fault, visible

# typer may bring click along or use the installed one; the base of its own class is right in both
# cases.
WrongUsage: type[Exception] = typer.BadParameter.__bases__[0]

# Nearly all that a command makes lives until it ends: looking for garbage after every 700 values
# would cost a tenth of the time of most answers.
COLLECT_AFTER = 500_000

app = typer.Typer(
    cls=Commands,
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
    gc.set_threshold(COLLECT_AFTER)
    words = _logged(sys.argv[1:])
    try:
        code = app(args=words or ["--help"], prog_name="compat", standalone_mode=False)
        sys.stdout.flush()
    except CompatError as error:
        logging.getLogger(__name__).debug("where the error comes from:", exc_info=True)
        _tell(error.faults)
        code = error.exit_code
    except WrongUsage as error:
        message = str(getattr(error, "format_message", error.__str__)())
        _tell(
            [Fault(code="usage", path="", message=message, hint="compat --help shows the commands")]
        )
        code = 2
    except (KeyboardInterrupt, typer.Abort):
        print("interrupted", file=sys.stderr)
        code = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code if isinstance(code, int) else 0)


class _Safe(logging.Formatter):
    """Log lines without the logins of URLs and without control characters."""

    def format(self, record: logging.LogRecord) -> str:
        text = re.sub(r"(?<=://)[^/@\s]+@", "", super().format(record))
        return "\n".join(visible(line) for line in text.split("\n"))


def _logged(words: list[str]) -> list[str]:
    """Set up the log by `-v` or `-vv`, which stand anywhere before `--`; return the other words.

    `-v` logs each process, request and cache decision, `-vv` also where an error comes from.
    """
    end = words.index("--") if "--" in words else len(words)
    levels = {"-v": 1, "--verbose": 1, "-vv": 2}
    level = sum(levels.get(word, 0) for word in words[:end])
    if level:
        handler = logging.StreamHandler()
        handler.setFormatter(_Safe("%(relativeCreated)7d ms %(levelname)s %(name)s: %(message)s"))
        logging.basicConfig(handlers=[handler])
        logging.getLogger("compat").setLevel(logging.DEBUG if level > 1 else logging.INFO)
    return [word for word in words[:end] if word not in levels] + words[end:]


def _tell(faults: Sequence[Fault]) -> None:
    # What prints is imported where it is needed, see `docs/architecture.md`.
    from compat.cli.output import envelope, report

    report(faults)
    if "--json" in sys.argv:
        envelope(None, faults)
