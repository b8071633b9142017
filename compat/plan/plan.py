"""Every cell once, feasible or with an obstacle: of the product, of variants, beyond the axes, and
of a checkout; and cells by their names.

`lowest` tests whether the declared minimums of a release are true, `prerelease` what a future
dependency will break. Variants change no grid and move no floor. A checkout replaces the releases:
its ids end in `-local`. Recipe `dated` has no such cells, as a checkout has today's date.
"""

import difflib
import heapq
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property

import msgspec
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import (
    NEWEST,
    Axis,
    InterpreterAxis,
    Matrix,
    PackageAxis,
    Rule,
    Selector,
    extended_matrix,
)
from compat.errors import EmptyVariant, Fault, NothingToDo, UsageError
from compat.index.discover import lowest_of
from compat.index.release import Catalogue, Package, Release
from compat.plan.cell import (
    RECIPES,
    VARIANTS,
    Cell,
    Coordinate,
    Recipe,
    axis_coordinates,
    form,
    local_cell,
    parse_cell,
    product,
    readable_cell,
    refuse_elsewhere,
)
from compat.plan.feasible import Feasibility, Obstacle
from compat.plan.platform import accepted_tags, admits, named, python_name, python_remedy
from compat.value import Value

# Packs cells with their expected seconds into balanced shards.

# GitHub starts at most this many jobs from one matrix:
# https://docs.github.com/en/actions/reference/limits
MOST_SHARDS = 256


class Task(Value, frozen=True, kw_only=True):
    """A cell to run, and its expected seconds."""

    cell: str
    seconds: float


class Budget(Value, frozen=True, kw_only=True):
    """Concurrent shards, the seconds of each, and of these the `overhead` before its cells."""

    seconds: float
    shards: int
    overhead: float = 0.0

    @property
    def room(self) -> float:
        return max(0.0, self.seconds - self.overhead)

    @property
    def most(self) -> int:
        return max(1, min(self.shards, MOST_SHARDS))


class Packing(Value, frozen=True, kw_only=True, dict=True):
    """Shards that run side by side, each the cells of one machine, longest first; none is empty."""

    shards: tuple[tuple[Task, ...], ...] = ()
    overhead: float = 0.0

    @cached_property
    def seconds(self) -> tuple[float, ...]:
        return tuple(self.overhead + sum(task.seconds for task in own) for own in self.shards)

    @cached_property
    def longest(self) -> float:
        return max(self.seconds, default=0.0)

    @cached_property
    def mean(self) -> float:
        return sum(self.seconds) / max(1, len(self.shards))

    @property
    def tasks(self) -> Iterator[Task]:
        return itertools.chain.from_iterable(self.shards)

    @property
    def alone(self) -> Task | None:
        """The cell that takes longer than a mean shard, which prevents balance; else None."""
        if len(self.shards) < 2:
            return None
        task = max(self.tasks, key=lambda task: task.seconds)
        return task if self.overhead + task.seconds > self.mean else None


def packed(tasks: Sequence[Task], budget: Budget) -> Packing:
    """For tasks of `tasks_that_fit`. Each shard has as much work as overhead: set-up costs."""
    if not tasks:
        return Packing()
    most = min(budget.most, len(tasks))
    work = sum(task.seconds for task in tasks)
    worthwhile = most if most * budget.overhead < work else math.ceil(work / budget.overhead)
    # Longest processing time first (Graham 1969): at most 4/3 of the best packing, and far less
    # with many tasks.
    ordered = sorted(tasks, key=lambda task: (-task.seconds, task.cell))
    for count in range(max(1, min(worthwhile, most)), most + 1):
        packing = _packing(_assigned(ordered, count), budget)
        if packing.longest <= budget.seconds:
            return packing
    return _packing(_assigned(tasks, budget.most, budget.room), budget)


def tasks_that_fit(tasks: Iterable[Task], budget: Budget) -> tuple[Task, ...]:
    """A short task may fit where a long one did not. They keep their order."""
    listed = tuple(tasks)
    fitting = set(itertools.chain.from_iterable(_assigned(listed, budget.most, budget.room)))
    return tuple(task for task in listed if task in fitting)


def rounds(tasks: Sequence[Task], budget: Budget) -> Iterator[tuple[Task, ...]]:
    waiting = tasks
    while taken := set(tasks_that_fit(waiting, budget)):
        yield tuple(task for task in waiting if task in taken)
        waiting = [task for task in waiting if task not in taken]


