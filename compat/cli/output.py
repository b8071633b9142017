"""What commands print: data on stdout, prose on stderr, one JSON envelope where it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from compat.errors import Fault, one_line, visible
from compat.site.wording import count

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA = 1


def say(text: str = "") -> None:
    """Print one line of data on stdout, whatever its length; control characters are escaped."""
    print(visible(text))


def note(text: str) -> None:
    print(one_line(text), file=sys.stderr)


def prose(text: str) -> None:
    from rich.console import Console
    from rich.text import Text

    err = Console(stderr=True, highlight=False, markup=False, emoji=False)
    if err.is_terminal:
        err.print(Text(one_line(text)))
    else:
        note(text)


def about(seconds: float) -> str:
    """Return an estimated time in words: `about 5 seconds`, `about 2 minutes`, `about 3 hours`."""
    if seconds < 59.5:
        return f"about {count(max(1, round(seconds)), 'second')}"
    minutes = round(seconds / 60)
    return (
        f"about {count(minutes, 'minute') if minutes < 120 else count(round(minutes / 60), 'hour')}"
    )


def console() -> Console:
    """Return a console on stdout: colour only on a terminal, NO_COLOR obeyed, never less than 100
    columns in a pipe.
    """
    from rich.console import Console

    out = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    return (
        out if out.is_terminal else Console(highlight=False, markup=False, emoji=False, width=120)
    )


def envelope(data: Any, faults: Iterable[Fault] = ()) -> None:
    errors = [msgspec.structs.asdict(fault) for fault in faults]
    text = msgspec.json.encode(
        {"schema": SCHEMA, "ok": not errors, "data": data, "errors": errors}, enc_hook=str
    )
    sys.stdout.write(text.decode(errors="replace") + "\n")


def report(faults: Iterable[Fault]) -> None:
    for fault in faults:
        print(f"error: {fault.line()}", file=sys.stderr)
