"""One vocabulary: whatever a published file says of a cell's state are the words of that state."""

import csv
import datetime
import json
import re
from collections import Counter
from collections.abc import Iterator
from html import unescape
from xml.etree import ElementTree

import pytest
from icalendar import Calendar
from support.editions import EARLY, MOVING, POLICY, edition
from support.known import Shelf
from support.printed import every_state, whole

from compat.results.answer import BRIEF_WORDS, STATE_WORDS, Answer
from compat.site.edition import Edition
from compat.site.page_list import LONGEST_TITLE, titled
from compat.site.pictures import matrix_badges
from compat.site.status import style_of, style_then
from compat.site.wording import day, plain_dates

REFUSED = "py3.8-dep1-demo1.0"
# A word is looked for where it is said of a state: behind a colon, in a chip or as a table's cell.
SAID = re.compile(
    r"(?:: |was: |now: |is )("
    + "|".join(map(re.escape, sorted(STATE_WORDS.values(), key=len, reverse=True)))
    + ")"
)
ITEM = re.compile(r"<(li|tr|entry|h1)\b.*?</\1>", re.DOTALL)
# A sign in a strip says what a capability came to in the cell, not what the cell's state is.
STRIP = re.compile(r'<ol class="strip">.*?</ol>', re.DOTALL)
TAG = re.compile(r"<[^>]+>")


@pytest.fixture(scope="module")
def of() -> Edition:
    return edition(every_state())


@pytest.fixture(scope="module")
def content(of: Edition) -> dict[str, str]:
    return {path: text.decode("utf-8", "replace") for path, text in whole(of).items()}


@pytest.fixture(scope="module")
def moving() -> dict[str, str]:
    """The files of an edition whose floors are to move."""
    found = whole(edition(Shelf(policy=POLICY), EARLY, MOVING))
    return {path: text.decode("utf-8", "replace") for path, text in found.items()}


def allowed(of: Edition, entry: Answer) -> set[str]:
    """The words of the cell's state, and of those that it had."""
    (report,) = of.reports
    siblings = report.siblings(entry)
    earlier = {
        style_then(entry, verdict, siblings).word
        for event in report.events
        if event.entry.cell.id == entry.cell.id
        for verdict in (event.before, event.verdict)
    }
    return {style_of(entry, siblings).word, *earlier}


def items(text: str, link: str) -> Iterator[str]:
    """The words of each list item, table row, entry or heading that links to the address alone."""
    for match in ITEM.finditer(STRIP.sub("", text)):
        if f'{link}"' in match[0] and match[0].count("/cell/") + match[0].count('"../py') == 1:
            words = " ".join(unescape(TAG.sub(" ", match[0])).split())
            # A row of a grid has other cells, too: one that speaks for itself is looked at alone.
            for place in re.findall(r"<td\b.*?</td>", match[0], re.DOTALL):
                own = " ".join(unescape(TAG.sub(" ", place)).split())
                if f'{link}"' in place and SAID.search(own):
                    words = own
            yield words


def test_every_file_calls_a_state_by_its_word(of: Edition, content: dict[str, str]) -> None:
    (report,) = of.reports
    looked_at = 0
    for entry in report.snapshot.known:
        link, words = f"/{entry.id}/", allowed(of, entry)
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
        style = report.style(entry)
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


ISO = re.compile(r"(?<![\w./+-])\d{4}-\d\d-\d\d(?![\w/+-]|\.\w)")
MONTHS = "|".join(day(datetime.date(2026, number, 1)).split()[1] for number in range(1, 13))
WORDED = re.compile(rf"\b\d{{1,2}} (?:{MONTHS}) \d{{4}}\b")
DATA = re.compile(r"<(pre|code|script|textarea|option)\b.*?</\1>", re.DOTALL)


def spoken(content: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Each text that people read, by the path of its file: of pages, feeds and calendars."""
    for path, text in content.items():
        if path.endswith(".html") and not path.startswith("about/"):
            yield path, unescape(TAG.sub(" ", DATA.sub(" ", text)))
        elif path.endswith(".atom"):
            for element in ElementTree.fromstring(text).iter():
                if element.tag.rpartition("}")[2] in ("title", "content"):
                    yield path, element.text or ""
        elif path.endswith(".ics"):
            for event in Calendar.from_ical(text).walk("VEVENT"):
                yield path, f"{event['summary']} {event['description']}"


def sentences(found: object) -> Iterator[str]:
    """Every text of a document that is a sentence."""
    if isinstance(found, dict):
        for value in found.values():
            yield from sentences(value)
    elif isinstance(found, list):
        for value in found:
            yield from sentences(value)
    elif isinstance(found, str) and " " in found:
        yield found


def test_people_read_dates_in_words_and_programs_in_iso(
    content: dict[str, str], moving: dict[str, str]
) -> None:
    kinds = Counter[str]()
    for path, text in (*spoken(content), *spoken(moving)):
        assert not ISO.findall(text), f"{path}: {text}"
        kinds[path.rpartition(".")[2]] += len(WORDED.findall(text))
    assert min(kinds[kind] for kind in ("html", "atom", "ics")) > 5
    told = 0
    for path, text in (*content.items(), *moving.items()):
        if path.startswith("api/") and path.endswith(".json"):
            for sentence in sentences(json.loads(text)):
                assert not WORDED.findall(sentence), f"{path}: {sentence}"
                told += len(ISO.findall(sentence))
    assert told > 5


def test_calendar_schedule_and_data_say_the_same_of_a_move(moving: dict[str, str]) -> None:
    """Each sentence of the data about a move stands in the calendar, its day on the page too."""
    moves = json.loads(moving["api/v1/demo/schedule.json"])["moves"]
    assert moves
    page = " ".join(unescape(TAG.sub(" ", moving["demo/roadmap/index.html"])).split())
    events = {
        str(event["uid"]): " ".join(str(event["description"]).split())
        for event in Calendar.from_ical(moving["cal/demo/all.ics"]).walk("VEVENT")
    }
    assert len(events) == len(moves)
    for move in moves:
        description = events[f"demo-{move['id']}@compat"]
        for key in ("wording", "rule", "source", "proof"):
            assert plain_dates(move[key]) in description
        assert f"{move['package']} {move['before']} to {move['to']}" in description
        assert plain_dates(move["on"]) in page


def test_data_call_a_state_by_its_word_too(of: Edition, content: dict[str, str]) -> None:
    (report,) = of.reports
    table = json.loads(content["api/v1/demo/advise.json"])["advice"]
    looked_at = 0
    for row in table["rows"]:
        entry = report.snapshot.by_id[row["id"]]
        style = report.style(entry)
        assert table["sentences"][row["words"]] == style.word
        looked_at += 1
    assert looked_at
    for path, text in content.items():
        if path.startswith("api/") and path.endswith(".json"):
            for sentence in sentences(json.loads(text)):
                assert "broken" not in sentence or REFUSED not in sentence, f"{path}: {sentence}"


def test_titles_are_shown_whole_and_no_line_ends_in_spaces(
    content: dict[str, str], moving: dict[str, str]
) -> None:
    for path, text in (*content.items(), *moving.items()):
        if path.endswith(".html"):
            assert not re.findall(r"[ \t]+$", text, re.MULTILINE), path
            title = re.search(r"<title>(.*?)</title>", text)
            assert title is None or len(unescape(title[1])) <= LONGEST_TITLE
    place = "a library of a long name 0.87.0 with another 2.1 on Python 3.11"
    assert titled(f"{place}: works", place) == f"{place}: works"
    assert titled(f"{place}: no answer yet", place) == place
    assert titled("x" * 99) == "x" * 69 + "…"
