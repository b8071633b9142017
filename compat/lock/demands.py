"""A cell's question to a resolver as a set of facts: more facts mean fewer solutions.

So a set of facts that cannot be locked answers every cell that holds all of them. A date is no
fact: what cannot be locked from all releases cannot be locked from fewer.
"""

import datetime
import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from compat.declare.matrix import ANY, NOTHING, Matrix, Relaxation
from compat.declare.parsing import name_of_line
from compat.index.release import Package, release_of
from compat.lock.lockfile import Inputs, Lock, Pin
from compat.lock.recipe import pinned, requested_lines
from compat.lock.sources import fits_cell
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility

Facts = frozenset[str]
# The prefix of a rule on a package throughout the tree. No requirement begins so.
_THROUGHOUT = "throughout: "
_AS_ASKED = "as asked"


class Demands:
    """The facts of a matrix's cells, each computed once.

    A fact is a requirement among the roots (`lib==0.4.13`). A fact can also say that no rule of
    this cell replaces a package that other cells' rules replace throughout the tree (`throughout:
    numpy as asked`).
    """

    def __init__(self, facts: Feasibility) -> None:
        self._facts = facts
        self._matrix = facts.matrix
        self._python = facts.matrix.interpreters.name
        # For these a fact says how the whole tree treats them.
        self.replaceable = replaceable(facts.matrix)
        self._memo: dict[tuple[object, ...], Facts] = {}

    def of(self, cell: Cell) -> tuple[Facts, ...]:
        """A cell cannot be locked when none of these can. Empty where no release can be installed.
        In a relaxed cell every package may move that is neither the subject nor on an axis. For
        such a package the fact is that it is required, and that no rule names it.
        """
        pins: dict[str, str] = {
            axis.normalised_name: pinned(axis, cell)
            for axis in self._matrix.packages
            if axis is not self._matrix.subject_axis
        }
        relaxations = self._facts.relaxations(cell).items()
        ruled = {name for name, r in relaxations if r.everywhere}
        treatments = {as_asked(name) for name in self.replaceable if name not in ruled}
        treatments |= {_THROUGHOUT + pins[name] for name in ruled & pins.keys()}
        left_out = sorted(name for name, r in relaxations if r.to == NOTHING)
        key = cell.on(self._python).version, cell.recipe, *left_out
        sets: list[Facts] = []
        for release in self._facts.usable(cell, self._matrix.subject_axis):
            if (release.version, key) not in self._memo:
                loose = {
                    name: r if r.to == NOTHING else Relaxation(package=name, to=ANY)
                    for name, r in relaxations
                }
                python = cell.on(self._python).version
                # A bare name adds nothing beside the pin of its coordinate.
                axes = {axis.normalised_name for axis in self._matrix.packages}
                lines = {*requested_lines(self._facts, release, python, loose)} - axes
                self._memo[release.version, key] = frozenset((*lines, *self._matrix.requirements))
            sets.append(self._memo[release.version, key].union(pins.values(), treatments))
        return tuple(sets)

    def inputs(self, cell: Cell, held: Facts) -> Inputs:
        """Shows every release; what a rule of any cell replaces and no fact names is left out."""
        spoken = [_after(fact) for fact in sorted(held) if not is_requirement(fact)]
        matrix = self._matrix
        return Inputs(
            cell=cell.id,
            python=self._facts.patch(cell),
            platform=matrix.platform,
            requirements=tuple(sorted(filter(is_requirement, held))),
            no_prereleases=matrix.no_prereleases,
            overrides=tuple(text for text in spoken if " " not in text),
            excludes=tuple(sorted(set(self.replaceable).difference(map(name_of_line, spoken)))),
        )


def replaceable(matrix: Matrix) -> tuple[str, ...]:
    rules = (relaxation for rule in matrix.rules for relaxation in rule.relaxations)
    return tuple(sorted({canonicalize_name(r.package) for r in rules if r.everywhere}))


def as_asked(package: str) -> str:
    return f"{_THROUGHOUT}{package} {_AS_ASKED}"


