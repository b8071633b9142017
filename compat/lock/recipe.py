"""Cell + Matrix + published metadata -> the resolver's inputs, for each recipe; and how a date is
widened.
"""

import datetime
from collections.abc import Callable, Iterator

import msgspec
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import NOTHING, PackageAxis, Relaxation
from compat.index.release import Package, Release
from compat.lock.floors import floor_lines
from compat.lock.locker import Locker
from compat.lock.lockfile import Cutoff, Inputs, Lock, Pin, Refusal
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.plan.platform import admits
from compat.plan.requirements import Asked, named

PackageOf = Callable[[str], Package]
# Each round frees at least one package from the date; a tree that needs more is another tree than
# was asked for.
_ROUNDS = 20


def inputs_of(facts: Feasibility, cell: Cell, kept: frozenset[str] = frozenset()) -> Inputs:
    """Return the resolver's inputs for a cell that the plan finds feasible.

    `fresh` and `dated` ask for the subject's release as published, and so does `lowest`, of the
    newest release that fits, with what it declares as lowest as floors. `relaxed` puts the
    release's own requirements, as the rules change them, among the roots: so no resolver needs to
    be told to disbelieve the metadata. Packages in `kept` (normalised names) stay as published
    although a rule relaxes them.
    """
    matrix = facts.matrix
    common = matrix.requirements
    pins = [pinned(axis, cell) for axis in matrix.packages if axis is not matrix.subject_axis]
    base = Inputs(
        cell=cell.id,
        python=facts.patch(cell),
        platform=matrix.platform,
        requirements=tuple(sorted({pinned(matrix.subject_axis, cell), *pins, *common})),
        no_prereleases=tuple(
            sorted(a.normalised_name for a in matrix.packages if not a.select.prereleases)
        ),
        as_of=_as_of(facts, cell) if cell.is_dated else None,
        floors=_oldest_patches(facts, cell),
        constraints=tuple(sorted(matrix.constraints)),
        index=matrix.prereleases.index
        if matrix.prereleases is not None and cell.recipe == "prerelease"
        else "",
    )
    if cell.recipe == "lowest":
        base = _lowest(facts, cell, base, [*pins, *common])
    elif cell.recipe == "relaxed":
        relaxations = facts.rules.relaxations(cell)
        taken = {name: relaxation for name, relaxation in relaxations.items() if name not in kept}
        base = _relaxed(facts, cell, base, [*pins, *common], taken)
    own = set(base.requirements)
    return msgspec.structs.replace(
        base,
        requirements=tuple(sorted({*own, *matrix.suite.requirements})),
        suite=tuple(sorted({*matrix.suite.requirements} - own)),
    )


def locked_cell(
    facts: Feasibility, cell: Cell, locker: Locker, package_of: PackageOf
) -> Lock | Refusal:
    """Return the locker's answer for a cell that the plan finds feasible.

    A relaxation is an offer: each that the cell can be locked without is withdrawn again, in
    declared order, so that a published requirement gives way only where it must (deletion-based
    shrinking: the offers that remain are needed, each of them). One that says `always` is no offer,
    and neither is that of a coordinate outside its published range.
    """

    package_cutoffs: tuple[Cutoff, ...] = ()

    def attempt(unrelaxed: frozenset[str]) -> Lock | Refusal:
        inputs = inputs_of(facts, cell, unrelaxed)
        cutoffs = tuple(sorted((*inputs.cutoffs, *package_cutoffs), key=lambda c: c.package))
        inputs = msgspec.structs.replace(inputs, cutoffs=cutoffs)
        return lock_cell(locker, inputs, package_of, facts.matrix.margin_days)

    answer = attempt(frozenset())
    if isinstance(answer, Refusal) or cell.recipe != "relaxed":
        return answer
    # What the date hid from the first lock it would hide from each of the others: it need not be
    # found again.
    relaxed = facts.rules.relaxations(cell)
    package_cutoffs = tuple(c for c in answer.inputs.cutoffs if c.package not in relaxed)
    unrelaxed: frozenset[str] = frozenset()
    for group in _withdrawals(facts, cell, answer):
        if group <= unrelaxed:
            continue
        trial = attempt(unrelaxed | group)
        if isinstance(trial, Lock):
            answer, unrelaxed = trial, unrelaxed | group
    return answer


def asks_as_declared(facts: Feasibility, cell: Cell, lock: Lock) -> bool:
    """Return whether a lock of a cell that can be locked asks what the declarations ask now, with
    the rules' offers or without them. Of one of another release of the subject it is not told.
    """
    asked = inputs_of(facts, cell)
    injected, now = lock.inputs.injected_pin, asked.injected_pin
    if injected is not None and now is not None and injected.version != now.version:
        return True
    rules = facts.rules.relaxations(cell) if cell.recipe == "relaxed" else {}
    offers = frozenset(name for name, relaxation in rules.items() if not relaxation.always)
    published = inputs_of(facts, cell, offers)
    return all(
        set(most) & set(least) <= set(own) <= {*most, *least}
        for most, least, own in zip(
            _lines(asked), _lines(published), _lines(lock.inputs), strict=True
        )
    )


