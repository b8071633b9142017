"""A first matrix for a library: what its project and the index know of it, the axes likely to break
it, its tests, and the declarations with the reason of each choice.
"""

import contextlib
import datetime
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.capabilities import distribution_of, modules_of
from compat.declare.load import load
from compat.declare.matrix import Matrix, Selector, patch_of
from compat.declare.parsing import parsed
from compat.declare.project import PYPROJECT, Project
from compat.errors import NoPage, UsageError
from compat.files import rendered
from compat.index.discover import THREADS, discover, encode_catalogue, lowest_of
from compat.index.metadata import wheel_to_read
from compat.index.pypi import PyPISource
from compat.index.release import (
    Catalogue,
    Package,
    Published,
    Release,
    ReleaseSource,
    usable_wheels,
)
from compat.plan.cell import Cell
from compat.plan.plan import Feasible, plan
from compat.plan.platform import accepted_tags, marker_values
from compat.policy.evaluation import PYTHONS
from compat.value import Value

# Letters of an axis in cell ids: words are joined up to the first, and cut at the second.
_JOINED, _LONGEST = 12, 20
# What stands at the top of many wheels besides the library itself.
_BESIDE = {"tests", "test", "testing", "docs", "examples", "benchmarks", "scripts"}


def axis_name(package: str, taken: Collection[str] = ()) -> str:
    plain = re.sub(r"[^a-z0-9_-]", "", canonicalize_name(package))
    plain = plain if plain[:1].isalpha() else f"p{plain}"
    name = plain[:36]
    while name in taken:
        name += "-2"
    return name


def short_name(package: str, taken: Collection[str]) -> str:
    words = re.findall("[a-z]+", canonicalize_name(package)) or ["dep"]
    fitting = ["".join(words[: n + 1]) for n in range(len(words))]
    whole = [name for name in reversed(fitting) if len(name) <= _JOINED]
    letters = "".join(words)
    cut = (letters[: _LONGEST - length] + "x" * length for length in range(_LONGEST))
    return next(name for name in (*whole, *cut) if name not in taken)


def module_of(package: str, paths: Iterable[str]) -> str:
    """Return the module of a wheel: the one named like the package, else the public one with most
    files; empty without one.

    A folder without `__init__` is a namespace that other packages share (PEP 420), so its content
    keeps its dots: `google.cloud.storage`.
    """
    files = [parts for parts in map(_importable, paths) if parts is not None]
    packages = {parts[:-1] for parts in files if parts[-1] == "__init__"}
    roots = Counter(
        next(
            (outer for depth in range(1, len(parts)) if (outer := parts[:depth]) in packages), parts
        )
        for parts in files
    )
    expected = _squashed(package)
    alike = [parts for parts in roots.keys() | packages if _squashed(".".join(parts)) == expected]
    public = [parts for parts in roots if parts[0] not in _BESIDE and not _is_private(parts)]
    if alike:
        plainest = min(alike, key=lambda parts: (_is_private(parts), len(parts), parts))
        return ".".join(plainest)
    by_size = {".".join(parts): roots[parts] for parts in public or roots}
    return min(by_size, key=lambda name: (-by_size[name], len(name), name), default="")


def _importable(path: str) -> tuple[str, ...] | None:
    *folders, name = path.split("/")
    stem, _, kind = name.partition(".")
    parts = *folders, stem
    is_module = kind == "py" or kind.endswith(("so", "pyd"))
    is_named = all(map(str.isidentifier, parts)) and parts != ("__init__",)
    return parts if is_module and is_named else None


def _is_private(parts: tuple[str, ...]) -> bool:
    return any(part.startswith("_") for part in parts)


def _squashed(name: str) -> str:
    return re.sub(r"[-_.]", "", name).lower()


class SuiteDraft(Value, frozen=True, kw_only=True):
    """A proposed suite, and why: the library's own `tests`, or without them one that imports it.

    `named` is the list of the project, by key and name, whose requirements are installed beside
    these. `builds` are releases, `NAME==VERSION`, that may be built from source.
    """

    module: str
    because: str
    requirements: tuple[str, ...] = ("pytest",)
    tests: str = ""
    title: str = ""
    named: tuple[tuple[str, str], ...] = ()
    arguments: tuple[str, ...] = ()
    builds: tuple[str, ...] = ()
    seconds: int = 0

    @property
    def texts(self) -> dict[str, str]:
        """Its files by path."""
        text = _text("test_import.txt", module=self.module, title=self.title)
        return {} if self.tests else {"suite/test_import.py": text}

    def adding(self, requirements: Iterable[Requirement]) -> "SuiteDraft":
        known = {canonicalize_name(Requirement(text).name) for text in self.requirements}
        new = {str(r): None for r in requirements if canonicalize_name(r.name) not in known}
        return msgspec.structs.replace(self, requirements=(*self.requirements, *new))


