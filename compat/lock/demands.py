"""What a cell asks of a resolver, as a set of facts: the more of them hold, the less can be locked.

So a set of facts that cannot be locked answers every cell that holds all of them. A date is none of
them: what cannot be locked from all releases there are cannot be locked from fewer.
"""

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from compat.declare.matrix import NOTHING, Matrix, Relaxation
from compat.index.release import Release
from compat.lock.lockfile import Inputs
from compat.lock.recipe import asked_lines, pinned
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility

Facts = frozenset[str]
# What a rule says of a package wherever in the tree it is asked for. No requirement begins so.
_THROUGHOUT = "throughout: "
_AS_ASKED, _LEFT_OUT = "as asked", "left out"


class Demands:
    """The facts of a matrix's cells, each worked out once.

    A fact is a requirement among the roots, as the rules change it (`lib==0.4.13`), or what the
    cell's rules say of a package that some rule of the matrix replaces throughout the tree
    (`throughout: numpy<1.24`, `throughout: numpy as asked`).
    """

    def __init__(self, facts: Feasibility) -> None:
        self._facts = facts
        self._matrix = facts.matrix
        self._python = facts.matrix.interpreters.name
        self._asked = {axis.normalised_name for axis in facts.matrix.packages}
        # Of these a fact says what becomes of them in the whole tree.
        self.replaceable = replaceable(facts.matrix)
        self._memo: dict[tuple[object, ...], Facts] = {}

    def of(self, cell: Cell) -> tuple[Facts, ...]:
        """Return the facts of the cell under each of the subject's releases that it can have.

        A cell is refused when each of these is. Empty where no release can be installed. In a
        relaxed cell every package may move that is neither the subject nor on an axis, so of such
        a package the fact is that it is asked for, and that no rule speaks of it.
        """
        pins = {
            axis.normalised_name: pinned(axis, cell)
            for axis in self._matrix.packages
            if axis is not self._matrix.subject_axis
        }
        relaxations = self._facts.relaxations(cell)
        treatments = {
            f"{_THROUGHOUT}{_treatment(name, relaxations.get(name), pins[name])}"
            for name in pins.keys() & set(self.replaceable)
        }
        key = (
            cell.on(self._python).version,
            cell.recipe,
            *(r.name for r in self._facts.rules.relaxing(cell)),
        )
        sets: list[Facts] = []
        for release in self._facts.usable(cell, self._matrix.subject_axis):
            if (release.version, key) not in self._memo:
                self._memo[release.version, key] = self._lines(cell, release)
            lines = self._memo[release.version, key]
            facts = frozenset((*lines, *pins.values(), *treatments))
            if cell.recipe == "relaxed":
                facts = frozenset(filter(None, map(self._relaxed, facts)))
            sets.append(facts)
        return tuple(sets)

    def _relaxed(self, fact: str) -> str:
        """What holds of a fact however far the packages on no axis are moved; else nothing."""
        name = package_of_fact(fact)
        if name in self._asked or " @ " in fact or fact == as_asked(name):
            return fact
        return name if is_requirement(fact) else ""

    def inputs(self, cell: Cell, held: Facts) -> Inputs:
        """Return the question whether these facts alone can be locked, on the cell's Python.

        Every release is seen, whenever it came out. What no fact speaks of is as lax as can be: a
        package that some rule replaces is left out of the tree.
        """
        spoken = [_after(fact) for fact in sorted(held) if fact.startswith(_THROUGHOUT)]
        names = {_name(text) for text in spoken}
        left_out = {_name(text) for text in spoken if text.endswith(f" {_LEFT_OUT}")}
        overrides = (text for text in spoken if " " not in text)
        matrix = self._matrix
        return Inputs(
            cell=cell.id,
            python=self._facts.patch(cell),
            platform=matrix.platform,
            requirements=tuple(sorted(f for f in held if not f.startswith(_THROUGHOUT))),
            no_prereleases=tuple(
                sorted(a.normalised_name for a in matrix.packages if not a.select.prereleases)
            ),
            overrides=tuple(overrides),
            excludes=tuple(sorted({*left_out, *(set(self.replaceable) - names)})),
        )

    def _lines(self, cell: Cell, release: Release) -> Facts:
        """The facts that do not hang on the coordinates of other axes."""
        relaxations = self._facts.relaxations(cell)
        asked = asked_lines(self._facts, release, cell.on(self._python).version, relaxations)
        # A name alone says nothing beside the pin of its coordinate.
        axes = {axis.normalised_name for axis in self._matrix.packages}
        return frozenset(
            (
                *(line for line in asked if line not in axes),
                *self._matrix.requirements,
                *(
                    _THROUGHOUT + _treatment(name, relaxations.get(name))
                    for name in self.replaceable
                    if name not in axes
                ),
            )
        )


def replaceable(matrix: Matrix) -> tuple[str, ...]:
    """Return the packages that some rule replaces throughout the tree, normalised and sorted."""
    rules = (relaxation for rule in matrix.rules for relaxation in rule.relaxations)
    return tuple(sorted({canonicalize_name(r.package) for r in rules if r.everywhere}))


def as_asked(package: str) -> str:
    return _THROUGHOUT + _treatment(package, None)


def is_requirement(fact: str) -> bool:
    return not fact.startswith(_THROUGHOUT)


def package_of_fact(fact: str) -> str:
    return _name(_after(fact))


def is_fact(text: str) -> bool:
    treatment = _after(text).removesuffix(f" {_AS_ASKED}").removesuffix(f" {_LEFT_OUT}")
    try:
        Requirement(treatment)
    except InvalidRequirement:
        return False
    return True


def keeps_prereleases(fact: str) -> bool:
    """Return whether a requirement lets pre-releases of its package in: without it fewer releases
    may be had, not more.
    """
    return is_requirement(fact) and bool(Requirement(fact).specifier.prereleases)


def _treatment(name: str, relaxation: Relaxation | None, pin: str = "") -> str:
    if relaxation is None or not relaxation.everywhere:
        return f"{name} {_AS_ASKED}"
    if relaxation.to == NOTHING:
        return f"{name} {_LEFT_OUT}"
    return pin or f"{name}{relaxation.specifier}"


def _after(fact: str) -> str:
    return fact.removeprefix(_THROUGHOUT)


def _name(text: str) -> str:
    return canonicalize_name(Requirement(text.partition(" ")[0]).name)
