"""The `site` room's output folder: only what changed is written, and no address of an earlier
edition is lost.
"""

import gc
import gzip
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from compat.errors import CompatError, reason
from compat.site.edition import DigestListing, Listed, Made, SiteFile
from compat.value import Value

MANIFEST = ".edition.json"
URLS = "urls.json"
# Every file of the edition with its sha256, for whoever has a copy; see `verified`.
FILES = "files.json"
PAGE = "index.html"
# After so many files that were made, written or as before, their makers' garbage is cleared away,
# and only theirs.
_MADE = 200


class Known(Value, frozen=True, array_like=True):
    """A file as it was last written: the inputs that it was made from, its sha256 and size, of a
    page also gzipped.
    """

    inputs: str
    sha256: str
    gzipped: int = 0
    size: int = 0


class Manifest(Value, frozen=True):
    """What an earlier edition left: by which generation of code and templates, and each file.

    `sources` is a digest of all that it was made from, `redirects` are the addresses that are gone.
    """

    generation: str = ""
    files: dict[str, Known] = msgspec.field(default_factory=dict)
    sources: str = ""
    redirects: tuple[str, ...] = ()


class Written(Value, frozen=True, kw_only=True):
    """The result of writing an edition: the paths that changed, how many did not, and which
    addresses now redirect.
    """

    changed: tuple[str, ...]
    unchanged: int
    moved: tuple[str, ...]
    files: Mapping[str, Known]


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without searches for garbage: an edition is millions of values that live to its end, and a
    search visits all.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@_uncollected()
def write_edition(
    folder: Path,
    files: Iterable[SiteFile | Made | DigestListing],
    generation: str,
    earlier: Iterable[str],
    moved: Callable[[str, str], bytes],
    sources: str = "",
) -> Written:
    """Write the files below the folder, those that are as before left alone, and a redirect for
    each page that is gone.

    `earlier` are the addresses of pages that editions elsewhere had; `moved` makes the page that
    sends its reader from one address to another. Files other than pages that are no longer made
    stay as they are. `sources` is a digest of all that the edition is made from, for `as_before`.
    """
    old = _manifest(folder)
    if old.generation != generation:
        old = Manifest(
            generation=generation,
            files={path: Known("", k.sha256, k.gzipped, k.size) for path, k in old.files.items()},
        )
    new: dict[str, Known] = {}
    changed: list[str] = []
    made_files = 0
    for file in files:
        if file.path in new:
            raise CompatError.of("is made twice", path=file.path)
        whole = _listing(file, new) if isinstance(file, DigestListing) else file
        known, written = _kept(folder, whole, old.files.get(file.path))
        new[file.path] = known
        if written:
            changed.append(file.path)
        if known is not old.files.get(file.path):
            made_files += 1
            if made_files % _MADE == 0:
                gc.collect(1)
    unchanged = len(new) - len(changed)
    every = {*_urls(folder), *earlier, *(path for path in new if is_page(path))}
    gone = sorted(every - new.keys())
    further = {path: moved(path, nearest(path, new)) for path in gone} | {URLS: urls_text(every)}
    changed += [path for path, content in further.items() if _write(folder / path, content)]
    # No file of its own: it changes whenever any other does.
    _write(folder / FILES, _files_text(new, further))
    left = Manifest(generation=generation, files=new, sources=sources, redirects=tuple(gone))
    _write(folder / MANIFEST, msgspec.json.encode(left))
    return Written(changed=tuple(changed), unchanged=unchanged, moved=tuple(gone), files=new)


def as_before(folder: Path, sources: str) -> Written | None:
    """Return what an edition of these sources left in the folder, where it is still there: every
    file with its size. None where the edition has to be made.
    """
    left = _manifest(folder)
    if not sources or left.sources != sources:
        return None
    if not all(_has_size(f"{folder}/{path}", known.size) for path, known in left.files.items()):
        return None
    if not all(os.path.exists(folder / path) for path in (*left.redirects, URLS, FILES)):
        return None
    return Written(changed=(), unchanged=len(left.files), moved=left.redirects, files=left.files)


def _has_size(path: str, size: int) -> bool:
    try:
        return os.stat(path).st_size == size
    except OSError:
        return False


def nearest(path: str, living: Iterable[str] | Mapping[str, object]) -> str:
    """Return the page of the nearest folder above that has one: what a reader of a page that is
    gone is sent to.
    """
    paths = living if isinstance(living, Mapping) else set(living)
    parts = path.split("/")[:-1]
    while parts:
        parts.pop()
        candidate = "/".join((*parts, PAGE))
        if candidate in paths:
            return candidate
    return PAGE


def is_page(path: str) -> bool:
    return path.rpartition("/")[2] == PAGE


def urls_text(paths: Iterable[str]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(sorted(paths)), indent=1) + b"\n"


def _files_text(files: Mapping[str, Known], further: Mapping[str, bytes]) -> bytes:
    listed = [
        Listed(path=path, sha256=known.sha256, bytes=known.size) for path, known in files.items()
    ]
    listed += [
        Listed(path=path, sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))
        for path, content in further.items()
    ]
    ordered = sorted(listed, key=lambda file: file.path)
    return msgspec.json.format(msgspec.json.encode({"files": ordered}), indent=0) + b"\n"


def read_urls(text: bytes) -> tuple[str, ...]:
    """Return the addresses of such a list; ValueError when it is not one, or one points outside of
    the site.
    """
    paths = msgspec.json.decode(text, type=tuple[str, ...])
    for path in paths:
        refuse_unsafe(path)
    return paths


def refuse_unsafe(path: str) -> None:
    """Raise ValueError for what is not a path below the root of a site."""
    parts = path.split("/")
    if not all(parts) or any(part in (".", "..") for part in parts) or "\\" in path or "\0" in path:
        raise ValueError(f"{path[:100]!r} is not a path of a site")


def _kept(folder: Path, file: SiteFile | Made, known: Known | None) -> tuple[Known, bool]:
    refuse_unsafe(file.path)
    inputs = file.inputs if isinstance(file, Made) else ""
    before = known if known is not None and os.path.exists(f"{folder}/{file.path}") else None
    if before is not None and inputs and before.inputs == inputs:
        return before, False
    content = file.make() if isinstance(file, Made) else file.content
    sha256 = hashlib.sha256(content).hexdigest()
    if before is not None and before.sha256 == sha256:
        return Known(inputs, sha256, before.gzipped, len(content)), False
    weighed = len(gzip.compress(content, 6)) if file.path.endswith((".html", ".css", ".js")) else 0
    return Known(inputs, sha256, weighed, len(content)), _write(folder / file.path, content)


def _listing(listing: DigestListing, files: Mapping[str, Known]) -> SiteFile:
    paths = sorted(filter(listing.lists, files))
    listed = (
        Listed(path=path, sha256=files[path].sha256, bytes=files[path].size) for path in paths
    )
    return SiteFile(path=listing.path, content=listing.make(tuple(listed)))


def _write(path: Path, content: bytes) -> bool:
    """Write the file unless it is so already; a reader sees the old one or the new one."""
    try:
        if path.exists() and path.read_bytes() == content:
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.new")
        fresh.write_bytes(content)
        os.replace(fresh, path)
    except OSError as fault:
        raise CompatError.of(f"cannot be written: {reason(fault)}", path=str(path)) from fault
    return True


def _manifest(folder: Path) -> Manifest:
    try:
        return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
    except (OSError, ValueError):
        return Manifest()


def _urls(folder: Path) -> tuple[str, ...]:
    try:
        return read_urls((folder / URLS).read_bytes())
    except (OSError, ValueError):
        return ()
