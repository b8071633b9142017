"""What the tests of a drafted suite need and the draft does not ask for."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from compat.declare.matrix import Matrix
from compat.declare.parsing import parse_requirement
from compat.declare.project import Project
from compat.declare.suite_imports import asked_names, collected_imports, distribution_of, modules_of
from compat.draft.library import KnownLibrary
from compat.draft.suite_draft import FurtherNeed
from compat.draft.weighed import settled_releases
from compat.errors import NoPage
from compat.index.release import Release, usable_wheels
from compat.index.source import ReleaseSource
from compat.index.wheel_sources import wheel_to_read


def further_needs(
    matrix: Matrix,
    project: Project,
    library: KnownLibrary,
    texts: Mapping[str, str],
    source: ReleaseSource,
) -> tuple[FurtherNeed, ...]:
    """Return the groups and extras that alone bring what the tests import, and whose requirements
    all have a wheel, so that the suite can ask for them, too. Raises IndexUnreachable.
    """
    asked = [parse_requirement(text) for text in matrix.suite.requirements]
    newest = [(each, found[-1]) for each in asked if (found := _admitted(each, source))]
    below = list(chain(*(_requires(*pair, source) for pair in newest)))
    imports = collected_imports(texts)
    known = asked_names(matrix) | {canonicalize_name(r.name) for r in library.requirements}
    brought = known | {canonicalize_name(requirement.name) for requirement in below}
    modules: dict[tuple[str, str], list[str]] = {}
    for key, name, module in _unasked(project, imports, brought):
        modules.setdefault((key, name), []).append(module)
    return tuple(
        FurtherNeed(key=key, name=name, imports=f"{' and '.join(names)} ({imports[names[0]]})")
        for (key, name), names in modules.items()
        if all(
            any(usable_wheels(release) for release in _admitted(requirement, source))
            for requirement in _requirements(project, key, name)
            if _holds(requirement)
        )
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


def _admitted(requirement: Requirement, source: ReleaseSource) -> Sequence[Release]:
    """The final releases that a requirement admits; none without a page, or where it does not hold
    here.
    """
    if not _holds(requirement):
        return ()
    try:
        releases = settled_releases(source.package(canonicalize_name(requirement.name)))
    except NoPage:
        return ()
    return [release for release in releases if requirement.specifier.contains(release.version)]


def _holds(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def _unasked(
    project: Project, imports: Mapping[str, str], known: frozenset[str]
) -> Iterator[tuple[str, str, str]]:
    """The groups and extras that name a distribution whose module is imported, and that nothing
    else is known to bring: key, name, module. Each module has the first of them.
    """
    taken: set[str] = set()
    for key, table in (("extras", project.extras), ("groups", project.groups)):
        for name in table:
            for distribution in _names(project, key, name):
                for module in sorted(modules_of(distribution) & imports.keys() - taken):
                    if distribution not in known:
                        taken.add(module)
                        yield key, name, module


def _names(project: Project, key: str, name: str) -> Iterator[str]:
    requirements = _requirements(project, key, name)
    return (canonicalize_name(requirement.name) for requirement in requirements)


def _requirements(project: Project, key: str, name: str) -> Iterator[Requirement]:
    try:
        texts = project.of_extra(name) if key == "extras" else project.of_group(name)
        for text in texts:
            yield Requirement(text)
    except (InvalidRequirement, ValueError):
        return


def _requires(asked: Requirement, release: Release, source: ReleaseSource) -> list[Requirement]:
    """What a release asks for with the extras that are asked of it; nothing where that cannot be
    read.
    """
    wheel = wheel_to_read(release)
    published = None if wheel is None else source.published(wheel)
    requirements = []
    for text in () if published is None else published.requires_dist:
        with suppress(InvalidRequirement):
            needed = Requirement(text)
            extras = asked.extras or {""}
            if needed.marker is None or any(needed.marker.evaluate({"extra": e}) for e in extras):
                requirements.append(needed)
    return requirements
