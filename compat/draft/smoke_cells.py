"""Which few cells of a drafted plan are its smoke cells: those that tell most, first."""

from collections.abc import Callable, Iterable

from packaging.version import Version

from compat.declare.matrix import Matrix, PackageAxis
from compat.draft.weighed import wheel_for
from compat.index.release import Catalogue, Release
from compat.plan.cell import Cell


def smoke_cells(matrix: Matrix, cells: Iterable[Cell], here: frozenset[Version]) -> tuple[str, ...]:
    # Return the newest release of the subject with the newest of everything, and with the oldest of
    # everything; on Pythons of this machine as far as that goes.
    fresh = [cell for cell in cells if cell.recipe == "fresh"]
    on_this = [cell for cell in fresh if _python(matrix, cell) in here] or fresh
    if not on_this:
        return ()
    newest = max(on_this, key=_order(matrix, oldest=False))
    oldest = max(on_this, key=_order(matrix, oldest=True))
    return tuple(dict.fromkeys((newest.id, oldest.id)))


def has_wheels(matrix: Matrix, catalogue: Catalogue, cell: Cell) -> bool:
    python, platform = _python(matrix, cell), matrix.platform
    return all(
        any(wheel_for(release, python, platform) for release in _members(catalogue, axis, cell))
        for axis in matrix.packages
    )


def _members(catalogue: Catalogue, axis: PackageAxis, cell: Cell) -> tuple[Release, ...]:
    return catalogue.members(axis, cell.on(axis.name).version)


def _python(matrix: Matrix, cell: Cell) -> Version:
    return cell.on(matrix.interpreters.name).version


def _order(
    matrix: Matrix, *, oldest: bool
) -> Callable[[Cell], tuple[Version, tuple[tuple[int, ...], ...]]]:
    def key(cell: Cell) -> tuple[Version, tuple[tuple[int, ...], ...]]:
        others = [c.version for c in cell.coordinates if c.axis != matrix.subject]
        numbers = tuple(_number(version, -1 if oldest else 1) for version in reversed(others))
        return cell.on(matrix.subject).version, numbers

    return key


def _number(version: Version, sign: int) -> tuple[int, ...]:
    padded = (version.epoch, *version.release, 0, 0, 0)
    return tuple(sign * part for part in padded[:4])
