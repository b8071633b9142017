"""What is known from the suite's core alone is called so on pages, badges, feeds and in data."""

import json

from support.editions import edition
from support.known import Shelf, lock_of, ran, statuses
from support.printed import whole

from compat.site.exports.badges import matrix_badges
from compat.site.exports.feeds import feed_entries
from compat.site.status import STYLES, place_style

PLACE = "py3.8-dep1-demo1.0"


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
