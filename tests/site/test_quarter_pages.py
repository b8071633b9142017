"""The pages of the quarters: the minimum versions, the moves, what they end, and the way from one
to the next.
"""

import datetime
import json
import re

import pytest
from support.editions import EARLY, MOVING, POLICY, edition, files
from support.known import Shelf
from support.printed import Addresses, broken_links, printed, whole

from compat.site.api.documents import api, cell_files
from compat.site.edition import Edition
from compat.site.wording import day

QUARTER = re.compile(r"demo/schedule/(\d{4}-q[1-4])/index\.html")


@pytest.fixture(scope="module")
def moving() -> Edition:
    return edition(Shelf(policy=POLICY), EARLY, MOVING)


@pytest.fixture(scope="module")
def pages(moving: Edition) -> dict[str, str]:
    return {
        found[1]: html
        for path, html in printed(moving).items()
        if (found := QUARTER.fullmatch(path))
    }


def words(html: str) -> str:
    """What a reader reads, in one line."""
    return " ".join(" ".join(Addresses(html).words).split())


def test_each_tells_what_the_api_tells(moving: Edition, pages: dict[str, str]) -> None:
    told = json.loads(files(moving, cell_files, api)["api/v1/demo/schedule.json"])
    moves = {one["id"]: one for one in told["moves"]}
    assert [one["id"] for one in told["quarters"]] == sorted(pages)
    assert any(one["lost"] for one in told["moves"])
    for one in told["quarters"]:
        text = words(pages[one["id"]])
        assert f"{one['floors']['python']} {one['proven']['python']}" in text
        for move in (moves[name] for name in one["moves"]):
            assert f"{move['package']} {move['before']} to {move['to']} {move['state']}" in text
            on = day(datetime.date.fromisoformat(move["on"]))
            assert f"With the first release after {on} the minimum" in text
            for gone in move["lost"]:
                ends = text.partition("A release with this minimum no longer covers ")[2]
                assert f"{gone['package']} {', '.join(gone['versions'])}" in ends


def test_one_leads_to_the_next_and_the_schedule_to_all(
    moving: Edition, pages: dict[str, str]
) -> None:
    schedule = Addresses(printed(moving)["demo/schedule/index.html"]).links
    names = sorted(pages)
    for before, name, after in zip(["", *names[:-1]], names, [*names[1:], ""], strict=True):
        links = Addresses(pages[name]).links
        others = {other for other in names if f"../../../demo/schedule/{other}/" in links}
        assert others == {before, after} - {""}
        assert f"../../demo/schedule/{name}/" in schedule


def test_no_link_of_theirs_is_broken(moving: Edition) -> None:
    content = whole(moving)
    assert broken_links(content, [path for path in content if path.endswith(".html")]) == []


def test_without_a_policy_there_is_none() -> None:
    assert not [path for path in printed(edition(Shelf())) if QUARTER.fullmatch(path)]
