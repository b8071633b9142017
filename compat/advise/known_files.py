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


class _KeptFiles(Value, frozen=True, array_like=True):
    """The same in little room: every pin stands once, and locks have the numbers of theirs."""

    pins: tuple[tuple[str, str], ...]
    locks: dict[str, tuple[int, ...]]
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

    def read() -> _KeptFiles:
        texts = {cell: text for cell in cells if (text := text_of(cell)) is not None}
        # Only what the files of these few records say in words is not in the index.
        guarded = [
            entry.cell.id
            for entry in known.known
            if any(is_guard(outcome) for run in entry.runs for outcome in run.outcomes)
        ]
        guards = guards_of(record for cell in guarded for record in records_of(cell))
        return _kept(texts, guards)

    files = known.kept("files", _KeptFiles, read)
    pins = [(name, locked_version(text)) for name, text in files.pins]
    return KnownFiles(
        pins={cell: dict(map(pins.__getitem__, numbers)) for cell, numbers in files.locks.items()},
        guards=tuple(
            ImportGuard(of=of, version=locked_version(text), requirement=requirement, cell=cell)
            for of, text, requirement, cell in files.guards
        ),
    )


def _kept(texts: dict[str, str], guards: Iterable[ImportGuard]) -> _KeptFiles:
    numbers: dict[tuple[str, str], int] = {}
    locks = {
        cell: tuple(
            numbers.setdefault((name, str(version)), len(numbers))
            for name, version in read_pins(text).items()
        )
        for cell, text in texts.items()
    }
    every = ((guard.of, str(guard.version), guard.requirement, guard.cell) for guard in guards)
    return _KeptFiles(tuple(numbers), locks, tuple(every))
