"""The `advise` room's check of installed versions against published metadata: which requirements
they do not meet, and which release pip may have gone back to without a word.
"""

import datetime
from collections.abc import Iterator, Mapping
from functools import cached_property

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from compat.advise.named_builds import NamedBuild, short_names, stand_ins
from compat.advise.package_list import PackageList
from compat.declare.matrix import Matrix, PackageAxis
from compat.declare.parsing import minor_series
from compat.index.release import Catalogue, Published, Release
from compat.plan.feasible import required_python
from compat.plan.platform import accepted_tags, admits, marker_values
from compat.plan.requirements import active, parsed
from compat.results.record import PYTHON
from compat.run.outcome import Cause
from compat.value import Value

# A release that is older by so much than the newest that its Python can have is told of. A choice.
LONG_AGO = datetime.timedelta(days=730)


class Violation(Value, frozen=True):
    """A published requirement that installed versions do not meet: `of` at `version` requires
    `requirement` of `package`, and `installed` is there, or nothing.

    Names are normalised; `package` is `python` for the interpreter. `installed_as` is the name of
    another build that stands in its place.
    """

    cause: Cause
    of: str
    version: Version
    package: str
    requirement: str
    installed: Version | None
    installed_as: str = ""

    @property
    def sentence(self) -> str:
        who = f"{self.of} {self.version}"
        if self.cause == "no-artifact":
            return f"{who} has no file for Python {self.installed}."
        if self.package == PYTHON:
            return f"{who} requires Python {self.requirement}, and this is Python {self.installed}."
        if self.installed is None:
            return f"{who} requires {self.package}{self.requirement}, which is not installed."
        if self.installed_as:
            return (
                f"{who} requires {self.package}{self.requirement}, and in its place"
                f" {self.installed_as} {self.installed} is installed."
            )
        return (
            f"{who} requires {self.package}{self.requirement},"
            f" and {self.package} {self.installed} is installed."
        )


class Fallback(Value, frozen=True):
    """A release that is far older than the newest one that the Python can have.

    `refusal` says why no release of the matrix could be taken, so that a resolver had to go back;
    empty where one could.
    """

    package: str
    version: Version
    first: Version
    newest: Version
    is_outside: bool
    years: int
    refusal: str


