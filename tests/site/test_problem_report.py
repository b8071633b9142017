"""Reports of wrong data: an issue filled in before, in which nothing comes alive, whatever the
names are.
"""

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.editions import URL, matrix_report
from support.hostile_texts import STRINGS
from support.known import DAY, Shelf
from support.printed import every_state, printed

from compat.github.markdown import faults, title_faults
from compat.site.edition import Edition
from compat.site.page_list import Page, problem_link

BROKEN = "py3.8-dep2-demo2.0+relaxed"
LINK = re.compile(r'href="(https://github\.com/[^"]*/issues/new[^"]*)"')


def of(shelf: Shelf, repository: str = "somebody/something") -> Edition:
    return Edition([matrix_report(shelf, shelf.picture())], URL, DAY, repository)


@pytest.fixture(scope="module")
def links() -> dict[str, list[str]]:
    return {
        path: [unescape(one) for one in LINK.findall(html)]
        for path, html in printed(of(every_state())).items()
        if 'http-equiv="refresh"' not in html and "embed/" not in path
    }


def read(address: str) -> tuple[str, str]:
    """Title and text of the issue."""
    told = parse_qs(urlsplit(address).query, strict_parsing=True)
    assert told.keys() == {"title", "body"}
    return told["title"][0], told["body"][0]


def test_a_cell_names_itself_its_verdict_and_where_both_stand(links: dict[str, list[str]]) -> None:
    (address,) = links[f"demo/cell/{BROKEN}/index.html"]
    assert address.startswith(
        "https://github.com/somebody/something/issues/new?title=Wrong%20data%3F%20demo%202.0"
    )
    title, body = read(address)
    assert title.endswith("on Python 3.8: broken")
    for line in (
        f"- cell: `{BROKEN}`",
        "- verdict: `broken`",
        "- outcome: `import-fail:missing-module(dep)`",
        "- last tested: `2026-11-20`",
        f"- page: [demo/cell/{BROKEN}/]({URL}demo/cell/{BROKEN}/)",
        f"- data: [api/v1/demo/cells/{BROKEN}.json]({URL}api/v1/demo/cells/{BROKEN}.json)",
    ):
        assert line in body.splitlines()


def test_every_page_has_one(links: dict[str, list[str]]) -> None:
    assert {path for path, found in links.items() if len(found) != 1} == set()


def test_without_a_repository_there_is_none() -> None:
    for path, html in printed(of(every_state(), "")).items():
        assert "/issues/new" not in html, path


@given(
    title=st.one_of(st.sampled_from(STRINGS), st.text()),
    value=st.one_of(st.sampled_from(STRINGS), st.text()),
)
def test_nothing_in_it_comes_alive(title: str, value: str) -> None:
    made = of(Shelf())
    page = Page(
        path="demo/cell/x/index.html",
        template="",
        title=title,
        view="",
        facts=(("cell", value),),
        data=("api/x.json",),
    )
    address = problem_link(made, page)
    assert re.fullmatch(
        r"https://github\.com/somebody/something/issues/new\?[A-Za-z0-9._~%=&/-]*", address
    )
    assert len(address) < 8000
    told, body = read(address)
    assert title_faults(told) == ()
    assert faults(body) == ()
