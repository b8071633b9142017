"""The `advise` room's tested sets: what was installed where a combination ran, and how far an
environment is from it.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.advise.named_builds import module_package
from compat.advise.package_list import PackageList
from compat.advise.proof import is_current, mostly_works
from compat.advise.violation import series_of
from compat.declare.matrix import Axis, InterpreterAxis, Matrix
from compat.plan.cell import RECIPES
from compat.plan.requirements import published_names
from compat.results.answer import Answer
from compat.results.record import PYTHON
from compat.results.snapshot import Snapshot
from compat.run.outcome import Failed
from compat.value import Value

# What `pip freeze` leaves out: https://pip.pypa.io/en/stable/cli/pip_freeze/ (--all), 2026-11-23.
_NOT_IN_FREEZE = frozenset(("pip", "setuptools", "wheel", "distribute"))
# What releases of pytest bring, of which a user of the library needs nothing.
_OF_PYTEST = frozenset(
    (
        *("pytest", "iniconfig", "pluggy", "packaging", "exceptiongroup", "tomli", "py", "toml"),
        *("attrs", "importlib-metadata", "zipp", "typing-extensions", "pygments", "colorama"),
    )
)


class TestedSet(Value, frozen=True):
    """What a cell's lock installs, by normalised name, and what is known of the cell.

    `may_lack` are those that a user may not need: of a lock that does not tell the suite's packages
    from the library's.
    """

    entry: Answer
    pins: dict[str, Version]
    may_lack: frozenset[str] = frozenset()

    @property
    def id(self) -> str:
        return self.entry.cell.id

    @property
    def is_proof(self) -> bool:
        return self.entry.kind in ("works", "partial")

    @property
    def mostly_works(self) -> bool:
        failing = len(self.entry.failing("combination", "unexplained"))
        return self.entry.kind == "works" or (
            self.entry.score.finished and mostly_works(failing, len(self.entry.capabilities))
        )

    def can(self, capability: str) -> bool:
        known = self.entry.capabilities
        return any(each.id == capability and each.status == "yes" for each in known)


class DifferingPin(Value, frozen=True):
    """A package that an environment has in another version than a tested set, or not at all."""

    package: str
    installed: Version | None
    tested: Version


def tested_sets(snapshot: Snapshot, pins: Mapping[str, dict[str, Version]]) -> list[TestedSet]:
    """Return the sets whose newest run was on the lock that the cell has now; `pins` are those of
    each lock, by cell.
    """
    needed = published_names(snapshot.catalogue.packages)
    return [
        TestedSet(
            entry=entry,
            pins=pins[entry.cell.id],
            may_lack=_OF_PYTEST - needed if "pytest" in pins[entry.cell.id] else frozenset(),
        )
        for entry in snapshot.known
        if entry.cell.id in pins and is_current(entry)
    ]


def differing_pins(tested_set: TestedSet, packages: PackageList) -> list[DifferingPin]:
    """Return what an environment has otherwise than a tested set, sorted by name.

    What the set has and the environment lacks counts, but for what only the suite needed, and in a
    list for what `pip freeze` leaves out.
    """
    return [
        DifferingPin(package=name, installed=installed, tested=version)
        for name, version in sorted(tested_set.pins.items())
        if (installed := packages.versions.get(name)) != version
        and (
            installed is not None
            or not (
                name in tested_set.may_lack or (name in _NOT_IN_FREEZE and not packages.is_whole)
            )
        )
    ]


def is_same(tested_set: TestedSet, packages: PackageList, matrix: Matrix) -> bool:
    """Whether an environment is a tested set: the same Python series, and each package in the same
    version.
    """
    axes = [axis.normalised_name for axis in matrix.packages]
    return are_alike(tested_set, packages, matrix, axes) and not differing_pins(
        tested_set, packages
    )


def fails_alike(tested_set: TestedSet, packages: PackageList, matrix: Matrix) -> bool:
    """Whether an environment fails as a red set did: it is that set, or it has the same Python, the
    same version on each axis, and of each package that the failure names.

    A failure that names what no package of the set is known to have holds for that set alone.
    """
    outcome, pins = tested_set.entry.outcome, tested_set.pins
    if tested_set.entry.kind != "broken" or not isinstance(outcome, Failed):
        return False
    if outcome.stage not in ("import", "collect", "test"):
        return False
    if is_same(tested_set, packages, matrix):
        return True
    axes = {str(axis.normalised_name) for axis in matrix.packages}
    named = named_packages(outcome)
    if not are_alike(tested_set, packages, matrix, axes) or not named or outcome.stage == "test":
        return False
    # What the run itself knew of modules; it has fewer names where it did not know one.
    involved = set(tested_set.entry.counted[-1].run.involved)
    if not named <= {PYTHON, *pins} and len(involved) < len(named):
        return False
    return are_alike(tested_set, packages, matrix, (named & pins.keys()) | involved - {PYTHON})


def are_alike(
    tested_set: TestedSet, packages: PackageList, matrix: Matrix, names: Iterable[str]
) -> bool:
    return (
        packages.python is not None
        and series_of(packages.python) == _series(tested_set, matrix)
        and all(packages.versions.get(name) == tested_set.pins.get(name) for name in names)
    )


def named_packages(outcome: Failed) -> set[str]:
    """The packages of the thing and of the place that a failure names, as far as their names
    tell.
    """
    place = re.sub(r"(\.\w+)?(:\d+)?$", "", outcome.place).replace("/", ".")
    return {
        PYTHON if re.match(r"python3\.\d", text) else canonicalize_name(module_package(text))
        for text in (outcome.thing, place)
        if text
    }


def nearest_set(
    sets: Sequence[TestedSet],
    packages: PackageList,
    snapshot: Snapshot,
    needs: Sequence[Requirement],
    lost: Collection[str] = (),
) -> TestedSet | None:
    """Return the set that works and is nearest to an environment: it meets what would mend it, has
    the capabilities that are `lost`, works for the most part, has the same Python, then the fewest
    and nearest other coordinates, then the fewest packages that differ, then works wholly, then has
    the fewest rules that change it, then is the newest.
    """
    matrix = snapshot.matrix
    proven = [tested_set for tested_set in sets if tested_set.is_proof]
    if not proven:
        return None
    places = _places(proven, matrix)

    def distance(tested_set: TestedSet) -> tuple[object, ...]:
        off = list(_steps(tested_set, packages, matrix, places))
        return (
            sum(not _meets_need(tested_set, need, matrix) for need in needs),
            sum(not tested_set.can(capability) for capability in lost),
            not tested_set.mostly_works,
            off[0] if packages.python is not None else 0,
            sum(bool(step) for step in off[1:]),
            sum(off[1:]),
            *_counts(differing_pins(tested_set, packages) if packages.versions else []),
            tested_set.entry.kind != "works",
            RECIPES.index(tested_set.entry.cell.recipe),
        )

    def rank(tested_set: TestedSet) -> tuple[object, ...]:
        return (
            len(snapshot.feasibility.rules.relaxing(tested_set.entry.cell)),
            [
                -places[axis.name][tested_set.entry.cell.on(axis.name).version]
                for axis in sorted(matrix.axes, key=lambda axis: axis.name != matrix.subject)
            ],
        )

    distances = [(distance(tested_set), tested_set) for tested_set in proven]
    least = min(off for off, _ in distances)
    # Which rules change a cell takes long to find out, so only of those that are equally near.
    return min((tested_set for off, tested_set in distances if off == least), key=rank)


def _counts(differ: Sequence[DifferingPin]) -> tuple[int, int]:
    lacking = sum(difference.installed is None for difference in differ)
    return len(differ) - lacking, lacking


def _series(tested_set: TestedSet, matrix: Matrix) -> Version:
    return tested_set.entry.cell.on(matrix.interpreters.name).version


def _places(sets: Sequence[TestedSet], matrix: Matrix) -> dict[str, dict[Version, int]]:
    return {
        axis.name: {
            version: number
            for number, version in enumerate(
                sorted({tested_set.entry.cell.on(axis.name).version for tested_set in sets})
            )
        }
        for axis in matrix.axes
    }


def _steps(
    tested_set: TestedSet,
    packages: PackageList,
    matrix: Matrix,
    places: Mapping[str, Mapping[Version, int]],
) -> Iterator[int]:
    """How many coordinates lie between, the Python first; what is not known is no distance."""
    axes: tuple[Axis, ...] = (matrix.interpreters, *matrix.packages)
    for axis in axes:
        own = tested_set.entry.cell.on(axis.name).version
        if isinstance(axis, InterpreterAxis):
            wanted = None if packages.python is None else series_of(packages.python)
        else:
            version = packages.versions.get(axis.normalised_name)
            wanted = None if version is None else axis.select.coordinate(version)
        between = [
            version
            for version in places[axis.name]
            if wanted is not None and min(own, wanted) <= version <= max(own, wanted)
        ]
        yield 0 if wanted is None or wanted == own else max(1, len(between) - 1)


def _meets_need(tested_set: TestedSet, need: Requirement, matrix: Matrix) -> bool:
    if need.name == PYTHON:
        # Any patch of the series will do for a need that names patches.
        series = _series(tested_set, matrix)
        return any(
            need.specifier.contains(Version(f"{series}.{patch}")) for patch in (0, 1, 5, 10, 20)
        )
    version = tested_set.pins.get(need.name)
    return version is None or need.specifier.contains(version, prereleases=True)
