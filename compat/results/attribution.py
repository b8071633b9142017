"""The `results` room's attribution: whose fault a failing capability is, told by the other cells of
its release and by what is declared.

The question of a matrix is whether a combination does what its release can do. So what fails in
every combination of the release takes nothing from one of them, but only where a `[[known]]` entry
says so, and no cell shows otherwise. A cell speaks by its newest runs that count, whichever suite
they were of: an old answer can take an excuse away, and never gives one.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

from msgspec.structs import replace
from packaging.version import Version

from compat.declare.matrix import KnownIssue, Matrix
from compat.plan.cell import Cell
from compat.results.score import Blame, CapabilityFault
from compat.results.verdict import EvaluationContext, Verdict
from compat.run.outcome import Outcome, begins_with, is_of_machine, parse_outcome


class Attribution:
    """Whose fault the failures in the cells of a matrix are."""

    def __init__(
        self,
        matrix: Matrix,
        verdicts: Iterable[tuple[Cell, Verdict]],
        of_release: Callable[[Version], Iterable[Verdict]] | None = None,
    ) -> None:
        """Take each cell with its verdict, whether or not faults were taken from it already; they
        are asked for once, when they are needed. `of_release` returns those of a release alone.
        """
        self._known = matrix.known
        self._subject = matrix.subject
        self._verdicts = verdicts
        self._of_release = of_release
        self._releases: dict[Version, frozenset[str]] = {}
        # By the identity of capabilities, which the verdict beside holds.
        self._steady: dict[tuple[int, tuple[str, ...]], tuple[Verdict, frozenset[str]]] = {}
        # Cells of a release in which the same issues hold share one object.
        self._faults: dict[tuple[Version, tuple[int, ...]], tuple[CapabilityFault, ...]] = {}

    def context(self, cell: Cell, present: EvaluationContext) -> EvaluationContext:
        version = cell.on(self._subject).version
        issues = tuple(
            number
            for number, issue in enumerate(self._known)
            if issue.capability and holds(issue, cell) and number not in self.refuting
        )
        if (version, issues) not in self._faults:
            self._faults[version, issues] = tuple(self._faults_of(version, issues))
        return replace(present, faults=self._faults[version, issues])

    def _faults_of(self, version: Version, issues: Sequence[int]) -> Iterator[CapabilityFault]:
        """Whose fault it would be in a cell of that release in which these issues hold: by what is
        declared of the way in which it fails, then by the other cells of the release.
        """
        working = self._works_in(version)
        for number in issues:
            issue = self._known[number]
            fault: Blame = "combination" if issue.capability in working else issue.fault
            yield CapabilityFault(id=issue.capability, fault=fault, outcome=issue.outcome)
        yield from (CapabilityFault(id=name, fault="combination") for name in sorted(working))

    @cached_property
    def _working(self) -> list[tuple[Cell, frozenset[str]]]:
        steady = ((cell, steadily_working(verdict)) for cell, verdict in self._verdicts)
        return [(cell, working_ids) for cell, working_ids in steady if working_ids]

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

    def _works_in(self, version: Version) -> frozenset[str]:
        if self._of_release is None:
            return self._by_release.get(version, frozenset())
        if version not in self._releases:
            of_release = self._of_release(version)
            # Cells that came to the same share one object in the index.
            distinct = {(id(v.capabilities), v.changing): v for v in of_release}.items()
            for key, verdict in distinct:
                if key not in self._steady:
                    self._steady[key] = verdict, steadily_working(verdict)
            steady = (self._steady[key][1] for key, _ in distinct)
            self._releases[version] = frozenset().union(*steady)
        return self._releases[version]

    @cached_property
    def _by_release(self) -> dict[Version, frozenset[str]]:
        by_release: dict[Version, frozenset[str]] = {}
        for cell, ids in self._working:
            version = cell.on(self._subject).version
            by_release[version] = by_release.get(version, frozenset()) | ids
        return by_release


def steadily_working(verdict: Verdict) -> frozenset[str]:
    passing = {capability.id for capability in verdict.capabilities if capability.status == "yes"}
    return frozenset(passing.difference(verdict.changing))


def explains(issue: KnownIssue, failed: Outcome | None) -> bool:
    return not issue.outcome or begins_with(failed, issue.outcome)


def is_machine_issue(issue: KnownIssue) -> bool:
    match = re.match(r"[a-z]+-fail:[a-z-]+", issue.outcome)
    try:
        return match is not None and is_of_machine(parse_outcome(match[0]))
    except ValueError:
        return False


def holds(issue: KnownIssue, cell: Cell) -> bool:
    versions = {coordinate.axis: coordinate.version for coordinate in cell.coordinates}
    return all(
        not isinstance(specifier, str)
        and axis in versions
        and specifier.contains(versions[axis], prereleases=True)
        for axis, specifier in issue.when.conditions
    )
