"""What discovery and resolvers ask of a package index: Protocol ReleaseSource."""

from typing import Protocol

from compat.index.release import Artifact, Package, Published


class ReleaseSource(Protocol):
    """Something that knows the releases of packages."""

    def package(self, name: str) -> Package:
        """Return all releases of the package; raise IndexUnreachable when there is no trustworthy
        answer.
        """

    def elsewhere(self, index_url: str) -> "ReleaseSource":
        """Return a source that asks that index alone, in the same way."""

    def published(self, artifact: Artifact) -> Published | None:
        """Return what the artifact's own metadata asks for; None for an sdist, which has none to
        rely on.
        """
