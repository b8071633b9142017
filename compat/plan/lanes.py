"""The lanes of a matrix: cells beside its grid, which colour no place and move no floor.

`lowest` asks whether what a release declares as the lowest of its dependencies is true,
`prerelease` what a dependency that is not out yet will break.
"""

from collections.abc import Iterator

import msgspec
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import Matrix, PackageAxis
from compat.declare.selector import Selector
from compat.index.release import Package
from compat.index.required import lowest_of
from compat.plan.cell import Cell, Coordinate, axis_coordinates, product
from compat.plan.extension import beyond, extended_facts, extension_cells
from compat.plan.feasible import Feasibility
from compat.plan.plan import every_cell

_LOWEST = "+lowest"  # no axis has such a name


def lane_cells(facts: Feasibility) -> Iterator[Cell]:
    """Yield every cell of the lanes that the matrix declares, in the order of its axes."""
    if facts.matrix.lowest:
        yield from _lowest(_with_lowest(facts))
    for axis in facts.matrix.prerelease_axes:
        lane = _with_prerelease(facts, axis)
        if lane is not None:
            for place in product(lane.matrix, lane.catalogue):
                yield Cell(matrix=lane.matrix.name, coordinates=place, recipe="prerelease")


def facts_for(facts: Feasibility, cell: Cell) -> Feasibility:
    # Return the facts that hold for a cell: in the lane of pre-releases those with the pre-release
    # on its axis, in that of the lowest versions those with what the axes leave out, beyond the
    # axes those of the matrix extended by it, else these.
    if not cell.is_in_lane:
        return (extended_facts(facts, cell) if beyond(facts, cell) else None) or facts
    if cell.recipe == "lowest":
        return _with_lowest(facts)
    for axis in facts.matrix.prerelease_axes if cell.recipe == "prerelease" else ():
        release, lane = facts.catalogue.prerelease(axis), _with_prerelease(facts, axis)
        is_there = release is not None and cell.on(axis.name).version == release.version
        if lane is not None and is_there:
            return lane
    return facts


def lane_axis(matrix: Matrix, cell: Cell) -> PackageAxis | None:
    """Return the axis on which a cell of the lane of pre-releases has one; None for other cells."""
    others = (axis for axis in matrix.packages if axis is not matrix.subject_axis)
    return next(
        (
            axis
            for axis in others
            if cell.recipe == "prerelease" and cell.on(axis.name).version.is_prerelease
        ),
        None,
    )


def lockable_cells(facts: Feasibility) -> Iterator[Cell]:
    # Yield every cell of the plan, then those of the lanes, then those that a proposal to extend
    # the matrix waits for: what may have a lock and records.
    yield from every_cell(facts)
    yield from lane_cells(facts)
    yield from extension_cells(facts)


def is_lane_cell(facts: Feasibility, cell: Cell) -> bool:
    return any(cell.id == known.id for known in lane_cells(facts))


def _with_prerelease(facts: Feasibility, axis: PackageAxis) -> Feasibility | None:
    release = facts.catalogue.prerelease(axis)
    if release is None:
        return None
    if axis.name not in facts.lanes:
        select = Selector(specifier=SpecifierSet(f"=={release.version}"), prereleases=True)
        own = msgspec.structs.replace(axis, select=select)
        axes = tuple(own if other is axis else other for other in facts.matrix.axes)
        package = Package(name=axis.normalised_name, releases=(release,))
        packages = (
            package if other.name == package.name else other for other in facts.catalogue.packages
        )
        facts.lanes[axis.name] = Feasibility(
            msgspec.structs.replace(facts.matrix, axes=axes),
            msgspec.structs.replace(facts.catalogue, packages=tuple(packages)),
        )
    return facts.lanes[axis.name]


