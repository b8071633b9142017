"""Every place that names a move of a floor names the same version for the same day: pages, API,
feeds, calendar files and command line, read back from the published site.
"""

import datetime
import html
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from icalendar import Calendar
from support.real_site import DAY

from compat.site.wording import day as in_words

pytestmark = pytest.mark.slow

MATRICES = ("tff", "pip-tools")
# What is named (package and version) with its day, and where: `("Python", "3.11"), "2026-01-01"`.
Named = tuple[tuple[str, str], str]


@pytest.fixture
def site(real_site: Path) -> Path:
    return real_site


def document(site: Path, matrix: str, name: str) -> dict[str, Any]:
    path = site / "public" / "api" / "v1" / matrix / f"{name}.json"
    decoded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return decoded


def text(path: Path) -> str:
    """What a reader reads, in one line."""
    shown = re.sub(r"<[^>]*>", " ", path.read_text(encoding="utf-8"))
    return " ".join(html.unescape(shown).split())


def pages(folder: Path) -> dict[str, str]:
    return {path.parent.name: text(path) for path in sorted(folder.glob("*/index.html"))}


def scheduled(site: Path, matrix: str) -> dict[tuple[str, str], str]:
    """The one truth: the moves of the schedule in the API."""
    moves = document(site, matrix, "schedule")["moves"]
    return {(move["package"], move["to"]): move["on"] for move in moves}


def raises(site: Path, matrix: str) -> list[dict[str, Any]]:
    every = document(site, matrix, "proposals")["proposals"]
    return [proposal for proposal in every if proposal["kind"] == "raise"]


WORDED = r"(\d+ [A-Z][a-z]+ \d{4})"
DAYS = {
    in_words(DAY + datetime.timedelta(n)): DAY + datetime.timedelta(n) for n in range(-2500, 2500)
}


def iso(words: str) -> str:
    return str(DAYS[words])


def api_proposals(site: Path, matrix: str) -> Iterator[Named]:
    for proposal in raises(site, matrix):
        yield (proposal["package"], proposal["proposed"]), proposal["earliest"]


def api_outlooks(site: Path, matrix: str) -> Iterator[Named]:
    """Where runs are missing the day may be later than the calendar's, never earlier."""
    known = scheduled(site, matrix)
    for outlook in document(site, matrix, "proposals")["outlooks"]:
        if outlook["to"] is not None:
            move = outlook["package"], outlook["to"]
            late = outlook["prospect"] == "runs" and outlook["on"] > known.get(move, "")
            yield move, known[move] if late else outlook["on"]


def roadmap_page(site: Path, matrix: str) -> Iterator[Named]:
    source = (site / "public" / matrix / "roadmap" / "index.html").read_text(encoding="utf-8")
    table = source.partition("First release after")[2].partition("</table>")[0]
    for row in table.split("<tr>")[1:]:
        parts = re.split(r"<td(?: [^>]*)?>", row)[1:]
        cells = [" ".join(re.sub(r"<[^>]*>", " ", cell).split()) for cell in parts]
        on = re.match(WORDED, cells[0])
        assert on is not None, cells
        yield (cells[1].rpartition(" ")[0], cells[2]), iso(on[0])


def proposal_pages(site: Path, matrix: str) -> Iterator[Named]:
    head = rf"Raise the floor of (\S+) from \S+ to (\d[\d.]*) (?:waiting|open) .*?after {WORDED}"
    for shown in pages(site / "public" / matrix / "proposals").values():
        for package, version, on in re.findall(head, shown):
            yield (package, version), iso(on)


def diffs(site: Path, matrix: str) -> Iterator[Named]:
    """What the change writes into the declaration: the version, and the day in its reason."""
    reason = r'\+at = "([\d.]+)".*?with (\S+) \1, allowed from (\d{4}-\d\d-\d\d) on'
    for shown in pages(site / "public" / matrix / "proposals").values():
        for version, package, on in re.findall(reason, shown):
            yield (package, version), on


