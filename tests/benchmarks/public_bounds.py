"""How many hand-written bounds does compat find again?

Usage: public_bounds.py BOUNDS [--sample N] [--seed N] [--jobs N] [--minutes N] [--log FILE]; BOUNDS
is a JSON list of rows such as {"subject": "x", "subject_when": {"version_lt": "2"},
"dependency": "y", "bound": "<3"}.

Each row becomes a matrix: one Python, the newest release of the subject that the row names, and two
or three releases of the dependency: the last that the bound admits, the first that it excludes, and
the newest on the row's day. All are locked as of that day. The suite imports the subject's modules
and asks its scripts for help, and those of a dependency whose plugin it is. A bound is found if the
release inside works, and one outside fails or is excluded by published metadata. Where no run shows
it, the sources are read: the subject uses a name that the release inside has, and one outside
lacks. Prints Markdown.
"""

import argparse
import ast
import datetime
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version
from public_signatures import sources
from side_by_side import machine

from compat.errors import CompatError
from compat.index.interpreters import find
from compat.index.pypi import PyPISource
from compat.index.release import Release
from compat.index.settings import settings
from compat.results.answer import Answer
from compat.search.api_change import api_change
from compat.workspace import Workspace

UTC = datetime.timezone.utc
# The day on which each series came out; a release is asked about with one that its authors had.
SERIES = {
    "3.13": "2024-10",
    "3.12": "2023-10",
    "3.11": "2022-10",
    "3.10": "2021-10",
    "3.9": "2020-10",
    "3.8": "2019-10",
}
# More than 100 MB to download, by themselves or by what they ask for.
HEAVY = (
    "torch",
    "tensorflow",
    "lightning",
    "scvi",
    "jax",
    "pyspark",
    "mkl",
    "keras",
    "cudf",
    "ray",
    "vtk",
    "pyside",
    "pyqt",
    "transformers",
    "accelerate",
)
MATRIX = """
name = "row"
title = "A row"
subject = "subject"
platform = "x86_64-manylinux_2_35"
margin_days = {margin}
constraints = {constraints}

[suite]
path = "suite"
module = "{module}"
requirements = ["pytest"]
seconds = 180

[[axes]]
kind = "interpreter"
name = "python"
short = "py"
releases = ["{python}"]

[[axes]]
kind = "package"
name = "dependency"
short = "dep"
package = "{dependency}"
select = {{ specifier = ">={low},<={high}", keep = "each" }}

[[axes]]
kind = "package"
name = "subject"
short = "sub"
package = "{subject}"
select = {{ specifier = "=={release}", keep = "each" }}
"""
POLICY = 'default_months = 36\ncadence = "quarterly"\nnotice_days = 60\nwitnesses = 2\n'
SUITE = """
import importlib
import pkgutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

SKIPPED = ("test", "conftest", "setup", "vendor", "__main__", "example", "benchmark")
OWN, OTHER = distribution({subject!r}), distribution({dependency!r})
TOP = sorted(
    {{
        path.parts[0].partition(".")[0]
        for path in OWN.files or ()
        if path.suffix in (".py", ".so")
        and ".." not in path.parts
        and not path.parts[0].endswith("-info")
    }}
)
TOP = [name for name in TOP if name.isidentifier() and not any(word in name for word in SKIPPED)]


@pytest.mark.capability("import", title="Import", says="Its modules import.")
def test_import():
    for name in TOP:
        importlib.import_module(name)


@pytest.mark.capability("modules", title="Modules", says="What is in them imports.")
def test_modules():
    failed = []
    for top in TOP:
        module = importlib.import_module(top)
        paths = getattr(module, "__path__", ())
        for found in pkgutil.walk_packages(paths, top + ".", lambda name: None):
            if any(word in part for part in found.name.split(".") for word in SKIPPED):
                continue
            try:
                importlib.import_module(found.name)
            except ModuleNotFoundError as error:
                # An optional dependency that is not there is no fault; a module of one that is, is.
                root = (error.name or "").partition(".")[0]
                if root in TOP or importlib.util.find_spec(root) is not None:
                    failed.append((found.name, repr(error)))
            except (Exception, SystemExit) as error:
                failed.append((found.name, repr(error)))
    assert not failed, failed[:3]


@pytest.mark.capability("scripts", title="Scripts", says="Its scripts print their help.")
def test_scripts():
    def scripts(distribution):
        return [each.name for each in distribution.entry_points if each.group == "console_scripts"]

    groups = {{each.group.partition(".")[0] for each in OWN.entry_points}}
    is_plugin = {dependency!r} in groups
    failed = []
    for name in [*scripts(OWN)[:5], *(scripts(OTHER) if is_plugin else [])]:
        path = Path(sys.executable).with_name(name)
        done = subprocess.run(
            [sys.executable, str(path), "--help"], stdin=subprocess.DEVNULL, timeout=60,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        if done.returncode:
            failed.append((name, done.stdout[-200:]))
    assert not failed, failed[:3]
"""


