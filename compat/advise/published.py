"""The `advise` room's plain statement: what a plain install of these versions does today, where it
is known.
"""

from typing import Literal

from compat.declare.matrix import PackageAxis
from compat.plan.cell import Cell
from compat.results.snapshot import Entry, Snapshot
from compat.results.state_words import verdict_clause
from compat.value import Value


class AsPublished(Value, frozen=True):
    """What `command` does today: `works`, `fails`, or `unknown` where nobody tried."""

    command: str
    state: Literal["works", "fails", "unknown"]
    sentence: str


def as_published(snapshot: Snapshot, cell: Cell) -> AsPublished:
    """Return what a plain install of the cell's versions does, by the fresh cell of its place."""
    command = f"pip install {' '.join(_pin(axis, cell) for axis in snapshot.matrix.packages)}"
    entry = snapshot.by_id.get(cell.id.partition("+")[0])
    kind = "unknown" if entry is None else entry.verdict.kind
    if entry is None or kind == "unknown":
        return AsPublished(command=command, state="unknown", sentence="not tried so far")
    if kind == "works":
        return AsPublished(
            command=command, state="works", sentence=f"works, tested on {entry.verdict.latest}"
        )
    return AsPublished(command=command, state="fails", sentence=_failure(entry))


def _failure(entry: Entry) -> str:
    verdict = entry.verdict
    if verdict.kind == "infeasible" or verdict.outcome is None:
        return f"cannot work: {'; '.join(verdict.reasons)}"
    return f"{verdict_clause(verdict)}: {verdict.outcome}, tested on {verdict.latest}"


def _pin(axis: PackageAxis, cell: Cell) -> str:
    version = cell.on(axis.name).version
    return (
        f"'{axis.package}=={version}'"
        if axis.select.keep == "each"
        else f"'{axis.package}=={version}.*'"
    )
