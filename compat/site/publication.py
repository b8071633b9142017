"""The `site` room's last step: writes an edition into one folder, whole or not at all."""

import contextlib
import gc
import gzip
import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from compat import files
from compat.errors import CompatError, Fault, UsageError, reason
from compat.files import write
from compat.site import edition
from compat.site.documents import api, cell_files
from compat.site.edition import Edition, Listed, SiteFile, rendered
from compat.site.exports import advisories, calendars, downloads, feeds, search_files, spreadsheets
from compat.site.paths import is_cell_page
from compat.site.pictures import badges, cards
from compat.site.render import Printer, assets
from compat.value import Value, grouped

# The output folder: only what changed is written, no address of an earlier edition is lost, and a
# copy can be checked.
#
# The list, `files.json`, names every page, badge, feed and document of the edition with its sha256,
# so a look at that one file decides about all. Files of two editions mixed do not pass.

MANIFEST = ".edition.json"
URLS = "urls.json"
FILES = "files.json"
PAGE = "index.html"
T = TypeVar("T")
KIB = 1024
# The most that a kind of file may weigh, gzipped. The kind of a page is the folder below its
# matrix; the box for other pages is one of its own.
_BUDGETS = {"grid": 50, "cell": 12, "embed": 4, "css": 12, "js": 15}
_PAGE = 60


class Manifest(Value, frozen=True):
    """What an edition left beside its list of files; `sources` is a digest of its sources,
    `redirects` are the addresses that are gone, `gzipped` has the weight of each page.
    """

    sources: str = ""
    redirects: tuple[str, ...] = ()
    gzipped: dict[str, int] = msgspec.field(default_factory=dict)


class Written(Value, frozen=True, kw_only=True):
    """The result of writing an edition: the paths that changed, how many did not, and which
    addresses now redirect.
    """

    changed: tuple[str, ...]
    unchanged: int
    moved: tuple[str, ...]
    files: Mapping[str, Listed]
    gzipped: Mapping[str, int]


class Weight(Value, frozen=True, kw_only=True):
    """The heaviest file of a kind: how many there are, and its size and the most allowed, in bytes
    after gzip.
    """

    kind: str
    count: int
    heaviest: str
    size: int
    most: int

    @property
    def is_over(self) -> bool:
        return self.size > self.most


class _List(Value, frozen=True):
    files: tuple[Listed, ...]


def write_edition(
    folder: Path,
    files: Iterable[SiteFile],
    earlier: Iterable[str],
    moved: Callable[[str, str], bytes],
    sources: str = "",
) -> Written:
    """Write the files below the folder, those that are as before left alone, and a redirect for
    each page that is gone.

    `earlier` are the addresses of pages that editions elsewhere had; `moved` makes the page that
    sends its reader from one address to another. Files other than pages that are no longer made
    stay as they are. `sources` is a digest of the edition's sources, for `as_before`.
    """
    old, new, changed = _listed(folder), dict[str, Listed](), list[str]()
    left, gzipped = _read(folder / MANIFEST, Manifest) or Manifest(), dict[str, int]()
    for file in files:
        if file.path in new:
            raise CompatError.of("is made twice", path=file.path)
        refuse_unsafe(file.path)
        content = file.content
        sha256, before = hashlib.sha256(content).hexdigest(), old.get(file.path)
        is_same = before is not None and before.sha256 == sha256
        new[file.path] = Listed(path=file.path, sha256=sha256, bytes=len(content))
        if file.path.endswith((".html", ".css", ".js")):
            weight = left.gzipped.get(file.path) if is_same else None
            gzipped[file.path] = weight or len(gzip.compress(content, 6))
        is_left = is_same and os.path.exists(f"{folder}/{file.path}")
        if not is_left and write(folder / file.path, content, synced=False):
            changed.append(file.path)
    unchanged = len(new) - len(changed)
    every = {*_urls(folder), *earlier, *(path for path in new if is_page(path))}
    gone = sorted(every - new.keys())
    further = {path: moved(path, nearest(path, new)) for path in gone}
    further[URLS] = msgspec.json.format(msgspec.json.encode(sorted(every)), indent=1) + b"\n"
    for path, content in further.items():
        changed += [path] if write(folder / path, content, synced=False) else []
    whole = new | {
        path: Listed(path=path, sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))
        for path, content in further.items()
    }
    # No file of its own: it changes whenever any other does.
    text = msgspec.json.encode(_List(files=tuple(whole[path] for path in sorted(whole))))
    write(folder / FILES, text + b"\n")
    left = Manifest(sources=sources, redirects=tuple(gone), gzipped=gzipped)
    write(folder / MANIFEST, msgspec.json.encode(left))
    return Written(
        changed=tuple(changed), unchanged=unchanged, moved=tuple(gone), files=new, gzipped=gzipped
    )


