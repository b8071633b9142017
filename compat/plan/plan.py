"""Every cell of the product once, with its fate."""

from collections import Counter
from collections.abc import Iterable, Iterator

from packaging.version import Version

from compat.declare.matrix import Matrix, Rule
from compat.errors import Fault
from compat.index.release import Catalogue
from compat.plan.cell import RECIPES, Cell, product
from compat.plan.feasible import Feasibility
from compat.plan.obstacle import Obstacle
from compat.plan.platform import python_name, python_remedy
from compat.value import Value


class Feasible(Value, frozen=True, kw_only=True):
    """A cell that no known fact rules out."""

    cell: Cell


class Infeasible(Value, frozen=True, kw_only=True):
    """A cell that was ruled out before anything ran, with its first obstacle."""

    cell: Cell
    obstacle: Obstacle


Fate = Feasible | Infeasible


class Plan(Value, frozen=True, kw_only=True):
    """A partition of the cells: each has exactly one fate.

    `unneeded` names rules that no cell needs.
    """

    matrix: str
    fates: tuple[Fate, ...]
    unneeded: tuple[str, ...]


def plan(matrix: Matrix, catalogue: Catalogue, here: frozenset[Version] | None = None) -> Plan:
    """Return the plan of all cells: each place under each recipe that asks its own there.

    With `here`, the interpreter series that this machine has, a cell whose interpreter is missing
    is infeasible too.
    """
    facts = Feasibility(matrix, catalogue)
    fates = tuple(fate_of(facts, cell, here) for cell in every_cell(facts))
    return Plan(matrix=matrix.name, fates=fates, unneeded=_unneeded(facts, fates))


def every_cell(facts: Feasibility) -> Iterator[Cell]:
    """Yield every cell once: places in axis order, at each place the recipes.

    Where no rule relaxes anything, `relaxed` would ask what `dated` asks, so there is no such cell.
    """
    for place in product(facts.matrix, facts.catalogue):
        for recipe in RECIPES:
            cell = Cell(matrix=facts.matrix.name, coordinates=place, recipe=recipe)
            if is_asked(facts, cell):
                yield cell


def is_asked(facts: Feasibility, cell: Cell) -> bool:
    return cell.recipe != "relaxed" or bool(facts.changing(cell))


def fate_of(facts: Feasibility, cell: Cell, here: frozenset[Version] | None = None) -> Fate:
    obstacle = facts.obstacle(cell)
    if obstacle is None and here is not None:
        obstacle = _no_interpreter(facts.matrix, cell, here)
    return Feasible(cell=cell) if obstacle is None else Infeasible(cell=cell, obstacle=obstacle)


def counts(fates: Iterable[Fate]) -> dict[str, Counter[str]]:
    """Return, by recipe, how many cells have which fate.

    A fate is `feasible`, or the kind of the obstacle.
    """
    table: dict[str, Counter[str]] = {recipe: Counter() for recipe in RECIPES}
    for fate in fates:
        table[fate.cell.recipe][
            "feasible" if isinstance(fate, Feasible) else fate.obstacle.kind
        ] += 1
    return table


def unneeded_faults(plan: Plan, matrix: Matrix, source: str) -> tuple[Fault, ...]:
    return tuple(
        Fault(
            code="unneeded",
            path=f"{source}: rules[{index}]",
            message=f"no cell needs rule {rule.name!r}: the catalogue is the same without it",
            hint="delete the rule, or narrow its `when` to the cells that it is for",
        )
        for index, rule in enumerate(matrix.rules)
        if rule.name in plan.unneeded
    )


def _no_interpreter(matrix: Matrix, cell: Cell, versions: frozenset[Version]) -> Obstacle | None:
    python = cell.on(matrix.interpreters.name)
    if python.version in versions:
        return None
    name = python_name(python.version, matrix.platform)
    because = f"this machine has no Python {name}; {python_remedy(name)}"
    return Obstacle(kind="no-interpreter", between=(python.text,), because=because)


def _unneeded(facts: Feasibility, fates: Iterable[Fate]) -> tuple[str, ...]:
    waiting = {rule.name: rule for rule in facts.matrix.rules}
    for fate in fates:
        if not waiting:
            break
        for rule in _needed(facts, fate):
            waiting.pop(rule.name, None)
    return tuple(waiting)


def _needed(facts: Feasibility, fate: Fate) -> Iterator[Rule]:
    cell = fate.cell
    if isinstance(fate, Infeasible):
        if (
            fate.obstacle.kind == "excluded"
            and not facts.unavailable(cell)
            and not facts.conflicting(cell)
        ):
            yield from facts.rules.exclusions(cell)
        return
    yield from facts.changing(cell)