def _assigned(tasks: Iterable[Task], count: int, room: float = math.inf) -> list[list[Task]]:
    # The tasks in shards, each in the one with most room left, or in none where that is too little.
    shards: list[list[Task]] = [[] for _ in range(count)]
    loads = [(0.0, number) for number in range(count)]
    for task in tasks:
        load, number = loads[0]
        if load + task.seconds <= room:
            heapq.heapreplace(loads, (load + task.seconds, number))
            shards[number].append(task)
    return shards


def _packing(assigned: Iterable[Iterable[Task]], budget: Budget) -> Packing:
    ordered = (sorted(tasks, key=lambda task: (-task.seconds, task.cell)) for tasks in assigned)
    shards = tuple(tuple(own) for own in ordered if own)
    return Packing(shards=shards, overhead=budget.overhead)


class Feasible(Value, frozen=True, kw_only=True):
    """A cell that no known fact rules out."""

    cell: Cell


class Infeasible(Value, frozen=True, kw_only=True):
    """A cell that was ruled out before anything ran, with its first obstacle."""

    cell: Cell
    obstacle: Obstacle


CellStatus = Feasible | Infeasible


class Plan(Value, frozen=True, kw_only=True):
    """Each cell, feasible or infeasible; `unneeded` names rules that no cell needs."""

    fates: tuple[CellStatus, ...]
    unneeded: tuple[str, ...]


def plan(matrix: Matrix, catalogue: Catalogue, here: frozenset[Version] | None = None) -> Plan:
    """With `here`, the series of this machine, a cell of another one is infeasible."""
    facts = Feasibility(matrix, catalogue)
    fates = tuple(cell_status(facts, cell, here) for cell in every_cell(facts))
    waiting = {rule.name: rule for rule in facts.matrix.rules}
    for fate in fates if waiting else ():
        cell, needed = fate.cell, tuple[Rule, ...]()
        if isinstance(fate, Feasible):
            needed = facts.changing(cell)
        elif fate.obstacle.kind == "excluded":
            is_alone = not (facts.unavailable(cell) or facts.conflicting(cell))
            needed = facts.rules.exclusions(cell) if is_alone else ()
        for rule in needed:
            waiting.pop(rule.name, None)
    return Plan(fates=fates, unneeded=tuple(waiting))


def every_cell(facts: Feasibility) -> Iterator[Cell]:
    for place in product(facts.matrix, facts.catalogue):
        for recipe in RECIPES:
            cell = Cell(matrix=facts.matrix.name, coordinates=place, recipe=recipe)
            if recipe != "relaxed" or facts.changing(cell):
                yield cell


def cell_status(
    facts: Feasibility, cell: Cell, here: frozenset[Version] | None = None
) -> CellStatus:
    obstacle = facts.obstacle(cell)
    python = cell.on(facts.matrix.interpreters.name)
    if obstacle is None and here is not None and python.version not in here:
        name = python_name(python.version, facts.matrix.platform)
        because = f"this machine has no Python {name}; {python_remedy(name)}"
        obstacle = Obstacle(kind="no-interpreter", between=(python.text,), because=because)
    return Feasible(cell=cell) if obstacle is None else Infeasible(cell=cell, obstacle=obstacle)


def counts(fates: Iterable[CellStatus]) -> dict[str, Counter[str]]:
    table: dict[str, Counter[str]] = {recipe: Counter() for recipe in RECIPES}
    for fate in fates:
        kind = "feasible" if isinstance(fate, Feasible) else fate.obstacle.kind
        table[fate.cell.recipe][kind] += 1
    return table


def unneeded_faults(plan: Plan, matrix: Matrix, source: str) -> tuple[Fault, ...]:
    return tuple(
        Fault(
            code="unneeded",
            path=f"{source}: rules[{index}]",
            message=f"no cell needs rule {rule.name!r}: the catalogue is the same without it",
            hint="delete the rule, or narrow its `when` to the cells that it is for",
        )
        for index, rule in enumerate(matrix.rules)
        if rule.name in plan.unneeded
    )