def as_before(folder: Path, sources: str) -> Written | None:
    """Return what an edition of these sources left in the folder, where it is still there: every
    file with its size. None where the edition has to be made.
    """
    left = _read(folder / MANIFEST, Manifest)
    if not sources or left is None or left.sources != sources:
        return None
    every = _listed(folder)
    try:
        is_there = all(os.stat(f"{folder}/{p}").st_size == each.bytes for p, each in every.items())
    except OSError:
        is_there = False
    if not every or not is_there:
        return None
    own = {path: every[path] for path in every.keys() - {*left.redirects, URLS}}
    return Written(
        changed=(), unchanged=len(own), moved=left.redirects, files=own, gzipped=left.gzipped
    )


def verified(folder: Path) -> tuple[int, tuple[Fault, ...]]:
    """Return how many files the list of a copy has, and what is wrong with it."""
    regular, others = _there(folder)
    try:
        if FILES not in regular:
            raise ValueError("is not there")
        listed = msgspec.json.decode((folder / FILES).read_bytes(), type=_List).files
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        words = f"is not a valid list of the files of a site: {why}"
        return 0, (_fault("no-index", FILES, words),)
    # The list cannot hold itself, and the manifest is for the machine that writes the folder.
    strangers = (regular | others) - {file.path for file in listed} - {FILES, MANIFEST}
    words = "is not in the list: of another edition, or added"
    faults = [_fault("stray", path, words) for path in strangers]
    for file in listed:
        code, words = "missing", ""
        try:
            refuse_unsafe(file.path)
            content = (folder / file.path).read_bytes() if file.path in regular else None
        except OSError as error:
            words = f"is listed, but cannot be read: {reason(error)}"
        except ValueError:
            code, words = "outside", "points outside of the site"
        else:
            if content is None:
                why = "is not a regular file" if file.path in others else "is not there"
                words = f"is listed, but {why}"
            elif (len(content), hashlib.sha256(content).hexdigest()) != (file.bytes, file.sha256):
                code, words = "mixed", "is not what the list has: of another edition, or changed"
        faults += [_fault(code, file.path, words)] if words else []
    ordered = sorted(faults, key=lambda fault: (fault.path, fault.code))
    return len(listed), tuple(ordered)


def weights(sizes: Mapping[str, int]) -> tuple[Weight, ...]:
    def kind_of(path: str) -> str:
        parts = path.split("/")
        if path.endswith((".css", ".js")):
            return path.rpartition(".")[2]
        return "embed" if parts[0] == "embed" else parts[1] if parts[2:] else "home"

    weights = []
    for kind, paths in sorted(grouped((kind_of(path), path) for path in sizes).items()):
        size, heaviest = max((sizes[path], path) for path in paths)
        most, count = _BUDGETS.get(kind, _PAGE) * KIB, len(paths)
        weights.append(Weight(kind=kind, count=count, heaviest=heaviest, size=size, most=most))
    return tuple(weights)


def nearest(path: str, living: Collection[str]) -> str:
    parts = path.split("/")[:-1]
    while parts:
        parts.pop()
        candidate = "/".join((*parts, PAGE))
        if candidate in living:
            return candidate
    return PAGE


def is_page(path: str) -> bool:
    return path.rpartition("/")[2] == PAGE


def read_urls(text: bytes) -> tuple[str, ...]:
    paths = msgspec.json.decode(text, type=tuple[str, ...])
    for path in paths:
        refuse_unsafe(path)
    return paths


def refuse_unsafe(path: str) -> None:
    """Raise ValueError for what is not a path below the root of a site."""
    parts = path.split("/")
    if not all(parts) or any(part in (".", "..") for part in parts) or "\\" in path or "\0" in path:
        raise ValueError(f"{path[:100]!r} is not a path of a site")


def _read(path: Path, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, ValueError):
        return None


def _listed(folder: Path) -> dict[str, Listed]:
    listed = _read(folder / FILES, _List)
    return {each.path: each for each in listed.files} if listed else {}


def _urls(folder: Path) -> tuple[str, ...]:
    try:
        return read_urls((folder / URLS).read_bytes())
    except (OSError, ValueError):
        return ()


