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
        typer.Option(
            "--version", "-V", callback=_show, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    is_verbose: Annotated[
        bool,
        typer.Option(
            "-v", "--verbose", help="Log processes, requests and cache decisions; -vv logs more."
        ),
    ] = False,
) -> None:
    """Which versions work together, proven by running them."""
