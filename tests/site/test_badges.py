"""Badges: facts in words, in the exact form that shields.io takes, and as pictures without
scripts.
"""

import json
from xml.etree import ElementTree

import pytest
from support.editions import edition, files, matrix_report
from support.known import Shelf, lock_of, proven, ran
from support.printed import every_state

from compat.site.pictures import AMBER, BLUE, GREY, RED, Badge, badges, endpoint, matrix_badges, svg

NEW, OLD = "py3.9-dep2-demo2.0", "py3.8-dep1-demo1.0"


def badge(shelf: Shelf, *name: str) -> Badge:
    return dict(matrix_badges(matrix_report(shelf, shelf.picture())))[name]


def failing(outcome: str, days_ago: int = 0) -> Shelf:
    return Shelf([ran(lock_of(NEW), outcome, days_ago=days_ago)], [lock_of(NEW)])


class TestFacts:
    def test_the_status_is_that_of_the_newest_release(self) -> None:
        found = badge(proven(NEW, OLD), "status")
        assert (found.label, found.message, found.colour) == (
            "demo 2.0", "works", BLUE,
        )  # fmt: skip
        assert badge(failing("import-fail:abort"), "status").colour == RED

    def test_without_data_it_is_grey_and_says_so(self) -> None:
        for name in (
            ("status",),
            ("latest",),
            ("freshness",),
            ("proposal",),
            ("dep-min",),
            ("release", "1.0"),
        ):
            assert badge(Shelf(), *name).message == "no data", name
            assert badge(Shelf(), *name).colour == GREY

    def test_what_nobody_ran_is_never_green(self) -> None:
        assert {
            found.colour for _, found in matrix_badges(matrix_report(Shelf(), Shelf().picture()))
        } == {GREY}

    def test_the_newest_that_works(self) -> None:
        broken = ran(lock_of(NEW), "import-fail:abort")
        shelf = Shelf([broken, ran(lock_of(OLD))], [lock_of(NEW), lock_of(OLD)])
        assert badge(shelf, "latest").message == "1.0 works"

    def test_where_nothing_works_wholly_the_newest_that_partly_works(self) -> None:
        shelf = failing("test-fail:assertion(test_mean)")
        assert badge(shelf, "latest").message.startswith("2.0 ")
        assert badge(shelf, "latest").message.endswith(badge(shelf, "status").message)

    def test_each_fits_into_a_line_of_badges(self) -> None:
        shelf = every_state()
        for found in matrix_badges(matrix_report(shelf, shelf.picture())):
            width = ElementTree.fromstring(svg(found[1])).get("width", "")
            assert int(width) <= 220, found

    def test_the_colour_never_changes_without_the_words(self) -> None:
        shelves = [proven(NEW), proven(f"{NEW}+relaxed"), failing("import-fail:abort"), Shelf()]
        found = [badge(shelf, "status") for shelf in shelves]
        assert len({one.message for one in found}) == len(found)

    def test_freshness_says_how_much_is_stale(self) -> None:
        assert badge(proven(NEW), "freshness").message == "20 Nov 2026"
        old = ran(lock_of(NEW), days_ago=200)
        found = badge(Shelf([old, ran(lock_of(OLD))], [lock_of(NEW), lock_of(OLD)]), "freshness")
        assert (found.message, found.colour) == ("20 Nov 2026, 1 of 2 stale", AMBER)
        assert badge(Shelf([old], [lock_of(NEW)]), "freshness").colour == RED


class TestForm:
    def test_every_badge_is_there_twice(self) -> None:
        found = files(edition(proven(NEW)), badges)
        stems = {path.rpartition(".")[0] for path in found}
        assert {
            f"badge/demo/{name}"
            for name in ("status", "latest", "proposal", "freshness", "release/2.0")
        } <= stems
        assert len(found) == 2 * len(stems)

    def test_the_json_has_the_keys_that_shields_takes_and_no_other(self) -> None:
        told = json.loads(endpoint(Badge(label="a", message="b", colour=BLUE)))
        assert told == {
            "schemaVersion": 1,
            "label": "a",
            "message": "b",
            "color": BLUE,
            "cacheSeconds": 3600,
        }

    def test_the_picture_says_its_words(self) -> None:
        root = ElementTree.fromstring(
            svg(Badge(label="demo <1>", message="works & more", colour=BLUE))
        )
        texts = [element.text for element in root.iter() if element.text]
        assert texts[0] == "demo <1>: works & more"
        assert texts[-2:] == ["demo <1>", "works & more"]
        assert {element.tag.rpartition("}")[2] for element in root.iter()} == {
            "svg",
            "title",
            "desc",
            "rect",
            "g",
            "text",
        }

    @pytest.mark.parametrize(("narrow", "wide"), [("abc", "abcd"), ("e", "日本語")])
    def test_the_width_follows_the_text(self, narrow: str, wide: str) -> None:
        def width(text: str) -> int:
            return int(
                ElementTree.fromstring(svg(Badge(label="x", message=text, colour=BLUE))).get(
                    "width", "0"
                )
            )

        assert width(narrow) < width(wide)
