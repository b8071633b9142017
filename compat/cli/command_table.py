"""The commands of `compat` by name: each with the module that holds it and the sentence that
`compat --help` says of it, so that help and completion import none of them.
"""

import importlib
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

# The function of command NAME is NAME_command of its module. Its sentence is the first of the
# function's docstring; tests/cli/test_imports.py holds the two together.
COMMANDS = {
    "init": (
        "init",
        "Propose a first matrix for a library, and write it: axes with their reasons, floors, a"
        " policy, smoke cells and a suite.",
    ),
    "check": (
        "declarations",
        "Check declarations and their suites, and hold what [[known]] says against the records.",
    ),
    "schema": (
        "declarations",
        "Show how the JSON schemas of the declarations would change; write them with --write.",
    ),
    "discover": (
        "discover",
        "Show the coordinates that the index gives each axis, and what is new since the kept "
        "catalogue.",
    ),
    "plan": ("plan", "Give every cell of a matrix its fate: feasible, or its first obstacle."),
    "lock": ("lock", "Write the hash-pinned lock of each cell into the matrix's folder locks/."),
    "audit": (
        "audit",
        "Ask in earnest about a random sample of what is inferred, and say how many of the inferred"
        " answers may be wrong.",
    ),
    "learn": (
        "learn",
        "Ask a resolver about cells without an answer, and tell others what it says: the smallest"
        " reason of a refusal answers every cell that contains it, and found packages every cell"
        " whose requirements they meet.",
    ),
    "explore": ("explore", "Answer as many cells as can be in the time given."),
    "floor": (
        "floor",
        "Find the lowest version on an axis that works, by running as few cells as it takes.",
    ),
    "blame": (
        "blame",
        "Find the package, and the release of it, that makes BAD fail where GOOD works.",
    ),
    "repair": (
        "repair",
        "Find the smallest change of requirements with which a cell can be locked.",
    ),
    "why": (
        "why",
        "Tell what keeps the lowest version of an axis where it is, for one release or for all.",
    ),
    "run": ("run", "Install cells, run the suite in each, judge the results, and record them."),
    "diff": (
        "diff",
        "Say what a checkout breaks and mends beside a release, cell by cell, capability by"
        " capability.",
    ),
    "lanes": (
        "lanes",
        "Show what the lanes of a matrix came to, each cell held against an ordinary one.",
    ),
    "worker": (
        "worker",
        "Run cells on this machine for `compat run --fleet` elsewhere, until it is interrupted.",
    ),
    "cluster": (
        "worker",
        "Start a scheduler, and workers of this machine, for `compat run --fleet`.",
    ),
    "show": (
        "show",
        "Show the stored verdicts as a grid, or one cell's test results and how to reproduce "
        "them by hand.",
    ),
    "advise": ("advise", "Tell which proven combination to install, and how."),
    "doctor": (
        "doctor",
        "Say whether an environment is proven, unproven or broken, why, and what to change.",
    ),
    "propose": (
        "propose",
        "Propose floor moves, and new versions to extend the matrix by: what policy, releases "
        "and records allow, and what speaks against the rest.",
    ),
    "schedule": (
        "schedule",
        "Show the coming moves of every floor for three years, and the minimum versions from "
        "each date on.",
    ),
    "record": (
        "record",
        "Judge evidence that this machine has kept again, or take records that other machines "
        "made with this checkout.",
    ),
    "pack": (
        "pack",
        "Put the records of past days into batches: a tenth of the room, and as many files fewer.",
    ),
    "health": ("health", "Tell how old the verdicts are."),
    "keep": (
        "upkeep",
        "Commit a matrix's catalogue, locks and records, and push them; nothing else is committed.",
    ),
    "watchdog": ("upkeep", "Look whether a scheduled workflow of GitHub Actions still runs."),
    "clean": (
        "clean",
        "Remove from the cache what has not been used for long: packages, bytecode, evidence, kept"
        " cells.",
    ),
    "publish": ("publish", "Write the site of matrices as static files."),
    "serve": (
        "publish",
        "Publish into a folder, show it on this machine's loopback, and publish again "
        "whenever something changes.",
    ),
    "verify": (
        "verify",
        "Tell whether a published site is one edition and whole, by the digests in its own list.",
    ),
}


class LazyGroup(TyperGroup):
    """A group whose commands are stand-ins, with a name and a sentence, until one is called."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, (_, sentence) in COMMANDS.items():
            self.add_command(TyperCommand(name=name, callback=None, help=sentence))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the words name, itself, with its name and the words left over."""
        name, command, words = super().resolve_command(ctx, args)
        return name, None if command is None else command_named(str(command.name)), words


def command_named(name: str) -> Any:
    """Return the command of that name, its module imported; KeyError where there is none."""
    module = importlib.import_module(f"compat.cli.{COMMANDS[name][0]}")
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    alone.command(name=name)(getattr(module, f"{name}_command"))
    return typer.main.get_command(alone)
