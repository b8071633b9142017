"""Which version is the lowest or highest on an axis that works: cells in, a boundary out.

What is known is not run again; what is tried is run and recorded like every other cell.
"""

from collections.abc import Callable, Mapping
from typing import Literal

from packaging.version import Version

from compat.declare.faults import choice
from compat.declare.matrix import Axis, Matrix
from compat.errors import NothingToDo, UsageError
from compat.plan.cell import Cell, Coordinate, Recipe, axis_coordinates
from compat.plan.plan import Infeasible, fate_of
from compat.results.answer import Answer
from compat.run.outcome import Failed, is_spurious, parse_outcome
from compat.search.boundary import Boundary, BoundarySearch, Probe
from compat.search.trials import may_be_chance
from compat.site.wording import count
from compat.value import Value
from compat.workspace import Workspace

End = Literal["lowest", "highest"]


class FloorQuestion(Value, frozen=True, kw_only=True):
    """On which axis, with which versions on the others, by which recipe, at which end.

    With `needs`, capabilities, a cell works when all of them do; else when everything does that the
    release can do.
    """

    axis: str
    others: Mapping[str, Version]
    recipe: Recipe = "relaxed"
    end: End = "lowest"
    needs: tuple[str, ...] = ()


class FloorAnswer(Value, frozen=True, kw_only=True):
    """The cells in the order of the search, with the position and reason of each that was tried.

    Positions of `boundary` are those of `cells`; the first is the version that is least likely to
    work, the oldest where the lowest is asked for. `because` says of a cell what it came to.
    """

    cells: tuple[Cell, ...]
    boundary: Boundary
    because: Mapping[str, str]
    cells_run: int


def floor_cells(workspace: Workspace, question: FloorQuestion) -> tuple[Cell, ...]:
    """Return the cells that a question is about, that which is least likely to work first.

    Raises UsageError for an axis or a version that the matrix does not have.
    """
    matrix, catalogue = workspace.matrix, workspace.kept_or_asked
    axes = {axis.name: axis for axis in matrix.axes}
    _refuse_unknown(matrix, question)
    coordinates = {name: axis_coordinates(axis, catalogue) for name, axis in axes.items()}
    fixed = {
        name: _coordinate(axes[name], version, coordinates[name])
        for name, version in question.others.items()
    }
    searched = coordinates[question.axis]
    ordered = searched if question.end == "lowest" else tuple(reversed(searched))
    return tuple(
        Cell(
            matrix=matrix.name,
            coordinates=tuple(
                coordinate if axis.name == question.axis else fixed[axis.name]
                for axis in matrix.axes
            ),
            recipe=question.recipe,
        )
        for coordinate in ordered
    )


def boundary_of(
    workspace: Workspace,
    question: FloorQuestion,
    run_cell: Callable[[str], Mapping[str, str]],
    tell: Callable[[str], None],
    is_stopped: Callable[[], bool],
) -> FloorAnswer:
    """Return where support begins: ask the records first, then run cells until it is certain.

    `run_cell` runs one cell and returns its outcome by cell id, nothing where none came. `tell`
    hears the budget, and that it was raised.
    """
    cells = floor_cells(workspace, question)
    search = BoundarySearch(len(cells))
    because: dict[str, str] = {}
    for number, cell in enumerate(cells):
        known = _known(workspace, cell, question)
        if known is not None:
            probe, because[cell.id] = known
            search.observe(number, probe)
    budget, runs = search.budget, 0
    position = search.next()
    if position is not None:
        tell(f"{count(len(cells), 'cell')}; at most {count(budget, 'run')}")
    while position is not None and not is_stopped():
        outcomes = run_cell(cells[position].id)
        workspace.refresh()
        probe, why = _tried(workspace, cells[position], question, outcomes)
        because[cells[position].id] = why
        runs += probe in ("works", "fails", "refuses")
        search.observe(position, probe)
        if search.budget > budget:
            budget = search.budget
            boundary = search.result
            of = boundary.flaky or boundary.exceptions
            by_turns = "works and fails by turns" if boundary.flaky else "is a hole"
            tell(f"{cells[of[-1]].id} {by_turns}: up to {count(budget, 'run')} now")
        position = search.next()
    return FloorAnswer(cells=cells, boundary=search.result, because=because, cells_run=runs)


def _refuse_unknown(matrix: Matrix, question: FloorQuestion) -> None:
    names = [axis.name for axis in matrix.axes]
    for name in (question.axis, *question.others):
        if name not in names:
            raise UsageError.of(
                f"matrix {matrix.name!r} has no axis {name!r}", hint=choice(name, names)
            )
    missing = [name for name in names if name not in (question.axis, *question.others)]
    if question.axis in question.others:
        raise UsageError.of(f"axis {question.axis!r} is searched, so it has no version of its own")
    if missing:
        ask = " ".join(f"--at {name}=VERSION" for name in missing)
        raise UsageError.of(f"no version of {' and '.join(missing)}", hint=ask)


def _coordinate(axis: Axis, version: Version, coordinates: tuple[Coordinate, ...]) -> Coordinate:
    for coordinate in coordinates:
        if coordinate.version == version:
            return coordinate
    ends = f"it has {coordinates[0].version} to {coordinates[-1].version}" if coordinates else ""
    raise UsageError.of(f"axis {axis.name!r} has no version {version}", hint=ends)


def _known(workspace: Workspace, cell: Cell, question: FloorQuestion) -> tuple[Probe, str] | None:
    """What is known of a cell without running it; None where it has to be run."""
    fate = fate_of(workspace.feasibility, cell)
    if isinstance(fate, Infeasible):
        return "untestable", fate.obstacle.because
    verdict = workspace.verdict(cell.id)
    if verdict.evidence != "tested" or verdict.stale:
        return None
    if verdict.kind == "flaky":
        # A series of runs is begun anew: which of them worked is not told here.
        return None
    return _judged(verdict, question)


def _judged(verdict: Answer, question: FloorQuestion) -> tuple[Probe, str]:
    because = "; ".join(verdict.reasons)
    outcome = verdict.outcome
    if isinstance(outcome, Failed) and outcome.stage in ("plan", "lock", "install"):
        return "untestable", because
    if verdict.kind == "unknown":
        return "untestable", because
    if question.needs:
        works = {c.id for c in verdict.capabilities if c.status == "yes"}
        return ("works" if works.issuperset(question.needs) else "fails"), because
    if verdict.kind == "works":
        return "works", because
    is_steady = isinstance(outcome, Failed) and not may_be_chance(outcome)
    return ("refuses" if is_steady else "fails"), because


def _tried(
    workspace: Workspace, cell: Cell, question: FloorQuestion, outcomes: Mapping[str, str]
) -> tuple[Probe, str]:
    if cell.id not in outcomes:
        return "unanswered", "it could not be run"
    newest = parse_outcome(outcomes[cell.id])
    if is_spurious(newest):
        return "unanswered", str(newest)
    verdict = workspace.verdict(cell.id)
    if verdict.kind == "flaky":
        return ("fails" if isinstance(newest, Failed) else "works"), str(newest)
    return _judged(verdict, question)


def refuse_nothing(answer: FloorAnswer) -> None:
    """Raise NothingToDo where no cell of the question could be tried at all."""
    if answer.boundary.works is None and answer.boundary.fails is None:
        reason = next(iter(answer.because.values()), "the axis has no version")
        raise NothingToDo.of(f"no cell of the question could be tried: {reason}", hint="")
