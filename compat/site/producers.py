"""The `site` room's data: every producer of files that are no pages, each `files(edition) -> Iterator[...]`."""

from collections.abc import Callable, Iterator

from compat.site import installs
from compat.site.api import api
from compat.site.edition import Edition, File, Listing, Made

Producer = Callable[[Edition], Iterator[File | Made | Listing]]
PRODUCERS: tuple[Producer, ...] = (installs.files, api)