def _with_lowest(facts: Feasibility) -> Feasibility:
    beside = {package.name: package.releases for package in facts.catalogue.lowest}
    if not any(beside.values()):
        return facts
    if _LOWEST not in facts.lanes:
        packages = {package.name: package for package in facts.catalogue.packages}
        axes = list(facts.matrix.axes)
        for number, axis in enumerate(axes):
            if isinstance(axis, PackageAxis) and beside.get(axis.normalised_name):
                own = packages[axis.normalised_name]
                releases = (*beside[own.name], *own.selected(axis.select))
                ordered = tuple(sorted(releases, key=lambda release: release.version))
                packages[own.name] = msgspec.structs.replace(own, releases=ordered)
                # The axis selects all that is left of the package.
                select = msgspec.structs.replace(axis.select, specifier=SpecifierSet())
                axes[number] = msgspec.structs.replace(axis, select=select)
        catalogue = msgspec.structs.replace(facts.catalogue, packages=tuple(packages.values()))
        matrix = msgspec.structs.replace(facts.matrix, axes=tuple(axes))
        facts.lanes[_LOWEST] = Feasibility(matrix, catalogue)
    return facts.lanes[_LOWEST]


def why_not_lowest(facts: Feasibility, cell: Cell, requirement: Requirement, has: Version) -> str:
    # Return why a cell of the lane `lowest` has another version than the lowest that its subject
    # declares of a package; empty where the catalogue does not tell.
    name, known = canonicalize_name(requirement.name), _with_lowest(facts)
    axis = next((axis for axis in known.matrix.packages if axis.normalised_name == name), None)
    if axis is None or name not in {package.name for package in facts.catalogue.lowest}:
        return ""
    python = cell.on(facts.matrix.interpreters.name).version
    declared, asked = lowest_of(requirement.specifier), requirement.specifier
    admitted = [r for r in known.catalogue.of(axis).releases if asked.contains(r.version, True)]
    below = [release for release in admitted if release.version < has]
    if any(known.has_wheel(release, python) for release in below):
        first = next(release for release in below if known.has_wheel(release, python))
        return f"{first.version} has a wheel here, and the rest of the cell needs a newer one"
    if not below:
        return f"the index has no {declared}, and this is the lowest that it has"
    because = known.why_no_wheel(below[0], python)
    return f"{below[0].version} {because}, and {has} is the first that can be installed"


def _lowest(facts: Feasibility) -> Iterator[Cell]:
    # For each Python and release of the subject, the place of the lowest other coordinates that it
    # admits and that the Python can install.
    matrix, catalogue = facts.matrix, facts.catalogue
    first = {
        axis.name: coordinates
        for axis in matrix.axes
        if (coordinates := axis_coordinates(axis, catalogue))
    }
    if len(first) < len(matrix.axes):
        return
    for python in first[matrix.interpreters.name]:
        for subject in first[matrix.subject]:
            place = {name: coordinates[0] for name, coordinates in first.items()}
            place |= {python.axis: python, subject.axis: subject}
            lowest = _lowest_place(facts, place)
            if lowest is not None:
                yield lowest


def _lowest_place(facts: Feasibility, place: dict[str, Coordinate]) -> Cell | None:
    # The lowest cell with the Python and the subject of the place; None where the subject cannot be
    # installed, or nothing of some axis can.
    matrix = facts.matrix

    def cell_at(chosen: dict[str, Coordinate]) -> Cell:
        coordinates = tuple(chosen[axis.name] for axis in matrix.axes)
        return Cell(matrix=matrix.name, coordinates=coordinates, recipe="lowest")

    subject = matrix.subject_axis
    releases = facts.usable(cell_at(place), subject)
    if not releases:
        return None
    release = next((r for r in reversed(releases) if not r.version.is_prerelease), releases[-1])
    chosen, python = dict(place), place[matrix.interpreters.name].version
    for axis in matrix.packages:
        if axis is subject:
            continue
        able: list[tuple[bool, Coordinate]] = []
        for coordinate in axis_coordinates(axis, facts.catalogue):
            trial = cell_at(chosen | {axis.name: coordinate})
            refused = {refusing.axis.name for refusing in facts.refused(trial, release)}
            usable = () if axis.name in refused else facts.usable(trial, axis)
            if usable:
                able.append((any(facts.has_wheel(r, python) for r in usable), coordinate))
        # Nothing is built unasked: one with a wheel goes before an older one without.
        first = next((c for has_wheel, c in able if has_wheel), able[0][1] if able else None)
        if first is None:
            return None
        chosen[axis.name] = first
    return cell_at(chosen)
