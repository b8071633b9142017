"""The `site` room's box for other people's pages as an image: what to install, for each Python."""

from collections.abc import Iterator
from xml.etree import ElementTree

from compat.site.edition import Edition, SiteFile
from compat.site.encode import line, written
from compat.site.exports.badges import SVG
from compat.site.pages.place_view import Doc
from compat.site.pages.whole_site import embed_box
from compat.site.paths import embed_image

_WIDTH, _HEAD, _ROW, _LEFT = 440, 54, 24, 16
_LONGEST = 58


def embed_images(edition: Edition) -> Iterator[SiteFile]:
    for report in edition.reports:
        image = boxed(embed_box(report))
        yield SiteFile(path=embed_image(report.name), content=image)


def boxed(box: Doc) -> bytes:
    lines = [*(f"Python {row.python}: {row.words}" for row in box.rows), box.tested]
    height = _HEAD + _ROW * len(lines)
    size = {"width": str(_WIDTH), "height": str(height), "viewBox": f"0 0 {_WIDTH} {height}"}
    root = ElementTree.Element("svg", xmlns=SVG, role="img", attrib=size)
    root.set("aria-labelledby", "t d")
    ElementTree.SubElement(root, "title", id="t").text = line(box.title, _LONGEST)
    ElementTree.SubElement(root, "desc", id="d").text = line(". ".join(lines), 1000)
    frame = {"x": "0.5", "y": "0.5", "width": str(_WIDTH - 1), "height": str(height - 1)}
    ElementTree.SubElement(root, "rect", rx="8", fill="#ffffff", stroke="#55616d", attrib=frame)
    group = ElementTree.SubElement(root, "g", fill="#16202a")
    group.set("font-family", "Verdana,DejaVu Sans,sans-serif")
    group.set("font-size", "12")
    heading = ElementTree.SubElement(group, "text", x=str(_LEFT), y="30")
    heading.set("font-weight", "bold")
    heading.text = line(box.title, _LONGEST)
    for number, words in enumerate(lines):
        text = ElementTree.SubElement(group, "text", x=str(_LEFT), y=str(_HEAD + _ROW * number))
        text.text = line(words, _LONGEST)
    return written(root)