class Row(NamedTuple):
    """What a row comes to: two or three releases of the dependency with one of the subject."""

    subject: str
    release: Version
    dependency: str
    inside: Version
    outside: tuple[Version, ...]
    python: str
    day: datetime.datetime
    newest: datetime.datetime
    module: str
    # The bounds that other rows give the same release.
    constraints: tuple[str, ...]


def matches(release: Release, when: Mapping[str, Any], day: datetime.datetime) -> bool:
    """Whether a row is about a release."""
    version, exact = release.version, when.get("version")
    conditions = {"version_lt": "<", "version_le": "<=", "version_gt": ">", "version_ge": ">="}
    asked = ",".join(f"{sign}{when[key]}" for key, sign in conditions.items() if key in when)
    named = [*when.get("version_in", ()), *([exact] if exact else ())]
    one = not named or any(fnmatch(str(version), name) for name in named)
    return bool(
        one
        and SpecifierSet(asked).contains(version)
        and release.uploaded
        and release.uploaded < day
    )


def fits(release: Release, python: str) -> bool:
    """Whether a release has a wheel for a Python on Linux."""
    own, minor = f"cp{python.replace('.', '')}", int(python.partition(".")[2])

    def is_taken(tag: Any) -> bool:
        by = tag.interpreter == own or tag.interpreter in ("py3", "py2.py3")
        stable = tag.abi == "abi3" and int(tag.interpreter[3:] or 0) <= minor
        return (by or stable) and (
            tag.platform == "any" or ("linux" in tag.platform and "x86_64" in tag.platform)
        )

    return any(
        not file.yanked
        and (file.requires_python is None or file.requires_python.contains(f"{python}.18"))
        and any(map(is_taken, file.tags))
        for file in release.artifacts
    )


def read(row: Mapping[str, Any], rows: list[dict[str, Any]], packages: PyPISource) -> Row | str:
    """Return the row's cells, or why it has none here."""
    try:
        subject, dependency = (packages.package(row[key]) for key in ("subject", "dependency"))
    except CompatError:
        return "not on the index"
    if any(word in name for name in (subject.name, dependency.name) for word in HEAVY):
        return "heavy"
    stamp = row["subject_when"].get("timestamp_lt")
    now = datetime.datetime.now(UTC)
    day = datetime.datetime.fromtimestamp(stamp / 1000, UTC) if stamp else now
    try:
        asked = SpecifierSet(row["bound"].replace("dev", ".dev").replace("..dev", ".dev"))
    except ValueError:
        return "no PEP 440 bound"
    ours = [
        r
        for r in subject.releases
        if not r.version.is_prerelease and matches(r, row["subject_when"], day)
    ]
    theirs = sorted((r for r in dependency.releases if final(r, day)), key=lambda r: r.version)
    admitted = [r for r in theirs if asked.contains(r.version)]
    if not ours or not admitted:
        return "no such release on the index"
    above = [r for r in theirs if r.version > admitted[-1].version]
    is_floor = not any(clause.operator in ("<", "<=", "==", "~=") for clause in asked)
    if is_floor:
        above = [r for r in theirs if r.version < admitted[0].version][::-1]
    if not above:
        return "nothing outside of the bound"
    inside = admitted[0] if is_floor else admitted[-1]
    # Of a newer one than its maintainers had in mind the metadata may exclude what the row admits.
    newest_first = sorted(ours, key=lambda r: r.version, reverse=True)
    taking = (r for r in newest_first[:20] if takes(r, dependency.name, inside.version, packages))
    release = next(taking, newest_first[0])
    born = min(r.uploaded for r in (release, inside) if r.uploaded).strftime("%Y-%m")
    had = [s for s, month in SERIES.items() if month < born] or ["3.8"]
    for series in had:
        out = [r for r in above if fits(r, series)]
        found = find(Version(series), os.environ)
        if found and out and fits(release, series) and fits(inside, series):
            break
    else:
        return "no wheels for one Python"
    if not stamp:  # as of two months after the first release outside, when somebody would know
        day = min(now, max(date(release), date(out[0])) + datetime.timedelta(60))
        out = [r for r in out if date(r) < day]
    outside = tuple(dict.fromkeys(r.version for r in (out[0], out[-1])))[: 1 if is_floor else 2]
    newest = max(date(r) for r in (release, inside, out[0], out[-1]))
    return Row(
        *(subject.name, release.version, dependency.name, inside.version, outside),
        *(str(found.version), day, newest, module_of(release, packages)),
        tuple(
            sorted(
                f"{other['dependency']}{other['bound']}"
                for other in rows
                if other["subject"] == row["subject"] and other["dependency"] != row["dependency"]
                if matches(release, other["subject_when"], day)
            )
        ),
    )


