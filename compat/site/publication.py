"""The `site` room's last step: an edition with every page, feed and document, into one folder."""

import contextlib
import gc
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from compat import files
from compat.errors import CompatError, UsageError, reason
from compat.site.api.documents import api, cell_files
from compat.site.edition import DigestListing, Edition, SiteFile
from compat.site.exports import lock_files
from compat.site.exports.badges import badges
from compat.site.exports.card import cards
from compat.site.exports.database import downloads
from compat.site.exports.embed_image import embed_images
from compat.site.exports.feeds import feeds
from compat.site.exports.ical import calendars
from compat.site.exports.search_index import search_files
from compat.site.exports.sitemap import sitemap
from compat.site.exports.spreadsheet import spreadsheets
from compat.site.pages.render import Printer, assets, generation
from compat.site.paths import is_cell_page
from compat.site.writer import Written, as_before, read_urls, write_edition

# Each yields the files of an edition that are no pages; what lists others comes after them.
PRODUCERS: tuple[Callable[[Edition], Iterator[SiteFile | DigestListing]], ...] = (
    *(lock_files.files, badges, feeds, calendars, cards, embed_images, search_files, downloads),
    *(spreadsheets, cell_files, api),
)


def write_site(
    make: Callable[[], Edition], out: Path, earlier: Path, sources: Iterable[object]
) -> Written:
    """Write the edition into the folder, with redirects for the pages of earlier editions that are
    gone; `earlier` is the list of their addresses.

    `sources` are all that the edition is made from: where the folder has an edition of the same
    sources and of this code, none is made. Raises CompatError when the folder cannot be written, or
    another process writes into it.
    """
    parts = repr((generation(), *sources))
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
    """Return the addresses that are kept beside the matrices: those of every earlier edition,
    wherever it was made.
    """
    content = files.read_if_there(path)
    try:
        return () if content is None else read_urls(content)
    except ValueError as fault:
        raise UsageError.of(
            str(fault), path=str(path), hint="compat publish --keep-urls writes this file"
        ) from fault


def edition_files(edition: Edition, printer: Printer) -> Iterator[SiteFile | DigestListing]:
    """Yield every file of the edition: the pages, that of a cell with its document right after it
    (both are made from one document), and what lists others after them.
    """
    documents = cell_files(edition)
    for page in printer.files():
        yield page
        if is_cell_page(page.path):
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
