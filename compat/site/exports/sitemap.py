"""The `site` room's files for search engines: a list of all pages, and the permission to read
them.
"""

from collections.abc import Container, Iterator
from functools import partial
from xml.etree import ElementTree

from compat.site.edition import DigestListing, Edition, Listed, SiteFile
from compat.site.encode import fit, written
from compat.site.writer import is_page

SCHEMA = "http://www.sitemaps.org/schemas/sitemap/0.9"
# What the protocol allows in one file.
MOST = 50_000


def sitemap(edition: Edition, elsewhere: Container[str]) -> Iterator[SiteFile | DigestListing]:
    """Yield robots.txt, and sitemap.xml, which names every page that came before it but those whose
    content has another address, or that send their reader on.
    """
    robots = f"User-agent: *\nAllow: /\nSitemap: {edition.url('sitemap.xml')}\n"
    yield SiteFile(path="robots.txt", content=robots.encode())
    yield DigestListing(
        path="sitemap.xml",
        lists=lambda path: is_page(path) and path not in elsewhere,
        make=partial(_pages, edition),
    )


def _pages(edition: Edition, listed: tuple[Listed, ...]) -> bytes:
    root = ElementTree.Element("urlset", xmlns=SCHEMA)
    for file in listed[:MOST]:
        ElementTree.SubElement(ElementTree.SubElement(root, "url"), "loc").text = fit(
            edition.url(file.path)
        )
    return written(root)
