"""The library that a draft is about: what its newest release and its checkout say of Python and of
dependencies.
"""

import datetime

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.declare.patches import patch_of
from compat.declare.project import PYPROJECT, Project
from compat.draft.naming import module_of
from compat.draft.weighed import settled_releases
from compat.errors import NoPage, UsageError
from compat.index.pypi import PyPISource
from compat.index.release import Published, Release
from compat.index.wheel_sources import wheel_to_read
from compat.policy.window import PYTHONS
from compat.value import Value

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
