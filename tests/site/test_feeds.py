"""Feeds: what happened and nothing else, each under an id of its own."""

import datetime
from collections import Counter
from xml.etree import ElementTree

from hypothesis import given
from support.editions import URL, edition, files
from support.examples import examples
from support.known import DAY, Shelf, lock_of, proven, ran, shelves

from compat.site.exports import feeds

NEW = "py3.9-dep2-demo2.0"
ATOM = "{http://www.w3.org/2005/Atom}"


ALSO = "The lock also changed."


def feed(shelf: Shelf, name: str, day: datetime.date = DAY) -> list[dict[str, str]]:
    """The entries of a category, or all."""
    root = ElementTree.fromstring(files(edition(shelf, day), feeds)["feed/demo/all.atom"])
    entries = [
        {
            child.tag.removeprefix(ATOM): child.text or child.get("href") or child.get("term", "")
            for child in entry
        }
        for entry in root.iter(f"{ATOM}entry")
    ]
    return [entry for entry in entries if name in ("all", entry["category"])]


def worked_then_broke() -> Shelf:
    lock = lock_of(NEW)
    other = lock_of(NEW, pytest="9.0")
    return Shelf([ran(lock, days_ago=3), ran(other, "import-fail:abort")], [other])


def test_a_regression_is_told_with_what_it_means() -> None:
    (entry,) = feed(worked_then_broke(), "regressions")
    assert entry["title"].startswith("broken; was: works: ")
    assert (
        entry["content"]
        == f"Cell {NEW}. import-fail:abort. The import fails: interpreter aborted. {ALSO}"
    )
    assert entry["link"] == f"{URL}demo/cell/{NEW}/"
    assert entry["updated"] == "2026-11-20T12:00:00.000000Z"


def test_a_first_success_is_no_regression() -> None:
    assert feed(proven(NEW), "regressions") == []
    assert any(entry["title"].startswith("works: demo 2.0") for entry in feed(proven(NEW), "all"))


def test_releases_are_told_when_they_came_out() -> None:
    titles = [entry["title"] for entry in feed(Shelf(), "releases")]
    assert titles[-1] in ("demo 1.0 released", "dep 1.0 released")
    assert "dep 3.0rc1 released" not in titles
    before = feed(Shelf(), "releases", datetime.date(2020, 1, 15))
    assert {entry["title"] for entry in before} == {"demo 1.0 released", "dep 1.0 released"}


def test_a_silence_is_told_once_and_keeps_its_day() -> None:
    shelf = Shelf([ran(lock_of(NEW))], [lock_of(NEW)])
    assert feed(shelf, "health") == []
    first, later = (
        feed(shelf, "health", DAY + datetime.timedelta(days=days)) for days in (91, 120)
    )
    assert [entry["id"] for entry in first] == [entry["id"] for entry in later]
    assert first[0]["updated"] == "2027-02-19T00:00:00.000000Z"
    assert feed(shelf, "health", DAY + datetime.timedelta(days=90)) == []


@given(shelves())
@examples(50)
def test_feeds_hold_only_the_past_and_no_id_twice(shelf: Shelf) -> None:
    found = files(edition(shelf), feeds)
    assert [*found] == ["feed/demo/all.atom"]
    for text in found.values():
        root = ElementTree.fromstring(text)
        assert [child.tag.removeprefix(ATOM) for child in root][:3] == ["id", "title", "updated"]
        ids = Counter(element.text for element in root.iter(f"{ATOM}id"))
        assert max(ids.values()) == 1
        stamps = [element.text or "" for element in root.iter(f"{ATOM}updated")]
        assert all(stamp[:10] <= str(DAY) for stamp in stamps)
        assert stamps[1:] == sorted(stamps[1:], reverse=True)


@given(shelves())
@examples(25)
def test_an_entry_stays_as_it_was_when_days_go_by(shelf: Shelf) -> None:
    today = {entry["id"]: entry for entry in feed(shelf, "all")}
    later = {entry["id"]: entry for entry in feed(shelf, "all", DAY + datetime.timedelta(days=30))}
    assert {name: later[name] for name in today} == today
