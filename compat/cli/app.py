"""The command `compat`: its words, and how errors end in an exit code."""

import gc
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from compat.cli.arguments import (
    Exit,
    Parameter,
    WrongUsage,
    declared,
    given,
    help_of,
    nearest,
    rows,
    shared_rows,
    shared_taken,
    source_of,
    values_of,
)

# The commands of `compat` by name, with what help and completion show of them: neither imports a
# command.

# What the first screen shows, in its order. A command is the function NAME_command of the module
# NAME, unless `_MODULES` names another one.
FIRST = {
    "Start": ("init", "check"),
    "Run": ("plan", "run", "diff"),
    "Ask": ("show", "advise", "doctor"),
    "Find": ("floor", "blame"),
    "Publish": ("propose", "publish"),
}
# The names by which the commands below the first screen are called, by group.
GROUPS = {
    "find": ("Search for a repair or a reason.", {"repair": "repair", "reason": "why"}),
    "matrix": (
        "Releases, locks, variants and schedule of a matrix.",
        {
            "discover": "discover",
            "lock": "lock",
            "variants": "variants",
            "schedule": "schedule",
            "schema": "schema",
        },
    ),
    "site": (
        "Serve or check a site.",
        {"serve": "serve", "check": "verify", "advisories": "advisories", "mcp": "mcp"},
    ),
    "ci": (
        "What scheduled jobs call.",
        {
            "push": "keep",
            "record": "record",
            "health": "health",
            "watchdog": "watchdog",
        },
    ),
    "cache": ("Clean the cache.", {"clean": "clean"}),
    "fleet": ("Run cells on several machines.", {"worker": "worker", "cluster": "cluster"}),
}
COMMANDS = (
    *(name for names in FIRST.values() for name in names),
    *(key for _, names in GROUPS.values() for key in names.values()),
)
_MODULES = {
    **dict.fromkeys(("check", "discover", "schema"), "declarations"),
    **dict.fromkeys(("serve", "verify", "mcp", "advisories"), "publish"),
    **dict.fromkeys(("keep", "watchdog"), "upkeep"),
    **dict.fromkeys(("blame", "repair"), "find"),
    "variants": "reports",
    "schedule": "propose",
    "cluster": "worker",
}


def _module(key: str) -> str:
    return f"compat.cli.{_MODULES.get(key, key)}"


def declared_by(key: str) -> tuple[str, list[Parameter]]:
    return declared(_module(key), f"{key}_command")


def function_of(key: str) -> Callable[..., Any]:
    return getattr(importlib.import_module(_module(key)), f"{key}_command")  # type: ignore[no-any-return]


def sentence_of(key: str) -> str:
    """Return the first sentence of a command's docstring. Cut out of the source: the first screen
    has no time to parse twelve modules.
    """
    docstring = source_of(_module(key)).partition(f"def {key}_command(")[2].split('"""')[1]
    return " ".join(docstring.partition(".\n")[0].split()) + "."


def called(words: Sequence[str]) -> tuple[str, str, list[str]]:
    first, *rest = words
    if first.startswith("-"):
        raise WrongUsage(f"compat has no option {first}; options of a command follow its name", "")
    if first in GROUPS:
        names = GROUPS[first][1]
        if rest and rest[0] in names:
            return names[rest[0]], f"{first} {rest[0]}", rest[1:]
        what = f"has no command {rest[0]!r}" if rest else "needs a command"
        hint = nearest(rest[0], [*names]) if rest else ""
        raise WrongUsage(f"compat {first} {what}", hint or f"commands: {', '.join(names)}")
    if first not in chain(*FIRST.values()):
        known = {name: name for name in (*chain(*FIRST.values()), *GROUPS)}
        known |= {name: f"{group} {name}" for group, of in GROUPS.items() for name in of[1]}
        hint = nearest(first, known) or "compat --help shows the commands"
        raise WrongUsage(f"compat has no command {first!r}", hint)
    return first, first, rest


def shown_help(words: Sequence[str]) -> str:
    if words and words[0] in GROUPS and not words[1:]:
        sentence, names = GROUPS[words[0]]
        listed = rows([(name, sentence_of(key)) for name, key in names.items()])
        return f"Usage: compat {words[0]} COMMAND [OPTIONS]\n\n{sentence}\n\n{listed}"
    if words:
        key, name, _ = called(words)
        return help_of(name, *declared_by(key))
    parts = [
        "Usage: compat COMMAND [OPTIONS]\n\nWhich versions work together, proven by running them.",
        *(f"{title}:\n{rows([(n, sentence_of(n)) for n in of])}" for title, of in FIRST.items()),
        "More:\n" + rows([(group, ", ".join(names)) for group, (_, names) in GROUPS.items()]),
        "Options of every command:\n" + shared_rows(),
        rows(
            [
                ("-V, --version", "Show the version."),
                ("--completion SHELL", "Print the completion script of bash, zsh or fish."),
            ]
        ),
    ]
    return "\n\n".join(parts)


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
