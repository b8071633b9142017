"""The `advise` room's plain statement: what a plain install of these versions does today, where it
is known.
"""

from typing import Literal

from compat.declare.matrix import PackageAxis
from compat.plan.cell import Cell, readable_cell
from compat.results.answer import Answer
from compat.results.installs import plain_of_cell
from compat.results.snapshot import Snapshot
from compat.results.state_words import verdict_clause
from compat.value import Value


class AsPublished(Value, frozen=True):
    """What `command` does today: `works`, `fails`, or `unknown` where nobody tried."""

    command: str
    state: Literal["works", "fails", "unknown"]
    sentence: str


def as_published(snapshot: Snapshot, cell: Cell) -> AsPublished:
    command = f"pip install {' '.join(_pin(axis, cell) for axis in snapshot.matrix.packages)}"
    fresh = cell.id.partition("+")[0]
    entry = snapshot.by_id.get(fresh)
    asked = readable_cell(fresh, snapshot.matrix) if entry is None else entry.cell
    install = None if asked is None else next(plain_of_cell(snapshot, asked), None)
    if install is not None and install.ground in ("resolver", "clause"):
        if install.state == "resolves":
            sentence = f"resolves on {install.on}, and was not run"
            return AsPublished(command=command, state="unknown", sentence=sentence)
        if install.state == "needs-build":
            sentence = f"needs a build from source, asked on {install.on}: {install.because}"
            return AsPublished(command=command, state="unknown", sentence=sentence)
        sentence = f"is refused: {install.outcome}, asked on {install.on}"
        return AsPublished(command=command, state="fails", sentence=sentence)
    kind = "unknown" if entry is None else entry.kind
    if entry is None or kind == "unknown":
        return AsPublished(command=command, state="unknown", sentence="not tried so far")
    if kind == "works":
        sentence = f"{verdict_clause(entry)}, tested on {entry.latest}"
        return AsPublished(command=command, state="works", sentence=sentence)
    return AsPublished(command=command, state="fails", sentence=_failure(entry))


def _failure(entry: Answer) -> str:
    if entry.kind == "infeasible" or entry.outcome is None:
        return f"cannot work: {'; '.join(entry.reasons)}"
    if entry.kind == "partial" and entry.score.words:
        return f"{verdict_clause(entry)}: {entry.score.words}; tested on {entry.latest}"
    return f"{verdict_clause(entry)}: {entry.outcome}, tested on {entry.latest}"


def _pin(axis: PackageAxis, cell: Cell) -> str:
    version = cell.on(axis.name).version
    name = f"{axis.package}[{','.join(axis.extras)}]" if axis.extras else axis.package
    return f"'{name}=={version}'" if axis.select.is_exact(version) else f"'{name}=={version}.*'"
