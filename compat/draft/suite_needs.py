"""What the tests of a drafted suite need and the draft does not ask for, and what it asks for that
no wheel brings.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from compat.declare.matrix import Matrix
from compat.declare.parsing import parse_requirement
from compat.declare.project import Project
from compat.declare.suite_imports import asked_names, collected_imports, modules_of
from compat.draft.declaration_text import toml_line
from compat.draft.library import KnownLibrary
from compat.draft.suite_draft import FurtherNeed
from compat.draft.weighed import settled_releases
from compat.errors import NoPage
from compat.index.discover import THREADS
from compat.index.release import Release, usable_wheels
from compat.index.source import ReleaseSource
from compat.index.wheel_sources import wheel_to_read


def suite_needs(
    matrix: Matrix,
    project: Project,
    library: KnownLibrary,
    texts: Mapping[str, str],
    source: ReleaseSource,
) -> Iterator[str]:
    """Yield a sentence, with its remedy, for each group or extra of the project that alone brings
    what the tests import, and for each requirement that has no wheel, of the suite or of what it
    asks for; what these need in turn is not looked at.

    The matrix has what its suite's groups and extras ask for. `texts` are the Python files of the
    tests, by path. Raises IndexUnreachable.
    """
    asked = [parse_requirement(text) for text in matrix.suite.requirements]
    with ThreadPoolExecutor(THREADS) as pool:
        admitted = list(pool.map(lambda each: _admitted(each, source), asked))
        newest = [releases[-1] for releases in admitted if releases]
        below = list(chain(*pool.map(lambda each: _requires(each, source), newest)))
        direct = set(map(_text, asked))
        second = {_text(each): each for each in below if _holds(each) and _text(each) not in direct}
        deeper = list(pool.map(lambda each: _admitted(each, source), second.values()))
    for requirement, releases in zip((*asked, *second.values()), admitted + deeper, strict=True):
        if releases and not any(usable_wheels(release) for release in releases):
            pin = f"{canonicalize_name(requirement.name)}=={releases[-1].version}"
            yield (
                f"the tests need {_text(requirement)}, which has only a source distribution, and"
                f' cells build none unasked: builds = ["{pin}"] in matrix.toml allows it'
            )
    for need in _further(matrix, project, library, texts, below):
        yield (
            f"the tests import {need.imports}, which {need.words} brings and the draft does not ask"
            f" for: {toml_line(need.key, (*getattr(matrix.suite, need.key), need.name))} in [suite]"
            " does"
        )


def further_needs(
    matrix: Matrix,
    project: Project,
    library: KnownLibrary,
    texts: Mapping[str, str],
    source: ReleaseSource,
) -> tuple[FurtherNeed, ...]:
    # Return the groups and extras that alone bring what the tests import, and whose requirements
    # all have a wheel, so that the suite can ask for them, too. Raises IndexUnreachable.
    asked = [parse_requirement(text) for text in matrix.suite.requirements]
    newest = [admitted[-1] for each in asked if (admitted := _admitted(each, source))]
    below = list(chain(*(_requires(release, source) for release in newest)))
    return tuple(
        need
        for need in _further(matrix, project, library, texts, below)
        if all(
            any(usable_wheels(release) for release in _admitted(requirement, source))
            for requirement in _requirements(project, need.key, need.name)
            if _holds(requirement)
        )
    )


def _further(
    matrix: Matrix,
    project: Project,
    library: KnownLibrary,
    texts: Mapping[str, str],
    below: Sequence[Requirement],
) -> Iterator[FurtherNeed]:
    imports = collected_imports(texts)
    known = asked_names(matrix) | {canonicalize_name(r.name) for r in library.requirements}
    brought = known | {canonicalize_name(requirement.name) for requirement in below}
    modules: dict[tuple[str, str], list[str]] = {}
    for key, name, module in _unasked(project, imports, brought):
        modules.setdefault((key, name), []).append(module)
    for (key, name), names in modules.items():
        yield FurtherNeed(
            key=key, name=name, imports=f"{' and '.join(names)} ({imports[names[0]]})"
        )


def _admitted(requirement: Requirement, source: ReleaseSource) -> Sequence[Release]:
    # The final releases that a requirement admits; none without a page, or where it does not hold
    # here.
    if not _holds(requirement):
        return ()
    try:
        releases = settled_releases(source.package(canonicalize_name(requirement.name)))
    except NoPage:
        return ()
    return [release for release in releases if requirement.specifier.contains(release.version)]


def _holds(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def _text(requirement: Requirement) -> str:
    return f"{requirement.name}{requirement.specifier}"


def _unasked(
    project: Project, imports: Mapping[str, str], known: frozenset[str]
) -> Iterator[tuple[str, str, str]]:
    # The groups and extras that name a distribution whose module is imported, and that nothing else
    # is known to bring: key, name, module. Each module has the first of them.
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


def _requires(release: Release, source: ReleaseSource) -> list[Requirement]:
    wheel = wheel_to_read(release)
    published = None if wheel is None else source.published(wheel)
    requirements = []
    for text in () if published is None else published.requires_dist:
        with suppress(InvalidRequirement):
            requirements.append(Requirement(text))
    return requirements
