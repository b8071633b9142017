"""Tables: their heads stay in sight, their places tell what they mean, and nothing is cut off."""

import pytest
from conftest import Open

PAGES = ("tff/grid/all/", "tff/grid/py3.9/")


@pytest.mark.parametrize("path", PAGES)
def test_the_head_of_a_table_stays_while_the_page_scrolls(
    path: str, window: Open, real: str
) -> None:
    page = window(real, viewport={"width": 1440, "height": 480}).visit(path)
    page.locator("table.grid tbody tr").nth(25).scroll_into_view_if_needed()
    top = page.evaluate("document.querySelector('.grid thead th').getBoundingClientRect().top")
    assert page.evaluate("scrollY") > 100
    assert abs(top) <= 1


@pytest.mark.parametrize("path", [*PAGES, "tff/cap/"])
def test_no_column_is_cut_off_on_a_wide_screen(path: str, window: Open, real: str) -> None:
    page = window(real, viewport={"width": 1440, "height": 900}).visit(path)
    assert page.evaluate(BEYOND)[0] == 0


def test_a_place_tells_its_sentence_on_hover_and_on_focus(window: Open, states: str) -> None:
    page = window(states).visit("demo/grid/py3.8/")
    place, tip = page.locator("td.place a").first, page.locator("td.place a .tip").first
    for reach in (place.hover, place.focus):
        page.mouse.move(0, 0)
        reach()
        box = tip.bounding_box()
        assert box is not None
        assert box["width"] > 60
        assert "on Python 3.8" in tip.inner_text()


# How much of the page, and of each box of it, is beyond its right edge.
BEYOND = """() => [document.documentElement, ...document.querySelectorAll('.scroll, .strip')]
  .map((box) => box.scrollWidth - box.clientWidth)"""


@pytest.mark.parametrize("width", [360, 768, 1440])
def test_many_tested_releases_are_cut_off_nowhere(width: int, window: Open, many: str) -> None:
    opened = window(many, viewport={"width": width, "height": 900})
    # A narrow screen scrolls the table in its box; the page itself fits on each.
    table = opened.visit("demo/cap/").evaluate(BEYOND)
    assert table[0] == 0
    assert width < 1440 or not any(table)
    for path in ("demo/cap/a.c0/",):
        page = opened.visit(path)
        assert page.locator(".strip li").count() in (68, 200)
        assert page.evaluate(BEYOND)[:2] == [0, 0]


@pytest.mark.parametrize("path", PAGES)
def test_columns_begin_with_the_newest(path: str, window: Open, real: str) -> None:
    page = window(real, viewport={"width": 1440, "height": 900}).visit(path)
    heads = page.locator(".grid thead th").all_inner_texts()
    versions = [text.split()[0] for text in heads if text[:1].isdigit()]
    numbers = [tuple(map(int, version.split("."))) for version in versions]
    assert len(numbers) > 2
    assert numbers == sorted(numbers, reverse=True)


# The texts of table cells that are a version and nothing else, and stand on more than one line.
BROKEN = """() => [...document.querySelectorAll('th, td')].filter((cell) => {
  if (!/^[0-9]+([.][0-9a-z]+)+$/.test(cell.innerText.trim())) return false;
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), tops = new Set();
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(node);
    if (!node.data.trim()) continue;
    for (const line of range.getClientRects()) tops.add(Math.round(line.top));
  }
  return tops.size > 1;
}).map((cell) => cell.innerText)"""


@pytest.mark.parametrize(
    "path",
    [
        "tff/cell/py3.9-tf2.15-tff0.87.0+relaxed/",
        "tff/release/0.87.0/",
        "tff/roadmap/",
        "tff/cap/",
        "tff/grid/all/",
    ],
)
def test_no_version_is_broken_in_print(path: str, window: Open, real: str) -> None:
    page = window(real, viewport={"width": 640, "height": 900}).visit(path)
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.emulate_media(media="print")
    assert page.locator("th, td").count() > 5
    assert page.evaluate(BROKEN) == []


def test_everything_folded_is_printed(window: Open, real: str) -> None:
    page = window(real).visit("tff/cell/py3.9-tf2.15-tff0.87.0+relaxed/")
    page.emulate_media(media="print")
    for way in ("pip", "Colab", "Docker"):
        shown = page.locator(f"[data-way={way}]").bounding_box()
        assert shown is not None
        assert shown["height"] > 5
