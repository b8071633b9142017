"""The `site` room's data: every producer of files that are no pages, each `files(edition) ->
Iterator[...]`.
"""

from collections.abc import Callable, Iterator

from compat.site.api.documents import api, cell_files
from compat.site.edition import DigestListing, Edition, Made, SiteFile
from compat.site.exports import lock_files
from compat.site.exports.badges import badges
from compat.site.exports.card import cards
from compat.site.exports.database import downloads
from compat.site.exports.embed_image import embed_images
from compat.site.exports.feeds import feeds
from compat.site.exports.ical import calendars
from compat.site.exports.search_index import search_files
from compat.site.exports.spreadsheet import spreadsheets

Producer = Callable[[Edition], Iterator[SiteFile | Made | DigestListing]]
PRODUCERS: tuple[Producer, ...] = (
    lock_files.files,
    badges,
    feeds,
    calendars,
    cards,
    embed_images,
    search_files,
    downloads,
    spreadsheets,
    cell_files,
    api,
)