class Extension(Value, frozen=True, kw_only=True):
    """A version by which an axis could be extended, and the search for a cell with it and the
    subject's newest release.

    `trial` is the cell to run first: with the newest fitting version of each other axis, and
    preferably as published. Where no cell can work, `obstacles` has for each tried recipe a cell's
    id and what rules it out.
    """

    axis: Axis
    newest: Version
    version: Version
    trial: Cell | None
    obstacles: Mapping[Recipe, tuple[str, Obstacle]]


def extensions(facts: Feasibility) -> Iterator[Extension]:
    """A package has only its newest series, because a higher upper bound includes all before it."""
    newest = facts.newest
    if set(newest) < {axis.name for axis in facts.matrix.axes}:
        return
    for axis in facts.matrix.axes:
        if axis.name == facts.matrix.subject:
            continue
        if isinstance(axis, InterpreterAxis):
            series = sorted(map(Version, NEWEST))
        else:
            releases = facts.catalogue.newer_than(axis)
            series = [axis.coordinate(releases[-1].version)] if releases else []
        yield from (_extension(facts, axis, each) for each in series if each > newest[axis.name])


def _extension(facts: Feasibility, axis: Axis, version: Version) -> Extension:
    # The first feasible cell with the version and the subject's newest release, newest versions of
    # the others first; else the first obstacle of each recipe.
    own, coordinates = (
        Coordinate(axis=axis.name, short=axis.short, version=version),
        facts.coordinates,
    )
    each = {a.name: coordinates[a.name][::-1] for a in facts.matrix.axes} | {axis.name: (own,)}
    each[facts.matrix.subject] = each[facts.matrix.subject][:1]
    obstacles: dict[Recipe, tuple[str, Obstacle]] = {}
    for recipe, place in itertools.product(LOCAL_RECIPES, itertools.product(*each.values())):
        cell = Cell(matrix=facts.matrix.name, coordinates=place, recipe=recipe)
        wider = extended_facts(facts, cell)
        if wider is None or (recipe == "relaxed" and not wider.changing(cell)):
            continue
        obstacle, trial = wider.obstacle(cell), cell
        if obstacle is None:
            break
        obstacles.setdefault(recipe, (cell.id, obstacle))
    else:
        trial = None
    newest = facts.newest[axis.name]
    return Extension(axis=axis, newest=newest, version=version, trial=trial, obstacles=obstacles)


def extended_facts(facts: Feasibility, cell: Cell) -> Feasibility | None:
    # Return the facts for a cell beyond the axes; None for a cell that is no possible extension.
    key = " ".join(coordinate.text for coordinate in beyond(facts, cell))
    if key not in facts.lanes:
        matrix, catalogue = facts.matrix, facts.catalogue
        for coordinate in beyond(facts, cell):
            axis = next(axis for axis in matrix.axes if axis.name == coordinate.axis)
            wanted = coordinate.version
            if isinstance(axis, InterpreterAxis):
                if str(wanted) not in NEWEST:
                    return None
                # The subject's pins are stored only with the files for the declared Pythons.
                catalogue = msgspec.structs.replace(catalogue, required=())
            else:
                newer = catalogue.newer_than(axis)
                under = [r for r in newer if axis.coordinate(r.version) == wanted]
                if axis.name == matrix.subject or not under:
                    return None
                own = catalogue.of(axis)
                every = {release.version: release for release in (*own.releases, *newer)}
                merged = Package(name=own.name, releases=tuple(every[v] for v in sorted(every)))
                catalogue, wanted = catalogue.with_package(merged), under[-1].version
            wider = extended_matrix(matrix, axis, wanted)
            if wider is None:
                return None
            matrix = wider
        facts.lanes[key] = Feasibility(matrix, catalogue)
    return facts.lanes[key]


def beyond(facts: Feasibility, cell: Cell) -> tuple[Coordinate, ...]:
    newest = facts.newest
    return tuple(
        coordinate
        for coordinate in cell.coordinates
        if not coordinate.is_local
        and coordinate.axis in newest
        and coordinate.version > newest[coordinate.axis]
    )


_LOWEST = "+lowest"  # no axis has such a name


def variant_cells(facts: Feasibility) -> Iterator[Cell]:
    if facts.matrix.lowest:
        yield from _lowest(_with_lowest(facts))
    for axis in facts.matrix.prerelease_axes:
        lane = _with_prerelease(facts, axis)
        if lane is not None:
            for place in product(lane.matrix, lane.catalogue):
                yield Cell(matrix=lane.matrix.name, coordinates=place, recipe="prerelease")


