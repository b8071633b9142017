"""What is known from the suite's core alone is called so on pages, badges, feeds and in data."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from support.editions import edition
from support.examples import examples
from support.known import Shelf, lock_of, ran, shelves, statuses
from support.one_truth import differences
from support.printed import Addresses, printed, put, whole

from compat.site.exports import feed_entries
from compat.site.pictures import matrix_badges
from compat.site.status import STYLES, place_style

PLACE, NEIGHBOUR = "py3.8-dep1-demo1.0", "py3.9-dep2-demo1.0+relaxed"
FAILED = "test-fail:assertion(mean)"


def shelf(tier: str) -> Shelf:
    return Shelf([ran(lock_of(PLACE), tier=tier, capabilities=statuses(sum="yes"))])


def test_a_place_known_from_the_core_has_a_style_of_its_own() -> None:
    for tier, name in (("full", "works"), ("smoke", "works-smoke")):
        (report,) = edition(shelf(tier)).reports
        assert place_style(report.places[PLACE]) == STYLES[name]
    assert STYLES["works-smoke"].word == "works (smoke)"


def test_badges_and_feeds_say_it() -> None:
    (report,) = edition(shelf("smoke")).reports
    badges = {name: badge.message for name, badge in matrix_badges(report)}
    assert badges["release", "1.0"] == "works (smoke)"
    assert any(entry.title.startswith("works (smoke): ") for entry in feed_entries(report))


def test_pages_and_data_say_it() -> None:
    files = whole(edition(shelf("smoke")))
    page = next(text for path, text in files.items() if path.endswith(f"cell/{PLACE}/index.html"))
    assert b"works (smoke)" in page
    assert b"only the core of the suite was run" in page.lower()
    assert b"(the core of the suite alone)" in page
    document = next(
        json.loads(text) for path, text in files.items() if path.endswith(f"cells/{PLACE}.json")
    )
    assert document["evidence"] == "smoke"
    assert [run["tier"] for run in document["runs"]] == ["smoke"]


def opening(shelf: Shelf) -> str:
    """What the page of release 1.0 opens with."""
    html = printed(edition(shelf))["demo/release/1.0/index.html"]
    part = html.partition('<div class="verdict">')[2].partition("</div>")[0]
    return " ".join(" ".join(Addresses(part).words).split())


def badge(shelf: Shelf) -> str:
    (report,) = edition(shelf).reports
    return dict(matrix_badges(report))["release", "1.0"].message


def columns(shelf: Shelf) -> list[str]:
    (report,) = edition(shelf).reports
    return [column.entry.cell.id for column in report.columns]


@pytest.mark.parametrize(
    ("outcome", "found", "word"),
    [
        ("pass", {"import": "yes", "sum": "yes"}, "works (smoke)"),
        (FAILED, {"sum": "yes", "mean": "no"}, "partly works (smoke)"),
        (FAILED, {"mean": "no"}, "broken (smoke)"),
        ("import-fail:abort", {}, "broken (smoke)"),
    ],
)
def test_a_release_known_from_the_core_alone_is_called_the_same_everywhere(
    tmp_path: Path, outcome: str, found: dict[str, str], word: str
) -> None:
    lock = lock_of(PLACE)
    made = Shelf([ran(lock, outcome, tier="smoke", capabilities=statuses(**found))], [lock])
    put(tmp_path, whole(edition(made)))
    assert differences(tmp_path, "demo")[1] == []
    assert re.sub(r", \d+/\d+$", "", badge(made)) == word
    assert f" {word} " in opening(made)
    assert ("No tested combination" in opening(made)) == word.startswith("broken")


def test_a_whole_suite_that_works_in_part_says_more_of_a_release_than_a_core_that_passes() -> None:
    core, suite = lock_of(PLACE), lock_of(NEIGHBOUR)
    runs = [
        ran(core, tier="smoke", capabilities=statuses(sum="yes")),
        ran(suite, FAILED, capabilities=statuses(sum="yes", mean="no")),
    ]
    made = Shelf(runs, [core, suite])
    assert badge(made) == "partly works, 1/2"
    assert opening(made).startswith("◐ partly works demo 1.0 with dep 2 on Python 3.9: 1 of 2 work")
    assert columns(made) == [NEIGHBOUR]


def test_a_core_that_passes_says_more_of_a_release_than_a_whole_suite_that_never_works() -> None:
    core, suite = lock_of(PLACE), lock_of(NEIGHBOUR)
    made = Shelf([ran(core, tier="smoke"), ran(suite, "import-fail:abort")], [core, suite])
    assert badge(made) == "works (smoke)"
    assert "works (smoke) demo 1.0" in opening(made)


def test_a_page_opens_with_what_its_badge_says_where_the_lock_has_changed_since() -> None:
    made = Shelf([ran(lock_of(PLACE), tier="smoke")], [lock_of(PLACE, pytest="7.0")])
    assert badge(made) == "works (smoke), stale"
    assert opening(made).startswith("✓° works (smoke) ")
    assert "How to install it" not in opening(made)


@given(shelf=shelves())
@examples(10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_ran_no_badge_says_otherwise_than_its_page(tmp_path: Path, shelf: Shelf) -> None:
    put(tmp_path, whole(edition(shelf)))
    assert [line for line in differences(tmp_path, "demo")[1] if line.startswith("badge")] == []
