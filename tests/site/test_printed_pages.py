"""Pages as HTML: every state is told in words, red cells say why, no link is broken, the same input
gives the same.
"""

import re
from inspect import isfunction

import pytest
from hypothesis import given
from support.editions import edition
from support.examples import examples
from support.known import Shelf, proven, shelves
from support.printed import Addresses, broken_links, every_state, page_of, printed, whole, words

from compat.site import render
from compat.site.edition import Edition

GRIDS = ("demo/grid/py3.8/index.html", "demo/grid/py3.9/index.html")
BROKEN = "demo/cell/py3.8-dep2-demo2.0+relaxed/index.html"
INLINE = re.compile(
    r"<style|\sstyle=|\son[a-z]+=|javascript:|<script(?![^>]*\ssrc=)", re.IGNORECASE
)


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return printed(edition(every_state()))


def test_the_grids_tell_every_state_by_symbol_and_by_sentence(pages: dict[str, str]) -> None:
    text = words(pages[GRIDS[0]] + pages[GRIDS[1]])
    for sentence in (
        "✓ demo 2.0 with dep 2 on Python 3.9: works, tested 20 November 2026",
        "† demo 1.0 with dep 1 on Python 3.8: works only with packages of its time, tested 20 Nov",
        "✓+ demo 1.0 with dep 2 on Python 3.8: works with changed dependency pins, tested 4 May",
        "◐ demo 1.0 with dep 2 on Python 3.9: partly works, with changed dependency pins, tested",
        "≈ demo 2.0 with dep 1 on Python 3.8: flaky, with changed dependency pins, tested 20 Nov",
        "✗ demo 2.0 with dep 2 on Python 3.8: broken, with changed dependency pins, tested 20 Nov",
        "tested 4 May 2026, to be tested again",
    ):
        assert sentence in text


def test_each_row_of_a_grid_begins_with_its_answer(pages: dict[str, str]) -> None:
    text = words(pages[GRIDS[0]])
    answer = "† works only with packages of its time: 1 ✓+ works with changed dependency pins: 2"
    assert f"1.0 {answer}" in text


def test_a_red_cell_tells_class_cause_differences_log_and_how_to_do_it_again(
    pages: dict[str, str],
) -> None:
    text = words(pages[BROKEN])
    for told in (
        "Broken , with changed dependency pins",
        "The import fails: the module dep is missing.",
        "What fails",
        "import-fail:missing-module(dep)",
        "ModuleNotFoundError: No module named 'dep'",
        "2 packages differ",
        "pytest 7.1 8.0",
        "spare 1.0 not installed",
        "compat run demo py3.8-dep2-demo2.0+relaxed",
        "uv pip install --python demo2.0-dep2-py3.8 --no-deps --require-hashes -r",
    ):
        assert told in text


def test_a_thousand_cells_of_one_cause_are_one_line(pages: dict[str, str]) -> None:
    html = pages["demo/causes/index.html"]
    sentence = "No set of packages satisfies it: the package index has no dep==1.0."
    assert f"{sentence} combination 1 1.0" in words(html)
    (path,) = re.findall(rf'href="([^"]*)">{sentence}', html)
    assert "lock-fail:no-artifact(dep==1.0)" in words(pages[f"demo/causes/{path}index.html"])


def test_the_home_page_answers_without_a_click(pages: dict[str, str]) -> None:
    for path in ("index.html", "demo/index.html"):
        text = words(pages[path])
        assert "demo 2.0" in text
    assert "--python demo2.0-dep2-py3.9" in text


def test_a_python_without_an_answer_says_why_and_a_failing_capability_how(
    pages: dict[str, str],
) -> None:
    text = words(printed(edition(proven("py3.9-dep2-demo2.0")))["demo/index.html"])
    assert "3.8 no tested combination" in text
    text = words(pages["demo/advise/py3.8/index.html"])
    assert "changed dependency pins" in text


def test_where_nothing_ran_nothing_is_green() -> None:
    for path, html in printed(edition(Shelf())).items():
        assert not re.search(r'class="[^"]*\bworks\b(?![^"]*legend)', html), path
        if path in ("index.html", "demo/index.html", "demo/reliability/index.html"):
            assert "No data." in words(html)


def test_a_matrix_that_is_no_longer_run_says_that_its_data_is_stale() -> None:
    shelf = every_state()
    later = edition(shelf, day=shelf.picture().day.replace(year=2027))
    assert "since 20 November 2026" in words(printed(later)["index.html"])
    assert "This data is stale" not in words(page_of(shelf, "index.html"))


def test_the_same_edition_is_printed_the_same() -> None:
    assert whole(edition(every_state())) == whole(edition(every_state()))


def test_every_page_forbids_what_is_not_its_own_and_holds_no_inline_code(
    pages: dict[str, str],
) -> None:
    for path, html in pages.items():
        assert not INLINE.search(html), path
        if 'http-equiv="refresh"' not in html:
            assert "default-src 'none'; style-src 'self'; script-src 'self'" in html


def test_every_page_has_a_language_a_title_one_heading_and_ids_that_are_its_own(
    pages: dict[str, str],
) -> None:
    for path, html in pages.items():
        ids = Addresses(html).ids
        assert len(set(ids)) == len(ids), path
        assert html.count("<h1") == 1, path
        assert '<html lang="en">' in html
        assert re.search(r"<title>[^<]{3,}</title>", html), path


@pytest.mark.parametrize(
    "of", [edition(every_state()), edition(Shelf()), edition(proven("py3.9-dep2-demo2.0"))]
)
def test_no_link_inside_the_site_is_broken(of: Edition) -> None:
    content = whole(of)
    assert broken_links(content, [path for path in content if path.endswith(".html")]) == []


@given(shelves())
@examples(15)
def test_any_store_can_be_printed(shelf: Shelf) -> None:
    for path, html in printed(edition(shelf)).items():
        assert html.rstrip().endswith("</html>"), path


def test_no_two_functions_that_templates_use_share_a_name() -> None:
    modules = render._MODULES
    names = [n for m in modules for n, f in vars(m).items() if n[0] != "_" and isfunction(f)]
    owners = {n: {vars(m)[n].__module__ for m in modules if n in vars(m)} for n in names}
    assert {n: owner for n, owner in owners.items() if len(owner) > 1} == {}
