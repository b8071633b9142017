"""The inner pages: what a maintainer reads first, a cell that opens with what fails, and commands
that are folded but there.
"""

import re

import msgspec
import pytest
from support.editions import EARLY, MOVING, POLICY, edition
from support.known import MATRIX, Shelf, lock_of, ran, statuses
from support.printed import Addresses, every_state, printed

from compat.declare.matrix import KnownIssue
from compat.site.edition import Edition


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


def words(html: str) -> str:
    return " ".join(" ".join(Addresses(html).words).split())


def test_each_floor_is_one_sentence_with_its_command_change_and_calendar(moving: Edition) -> None:
    html = printed(moving)["demo/proposals/index.html"]
    cards = html.split('<section class="card floor"')[1:]
    (report,) = moving.reports
    assert len(cards) == len(report.outlooks) == 2
    for card, outlook in zip(cards, report.outlooks, strict=True):
        text = words(card)
        assert f"{outlook.package} {outlook.floor}" in text
        assert all(need in text for need in outlook.needs)
        assert f"cal/demo/{outlook.axis}.ics" in card
        for proposal in report.proposals:
            if proposal.axis == outlook.axis:
                assert f'+at = "{proposal.proposed}"' in card.replace("&#34;", '"')
    assert not re.search(r"\d{4}-\d\d-\d\d", re.sub(r'"[^"]*"|<pre.*?</pre>', "", html, flags=re.S))


def test_a_cell_begins_with_what_fails_and_folds_what_passes(cell: str) -> None:
    heads = re.findall(r'<h2 id="([^"]*)"', cell)
    assert heads.index("why") < heads.index("install") < heads.index("can")
    folded = cell.partition('id="can"')[2].partition("</section>")[0]
    assert "<details><summary>" in folded
    assert "<details open" not in folded


def test_a_cell_that_works_begins_with_its_commands_and_ends_with_what_its_release_cannot_do() -> (
    None
):
    known = (KnownIssue(because="it was never promised", capability="mean", fault="release"),)
    lock = lock_of("py3.9-dep2-demo2.0")
    found = statuses(sum="yes", mean="no")
    shelf = Shelf([ran(lock, "test-fail:assertion(mean)", capabilities=found, log="E x")], [lock])
    matrix = msgspec.structs.replace(MATRIX, known=known)
    html = printed(edition(shelf, matrix=matrix))["demo/cell/py3.9-dep2-demo2.0/index.html"]
    heads = re.findall(r'<h2 id="([^"]*)"', html)
    assert heads.index("install") < heads.index("why") < heads.index("can")
    why = words(html.partition('id="why"')[2].partition("</section>")[0])
    assert "What this release cannot do" in why
    assert "fails in every combination of this release" in why
    assert "What fails" not in why
    assert "Result:" not in why


def test_one_form_of_the_commands_is_open_and_the_others_are_one_step_away(cell: str) -> None:
    box = cell.partition('class="commands"')[2].partition("</section>")[0]
    # The command comes first, and then what it takes.
    assert box.index("uv venv") < box.index("Linux x86-64")
    names = re.findall(r"<summary>([^<]*)</summary>", box)
    assert names == ["uv", "pip", "Your project", "Colab", "Docker"]
    assert len(re.findall(r'<details name="commands"', box)) == 5
    assert len(re.findall(r'<details name="commands" open', box)) == 1
    assert "Linux x86-64" in box
    assert "not measured: time, size on disk and size of the download" in box
