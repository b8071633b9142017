"""Which declared rules hold in a cell, and what they relax there."""

from collections.abc import Callable

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import Matrix, Outside, Relaxation, Rule
from compat.plan.cell import Cell, Coordinate

Moved = Callable[[Cell, str, Outside], bool]


class RuleBook:
    """The rules of a matrix, ready to be asked about many cells."""

    def __init__(self, matrix: Matrix, moved: Moved) -> None:
        self._exclusions = tuple(rule for rule in matrix.rules if rule.effect == "exclude")
        self._relaxing = tuple(rule for rule in matrix.rules if rule.effect == "relax")
        self._moved = moved
        self._named: dict[str, dict[str, Relaxation]] = {
            rule.name: {
                canonicalize_name(r.package): r
                for r in rule.relaxations
                if not r.ignore_requires_python
            }
            for rule in self._relaxing
        }
        self._ignoring = {
            rule.name
            for rule in self._relaxing
            if any(r.ignore_requires_python for r in rule.relaxations)
        }
        self._memo: dict[tuple[str, str, Version], bool] = {}
        # Several questions are asked about one cell before the next one comes, and no rule asks
        # about the recipe: the cells of a place share its coordinates.
        self._latest: tuple[tuple[Coordinate, ...], tuple[Rule, ...], dict[str, Relaxation]] | None
        self._latest = None
        self._excluded: tuple[tuple[Coordinate, ...], tuple[Rule, ...]] | None = None

    def exclusions(self, cell: Cell) -> tuple[Rule, ...]:
        if self._excluded is None or self._excluded[0] is not cell.coordinates:
            rules = tuple(rule for rule in self._exclusions if self._holds(rule, cell))
            self._excluded = (cell.coordinates, rules)
        return self._excluded[1]

    def relaxing(self, cell: Cell) -> tuple[Rule, ...]:
        """Return the relaxing rules that hold in the cell; none unless its recipe is `relaxed`."""
        return self._of(cell)[0] if cell.recipe == "relaxed" else ()

    def relaxations(self, cell: Cell) -> dict[str, Relaxation]:
        """Return the relaxed pins of the cell by normalised name; a later rule wins."""
        return self._of(cell)[1] if cell.recipe == "relaxed" else {}

    def ignores_requires_python(self, cell: Cell) -> bool:
        return any(rule.name in self._ignoring for rule in self.relaxing(cell))

    def _of(self, cell: Cell) -> tuple[tuple[Rule, ...], dict[str, Relaxation]]:
        if self._latest is not None and self._latest[0] is cell.coordinates:
            return self._latest[1:]
        rules = tuple(rule for rule in self._relaxing if self._holds(rule, cell))
        pins: dict[str, Relaxation] = {}
        for rule in rules:
            pins |= self._named[rule.name]
        self._latest = (cell.coordinates, rules, pins)
        return rules, pins

    def _holds(self, rule: Rule, cell: Cell) -> bool:
        return all(
            self._moved(cell, axis, condition)
            if isinstance(condition, str)
            else self._contains(rule, condition, cell.on(axis))
            for axis, condition in rule.when.conditions
        )

    def _contains(self, rule: Rule, specifier: SpecifierSet, coordinate: Coordinate) -> bool:
        key = (rule.name, coordinate.axis, coordinate.version)
        if key not in self._memo:
            self._memo[key] = specifier.contains(coordinate.version, prereleases=True)
        return self._memo[key]