class PublishedRules:
    """What the catalogue of a matrix says about installed packages."""

    def __init__(self, matrix: Matrix, catalogue: Catalogue, packages: PackageList) -> None:
        self._matrix, self._catalogue, self._packages = matrix, catalogue, packages
        self.python = packages.python
        self.platform = matrix.platform
        self._subject = matrix.subject_axis

    def violations(self) -> Iterator[Violation]:
        """Yield what the installed versions do not meet, the subject's own requirements first.

        Of a list only versions that it names are held against requirements: it may be a part.
        """
        for name, published in self._metadata.items():
            version = self._packages.versions[name]
            yield from self._of_python(name, version, published)
            for package, specifier in self._asked(published):
                build = self._stand_ins.get(package)
                installed = self._packages.versions.get(package)
                present = installed if build is None else build.version
                if present is None and not self._packages.is_whole:
                    continue
                if present is None or not specifier.contains(present, prereleases=True):
                    yield Violation(
                        cause="missing-module" if present is None else "conflict",
                        of=name,
                        version=version,
                        package=package,
                        requirement=str(specifier),
                        installed=present,
                        installed_as="" if build is None else build.name,
                    )

    def fallbacks(self, also: Mapping[str, Version]) -> Iterator[Fallback]:
        """Yield the packages of the axes that are outside of them, or long out of date; `also` are
        versions that pip tried.
        """
        for axis in self._matrix.packages:
            name = axis.normalised_name
            version = self._packages.versions.get(name) or also.get(name)
            if version is not None and (fallback := self._fallback(axis, version)) is not None:
                yield fallback

    def is_installed(self, name: str) -> bool:
        return name in self._packages.versions

    def has_file(self, release: Release, is_installed: bool = False) -> bool:
        """Return whether the release has a file for the Python, where that is known; one that is
        installed may be yanked, as an exact pin takes it.
        """
        return self.python is None or any(
            (is_installed or not artifact.yanked)
            and admits(required_python(release, artifact), self.python)
            and (not artifact.is_wheel or not self._tags.isdisjoint(artifact.tags))
            for artifact in release.artifacts
        )

    def covers(self, need: Requirement) -> bool:
        for required in self._catalogue.required:
            if required.package.name == need.name:
                pins = {SpecifierSet(pin) for pin in required.pins}
                return required.whole or need.specifier in pins
        axes = {axis.normalised_name: axis for axis in self._matrix.packages}
        axis = axes.get(canonicalize_name(need.name))
        clauses = list(need.specifier)
        if axis is None or len(clauses) != 1 or clauses[0].operator != "==":
            return False
        return "*" not in clauses[0].version and axis.select.keeps(Version(clauses[0].version))

    @cached_property
    def releases(self) -> dict[str, dict[Version, Release]]:
        packages = (
            *self._catalogue.packages,
            *(required.package for required in self._catalogue.required),
        )
        return {
            package.name: {release.version: release for release in package.releases}
            for package in packages
        }

    @cached_property
    def _stand_ins(self) -> dict[str, NamedBuild]:
        return stand_ins(self._packages.versions, short_names(self._matrix))

    @cached_property
    def _tags(self) -> frozenset[object]:
        assert self.python is not None, "tags are asked for where the Python is known"
        return frozenset(accepted_tags(self.python, self.platform))

    @cached_property
    def _metadata(self) -> dict[str, Published | None]:
        """The metadata of the subject and what it requires, level by level; of a list that of every
        package that the catalogue knows.
        """
        subject = self._subject.normalised_name
        if not self._packages.is_whole:
            names = (subject, *(name for name in self.releases if name != subject))
            return {
                name: release.published
                for name in names
                if (release := self._installed_release(name)) is not None
            }
        metadata: dict[str, Published | None] = {}
        names_left: list[str] = [subject] if subject in self._packages.versions else []
        while names_left:
            name = names_left.pop(0)
            if name in metadata:
                continue
            published = metadata[name] = self._packages.metadata.get(name)
            names_left += [
                asked.name
                for asked in active(published, self._markers)
                if asked.name in self._packages.versions
            ]
        return metadata

    def _installed_release(self, name: str) -> Release | None:
        version = self._packages.versions.get(name)
        return None if version is None else self.releases.get(name, {}).get(version)

    @cached_property
    def _markers(self) -> dict[str, str]:
        return {} if self.python is None else marker_values(self.python, self.platform)

    def _of_python(
        self, name: str, version: Version, published: Published | None
    ) -> Iterator[Violation]:
        if self.python is None:
            return
        asked = None if published is None else published.requires_python
        release = self._installed_release(name)
        if asked is None and release is not None and not self.has_file(release, True):
            texts = {required_python(release, artifact) for artifact in release.artifacts}
            asked = next(iter(texts)) if len(texts) == 1 else None
        violated = not admits(asked, self.python)
        lacks = release is not None and not violated and not self.has_file(release, True)
        if violated or (lacks and not self._packages.is_whole):
            yield Violation(
                cause="requires-python" if violated else "no-artifact",
                of=name,
                version=version,
                package=PYTHON,
                requirement=str(asked or ""),
                installed=self.python,
            )

    def _asked(self, published: Published | None) -> Iterator[tuple[str, SpecifierSet]]:
        """What holds; without a Python only what no marker restricts."""
        if self.python is not None:
            for asked in active(published, self._markers):
                if not asked.url:
                    yield asked.name, asked.specifier
            return
        for text in () if published is None else published.requires_dist:
            requirement = parsed(text)
            if requirement is not None and requirement.marker is None and not requirement.url:
                yield canonicalize_name(requirement.name), requirement.specifier

    def _fallback(self, axis: PackageAxis, version: Version) -> Fallback | None:
        releases = [
            release
            for release in self._catalogue.of(axis).selected(axis.select)
            if self.has_file(release)
        ]
        if not releases:
            return None
        first = self._catalogue.of(axis).selected(axis.select)[0].version
        newest = releases[-1]
        own = self.releases[axis.normalised_name].get(version)
        age = (
            newest.uploaded - own.uploaded
            if own is not None and own.uploaded is not None and newest.uploaded is not None
            else datetime.timedelta()
        )
        is_outside = version < first and own is None
        if not is_outside and (age < LONG_AGO or self._is_bounded(axis, newest.version)):
            return None
        return Fallback(
            package=axis.package,
            version=version,
            first=first,
            newest=newest.version,
            is_outside=is_outside,
            years=age.days // 365,
            refusal=self._refusal(releases)
            if axis is self._subject and is_outside and not self._refuses_itself(axis)
            else "",
        )

    def _refuses_itself(self, axis: PackageAxis) -> bool:
        """Whether the installed release itself asks for other versions than are installed, so that
        no resolver went back to it for their sake.
        """
        own = self._packages.metadata.get(axis.normalised_name)
        return any(
            (installed := self._packages.versions.get(package)) is not None
            and not specifier.contains(installed, prereleases=True)
            for package, specifier in self._asked(own)
        )

    def _is_bounded(self, axis: PackageAxis, newest: Version) -> bool:
        release = self._installed_release(self._subject.normalised_name)
        return axis is not self._subject and any(
            package == axis.normalised_name and not specifier.contains(newest)
            for package, specifier in self._asked(None if release is None else release.published)
        )

    def _refusal(self, releases: list[Release]) -> str:
        """Why each of the subject's releases refuses what is installed beside it, as the newest
        says it; empty where one does not.
        """
        others = {axis.normalised_name for axis in self._matrix.packages} - {
            self._subject.normalised_name
        }
        reasons: list[str] = []
        for release in reversed(releases):
            refused = next(
                (
                    f"{self._subject.package} {release.version} requires {package}{specifier}"
                    for package, specifier in self._asked(release.published)
                    if package in others
                    and (installed := self._packages.versions.get(package)) is not None
                    and not specifier.contains(installed, prereleases=True)
                ),
                None,
            )
            if refused is None:
                return ""
            reasons.append(refused)
        return reasons[0]


def series_of(python: Version) -> Version:
    return Version(minor_series(python))
