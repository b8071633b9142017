"""The `site` room's data: every producer of files that are no pages, each `files(edition) -> Iterator[File | Made]`."""

from collections.abc import Callable, Iterator

from compat.site.edition import Edition, File, Made

Producer = Callable[[Edition], Iterator[File | Made]]
PRODUCERS: tuple[Producer, ...] = ()
