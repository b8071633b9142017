"""What keeps a Python, on pages and in the API: the same sentence, hostile names escaped."""

import datetime
import json

from packaging.version import Version
from support.editions import EARLY, MOVING, POLICY, TOLD, URL, files
from support.known import DAY, MATRIX, Shelf

from compat.search.why import Needs, release_needs
from compat.site.documents import api, cell_files
from compat.site.edition import Edition, MatrixReport
from compat.site.page_list import pages
from compat.site.render import Printer, assets

HOSTILE = "demo/<script>alert(1)</script>.py"
SENTENCE = "Python 3.9 is needed by annotations only: 1 annotation in 1 file"


def needs() -> Needs:
    source = b"def f(x: list[int]): ...\n"
    read = [
        release_needs(Version(version), "demo.whl", {HOSTILE: source}) for version in ("1.0", "2.0")
    ]
    return Needs().with_releases(read, "vermin 1 on Python 3.11")


def edition(kept: Needs, matrix: object = MATRIX, day: datetime.date = DAY) -> Edition:
    shelf = Shelf(policy=POLICY)
    report = MatrixReport(shelf.picture(day, matrix), shelf, {}, TOLD, kept)
    return Edition([report], URL, day)


def page(of: Edition, path: str) -> str:
    [found] = [candidate for candidate in pages(of) if candidate.path == path]
    return Printer(of, assets()).html(found).decode()


def test_the_page_of_a_release_says_it_and_escapes_names() -> None:
    markup = page(edition(needs()), "demo/release/1.0/index.html")
    assert "What keeps its lowest Python" in markup
    assert SENTENCE in markup
    assert "<script>alert" not in markup
    assert "vermin 1" in markup


def test_a_release_that_was_not_read_has_no_section() -> None:
    assert "What keeps its lowest Python" not in page(
        edition(Needs()), "demo/release/1.0/index.html"
    )


def test_the_roadmap_says_it_of_the_newest_release() -> None:
    path = "demo/roadmap/index.html"
    assert SENTENCE in page(edition(needs(), MOVING, EARLY), path)
    assert "annotations only" not in page(edition(Needs(), MOVING, EARLY), path)


def test_the_api_says_it_of_every_release() -> None:
    document = json.loads(files(edition(needs()), cell_files, api)["api/v1/demo/floors.json"])
    assert [row["release"] for row in document["python"]] == ["1.0", "2.0"]
    assert document["python"][0]["sentence"].startswith(SENTENCE)
    assert document["python"][0]["keepers"] == ["annotation"]
    assert document["packages"][0]["requirements"]
    assert "runs nothing" in document["limits"]