def _lines(inputs: Inputs) -> tuple[tuple[str, ...], ...]:
    """What of a lock's inputs follows from declarations."""
    return inputs.requirements, inputs.overrides, inputs.excludes, inputs.constraints


def lock_cell(
    locker: Locker, inputs: Inputs, package_of: PackageOf, margin_days: int
) -> Lock | Refusal:
    """Return the locker's answer; for relaxed inputs, free what their date hides as far as they
    need it.

    A relaxed package may need packages that did not exist at the cell's date. Each package that the
    resolver misses because of the date is shown as of the next moment that could do: its own
    beginning, then the moments at which the replaced pins came out, then now. So the date moves no
    further than it must, and rarely to a moving "now".
    """
    for _ in range(_ROUNDS):
        answer = locker.lock(inputs)
        if isinstance(answer, Lock) or not inputs.cutoffs:
            return answer
        wider = _widened(inputs, answer, package_of, margin_days)
        if wider is None:
            return answer
        inputs = wider
    return answer


def moment_after(uploaded: datetime.datetime, margin_days: int) -> datetime.datetime:
    """Return the first midnight (UTC) that is at least `margin_days` after an upload."""
    later = uploaded.astimezone(datetime.timezone.utc) + datetime.timedelta(days=margin_days)
    midnight = later.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight if midnight == later else midnight + datetime.timedelta(days=1)


def _withdrawals(facts: Feasibility, cell: Cell, lock: Lock) -> Iterator[frozenset[str]]:
    """What to try without: first, all at once, the offers that the lock makes no visible use of;
    then each other.

    Those of the first group that cannot go together are tried one by one after it.
    """
    offers = [name for name, r in facts.rules.relaxations(cell).items() if not r.always]
    moved = {
        axis.normalised_name
        for axis in facts.matrix.packages
        if axis is not facts.matrix.subject_axis and facts.moved(cell, axis.name)
    }
    open_offers = [name for name in offers if name not in moved]
    pins = {pin.name: pin.version for pin in lock.pins}
    release, python = (
        _subject(facts, cell, lock.inputs),
        cell.on(facts.matrix.interpreters.name).version,
    )
    published = {
        name: named(facts.requirements(release.version, python), name) for name in open_offers
    }
    unused = frozenset(
        name
        for name in open_offers
        if name in pins
        and all(r.specifier.contains(pins[name], prereleases=True) for r in published[name])
    )
    if len(unused) > 1:
        yield unused
    yield from (frozenset((name,)) for name in open_offers)


def _oldest_patches(facts: Feasibility, cell: Cell) -> tuple[str, ...]:
    """The series of the cell that are locked to their oldest patch, sorted."""
    axes = (axis for axis in facts.matrix.packages if axis.select.patch == "oldest")
    return tuple(
        sorted(
            pinned(axis, cell)
            for axis in axes
            if not axis.select.is_exact(cell.on(axis.name).version)
        )
    )


def _lowest(facts: Feasibility, cell: Cell, base: Inputs, others: list[str]) -> Inputs:
    """The inputs of a cell of the lane `lowest`: one release of the subject, and as floors what it
    declares a lowest version of.
    """
    release, python = _subject(facts, cell, base), cell.on(facts.matrix.interpreters.name).version
    axis = facts.matrix.subject_axis
    extras = f"[{','.join(axis.extras)}]" if axis.extras else ""
    subject = f"{axis.package}{extras}=={release.version}"
    return msgspec.structs.replace(
        base,
        requirements=tuple(sorted({subject, *others})),
        floors=tuple(
            sorted({*base.floors, *floor_lines(facts.requirements(release.version, python))})
        ),
    )


def _relaxed(
    facts: Feasibility,
    cell: Cell,
    base: Inputs,
    others: list[str],
    relaxations: dict[str, Relaxation],
) -> Inputs:
    """Return the inputs of a relaxed cell whose relaxed packages, by normalised name, are these."""
    release, python = _subject(facts, cell, base), cell.on(facts.matrix.interpreters.name).version
    axes: dict[str, str] = {
        axis.normalised_name: pinned(axis, cell) for axis in facts.matrix.packages
    }
    asked = asked_lines(facts, release, python, relaxations)
    deep = [(name, relaxation) for name, relaxation in relaxations.items() if relaxation.everywhere]
    return msgspec.structs.replace(
        base,
        requirements=tuple(sorted({*(text for text in asked if text not in axes), *others})),
        overrides=tuple(
            sorted(axes.get(name, f"{name}{r.specifier}") for name, r in deep if r.to != NOTHING)
        ),
        excludes=tuple(sorted(name for name, r in deep if r.to == NOTHING)),
        cutoffs=tuple(
            sorted(_cutoffs(facts, cell, relaxations), key=lambda cutoff: cutoff.package)
        ),
        injected_pin=_injected_pin(facts, release),
        install_as_python=_install_as_python(facts, cell, release),
    )


