"""The `site` room's last step: an edition with every page, feed and document, into one folder."""

import contextlib
import gc
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from compat import files
from compat.errors import CompatError, UsageError, reason
from compat.site.api.documents import api, cell_files
from compat.site.edition import Edition, SiteFile
from compat.site.encode import rendered
from compat.site.exports import lock_files
from compat.site.exports.advisories import advisories
from compat.site.exports.database import downloads, spreadsheets
from compat.site.exports.feeds import calendars, feeds
from compat.site.exports.pictures import badges, cards
from compat.site.exports.search_index import search_files
from compat.site.pages.render import Printer, assets
from compat.site.paths import is_cell_page
from compat.site.writer import Written, as_before, read_urls, write_edition

# Each yields the files of an edition that are no pages.
PRODUCERS: tuple[Callable[[Edition], Iterator[SiteFile]], ...] = (
    *(lock_files.files, badges, feeds, calendars, cards, search_files, downloads),
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
        edition, urls = make(), kept_urls(earlier)
        printer = Printer(edition, assets())
        # An edition is millions of values that live to its end, and each search for garbage
        # visits all.
        gc.freeze()
        written = write_edition(out, edition_files(edition, printer), urls, printer.moved, digest)
        gc.unfreeze()
        return written


def kept_urls(path: Path) -> tuple[str, ...]:
    content = files.read_if_there(path)
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