# What projects call the dependencies of their tests, most usual first.
_GROUPS = ("tests", "test", "testing", "dev", "develop", "pytest")


def own_suite(
    project: Project, module: str, tests: str, arguments: Sequence[str] = (), *, named: bool = True
) -> SuiteDraft:
    """With `named`, groups and extras are named; else their requirements are written out."""
    texts, where, list_named = [], "", tuple[tuple[str, str], ...]()
    for key, what in (("groups", "dependency group"), ("extras", "extra"), ("listed", "file")):
        table: Mapping[str, object] = getattr(project, key)
        # Names that are usual for tests first, then those that mention tests.
        by_name = {str(canonicalize_name(name)): name for name in table}
        usual = [by_name[name] for name in _GROUPS if name in by_name]
        others = [name for name in table if re.search(r"test|dev|tox\.ini", name, re.IGNORECASE)]
        # A list `tests.in` says what tests need; `tests.txt` may be what it was compiled to once.
        others.sort(key=lambda name: ("test" not in name.lower(), not name.endswith(".in")))
        every = dict.fromkeys((*usual, *others, *table))
        asked = {name: list(_requirements(project, key, name)) for name in every}
        names = [
            name
            for name, own in asked.items()
            if any(canonicalize_name(r.name).partition("-")[0] == "pytest" for r in own)
        ]
        if names:
            texts = asked[names[0]]
            where = f", with what the {what} {names[0]} asks for"
            list_named = ((key, names[0]),) if named and key != "listed" else ()
            break
    has_pytest = any(canonicalize_name(r.name) == "pytest" for r in texts)
    written = [] if list_named else [str(r) for r in texts if r.url is None]
    return SuiteDraft(
        tests=tests,
        module=module,
        named=list_named,
        requirements=(*written, *(() if has_pytest else ("pytest",))),
        because=f"Suite: the project's own tests in {tests}{where}",
        arguments=tuple(arguments),
    )


def bringing(module: str, project: Project) -> str:
    """A package that merely has the module's name may be anybody's, so only known ones count."""
    for key in ("groups", "extras", "listed"):
        for name in getattr(project, key):
            for requirement in _requirements(project, key, name):
                if module in modules_of(canonicalize_name(requirement.name)):
                    return f"{requirement.name}{requirement.specifier}"
    return distribution_of(module)


def users_extras(project: Project) -> list[str]:
    return [name for name in project.extras if not re.search("doc|lint|dev|typ(es|ing)", name)]


def in_processes(suite: SuiteDraft, processes: str) -> SuiteDraft:
    if not processes:
        return suite
    suite = suite.adding([Requirement("pytest-xdist")])
    return msgspec.structs.replace(suite, arguments=(*suite.arguments, "-n", processes))


def with_extras(suite: SuiteDraft, project: Project) -> SuiteDraft:
    names = users_extras(project)
    every = [r for name in names for r in _requirements(project, "extras", name) if r.url is None]
    return suite.adding(every)


def only_in(suite: SuiteDraft, files: Iterable[str], without: Iterable[str]) -> SuiteDraft:
    """Leave those of its tests alone that are in these files (none: all), without some."""
    words, others = [], list(suite.arguments)
    if "-k" in others:
        place = others.index("-k")
        words.append(f"({others[place + 1]})")
        del others[place : place + 2]
    if stems := sorted({path.rpartition("/")[2].removesuffix(".py") for path in files}):
        words.append(f"({_any_of(stems)})")
    if names := sorted({test.rpartition("::")[2] for test in without}):
        words.append(f"not ({_any_of(names)})")
    return msgspec.structs.replace(suite, arguments=(*others, "-k", " and ".join(words)))


def _any_of(names: Sequence[str]) -> str:
    # pytest compiles the expression, and a flat one of a thousand names is too deep for Python.
    if len(names) < 3:
        return " or ".join(names)
    middle = len(names) // 2
    return f"({_any_of(names[:middle])}) or ({_any_of(names[middle:])})"


