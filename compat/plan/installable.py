"""Which releases an interpreter series can install on the platform, and why not the others."""

from functools import cache

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat.declare.matrix import Matrix
from compat.declare.parsing import minor_series
from compat.declare.platforms import target_words
from compat.index.release import Artifact, Catalogue, Release
from compat.plan.obstacle import Kind, Obstacle, by_reason
from compat.plan.platform import accepted_tags, admits


class Installable:
    """What the catalogue says about the releases of each coordinate; it computes each fact once."""

    def __init__(self, matrix: Matrix, catalogue: Catalogue) -> None:
        self._matrix = matrix
        self._catalogue = catalogue
        self._axes = {axis.name: axis for axis in matrix.packages}
        self.patches = {Version(minor_series(p)): p for p in matrix.interpreters.patches}
        self.releases = cache(self._members)
        self.usable = cache(self._usable)
        self.obstacle = cache(self._obstacle)

    def can_install(self, release: Release, python: Version, ignores: bool = False) -> bool:
        """Return whether the release has a file for the interpreter.

        `ignores` sets `Requires-Python` aside.
        """
        tags = accepted_tags(python, self._matrix.platform)
        return any(
            not artifact.yanked
            and not artifact.set_aside
            and (ignores or self._admits(release, artifact, python))
            and (not artifact.is_wheel or not tags.isdisjoint(artifact.tags))
            for artifact in release.artifacts
        )

    def reason(self, release: Release, python: Version, ignores: bool = False) -> tuple[Kind, str]:
        files = [artifact for artifact in release.artifacts if not artifact.yanked]
        if not files and release.artifacts:
            return "yanked", "is yanked"
        reasons = [artifact.set_aside for artifact in files if artifact.set_aside]
        files = [artifact for artifact in files if not artifact.set_aside]
        if not files and reasons:
            return "no-artifact", f"has only files that are set aside: {'; '.join(reasons)}"
        if not ignores and not any(self._admits(release, file, python) for file in files):
            asked = sorted({str(required_python(release, file)) for file in files})
            return "requires-python", f"requires Python {' or '.join(asked)}"
        return (
            "no-artifact",
            f"has no file for Python {python} on {target_words(self._matrix.platform)}",
        )

    def _members(self, axis_name: str, version: Version) -> tuple[Release, ...]:
        axis = self._axes[axis_name]
        return self._catalogue.members(axis, version)

    def _usable(
        self, axis: str, version: Version, python: Version, ignores: bool
    ) -> tuple[Release, ...]:
        """The coordinate's releases with a file to install; `ignores` sets `Requires-Python`
        aside.
        """
        releases = self.releases(axis, version)
        return tuple(release for release in releases if self.can_install(release, python, ignores))

    def _admits(self, release: Release, artifact: Artifact, python: Version) -> bool:
        return admits(required_python(release, artifact), self.patches[python])

    def _obstacle(
        self, axis_name: str, version: Version, python: Version, ignores: bool
    ) -> Obstacle:
        """Why the coordinate has nothing to install; for a series whose releases differ, each one's
        reason.
        """
        axis, releases = self._axes[axis_name], self.releases(axis_name, version)
        pair = (f"{axis.short}{version}", f"{self._matrix.interpreters.short}{python}")
        coordinate = f"{axis.package} {version}"
        if not releases:
            because = f"the index has no release {version} of {axis.package}"
            return Obstacle(kind="no-artifact", between=pair[:1], because=because)
        reasons = {r.version: self.reason(r, python, ignores) for r in releases}
        kinds = {kind for kind, _ in reasons.values()}
        kind: Kind = next(k for k in ("no-artifact", "requires-python", "yanked") if k in kinds)
        sentences = dict.fromkeys(sentence for _, sentence in reasons.values())
        if kinds == {"requires-python"}:
            asked = sorted({text.removeprefix("requires Python ") for text in sentences})
            because = f"{coordinate} requires Python {' or '.join(asked)}, not {python}"
        elif len(sentences) == 1:
            because = f"{coordinate} {next(iter(sentences))}"
        else:
            each = by_reason({version: sentence for version, (_, sentence) in reasons.items()})
            because = f"{coordinate} cannot be installed on Python {python}: {each}"
        return Obstacle(kind=kind, between=pair[:1] if kind == "yanked" else pair, because=because)


def required_python(release: Release, artifact: Artifact) -> SpecifierSet | None:
    """Return the `Requires-Python` of a file, by the index or the release's metadata."""
    if artifact.requires_python is not None or release.published is None or not artifact.is_wheel:
        return artifact.requires_python
    return release.published.requires_python
