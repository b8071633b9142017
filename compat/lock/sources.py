"""Releases with only a source distribution for a cell: which may be built, and how resolvers see
them.

The resolver itself builds nothing, because a build runs other people's code with the resolver's
rights. For each release with a named build it gets an empty wheel. That wheel's requirements come
from an isolated build of the release.
"""

import base64
import hashlib
import io
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from pathlib import Path

from packaging.version import Version

from compat.index.release import Artifact, Published, Release, ReleaseSource, releases_of
from compat.lock.lockfile import Inputs, Pin, Refusal
from compat.lock.refusals import needs_builds
from compat.plan.platform import fits
from compat.value import Value

Build = Callable[[Inputs, Pin], Published | Refusal]


class SourceRelease(Value, frozen=True, kw_only=True):
    """A release that a cell has only by a build; `asks` are its known requirements."""

    pin: Pin
    asks: Published


class NamedBuilds:
    """The builds that a matrix names, resolved when a lock needs them."""

    def __init__(
        self, named: tuple[tuple[str, Version], ...], source: ReleaseSource, build: Build | None
    ) -> None:
        """Without a builder the releases are assumed to require nothing."""
        self._named = named
        # An index page takes tenths of a second to read, and every lock needs the same ones.
        self._releases = cache(partial(releases_of, source.package))
        self.build = build

    def names(self, pin: Pin) -> bool:
        return (pin.name, pin.version) in self._named

    def offered(self, inputs: Inputs) -> Iterator[SourceRelease]:
        for name, version in self._named:
            for release in self._releases(name):
                if release.version == version:
                    item = _source_release(name, release, inputs)
                    if item is not None:
                        yield item

    def sources(self, inputs: Inputs, name: str, *, newest: bool) -> Iterator[SourceRelease]:
        """Releases that only a build gives, newest first; `newest`: only those above any wheel."""
        for release in reversed(self._releases(name)):
            item = _source_release(name, release, inputs)
            if item is not None:
                yield item
            elif newest and any(fits_cell(a, inputs) for a in _shown(name, release, inputs)):
                return


def for_want_of_builds(
    refusal: Refusal,
    inputs: Inputs,
    builds: NamedBuilds,
    resolve: Callable[[Sequence[SourceRelease]], Sequence[Pin] | Refusal],
) -> Refusal:
    """A resolver backtracks over releases without a wheel, and names only the end. So it runs
    again, first with the newest source-only releases, then with all of them. Their requirements are
    unknown and assumed empty, so a failure even then holds for any requirements.
    """
    is_source_only = refusal.cause == "source-only"
    for newest in (True, False) if is_source_only else (True,):
        answer: Sequence[Pin] | Refusal = refusal
        names: set[str] = set()
        sources: list[SourceRelease] = []
        while isinstance(answer, Refusal) and not names.issuperset(answer.wheelless):
            names.update(answer.wheelless)
            each = (builds.sources(inputs, name, newest=newest) for name in sorted(names))
            sources = list(chain.from_iterable(each))
            if sources:
                answer = resolve(sources)
        if not isinstance(answer, Refusal):
            taken = {(pin.name, pin.version) for pin in answer}
            pins = [s.pin for s in sources if (s.pin.name, s.pin.version) in taken]
            pins = [pin for pin in pins if not builds.names(pin)]
            return needs_builds(refusal, pins) if pins else refusal
        if is_source_only and not newest and answer.cause != "source-only":
            return answer
    return refusal


def _source_release(name: str, release: Release, inputs: Inputs) -> SourceRelease | None:
    files = _shown(name, release, inputs)
    sources = [artifact for artifact in files if not (artifact.is_wheel or artifact.yanked)]
    if not sources or any(fits_cell(artifact, inputs) for artifact in files):
        return None
    hashes = tuple(sorted({a.sha256 for a in files if a.sha256 is not None}))
    asks = Published(requires_python=sources[0].requires_python, requires_dist=())
    return SourceRelease(pin=Pin(name=name, version=release.version, hashes=hashes), asks=asks)


def _shown(name: str, release: Release, inputs: Inputs) -> list[Artifact]:
    until = inputs.cutoff(name)
    return [artifact for artifact in release.artifacts if artifact.is_seen(until)]


def shelved(releases: Sequence[SourceRelease], folder: Path) -> None:
    for release in releases:
        asks, lines = release.asks, list[str]()
        if asks.requires_python is not None:
            lines.append(f"Requires-Python: {asks.requires_python}")
        lines += (f"Requires-Dist: {' '.join(text.split())}" for text in asks.requires_dist)
        name, content = pure_wheel(release.pin.name, str(release.pin.version), lines)
        (folder / name).write_bytes(content)


def pure_wheel(
    name: str, version: str, headers: Iterable[str] = (), modules: Mapping[str, str] | None = None
) -> tuple[str, bytes]:
    """Return file name and content of a wheel for any Python; equal wheels are equal bytes."""
    stem = f"{name.replace('-', '_')}-{version}"
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *headers]
    tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    texts = {f"{stem}.dist-info/METADATA": "\n".join(metadata) + "\n"}
    texts = {**(modules or {}), **texts, f"{stem}.dist-info/WHEEL": tags}
    packed, record = io.BytesIO(), ""
    with zipfile.ZipFile(packed, "w") as archive:
        # A ZipInfo without a time has a fixed one.
        for path, text in texts.items():
            archive.writestr(zipfile.ZipInfo(path), text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
            record += f"{path},sha256={digest.decode()},{len(text)}\n"
        archive.writestr(zipfile.ZipInfo(f"{stem}.dist-info/RECORD"), record)
    return f"{stem}-py3-none-any.whl", packed.getvalue()


def fits_cell(artifact: Artifact, inputs: Inputs) -> bool:
    return not artifact.yanked and fits(artifact, inputs.python, inputs.platform)
