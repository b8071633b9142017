"""The verdicts of cells as commands print them: a table for people, rows for programs."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from compat.cli.output import console
from compat.workspace import Workspace


def verdict_row(workspace: Workspace, cell: str) -> dict[str, Any]:
    """Return a cell's verdict as machines read it."""
    verdict = workspace.verdict(cell)
    return {
        "id": cell,
        "verdict": verdict.kind,
        "evidence": verdict.evidence,
        "outcome": None if verdict.outcome is None else str(verdict.outcome),
        "last": _last_outcome(workspace, cell),
        "since": verdict.since,
        "latest": verdict.latest,
        "stale": verdict.stale,
        "capabilities": {capability.id: capability.status for capability in verdict.capabilities},
        "helpers": {capability.id: capability.status for capability in verdict.helpers},
    }


def print_verdicts(workspace: Workspace, cells: Sequence[str]) -> None:
    """Print the verdicts of cells as a table."""
    table = Table("cell", "verdict", "capabilities", "latest", "outcome")
    for cell in cells:
        verdict = workspace.verdict(cell)
        statuses = [capability.status for capability in verdict.capabilities]
        capabilities = (
            f"{statuses.count('yes')} yes, {statuses.count('no')} no, {statuses.count('absent')}"
            " absent"
            if statuses
            else ""
        )
        last = _last_outcome(workspace, cell)
        outcome = f"last run: {last}" if last else ""
        if verdict.outcome is not None:
            outcome = str(verdict.outcome)
        latest = (
            f"{verdict.latest}{' (stale)' if verdict.stale else ''}" if verdict.latest else "never"
        )
        table.add_row(cell, verdict.kind, capabilities, latest, Text(outcome, overflow="fold"))
    console().print(table)


def _last_outcome(workspace: Workspace, cell: str) -> str | None:
    """What the newest run came to, whether or not it says anything about the versions."""
    rows = workspace.runs.get(cell)
    return str(rows[-1].outcome) if rows else None
