"""The fresh cell that a plain install of each release asks about, on each Python that it admits;
and on other platforms what metadata says of it.

There nothing runs and no resolver is asked: the tags of wheels and the requirements of the subject
are at hand for every platform.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import Matrix
from compat.declare.platforms import PlatformName, target_of
from compat.index.release import Catalogue, Package, Release, Required
from compat.plan.cell import Cell, product
from compat.plan.feasible import Feasibility, Installable, Obstacle
from compat.value import Value


class WheelThere(Value, frozen=True, kw_only=True):
    """The newest release of a package with a file for a platform, and for which Pythons of the
    matrix, oldest first.
    """

    package: str
    version: Version
    pythons: tuple[Version, ...]


class InstallQuestion(Value, frozen=True, kw_only=True):
    """Does `pip install subject==release` work on a Python?

    `cell` is the fresh cell with the newest coordinates that the release's own metadata admits
    there. Without a cell nobody need ask a resolver, and `obstacle` says why: the release does not
    admit the Python, the matrix has no coordinate that it admits, or a rule excludes it.

    On another platform `obstacle` is what rules it out by metadata, `lacking` the package that has
    no file there, and `newest` its newest release that has one, as far as known.
    """

    release: Version
    python: Version
    cell: Cell | None = None
    obstacle: Obstacle | None = None
    lacking: str = ""
    newest: WheelThere | None = None


def plain_questions(facts: Feasibility) -> tuple[InstallQuestion, ...]:
    """Return the question of each release and Python of the matrix, oldest first.

    What the plan knows of packages deeper in the tree is left aside: that is what is asked.
    """
    subject, python = facts.matrix.subject, facts.matrix.interpreters.name
    pairs: dict[tuple[Version, Version], list[Cell]] = {}
    for place in product(facts.matrix, facts.catalogue):
        cell = Cell(matrix=facts.matrix.name, coordinates=place, recipe="fresh")
        pairs.setdefault((cell.on(subject).version, cell.on(python).version), []).append(cell)
    return tuple(
        _question(facts, release, series, cells)
        for (release, series), cells in sorted(pairs.items())
    )


def _question(
    facts: Feasibility, release: Version, python: Version, cells: list[Cell]
) -> InstallQuestion:
    others = [axis.name for axis in facts.matrix.packages if axis is not facts.matrix.subject_axis]

    def versions(cell: Cell) -> tuple[Version, ...]:
        return tuple(cell.on(axis).version for axis in others)

    if not facts.usable(cells[0], facts.matrix.subject_axis):
        obstacle = facts.unavailable(cells[0])
        return InstallQuestion(release=release, python=python, obstacle=obstacle)
    # Of what the release admits, a resolver takes what has a file; where nothing has one, it says
    # so about what is admitted.
    newest_first = sorted(cells, key=versions, reverse=True)
    admitted = (cell for cell in newest_first if facts.conflicting(cell) is None)
    unmoved = (cell for cell in newest_first if not any(facts.moved(cell, axis) for axis in others))
    cell = next(itertools.chain(admitted, unmoved), None)
    if cell is None:
        obstacle = facts.conflicting(cells[-1])
        return InstallQuestion(release=release, python=python, obstacle=obstacle)
    obstacle = facts.excluded(cell)
    return InstallQuestion(
        release=release, python=python, cell=None if obstacle else cell, obstacle=obstacle
    )


def platform_facts(
    matrix: Matrix,
    catalogue: Catalogue,
    elsewhere: Sequence[Package] | None,
    platform: PlatformName,
) -> Feasibility:
    """Return what rules and catalogue say about cells of another platform.

    `elsewhere` has the wheels for other platforms of what the subject pins; without it nothing is
    known of those packages, and nothing is ruled out for want of them.
    """
    target = target_of(platform, matrix.platform)
    other = replace(matrix, platform=target)
    required = () if elsewhere is None else _merged(catalogue.required, elsewhere)
    return Feasibility(other, replace(catalogue, required=required))


def platform_questions(facts: Feasibility, platform: PlatformName) -> Iterator[InstallQuestion]:
    newest = _NewestFiles(facts)
    for question in plain_questions(facts):
        cell, obstacle = question.cell, question.obstacle
        if cell is not None:
            obstacle = facts.obstacle(cell)
            cell = replace(cell, platform=platform)
        lacking = "" if obstacle is None else _lacking(facts, question, obstacle)
        if obstacle is not None and lacking:
            obstacle = _of_release(facts, question, obstacle)
        wheel = newest.of(lacking) if lacking else None
        yield replace(question, cell=cell, obstacle=obstacle, lacking=lacking, newest=wheel)


def _merged(required: Iterable[Required], elsewhere: Iterable[Package]) -> tuple[Required, ...]:
    further = {
        (package.name, release.version): release.artifacts
        for package in elsewhere
        for release in package.releases
    }

    def whole(name: str, release: Release) -> Release:
        artifacts = (*release.artifacts, *further.get((name, release.version), ()))
        return replace(release, artifacts=artifacts)

    return tuple(
        replace(
            entry,
            package=replace(
                entry.package,
                releases=tuple(whole(entry.package.name, r) for r in entry.package.releases),
            ),
        )
        for entry in required
    )


def _lacking(facts: Feasibility, question: InstallQuestion, obstacle: Obstacle) -> str:
    """The package whose files do not fit; empty where something else is in the way.

    Of a package that the index lacks altogether an obstacle names no Python.
    """
    if obstacle.kind != "no-artifact" or len(obstacle.between) < 2:
        return ""
    if question.cell is None:
        return facts.matrix.subject_axis.normalised_name
    for axis in facts.matrix.packages:
        if question.cell.on(axis.name).text == obstacle.between[0]:
            return axis.normalised_name
    return canonicalize_name(Requirement(obstacle.between[0]).name)


def _of_release(facts: Feasibility, question: InstallQuestion, obstacle: Obstacle) -> Obstacle:
    """The obstacle of a coordinate beside the subject, told of the release that asks for it.

    Its cell has the newest coordinate that the release admits where none of them has a file.
    """
    for axis in facts.matrix.packages:
        if question.cell is None or axis is facts.matrix.subject_axis:
            continue
        coordinate = question.cell.on(axis.name)
        if coordinate.text == obstacle.between[0]:
            asks = f"{facts.matrix.subject_axis.package} {question.release} admits {axis.package}"
            because = f"{asks} up to {coordinate.version}: {obstacle.because}"
            return replace(obstacle, because=because)
    return obstacle


class _NewestFiles:
    """The newest release of each package with a file for the platform, looked for once."""

    def __init__(self, facts: Feasibility) -> None:
        self._installable = Installable(facts.matrix, facts.catalogue)
        self._releases: dict[str, tuple[Release, ...]] = {
            **{r.package.name: r.package.releases for r in facts.catalogue.required},
            **{
                axis.normalised_name: facts.catalogue.of(axis).selected(axis.select)
                for axis in facts.matrix.packages
            },
        }
        self._found: dict[str, WheelThere | None] = {}

    def of(self, package: str) -> WheelThere | None:
        if package not in self._found:
            self._found[package] = self._newest(package)
        return self._found[package]

    def _newest(self, package: str) -> WheelThere | None:
        finals = [r for r in self._releases[package] if not r.version.is_prerelease]
        for release in sorted(finals, key=lambda release: release.version, reverse=True):
            pythons = tuple(
                series
                for series in sorted(self._installable.patches)
                if self._installable.can_install(release, series)
            )
            if pythons:
                return WheelThere(package=package, version=release.version, pythons=pythons)
        return None
