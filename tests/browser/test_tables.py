"""Tall tables: their heads stay in sight while their rows are scrolled, and nothing is cut off."""

import pytest
from conftest import Open

PAGES = ("tff/grid/all/", "tff/grid/py3.9/", "tff/cap/")
# How far the head's corner is from that of its box before and after scrolling it both ways.
HEAD = """(far) => {
  const box = document.querySelector('.tall'), head = box.querySelector('thead th');
  box.scrollTo(far, far);
  window.scrollTo(0, document.documentElement.scrollHeight);
  box.scrollIntoView({ block: 'center' });
  const [outer, inner] = [box.getBoundingClientRect(), head.getBoundingClientRect()];
  return { top: inner.top - outer.top, left: box.scrollLeft && inner.left - outer.left,
           scrolled: box.scrollTop,
           seen: document.elementFromPoint(inner.left + 4, inner.top + 4)?.closest('th') === head };
}"""


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("width", [360, 768, 1440])
def test_the_head_of_a_table_stays_where_its_rows_scroll(
    path: str, width: int, window: Open, real: str
) -> None:
    page = window(real, viewport={"width": width, "height": 480}).visit(path)
    found = page.evaluate(HEAD, 400)
    assert found["scrolled"] > 30
    assert abs(found["top"]) <= 1
    assert abs(found["left"]) <= 1
    assert found["seen"]


@pytest.mark.parametrize("path", PAGES)
def test_no_column_is_cut_off_on_a_wide_screen(path: str, window: Open, real: str) -> None:
    page = window(real, viewport={"width": 1440, "height": 900}).visit(path)
    hidden = page.evaluate(
        "(() => { const box = document.querySelector('.tall');"
        " return box.scrollWidth - box.clientWidth; })()"
    )
    assert hidden == 0


@pytest.mark.parametrize("path", PAGES)
def test_columns_begin_with_the_newest(path: str, window: Open, real: str) -> None:
    page = window(real, viewport={"width": 1440, "height": 900}).visit(path)
    heads = page.locator(".tall thead th").all_inner_texts()
    versions = [text.split()[0] for text in heads if text[:1].isdigit()]
    numbers = [tuple(map(int, version.split("."))) for version in versions]
    assert len(numbers) > 2
    assert numbers == sorted(numbers, reverse=True)