def facts_for(facts: Feasibility, cell: Cell) -> Feasibility:
    # Return the facts for a cell: in the pre-release variant with the pre-release on its axis, in
    # the lowest variant with the excluded versions, beyond the axes those of the extended matrix,
    # else these.
    if not cell.is_variant:
        return (extended_facts(facts, cell) if beyond(facts, cell) else None) or facts
    if cell.recipe == "lowest":
        return _with_lowest(facts)
    for axis in facts.matrix.prerelease_axes if cell.recipe == "prerelease" else ():
        release, lane = facts.catalogue.prerelease(axis), _with_prerelease(facts, axis)
        is_there = release is not None and cell.on(axis.name).version == release.version
        if lane is not None and is_there:
            return lane
    return facts


def variant_axis(matrix: Matrix, cell: Cell) -> PackageAxis | None:
    others = [axis for axis in matrix.packages if axis is not matrix.subject_axis]
    awaited = (axis for axis in others if cell.on(axis.name).version.is_prerelease)
    return next(awaited, None) if cell.recipe == "prerelease" else None


def lockable_cells(facts: Feasibility) -> Iterator[Cell]:
    yield from every_cell(facts)
    yield from variant_cells(facts)
    yield from (extension.trial for extension in extensions(facts) if extension.trial is not None)


def _with_prerelease(facts: Feasibility, axis: PackageAxis) -> Feasibility | None:
    release = facts.catalogue.prerelease(axis)
    if release is None:
        return None
    if axis.name not in facts.lanes:
        select = Selector(specifier=SpecifierSet(f"=={release.version}"), prereleases=True)
        facts.lanes[axis.name] = _with_only(facts.matrix, facts.catalogue, axis, select, release)
    return facts.lanes[axis.name]


def _with_lowest(facts: Feasibility) -> Feasibility:
    beside = {package.name: package.releases for package in facts.catalogue.lowest}
    if not any(beside.values()):
        return facts
    if _LOWEST not in facts.lanes:
        matrix, catalogue, replace = facts.matrix, facts.catalogue, msgspec.structs.replace
        for axis in matrix.packages:
            if lower := beside.get(axis.normalised_name):
                own = catalogue.of(axis)
                releases = (*lower, *own.selected(axis.select))
                ordered = tuple(sorted(releases, key=lambda release: release.version))
                catalogue = catalogue.with_package(replace(own, releases=ordered))
                # The axis selects every remaining release of the package.
                select = replace(axis.select, specifier=SpecifierSet())
                matrix = matrix.with_axis(replace(axis, select=select))
        facts.lanes[_LOWEST] = Feasibility(matrix, catalogue)
    return facts.lanes[_LOWEST]


def why_not_lowest(facts: Feasibility, cell: Cell, requirement: Requirement, has: Version) -> str:
    name, known = canonicalize_name(requirement.name), _with_lowest(facts)
    axis = next((axis for axis in known.matrix.packages if axis.normalised_name == name), None)
    if axis is None or name not in {package.name for package in facts.catalogue.lowest}:
        return ""
    python = cell.on(facts.matrix.interpreters.name).version
    declared, asked = lowest_of(requirement.specifier), requirement.specifier
    admitted = [r for r in known.catalogue.of(axis).releases if asked.contains(r.version, True)]
    below = [release for release in admitted if release.version < has]

    if first := next((r for r in below if known.has_wheel(r, python)), None):
        return f"{first.version} has a wheel here, and the rest of the cell needs a newer one"
    if not below:
        return f"the index has no {declared}, and this is the lowest that it has"
    because = f"has no wheel for Python {python}, only a source distribution"
    if not known.can_install(below[0], python):
        because = known.reason(below[0], python)[1]
    return f"{below[0].version} {because}, and {has} is the first that can be installed"


