"""The command `compat`: its words, and how errors end in an exit code."""

import gc
import os
import sys
from typing import Any

from compat.cli.arguments import Exit, WrongUsage, given, shared_taken, values_of
from compat.cli.command_table import called, declared_by, function_of, shown_help

DISTRIBUTION = "compat-matrix"
# Nearly everything lives until the command ends: collecting garbage after every 700 values would
# cost a tenth of the time of most answers.
COLLECT_AFTER = 500_000


def main() -> None:
    gc.set_threshold(COLLECT_AFTER)
    try:
        code = _done(sys.argv[1:])
        sys.stdout.flush()
    except WrongUsage as error:
        from compat.errors import Fault

        code = _told([Fault(code="usage", path="", message=str(error), hint=error.hint)], 2)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)


def _done(words: list[str]) -> int:
    if words[:1] == ["--complete"]:
        from compat.cli.completion import complete

        complete(words[1:])
        return 0
    words = shared_taken(words)
    end = words.index("--") if "--" in words else len(words)
    if not words or words[0] == "help" or {"-h", "--help"} & {*words[:end]}:
        print(shown_help([w for w in words[:end] if w not in ("-h", "--help", "help")][:2]))
        return 0
    if words[0] in ("-V", "--version"):
        from importlib.metadata import version

        print(f"compat {version(DISTRIBUTION)}")
        return 0
    if words[0] == "--completion":
        from compat.cli.completion import script

        print(script(words[1] if words[1:] else ""))
        return 0
    if given.verbose:
        _log(given.verbose)
    key, name, words = called(words)
    values = values_of(declared_by(key)[1], words, name)
    # Only commands import what reads a matrix, see `docs/architecture.md`.
    from compat.errors import CompatError

    try:
        function_of(key)(**values)
    except Exit as left:
        return left.code
    except CompatError as error:
        import logging

        logging.getLogger(__name__).debug("where the error comes from:", exc_info=True)
        return _told(error.faults, error.exit_code)
    return 0


def _told(faults: Any, code: int) -> int:
    from compat.cli.output import envelope, report

    report(faults)
    envelope(None, faults)
    return code


def _log(level: int) -> None:
    # `-v` logs each process, request and cache decision, `-vv` also where an error comes from.
    import logging
    import re

    from compat.errors import visible

    class Safe(logging.Formatter):
        """Log lines without the logins of URLs and without control characters."""

        def format(self, record: logging.LogRecord) -> str:
            text = re.sub(r"(?<=://)[^/@\s]+@", "", super().format(record))
            return "\n".join(visible(line) for line in text.split("\n"))

    handler = logging.StreamHandler()
    handler.setFormatter(Safe("%(relativeCreated)7d ms %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler])
    logging.getLogger("compat").setLevel(logging.DEBUG if level > 1 else logging.INFO)