def imported_alone(requirements: Iterable[str], texts: Mapping[str, str]) -> tuple[str, ...]:
    """Return pytest, its plugins by name, and what these files import, not linters and runners."""
    imports = (re.findall(r"^\s*(?:from|import)\s+(\w+)", t, re.MULTILINE) for t in texts.values())
    imported = {module for modules in imports for module in modules}

    def is_needed(text: str) -> bool:
        name = canonicalize_name(Requirement(text).name)
        return name.startswith("pytest") or not imported.isdisjoint(modules_of(name))

    return tuple(filter(is_needed, requirements))


def _requirements(project: Project, key: str, name: str) -> Iterator[Requirement]:
    with contextlib.suppress(InvalidRequirement, ValueError):
        read = {"groups": project.of_group, "extras": project.of_extra, "listed": project.of_list}
        yield from map(Requirement, read[key](name))


OLDEST_PYTHON = Version("3.8")  # the oldest that machines and tools still have in 2026


class KnownLibrary(Value, frozen=True, kw_only=True):
    """A library on the index.

    `releases` are the final ones, oldest first. `requires_python` and `requirements` come from the
    checkout, else from the newest release; `source` names which. `module` is empty if no wheel has
    one.
    """

    name: str
    releases: tuple[Release, ...]
    requires_python: SpecifierSet | None
    requirements: tuple[Requirement, ...]
    source: str
    module: str


def library_of(package: str, project: Project | None, source: PyPISource) -> KnownLibrary:
    try:
        releases = settled_releases(source.package(canonicalize_name(package)))
    except NoPage as error:
        message = f"the package index has no package {package!r}"
        hint = "check the name; a library needs a release on the index before it has a matrix"
        raise UsageError.of(message, hint=hint) from error
    if not releases:
        raise UsageError.of(f"the package index has no final release of {package!r}")
    newest = releases[-1]
    wheel = wheel_to_read(newest)
    published = None if wheel is None else source.published(wheel)
    if published is None:
        published = Published(requires_python=None, requires_dist=())
    texts, whose = published.requires_dist, f"{package} {newest.version}"
    python = published.requires_python
    paths = {} if wheel is None else source.contents(wheel)
    module = module_of(package, paths)
    if paths and not module:
        message = f"{whose} brings no module, so there is nothing to import and test"
        hint = "name the library that it is for, as stubs and lists of dependencies have none"
        raise UsageError.of(message, hint=hint)
    if project is not None and project.dependencies is not None:
        texts, whose = project.dependencies, PYPROJECT
    if project is not None and project.requires_python is not None:
        python = project.requires_python
    return KnownLibrary(
        name=package,
        releases=releases,
        requires_python=python,
        requirements=_plain(texts, package),
        source=whose,
        module=module,
    )


def _plain(texts: tuple[str, ...], package: str) -> tuple[Requirement, ...]:
    requirements: dict[str, Requirement] = {}
    for requirement in filter(None, map(parsed, texts)):
        name = canonicalize_name(requirement.name)
        if name != canonicalize_name(package) and "extra" not in str(requirement.marker or ""):
            requirements.setdefault(name, requirement)
    return tuple(requirements.values())


def smoke_cells(matrix: Matrix, cells: Iterable[Cell], here: frozenset[Version]) -> tuple[str, ...]:
    # Return the newest release of the subject with the newest of everything, and with the oldest of
    # everything; on Pythons of this machine if possible.
    def key(cell: Cell, sign: int) -> tuple[Version, list[list[int]]]:
        others = [c.version for c in cell.coordinates if c.axis != matrix.subject]
        padded = [(v.epoch, *v.release, 0, 0, 0)[:4] for v in reversed(others)]
        return cell.on(matrix.subject).version, [[sign * part for part in v] for v in padded]

    python = matrix.interpreters.name
    fresh = [cell for cell in cells if cell.recipe == "fresh"]
    on_this = [cell for cell in fresh if cell.on(python).version in here] or fresh
    ends = [max(on_this, key=lambda cell: key(cell, sign)).id for sign in (1, -1) if on_this]
    return tuple(dict.fromkeys(ends))