def is_requirement(fact: str) -> bool:
    return not fact.startswith(_THROUGHOUT)


def package_of_fact(fact: str) -> str:
    return name_of_line(_after(fact))


def is_fact(text: str) -> bool:
    try:
        Requirement(_after(text).removesuffix(f" {_AS_ASKED}"))
    except InvalidRequirement:
        return False
    return True


def keeps_prereleases(fact: str) -> bool:
    """Return whether a requirement admits pre-releases; without it fewer releases are available."""
    return is_requirement(fact) and bool(Requirement(fact).specifier.prereleases)


def _after(fact: str) -> str:
    return fact.removeprefix(_THROUGHOUT)


class KnownLocks:
    """The locks of a session, for use by several threads."""

    def __init__(self, package_of: Callable[[str], Package]) -> None:
        self._package_of = package_of
        self._guard = threading.Lock()
        self._locks: dict[tuple[object, ...], list[Lock]] = defaultdict(list)
        # The number of locks that do not answer a question.
        self._compared: Counter[Inputs] = Counter()
        self._dates: dict[tuple[object, ...], datetime.datetime | None] = {}

    def add(self, lock: Lock) -> None:
        """Add a lock, unless it has a pre-release: whether other inputs allow that is unknown."""
        if not any(pin.version.is_prerelease for pin in lock.pins):
            with self._guard:
                self._locks[_world(lock.inputs)].append(lock)

    def answering(self, inputs: Inputs) -> Lock | None:
        """A resolver may choose other pins. Raises IndexUnreachable."""
        with self._guard:
            known = self._locks[_world(inputs)][self._compared[inputs] :]
        lock = next((lock for lock in reversed(known) if self._meets(lock, inputs)), None)
        if lock is None:
            self._compared[inputs] += len(known)
        return lock

    def _meets(self, lock: Lock, inputs: Inputs) -> bool:
        own, injected = lock.inputs, lock.inputs.injected_pin
        # The subject's own pin was not resolved.
        pins = {pin.name: pin for pin in lock.pins if injected is None or pin.name != injected.name}
        replaced = dict(map(_named, inputs.overrides))
        if not dict(map(_named, own.overrides)).keys() & pins.keys() <= replaced.keys():
            return False
        if not all(_admits(r, pins[name]) for name, r in replaced.items() if name in pins):
            return False
        # A requirement that both share word for word holds, unless it is replaced.
        for name, asked in map(_named, {*inputs.requirements}.difference(own.requirements)):
            extras = {e for n, r in map(_named, own.requirements) if n == name for e in r.extras}
            if name not in pins or not (asked.extras <= extras and _is_simple(asked)):
                return False
            if name not in replaced and not _admits(asked, pins[name]):
                return False
        # The suite's own packages have no date.
        only = lock.suite_only or ()
        return all(self._is_seen(p, inputs, lock) for n, p in pins.items() if n not in only)

    def _is_seen(self, pin: Pin, inputs: Inputs, lock: Lock) -> bool:
        until = inputs.cutoff(pin.name)
        if until is None:
            return True
        key = (pin.name, pin.version, _world(inputs))
        if key not in self._dates:
            release = release_of(self._package_of, pin.name, pin.version)
            dates = [
                artifact.uploaded
                for artifact in (() if release is None else release.artifacts)
                if artifact.uploaded is not None
                and not artifact.yanked
                and (fits_cell(artifact, inputs) or pin.name in lock.builds)
            ]
            self._dates[key] = min(dates, default=None)
        first = self._dates[key]
        return first is not None and first < until


def _world(inputs: Inputs) -> tuple[object, ...]:
    return inputs.python, inputs.platform, inputs.excludes, inputs.no_prereleases


@cache
def _named(text: str) -> tuple[str, Requirement]:
    requirement = Requirement(text)
    return canonicalize_name(requirement.name), requirement


def _is_simple(asked: Requirement) -> bool:
    return asked.url is None and asked.marker is None


def _admits(asked: Requirement, pin: Pin) -> bool:
    return _is_simple(asked) and asked.specifier.contains(pin.version)