def takes(release: Release, name: str, version: Version, packages: PyPISource) -> bool:
    """Whether the metadata of a release admits a version of a dependency."""
    wheel = next((file for file in release.artifacts if file.is_wheel), None)
    published = packages.published(wheel) if wheel else None
    asked = map(Requirement, published.requires_dist if published else ())
    own = (each for each in asked if canonicalize_name(each.name) == name)
    return wheel is not None and all(
        each.specifier.contains(version) for each in own if each.marker is None
    )


def used(files: Mapping[str, bytes], tops: set[str]) -> Iterator[str]:
    """Return the dotted names of some modules that sources use, where no `try` is around them."""
    for path, text in files.items():
        if any(word in part for part in path.split("/") for word in ("test", "vendor")):
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        guarded = {id(n) for t in ast.walk(tree) if isinstance(t, ast.Try) for n in ast.walk(t)}
        nodes = [node for node in ast.walk(tree) if id(node) not in guarded]
        names: dict[str, str] = {}
        for node in nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    names[alias.asname or top] = alias.name if alias.asname else top
                    if top in tops:
                        yield alias.name
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                if node.module.partition(".")[0] in tops:
                    yield node.module
                    yield from (f"{node.module}.{each.name}" for each in node.names)
                names |= {e.asname or e.name: f"{node.module}.{e.name}" for e in node.names}
        for node in nodes:
            if isinstance(node, ast.Attribute):
                head, _, rest = ast.unparse(node).partition(".")
                whole = f"{names.get(head, '')}.{rest}"
                if whole.partition(".")[0] in tops and whole.replace(".", "").isidentifier():
                    yield whole


def gone(row: Row, packages: PyPISource) -> str:
    """Return a name that the subject uses, the release inside has, and one outside lacks."""
    inside = sources(packages, row.dependency, row.inside)
    tops = {path.partition("/")[0].removesuffix(".py") for path in inside} - {"tests", "docs"}
    names = dict.fromkeys(used(sources(packages, row.subject, row.release), tops))
    for version in row.outside if names else ():
        outside = sources(packages, row.dependency, version)
        left = {path.partition("/")[0].removesuffix(".py") for path in outside}
        lost = next((name for name in names if name.partition(".")[0] not in left), "")
        if lost and outside:
            return f"{lost}, not in {version}"
        with tempfile.TemporaryDirectory() as folder:
            for name, files in (("inside", inside), ("outside", outside)):
                for path, text in files.items():
                    place = Path(folder, name, path)
                    if ".." not in place.parts:
                        place.parent.mkdir(parents=True, exist_ok=True)
                        place.write_bytes(text)
            ends = (str(Path(folder, name)) for name in ("inside", "outside"))
            change = api_change(*ends, tuple(sorted(tops)), " ".join(names))
        if change is not None:
            return f"{change.name}, not in {version}"
    return ""


def module_of(release: Release, packages: PyPISource) -> str:
    """Return the module with most files in a release's wheel."""
    wheel = next(file for file in release.artifacts if file.is_wheel)
    paths = [Path(path) for path in packages.contents(wheel)]
    tops = Counter(
        path.parts[0].partition(".")[0]
        for path in paths
        if path.suffix in (".py", ".so") and not path.parts[0].endswith((".data", ".dist-info"))
    )
    names = [name for name, _ in tops.most_common() if name.isidentifier() and name != "tests"]
    return names[0] if names else release.artifacts[0].filename.partition("-")[0]


def date(release: Release) -> datetime.datetime:
    return release.uploaded or datetime.datetime.max.replace(tzinfo=UTC)


def final(release: Release, day: datetime.datetime) -> bool:
    return (
        not release.version.is_prerelease
        and not release.yanked
        and bool(release.uploaded and release.uploaded < day)
    )


