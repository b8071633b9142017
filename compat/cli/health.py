"""The command that reports how fresh results are: `compat ci health`."""

from compat.cli.arguments import Exit, option
from compat.cli.machine import now
from compat.cli.options import MATRIX_NAME, workspace_of
from compat.cli.output import envelope, note, report, say
from compat.results.snapshot import cell_count


def health_command(
    matrix: str = MATRIX_NAME,
    days: int = option("Days a verdict may stay stale.", min=0, default=14),
) -> None:
    """Report how fresh the results are.

    Exits 1 if a result is overdue, a record is damaged, or there are none. Counts each planned cell
    once. A verdict is overdue after --days of being stale by age.

    Examples: compat ci health tff; compat ci health tff --days 3
    """
    workspace = workspace_of(matrix)
    known, day = workspace.snapshot.known, workspace.context.day
    tested = [entry for entry in known if entry.is_tested]
    waited = workspace.context.fresh_days + days
    overdue = [
        entry.cell.id
        for entry in tested
        if entry.planned and entry.obstacle is None
        if entry.latest is not None and (day - entry.latest).days > waited
    ]
    damaged = workspace.damaged(now())
    cells = cell_count(workspace.snapshot)
    latest = sorted(entry.latest for entry in tested if entry.latest is not None)
    figures: dict[str, int | str] = {
        "planned cells": cells.planned,
        "planned cells ruled out before any run": cells.ruled_out,
        "planned cells tested": cells.tested,
        "planned cells run without an answer": cells.undecided,
        "planned cells never run": cells.refused + cells.expected + cells.untried,
        "tested cells": len(tested),
        "tested with the core only": sum(entry.evidence == "smoke" for entry in tested),
        "stale verdicts": sum(entry.stale for entry in tested),
        "flaky cells": sum(entry.kind == "flaky" for entry in known),
        "oldest verdict": str(latest[0]) if latest else "none",
        "newest verdict": str(latest[-1]) if latest else "none",
        "overdue": len(overdue),
        "damaged records": len(damaged),
    }
    keys = {name.replace(" ", "_"): value for name, value in figures.items()}
    envelope({"matrix": matrix, **keys, "overdue_cells": overdue}, damaged)
    say(*(f"{name}: {value}" for name, value in figures.items()))
    report(damaged)
    for cell in overdue:
        note(f"warning: {cell} is overdue; compat run {matrix} {cell} renews it")
    raise Exit(1 if overdue or damaged or not tested else 0)
