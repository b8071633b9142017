"""The plain installs of a matrix on a platform that is not its own, and what metadata says of them.

Nothing of it runs and no resolver is asked: the tags of wheels and the requirements of the subject
are at hand for every platform.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import Matrix
from compat.declare.platforms import PlatformName, target_of
from compat.index.release import Catalogue, Package, Release, Required
from compat.plan.cell import Cell
from compat.plan.feasible import Feasibility
from compat.plan.installable import Installable
from compat.plan.obstacle import Obstacle
from compat.plan.plain_cells import PlainQuestion, plain_questions
from compat.value import Value


class WheelThere(Value, frozen=True, kw_only=True):
    """The newest release of a package with a file for a platform, and for which Pythons of the
    matrix, oldest first.
    """

    package: str
    version: Version
    pythons: tuple[Version, ...]


class PlatformQuestion(Value, frozen=True, kw_only=True):
    """Does `pip install subject==release` work on a Python of another platform, by metadata?

    `cell` is the fresh cell that stands for it, and `obstacle` what rules it out. `lacking` is the
    package that has no file there, and `newest` its newest release that has one, as far as known.
    """

    release: Version
    python: Version
    cell: Cell | None
    obstacle: Obstacle | None
    lacking: str = ""
    newest: WheelThere | None = None


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
    other = msgspec.structs.replace(matrix, platform=target)
    required = () if elsewhere is None else _merged(catalogue.required, elsewhere)
    return Feasibility(other, msgspec.structs.replace(catalogue, required=required))


def platform_questions(facts: Feasibility) -> Iterator[PlatformQuestion]:
    """Yield what metadata says of each release and Python, oldest first."""
    newest = _NewestFiles(facts)
    for question in plain_questions(facts):
        obstacle = question.obstacle
        if question.cell is not None:
            obstacle = facts.obstacle(question.cell)
        lacking = "" if obstacle is None else _lacking(facts, question, obstacle)
        if obstacle is not None and lacking:
            obstacle = _of_release(facts, question, obstacle)
        yield PlatformQuestion(
            release=question.release,
            python=question.python,
            cell=question.cell,
            obstacle=obstacle,
            lacking=lacking,
            newest=newest.of(lacking) if lacking else None,
        )


def _merged(required: Iterable[Required], elsewhere: Iterable[Package]) -> tuple[Required, ...]:
    further = {
        (package.name, release.version): release.artifacts
        for package in elsewhere
        for release in package.releases
    }

    def whole(name: str, release: Release) -> Release:
        artifacts = (*release.artifacts, *further.get((name, release.version), ()))
        return msgspec.structs.replace(release, artifacts=artifacts)

    return tuple(
        msgspec.structs.replace(
            entry,
            package=msgspec.structs.replace(
                entry.package,
                releases=tuple(whole(entry.package.name, r) for r in entry.package.releases),
            ),
        )
        for entry in required
    )


def _lacking(facts: Feasibility, question: PlainQuestion, obstacle: Obstacle) -> str:
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


def _of_release(facts: Feasibility, question: PlainQuestion, obstacle: Obstacle) -> Obstacle:
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
            return msgspec.structs.replace(obstacle, because=because)
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