def _has_wheels(matrix: Matrix, catalogue: Catalogue, cell: Cell) -> bool:
    python = cell.on(matrix.interpreters.name).version
    members = (catalogue.members(axis, cell.on(axis.name).version) for axis in matrix.packages)
    return all(any(wheel_for(r, python, matrix.platform) for r in releases) for releases in members)


# So many versions of a dependency show where it starts and stops to work, and a first matrix still
# runs within minutes. Chosen on 2026-11-23.
MOST_SERIES = 4


class DraftAxis(Value, frozen=True, kw_only=True):
    """A dependency, or the library itself, as a possible package axis.

    `because` has the reasons why it may break the library, strongest first. `left_out` says why it
    cannot be an axis. `is_bounded`: the declared range excludes some coordinates as too new. A
    chosen one has a name, a short name and, but for the library itself, a floor with its reason.
    """

    package: str
    requirement: str = ""
    versions: tuple[Version, ...] = ()
    selector: Selector = Selector()
    coordinates: tuple[Version, ...] = ()
    because: str = ""
    left_out: str = ""
    weight: int = 0
    is_bounded: bool = False
    name: str = ""
    short: str = ""
    floor: Version | None = None
    floor_because: str = ""

    @property
    def reason(self) -> str:
        return f"{self.package}: {self.left_out or self.because}"

    @property
    def rule(self) -> str:
        return f"newer-{self.name}"[:40]


def settled_releases(package: Package) -> tuple[Release, ...]:
    every = package.selected(Selector())
    return tuple(release for release in every if release.has_usable_file and not release.yanked)


class Target(Value, frozen=True, kw_only=True):
    """Where cells run: series of Python, why these, those of this machine, and the platform."""

    series: tuple[Version, ...]
    platform: str
    because: str = ""
    here: frozenset[Version] = frozenset()

    def has_wheel(self, release: Release) -> bool:
        return any(wheel_for(release, series, self.platform) for series in self.series)


def target_of(
    library: KnownLibrary, platform: str, day: datetime.date, here: Collection[Version] = ()
) -> Target:
    """`here` are the series of this machine. Raises UsageError if none fits."""
    admitted = library.requires_python
    out = [s.version for s in PYTHONS if s.released <= day and s.version >= OLDEST_PYTHON]
    series = [v for v in out if admitted is None or admitted.contains(patch_of(v))]
    if not series:
        message = f"{library.source} requires Python {admitted}, and no series of today is that"
        raise UsageError.of(message, hint=f"series that are out: {', '.join(map(str, out))}")
    because = f"{library.source} requires Python {admitted}"
    if not admitted:
        because = f"{library.source} names no Python, so these are all since {series[0]}"
    return Target(series=tuple(series), platform=platform, because=because, here=frozenset(here))


def wheel_for(release: Release, series: Version, platform: str) -> bool:
    accepted = accepted_tags(series, platform)
    return any(not accepted.isdisjoint(wheel.tags) for wheel in usable_wheels(release))


def weighed(requirement: Requirement, package: Package | None, target: Target) -> DraftAxis:
    """Releases without a wheel for the target are skipped: a cell builds nothing unasked."""
    known = DraftAxis(package=canonicalize_name(requirement.name), requirement=str(requirement))

    def out(because: str) -> DraftAxis:
        return msgspec.structs.replace(known, left_out=because)

    exact = [p for p in requirement.specifier if p.operator in ("==", "===")]
    if requirement.url is not None:
        return out("it is no release of the index")
    if package is None:
        return out("the package index does not have it")
    if any("*" not in part.version for part in exact):
        return out("it is pinned to one version")
    lowest = lowest_of(requirement.specifier)
    later = [
        release
        for release in settled_releases(package)
        if (lowest is None or release.version >= lowest) and target.has_wheel(release)
    ]
    versions = [release.version for release in later]
    axis = _with_series(msgspec.structs.replace(known, versions=tuple(versions)), MOST_SERIES)
    if len(axis.coordinates) < 2:
        return out("only one series of it meets what is declared")
    moves, weight = list[str](), 0
    admitted = [version for version in versions if requirement.specifier.contains(version)]
    shut_out = [version for version in versions if admitted and version > max(admitted)]
    if shut_out:
        moves.append(f"{shut_out[-1]} is excluded by the declared range")
        weight += 40
    elif any(p.operator not in (">=", ">") for p in requirement.specifier):
        moves.append(f"declared as {requirement.specifier}")
        weight += 30
    minors, majors = _series("minor", versions), _series("major", versions)
    if len(majors) > 1:
        moves.append(f"{len(majors)} major versions since {versions[0]}")
        weight += 20
    if any("any" not in {tag.platform for tag in a.tags} for a in later[-1].artifacts if a.tags):
        moves.append("it is compiled for each Python")
        weight += 10
    if len(majors) == 1:
        moves.append(f"{len(minors)} series since {versions[0]}")
    weight += min(len(minors), 9)
    return msgspec.structs.replace(
        axis, because=", ".join(moves), weight=weight, is_bounded=bool(shut_out)
    )


