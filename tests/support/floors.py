"""A small world whose floors may move: a library, the one that it stands on, four Pythons, and
made-up runs.
"""

import datetime
import functools
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from compat.declare.load import Declared, decode_matrix
from compat.declare.matrix import Floor, Hold, KnownBad, Policy, Window
from compat.index.release import Artifact, Catalogue, Package, Published, Release
from compat.plan.plan import CellStatus, plan
from compat.results.judge import EvaluationContext
from compat.results.record import Attempt, Capability, Record
from compat.results.snapshot import Snapshot, snapshot
from compat.run.outcome import parse_outcome

DAY = datetime.date(2026, 6, 15)
SUITE, OTHER_SUITE, LOCK, OTHER_LOCK = "a" * 64, "b" * 64, "1" * 64, "2" * 64
MATRIX = """
name = "demo"
title = "Demo"
subject = "demo"
platform = "x86_64-manylinux_2_28"
margin_days = 10
suite = { path = "suite", requirements = ["pytest"] }
axes = [
  { kind = "interpreter", name = "python", short = "py", releases = ["3.8.18", "3.9.18", \
"3.10.13", "3.11.7"] },
  { kind = "package", name = "dep", short = "dep", package = "dep", select = { keep = "minor" } },
  { kind = "package", name = "demo", short = "demo", package = "demo" },
]
rules = [
  { name = "dep-moved", effect = "relax", because = "dep keeps its promises", when = { dep = \
"moved" }, relaxations = [
    { package = "dep", to = "any" },
  ] },
  { name = "python-undeclared", effect = "relax", because = "nobody tried an older one", \
relaxations = [
    { package = "demo", ignore_requires_python = true },
  ] },
  { name = "deep", effect = "relax", because = "so each place has a relaxed cell", relaxations = [
    { package = "deep", to = "any", everywhere = true },
  ] },
]
known = [{ because = "printing was never promised", capability = "printing" }]
"""
DEP = {
    "1.0": "2020-02-10",
    "1.1": "2021-02-10",
    "1.2": "2022-02-10",
    "1.3": "2023-02-10",
    "1.4": "2024-02-10",
}
DEMO = {
    "1.0": ("2022-05-05", ">=3.8", "dep>=1.0,<1.3"),
    "2.0": ("2024-05-05", ">=3.9", "dep>=1.2,<1.5"),
}
FLOORS = {"python": "3.9", "dep": "1.2"}
DEPS = tuple(DEP)
PYTHONS = ("3.8", "3.9", "3.10", "3.11")


def release(name: str, version: str, day: str, asks: Published | None = None) -> Release:
    """A release of one pure wheel, uploaded at noon."""
    filename = f"{name}-{version}-py3-none-any.whl"
    wheel = Artifact(
        filename=filename,
        url="",
        tags=parse_wheel_filename(filename)[3],
        requires_python=None if asks is None else asks.requires_python,
        uploaded=datetime.datetime.fromisoformat(f"{day}T12:00:00+00:00"),
    )
    return Release(version=Version(version), artifacts=(wheel,), published=asks)


def catalogue() -> Catalogue:
    """dep from 1.0 to 1.4, one a year, and two releases of demo."""
    demo = [
        release(
            "demo",
            version,
            day,
            Published(requires_python=SpecifierSet(python), requires_dist=(dep,)),
        )
        for version, (day, python, dep) in DEMO.items()
    ]
    deps = tuple(release("dep", f"{series}.0", day) for series, day in DEP.items())
    return Catalogue(
        packages=(Package(name="demo", releases=tuple(demo)), Package(name="dep", releases=deps))
    )


@functools.cache
def fates() -> tuple[CellStatus, ...]:
    """The plan of the world, which its floors do not change."""
    return plan(decode_matrix(MATRIX.encode(), "world"), catalogue()).fates


def policy(**more: Any) -> Policy:
    """Two years, two witnesses, moves at the beginning of a quarter, a month of notice."""
    usual: dict[str, Any] = {
        "default_months": 24,
        "cadence": "quarterly",
        "notice_days": 30,
        "witnesses": 2,
    }
    return Policy(**usual | more)


def declared(floors: Mapping[str, str | Version] = FLOORS, rules: Policy | None = None) -> Declared:
    """The declarations with these floors."""
    matrix = decode_matrix(MATRIX.encode(), "world")
    set_at = tuple(
        Floor(axis=axis, at=Version(str(at)), because="somebody said so")
        for axis, at in floors.items()
    )
    return Declared(matrix=msgspec.structs.replace(matrix, floors=set_at), policy=rules or policy())


def seen(
    runs: Iterable[Record],
    ask: Declared | None = None,
    day: datetime.date = DAY,
    locked: Iterable[str] = (),
    has_locks: bool = True,
) -> Snapshot:
    """What is known on that day.

    Cells that ran have a lock, and so have those that are `locked`.
    """
    by_cell: dict[str, list[Record]] = {}
    for run in runs:
        by_cell.setdefault(run.cell, []).append(run)
    locks = dict.fromkeys([*by_cell, *locked] if has_locks else locked, LOCK)
    present = EvaluationContext(suite_digest=SUITE, day=day, asked=frozenset(("demo", "dep")))
    return snapshot(ask or declared(), catalogue(), fates(), locks, by_cell, present)


def ran(cell: str, told: str = "pass", days_ago: int = 1, **more: Any) -> Record:
    """A run of a cell so many days before DAY."""
    started = datetime.datetime.combine(
        DAY, datetime.time(9), datetime.timezone.utc
    ) - datetime.timedelta(days_ago)
    outcome = parse_outcome(told)
    attempt = Attempt(outcome=outcome, seconds=1, started=started, isolation="L3")
    return Record(
        **{
            "cell": cell,
            "matrix": "demo",
            "outcome": outcome,
            "attempts": (attempt,),
            "lock_digest": LOCK,
            "suite_digest": SUITE,
            "started": started,
            "seconds": 1,
            "host": "linux-x86_64-2cpu-8gb",
            "isolation": "L3",
        }
        | more
    )


def cell(python: str, dep: str, recipe: str = "", demo: str = "2.0") -> str:
    """The id of a cell."""
    return f"py{python}-dep{dep}-demo{demo}{'+' + recipe if recipe else ''}"


def green(*cells: str, days: Iterable[int] = (1, 2)) -> list[Record]:
    """A green run of each cell, so many days ago."""
    return [ran(one, days_ago=ago) for one in cells for ago in days]


def red(*cells: str, days: Iterable[int] = (1, 2)) -> list[Record]:
    """A red run of each cell, so many days ago."""
    return [ran(one, "import-fail:missing-module(dep.old)", ago) for one in cells for ago in days]


def lacking(*names: str) -> dict[str, Any]:
    """What a run adds whose suite failed in these capabilities only."""
    fine = Capability(id="adding", status="yes")
    return {
        "capabilities": (
            fine,
            *(Capability(id=name, status="no", cause="assertion") for name in names),
        )
    }


def hold(axis: str, at: str, until: datetime.date = datetime.date(2027, 1, 1)) -> Hold:
    """A hold."""
    return Hold(axis=axis, at=Version(at), because="a large user needs it", until=until)


def bad(axis: str, version: str) -> KnownBad:
    """A version that is known to be bad."""
    return KnownBad(axis=axis, version=Version(version), because="its wheels lack a library")


def window(axis: str, **rule: Any) -> Window:
    """A window."""
    return Window(axis=axis, because="it was agreed on", **rule)
