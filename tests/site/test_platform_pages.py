"""Other platforms on pages and in the API: what metadata says there, and that nothing ran."""

import datetime
import json
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator
from support.documents import named_rows
from support.editions import edition, files
from support.known import CATALOGUE, MATRIX, Shelf
from support.printed import main_words, printed

from compat.declare.matrix import PlatformNames
from compat.plan.cell import split_platform
from compat.results.installs import (
    Install,
    answered_elsewhere,
    declared_installs,
    install_causes,
    newest_on,
    on_platforms,
    platform_facts,
)
from compat.results.learnt import LOCKED, PlainAnswer
from compat.site.documents import api, cell_files
from compat.site.edition import Edition
from compat.site.status import install_line

NAMES: PlatformNames = ("macos-arm64", "windows-x86_64")
DECLARED = msgspec.structs.replace(MATRIX, platforms=NAMES)
OPEN = "py3.9-dep2-demo2.0"
DAY = datetime.date(2026, 11, 20)
PAGE, DOCUMENT = "demo/plain/index.html", "api/v1/demo/platform-installs.json"


def installs(answers: tuple[PlainAnswer, ...] = ()) -> tuple[Install, ...]:
    by_cell = {answer.cell: answer for answer in answers}
    return tuple(
        answered_elsewhere(install, by_cell)
        for name in NAMES
        for install in declared_installs(platform_facts(DECLARED, CATALOGUE, None, name), name)
    )


def platforms_edition(*answers: PlainAnswer) -> Edition:
    of = edition(Shelf(), matrix=DECLARED)
    known = of.reports[0].snapshot
    own = known.own_installs
    known.with_installs(lambda: (*own, *installs(answers)))
    return of


def test_the_page_has_each_platform_with_what_installs_there_and_why_not() -> None:
    said = main_words(printed(platforms_edition())[PAGE])
    assert "installs on macOS arm64" in said
    assert "Demo 1.0 admits dep" in said
    assert "is 2.0, for Python" in said
    assert "Nothing was run on other platforms." in said
    assert printed(platforms_edition())[PAGE].count('title="installs by metadata: ') == 3


def test_a_release_says_where_else_it_installs() -> None:
    pages = printed(platforms_edition())
    said = main_words(pages["demo/release/1.0/index.html"])
    # Its dep has a wheel for Python 3.9 on Windows, and none on macOS.
    assert "macOS arm64, Python 3.8 and 3.9 ⊘ no wheel" in said
    assert "Windows x86-64, Python 3.9 ○ installs by metadata" in said
    assert 'href="../../plain/"' in pages["demo/release/1.0/index.html"]


def test_a_visitor_elsewhere_is_told_first_what_is_known_and_gets_a_container() -> None:
    pages = printed(platforms_edition())
    page = pages["demo/advise/macos-arm64/index.html"]
    assert (
        page.index("data-elsewhere")
        < page.index("data-question")
        < page.index("data-answer data-says")
    )
    assert "tested on macOS arm64." in main_words(page)
    none = {
        install.cell: msgspec.structs.replace(install, state="no-wheel") for install in installs()
    }
    of = platforms_edition()
    known = of.reports[0].snapshot
    own = known.own_installs
    known.with_installs(lambda: (*own, *none.values()))
    said = main_words(printed(of)["demo/advise/macos-arm64/index.html"])
    assert "Use the Docker tab" in said
    assert 'value="macos-arm64" data-path="advise/macos-arm64/"' in pages["demo/index.html"]


def test_without_other_platforms_nothing_is_said_of_them() -> None:
    of = edition(Shelf())
    pages = printed(of)
    assert "Which platforms" not in pages[PAGE]
    assert "macOS" not in pages["demo/release/1.0/index.html"]
    assert DOCUMENT not in files(of, cell_files, api)


def test_the_document_is_as_its_schema_says_and_has_each_sentence_once() -> None:
    made = files(platforms_edition(), cell_files, api)
    document: dict[str, Any] = json.loads(made[DOCUMENT])
    Draft202012Validator(json.loads(made["schema/v1/platform-installs.json"])).validate(document)
    assert len(set(document["sentences"])) == len(document["sentences"])
    assert {one["evidence"] for one in named_rows(made[DOCUMENT])["installs"]} == {"declared"}
    assert [one["runner"] for one in document["platforms"]] == ["macos-14", "windows-latest"]


@pytest.mark.parametrize(
    ("outcome", "state", "evidence"),
    [
        (LOCKED, "resolves", "locked"),
        ("lock-fail:conflict(dep)", "refused", "asked"),
        ("lock-fail:source-only(dep==2.0)", "needs-build", "asked"),
    ],
)
def test_a_resolver_answers_what_metadata_leaves_open(
    outcome: str, state: str, evidence: str
) -> None:
    answer = PlainAnswer(cell=OPEN, on=DAY, outcome=outcome, because="it says so")
    (one,) = (i for i in installs((answer,)) if i.cell == f"{OPEN}@macos-arm64")
    assert (one.state, one.evidence, one.on) == (state, evidence, DAY)
    assert "on 2026-11-20)" in install_line(one)


def test_metadata_that_rules_an_install_out_is_believed_before_an_older_answer() -> None:
    answer = PlainAnswer(cell="py3.8-dep1-demo1.0", on=DAY, outcome=LOCKED)
    cells = [i for i in installs((answer,)) if split_platform(i.cell)[0] == answer.cell]
    assert {install.state for install in cells} == {"no-wheel"}


def test_each_answer_stands_once_and_none_is_lost() -> None:
    every = installs()
    causes = install_causes(every)
    assert sum(cause.count for cause in causes) == len(every)
    assert len({(c.platform, c.state, c.outcome) for c in causes}) == len(causes)
    assert {(one.release, one.platform) for one in on_platforms(every)} == {
        (install.release, install.platform) for install in every
    }


def test_the_newest_that_installs_is_the_newest_release_and_not_the_last_text() -> None:
    (first, *_) = (i for i in installs() if i.state == "by-metadata")
    releases = [msgspec.structs.replace(first, release=text) for text in ("0.9", "0.10", "0.2")]
    best = newest_on(releases, first.platform, ("by-metadata",))
    assert best is not None
    assert best.release == "0.10"
    assert newest_on(releases, first.platform, ("resolves",)) is None
