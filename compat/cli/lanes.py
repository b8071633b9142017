"""The command that shows the lanes of a matrix: what the lowest declared versions come to, and what
a dependency that is not out yet will break.
"""

from pathlib import Path

from compat.cli.arguments import Exit, given
from compat.cli.options import MATRIX_NAME, workspace_of
from compat.cli.output import envelope, note, say
from compat.cli.reports import SUMMARY_FILE, Report, ReportFiles
from compat.github.markdown import code, inline
from compat.results.compare import lane_report
from compat.site.install_words import floor_words, lane_blame, no_prerelease_words
from compat.site.wording import count

NOTHING = "no cell of this release and Python works as published"


def lanes_command(
    matrix: str = MATRIX_NAME,
    summary: Path | None = SUMMARY_FILE,
) -> None:
    """Compare variants (lowest, pre-release) with the regular cells.

    A lane asks beside the grid, colours no cell of it and moves no floor: `lowest`, whether the
    lowest versions that a release declares are true; `prerelease`, what a dependency that is not
    out yet will break. Asks no index where there is a kept catalogue.

    Ends with 0 when nothing is broken, with 1 when a lane breaks a cell that works otherwise or
    the matrix declares no lane; then --summary writes nothing.

    Examples: compat matrix variants tools; compat run tools '*+lowest' '*+prerelease'; compat
    matrix variants tools --json
    """
    workspace = workspace_of(matrix)
    lanes = lane_report(workspace.snapshot, workspace.lock)
    if workspace.matrix.has_lanes:
        tried = sum(cell.verdict not in ("unknown", "infeasible") for cell in lanes.cells)
        says = "what its lanes break" if lanes.alerts else "its lanes break nothing that is known"
        much = f"{tried:,} of {count(len(lanes.cells), 'cell')} tried"
        report = Report(
            command=f"compat matrix variants {workspace.name}",
            suites=(),
            heading=f"{workspace.matrix.title}: {says}, {much}",
            columns=("cell", "came to", "works"),
            rows=tuple(
                (code(cell.cell), inline(cell.outcome, 500), code(cell.against))
                for cell in lanes.cells
                if cell.is_broken
            ),
            sentences=tuple(alert.sentence for alert in lanes.alerts),
        )
        ReportFiles(summary=summary).write(report)
    if given.as_json:
        envelope({"matrix": matrix, "cells": lanes.cells, "alerts": lanes.alerts})
    else:
        for cell in lanes.cells:
            tail = cell.outcome or cell.because
            say(f"{cell.cell}: {cell.verdict}{f', {tail}' if tail else ''}")
            say(*(f"{floor.declared}: {floor_words(floor)}" for floor in cell.floors), indent=2)
            if cell.is_broken:
                say(f"  works{' in part' if cell.in_part else ''}: {cell.against}")
                say(f"  what makes it fail: {lane_blame(matrix, cell)}")
            elif cell.verdict == "broken" and not cell.against:
                say(f"  nothing to hold it against: {NOTHING}")
        say(*(alert.sentence for alert in lanes.alerts))
    if not workspace.matrix.has_lanes and not lanes.cells:
        ways = "`lowest = true` or [prereleases] in its matrix.toml declares one"
        note(f"{matrix} has no lane; {ways}")
    for package in workspace.snapshot.catalogue.prereleases:
        if not package.releases:
            note(f"{no_prerelease_words(package.name)}")
    asked = {cell.lane for cell in lanes.cells if cell.verdict not in ("unknown", "infeasible")}
    for lane in dict.fromkeys(cell.lane for cell in lanes.cells if cell.lane not in asked):
        note(f"nothing is known of lane {lane} yet; compat run {matrix} '*+{lane}' finds out")
    raise Exit(1 if lanes.alerts or not workspace.matrix.has_lanes else 0)
