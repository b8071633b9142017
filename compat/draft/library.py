"""What a project and the index say of a library: its names, its requirements, and its tests."""

import contextlib
import datetime
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.patches import patch_of
from compat.declare.project import PYPROJECT, Project
from compat.declare.suite_imports import distribution_of, modules_of
from compat.draft.draft import import_test, settled_releases, toml_line
from compat.errors import NoPage, UsageError
from compat.index.pypi import PyPISource
from compat.index.release import Published, Release
from compat.index.wheel_sources import wheel_to_read
from compat.policy.eol import PYTHONS
from compat.value import Value

_LONGEST = 12
# What stands at the top of many wheels besides the library itself.
_BESIDE = {"tests", "test", "testing", "docs", "examples", "benchmarks", "scripts"}


def axis_name(package: str, taken: Collection[str] = ()) -> str:
    """Return the name of a package as an axis may have it, none of those that are taken."""
    plain = re.sub(r"[^a-z0-9_-]", "", canonicalize_name(package))
    plain = plain if plain[:1].isalpha() else f"p{plain}"
    return _free(plain[:36], "-2", taken)


def short_name(package: str, taken: Collection[str]) -> str:
    """Return a short name made of the letters of a package's name, none of those that are taken."""
    letters = re.sub(r"[^a-z]", "", canonicalize_name(package)) or "dep"
    return next(
        name
        for length in range(_LONGEST)
        if (name := letters[: _LONGEST - length] + "x" * length) not in taken
    )


def module_of(package: str, paths: Iterable[str]) -> str:
    """Return the module that a wheel with these files brings: the one that is called like the
    package, else the public one with the most files; empty where there is none.

    A folder without `__init__` is a namespace, which other packages share (PEP 420), so
    what is in it is named with its dots: `google.cloud.storage`.
    """
    files = [parts for parts in map(_importable, paths) if parts is not None]
    packages = {parts[:-1] for parts in files if parts[-1] == "__init__"}
    roots = Counter(_root(parts, packages) for parts in files)
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


def _root(parts: tuple[str, ...], packages: Collection[tuple[str, ...]]) -> tuple[str, ...]:
    within = (parts[:depth] for depth in range(1, len(parts)))
    return next((outer for outer in within if outer in packages), parts)


def _is_private(parts: tuple[str, ...]) -> bool:
    return any(part.startswith("_") for part in parts)


def _squashed(name: str) -> str:
    return re.sub(r"[-_.]", "", name).lower()


def _free(name: str, more: str, taken: Collection[str]) -> str:
    while name in taken:
        name += more
    return name


class SuiteDraft(Value, frozen=True, kw_only=True):
    """A suite as it is proposed: the first lines of `[suite]`, what it asks for besides, the lines
    after that, its files by their path below the matrix's folder, and why it is this one.

    `is_own` says that it is the library's own tests, which are those of one release.
    """

    lines: tuple[str, ...]
    requirements: tuple[str, ...]
    remarks: tuple[str, ...]
    texts: Mapping[str, str]
    because: str
    is_own: bool = False

    def table(self, packages: Collection[str]) -> tuple[str, ...]:
        # Return all lines of `[suite]` in a matrix whose axes are these packages: a cell has a
        # version of each, so none is asked for again.
        normalised = set(map(canonicalize_name, packages))
        asked = [name for name in self.requirements if canonicalize_name(name) not in normalised]
        return (*self.lines, *([toml_line("requirements", asked)] if asked else ()), *self.remarks)


# What projects call the dependencies of their tests, most usual first.
_GROUPS = ("tests", "test", "testing", "dev")


def own_suite(project: Project, module: str, tests: str) -> SuiteDraft:
    """Return a suite of the project's own tests, with the first group or extra that brings pytest;
    without one that brings it pytest alone is asked for.
    """
    groups = [name for name in _named(project.groups) if _brings_pytest(_of_group(project, name))]
    extras = [name for name in _named(project.extras) if _brings_pytest(project.of_extra(name))]
    texts: Sequence[str] = ()
    where, lines = "", [toml_line("tests", tests), toml_line("module", module)]
    named = {"groups": groups[:1], "extras": [] if groups else extras[:1]}
    if groups:
        where = f", with what the dependency group {groups[0]} asks for"
        texts = _of_group(project, groups[0])
    elif extras:
        where = f", with what the extra {extras[0]} asks for"
        texts = project.of_extra(extras[0])
    lines += [toml_line(key, names) for key, names in named.items() if names]
    return SuiteDraft(
        lines=tuple(lines),
        requirements=() if "pytest" in _names(texts) else ("pytest",),
        remarks=(
            "# Arguments of pytest, for example to leave tests out that need a network:",
            '# arguments = ["-m", "not network"]',
        ),
        texts={},
        because=f"Suite: the project's own tests in {tests}{where}",
        is_own=True,
    )


