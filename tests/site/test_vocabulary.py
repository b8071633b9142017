"""One vocabulary: whatever a published file says of a cell's state are the words of that state."""

import csv
import re
from collections.abc import Iterator
from html import unescape

import pytest
from support.editions import edition
from support.printed import every_state, whole

from compat.results.snapshot import Entry
from compat.results.state_words import BRIEF_WORDS, STATE_WORDS
from compat.site.edition import Edition, place_of
from compat.site.exports.badges import matrix_badges
from compat.site.paths import address, cell_page
from compat.site.status import style_of, style_then

REFUSED = "py3.8-dep1-demo1.0"
# A word is looked for where it is said of a state: behind a colon, in a chip or as a table's cell.
SAID = re.compile(
    r"(?:: |was: |now: |is )("
    + "|".join(map(re.escape, sorted(STATE_WORDS.values(), key=len, reverse=True)))
    + ")"
)
ITEM = re.compile(r"<(li|tr|entry|h1)\b.*?</\1>", re.DOTALL)
TAG = re.compile(r"<[^>]+>")


@pytest.fixture(scope="module")
def of() -> Edition:
    return edition(every_state())


@pytest.fixture(scope="module")
def content(of: Edition) -> dict[str, str]:
    return {path: text.decode("utf-8", "replace") for path, text in whole(of).items()}


def allowed(of: Edition, entry: Entry) -> set[str]:
    """The words of the cell's state, and of those that it had."""
    (report,) = of.reports
    siblings = report.places[place_of(entry.cell)]
    earlier = {
        style_then(entry, verdict, siblings).word
        for event in report.events
        if event.entry.cell.id == entry.cell.id
        for verdict in (event.before, event.verdict)
    }
    return {style_of(entry, siblings).word, *earlier}


def items(text: str, link: str) -> Iterator[str]:
    """The words of each list item, table row, entry or heading that links to the address alone."""
    for match in ITEM.finditer(text):
        if f'{link}"' in match[0] and match[0].count("/cell/") == 1:
            yield " ".join(unescape(TAG.sub(" ", match[0])).split())


def test_every_file_calls_a_state_by_its_word(of: Edition, content: dict[str, str]) -> None:
    (report,) = of.reports
    looked_at = 0
    for entry in report.snapshot.known:
        link, words = address(cell_page(entry.cell)).removeprefix("demo/"), allowed(of, entry)
        for path, text in content.items():
            if not path.endswith((".html", ".atom")):
                continue
            for shown in items(text, link):
                said = set(SAID.findall(shown))
                assert said <= words, f"{path}: {shown}"
                looked_at += len(said)
    assert looked_at > 20


def test_what_does_not_install_is_nowhere_broken(content: dict[str, str]) -> None:
    told = [
        f"{path}: {shown}"
        for path, text in content.items()
        if path.endswith((".html", ".atom"))
        for shown in items(text, f"cell/{REFUSED}/")
    ]
    assert any("does not install" in shown for shown in told)
    assert not [shown for shown in told if "broken" in shown]


def test_the_table_for_spreadsheets_has_the_words_too(of: Edition, content: dict[str, str]) -> None:
    (report,) = of.reports
    rows = {row["cell"]: row for row in csv.DictReader(content["download/demo.csv"].splitlines())}
    assert set(rows) == {entry.cell.id for entry in report.snapshot.known}
    for entry in report.snapshot.known:
        style = style_of(entry, report.places[place_of(entry.cell)])
        assert (rows[entry.cell.id]["words"], rows[entry.cell.id]["state"]) == (
            style.word,
            style.state,
        )
    assert rows[REFUSED]["words"] == "does not install"


def test_a_badge_says_the_word_or_its_short_form(of: Edition) -> None:
    (report,) = of.reports
    known = {*STATE_WORDS.values(), *BRIEF_WORDS.values(), "no data"}
    for name, badge in matrix_badges(report):
        if name[0] in ("status", "release"):
            assert badge.message.removesuffix(", stale") in known


def test_the_script_has_no_words_of_states(content: dict[str, str]) -> None:
    for word in ("partly works", "does not install", "changed dependency pins", "ruled out"):
        assert word not in content["static/script.js"]
