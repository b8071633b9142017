"""Lanes on their page and in the API: declared against installed, and the one alert."""

import json
import re
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator
from support.editions import edition, files
from support.known import DAY, MATRIX, Shelf, lock_of, ran
from support.printed import main_words, printed

from compat.index.release import Package
from compat.lock.lockfile import Lock
from compat.results.compare import variant_report
from compat.site.documents import api, cell_files
from compat.site.edition import Edition, MatrixReport
from compat.site.page_list import LONGEST_TITLE
from compat.value import encode

VARIANTS = msgspec.structs.replace(MATRIX, lowest=True)
FRESH, LOWEST = "py3.9-dep2-demo2.0", "py3.9-dep2-demo2.0+lowest"
OUTCOME = "import-fail:missing-attribute(dep.new)"
SENTENCE = "the lowest declared versions break 1 of 1 cell that works with newer ones"
PAGE, DOCUMENT = "demo/lanes/index.html", "api/v1/demo/lanes.json"


def floors(*texts: str, **pins: str) -> Lock:
    lock = lock_of(LOWEST, **pins)
    return msgspec.structs.replace(lock, inputs=msgspec.structs.replace(lock.inputs, floors=texts))


def lanes_edition(lock: Lock | None = None, outcome: str = OUTCOME, **run: Any) -> Edition:
    lock = lock or floors("dep>=2.0")
    locks = [lock_of(FRESH), lock]
    shelf = Shelf([ran(locks[0]), ran(lock, outcome, **run)], locks)
    return edition(shelf, matrix=VARIANTS)


def test_the_page_says_what_is_broken_and_holds_declared_against_installed() -> None:
    pages = printed(lanes_edition(floors("dep>=2.0", "pytest~=7.4", "lost>1")))
    text = main_words(pages[PAGE])
    assert f"{SENTENCE[0].upper()}{SENTENCE[1:]}." in text
    assert "demo 2.0 with dep 2 on Python 3.9" in text
    assert "✗ broken" in text
    assert "dep.new is missing" in text
    assert f"compat blame demo {FRESH} {LOWEST}" in text
    assert "dep>=2.0 : 2.0 installed" in text
    assert "7.4 is not tested" in text
    assert "nothing installed" in text
    assert f'href="../cell/{FRESH}/"' in pages[PAGE]
    title = re.search(r"<title>(.*?)</title>", pages[PAGE])
    assert title is not None
    assert len(title[1].partition(" · ")[0]) <= LONGEST_TITLE
    # It stands under "More", and the short address leads there.
    assert '<a href="../lanes/">Variants</a>' in pages["demo/more/index.html"]
    assert "lanes/index.html" in pages


def test_what_did_not_run_is_counted_and_not_called_tested() -> None:
    text = main_words(printed(edition(Shelf(), matrix=VARIANTS))[PAGE])
    assert "2 cells have no result yet; compat run demo '*+lowest' finds out." in text
    assert "cells that were tried" not in text


def test_the_document_of_the_api_is_what_the_command_prints() -> None:
    of = lanes_edition()
    (report,) = of.reports
    found = files(of, cell_files, api)
    document = json.loads(found[DOCUMENT])
    locks = {LOWEST: floors("dep>=2.0")}
    told = json.loads(encode(variant_report(report.snapshot, locks.get)))
    assert {key: document[key] for key in ("cells", "alerts")} == told
    assert (document["matrix"], document["schema_version"]) == ("demo", 1)
    (alert,) = document["alerts"]
    assert (alert["sentence"], alert["cells"]) == (SENTENCE, [LOWEST])
    (cell,) = (cell for cell in document["cells"] if cell["cell"] == LOWEST)
    assert cell["floors"] == [
        {
            "package": "dep",
            "declared": "dep>=2.0",
            "lowest": "2.0",
            "installed": "2.0",
            "because": "",
        }
    ]
    schema = json.loads(found["schema/v1/lanes.json"])
    Draft202012Validator(schema).validate(document)


def test_a_matrix_that_declares_no_lane_has_nothing_of_it() -> None:
    pages, found = printed(edition(Shelf())), files(edition(Shelf()))
    assert not [path for path in (*pages, *found) if "lanes" in path and "schema" not in path]
    assert not [path for path, markup in pages.items() if "demo/lanes/" in markup]


@pytest.mark.parametrize("subject", ["<script>alert(1)</script>", "a\u202eb", "x" * 500])
def test_what_a_cell_reported_is_escaped_and_cut(subject: str) -> None:
    markup = printed(lanes_edition(outcome=f"test-fail:assertion({subject})"))[PAGE]
    assert "<script>alert" not in markup
    assert "\u202e" not in markup
    assert "x" * 300 not in markup


def test_where_no_pre_release_is_out_the_page_says_so() -> None:
    report = lanes_edition().reports[0]
    snapshot = Shelf().picture(DAY, VARIANTS)
    catalogue = msgspec.structs.replace(
        snapshot.catalogue, prereleases=(Package(name="dep", releases=()),)
    )
    snapshot.catalogue = catalogue
    of = Edition([MatrixReport(snapshot, report.parts, {}, ())], "https://x.example/", DAY)
    assert "No pre-release of dep" in main_words(printed(of)[PAGE])