def bringing(module: str, project: Project) -> str:
    """Return a requirement that brings a module: one of the project's groups and extras, else a
    distribution that is known to have it; empty where neither is. A module's name alone names none:
    the package that is called so on an index may be anybody's.
    """
    for key, table in (("groups", project.groups), ("extras", project.extras)):
        for name in table:
            for requirement in _requirements(project, key, name):
                if module in modules_of(canonicalize_name(requirement.name)):
                    return f"{requirement.name}{requirement.specifier}"
    return distribution_of(module)


def _requirements(project: Project, key: str, name: str) -> Iterator[Requirement]:
    try:
        texts = project.of_extra(name) if key == "extras" else project.of_group(name)
        for text in texts:
            yield Requirement(text)
    except (InvalidRequirement, ValueError):
        return


def _named(table: Mapping[str, object]) -> list[str]:
    by_name = {str(canonicalize_name(name)): name for name in table}
    return [by_name[name] for name in _GROUPS if name in by_name]


def _of_group(project: Project, name: str) -> Sequence[str]:
    try:
        return project.of_group(name)
    except ValueError:
        return ()


def _brings_pytest(texts: Sequence[str]) -> bool:
    return any(name.partition("-")[0] == "pytest" for name in _names(texts))


def _names(texts: Sequence[str]) -> set[str]:
    names = set()
    for text in texts:
        with contextlib.suppress(InvalidRequirement):
            names.add(str(canonicalize_name(Requirement(text).name)))
    return names


def import_suite(module: str, title: str, because: str) -> SuiteDraft:
    remarks = (
        "# What `compat run --tier smoke` asks for: few capabilities that every release has.",
        'core = ["import"]',
    )
    return SuiteDraft(
        lines=('path = "suite"', toml_line("module", module)),
        requirements=("pytest",),
        remarks=remarks,
        texts={"suite/test_import.py": import_test(module, title)},
        because=because,
    )


_OLDEST_PYTHON = Version("3.8")  # the oldest that machines and tools still have in 2026


class KnownLibrary(Value, frozen=True, kw_only=True):
    """A library on the index.

    `releases` are its final ones, oldest first. `requires_python` and `requirements` are what its
    checkout declares, else its newest release, and `source` says which of the two, as the start of
    a sentence. `module` is what imports; empty where no wheel tells.
    """

    name: str
    releases: tuple[Release, ...]
    requires_python: SpecifierSet | None
    requirements: tuple[Requirement, ...]
    source: str
    module: str


def library_of(package: str, project: Project | None, source: PyPISource) -> KnownLibrary:
    # Return what is known of a package; raise UsageError where the index has no final release of it
    # that can be installed.
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


def pythons(library: KnownLibrary, day: datetime.date) -> tuple[tuple[Version, ...], str]:
    """Return the series of Python that a library admits and that are out, and the reason."""
    admitted = library.requires_python
    out = [s.version for s in PYTHONS if s.released <= day and s.version >= _OLDEST_PYTHON]
    series = [v for v in out if admitted is None or admitted.contains(patch_of(v))]
    if not series:
        message = f"{library.source} requires Python {admitted}, and no series of today is that"
        raise UsageError.of(message, hint=f"series that are out: {', '.join(map(str, out))}")
    because = f"{library.source} requires Python {admitted}"
    if not admitted:
        because = f"{library.source} names no Python, so these are all since {series[0]}"
    return tuple(series), because


def _plain(texts: tuple[str, ...], package: str) -> tuple[Requirement, ...]:
    requirements: dict[str, Requirement] = {}
    for text in texts:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        name = canonicalize_name(requirement.name)
        if name != canonicalize_name(package) and "extra" not in str(requirement.marker or ""):
            requirements.setdefault(name, requirement)
    return tuple(requirements.values())
