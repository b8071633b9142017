"""The `results` room's attribution: whose fault a failing capability is, told by the other cells of
its release and by what is declared.

The question of a matrix is whether a combination does what its release can do. So what fails in
every combination of the release takes nothing from one of them, but only where a `[[known]]` entry
says so, and no cell shows otherwise. A cell speaks by its newest runs that count, whichever suite
they were of: an old answer can take an excuse away, and never gives one.
"""

from collections.abc import Iterable
from functools import cached_property

from msgspec.structs import replace
from packaging.version import Version

from compat.declare.matrix import KnownIssue, Matrix
from compat.plan.cell import Cell
from compat.results.score import Blame, CapabilityFault
from compat.results.verdict import EvaluationContext, Verdict


class Attribution:
    """Whose fault the failures in the cells of a matrix are."""

    def __init__(self, matrix: Matrix, verdicts: Iterable[tuple[Cell, Verdict]]) -> None:
        """Take each cell with its verdict, whether or not faults were taken from it already."""
        self._known = matrix.known
        self._subject = matrix.subject
        self._working = [
            (cell, working_ids)
            for cell, verdict in verdicts
            if (working_ids := steadily_working(verdict))
        ]

    def context(self, cell: Cell, present: EvaluationContext) -> EvaluationContext:
        """Return what holds at the moment of asking, with whose fault it would be that a capability
        fails in the cell.
        """
        working = self._by_release.get(cell.on(self._subject).version, frozenset())
        blames: dict[str, Blame] = dict.fromkeys(sorted(working), "combination")
        for number, issue in reversed(list(enumerate(self._known))):
            if issue.capability and number not in self.refuting and holds(issue, cell):
                is_shown = issue.capability in working
                blames[issue.capability] = "combination" if is_shown else issue.fault
        faults = (CapabilityFault(id=name, fault=blame) for name, blame in blames.items())
        return replace(present, faults=tuple(faults))

    @cached_property
    def refuting(self) -> dict[int, tuple[Cell, ...]]:
        """The cells that refute a `[[known]]` entry about a capability, by the entry's number: it
        works there, where the entry says that it fails.

        An entry that says that it fails in every combination of a release is refuted by any cell of
        its range. A capability that came and went refutes nothing.
        """
        refuting = {
            number: tuple(
                cell
                for cell, ids in self._working
                if issue.capability in ids and holds(issue, cell)
            )
            for number, issue in enumerate(self._known)
            if issue.capability
        }
        return {number: cells for number, cells in refuting.items() if cells}

    @cached_property
    def _by_release(self) -> dict[Version, frozenset[str]]:
        """What works in any cell of each release."""
        by_release: dict[Version, frozenset[str]] = {}
        for cell, ids in self._working:
            version = cell.on(self._subject).version
            by_release[version] = by_release.get(version, frozenset()) | ids
        return by_release


def steadily_working(verdict: Verdict) -> frozenset[str]:
    """Return the capabilities that work in a cell, without those that came and went."""
    passing = {capability.id for capability in verdict.capabilities if capability.status == "yes"}
    return frozenset(passing.difference(verdict.changing))


def holds(issue: KnownIssue, cell: Cell) -> bool:
    """Return whether a cell lies in the range of an explanation."""
    versions = {coordinate.axis: coordinate.version for coordinate in cell.coordinates}
    return all(
        not isinstance(specifier, str)
        and axis in versions
        and specifier.contains(versions[axis], prereleases=True)
        for axis, specifier in issue.when.conditions
    )