def _with_series(axis: DraftAxis, most: int) -> DraftAxis:
    declared = lowest_of(Requirement(axis.requirement).specifier)
    # Nothing between the lower bound and the oldest wheel can be installed.
    lowest = None if declared is None else max(declared, *axis.versions[:1])
    selector = newest_series(axis.versions, lowest, most)
    series = {selector.coordinate(v) for v in axis.versions if selector.keeps(v)}
    return msgspec.structs.replace(axis, selector=selector, coordinates=tuple(sorted(series)))


def newest_series(
    versions: Sequence[Version], lowest: Version | None = None, most: int = MOST_SERIES
) -> Selector:
    minors, majors = _series("minor", versions), _series("major", versions)
    if len(minors) <= most:
        return _from(lowest or min(minors, default=None), "minor")
    if 2 <= len(majors) <= most:
        return _from(lowest or majors[0], "major")
    is_major = len(majors) > most
    return _from((majors if is_major else minors)[-most], "major" if is_major else "minor")


def _from(lowest: Version | None, keep: Literal["major", "minor"]) -> Selector:
    return Selector(specifier=SpecifierSet(f">={lowest}" if lowest else ""), keep=keep)


def _series(keep: Literal["major", "minor"], versions: Iterable[Version]) -> list[Version]:
    return sorted({_from(None, keep).coordinate(version) for version in versions})


def trial_text(package: str, pythons: Sequence[Version], platform: str, suite: SuiteDraft) -> str:
    axis = DraftAxis(package=package, because="checkout", name=axis_name(package), short="p")
    why = "A Python that the project requires"
    target = Target(series=tuple(pythons), platform=platform, because=why)
    return matrix_text(target, [axis], suite, has_lowest=False)


def matrix_text(
    target: Target,
    axes: Sequence[DraftAxis],
    suite: SuiteDraft,
    quick: Sequence[str] = (),
    day: str = "this day",
    has_lowest: bool = True,
) -> str:
    packages = {canonicalize_name(axis.package) for axis in axes}
    asked = [text for text in suite.requirements if canonicalize_name(text) not in packages]
    return _text(
        "matrix.toml", target=target, axes=axes, suite=suite, quick=quick, day=day,
        has_lowest=has_lowest, subject=axes[-1], asked=asked,
    )  # fmt: skip


def _text(template: str, **shown: object) -> str:
    return rendered("compat.draft", template, shown, {"toml": _toml})


def _toml(value: str | Sequence[str]) -> str:
    if not isinstance(value, str):
        return f"[{', '.join(map(_toml, value))}]"
    # A JSON string is a TOML basic string, but for the delete character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


# A first matrix runs within minutes: at five seconds a cell, which is usual for a small library,
# this is a quarter of an hour on one worker. Chosen on 2026-11-23.
MOST_CELLS = 160
MOST_SERIES_OF_SUBJECT = 3
MOST_ASKED = 40  # dependencies whose page is fetched


class Draft(Value, frozen=True, kw_only=True):
    """A drafted matrix: its files by path, sentences about what is in it and about the dependencies
    left out, the number of installable fresh cells, and its smoke cells.
    """

    name: str
    matrix: Matrix
    texts: Mapping[str, str]
    reasons: tuple[str, ...]
    left_out: tuple[str, ...]
    cells: int
    quick: tuple[str, ...]


