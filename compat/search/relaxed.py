"""A cell with some requirements changed, as plan and resolver answer it, and the rule for it."""

import datetime
import re
from collections.abc import Callable, Iterator, Mapping

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat.declare.matrix import ANY, Relaxation, Rule, When
from compat.errors import NoPage
from compat.index.release import Package
from compat.lock.locker import Locker
from compat.lock.lockfile import Cutoff, Inputs, Lock, Refusal
from compat.lock.recipe import inputs_of, lock_cell
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.plan.obstacle import Obstacle
from compat.plan.platform import admits
from compat.plan.requirements import named
from compat.search.corrections import Spent

Trial = Lock | Refusal | Obstacle
# What is to be asked of packages instead, by normalised name: a specifier, or ANY.
Changes = Mapping[str, str]
_LONGEST_REASON = 600


class RelaxedCell:
    """One cell whose coordinates stay, while what is asked of other packages may change."""

    def __init__(
        self,
        facts: Feasibility,
        cell: Cell,
        locker: Locker,
        package_of: Callable[[str], Package],
        most_locks: int,
    ) -> None:
        matrix = facts.matrix
        self.cell = cell
        self.locks = 0
        self._facts = facts
        self._locker = locker
        self._package_of = package_of
        self._most_locks = most_locks
        self._freed: tuple[Cutoff, ...] = ()
        self._answers: dict[tuple[tuple[str, str], ...], Trial] = {}
        self._release = facts.subject_releases(cell.on(matrix.subject).version)[-1]
        python = cell.on(matrix.interpreters.name).version
        self._asked = facts.requirements(self._release.version, python)
        self.axes = frozenset(axis.normalised_name for axis in matrix.packages)
        self.direct = tuple(
            dict.fromkeys(asked.name for asked in self._asked if asked.name not in self.axes)
        )

    def answer(self, changes: Changes) -> Trial:
        """Return what comes of these changes; raise Spent when the resolver may not be asked
        again.
        """
        key = tuple(sorted(changes.items()))
        if key not in self._answers:
            self._answers[key] = self._tried(changes)
        return self._answers[key]

    def rule(self, changes: Changes, because: str, name: str) -> Rule | None:
        """Return the rule that makes these changes in this one place; None when none is needed."""
        relaxations = (*self._forced(), *(self._relaxation(*change) for change in changes.items()))
        if not relaxations:
            return None
        places = tuple(
            (coordinate.axis, SpecifierSet(self._place(coordinate.axis, coordinate.version)))
            for coordinate in self.cell.coordinates
        )
        return Rule(
            name=name,
            effect="relax",
            because=because[:_LONGEST_REASON],
            when=When(places),
            relaxations=relaxations,
        )

    def specifiers(self, name: str) -> list[SpecifierSet]:
        return [requirement.specifier for requirement in named(self._asked, name)]

    def package(self, name: str) -> Package:
        """Return the package's releases; none where the index has no page for it."""
        try:
            return self._package_of(name)
        except NoPage:
            return Package(name=name, releases=())

    def finals(self, name: str) -> dict[Version, datetime.datetime | None]:
        return {
            release.version: release.uploaded
            for release in self.package(name).releases
            if not release.version.is_prerelease and release.has_usable_file
        }

    def _tried(self, changes: Changes) -> Trial:
        facts = self._facts
        rule = self.rule(changes, "what is tried", "tried")
        rules = facts.matrix.rules if rule is None else (*facts.matrix.rules, rule)
        facts = Feasibility(msgspec.structs.replace(facts.matrix, rules=rules), facts.catalogue)
        cell = msgspec.structs.replace(self.cell, recipe="relaxed" if rules else "dated")
        obstacle = facts.obstacle(cell)
        if obstacle is not None:
            return obstacle
        if self.locks >= self._most_locks:
            raise Spent
        self.locks += 1
        inputs = inputs_of(facts, cell)
        # What the date hid from one lock it would hide from the next: it need not be found again.
        own = {cutoff.package for cutoff in inputs.cutoffs}
        freed = (cutoff for cutoff in self._freed if cutoff.package not in {*own, *changes})
        cutoffs = tuple(sorted((*inputs.cutoffs, *freed), key=lambda cutoff: cutoff.package))
        inputs = msgspec.structs.replace(inputs, cutoffs=cutoffs)
        watched = _Watched(self._locker)
        answer = lock_cell(watched, inputs, self._package_of, facts.matrix.margin_days)
        self._freed = tuple(c for c in watched.cutoffs if c.package not in {*own, *changes})
        return answer

    def _forced(self) -> Iterator[Relaxation]:
        """What the cell's coordinates make give way in any case."""
        matrix = self._facts.matrix
        for axis in matrix.packages:
            if axis.name != matrix.subject and self._facts.moved(self.cell, axis.name):
                yield Relaxation(package=axis.package, to=ANY)
        published = self._release.published
        needed = None if published is None else published.requires_python
        if not admits(needed, self._facts.patch(self.cell)):
            subject = matrix.subject_axis.package
            yield Relaxation(package=subject, ignore_requires_python=True)

    def _relaxation(self, name: str, to: str) -> Relaxation:
        # Free of the cell's date: a release that stands in may have come out, or been put up
        # again, long after it. What is exact needs no date.
        return Relaxation(package=name, to=to, everywhere=name not in self.direct)

    def _place(self, axis: str, version: Version) -> str:
        kinds = {other.name: other for other in self._facts.matrix.packages}
        is_exact = axis in kinds and kinds[axis].select.is_exact(version)
        return f"=={version}" if is_exact else f"=={version}.*"


class _Watched:
    """A locker of which is known as of which dates it was asked last."""

    def __init__(self, locker: Locker) -> None:
        self._locker = locker
        self.cutoffs: tuple[Cutoff, ...] = ()

    def lock(self, inputs: Inputs) -> Lock | Refusal:
        self.cutoffs = inputs.cutoffs
        return self._locker.lock(inputs)


def demands(text: str) -> list[tuple[str, str]]:
    """Return each package and specifier that a sentence speaks of, such as `numpy>=1.21`."""
    clause = r"(?:===?|[<>!~]=|[<>])\s*\d[\w.*+!-]*"
    name_and_extras = r"([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*(?:\[[\w,-]*\])?"
    pairs = re.findall(rf"{name_and_extras}\s*({clause}(?:\s*,\s*{clause})*)", text)
    return [(name, re.sub(r"[\s.]+$", "", specifier)) for name, specifier in pairs]
