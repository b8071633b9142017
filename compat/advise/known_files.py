"""The `advise` room's look at what only files say: the pins of each lock, and the guards that runs
met.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from packaging.version import Version

from compat.advise.guards import ImportGuard, guards_of, is_guard
from compat.lock.lock_text import locked_version, read_pins
from compat.results.record import Record
from compat.results.snapshot import Snapshot
from compat.value import Value


class KnownFiles(NamedTuple):
    """The pins of each lock, by its cell, and what releases were seen to ask for when imported."""

    pins: dict[str, dict[str, Version]]
    guards: tuple[ImportGuard, ...]


class _Texts(Value, frozen=True, array_like=True):
    """The same as texts."""

    pins: dict[str, dict[str, str]]
    guards: tuple[tuple[str, str, str, str], ...]


def files_of_known(
    known: Snapshot,
    cells: Iterable[str],
    text_of: Callable[[str], str | None],
    records_of: Callable[[str], Iterable[Record]],
) -> KnownFiles:
    """Return what the files of a matrix say: `cells` are those with a lock, of which `text_of`
    returns the text and `records_of` the runs. They are read only where that is not kept.
    """

    def read() -> _Texts:
        texts = {cell: text for cell in cells if (text := text_of(cell)) is not None}
        # Only what the files of these few records say in words is not in the table.
        guarded = [
            entry.cell.id
            for entry in known.known
            if any(is_guard(outcome) for run in entry.runs for outcome in run.outcomes)
        ]
        guards = guards_of(record for cell in guarded for record in records_of(cell))
        return _Texts(
            {
                cell: {name: str(version) for name, version in read_pins(text).items()}
                for cell, text in texts.items()
            },
            tuple((g.of, str(g.version), g.requirement, g.cell) for g in guards),
        )

    files = known.kept("files", _Texts, read)
    return KnownFiles(
        pins={
            cell: {name: locked_version(text) for name, text in own.items()}
            for cell, own in files.pins.items()
        },
        guards=tuple(
            ImportGuard(of=of, version=locked_version(text), requirement=requirement, cell=cell)
            for of, text, requirement, cell in files.guards
        ),
    )
