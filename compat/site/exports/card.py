"""The `site` room's pictures for other people's pages: the social card as SVG and as the PNG that
sites which preview links take, and the box of what to install for each Python.
"""

import io
from collections.abc import Iterator
from xml.etree import ElementTree

from compat.advise.answer import Recommended
from compat.advise.request import Request
from compat.site.edition import Edition, MatrixReport, SiteFile
from compat.site.encode import line, picture, texts, written
from compat.site.pages.advice_view import tiles
from compat.site.pages.place_view import Doc
from compat.site.pages.whole_site import embed_box
from compat.site.paths import card_path, embed_image
from compat.site.wording import count, day

WIDTH, HEIGHT = 1200, 630
PAPER, BAR, INK = "#0d1b2a", "#cfe8ff", "#ffffff"
_LEFT, _FIRST, _STEP = 80, 150, 100
_TITLE_SIZE, _SIZE = 64, 40
# More colours than these shades of three would only make the file larger.
_COLOURS = 32
_BOX_WIDTH, _BOX_HEAD, _BOX_ROW, _BOX_LEFT = 440, 54, 24, 16
_LONGEST = 58


def cards(edition: Edition) -> Iterator[SiteFile]:
    for report in edition.reports:
        yield SiteFile(path=card_path(report.name, "svg"), content=card(report))
        yield SiteFile(path=card_path(report.name, "png"), content=bitmap(report))
        yield SiteFile(path=embed_image(report.name), content=boxed(embed_box(report)))


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
    lines = [*_lines(report)]
    root = picture(WIDTH, HEIGHT, lines[0], ". ".join(lines))
    ElementTree.SubElement(root, "rect", width=str(WIDTH), height=str(HEIGHT), fill=PAPER)
    ElementTree.SubElement(root, "rect", width="24", height=str(HEIGHT), fill=BAR)
    group = texts(root, INK)
    for number, words in enumerate(lines):
        text = ElementTree.SubElement(group, "text", x=str(_LEFT), y=str(_FIRST + _STEP * number))
        text.set("font-size", str(_TITLE_SIZE if number == 0 else _SIZE))
        text.text = words
    return written(root)


def _lines(report: MatrixReport) -> Iterator[str]:
    snapshot, answer = report.snapshot, report.answer(Request())
    yield line(snapshot.matrix.title, 30)
    if isinstance(answer, Recommended):
        subject, *others = tiles(report, answer.best.proof)
        for label, version, _ in (subject, *others[::-1]):
            yield line(f"{label} {version}", 48)
    else:
        yield "no combination passed yet"
    tested = sum(entry.is_tested for entry in snapshot.known)
    yield line(f"{count(tested, 'combination')} tested; {day(snapshot.day)}", 48)


def boxed(box: Doc) -> bytes:
    lines = [*(f"Python {row.python}: {row.words}" for row in box.rows), box.tested]
    height, title = _BOX_HEAD + _BOX_ROW * len(lines), line(box.title, _LONGEST)
    root = picture(_BOX_WIDTH, height, title, line(". ".join(lines), 1000))
    frame = {"x": "0.5", "y": "0.5", "width": str(_BOX_WIDTH - 1), "height": str(height - 1)}
    ElementTree.SubElement(root, "rect", rx="8", fill="#ffffff", stroke="#55616d", attrib=frame)
    group = texts(root, "#16202a", 12)
    heading = ElementTree.SubElement(group, "text", x=str(_BOX_LEFT), y="30")
    heading.set("font-weight", "bold")
    heading.text = title
    for number, words in enumerate(lines):
        place = {"x": str(_BOX_LEFT), "y": str(_BOX_HEAD + _BOX_ROW * number)}
        ElementTree.SubElement(group, "text", place).text = line(words, _LONGEST)
    return written(root)