def _there(folder: Path) -> tuple[set[str], set[str]]:
    """The paths of the regular files in a folder, and those of links, pipes and other things that
    are not directories.
    """
    regular, others = set[str](), set[str]()
    for base, folders, names in os.walk(folder):
        links = (name for name in folders if os.path.islink(f"{base}/{name}"))
        for path in (Path(base, name) for name in (*names, *links)):
            is_regular = path.is_file() and not path.is_symlink()
            (regular if is_regular else others).add(path.relative_to(folder).as_posix())
    return regular, others


def _fault(code: str, path: str, message: str) -> Fault:
    hint = "publish the whole site again, or fetch it whole"
    return Fault(code=code, path=path, message=message, hint=hint)


# Each yields the files of an edition that are no pages.
PRODUCERS: tuple[Callable[[Edition], Iterator[SiteFile]], ...] = (
    *(edition.lock_site_files, badges, feeds, calendars, cards, search_files, downloads),
    *(spreadsheets, advisories, cell_files, api),
)


def write_site(
    make: Callable[[], Edition], out: Path, earlier: Path, sources: Iterable[object]
) -> Written:
    """Write the edition into the folder, with redirects for the pages of earlier editions that are
    gone; `earlier` is the list of their addresses.

    If the folder has an edition of the same `sources` and this code, none is made. Raises
    CompatError when the folder cannot be written, or another process writes into it.
    """
    # In a checkout `pages` is a link, which `tree_state` does not follow.
    own = [files.tree_state(folder) for folder in (assets(), assets() / "pages")]
    parts = repr((files.code_digest(), *own, *sources))
    digest = hashlib.sha256(parts.encode(errors="surrogateescape")).hexdigest()
    with _alone(out):
        before = as_before(out, digest)
        if before is not None:
            return before
        edition, urls = make(), stored_urls(earlier)
        printer = Printer(edition, assets())
        # An edition is millions of values that live to its end, and each search for garbage
        # visits all.
        gc.freeze()
        written = write_edition(out, edition_files(edition, printer), urls, printer.moved, digest)
        gc.unfreeze()
        return written


def stored_urls(path: Path) -> tuple[str, ...]:
    content = files.read_if_present(path)
    try:
        return () if content is None else read_urls(content)
    except ValueError as fault:
        raise UsageError.of(
            str(fault), path=str(path), hint="compat publish --keep-urls writes this file"
        ) from fault


def edition_files(edition: Edition, printer: Printer) -> Iterator[SiteFile]:
    """Yield every file of the edition: the pages, that of a cell with its document right after it,
    as both are made from one document, and the rest.
    """
    documents = cell_files(edition)
    for file in printer.files():
        yield file
        if is_cell_page(file.path):
            yield next(documents)
    for producer in PRODUCERS:
        if producer is not cell_files:
            yield from producer(edition)
    yield from sitemap(edition, printer.own)


@contextlib.contextmanager
def _alone(out: Path) -> Iterator[None]:
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = files.lock(out)
    except OSError as fault:
        raise CompatError.of(f"cannot be written: {reason(fault)}", path=str(out)) from fault
    if lock is None:
        remedy = "wait until it has ended, or name another folder with --out"
        raise CompatError.of(
            "another compat writes into this folder now", path=str(out), hint=remedy
        )
    try:
        yield
    finally:
        os.close(lock)


# What the protocol allows in one file: https://www.sitemaps.org/protocol.html
MOST = 50_000


def sitemap(edition: Edition, pages: Iterable[str]) -> Iterator[SiteFile]:
    """Yield robots.txt, and sitemap.xml, which names every page of these paths; where they are more
    than a list may have, it names several lists that do.
    """
    robots = f"User-agent: *\nAllow: /\nSitemap: {edition.url('sitemap.xml')}\n"
    yield SiteFile(path="robots.txt", content=robots.encode())
    ordered = sorted(pages)
    parts = [ordered[start : start + MOST] for start in range(0, len(ordered), MOST)]
    files = {f"sitemap-{n}.xml" if parts[1:] else "sitemap.xml": p for n, p in enumerate(parts, 1)}
    of = partial(rendered, "sitemap.xml", edition=edition)
    for path, listed in files.items():
        yield SiteFile(path=path, content=of(whole="urlset", each="url", listed=listed))
    if parts[1:]:
        content = of(whole="sitemapindex", each="sitemap", listed=list(files))
        yield SiteFile(path="sitemap.xml", content=content)
