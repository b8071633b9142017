"""The `site` room's social card: the answer of a matrix as an image of 1200 by 630.

It is SVG: a bitmap would need a drawing library and fonts. What shows only bitmaps shows the page's
title instead.
"""

from collections import Counter
from collections.abc import Iterator
from xml.etree import ElementTree

from compat.advise.answer import Recommended
from compat.advise.request import Request, label
from compat.site.edition import Edition, MatrixReport, SiteFile
from compat.site.encode import line, written
from compat.site.paths import card_path
from compat.site.wording import count, day

SVG = "http://www.w3.org/2000/svg"
WIDTH, HEIGHT = 1200, 630


def cards(edition: Edition) -> Iterator[SiteFile]:
    """Yield the card of each matrix."""
    for report in edition.reports:
        yield SiteFile(path=card_path(report.name), content=card(report))


def card(report: MatrixReport) -> bytes:
    """Return the card of a matrix: its title, what to install, and how much of it was tested."""
    lines = list(_lines(report))
    size = {"width": str(WIDTH), "height": str(HEIGHT), "viewBox": f"0 0 {WIDTH} {HEIGHT}"}
    root = ElementTree.Element("svg", xmlns=SVG, role="img", attrib=size)
    root.set("aria-labelledby", "t d")
    ElementTree.SubElement(root, "title", id="t").text = lines[0]
    ElementTree.SubElement(root, "desc", id="d").text = ". ".join(lines)
    ElementTree.SubElement(root, "rect", width=str(WIDTH), height=str(HEIGHT), fill="#0d1b2a")
    ElementTree.SubElement(root, "rect", width="24", height=str(HEIGHT), fill="#cfe8ff")
    group = ElementTree.SubElement(root, "g", fill="#ffffff")
    group.set("font-family", "Verdana,DejaVu Sans,sans-serif")
    for number, words in enumerate(lines):
        text = ElementTree.SubElement(group, "text", x="80", y=str(150 + 100 * number))
        text.set("font-size", "64" if number == 0 else "40")
        text.text = words
    return written(root)


def _lines(report: MatrixReport) -> Iterator[str]:
    snapshot = report.snapshot
    yield line(snapshot.matrix.title, 30)
    answer = report.answer(Request())
    if isinstance(answer, Recommended):
        proof = answer.best.proof
        for axis in (
            snapshot.matrix.subject_axis,
            *(a for a in snapshot.matrix.axes if a.name != snapshot.matrix.subject),
        ):
            yield line(f"{label(axis)} {proof.version(axis.name)}", 48)
    else:
        yield "no combination passed yet"
    kinds = Counter(entry.verdict.kind for entry in snapshot.known if entry.is_tested)
    yield line(
        f"{count(kinds.total(), 'cell')} tested, {kinds['works']} work; {day(snapshot.day)}", 48
    )
