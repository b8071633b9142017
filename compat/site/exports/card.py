"""The `site` room's social card: the answer of a matrix as an image of 1200 by 630, as SVG and as
the PNG that sites which preview links take.
"""

import io
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


PAPER, BAR, INK = "#0d1b2a", "#cfe8ff", "#ffffff"
_LEFT, _FIRST, _STEP = 80, 150, 100
_TITLE_SIZE, _SIZE = 64, 40
# More colours than these shades of three would only make the file larger.
_COLOURS = 32


def cards(edition: Edition) -> Iterator[SiteFile]:
    for report in edition.reports:
        yield SiteFile(path=card_path(report.name, "svg"), content=card(report))
        yield SiteFile(path=card_path(report.name, "png"), content=bitmap(report))


def bitmap(report: MatrixReport) -> bytes:
    # Only here, as no other command needs it: it takes 40 ms to import (measured 2026-11-23).
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    canvas = ImageDraw.Draw(image)
    canvas.rectangle((0, 0, 24, HEIGHT), fill=BAR)
    for number, words in enumerate(_lines(report)):
        font = ImageFont.load_default(_TITLE_SIZE if number == 0 else _SIZE)
        canvas.text((_LEFT, _FIRST + _STEP * number), words, fill=INK, font=font, anchor="ls")
    content = io.BytesIO()
    image.quantize(_COLOURS).save(content, "PNG", optimize=True)
    return content.getvalue()


def card(report: MatrixReport) -> bytes:
    """Return the card of a matrix: its title, what to install, and how much of it was tested."""
    lines = list(_lines(report))
    size = {"width": str(WIDTH), "height": str(HEIGHT), "viewBox": f"0 0 {WIDTH} {HEIGHT}"}
    root = ElementTree.Element("svg", xmlns=SVG, role="img", attrib=size)
    root.set("aria-labelledby", "t d")
    ElementTree.SubElement(root, "title", id="t").text = lines[0]
    ElementTree.SubElement(root, "desc", id="d").text = ". ".join(lines)
    ElementTree.SubElement(root, "rect", width=str(WIDTH), height=str(HEIGHT), fill=PAPER)
    ElementTree.SubElement(root, "rect", width="24", height=str(HEIGHT), fill=BAR)
    group = ElementTree.SubElement(root, "g", fill=INK)
    group.set("font-family", "Verdana,DejaVu Sans,sans-serif")
    for number, words in enumerate(lines):
        text = ElementTree.SubElement(group, "text", x=str(_LEFT), y=str(_FIRST + _STEP * number))
        text.set("font-size", str(_TITLE_SIZE if number == 0 else _SIZE))
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
    tested = sum(entry.is_tested for entry in snapshot.known)
    yield line(f"{count(tested, 'combination')} tested; {day(snapshot.day)}", 48)
