"""The inner pages: what a maintainer reads first, a cell that opens with what fails, and commands
that are folded but there.
"""

import re

import msgspec
import pytest
from support.editions import EARLY, MOVING, POLICY, edition
from support.known import CELLS, MATRIX, Shelf, lock_of, ran, statuses
from support.printed import every_state, printed, words

from compat.declare.matrix import KnownIssue
from compat.results.answer import Answer
from compat.site.edition import Edition
from compat.site.results import look, place_view


@pytest.fixture(scope="module")
def moving() -> Edition:
    return edition(Shelf(policy=POLICY), EARLY, MOVING)


@pytest.fixture(scope="module")
def cell() -> str:
    """The page of a cell that works in part."""
    pages = printed(edition(every_state()))
    return next(
        html
        for path, html in pages.items()
        if "/cell/" in path and "capability works" in html and "What fails" in html
    )


def test_the_roadmap_has_each_floor_each_move_and_its_proposal(moving: Edition) -> None:
    pages = printed(moving)
    html, (report,) = pages["demo/roadmap/index.html"], moving.reports
    text = words(html)
    for outlook in report.outlooks:
        assert f"{outlook.package} {outlook.floor} → {outlook.to}" in text
        assert all(need in text for need in outlook.needs)
        assert outlook.package in html
    assert "cal/demo/all.ics" in html
    assert html.index('id="windows"') < html.index('id="moves"')
    assert text.count("minimum today") == len(report.outlooks) == 2
    assert report.schedule.moves
    for move in report.schedule.moves:
        assert f"{move.package} {move.before} {move.to}" in text
    assert "is not known" in text
    for proposal in report.proposals:
        page = pages[f"demo/proposals/{proposal.id}/index.html"].replace("&#34;", '"')
        assert f'+at = "{proposal.proposed}"' in page or proposal.kind == "extend"
    assert not re.search(r"\d{4}-\d\d-\d\d", re.sub(r'"[^"]*"|<pre.*?</pre>', "", html, flags=re.S))
    for old in ("schedule", "proposals"):
        assert "../roadmap/" in pages[f"demo/{old}/index.html"]


def test_a_cell_begins_with_what_fails_and_folds_what_passes(cell: str) -> None:
    assert cell.index('id="why"') < cell.index('id="install"') < cell.index("capability works")
    assert "<details open" not in cell.partition('id="install"')[2]


def test_a_cell_that_works_begins_with_its_commands_and_ends_with_what_its_release_cannot_do() -> (
    None
):
    known = (KnownIssue(because="it was never promised", capability="mean", fault="release"),)
    lock = lock_of("py3.9-dep2-demo2.0")
    found = statuses(sum="yes", mean="no")
    shelf = Shelf([ran(lock, "test-fail:assertion(mean)", capabilities=found, log="E x")], [lock])
    matrix = msgspec.structs.replace(MATRIX, known=known)
    html = printed(edition(shelf, matrix=matrix))["demo/cell/py3.9-dep2-demo2.0/index.html"]
    assert html.index('id="install"') < html.index('id="why"') < html.index("capability works")
    why = words(html.partition('id="why"')[2].partition('id="beside"')[0])
    assert "What this release cannot do" in why
    assert "in every combination" in why
    assert "What fails" not in why
    assert "Result:" not in why


def test_one_form_of_the_commands_is_open_and_the_others_are_one_step_away(cell: str) -> None:
    box = cell.partition('<fieldset class="tabs">')[2].partition("</section>")[0]
    # The command comes first, and then what it takes.
    assert box.index("<pre") < box.index("Linux x86-64")
    names = re.findall(r"<label [^>]*>([^<]*)</label>", box)
    assert names == ["pip", "uv", "Project", "Colab", "Docker"]
    assert len(re.findall(r'<input type="radio" name="answer-c"', box)) == 5
    assert len(re.findall(r" checked><label", box)) == 1
    assert "not measured: time," in box


def test_two_releases_lead_to_the_page_that_compares_them() -> None:
    pages = printed(edition(every_state()))
    assert "compare/?old=1.0&amp;new=2.0" in pages["demo/compare/1.0...2.0/index.html"]
    assert "compare/?old=1.0&amp;new=2.0" in pages["demo/release/2.0/index.html"]


def test_what_is_inferred_is_shown_as_old_nowhere() -> None:
    entry = Answer(cell=CELLS[0], kind="works", evidence="inferred", stale=True)
    assert "stale" not in look(entry).css
    assert "stale" not in place_view([entry], MATRIX).css
