"""What a cell asks of a resolver, as a set of facts: the more of them hold, the less can be locked.

So a set of facts that cannot be locked answers every cell that holds all of them. A date is none of
them: what cannot be locked from all releases there are cannot be locked from fewer.
"""

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from compat.declare.matrix import ANY, NOTHING, Matrix, Relaxation
from compat.index.release import Release
from compat.lock.lockfile import Inputs
from compat.lock.recipe import asked_lines, pinned
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility

Facts = frozenset[str]
# What a rule says of a package wherever in the tree it is asked for. No requirement begins so.
_THROUGHOUT = "throughout: "
_AS_ASKED = "as asked"


class Demands:
    """The facts of a matrix's cells, each worked out once.

    A fact is a requirement among the roots (`lib==0.4.13`), or of a package that some rule of the
    matrix replaces throughout the tree that none does in this cell (`throughout: numpy as asked`).
    """

    def __init__(self, facts: Feasibility) -> None:
        self._facts = facts
        self._matrix = facts.matrix
        self._python = facts.matrix.interpreters.name
        # Of these a fact says what becomes of them in the whole tree.
        self.replaceable = replaceable(facts.matrix)
        self._memo: dict[tuple[object, ...], Facts] = {}

    def of(self, cell: Cell) -> tuple[Facts, ...]:
        """Return the facts of the cell under each of the subject's releases that it can have.

        A cell is refused when each of these is. Empty where no release can be installed. In a
        relaxed cell every package may move that is neither the subject nor on an axis, so of such
        a package the fact is that it is asked for, and that no rule speaks of it.
        """
        pins: dict[str, str] = {
            axis.normalised_name: pinned(axis, cell)
            for axis in self._matrix.packages
            if axis is not self._matrix.subject_axis
        }
        ruled = {name for name, r in self._facts.relaxations(cell).items() if r.everywhere}
        treatments = {as_asked(name) for name in self.replaceable if name not in ruled}
        treatments |= {_THROUGHOUT + pins[name] for name in ruled & pins.keys()}
        key = cell.on(self._python).version, cell.recipe, *sorted(self._left_out(cell))
        sets: list[Facts] = []
        for release in self._facts.usable(cell, self._matrix.subject_axis):
            if (release.version, key) not in self._memo:
                self._memo[release.version, key] = self._lines(cell, release)
            sets.append(self._memo[release.version, key].union(pins.values(), treatments))
        return tuple(sets)

    def inputs(self, cell: Cell, held: Facts) -> Inputs:
        """Return the question whether these facts alone can be locked, on the cell's Python.

        Every release is seen, whenever it came out. What no fact speaks of is as lax as can be: a
        package that some rule replaces is left out of the tree.
        """
        spoken = [_after(fact) for fact in sorted(held) if fact.startswith(_THROUGHOUT)]
        matrix = self._matrix
        return Inputs(
            cell=cell.id,
            python=self._facts.patch(cell),
            platform=matrix.platform,
            requirements=tuple(sorted(f for f in held if not f.startswith(_THROUGHOUT))),
            no_prereleases=tuple(
                sorted(a.normalised_name for a in matrix.packages if not a.select.prereleases)
            ),
            overrides=tuple(text for text in spoken if " " not in text),
            excludes=tuple(sorted(set(self.replaceable).difference(map(_name, spoken)))),
        )

    def _left_out(self, cell: Cell) -> set[str]:
        return {name for name, r in self._facts.relaxations(cell).items() if r.to == NOTHING}

    def _lines(self, cell: Cell, release: Release) -> Facts:
        """The facts that do not hang on the coordinates of other axes."""
        relaxations = {
            name: r if r.to == NOTHING else Relaxation(package=name, to=ANY)
            for name, r in self._facts.relaxations(cell).items()
        }
        asked = asked_lines(self._facts, release, cell.on(self._python).version, relaxations)
        # A name alone says nothing beside the pin of its coordinate.
        axes = {axis.normalised_name for axis in self._matrix.packages}
        lines = (line for line in asked if line not in axes)
        return frozenset((*lines, *self._matrix.requirements))


def replaceable(matrix: Matrix) -> tuple[str, ...]:
    """Return the packages that some rule replaces throughout the tree, normalised and sorted."""
    rules = (relaxation for rule in matrix.rules for relaxation in rule.relaxations)
    return tuple(sorted({canonicalize_name(r.package) for r in rules if r.everywhere}))


def as_asked(package: str) -> str:
    return f"{_THROUGHOUT}{package} {_AS_ASKED}"


def is_requirement(fact: str) -> bool:
    return not fact.startswith(_THROUGHOUT)


def package_of_fact(fact: str) -> str:
    return _name(_after(fact))


def is_fact(text: str) -> bool:
    try:
        Requirement(_after(text).removesuffix(f" {_AS_ASKED}"))
    except InvalidRequirement:
        return False
    return True


def keeps_prereleases(fact: str) -> bool:
    """Return whether a requirement lets pre-releases of its package in: without it fewer releases
    may be had, not more.
    """
    return is_requirement(fact) and bool(Requirement(fact).specifier.prereleases)


def _after(fact: str) -> str:
    return fact.removeprefix(_THROUGHOUT)


def _name(text: str) -> str:
    return canonicalize_name(Requirement(text.partition(" ")[0]).name)
