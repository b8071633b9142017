"""Whole repositories made up for tests: declarations, a kept catalogue, locks and records that need
not fit together.

Floors lie below, inside and above the axes, releases and records have holes, packages have no
release at all, cells have locks without runs and runs without a place in the plan: all that a
matrix of somebody's own may come to.
"""

import datetime
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from compat.declare.load import decode_matrix
from compat.declare.matrix import Matrix
from compat.index.discover import encode_catalogue
from compat.index.release import Artifact, Catalogue, Package, Published, Release
from compat.lock.lockfile import Inputs, Lock, Pin, encode_lock
from compat.plan.cell import RECIPES, Cell, Coordinate
from compat.plan.feasible import Feasibility
from compat.plan.plan import every_cell
from compat.results.record import Capability, Record, encode_line
from compat.run.outcome import Passed, parse_outcome
from compat.run.suitefiles import suite_digest

DAY = datetime.date(2026, 6, 15)
UTC = datetime.timezone.utc
SUITE = 'def test_sum():\n    """Sums.\n\n    It adds.\n    """\n'
PYTHONS = (
    "3.5.10",
    "3.7.16",
    "3.8.18",
    "3.9.18",
    "3.10.13",
    "3.11.7",
    "3.12.1",
    "3.14.0",
    "3.15.0",
    "3.20.1",
)
VERSIONS = (
    "0.9",
    "1.0",
    "1.0.1",
    "1.1",
    "1.2.0",
    "2.0rc1",
    "2.0",
    "2.1",
    "2.1.1",
    "3.0.dev1",
    "10.0",
)
SPECIFIERS = ("", ">=1.1", "<2", ">=1.0,<1.2", "==2.0", "==1.*", "!=1.1", ">=99")
UPLOADED = (
    None,
    "2019-05-01",
    "2021-02-10",
    "2023-08-01",
    "2025-12-31",
    "2026-06-14",
    "2026-12-01",
)
OUTCOMES = (
    "pass",
    "pass",
    "pass",
    "test-fail:assertion(sum)",
    "test-fail:wall-time",
    "import-fail:missing-module(dep.old)",
    "lock-fail:conflict(dep)",
    "install-fail:network",
    "import-fail:segfault(demo)",
)
KNOWN = (
    '{ because = "printing was never promised", capability = "printing" }',
    '{ because = "dep.old is gone for good", outcome = "import-fail:missing-module(dep.old)" }',
    '{ because = "sums were wrong before", capability = "sum", when = { python = "<3.9" } }',
)
RULES = (
    (
        '{ name = "any-dep", effect = "relax", because = "dep keeps its promises", '
        'relaxations = [{ package = "dep", to = "any" }] }'
    ),
    (
        '{ name = "dep-moved", effect = "relax", because = "dep keeps its promises", when = { dep ='
        ' "moved" }, relaxations = [{ package = "dep", to = ">=1.1" }] }'
    ),
    (
        '{ name = "no-dep", effect = "relax", because = "nobody needs dep at all", '
        'relaxations = [{ package = "dep", to = "nothing" }] }'
    ),
    (
        '{ name = "older-python", effect = "relax", because = "nobody tried an older one", '
        'relaxations = [{ package = "demo", ignore_requires_python = true }] }'
    ),
    (
        '{ name = "not-1", effect = "exclude", because = "it was never meant to work", when = { dep'
        ' = "==1.0" } }'
    ),
    (
        '{ name = "not-old", effect = "exclude", because = "it was never meant to work", when = {'
        ' demo = "<2" } }'
    ),
)