def _lowest(facts: Feasibility) -> Iterator[Cell]:
    # For each Python and release of the subject, the combination of the lowest other coordinates
    # that it admits and that the Python can install.
    matrix, first, subject = facts.matrix, facts.coordinates, facts.matrix.subject_axis

    def cell_at(chosen: dict[str, Coordinate]) -> Cell:
        coordinates = tuple(chosen[axis.name] for axis in matrix.axes)
        return Cell(matrix=matrix.name, coordinates=coordinates, recipe="lowest")

    def able(chosen: dict[str, Coordinate], release: Release) -> bool:
        # Whether all axes but the last chosen one are set to what the release and Python take.
        python = chosen[matrix.interpreters.name].version
        for axis in (axis for axis in matrix.packages if axis is not subject):
            built: Coordinate | None = None
            for coordinate in facts.coordinates[axis.name]:
                trial = cell_at(chosen | {axis.name: coordinate})
                refused = {other.name for other, _ in facts.refused(trial, release)}
                usable = () if axis.name in refused else facts.usable(trial, axis)
                # Nothing is built by default: one with a wheel precedes an older one without.
                if any(facts.has_wheel(r, python) for r in usable):
                    chosen[axis.name] = coordinate
                    break
                built = built or (coordinate if usable else None)
            else:
                if built is None:
                    return False
                chosen[axis.name] = built
        return True

    if not all(first.values()):
        return
    for python, own in itertools.product(first[matrix.interpreters.name], first[matrix.subject]):
        chosen = {name: coordinates[0] for name, coordinates in first.items()}
        chosen |= {python.axis: python, own.axis: own}
        releases = facts.usable(cell_at(chosen), subject)
        finals = [release for release in releases if not release.version.is_prerelease]
        if releases and able(chosen, (finals or releases)[-1]):
            yield cell_at(chosen)


def cells_of(facts: Feasibility) -> tuple[Cell, ...]:
    refuse_empty(facts.matrix, facts.catalogue)
    return tuple(every_cell(facts))


def refuse_empty(matrix: Matrix, catalogue: Catalogue) -> None:
    for axis in matrix.packages:
        if not axis_coordinates(axis, catalogue):
            because = f"no release of {axis.package} is one that axis {axis.name!r} selects"
            hint = f"change `select` of the axis in matrices/{matrix.name}/matrix.toml"
            raise NothingToDo.of(f"matrix {matrix.name!r} has no cells: {because}", hint=hint)


def named_cells(
    facts: Feasibility, patterns: Iterable[str], beyond_axes: bool = False
) -> tuple[Cell, ...]:
    """Return the cells that ids and globs name, each once, in the order of the patterns, then of
    the plan.

    A glob matches cells of variants only where it has a `+`. With `beyond_axes` an id may be of a
    cell with a version by which the matrix could be extended. Raises UsageError for an id outside
    the product, and for a glob without a match. Raises NothingToDo when the matrix has no cells,
    EmptyVariant when globs name only empty variants.
    """
    named: dict[str, Cell] = {}
    every: dict[str, Cell] = {}
    empty: list[str] = []
    refuse_empty(facts.matrix, facts.catalogue)
    for pattern in patterns:
        cell = _planned_cell(facts, pattern, beyond_axes)
        if cell is not None:
            named[pattern] = cell
            continue
        every = every or {cell.id: cell for cell in every_cell(facts)}
        every |= {cell.id: cell for cell in variant_cells(facts) if "+" in pattern}
        matching = [cell_id for cell_id in every if fnmatchcase(cell_id, pattern)]
        place, _, lane = pattern.rpartition("+")
        is_declared = facts.matrix.lowest if lane == "lowest" else facts.matrix.prerelease_axes
        named |= {cell_id: every[cell_id] for cell_id in matching}
        if not matching:
            places = (cell.place for cell in every.values())
            is_lane = lane in VARIANTS and is_declared
            if not is_lane or not any(fnmatchcase(each, place) for each in places):
                raise _no_cell(facts.matrix, every, pattern)
            empty.append(pattern)
    if empty and not named:
        axes = ", ".join(axis.package for axis in facts.matrix.prerelease_axes)
        because = f"no pre-release of {axes} is newer than its final releases"
        if empty[-1].endswith("+lowest"):
            because = "no release has lowest versions that can be installed"
        raise EmptyVariant.of(
            f"no cell of matrix {facts.matrix.name!r} is {empty[-1]!r}: {because}"
        )
    return tuple(named.values())


def _planned_cell(facts: Feasibility, cell_id: str, beyond_axes: bool) -> Cell | None:
    cell = readable_cell(cell_id, facts.matrix)
    if cell is None:
        return None
    if cell.is_variant:
        is_planned = cell.id == cell_id and any(
            cell.id == known.id for known in variant_cells(facts)
        )
    else:
        is_planned = _is_planned(facts, cell)
        if not is_planned and beyond_axes and cell.id == cell_id and beyond(facts, cell):
            wider = extended_facts(facts, cell)
            is_planned = wider is not None and _is_planned(wider, cell)
    return cell if is_planned else None


