"""The `declare` room's question to a specifier: can any version satisfy it?"""

from collections.abc import Iterator

from packaging.specifiers import SpecifierSet
from packaging.version import Version


def satisfiable(specifier: SpecifierSet) -> bool:
    """Return whether some version can satisfy the specifier; in doubt, True.

    A specifier's truth changes only at the versions that it names, so it is enough to try those,
    what comes just above each, and the next of each of their series. Doubt is left where a
    pre-release or the like is named.
    """
    parts = [part for part in specifier if part.operator != "==="]
    named = [Version(part.version.removesuffix(".*")) for part in parts]
    if len(parts) < len(specifier) or any(
        str(version) != version.base_version or version.epoch for version in named
    ):
        return True
    return any(specifier.contains(version, prereleases=True) for version in _tried(named))


def _tried(named: list[Version]) -> Iterator[Version]:
    yield Version("0")
    longest = max((len(version.release) for version in named), default=1)
    for version in named:
        release = version.release
        yield version
        yield _plain(*release, *[0] * (longest - len(release)), 1)
        for index, number in enumerate(release):
            yield _plain(*release[:index], number + 1)


def _plain(*numbers: int) -> Version:
    return Version(".".join(map(str, numbers)))
