"""The table of all capabilities has few enough columns for any number of tested releases, and says
of none what it was not tested to be.
"""

import re

import pytest
from support.many_releases import CORE, LongShelf, ever_changing, long_edition
from support.printed import Addresses, printed

from compat.results.table import ReleaseColumn
from compat.site.pages.capability_view import chosen_columns
from compat.site.pages.place_view import Doc

PAGE = "demo/cap/index.html"
MOST = 16


def chosen(shelf: LongShelf) -> Doc:
    (report,) = long_edition(shelf).reports
    positions = report.advisor.ranks.positions["demo"]
    return chosen_columns(report.columns, report.asked, positions)


def labels(shelf: LongShelf) -> list[str]:
    return [column.label for column in chosen(shelf).shown]


def heads(html: str) -> list[str]:
    return re.findall(r'<th scope="col">([^<]*)</th>', html)[1:]


def two(number: int, *, since: int = 1, failing: tuple[int, ...] = ()) -> dict[str, str]:
    """Two capabilities: one of the core, which fails in some releases, and one that came later."""
    return {
        "a.c0": "no" if number in failing else "yes",
        "b.c1": "yes" if number >= since else "absent",
    }


# Of 200 releases the names are longer, so that fewer columns fit.
@pytest.mark.parametrize(("count", "fit"), [(1, 1), (5, 5), (22, 16), (68, 16), (200, 14)])
def test_any_number_of_tested_releases_has_columns_that_fit(count: int, fit: int) -> None:
    shelf = LongShelf(count, ever_changing, smoked=range(3, count, 10))
    found = chosen(shelf)
    assert len(found.shown) == fit
    assert found.shown[0].label == f"0.{count}.0"
    assert found.shown[-1].label == "0.1.0"
    stands = [str(release.version) for column in found.shown for release in column.releases]
    every = [*stands, *map(str, found.left_out)]
    assert sorted(every) == sorted(f"0.{number}.0" for number in range(1, count + 1))


def test_neighbours_with_the_same_result_in_every_row_share_a_column() -> None:
    shelf = LongShelf(12, lambda n: two(n, since=4, failing=(9,)))
    assert labels(shelf) == ["0.10.0 to 0.12.0", "0.9.0", "0.4.0 to 0.8.0", "0.1.0 to 0.3.0"]


def test_a_column_is_shared_over_no_release_without_a_test() -> None:
    untested = (3, 8)
    shelf = LongShelf(9, lambda n: {} if n in untested else two(n))
    assert labels(shelf) == ["0.9.0", "0.4.0 to 0.7.0", "0.1.0 to 0.2.0"]


def test_what_was_not_asked_is_no_result_that_could_be_shared() -> None:
    def pattern(number: int) -> dict[str, str]:
        return {**two(number), "c.c2": "yes"}

    assert tuple(two(1)) == CORE
    shelf = LongShelf(5, pattern, smoked=[3])
    assert labels(shelf) == ["0.4.0 to 0.5.0", "0.3.0", "0.1.0 to 0.2.0"]


def test_where_they_are_too_many_those_that_change_most_have_a_column() -> None:
    def pattern(number: int) -> dict[str, str]:
        # One result changes in every release, three in each eighth. The core alone is no change.
        found = {f"a.c{n}": "yes" if number // 8 % 2 else "no" for n in (0, 2, 4)}
        return {**found, "b.c1": "yes" if number % 2 else "no"}

    shelf = LongShelf(68, pattern, smoked=[12, 20])
    shown = labels(shelf)
    assert len(shown) == MOST
    assert {f"0.{number}.0" for number in (1, *range(8, 68, 8), 68)} <= set(shown)
    assert not {"0.12.0", "0.20.0"} & set(shown)


def test_the_page_says_which_releases_have_no_column_and_where_their_results_are() -> None:
    shelf = LongShelf(68, ever_changing)
    html = printed(long_edition(shelf))[PAGE]
    text = " ".join(" ".join(Addresses(html).words).split())
    assert "in 68 tested releases from 0.1.0 to 0.68.0" in text
    assert f"room for {MOST} columns: the newest, the oldest, and those that differ most" in text
    assert "52 tested releases have no column here" in text
    assert len(heads(html)) == MOST
    linked = re.findall(r'href="\.\./\.\./demo/release/([^/"]*)/"', html)
    assert sorted({*linked, *heads(html)}) == sorted(f"0.{n}.0" for n in range(1, 69))


def test_a_page_with_a_column_for_each_release_says_nothing_of_others() -> None:
    html = printed(long_edition(LongShelf(5, ever_changing)))[PAGE]
    assert "no column here" not in html
    assert "share a column" not in html


def test_the_words_under_a_name_are_about_every_tested_release() -> None:
    failing = tuple(range(2, 68, 4))
    (report,) = long_edition(LongShelf(68, lambda n: two(n, failing=failing))).reports
    columns: tuple[ReleaseColumn, ...] = report.columns
    assert len(columns) == 68
    html = printed(long_edition(LongShelf(68, lambda n: two(n, failing=failing))))[PAGE]
    assert all(f"fails in 0.{number}.0" in html for number in failing)


def test_each_release_stands_in_the_strip_of_a_capability() -> None:
    html = printed(long_edition(LongShelf(68, ever_changing)))["demo/cap/a.c0/index.html"]
    strip = html.partition('class="strip"')[2].partition("</ol>")[0]
    assert re.findall(r"<span>([^<]*)</span>", strip)[:2] == ["0.68.0", "0.67.0"]
    assert strip.count("<li>") == 68
