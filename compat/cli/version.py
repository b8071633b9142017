"""The options of `compat` itself, before any command."""

from typing import Annotated

import typer

DISTRIBUTION = "compat-matrix"


def _show(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"compat {version(DISTRIBUTION)}")
        raise typer.Exit


def options(
    is_version: Annotated[
        bool,
        typer.Option("--version", callback=_show, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Which versions work together: declare a matrix, plan its cells, lock them, run them."""
