"""The `site` room's files for search engines: a list of all pages, and the permission to read
them.
"""

from collections.abc import Container, Iterator
from functools import partial
from xml.etree import ElementTree

from compat.site.edition import DigestListing, Edition, Listed, SiteFile
from compat.site.encode import fit, written

SCHEMA = "http://www.sitemaps.org/schemas/sitemap/0.9"
# What the protocol allows in one file.
MOST = 50_000


def sitemap(edition: Edition, elsewhere: Container[str]) -> Iterator[SiteFile | DigestListing]:
    """Yield robots.txt, and sitemap.xml, which names every page that came before it but those whose
    content has another address, or that send their reader on.
    """
    robots = f"User-agent: *\nAllow: /\nSitemap: {edition.url('sitemap.xml')}\n"
    yield SiteFile(path="robots.txt", content=robots.encode())
    yield DigestListing(path="sitemap.xml", below="", make=partial(_pages, edition, elsewhere))


def _pages(edition: Edition, elsewhere: Container[str], listed: tuple[Listed, ...]) -> bytes:
    root = ElementTree.Element("urlset", xmlns=SCHEMA)
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