@dataclass
class Repository:
    """What stands in the folder of the matrix `demo`."""

    matrix: str
    policy: str
    catalogue: Catalogue
    has_suite: bool
    locks: list[Lock] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    @property
    def declared(self) -> Matrix:
        """The matrix."""
        return decode_matrix(self.matrix.encode(), "generated")

    def write(self, root: Path) -> None:
        """Write all of it below `root`."""
        folder = root / "matrices" / "demo"
        (folder / "locks").mkdir(parents=True)
        (folder / "matrix.toml").write_text(self.matrix, encoding="utf-8")
        if self.policy:
            (folder / "policy.toml").write_text(self.policy, encoding="utf-8")
        (folder / "catalogue.json").write_text(
            encode_catalogue(self.catalogue, self.declared), encoding="utf-8"
        )
        if self.has_suite:
            (folder / "suite").mkdir()
            (folder / "suite" / "test_sum.py").write_text(SUITE, encoding="utf-8")
        for lock in self.locks:
            (folder / "locks" / f"{lock.inputs.cell}.txt").write_text(
                encode_lock(lock), encoding="utf-8"
            )
        for record in self.records:
            path = folder / "records" / f"{record.started:%Y-%m-%d}.jsonl"
            path.parent.mkdir(exist_ok=True)
            with path.open("ab") as file:
                file.write(encode_line(record))


def digest_of_suite(folder: Path) -> str:
    """The digest of the suite of every such repository; `folder` is an empty place to write it
    into.
    """
    (folder / "test_sum.py").write_text(SUITE, encoding="utf-8")
    return suite_digest(folder)


@st.composite
def repositories(draw: st.DrawFn, today_suite: str) -> Repository:
    """Any repository; runs of today's suite name the digest `today_suite`."""
    packages = draw(st.sampled_from([("dep",), ("dep",), ("dep", "lib"), ()]))
    pythons = draw(st.lists(st.sampled_from(PYTHONS), min_size=1, max_size=4, unique=True))
    catalogue = Catalogue(
        packages=tuple(draw(_package(name, packages)) for name in ("demo", *packages))
    )
    keeps = {
        name: draw(st.sampled_from(["each", "minor", "minor", "major"]))
        for name in ("demo", *packages)
    }
    has_policy = draw(st.integers(0, 5)) > 0
    floors = draw(_floors(pythons, packages))
    matrix = draw(_matrix(pythons, keeps, floors))
    repository = Repository(
        matrix=matrix,
        policy=draw(_policy(tuple(floors))) if has_policy else "",
        catalogue=catalogue,
        has_suite=draw(st.integers(0, 9)) > 0,
    )
    places = list(every_cell(Feasibility(repository.declared, catalogue))) + draw(
        _strays(repository.declared)
    )
    if places:
        chosen = draw(
            st.lists(st.sampled_from(places), max_size=10, unique_by=lambda cell: cell.id)
        )
        if draw(
            st.booleans()
        ):  # many cells of one release, so that some floor has all that it needs
            chosen = [*chosen, *(cell for cell in places[-24:] if cell not in chosen)]
        for cell in chosen:
            lock = lock_of(cell, repository.declared)
            if draw(st.integers(0, 4)):
                repository.locks.append(lock)
            repository.records += draw(_runs(cell, lock, today_suite))
    return repository


@st.composite
def _package(draw: st.DrawFn, name: str, packages: Sequence[str]) -> Package:
    chosen = draw(st.lists(st.sampled_from(VERSIONS), max_size=5, unique=True))
    has_times = draw(st.integers(0, 4)) > 0
    releases = [
        draw(_release(name, version, packages, has_times))
        for version in sorted(chosen, key=Version)
    ]
    return Package(name=name, releases=tuple(releases))


