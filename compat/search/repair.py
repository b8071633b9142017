"""Finds what must give way so that a cell can be locked, like the search of relaxed cells."""

from collections.abc import Callable, Iterator

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat.declare.matrix import ANY, Relaxation, Rule, When
from compat.errors import NoPage
from compat.index.release import Package
from compat.lock.lockfile import Lock, Locker
from compat.lock.recipe import distances, final_versions, given_up, locked_cell
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.plan.platform import admits, named
from compat.value import Value

RULE_NAME = "repaired"
_LONGEST_REASON = 600
# Finds a record of the matrix that refutes a lock: a package that moved, its version, and the cell
# that fails with it.
Refuted = Callable[[Lock, frozenset[str]], tuple[str, Version, str] | None]
# Each excludes a version that a record shows broken.
_MOST_EXCLUDED = 5


class MovedPackage(Value, frozen=True, kw_only=True):
    """A package that gave way: what the subject publishes of it, if it does, and what is installed.

    `is_later`: its release is newer than the cell's date. `releases` is its distance from the
    nearest requested one; None where unknown.
    """

    package: str
    published: str
    version: Version
    releases: int | None = None
    is_later: bool = False

    @property
    def is_admitted(self) -> bool:
        return SpecifierSet(self.published).contains(self.version, prereleases=True)


class Repair(Value, frozen=True, kw_only=True):
    """What must give way in a cell, with the lock that proves it.

    Without one, `remains` blocks it even when everything gives way. `rule` makes the change in the
    matrix. `refuted` are skipped versions, each with the recorded cell that fails with it.
    """

    cell: str
    refusal: str
    remains: str = ""
    lock: Lock | None = None
    moved: tuple[MovedPackage, ...] = ()
    rule: Rule | None = None
    refuted: tuple[str, ...] = ()


def repaired_cell(
    facts: Feasibility,
    cell: Cell,
    locker: Locker,
    package_of: Callable[[str], Package],
    refuted: Refuted = lambda lock, moved: None,
) -> Repair:
    """Others' requirements give way, and dates move, until the cell can be locked."""
    asked = facts.obstacle(cell) or locked_cell(facts, cell, locker, package_of)
    if isinstance(asked, Lock):
        return Repair(cell=cell.id, refusal="", lock=asked)
    relaxed = msgspec.structs.replace(cell, recipe="relaxed")
    matrix = facts.matrix
    forced = tuple(
        Relaxation(package=axis.package, to=ANY)
        for axis in matrix.packages
        if axis is not matrix.subject_axis and facts.moved(cell, axis.name)
    )
    published = facts.subject_releases(cell.on(matrix.subject).version)[-1].published
    if not admits(None if published is None else published.requires_python, facts.patch(cell)):
        python = Relaxation(package=matrix.subject_axis.package, ignore_requires_python=True)
        forced = (*forced, python)
    if forced:
        rule = _rule(facts, cell, forced, "what is tried")
        facts = _with(facts, rules=(*facts.matrix.rules, rule))
    passed_over: list[str] = []
    while True:
        answer = facts.obstacle(relaxed) or locked_cell(facts, relaxed, locker, package_of)
        if not isinstance(answer, Lock):
            return Repair(
                cell=cell.id, refusal=asked.because, remains=answer.because,
                refuted=tuple(passed_over),
            )  # fmt: skip
        moved = tuple(_moved(facts, relaxed, answer, package_of))
        known = refuted(answer, frozenset(m.package for m in moved))
        if known is None or len(passed_over) >= _MOST_EXCLUDED:
            break
        name, version, by = known
        passed_over.append(f"{name} {version} fails in {by}")
        facts = _with(facts, constraints=(*facts.matrix.constraints, f"{name}!={version}"))
    pins = ", ".join(f"{m.package} {m.version}" for m in moved)
    because = f"compat repair: {asked.because}"
    proof = f"; with {pins} it can be locked" if pins else ""
    pinned = (
        Relaxation(package=m.package, to=f"=={m.version}", everywhere=not m.published)
        for m in moved
    )
    relaxations = (*forced, *pinned)
    reason = f"{because[: 590 - len(proof)]}{proof}"
    return Repair(
        cell=cell.id,
        refusal=asked.because,
        lock=answer,
        moved=moved,
        rule=_rule(facts, cell, relaxations, reason) if relaxations else None,
        refuted=tuple(passed_over),
    )


def _with(facts: Feasibility, **changes: object) -> Feasibility:
    return Feasibility(msgspec.structs.replace(facts.matrix, **changes), facts.catalogue)


def _moved(
    facts: Feasibility, cell: Cell, lock: Lock, package_of: Callable[[str], Package]
) -> Iterator[MovedPackage]:
    pins = lock.versions
    axes = {axis.normalised_name for axis in facts.matrix.packages}
    subject = pins[facts.matrix.subject_axis.normalised_name]
    asked = facts.requirements(subject, cell.on(facts.matrix.interpreters.name).version)
    lost, dates = given_up(facts, cell, lock), {cutoff.package for cutoff in lock.inputs.cutoffs}
    for name in sorted((lost | dates) & pins.keys() - axes):
        specifiers = [requirement.specifier for requirement in named(asked, name)]
        published = ",".join(str(specifier) for specifier in specifiers if str(specifier))
        try:
            package = package_of(name)
        except NoPage:
            package = Package(name=name, releases=())
        as_of = lock.inputs.as_of
        uploads = [r.uploaded for r in package.releases if r.version == pins[name] and r.uploaded]
        is_later = as_of is not None and any(uploaded >= as_of for uploaded in uploads)
        if name in lost or is_later:
            yield MovedPackage(
                package=name,
                published=published,
                version=pins[name],
                releases=distances(final_versions(package), specifiers).get(pins[name]),
                is_later=is_later,
            )


def _rule(
    facts: Feasibility, cell: Cell, relaxations: tuple[Relaxation, ...], because: str
) -> Rule:
    exact = {axis.name: axis.select.is_exact for axis in facts.matrix.packages}

    def at(axis: str, version: Version) -> SpecifierSet:
        is_exact = axis in exact and exact[axis](version)
        return SpecifierSet(f"=={version}" if is_exact else f"=={version}.*")

    when = tuple((c.axis, at(c.axis, c.version)) for c in cell.coordinates)
    return Rule(
        name=RULE_NAME,
        effect="relax",
        because=because[:_LONGEST_REASON],
        when=When(when),
        relaxations=relaxations,
    )
