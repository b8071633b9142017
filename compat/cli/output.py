"""What commands print: data on stdout, prose on stderr.

With --json stdout has one envelope alone, and what is said or tabulated beside it is not printed.
So a command says both.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import msgspec

from compat import files
from compat.cli.arguments import given
from compat.errors import Fault, count, listed, one_line, visible

if TYPE_CHECKING:
    from rich.console import Console

    from compat.results.learnt import Disproof


def report_disproofs(disproofs: Sequence[Disproof], fell: Sequence[str]) -> None:
    from compat.results.learnt import FileClause

    for disproof in disproofs:
        clause = disproof.clause
        about = clause.path if isinstance(clause, FileClause) else " and ".join(clause.facts)
        say(f"disproved by {disproof.cell} on {disproof.on}, and removed: {about}")
    if disproofs:
        say(f"{count(len(fell), 'cell')} without an answer now{': ' if fell else ''}")
        say(*fell, indent=2)


SCHEMA = 1


def say(*lines: str, indent: int = 0) -> None:
    """Print lines of data on stdout, unwrapped, with control characters escaped."""
    for line in () if given.as_json else lines:
        print(visible(" " * indent + line))


@contextlib.contextmanager
def as_prose() -> Iterator[None]:
    """Print what is said on stderr, also with --json: stdout has something else."""
    as_json, given.as_json = given.as_json, False
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        given.as_json = as_json


def raw(text: str) -> None:
    """Print a text of ours as it is, such as a diff whose tabs are those of the file."""
    if not given.as_json:
        print(text, end="")


def say_rendered(template: str, **shown: object) -> None:
    """Print what a template makes of values, with control characters in them escaped."""
    filters: dict[str, Callable[..., str]] = {"number_of": count, "listed": listed}
    raw(files.rendered("compat.cli", template, shown, filters, finalize=_escaped))


def _escaped(value: object) -> str:
    return "\n".join(map(visible, str(value).split("\n")))


def note(text: str) -> None:
    if not given.quiet or text.startswith(("warning:", "error:")):
        print(one_line(text), file=sys.stderr)


def prose(text: str) -> None:
    if sys.stderr.isatty():
        for line in textwrap.wrap(one_line(text), shutil.get_terminal_size().columns):
            note(line)
    else:
        note(text)


def about(seconds: float) -> str:
    if seconds < 59.5:
        return f"about {count(max(1, round(seconds)), 'second')}"
    minutes = round(seconds / 60)
    return (
        f"about {count(minutes, 'minute') if minutes < 120 else count(round(minutes / 60), 'hour')}"
    )


def console(*, stderr: bool = False) -> Console:
    """Return a console: obeys --color, NO_COLOR and COLUMNS, with 120 columns in a pipe."""
    from rich.console import Console

    return Console(
        stderr=stderr,
        highlight=False,
        markup=False,
        emoji=False,
        width=None if (sys.stderr if stderr else sys.stdout).isatty() else columns(),
        force_terminal=True if given.color == "always" and not stderr else None,
        no_color=True if given.color == "never" else None,
    )


def columns() -> int:
    return shutil.get_terminal_size((120, 24)).columns


def table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows: on a terminal as a table that wraps, in a pipe as tab-separated lines."""
    if given.as_json:
        return
    texts = [[one_line(str(field)) for field in row] for row in rows]
    if not sys.stdout.isatty():
        for row in texts:
            print("\t".join(row))
        return
    texts.insert(0, [*names])
    *widths, last = (max(map(len, column)) for column in zip(*texts, strict=True))
    # The first column has ids, which stay whole; the last may be a sentence, which goes below.
    least = min(last, len(texts[0][-1]))
    while (free := columns() - sum(widths) - 2 * len(widths)) < least:
        if max(widths[1:], default=0) <= 12:
            break
        widths[widths.index(max(widths[1:]), 1)] -= 1
    for *row, end in texts:
        fits = len(end) <= free
        fields = zip([*row, end if fits else ""], [*widths, max(free, 1)], strict=True)
        wrapped = (textwrap.wrap(t, max(w, 1), break_long_words=False) for t, w in fields)
        for line in zip_longest(*wrapped, fillvalue=""):
            print("  ".join(t.ljust(w) for t, w in zip(line, [*widths, 0], strict=True)).rstrip())
        if not fits:
            print(textwrap.indent(textwrap.fill(end, columns() - 4), " " * 4))


def fields(value: object, names: str) -> dict[str, Any]:
    """Return the part of a document that a value has under the same names."""
    return {name: getattr(value, name) for name in names.split()}


def envelope(data: Any, faults: Iterable[Fault] = ()) -> None:
    if not given.as_json:
        return
    errors = [msgspec.structs.asdict(fault) for fault in faults]
    text = msgspec.json.encode(
        {"schema": SCHEMA, "ok": not errors, "data": data, "errors": errors}, enc_hook=str
    )
    sys.stdout.write(text.decode(errors="replace") + "\n")


def answer(
    document: Any, head: str, lines: Iterable[str] = (), faults: Sequence[Fault] = ()
) -> None:
    """Print a document with --json, else a line, indented ones below it, and the faults."""
    envelope(document, faults)
    say(head)
    say(*lines, indent=2)
    if not given.as_json:
        report(faults)


def report(faults: Iterable[Fault]) -> None:
    for fault in faults:
        print(f"error: {fault.line()}", file=sys.stderr)
