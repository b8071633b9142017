"""The `site` room's files for search engines: a list of all pages, and the permission to read
them.
"""

from collections.abc import Iterator
from functools import partial
from xml.etree import ElementTree

from compat.site.edition import DigestListing, Edition, Listed, SiteFile
from compat.site.encode import fit, written
from compat.site.pages.page_list import pages

SCHEMA = "http://www.sitemaps.org/schemas/sitemap/0.9"
# What the protocol allows in one file.
MOST = 50_000


def sitemap(edition: Edition) -> Iterator[SiteFile | DigestListing]:
    """Yield robots.txt, and sitemap.xml, which names every page that came before it by its
    canonical address.
    """
    robots = f"User-agent: *\nAllow: /\nSitemap: {edition.url('sitemap.xml')}\n"
    yield SiteFile(path="robots.txt", content=robots.encode())
    yield DigestListing(path="sitemap.xml", below="", make=partial(_pages, edition))


def _pages(edition: Edition, listed: tuple[Listed, ...]) -> bytes:
    root = ElementTree.Element("urlset", xmlns=SCHEMA)
    # A page whose content has another address, or that sends its reader on, is left out.
    elsewhere = {page.path for page in pages(edition) if page.canonical}
    paths = [
        file.path
        for file in listed
        if file.path.rpartition("/")[2] == "index.html" and file.path not in elsewhere
    ]
    for path in paths[:MOST]:
        ElementTree.SubElement(ElementTree.SubElement(root, "url"), "loc").text = fit(
            edition.url(path)
        )
    return written(root)
