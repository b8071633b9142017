"""What `compat blame` found in a matrix, kept beside its records: which releases break what."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from packaging.version import Version

from compat.run.outcome import parse_outcome
from compat.value import StrictValue, encode


class BlamedReleases(StrictValue, frozen=True, kw_only=True):
    """A package that broke a cell: `works` and `fails` are the releases at the boundary, and
    `also_fails` is the one that the cell has.
    """

    package: str
    works: str
    fails: str
    also_fails: str

    def includes(self, version: Version | None) -> bool:
        """Return whether a version lies from one failing release to the other."""
        ends = sorted((Version(self.fails), Version(self.also_fails)))
        return version is not None and ends[0] <= version <= ends[1]


class KeptBlame(StrictValue, frozen=True, kw_only=True):
    """A cause that was verified: with the packages of the axes at these `versions`, and on this
    Python, the releases of `packages` bring about what `failed`, an outcome, says.
    """

    cell: str
    on: str
    python: str
    versions: dict[str, str]
    packages: tuple[BlamedReleases, ...]
    failed: str

    def includes(self, python: Version, versions: Mapping[str, Version]) -> bool:
        """Return whether an environment is one of those that fail."""
        return (
            f"{python.major}.{python.minor}" == self.python
            and all(
                versions.get(name) == Version(version) for name, version in self.versions.items()
            )
            and all(each.includes(versions.get(each.package)) for each in self.packages)
        )


def decode_blames(text: bytes) -> tuple[KeptBlame, ...]:
    """Raises msgspec.MsgspecError and ValueError for damage."""
    blames = msgspec.json.decode(text, type=tuple[KeptBlame, ...])
    for blame in blames:
        parse_outcome(blame.failed)
        for each in blame.packages:
            each.includes(Version(each.works))
    return blames


def with_blames(kept: Iterable[KeptBlame], blames: Sequence[KeptBlame]) -> bytes:
    """Return the file in which these take the place of what was kept of their cells."""
    cells = {blame.cell for blame in blames}
    every = (*(blame for blame in kept if blame.cell not in cells), *blames)
    lines = sorted(encode(blame).decode() for blame in every)
    listed = ",\n".join(lines)
    return f"[\n{listed}\n]\n".encode()
