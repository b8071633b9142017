"""Discovery: from a matrix and a source of releases to the Catalogue that the matrix needs."""

from concurrent.futures import ThreadPoolExecutor

import msgspec
from packaging.utils import canonicalize_name

from compat.declare.matrix import Matrix, Selector
from compat.index.release import Catalogue, Package, Release
from compat.index.select import selected
from compat.index.source import ReleaseSource

THREADS = 8  # enough to hide an index's latency, few enough not to be taken for an attack


def discover(matrix: Matrix, source: ReleaseSource) -> Catalogue:
    """Return the package of each package axis, in axis order; the subject's selected releases carry their metadata.

    Raises IndexUnreachable as soon as one answer is missing: half a catalogue would pass for a whole one.
    """
    subject = matrix.subject_axis
    names = list(dict.fromkeys(canonicalize_name(axis.package) for axis in matrix.packages))
    with ThreadPoolExecutor(THREADS) as pool:
        packages = {package.name: package for package in pool.map(source.package, names)}
        asked = packages[canonicalize_name(subject.package)]
        packages[asked.name] = _with_metadata(asked, subject.select, source, pool)
    return Catalogue(packages=tuple(packages[name] for name in names))


def _with_metadata(package: Package, selector: Selector, source: ReleaseSource, pool: ThreadPoolExecutor) -> Package:
    chosen = selected(selector, package)
    filled = dict(
        zip(
            (release.version for release in chosen),
            pool.map(lambda release: _release_with_metadata(release, source), chosen),
            strict=True,
        )
    )
    releases = tuple(filled.get(release.version, release) for release in package.releases)
    return msgspec.structs.replace(package, releases=releases)


def _release_with_metadata(release: Release, source: ReleaseSource) -> Release:
    """All wheels of a release are taken to ask for the same, so the first by file name speaks for it."""
    wheel = next((artifact for artifact in release.artifacts if artifact.is_wheel), None)
    published = None if wheel is None else source.published(wheel)
    return release if published is None else msgspec.structs.replace(release, published=published)