def common_lines(facts: Feasibility) -> tuple[str, ...]:
    """Return what every cell asks for beside its coordinates: the suite's and the matrix's own."""
    return (*facts.matrix.suite.requirements, *facts.matrix.requirements)


def asked_lines(
    facts: Feasibility, release: Release, python: Version, relaxations: dict[str, Relaxation]
) -> tuple[str, ...]:
    """Return what a release of the subject asks on a Python series, as the rules change it."""
    roots = (_root(asked, relaxations) for asked in facts.requirements(release.version, python))
    return tuple(root for root in roots if root)


def _root(asked: Asked, relaxations: dict[str, Relaxation]) -> str:
    """A requirement of the subject as the rules change it; empty when it is dropped."""
    relaxation = relaxations.get(asked.name)
    if relaxation is not None and relaxation.to == NOTHING:
        return ""
    extras = f"[{','.join(asked.extras)}]" if asked.extras else ""
    if asked.url:
        return f"{asked.name}{extras} @ {asked.url}"
    return f"{asked.name}{extras}{asked.specifier if relaxation is None else relaxation.specifier}"


def _cutoffs(
    facts: Feasibility, cell: Cell, relaxations: dict[str, Relaxation]
) -> Iterator[Cutoff]:
    for name, relaxation in relaxations.items():
        if relaxation.to == NOTHING:
            continue
        axes = [axis for axis in facts.matrix.packages if axis.name == relaxation.as_of]
        until = (
            moment_after(_uploaded(facts, cell, axes[0]), facts.matrix.margin_days)
            if axes
            else None
        )
        yield Cutoff(package=name, until=until)


def _subject(facts: Feasibility, cell: Cell, base: Inputs) -> Release:
    """The release whose requirements stand among the roots: the newest that fits, as of the cell's
    date.
    """
    release = facts.subject_release(cell, base.as_of)
    assert release is not None, "the plan has made sure that one fits"
    return release


def _injected_pin(facts: Feasibility, release: Release) -> Pin:
    return Pin(
        name=facts.matrix.subject_axis.normalised_name,
        version=release.version,
        hashes=tuple(sorted(artifact.sha256 for artifact in release.artifacts if artifact.sha256)),
    )


def _install_as_python(facts: Feasibility, cell: Cell, release: Release) -> Version | None:
    """A declared interpreter that the subject admits, when it does not admit the cell's own."""
    asked = None if release.published is None else release.published.requires_python
    if admits(asked, facts.patch(cell)):
        return None
    return next(
        (patch for patch in facts.matrix.interpreters.patches if admits(asked, patch)), None
    )


def pinned(axis: PackageAxis, cell: Cell) -> str:
    """Return the requirement that keeps a package at the cell's coordinate."""
    version = cell.on(axis.name).version
    name = f"{axis.package}[{','.join(axis.extras)}]" if axis.extras else axis.package
    return f"{name}=={version}" if axis.select.is_exact(version) else f"{name}=={version}.*"


def _as_of(facts: Feasibility, cell: Cell) -> datetime.datetime:
    together = facts.came_out(cell)
    assert together is not None, "the plan has made sure that it is known"
    return moment_after(together, facts.matrix.margin_days)


def _uploaded(facts: Feasibility, cell: Cell, axis: PackageAxis) -> datetime.datetime:
    """When the coordinate came out: a series, with its first release that the cell can have."""
    releases: tuple[Release, ...] = facts.usable(cell, axis)
    return min(release.uploaded for release in releases if release.uploaded is not None)


def _widened(
    inputs: Inputs, refusal: Refusal, package_of: PackageOf, margin_days: int
) -> Inputs | None:
    for package in refusal.hidden:
        until = inputs.cutoff(package)
        if until is None:
            continue
        uploads = [package_of(package).first_uploaded, *_replacements(inputs, package_of)]
        moments = sorted(
            moment_after(upload, margin_days) for upload in uploads if upload is not None
        )
        freed = Cutoff(
            package=package, until=next((moment for moment in moments if moment > until), None)
        )
        others = (cutoff for cutoff in inputs.cutoffs if cutoff.package != package)
        cutoffs = tuple(sorted((*others, freed), key=lambda cutoff: cutoff.package))
        return msgspec.structs.replace(inputs, cutoffs=cutoffs)
    return None


def _replacements(inputs: Inputs, package_of: PackageOf) -> Iterator[datetime.datetime | None]:
    """When each release came out that stands, exact and free of the date, in the place of a
    published pin.
    """
    free = {cutoff.package for cutoff in inputs.cutoffs if cutoff.until is None}
    for requirement in map(Requirement, {*inputs.requirements, *inputs.overrides}):
        name = canonicalize_name(requirement.name)
        if name not in free or not requirement.specifier:
            continue
        admitted = [
            r for r in package_of(name).releases if requirement.specifier.contains(r.version)
        ]
        if len(admitted) == 1:
            yield admitted[0].uploaded
