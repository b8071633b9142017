"""The command that finds the lowest or highest version on an axis that works."""

from collections.abc import Mapping
from typing import Annotated

from compat.cli.arguments import Exit, Option, given
from compat.cli.options import (
    At,
    IsolationLevel,
    MatrixName,
    kept_version,
    workspace_of,
)
from compat.cli.output import envelope, note, say
from compat.cli.this_machine import MachineSearch
from compat.errors import UsageError
from compat.fleet.batch import RunOptions
from compat.fleet.floor import FloorAnswer, FloorQuestion, boundary_of, refuse_nothing
from compat.plan.cell import RECIPES, Recipe
from compat.site.wording import count

AxisName = Annotated[str, Option("--axis", metavar="AXIS", help="The axis to search.")]
Highest = Annotated[bool, Option("--highest", help="The highest instead of the lowest.")]
Needs = Annotated[
    list[str] | None,
    Option("--need", metavar="CAPABILITY", help="What must work; else everything."),
]
RecipeName = Annotated[
    str, Option("--recipe", help="fresh, dated or relaxed: how cells are locked.")
]


def floor_command(
    matrix: MatrixName,
    axis: AxisName,
    at: At = None,
    highest: Highest = False,
    need: Needs = None,
    recipe: RecipeName = "relaxed",
    isolation: IsolationLevel = "",
) -> None:
    """Find the lowest version on an axis that works.

    What the records know is not run again. Both ends and their neighbours are tried; a version that
    cannot be installed, and a run that the network ended, move nothing. Each run is recorded.

    Ends with 0 when the boundary is found, with 1 when nothing works, with 3 when it stays open.

    Examples: compat floor tff --axis tf --at tff=0.33.0 --at python=3.9
    """
    workspace = workspace_of(matrix)
    question = FloorQuestion(
        axis=axis,
        others=dict(map(kept_version, at or ())),
        recipe=_recipe(recipe),
        end="highest" if highest else "lowest",
        needs=tuple(need or ()),
    )
    search = MachineSearch(workspace, isolation)

    def run_cell(cell: str) -> Mapping[str, str]:
        result = search.run([cell], RunOptions(is_search=True))
        search.refuse_suite_fault(cell, result)
        return result.outcomes

    answer = boundary_of(workspace, question, run_cell, note, search.cancel.is_set)
    search.exit_if_interrupted()
    refuse_nothing(answer)
    if given.as_json:
        envelope(_payload(answer, question))
    else:
        print_answer(answer, question)
    raise Exit(_exit_code(answer))


def _recipe(text: str) -> Recipe:
    for recipe in RECIPES:
        if recipe == text:
            return recipe
    raise UsageError.of(f"{text!r} is not one of {', '.join(RECIPES)}", path="--recipe")


def _exit_code(answer: FloorAnswer) -> int:
    if not answer.boundary.is_decided:
        return 3
    return 1 if answer.boundary.works is None else 0


def print_answer(answer: FloorAnswer, question: FloorQuestion) -> None:
    """Print where support begins, and what is not as the versions around it."""
    boundary = answer.boundary

    def version(position: int) -> str:
        return str(answer.cells[position].on(question.axis).version)

    beyond = "below" if question.end == "lowest" else "above"
    if boundary.works is None:
        say(f"no version of {question.axis} works in the cells that could be tried")
    else:
        sure = "" if boundary.is_decided else " so far, and it is not certain yet"
        lowest = f"{question.axis} {version(boundary.works)} is the {question.end} that works"
        say(f"{lowest}{sure}")
    if boundary.fails is not None:
        say(f"  {version(boundary.fails)} does not: {_why(answer, boundary.fails)}")
    elif boundary.works is not None:
        say(f"  no version {beyond} it could be tried")
    above = "above" if question.end == "lowest" else "below"
    for first, last in _ranges(boundary.exceptions):
        # Each did the same in every run, so it is a hole and not chance.
        is_hole = boundary.works is not None and first > boundary.works
        what = f"{above} it fail" if is_hole else f"{beyond} it work"
        what += "" if last > first else "s"
        say(f"  {_ends(version(first), version(last))} {what} each time: {_why(answer, first)}")
    for position in boundary.flaky:
        say(f"  {version(position)} works and fails by turns: {_why(answer, position)}")
    for first, last in _ranges(boundary.untestable):
        ends = _ends(version(first), version(last))
        say(f"  {ends} could not be installed: {_why(answer, first)}")
    for position in boundary.unanswered:
        say(f"  {version(position)} has no answer: {_why(answer, position)}")
    known = boundary.runs - answer.cells_run
    note(
        f"{boundary.confidence:.1%} certain, from {count(answer.cells_run, 'run')} and"
        f" {count(known, 'earlier result')}"
    )


def _ends(first: str, last: str) -> str:
    return " to ".join(dict.fromkeys((first, last)))


def _ranges(positions: tuple[int, ...]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for position in positions:
        if ranges and ranges[-1][1] == position - 1:
            ranges[-1] = (ranges[-1][0], position)
        else:
            ranges.append((position, position))
    return ranges


def _why(answer: FloorAnswer, position: int) -> str:
    return answer.because.get(answer.cells[position].id, "")


def _payload(answer: FloorAnswer, question: FloorQuestion) -> dict[str, object]:
    boundary = answer.boundary
    names = ("works", "fails")
    ends = {
        name: None if (position := getattr(boundary, name)) is None else answer.cells[position].id
        for name in names
    }
    lists = {
        name: [answer.cells[position].id for position in getattr(boundary, name)]
        for name in ("exceptions", "untestable", "unanswered", "flaky")
    }
    return {
        "axis": question.axis,
        "end": question.end,
        **ends,
        **lists,
        "confidence": round(boundary.confidence, 4),
        "is_decided": boundary.is_decided,
        "runs": answer.cells_run,
        "earlier_results": boundary.runs - answer.cells_run,
        "because": dict(answer.because),
    }