@st.composite
def _release(
    draw: st.DrawFn, name: str, version: str, packages: Sequence[str], has_times: bool
) -> Release:
    python = draw(st.sampled_from(["", "", "", ">=3.8", ">=3.9", ">=3.11", "<3.9"]))
    asks = None
    if name == "demo" and draw(st.integers(0, 7)):
        requires = tuple(
            f"{other}{draw(st.sampled_from(SPECIFIERS))}"
            for other in packages
            if draw(st.booleans())
        )
        marked = ('dep<2; python_version < "3.10"', "((", "dep @ https://a.example/dep.whl")
        requires += tuple(draw(st.lists(st.sampled_from(marked), max_size=1)))
        asks = Published(
            requires_python=SpecifierSet(python) if python else None, requires_dist=requires
        )
    names = draw(
        st.sampled_from(
            [
                (f"{name}-{version}-py3-none-any.whl",),
                (f"{name}-{version}-py3-none-any.whl",),
                (f"{name}-{version}.tar.gz",),
                (f"{name}-{version}-cp39-cp39-manylinux_2_17_x86_64.whl",),
                (f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.tar.gz"),
                (),
            ]
        )
    )
    is_yanked = draw(st.integers(0, 7)) == 0
    when = draw(st.sampled_from(UPLOADED)) if has_times else None
    uploaded = None if when is None else datetime.datetime.fromisoformat(f"{when}T12:00:00+00:00")
    files = tuple(
        Artifact(
            filename=filename,
            url="",
            tags=parse_wheel_filename(filename)[3] if filename.endswith(".whl") else frozenset(),
            requires_python=SpecifierSet(python) if python else None,
            uploaded=uploaded,
            yanked=is_yanked,
            yank_reason="it broke" if is_yanked else "",
        )
        for filename in names
    )
    return Release(version=Version(version), artifacts=files, published=asks)


@st.composite
def _floors(draw: st.DrawFn, pythons: Sequence[str], packages: Sequence[str]) -> dict[str, str]:
    series = [".".join(python.split(".")[:2]) for python in pythons]
    at = {"python": st.sampled_from(series)}
    at |= dict.fromkeys(
        packages,
        st.sampled_from(("0.1", "1", "1.0", "1.0.5", "1.1", "2.0", "2.1", "99")),
    )
    wanted = (
        draw(st.sets(st.sampled_from(["python", *packages]))) if draw(st.integers(0, 5)) else set()
    )
    return {axis: draw(at[axis]) for axis in sorted(wanted)}


@st.composite
def _matrix(
    draw: st.DrawFn, pythons: Sequence[str], keeps: dict[str, str], floors: dict[str, str]
) -> str:
    axes = [
        '{ kind = "interpreter", name = "python", short = "py", releases ='
        f" {_listed(sorted(pythons))} }}"
    ]
    for name, keep in keeps.items():
        prereleases = "true" if draw(st.integers(0, 4)) == 0 else "false"
        specifier = draw(st.sampled_from(["", "", "", ">=1", "<3"]))
        select = f'{{ keep = "{keep}", prereleases = {prereleases}, specifier = "{specifier}" }}'
        axes.append(
            f'{{ kind = "package", name = "{name}", short = "{name}", package = "{name}", select ='
            f" {select} }}"
        )
    allowed = [rule for rule in RULES if "dep" in keeps or "dep" not in rule]
    rules = draw(st.lists(st.sampled_from(allowed), max_size=3, unique=True))
    known = draw(st.lists(st.sampled_from(KNOWN), max_size=2, unique=True))
    quick = draw(
        st.sampled_from(
            [[], [], ["py3.9-dep1.0-demo1.0"], ["py3.9-demo1.0"], ["py2.7-dep1.0-demo77"]]
        )
    )
    tables = (
        f'\n[[floors]]\naxis = "{axis}"\nat = "{at}"\nbecause = "somebody said so"\n'
        for axis, at in floors.items()
    )
    return f"""name = "demo"
title = "Demo"
subject = "demo"
platform = "x86_64-manylinux_2_28"
margin_days = 10
suite = {{ path = "suite", requirements = ["pytest"] }}
axes = [{", ".join(draw(st.permutations(axes)))}]
rules = [{", ".join(rules)}]
known = [{", ".join(known)}]
quick = {_listed(quick)}
{"".join(tables)}"""


@st.composite
def _policy(draw: st.DrawFn, floors: Sequence[str]) -> str:
    lines = [
        f"default_months = {draw(st.sampled_from([1, 12, 24, 60, 240]))}",
        f'cadence = "{draw(st.sampled_from(["monthly", "quarterly", "half-yearly", "yearly"]))}"',
        f"notice_days = {draw(st.sampled_from([0, 30, 365]))}",
        f"witnesses = {draw(st.integers(1, 3))}",
    ]
    versions = st.sampled_from(
        ("0.1", "1.0", "1.0.1", "1.1", "2.0", "3.8", "3.9", "3.11", "3.15", "99")
    )
    for axis in floors:
        rules = ["", "", "months = 12", "minors = 1", "minors = 3", "minors = 50"]
        if rule := draw(
            st.sampled_from([*rules, "end_of_life = true"] if axis == "python" else rules)
        ):
            lines.append(f'[[windows]]\naxis = "{axis}"\nbecause = "it was agreed on"\n{rule}')
        for at in draw(st.lists(versions, max_size=2, unique_by=Version)):
            until = draw(st.sampled_from(["2026-06-15", "2026-07-01", "2027-01-01", "2029-12-31"]))
            lines.append(
                f'[[holds]]\naxis = "{axis}"\nat = "{at}"\nbecause = "a large user needs it"\nuntil'
                f" = {until}"
            )
        for version in draw(st.lists(versions, max_size=2, unique_by=Version)):
            lines.append(
                f'[[known_bad]]\naxis = "{axis}"\nversion = "{version}"\nbecause = "its wheels lack'
                ' a library"'
            )
    return "\n".join(lines) + "\n"


@st.composite
def _strays(draw: st.DrawFn, matrix: Matrix) -> list[Cell]:
    """A few cells of versions that the catalogue may lack."""
    numbers = {
        axis.name: ["3.6", "3.9"] if axis is matrix.interpreters else ["0.5", "1.0", "7"]
        for axis in matrix.axes
    }
    return [
        _cell(
            matrix,
            {name: draw(st.sampled_from(versions)) for name, versions in numbers.items()},
            recipe,
        )
        for recipe in draw(st.lists(st.sampled_from(RECIPES), max_size=2))
    ]


def _cell(matrix: Matrix, at: dict[str, str], recipe: Any) -> Cell:
    coordinates = (
        Coordinate(axis=axis.name, short=axis.short, version=Version(at[axis.name]))
        for axis in matrix.axes
    )
    return Cell(matrix=matrix.name, coordinates=tuple(coordinates), recipe=recipe)


def lock_of(cell: Cell, matrix: Matrix) -> Lock:
    """A lock of the cell, with its own versions."""
    versions = {axis.package: str(cell.on(axis.name).version) for axis in matrix.packages} | {
        "pytest": "8.0"
    }
    pins = tuple(
        Pin(
            name=name,
            version=Version(version),
            hashes=(hashlib.sha256(f"{name}{version}".encode()).hexdigest(),),
        )
        for name, version in sorted(versions.items())
    )
    python = Version(f"{cell.on(matrix.interpreters.name).version}.1")
    inputs = Inputs(
        cell=cell.id, python=python, platform="x86_64-manylinux_2_28", requirements=("demo",)
    )
    return Lock(inputs=inputs, pins=pins, tool="uv 0.13.9")


STATUSES: tuple[Literal["yes", "no", "absent"], ...] = ("yes", "no", "absent")


@st.composite
def _runs(draw: st.DrawFn, cell: Cell, lock: Lock, today_suite: str) -> list[Record]:
    usual = draw(st.sampled_from(OUTCOMES))
    runs = []
    for ago in draw(st.lists(st.sampled_from([-1, 0, 1, 2, 3, 80, 400]), max_size=3, unique=True)):
        outcome = parse_outcome(draw(st.sampled_from([usual, usual, usual, *OUTCOMES])))
        digest = draw(st.sampled_from([lock.digest, lock.digest, lock.digest, "1" * 64]))
        if str(outcome).startswith("lock-fail"):
            digest = ""
        suite = (
            draw(st.sampled_from([today_suite, today_suite, today_suite, "b" * 64]))
            if digest
            else ""
        )
        statuses = draw(
            st.dictionaries(st.sampled_from(["sum", "printing"]), st.sampled_from(STATUSES))
        )
        started = datetime.datetime.combine(DAY, datetime.time(9), UTC) - datetime.timedelta(
            days=ago
        )
        runs.append(
            Record(
                cell=cell.id,
                matrix="demo",
                outcome=outcome,
                lock_digest=digest,
                suite_digest=suite,
                started=started,
                seconds=12.5,
                host="linux-x86_64-2cpu-24gb",
                isolation="L2",
                capabilities=tuple(
                    Capability(
                        id=name,
                        status="yes" if isinstance(outcome, Passed) and status == "no" else status,
                    )
                    for name, status in sorted(statuses.items())
                    if digest
                ),
            )
        )
    return runs


def _listed(words: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{word}"' for word in words) + "]"
