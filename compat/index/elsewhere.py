"""Discovery beside a matrix's own platform: the wheels that what its subject pins has for the other
platforms that it names.

The catalogue keeps of these packages only the files for the matrix's own platform.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase

import msgspec

from compat.declare.matrix import Matrix
from compat.declare.platforms import PLATFORMS
from compat.errors import NoPage
from compat.index.discover import THREADS
from compat.index.release import Artifact, Package, Release, Required
from compat.index.source import ReleaseSource


def wheels_elsewhere(
    matrix: Matrix, required: Iterable[Required], source: ReleaseSource
) -> tuple[Package, ...]:
    """Return the packages with the wheels of their known releases that a declared Python takes on
    another platform of the matrix, and that the catalogue does not have.
    """
    patterns = {tag for name in matrix.platforms for tag in PLATFORMS[name].tags}
    series = {f"cp{patch.major}{patch.minor}" for patch in matrix.interpreters.patches}

    def is_for(wheel: Artifact) -> bool:
        return any(
            (tag.interpreter in series or tag.interpreter.startswith("py3") or tag.abi == "abi3")
            and any(fnmatchcase(tag.platform, pattern) for pattern in patterns)
            for tag in wheel.tags
        )

    def of(entry: Required) -> Package:
        known = {r.version: {a.filename for a in r.artifacts} for r in entry.package.releases}
        try:
            releases = source.package(entry.package.name).releases
        except NoPage:
            releases = ()
        fitting = (
            _with_files(
                r, (a for a in r.artifacts if a.filename not in known[r.version] and is_for(a))
            )
            for r in releases
            if r.version in known
        )
        return Package(
            name=entry.package.name,
            releases=tuple(release for release in fitting if release.artifacts),
        )

    with ThreadPoolExecutor(THREADS) as pool:
        return tuple(package for package in pool.map(of, required) if package.releases)


def _with_files(release: Release, artifacts: Iterable[Artifact]) -> Release:
    files = tuple(msgspec.structs.replace(artifact, uploaded=None) for artifact in artifacts)
    return msgspec.structs.replace(release, artifacts=files, published=None)
