"""The commands of `compat` by name, each with its module and its first sentence, so that help and
completion import no command.
"""

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from compat.cli.arguments import (
    Parameter,
    WrongUsage,
    declared,
    help_of,
    nearest,
    rows,
    shared_rows,
)

# What the first screen shows, in its order. A command is the function NAME_command of its module,
# and its sentence is the first of that function's docstring (tests/cli/test_imports.py).
FIRST = {
    "Start": {
        "init": ("init", "Write a first matrix for a library."),
        "check": ("declarations", "Check declarations, suites and known issues."),
    },
    "Run": {
        "plan": ("plan", "List which cells are installable, and why the others are not."),
        "run": ("run", "Install cells, run the suite in each, and record the results."),
        "diff": ("diff", "Compare a checkout with a release: regressions and fixes."),
    },
    "Ask": {
        "show": ("show", "Show results as a grid, or everything about one cell."),
        "advise": ("advise", "Recommend a tested combination, with the command to install it."),
        "doctor": ("doctor", "Explain a failing environment or error message, and what to change."),
    },
    "Find": {
        "floor": ("floor", "Find the lowest versions that work."),
        "blame": ("blame", "Find the package release that makes a cell fail."),
    },
    "Publish": {
        "propose": ("propose", "Propose moves of the supported minimums, with their evidence."),
        "publish": ("publish", "Write the site as static files."),
    },
}
MORE = {
    "mcp": ("programs", "Answer programs over MCP, from a published site."),
    "repair": ("repair", "Find the smallest change of requirements that makes a cell installable."),
    "why": ("why", "Explain what pins an axis's minimum version."),
    "discover": ("declarations", "Fetch the releases that the index has for each axis."),
    "lock": ("lock", "Write the hash-pinned lock of each cell."),
    "lanes": ("reports", "Compare variants (lowest, pre-release) with the regular cells."),
    "schedule": ("propose", "List the coming moves of every minimum, three years ahead."),
    "schema": ("declarations", "Compare the JSON schemas of the declarations with the code."),
    "serve": ("publish", "Publish, and serve the site on this machine."),
    "verify": ("publish", "Check that a published site is complete and unchanged."),
    "advisories": ("programs", "Serve the advisories of a site to `uv audit` and `pip-audit`."),
    "keep": ("upkeep", "Commit and push the catalogue, locks and records of a matrix."),
    "record": ("record", "Judge cached evidence again, or import records of other machines."),
    "convert": ("record", "Convert records of earlier releases."),
    "health": ("health", "Report how fresh the results are."),
    "watchdog": ("upkeep", "Check that a scheduled workflow still runs."),
    "clean": ("clean", "Remove old entries from the cache."),
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
            "variants": "lanes",
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
# Commands that `run --budget` took in: what they are called with now, before their own words.
TAKEN_IN = {
    "explore": ["run", "--budget", "90m"],
    "learn": ["run", "--budget", "20m", "--jobs", "0"],
    "audit": ["run", "--budget", "90m"],
}


def declared_by(key: str) -> tuple[str, list[Parameter]]:
    return declared(f"compat.cli.{COMMANDS[key][0]}", f"{key}_command")


def function_of(key: str) -> Callable[..., Any]:
    return getattr(importlib.import_module(f"compat.cli.{COMMANDS[key][0]}"), f"{key}_command")  # type: ignore[no-any-return]


def called(words: Sequence[str]) -> tuple[str, str, list[str]]:
    words = list(words)
    first = words[0]
    if first.startswith("-"):
        raise WrongUsage(f"compat has no option {first}; options of a command follow its name", "")
    if first in GROUPS:
        names = GROUPS[first][1]
        if len(words) > 1 and words[1] in TAKEN_IN and first == "matrix":
            words = words[1:]
        elif len(words) > 1 and words[1] in names:
            return names[words[1]], f"{first} {words[1]}", words[2:]
        else:
            what = f"has no command {words[1]!r}" if words[1:] else "needs a command"
            hint = nearest(words[1], [*names]) if words[1:] else ""
            raise WrongUsage(f"compat {first} {what}", hint or f"commands: {', '.join(names)}")
    if words[0] in TAKEN_IN:
        became = TAKEN_IN[words[0]]
        _warn(words[0], " ".join(became[:2]))
        rest = [{"--minutes": "--budget"}.get(word, word) for word in words[1:]]
        return "run", "run", [*became[1:], *rest]
    if first in NEW_NAMES:
        _warn(first, NEW_NAMES[first])
        return first, NEW_NAMES[first], words[1:]
    if first not in COMMANDS:
        known = [*(name for names in FIRST.values() for name in names), *GROUPS]
        hint = nearest(first, [*known, *NEW_NAMES]) or "compat --help shows the commands"
        raise WrongUsage(f"compat has no command {first!r}", hint)
    return first, first, words[1:]


def _warn(old: str, new: str) -> None:
    import sys

    sentence = (
        f"`compat {old}` is now `compat {new}`; the old name will be removed in the next release"
    )
    print(f"warning: {sentence}", file=sys.stderr)


def shown_help(words: Sequence[str]) -> str:
    if words and words[0] in GROUPS and not words[1:]:
        sentence, names = GROUPS[words[0]]
        listed = rows([(name, COMMANDS[key][1]) for name, key in names.items()])
        return f"Usage: compat {words[0]} COMMAND [OPTIONS]\n\n{sentence}\n\n{listed}"
    if words:
        key, name, _ = called(words)
        return help_of(name, *declared_by(key))
    parts = [
        "Usage: compat COMMAND [OPTIONS]\n\nWhich versions work together, proven by running them.",
        *(f"{h}:\n{rows([(name, row[1]) for name, row in c.items()])}" for h, c in FIRST.items()),
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
