"""Explains what pins the lowest version of an axis, for each release: the declared metadata, the
needs of the code, and the results of the cells below.
"""

from collections.abc import Iterable
from typing import Literal, get_args

from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.matrix import PackageAxis
from compat.declare.parsing import minor_series, parsed
from compat.index.discover import lowest_of
from compat.index.release import Release, lowest_python
from compat.results.answer import Answer, Kind, representative
from compat.results.record import Capability
from compat.results.snapshot import Snapshot
from compat.run.outcome import Failed, Outcome, brief, parse_outcome
from compat.search.needs import Needs, SeriesNeeds
from compat.value import Value, grouped

# Hardest to change first: build a wheel for another Python, rewrite code, spell a type as `typing`
# does, postpone an annotation, lift a version check, change a declaration. A dependency is last
# because it is known from runs alone.
Keeper = Literal["wheel", "code", "type", "annotation", "guard", "declared", "dependency"]
KEEPERS: tuple[Keeper, ...] = get_args(Keeper)
_ANY = Version("3.0")


class CellBelow(Value, frozen=True, kw_only=True):
    """A cell below the lowest supported version; `is_by_rule`: what a rule freed blocked it."""

    cell: str
    version: str
    kind: Kind
    outcome: str
    failing: tuple[Capability, ...] = ()
    is_by_rule: bool = False


class PythonFloor(Value, frozen=True, kw_only=True):
    """What keeps a release from an older Python.

    `series` is the lowest that nothing known rules out; `keepers` rule out the one below, hardest
    to change first, and `bounds` has the series of each. `works_on` is the lowest Python on which a
    tested cell works, in part at least; needs beyond it are `unreached`: no capability used them.
    `below` has the best cell on each Python below both, the newest first. `needs` has what vermin
    found in `modules`, None where the wheel was not read; `unread` modules could not be.
    """

    release: str
    requires_python: str
    series: str
    keepers: tuple[Keeper, ...]
    bounds: dict[Keeper, str]
    modules: int
    unread: int
    needs: tuple[SeriesNeeds, ...] | None
    works_on: str
    below: tuple[CellBelow, ...]
    unreached: tuple[SeriesNeeds, ...]


class PackageFloor(Value, frozen=True, kw_only=True):
    """What keeps a release from an older version of another package of the matrix.

    `lower` is the lowest version that the `requirements` on it admit, `works_on` the lowest with
    which a tested cell works, if in part. `below` has the best tested cell of each below `lower`.
    """

    release: str
    package: str
    requirements: tuple[str, ...]
    lower: str
    works_on: str
    below: tuple[CellBelow, ...]


def subject_release(snapshot: Snapshot, version: Version) -> Release | None:
    members = snapshot.catalogue.members(snapshot.matrix.subject_axis, version)
    return next((r for r in reversed(members) if not r.yanked), None)


def subject_coordinates(snapshot: Snapshot) -> tuple[Version, ...]:
    axis, catalogue = snapshot.matrix.subject_axis, snapshot.catalogue
    if all(package.name != axis.normalised_name for package in catalogue.packages):
        return ()  # nothing was discovered yet
    return catalogue.coordinates(axis)


