"""The `site` room's data: every producer of files that are no pages, each `files(edition) ->
Iterator[...]`.
"""

from collections.abc import Callable, Iterator

from compat.site import installs
from compat.site.api import api
from compat.site.badges import badges
from compat.site.calendars import calendars
from compat.site.card import cards
from compat.site.download import downloads
from compat.site.edition import Edition, File, Listing, Made
from compat.site.feeds import feeds
from compat.site.sitemap import sitemap

Producer = Callable[[Edition], Iterator[File | Made | Listing]]
# The last names the files of all others.
PRODUCERS: tuple[Producer, ...] = (
    installs.files,
    badges,
    feeds,
    calendars,
    cards,
    downloads,
    api,
    sitemap,
)
