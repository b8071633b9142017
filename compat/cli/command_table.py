"""The commands of `compat` by name, each with the module that holds it and its first sentence, so
that help and completion import none of them.
"""

import importlib
import sys
from collections.abc import Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

# What the first screen shows, in its order. A command is the function NAME_command of its module,
# and its sentence is the first of that function's docstring (tests/cli/test_imports.py).
FIRST = {
    "Start": {
        "init": ("init", "Write a first matrix for a library."),
        "check": (
            "declarations",
            "Check declarations and suites, and known issues against the records.",
        ),
    },
    "Run": {
        "plan": ("plan", "List which cells are installable, and why the others are not."),
        "run": ("run", "Install cells, run the suite in each, and record the results."),
        "diff": ("diff", "Compare a checkout with a release: regressions and fixes."),
    },
    "Ask": {
        "show": ("show", "Show results as a grid, or everything about one cell."),
        "advise": ("advise", "Recommend a tested combination, with the command to install it."),
        "doctor": (
            "doctor",
            "Explain a failing environment or error message, and what to change.",
        ),
    },
    "Find": {
        "floor": ("floor", "Find the lowest version on an axis that works."),
        "blame": ("blame", "Find the package release that makes a cell fail."),
    },
    "Publish": {
        "propose": ("propose", "Propose moves of the supported minimums, with their evidence."),
        "publish": ("publish", "Write the site as static files."),
    },
}
MORE = {
    "repair": (
        "repair",
        "Find the smallest change of requirements that makes a cell installable.",
    ),
    "why": ("why", "Explain what pins an axis's minimum version."),
    "discover": ("discover", "Fetch the releases that the index has for each axis."),
    "lock": ("lock", "Write the hash-pinned lock of each cell."),
    "explore": ("explore", "Test as many cells as fit in the time budget."),
    "learn": ("learn", "Resolve untested cells, and generalise each conflict to other cells."),
    "audit": ("audit", "Verify a random sample of inferred results by running them."),
    "lanes": ("lanes", "Compare variants (lowest, pre-release) with the regular cells."),
    "schedule": ("schedule", "List the coming moves of every minimum, three years ahead."),
    "schema": ("declarations", "Compare the JSON schemas of the declarations with the code."),
    "serve": ("publish", "Publish, and serve the site on this machine."),
    "verify": ("verify", "Check that a published site is complete and unchanged."),
    "keep": ("upkeep", "Commit and push the catalogue, locks and records of a matrix."),
    "record": ("record", "Judge cached evidence again, or import records of other machines."),
    "convert": ("record", "Convert records of earlier releases."),
    "health": ("health", "Report how fresh the results are."),
    "watchdog": ("upkeep", "Check that a scheduled workflow still runs."),
    "clean": ("clean", "Remove what has not been used for long from the cache."),
    "worker": ("worker", "Run cells for another machine's `compat run --fleet`."),
    "cluster": ("worker", "Start a scheduler and local workers for `compat run --fleet`."),
}
COMMANDS = {name: row for rows in (*FIRST.values(), MORE) for name, row in rows.items()}
# The names by which the commands below the first screen are called, by group.
GROUPS = {
    "find": ("Search for a repair or a reason.", {"repair": "repair", "reason": "why"}),
    "matrix": (
        "Releases, locks, variants and schedule of a matrix.",
        {
            "discover": "discover",
            "lock": "lock",
            "explore": "explore",
            "learn": "learn",
            "audit": "audit",
            "variants": "lanes",
            "schedule": "schedule",
            "schema": "schema",
        },
    ),
    "site": ("Serve or check a site.", {"serve": "serve", "check": "verify"}),
    "ci": (
        "What scheduled jobs call.",
        {
            "push": "keep",
            "record": "record",
            "convert": "convert",
            "health": "health",
            "watchdog": "watchdog",
        },
    ),
    "cache": ("Clean the cache.", {"clean": "clean"}),
    "fleet": ("Run cells on several machines.", {"worker": "worker", "cluster": "cluster"}),
}
NEW_NAMES = {
    old: f"{group} {new}" for group, (_, names) in GROUPS.items() for new, old in names.items()
}


def called(words: list[str]) -> tuple[str, list[str]]:
    """Return the key in COMMANDS of the command that these words call, and the words after it."""
    if words[0] in GROUPS:
        return GROUPS[words[0]][1][words[1]], words[2:]
    return words[0], words[1:]


class Commands(TyperGroup):
    """Commands that are stand-ins, with a name and a sentence, until one is called.

    `names` has the key in COMMANDS of each name; without it, this is the group `compat` itself.
    """

    def __init__(self, names: Mapping[str, str] | None = None, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.is_first = names is None
        self.names = names or {name: name for name in COMMANDS}
        for name, key in self.names.items():
            hidden = self.is_first and key in MORE
            sentence = COMMANDS[key][1]
            self.add_command(TyperCommand(name=name, callback=None, help=sentence, hidden=hidden))
        if self.is_first:
            for group, (sentence, below) in GROUPS.items():
                self.add_command(Commands(below, name=group, help=sentence, rich_markup_mode=None))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the words name, itself, with its name and the words left over."""
        if args[:1] == ["help"] and self.is_first:
            args = [*args[1:], "--help"] if args[1:] else ["--help"]
            if args == ["--help"]:
                print(ctx.get_help())
                raise typer.Exit
        name, command, words = super().resolve_command(ctx, args)
        if command is None or isinstance(command, Commands):
            return name, command, words
        key = self.names[str(command.name)]
        if self.is_first and command.name in NEW_NAMES:
            print(
                f"warning: `compat {key}` is now `compat {NEW_NAMES[key]}`; the old name goes with"
                " the next release",
                file=sys.stderr,
            )
        return name, command_named(key, str(command.name)), words

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Print the first screen by headings, and the groups below them with their names."""
        if not self.is_first:
            super().format_commands(ctx, formatter)
            return
        for heading, rows in FIRST.items():
            with formatter.section(heading):
                formatter.write_dl([(name, row[1]) for name, row in rows.items()], col_max=9)
        with formatter.section("More"):
            formatter.write_dl([(group, ", ".join(names)) for group, (_, names) in GROUPS.items()])


def command_named(key: str, name: str = "") -> Any:
    """Return the command of that key, its module imported; KeyError where there is none."""
    module = importlib.import_module(f"compat.cli.{COMMANDS[key][0]}")
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    alone.command(name=name or key)(getattr(module, f"{key}_command"))
    return typer.main.get_command(alone)
