"""The `site` room's files for search engines: a list of all pages, and the permission to read
them.
"""

from collections.abc import Iterable, Iterator, Sequence
from xml.etree import ElementTree

from compat.site.edition import Edition, SiteFile
from compat.site.encode import fit, written

SCHEMA = "http://www.sitemaps.org/schemas/sitemap/0.9"
# What the protocol allows in one file: https://www.sitemaps.org/protocol.html
MOST = 50_000


def sitemap(edition: Edition, pages: Iterable[str]) -> Iterator[SiteFile]:
    """Yield robots.txt, and sitemap.xml, which names every page of these paths; where they are more
    than a list may have, it names several lists that do.
    """
    robots = f"User-agent: *\nAllow: /\nSitemap: {edition.url('sitemap.xml')}\n"
    yield SiteFile(path="robots.txt", content=robots.encode())
    ordered = sorted(pages)
    if len(ordered) <= MOST:
        yield SiteFile(path="sitemap.xml", content=_listed(edition, "urlset", "url", ordered))
        return
    parts = [ordered[start : start + MOST] for start in range(0, len(ordered), MOST)]
    paths = [f"sitemap-{number}.xml" for number in range(1, len(parts) + 1)]
    for path, part in zip(paths, parts, strict=True):
        yield SiteFile(path=path, content=_listed(edition, "urlset", "url", part))
    yield SiteFile(path="sitemap.xml", content=_listed(edition, "sitemapindex", "sitemap", paths))


def _listed(edition: Edition, whole: str, each: str, paths: Sequence[str]) -> bytes:
    root = ElementTree.Element(whole, xmlns=SCHEMA)
    for path in paths:
        ElementTree.SubElement(ElementTree.SubElement(root, each), "loc").text = fit(
            edition.url(path)
        )
    return written(root)