def answered(row: Row, scratch: Path, jobs: int, env: Mapping[str, str]) -> tuple[str, str]:
    """Run a row's cells; return whether it is found, and how or why not."""
    folder = scratch / "matrices" / "row"
    (folder / "suite").mkdir(parents=True)
    chosen, uploaded = sorted((row.inside, *row.outside)), row.newest
    (folder / "matrix.toml").write_text(
        MATRIX.format(
            margin=max(0, (row.day - uploaded).days),
            python=row.python,
            dependency=row.dependency,
            subject=row.subject,
            release=row.release,
            module=row.module,
            constraints=json.dumps(row.constraints),
            low=chosen[0],
            high=chosen[-1],
        )
    )
    (folder / "policy.toml").write_text(POLICY)
    (folder / "suite" / "test_row.py").write_text(
        SUITE.format(subject=row.subject, dependency=row.dependency)
    )
    python = row.python.rpartition(".")[0]
    ids = {version: f"py{python}-dep{version}-sub{row.release}+dated" for version in chosen}
    words = [sys.executable, "-m", "compat", *("matrix", "discover", "row", "--write")]
    subprocess.run(words, cwd=scratch, env=env, check=True, capture_output=True)
    # Patterns, as these may match what the plan rules out.
    patterns = [cell.replace("+", "?") for cell in ids.values()]
    words = [sys.executable, "-m", "compat", "run", "row", *patterns, "--attempts", "1"]
    words += ["--jobs", str(jobs)]
    subprocess.run(words, cwd=scratch, env=env, check=False, capture_output=True)
    known = Workspace(folder, datetime.datetime.now(UTC).date(), lambda: scratch / "cache").snapshot
    inside, *outside = (known.by_id[ids[version]] for version in (row.inside, *row.outside))
    if not inside.is_tested or "import" in failing(inside):
        return "inside fails", f"{inside.kind}: {inside.outcome or inside.reasons[:1]}"
    for entry in outside:
        if entry.obstacle is not None or entry.evidence == "asked":
            return "metadata", str(entry.reasons[0])
        if entry.is_tested and failing(entry) - failing(inside):
            return "run", str(entry.outcome)
    is_open = any(not entry.is_tested for entry in outside)
    return ("open", str(outside[0].outcome)) if is_open else ("works outside", "")


def failing(entry: Answer) -> set[str]:
    """Return what does not work in a cell; all that was asked where nothing was reached."""
    if entry.kind == "broken":
        return {"import", "modules", "scripts"}
    return {capability.id for capability in entry.capabilities if capability.status == "no"}


def main() -> None:
    """Ask a sample of the rows, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bounds", type=Path)
    parser.add_argument("--sample", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=46)
    parser.add_argument("--minutes", type=float, default=1e9, help="start no row after this time")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--log", type=Path, help="JSON lines: rows in it are not asked again")
    options = parser.parse_args()
    until = time.monotonic() + 60 * options.minutes
    rows = json.loads(options.bounds.read_text(encoding="utf-8"))
    random.Random(options.seed).shuffle(rows)
    print(machine(), flush=True)
    kept = options.log.read_text().splitlines() if options.log and options.log.exists() else []
    known = [json.loads(line) for line in kept]
    came: Counter[str] = Counter()
    left: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as pages:
        packages = PyPISource(settings(), Path(pages))
        for row in rows:
            if came.total() == options.sample or time.monotonic() > until:
                break
            if earlier := next((line for line in known if row.items() <= line.items()), None):
                came[earlier["came"]] += 1
                continue
            cells = read(row, rows, packages)
            if isinstance(cells, str):
                left[cells] += 1
                continue
            with tempfile.TemporaryDirectory() as folder:
                try:
                    what, why = answered(cells, Path(folder), options.jobs, os.environ)
                    if what not in ("metadata", "run") and (name := gone(cells, packages)):
                        what, why = "sources", name
                except (subprocess.CalledProcessError, CompatError, KeyError) as error:
                    what, why = "fault", repr(error)
            came[what] += 1
            line = {**row, "came": what, "why": why, "release": str(cells.release)}
            line |= {"inside": str(cells.inside), "outside": list(map(str, cells.outside))}
            line |= {"python": cells.python, "day": str(cells.day.date())}
            print(json.dumps(line), file=sys.stderr, flush=True)
            if options.log:
                with options.log.open("a") as log:
                    print(json.dumps(line), file=log)
    found = came["metadata"] + came["run"] + came["sources"]
    print(f"\n{found} of {came.total()} bounds found again ({found / came.total():.0%}).\n")
    print("| result | rows |\n|---|---|")
    for what, times in came.most_common():
        print(f"| {what} | {times} |")
    for why, times in left.most_common():
        print(f"| left out: {why} | {times} |")


if __name__ == "__main__":
    main()
