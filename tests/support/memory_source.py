"""A package index of values: for tests, and for worlds written by hand."""

from collections.abc import Mapping

from compat.errors import NoPage
from compat.index.release import Artifact, Package, Published


class MemorySource:
    """A ReleaseSource over values."""

    def __init__(self, packages: Mapping[str, Package], published: Mapping[str, Published]) -> None:
        """Take packages by normalised name, and published metadata by file name."""
        self._packages = packages
        self._published = published
        self.others: dict[str, Mapping[str, Package]] = {}

    def package(self, name: str) -> Package:
        """Return the package; an unknown one is the same trouble as with a real index."""
        if name not in self._packages:
            raise NoPage.of(f"the index has no page for {name!r}")
        return self._packages[name]

    def elsewhere(self, index_url: str) -> "MemorySource":
        """Return the packages of another index: those that are kept under its address."""
        return MemorySource(self.others.get(index_url, {}), self._published)

    def published(self, artifact: Artifact) -> Published | None:
        """Return the metadata kept for the file name."""
        return self._published.get(artifact.filename)