def python_floor(snapshot: Snapshot, needs: Needs, version: Version) -> PythonFloor:
    matrix = snapshot.matrix
    release = subject_release(snapshot, version)
    published = None if release is None else release.published
    requires = None if published is None else published.requires_python
    read = None if release is None else needs.of(release.version)
    oldest = min(matrix.interpreters.series, default=_ANY)
    axis = matrix.interpreters.name
    entries = _tested(snapshot, version)
    working = [e for e in entries if e.kind in ("works", "partial")]
    works_on = min((e.cell.on(axis).version for e in working), default=None)
    bounds: dict[Keeper, Version] = {}
    if release is not None and (wheel := lowest_python(release)) is not None:
        bounds["wheel"] = wheel
    kinds: tuple[Literal["code", "type", "annotation", "guard"], ...]
    kinds = ("code", "type", "annotation", "guard")
    for kind in kinds:
        if read is not None and (lowest := read.lowest(kind, works_on)) is not None:
            bounds[kind] = lowest
    if requires is not None and (declared := lowest_of(requires, exact=True)) is not None:
        bounds["declared"] = Version(minor_series(declared))
    floor = max([oldest, *bounds.values(), *([] if works_on is None else [works_on])])
    below = _below(snapshot, entries, axis, floor)
    nearest = below[0].outcome if below and not below[0].is_by_rule else ""
    if works_on == floor and nearest and _is_unobtainable(parse_outcome(nearest)):
        bounds["dependency"] = floor
    highest = max(bounds.values(), default=_ANY)
    keepers = tuple(k for k in KEEPERS if bounds.get(k) == highest) if highest > oldest else ()
    return PythonFloor(
        release=str(version if release is None else release.version),
        requires_python=str(requires or ""),
        series=str(max(highest, oldest)),
        keepers=keepers,
        bounds={keeper: str(bounds[keeper]) for keeper in KEEPERS if keeper in bounds},
        unreached=() if read is None or works_on is None else read.above(works_on),
        works_on=str(works_on or ""),
        below=below,
        modules=0 if read is None else read.modules,
        unread=0 if read is None else read.unread,
        needs=None if read is None else read.needs,
    )


def package_floor(snapshot: Snapshot, axis: PackageAxis, version: Version) -> PackageFloor:
    release = subject_release(snapshot, version)
    published = None if release is None else release.published
    texts = () if published is None else published.requires_dist
    lines = [
        (text, requirement)
        for text in texts
        if (requirement := parsed(text)) is not None
        and canonicalize_name(requirement.name) == axis.normalised_name
        and "extra" not in str(requirement.marker)
    ]
    bounds = (lowest_of(line.specifier, exact=True) for _, line in lines)
    lower = max(filter(None, bounds), default=None)
    entries = _tested(snapshot, version)
    working = [e.cell.on(axis.name).version for e in entries if e.kind in ("works", "partial")]
    # A series represents its releases: 2.9 is not below 2.9.1.
    floor = None if lower is None else axis.coordinate(lower)
    return PackageFloor(
        release=str(version if release is None else release.version),
        package=axis.package,
        requirements=tuple(text for text, _ in lines),
        lower=str(lower or ""),
        works_on=str(min(working, default="")),
        below=() if floor is None else _below(snapshot, entries, axis.name, floor),
    )


def _tested(snapshot: Snapshot, version: Version) -> list[Answer]:
    return [entry for entry in snapshot.known_on(snapshot.matrix.subject, version) if entry.runs]


def _below(
    snapshot: Snapshot, entries: Iterable[Answer], axis: str, floor: Version
) -> tuple[CellBelow, ...]:
    by_version = grouped((entry.cell.on(axis).version, entry) for entry in entries)
    ordered = sorted((each for each in by_version.items() if each[0] < floor), reverse=True)
    cells = []
    for version, own in ordered:
        entry, is_by_rule = representative(own), False
        outcome, failing = entry.outcome, entry.failing("combination", "unexplained")
        if (
            entry.cell.recipe == "relaxed"
            and isinstance(outcome, Failed)
            and _is_unobtainable(outcome)
        ):
            free = snapshot.feasibility.rules.relaxations(entry.cell)
            is_by_rule = canonicalize_name(outcome.subject.split("==")[0]) in free
        below = CellBelow(
            cell=entry.cell.id,
            version=str(version),
            kind=entry.kind,
            outcome="" if outcome is None else str(brief(outcome)),
            failing=tuple(c for c in entry.capabilities if c.id in failing),
            is_by_rule=is_by_rule,
        )
        cells.append(below)
    return tuple(cells)


def _is_unobtainable(outcome: Outcome | None) -> bool:
    return isinstance(outcome, Failed) and outcome.stage in ("lock", "install")
