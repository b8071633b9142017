"""The arithmetic of one cell's fate, as lines that a person can check."""

from collections.abc import Iterator

from packaging.specifiers import SpecifierSet

from compat.declare.matrix import PackageAxis
from compat.index.release import Release
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.plan.platform import accepted_tags, admits
from compat.plan.requirements import named


def explain(facts: Feasibility, cell: Cell) -> tuple[str, ...]:
    """Return what was asked and found, question by question; the last line is the fate."""
    matrix = facts.matrix
    python = (
        f"Python {cell.on(matrix.interpreters.name).version}: as {facts.patch(cell)} on"
        f" {matrix.platform}"
    )
    lines = [python]
    for axis in matrix.packages:
        lines.extend(_availability(facts, cell, axis))
    lines.extend(_pins(facts, cell))
    lines.extend(_rules(facts, cell))
    for sentence, question in facts.questions():
        obstacle = question(cell)
        if obstacle is not None:
            return (*lines, f"{sentence} -> {obstacle.kind}", f"infeasible: {obstacle.because}")
        lines.append(f"{sentence} -> nothing in the way")
    return (*lines, "feasible: no known fact rules it out")


def _availability(facts: Feasibility, cell: Cell, axis: PackageAxis) -> Iterator[str]:
    coordinate = cell.on(axis.name)
    releases = facts.releases(cell, axis)
    yield (
        f"{axis.package} {coordinate.version}: {len(releases)}"
        f" release{'' if len(releases) == 1 else 's'}"
    )
    yield from (f"  {_release(facts, cell, release)}" for release in releases)


def _release(facts: Feasibility, cell: Cell, release: Release) -> str:
    tags = accepted_tags(cell.on(facts.matrix.interpreters.name).version, facts.matrix.platform)
    files = [a for a in release.artifacts if not a.is_wheel or not tags.isdisjoint(a.tags)]
    asked = sorted(
        {str(a.requires_python) for a in release.artifacts if a.requires_python is not None}
    )
    admitted = all(admits(SpecifierSet(text), facts.patch(cell)) for text in asked)
    when = "at an unknown time" if release.uploaded is None else f"on {release.uploaded:%Y-%m-%d}"
    python = (
        f"requires Python {' or '.join(asked)} ({'met' if admitted else 'not met'})"
        if asked
        else "any Python"
    )
    why = f": {release.yank_reason}" if release.yank_reason else ""
    yanked = f", yanked{why}" if release.yanked else ""
    return (
        f"{release.version}: out {when}, {len(files)} of {len(release.artifacts)} files fit,"
        f" {python}{yanked}"
    )


def _pins(facts: Feasibility, cell: Cell) -> Iterator[str]:
    subject, python = facts.matrix.subject_axis, cell.on(facts.matrix.interpreters.name).version
    package, coordinate = subject.package, cell.on(subject.name).version
    usable = facts.usable(cell, subject)
    for release in usable:
        for axis in facts.matrix.packages:
            for asked in named(facts.requirements(release.version, python), axis.normalised_name):
                versions = (r.version for r in facts.releases(cell, axis))
                inside = any(asked.specifier.contains(v, prereleases=True) for v in versions)
                where = "inside it" if inside else "outside it"
                moved = ": moved" if not inside and facts.moved(cell, axis.name) else ""
                pin = f"{asked.name} {asked.specifier or '(any)'}"
                yield f"{package} {release.version} requires {pin}; the cell is {where}{moved}"
    if len(facts.releases(cell, subject)) > 1:
        for version, reason in facts.unusable(cell, subject).items():
            yield f"{package} {version} cannot be taken: it {reason}"
        fitting = ", ".join(str(release.version) for release in facts.fitting(cell))
        yield f"of {package} {coordinate} these admit every coordinate: {fitting or 'none'}"


def _rules(facts: Feasibility, cell: Cell) -> Iterator[str]:
    for rule in facts.rules.exclusions(cell):
        yield f"rule {rule.name} excludes the cell: {rule.because}"
    for rule in facts.rules.relaxing(cell):
        changes = ", ".join(
            (
                f"{r.package} requires-python ignored"
                if r.ignore_requires_python
                else f"{r.package} -> {r.to}"
            )
            for r in rule.relaxations
        )
        yield f"rule {rule.name} relaxes {changes}: {rule.because}"
