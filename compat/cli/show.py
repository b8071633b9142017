"""The command that shows what is known of cells: `compat show`."""

import fnmatch
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from compat import files
from compat.advise.commands import commands, suite_lines
from compat.advise.request import request_of, wanted_coordinates
from compat.cli import verdicts
from compat.cli.arguments import Exit, argument, given, option
from compat.cli.installs import platforms_named, show_installs, show_platform_cell
from compat.cli.machine import now
from compat.cli.options import MATRIX_NAME, OTHER_PLATFORM, workspace_of
from compat.cli.output import envelope, note, raw, say
from compat.cli.output import table as print_table
from compat.declare.capabilities import group_of, with_table
from compat.errors import UsageError
from compat.plan.cell import readable_cell, split_platform
from compat.results.installs import plain_install
from compat.results.record import Capability
from compat.results.table import capability_table, unexplained
from compat.site.status import install_line
from compat.site.wording import checkout_words, fault_words
from compat.value import grouped
from compat.workspace import Workspace

# More lines than a screen has are no answer: the suite of a project has thousands of tests.
MOST_LINES = 60


def show_command(
    matrix: str = MATRIX_NAME,
    cell: str = argument(
        "A cell, with its test results; or a version or a glob of cells.", metavar="[CELL]"
    ),
    by_cell: bool = option("Print one line per cell.", "--cells"),
    table: bool = option("Print a Markdown table of capabilities by release."),
    plain: bool = option("Show the result of a plain install of each release."),
    write: Path | None = option(
        "Write the table between its markers in this file.", "--into", metavar="FILE"
    ),
    platform: str = OTHER_PLATFORM,
) -> None:
    """Show results as a grid, or everything about one cell.

    Works offline.

    Examples: compat show tff; compat show tff --cells; compat show tff
    py3.9-tf2.9-tff0.33.0+relaxed; compat show tff python3.12; compat show tff '*-tff0.87*';
    compat show tff --table; compat show tff --plain; compat show tff --platform macos-arm64
    """
    workspace = workspace_of(matrix)
    has_table = table or write is not None
    if platform or split_platform(cell)[1]:
        if plain or by_cell or has_table or (platform and cell):
            raise UsageError.of("--platform covers every release and takes no other option")
        if cell:
            show_platform_cell(workspace, cell)
        else:
            show_installs(workspace, platforms_named(workspace, platform))
        return
    if plain:
        if cell or has_table:
            raise UsageError.of("--plain covers every release: no cell, no table")
        show_installs(workspace)
        return
    if has_table:
        snapshot = workspace.snapshot
        text = capability_table(snapshot, workspace.described)
        if write is None:
            raw(text)
        else:
            before = files.read(write).decode(errors="replace")
            try:
                after = with_table(before, text)
            except ValueError as error:
                hint = "put both markers where the table belongs"
                raise UsageError.of(str(error), path=str(write), hint=hint) from error
            note(f"{write}: {'written' if files.write(write, after) else 'current'}")
        bare = unexplained(snapshot)
        for of, name in bare:
            why = f"no [[known]] entry of {snapshot.matrix.name} gives a reason"
            note(f"warning: {name} is 'no' in {of}, and {why}")
        raise Exit(1 if bare else 0)
    chosen = _chosen(workspace, cell) if cell else []
    cells, few = chosen or ([cell] if cell else workspace.shown_ids()), verdicts.FEW if cell else 0
    cell = "" if chosen else cell
    if cell and not workspace.is_known(cell):
        verdict = workspace.verdict(cell)
        says_nothing = verdict.evidence == "none" and not verdict.blocked_by
        if cell not in workspace.learnt.plain and says_nothing:
            from compat.plan.plan import named_cells

            if workspace.stored_catalogue is not None:
                named_cells(workspace.facts_of(workspace.stored_catalogue), [cell])
            hint = f"compat run {workspace.name} {cell} tests it"
            raise UsageError.of(f"no results for cell {cell!r}", hint=hint)
    if given.as_json:
        documents = [verdicts.verdict_row(workspace, name) for name in cells]
        envelope({"matrix": matrix, "cells": documents})
    elif cell:
        _print_results(workspace, cell)
    elif by_cell:
        rows = [verdicts.columns_of(workspace, name) for name in cells]
        print_table(verdicts.COLUMNS if rows else ("cell",), rows)
    else:
        verdicts.print_verdicts(workspace, cells, few)
        if workspace.checkout:
            note(checkout_words(workspace.checkout, workspace.at_hand.checkout))
        if not cells:
            note(f"no results for {matrix} yet; compat run {matrix} tests it")
    damaged = workspace.damaged(now())
    for fault in damaged:
        note(fault.line())
    raise Exit(1 if damaged else 0)


