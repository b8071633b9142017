"""Commands about what is known: show verdicts and proofs; judge kept evidence again."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from compat import files, pipeline
from compat.advise.commands import FOLDER, Whereabouts, uv_lines
from compat.cli.lock_intake import take_locks
from compat.cli.output import console, envelope, note, say
from compat.cli.setting import Json, MatrixName, Root, Setting, cache_folder, now, without_places
from compat.cli.shard_intake import take
from compat.cli.stand import Stand
from compat.declare.capabilities import with_table
from compat.errors import UsageError
from compat.results.judged import record_of
from compat.results.record import Capability, Record
from compat.results.table import capability_table, unexplained
from compat.run.evidence import decode_evidence
from compat.run.outcome import is_suite_fault


def show_command(
    matrix: MatrixName,
    cell: Annotated[str, typer.Argument(metavar="[CELL]", help="One cell, with its proof.")] = "",
    table: Annotated[
        bool, typer.Option("--table", help="Capability by release, as Markdown.")
    ] = False,
    write: Annotated[
        Path | None, typer.Option("--write", help="Put the table between its marks in this file.")
    ] = None,
    as_json: Json = False,
    root: Root = None,
) -> None:
    """Show the stored verdicts, or one cell's proof and how to reproduce it by hand. Asks no index.

    Examples: compat show tff; compat show tff py3.9-tf2.9-tff0.33.0+relaxed; compat show tff
    --table
    """
    stand = Stand(Setting(matrix, root))
    if table or write is not None:
        raise typer.Exit(_capabilities(stand, write))
    cells = sorted(stand.candidates())
    if cell and cell not in cells:
        raise UsageError.of(
            f"nothing is known of cell {cell!r}", hint=f"compat run {matrix} {cell} finds out"
        )
    if as_json:
        envelope(
            {"matrix": matrix, "cells": [stand.row(one) for one in ([cell] if cell else cells)]}
        )
    elif cell:
        _proof(stand, cell)
    else:
        table_of(stand, cells)
    damaged = stand.store.damaged(now())
    for fault in damaged:
        note(fault.line())
    raise typer.Exit(1 if damaged else 0)


def _capabilities(stand: Stand, path: Path | None) -> int:
    """Print the table of capabilities, or put it into a file; 1 when a `no` has no declared
    explanation.
    """
    found = stand.picture
    text = capability_table(found, stand.described)
    if path is None:
        print(text, end="")
    else:
        before = files.read(path).decode(errors="replace")
        try:
            after = with_table(before, text)
        except ValueError as fault:
            raise UsageError.of(
                str(fault), path=str(path), hint="put the two marks where the table is to be"
            ) from None
        note(f"{path}: {'written' if files.write(path, after) else 'current'}")
    bare = unexplained(found)
    for cell, name in bare:
        note(
            f"compat: {name} is 'no' in {cell}, and no [[known]] entry of {found.matrix.name}"
            " says why"
        )
    return 1 if bare else 0


def table_of(stand: Stand, cells: list[str]) -> None:
    """Print the verdicts of cells as a table."""
    table = Table("cell", "verdict", "capabilities", "latest", "outcome")
    for cell in cells:
        found = stand.verdict(cell)
        counted = [capability.status for capability in found.capabilities]
        told = (
            f"{counted.count('yes')} yes, {counted.count('no')} no, {counted.count('absent')}"
            " absent"
            if counted
            else ""
        )
        last = stand.last(cell)
        outcome = (
            str(found.outcome) if found.outcome is not None else f"last run: {last}" if last else ""
        )
        latest = f"{found.latest}{' (stale)' if found.stale else ''}" if found.latest else "never"
        table.add_row(cell, found.kind, told, latest, Text(outcome, overflow="fold"))
    console().print(table)


def _proof(stand: Stand, cell: str) -> None:
    found = stand.verdict(cell)
    say(
        f"{cell}: {found.kind}, {found.evidence}"
        + (f", since {found.since}" if found.since else "")
    )
    for reason in found.reasons:
        say(f"  {reason}")
    for capability in found.capabilities:
        say(f"  {_answer(capability)}")
    if found.helpers:
        say("  of the suite's own helpers, which say nothing about the library:")
    for capability in found.helpers:
        say(f"    {_answer(capability)}")
    records = stand.records(cell)
    for record in records:
        told = f"{record.outcome}, {record.seconds:.0f} s"
        say(f"  run of {record.started:%Y-%m-%d %H:%M} UTC at {record.isolation}: {told}")
    for remark in records[-1].remarks if records else ():
        say(f"  {remark}")
    if records and records[-1].log:
        say("  log around the first error:")
        for line in records[-1].log.splitlines():
            say(f"    {line}")
    for line in reproduction(stand.setting, cell):
        say(f"  {line}")


def _answer(capability: Capability) -> str:
    tail = f": {capability.subject}" if capability.subject else ""
    missing = f" (looked for {', '.join(capability.missing)})" if capability.missing else ""
    return f"{capability.id}  {capability.status}{tail}{missing}"


def reproduction(setting: Setting, cell: str) -> list[str]:
    """Return the commands that reproduce a cell by hand."""
    path = pipeline.lock_path(setting.folder, cell)
    if not path.exists():
        return [f"reproduce: compat lock {setting.folder.name} {cell}"]
    place = f"matrices/{setting.folder.name}"
    lines = uv_lines(pipeline.kept_lock(path), Whereabouts(lock=f"{place}/locks/{cell}.txt"))
    suite = f"{FOLDER}/bin/python -m pytest {place}/{setting.ask.matrix.suite.path}"
    return ["reproduce:", *(f"  {line}" for line in (*lines, suite))]


def record_command(
    matrix: MatrixName,
    rejudge: Annotated[
        bool, typer.Option("--rejudge", help="Judge the kept evidence again.")
    ] = False,
    source: Annotated[
        Path | None, typer.Option("--from", help="Take the sound records below this folder.")
    ] = None,
    plan: Annotated[
        Path | None, typer.Option("--plan", help="What `compat plan --print github` printed.")
    ] = None,
    made_by: Annotated[
        str,
        typer.Option(
            "--run-url", help="The run that made the records; else this run of GitHub Actions."
        ),
    ] = "",
    locks: Annotated[
        Path | None, typer.Option("--locks", help="Take the sound locks of this folder.")
    ] = None,
    as_json: Json = False,
    root: Root = None,
) -> None:
    """Judge evidence that this machine has kept again, or take records that other machines made
    with this checkout.

    A record from elsewhere is taken when it is whole, new, of a cell, a lock and the suite as they
    are here, and as a run of them can leave it; one of a cell. With --plan it was also started
    since that plan was made, of a cell that the plan gives to the shard in whose folder,
    records-SHARD, it lies; without, it is at most 7 days old. Where no run is named, it names none.
    A lock is taken when this checkout asks for it and the index lists each of its hashes. The
    others are named and refused (exit 1).

    Examples: compat record tff --rejudge; compat record tff --from handed --plan plan.json;
    compat record tff --locks planned
    """
    if sum((rejudge, source is not None, locks is not None)) != 1:
        ways = (
            "--rejudge judges the kept evidence again, --from FOLDER takes records, --locks FOLDER"
            " takes locks"
        )
        raise UsageError.of(f"{ways}: one of the three")
    if source is None and (plan is not None or made_by):
        raise UsageError.of("--plan and --run-url need --from FOLDER, whose records they are about")
    if locks is not None:
        raise typer.Exit(take_locks(Setting(matrix, root), locks, as_json))
    stand = Stand(Setting(matrix, root))
    if source is not None:
        raise typer.Exit(take(stand, source, as_json, plan, made_by))
    changed: list[Record] = []
    for path in sorted(
        (cache_folder() / "evidence" / stand.setting.folder.name).glob("*/*/evidence.json")
    ):
        evidence = decode_evidence(Path(path).read_bytes())
        judged = record_of([evidence], tool="rejudged", redacted=without_places)
        if is_suite_fault(judged.outcome):
            note(f"compat: {judged.cell} is not recorded again: {judged.outcome}")
            continue
        old = [kept for kept in stand.records(judged.cell) if kept.started == judged.started]
        if old and not any(judged.outcome in kept.outcomes for kept in old):
            stand.store.add(judged)
            changed.append(judged)
    if as_json:
        envelope({"changed": [{"id": one.cell, "outcome": str(one.outcome)} for one in changed]})
        return
    for one in changed:
        say(f"{one.cell}  {one.outcome}")
    note(f"{len(changed)} records differ when judged again")