def _is_planned(facts: Feasibility, cell: Cell) -> bool:
    # 2.14 equals 2.14.0, and yet only one of them is in an id.
    is_known = all(
        coordinate.text in {known.text for known in facts.coordinates[coordinate.axis]}
        for coordinate in cell.coordinates
    )
    return is_known and (cell.recipe != "relaxed" or bool(facts.changing(cell)))


def _no_cell(matrix: Matrix, every: dict[str, Cell], pattern: str) -> UsageError:
    refuse_elsewhere(pattern, matrix)
    if not any(sign in pattern for sign in "*?["):
        dated = msgspec.structs.replace(parse_cell(pattern, matrix), recipe="dated").id
        if pattern.endswith("+relaxed") and dated in every:
            return UsageError.of(
                f"no cell of matrix {matrix.name!r} is {pattern!r}: no rule relaxes anything there",
                hint=f"{dated} asks the same",
            )
    near = difflib.get_close_matches(pattern, every, n=1, cutoff=0.8)
    hint = f"did you mean {near[0]}?" if near else f"ids have the form {form(matrix)}"
    return UsageError.of(f"no cell of matrix {matrix.name!r} is {pattern!r}", hint=hint)


LOCAL_RECIPES: tuple[Recipe, ...] = ("fresh", "relaxed")


def facts_of_checkout(matrix: Matrix, catalogue: Catalogue, release: Release) -> Feasibility:
    return _with_only(matrix, catalogue, matrix.subject_axis, Selector(prereleases=True), release)


def _with_only(
    matrix: Matrix, catalogue: Catalogue, axis: PackageAxis, select: Selector, release: Release
) -> Feasibility:
    package = Package(name=axis.normalised_name, releases=(release,))
    own = msgspec.structs.replace(axis, select=select)
    return Feasibility(matrix.with_axis(own), catalogue.with_package(package))


def checkout_cells(facts: Feasibility) -> Iterator[Cell]:
    name, subject = facts.matrix.name, facts.matrix.subject
    for place in product(facts.matrix, facts.catalogue):
        for recipe in LOCAL_RECIPES:
            cell = local_cell(Cell(matrix=name, coordinates=place, recipe=recipe), subject)
            if recipe != "relaxed" or facts.changing(cell):
                yield cell
    for cell in variant_cells(facts):
        yield local_cell(cell, subject)


def released_cell(cell: Cell, subject: str, version: Version) -> Cell:
    own = msgspec.structs.replace(cell.on(subject), version=version, is_local=False)
    coordinates = tuple(own if c.axis == subject else c for c in cell.coordinates)
    return msgspec.structs.replace(cell, coordinates=coordinates)


def explain(facts: Feasibility, cell: Cell) -> tuple[str, ...]:
    matrix = facts.matrix
    python = cell.on(matrix.interpreters.name).version
    lines = [f"Python {python}: as {facts.patch(cell)} on {matrix.platform}"]
    for axis in matrix.packages:
        releases = facts.releases(cell, axis)
        number = f"{len(releases)} release{'' if len(releases) == 1 else 's'}"
        lines.append(f"{axis.package} {cell.on(axis.name).version}: {number}")
        lines += (f"  {_release(facts, cell, release)}" for release in releases)
    lines.extend(_conditions(facts, cell))
    for sentence, question in facts.questions:
        obstacle = question(cell)
        if obstacle is not None:
            return (*lines, f"{sentence} -> {obstacle.kind}", f"infeasible: {obstacle.because}")
        lines.append(f"{sentence} -> not blocked")
    return (*lines, "feasible: no known fact rules it out")


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


def _conditions(facts: Feasibility, cell: Cell) -> Iterator[str]:
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
    for rule in facts.rules.exclusions(cell):
        yield f"rule {rule.name} excludes the cell: {rule.because}"
    for rule in facts.rules.relaxing(cell):
        changes = ", ".join(
            f"{r.package} {'requires-python ignored' if r.ignore_requires_python else f'-> {r.to}'}"
            for r in rule.relaxations
        )
        yield f"rule {rule.name} relaxes {changes}: {rule.because}"