def _chosen(workspace: Workspace, text: str) -> list[str]:
    """Return the cells with a result that a glob or a version names; none for the id of a cell."""
    shown, known, matrix = workspace.shown_ids(), workspace.at_hand, workspace.matrix
    if set(text) & {*"*?["}:
        cells = fnmatch.filter(shown, text)
    elif readable_cell(text.partition("@")[0], matrix) is not None:
        return []
    else:
        word = f"{matrix.subject}=={text}" if text[0].isdigit() else text
        try:
            request = request_of([word], matrix, ())
        except UsageError:
            if "-" in text:  # it may be meant as a cell, whose faults are named by its parts
                return []
            raise
        read = {cell: known.by_id[cell].cell for cell in shown if cell in known.by_id}
        axes = (axis.name for axis in matrix.axes)
        versions = {axis: {cell.on(axis).version for cell in read.values()} for axis in axes}
        wanted = wanted_coordinates(request, versions, workspace.stored_catalogue)
        cells = [
            name
            for name, cell in read.items()
            if all(cell.on(axis).version in fitting for axis, fitting in wanted.items())
        ]
    if not cells:
        hint = f"compat advise {workspace.name} {shlex.quote(text)} says what blocks it"
        if set(text) & {*"*?["}:
            hint = f"compat show {workspace.name} --cells lists all with a result"
        raise UsageError.of(f"no cell with a result fits {text!r}", hint=hint)
    return cells


def _print_results(workspace: Workspace, cell: str) -> None:
    verdict = workspace.verdict(cell)
    say(
        f"{cell}: {verdicts.verdict_words(workspace, cell)}, {verdict.evidence}"
        + (f", since {verdict.since}" if verdict.since else "")
    )
    if verdict.score.words:
        say(f"  {verdict.score.words}")
    faults = {fault.id: fault_words(fault.fault) for fault in verdict.faults}
    say(*verdict.reasons, indent=2)
    say(*(f"caution: {caution}" for caution in verdicts.cautions_of(workspace, cell)), indent=2)
    if (install := plain_install(workspace.snapshot, cell)) is not None:
        say(f"  a plain install today: {install_line(install)}")
    say(*answer_lines(verdict.capabilities, faults), indent=2)
    if verdict.helpers:
        say("  helpers of the suite (not evidence about the library):")
    say(*map(_answer, verdict.helpers), indent=4)
    records = workspace.records(cell)
    run_words = verdicts.RunWords(workspace)
    for record in records:
        result = f"{run_words.of_record(record)}, {record.seconds:.0f} s"
        if record.tier == "smoke":
            result = f"{result}, the core of the suite alone"
        say(f"  run of {record.started:%Y-%m-%d %H:%M} UTC at {record.isolation}: {result}")
    say(*records[-1].remarks if records else (), indent=2)
    if records and records[-1].log:
        say("  log around the first error:")
        say(*records[-1].log.splitlines(), indent=4)
    say(*reproduction(workspace, cell), indent=2)


def answer_lines(capabilities: Sequence[Capability], faults: Mapping[str, str]) -> Iterator[str]:
    if sum("::" in capability.id for capability in capabilities) <= MOST_LINES:
        yield from (_answer(answer, faults.get(answer.id, "")) for answer in capabilities)
        return
    groups = grouped((group_of(capability.id), capability) for capability in capabilities)
    for name, members in sorted(groups.items()):
        others = [member for member in members if member.status != "yes"]
        if len(members) > len(others):
            yield f"{name}  {len(members) - len(others):,} yes"
        yield from (_answer(member, faults.get(member.id, "")) for member in others)
    yield "--json lists each test"


def _answer(capability: Capability, fault: str = "") -> str:
    tail = f": {capability.subject}" if capability.subject else ""
    tail = f" ({fault}){tail}" if fault else tail
    missing = f" (looked for {', '.join(capability.missing)})" if capability.missing else ""
    return f"{capability.id}  {capability.status}{tail}{missing}"


def reproduction(workspace: Workspace, cell: str) -> list[str]:
    lock = workspace.lock(cell)
    if lock is None and workspace.verdict(cell).kind == "infeasible":
        return [f"its arithmetic: compat plan {workspace.name} --explain {cell}"]
    if lock is None:
        return [f"reproduce: compat matrix lock {workspace.name} {cell}"]
    folder = f"matrices/{workspace.name}"
    place = f"{folder}/locks/{cell}.txt"
    declared = workspace.matrix.suite
    suite = f"python -m pytest {folder}/{declared.path}"
    if declared.tests:
        # Not `python -m pytest`: that would put the checkout before what is installed.
        suite = shlex.join(["pytest", declared.tests, *declared.arguments])
    lines = (*commands(lock, place, workspace.matrix).uv, *suite_lines(lock, place), suite)
    return ["reproduce:", *(f"  {line}" for line in lines)]