def calendars(site: Path, matrix: str) -> Iterator[Named]:
    for path in sorted((site / "public" / "cal" / matrix).glob("*.ics")):
        for event in Calendar.from_ical(path.read_bytes()).walk("VEVENT"):
            change = re.search(r": (\S+) (\S+) may become the minimum", event["summary"])
            assert change is not None
            yield (change[1], change[2]), str(event["dtstart"].dt)


def command_line(site: Path, matrix: str) -> Iterator[Named]:
    for words in (("matrix", "schedule"), ("propose",)):
        ended = subprocess.run(
            [sys.executable, "-m", "compat", *words, matrix, "--json", "--today", str(DAY)],
            cwd=site,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode in (0, 1), ended.stderr
        told = json.loads(ended.stdout)["data"]
        for move in told.get("moves", ()):
            yield (move["package"], move["to"]), move["on"]
        for proposal in told.get("proposals", ()):
            if proposal["kind"] == "raise":
                yield (proposal["package"], proposal["proposed"]), proposal["earliest"]


WHOLE = (roadmap_page,)
PARTS = (
    api_proposals,
    api_outlooks,
    proposal_pages,
    diffs,
    calendars,
    command_line,
)


@pytest.mark.parametrize("matrix", MATRICES)
def test_no_two_places_name_another_day_for_a_version(site: Path, matrix: str) -> None:
    known = scheduled(site, matrix)
    read = {place.__name__: list(place(site, matrix)) for place in (*WHOLE, *PARTS)}
    assert {name for name, moves in read.items() if not moves} == set()
    different = [
        (name, move, on)
        for name, moves in read.items()
        for move, on in moves
        if known.get(move) != on
    ]
    assert different == []
    assert all(dict(read[place.__name__]) == known for place in (*WHOLE, calendars))


@pytest.mark.parametrize("matrix", MATRICES)
def test_floors_of_a_day_are_those_of_its_moves(site: Path, matrix: str) -> None:
    minimum, moves = document(site, matrix, "minimum"), document(site, matrix, "schedule")["moves"]
    now = {floor["axis"]: floor["at"] for floor in minimum["floors"]}
    opened = [proposal for proposal in raises(site, matrix) if proposal["open"]]
    for dated in minimum["dated"]:
        for axis, at in now.items():
            reached = [m["to"] for m in moves if m["axis"] == axis and m["on"] <= dated["on"]]
            assert dated["floors"][axis] == highest([at, *reached])
    for axis, at in now.items():
        mine = [proposal["proposed"] for proposal in opened if proposal["axis"] == axis]
        assert minimum["dated"][0]["proven"][axis] == highest([at, *mine])


@pytest.mark.parametrize("matrix", MATRICES)
def test_feed_and_badge_tell_of_the_open_proposals_alone(site: Path, matrix: str) -> None:
    every = document(site, matrix, "proposals")["proposals"]
    opened = {proposal["id"] for proposal in every if proposal["open"]}
    feed = (site / "public" / "feed" / matrix / "all.atom").read_text(encoding="utf-8")
    assert feed.count('<category term="proposals" />') == len(opened)
    folder = site / "public" / matrix / "proposals"
    for name, shown in pages(folder).items():
        assert (" open " in shown.partition(" from ")[2][:60]) == (name in opened)


@pytest.mark.parametrize("matrix", MATRICES)
def test_a_chart_ends_no_window_before_the_move_that_ends_it(site: Path, matrix: str) -> None:
    found = document(site, matrix, "schedule")
    coming = [move for move in found["moves"] if move["state"] != "due"]
    assert coming
    bars = {(bar["axis"], bar["version"]): bar["until"] for bar in found["bars"]}
    for move in coming:
        assert bars[move["axis"], move["before"]] <= move["on"]
    first = {
        axis: min(m["on"] for m in coming if m["axis"] == axis)
        for axis in {m["axis"] for m in coming}
    }
    due = {move["axis"]: move["to"] for move in found["moves"] if move["state"] == "due"}
    floors = {floor["axis"]: floor["at"] for floor in document(site, matrix, "minimum")["floors"]}
    for axis, on in first.items():
        assert bars[axis, due.get(axis, floors[axis])] == on


def highest(versions: list[str]) -> str:
    return max(versions, key=lambda version: tuple(map(int, version.split("."))))
