"""The fresh cell that a plain install of each release asks about, on each Python that it admits."""

import itertools

from packaging.version import Version

from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.plan.obstacle import Obstacle
from compat.plan.product import product
from compat.value import Value


class PlainQuestion(Value, frozen=True, kw_only=True):
    """Does `pip install subject==release` work on a Python?

    `cell` is the fresh cell with the newest coordinates that the release's own metadata admits
    there. Without a cell nobody need ask a resolver, and `obstacle` says why: the release does not
    admit the Python, the matrix has no coordinate that it admits, or a rule excludes it.
    """

    release: Version
    python: Version
    cell: Cell | None = None
    obstacle: Obstacle | None = None


def plain_questions(facts: Feasibility) -> tuple[PlainQuestion, ...]:
    """Return the question of each release and Python of the matrix, oldest first.

    What the plan knows of packages deeper in the tree is left aside: that is what is asked.
    """
    subject, python = facts.matrix.subject, facts.matrix.interpreters.name
    pairs: dict[tuple[Version, Version], list[Cell]] = {}
    for place in product(facts.matrix, facts.catalogue):
        cell = Cell(matrix=facts.matrix.name, coordinates=place, recipe="fresh")
        pairs.setdefault((cell.on(subject).version, cell.on(python).version), []).append(cell)
    return tuple(
        _question(facts, release, series, cells)
        for (release, series), cells in sorted(pairs.items())
    )


def plain_question_of(facts: Feasibility, cell: Cell) -> PlainQuestion | None:
    # Return the question of a cell's release and Python, as `plain_questions` has it; None where
    # the matrix has no such place.
    pair = (facts.matrix.subject, facts.matrix.interpreters.name)
    release, python = (cell.on(axis).version for axis in pair)
    spans = (
        [
            coordinate
            for coordinate in coordinates
            if axis not in pair or coordinate.version == cell.on(axis).version
        ]
        for axis, coordinates in facts.coordinates.items()
    )
    cells = [
        Cell(matrix=facts.matrix.name, coordinates=place, recipe="fresh")
        for place in itertools.product(*spans)
    ]
    return _question(facts, release, python, cells) if cells else None


def _question(
    facts: Feasibility, release: Version, python: Version, cells: list[Cell]
) -> PlainQuestion:
    others = [axis.name for axis in facts.matrix.packages if axis is not facts.matrix.subject_axis]

    def versions(cell: Cell) -> tuple[Version, ...]:
        return tuple(cell.on(axis).version for axis in others)

    if not facts.usable(cells[0], facts.matrix.subject_axis):
        obstacle = facts.unavailable(cells[0])
        return PlainQuestion(release=release, python=python, obstacle=obstacle)
    # Of what the release admits, a resolver takes what has a file; where nothing has one, it says
    # so about what is admitted.
    newest_first = sorted(cells, key=versions, reverse=True)
    admitted = (cell for cell in newest_first if facts.conflicting(cell) is None)
    unmoved = (cell for cell in newest_first if not any(facts.moved(cell, axis) for axis in others))
    cell = next(itertools.chain(admitted, unmoved), None)
    if cell is None:
        obstacle = facts.conflicting(cells[-1])
        return PlainQuestion(release=release, python=python, obstacle=obstacle)
    obstacle = facts.excluded(cell)
    return PlainQuestion(
        release=release, python=python, cell=None if obstacle else cell, obstacle=obstacle
    )