def draft_of(
    library: KnownLibrary,
    target: Target,
    suite: SuiteDraft,
    source: ReleaseSource,
    day: datetime.date,
) -> Draft:
    weights = sorted(_weights(library, source, target), key=lambda w: (-w.weight, w.package))
    subject_series = 1 if suite.tests else MOST_SERIES_OF_SUBJECT
    chosen, cells_left = list[DraftAxis](), MOST_CELLS // (len(target.series) * subject_series)
    able = [dependency for dependency in weights if not dependency.left_out]
    # The first get more series, but none so many that another one has no axis.
    able = able[: max(cells_left, 1).bit_length() - 1]
    for after, dependency in zip(range(len(able))[::-1], able, strict=True):
        axis = _with_series(dependency, min(MOST_SERIES, cells_left >> after))
        versions = filter(axis.selector.keeps, axis.versions)
        if any(map(Requirement(axis.requirement).specifier.contains, versions)):
            chosen.append(axis)
            cells_left //= len(axis.coordinates)
    axes, name = tuple(_axes(library, chosen, subject_series)), axis_name(library.name)
    names = {axis.package for axis in axes}

    policy = _text("policy.toml")

    def declared(axes: Sequence[DraftAxis], quick: Sequence[str] = ()) -> tuple[str, Matrix]:
        text = matrix_text(target, axes, suite, quick, str(day))
        return text, load(text.encode(), policy.encode(), folder=name, today=day).matrix

    _, matrix = declared(axes)
    catalogue = discover(matrix, source)
    planned = plan(matrix, catalogue)
    cells = [f.cell for f in planned.fates if isinstance(f, Feasible) and f.cell.recipe == "fresh"]
    with_wheels = [cell for cell in cells if _has_wheels(matrix, catalogue, cell)]
    quick = smoke_cells(matrix, with_wheels, target.here)
    needed = [
        msgspec.structs.replace(axis, is_bounded=axis.is_bounded and is_needed)
        for axis in axes
        for is_needed in [axis.rule not in planned.unneeded]
    ]
    text, matrix = declared(needed, quick)
    texts = {"matrix.toml": text, "policy.toml": policy, **suite.texts}
    return Draft(
        name=name,
        matrix=matrix,
        texts=texts | {"catalogue.json": encode_catalogue(catalogue, matrix)},
        reasons=(target.because, *(axis.reason for axis in axes), suite.because),
        left_out=tuple(axis.reason for axis in weights if axis.package not in names),
        cells=len(cells),
        quick=quick,
    )


def _weights(library: KnownLibrary, source: ReleaseSource, target: Target) -> Iterator[DraftAxis]:
    def page(requirement: Requirement) -> Package | None:
        try:
            return source.package(canonicalize_name(requirement.name))
        except NoPage:
            return None

    def holds(requirement: Requirement, series: Version) -> bool:
        values = marker_values(patch_of(series), target.platform)
        return requirement.marker is None or requirement.marker.evaluate(values)

    wanted = []
    for requirement in library.requirements[:MOST_ASKED]:
        on = [version for version in target.series if holds(requirement, version)]
        if len(on) == len(target.series):
            wanted.append(requirement)
            continue
        where = f"only if {requirement.marker}{'' if on else ', which is true in no cell'}"
        name = canonicalize_name(requirement.name)
        yield DraftAxis(package=name, left_out=f"it is required {where}")
    with ThreadPoolExecutor(THREADS) as pool:
        for requirement, package in zip(wanted, pool.map(page, wanted), strict=True):
            yield weighed(requirement, package, target)


def _axes(library: KnownLibrary, chosen: Sequence[DraftAxis], series: int) -> Iterator[DraftAxis]:
    names, shorts = {"python", axis_name(library.name)}, {"py"}
    for dependency in chosen:
        name, short = axis_name(dependency.package, names), short_name(dependency.package, shorts)
        names.add(name)
        shorts.add(short)
        oldest = dependency.coordinates[0]
        declared = lowest_of(Requirement(dependency.requirement).specifier)
        is_late = declared is not None and dependency.selector.coordinate(declared) != oldest
        late = "; this is the oldest version that the axis has" if is_late else ""
        why = f"{library.source} requires {dependency.requirement}{late}"
        yield msgspec.structs.replace(
            dependency, name=name, short=short, floor=oldest, floor_because=why
        )
    versions = [release.version for release in library.releases]
    selector = _from(_series("minor", versions)[-series:][0], "minor")
    series_of = sorted({selector.coordinate(v) for v in versions if selector.keeps(v)})
    which = f"{series_of[0]}" if len(series_of) == 1 else f"{series_of[0]} to {series_of[-1]}"
    yield DraftAxis(
        package=library.name,
        selector=selector,
        because=f"its newest series, {which}",
        name=axis_name(library.name),
        short=short_name(library.name, shorts),
    )
