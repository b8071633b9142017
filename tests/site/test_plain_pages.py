"""Plain installs on pages and in the API: what is refused is nowhere called declared."""

import re
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given
from support.documents import named_rows
from support.editions import edition, files
from support.examples import examples
from support.known import CELLS, Shelf, answered, lock_of, ran, repository, shelves

from compat.cli.options import workspace_of
from compat.cli.verdicts import verdict_row
from compat.results.answer import representative
from compat.results.installs import plain_installs
from compat.run.outcome import is_spurious
from compat.site.documents import api, cell_files
from compat.site.edition import Edition
from compat.site.page_list import pages
from compat.site.render import Printer, assets
from compat.site.results import grid, release_grid
from compat.site.status import STYLES, is_admitted, place_style

CELL = "py3.8-dep1-demo1.0"
SLOW = examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])


def page(of: Edition, path: str) -> str:
    (only,) = (one for one in pages(of) if one.path == path)
    return Printer(of, assets()).html(only).decode()


def text(markup: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", markup).split())


def document(of: Edition) -> dict[str, Any]:
    made = files(of, cell_files, api)["api/v1/demo/plain-installs.json"]
    found: dict[str, Any] = named_rows(made)
    return found


def test_the_page_of_a_release_answers_whether_a_plain_install_works() -> None:
    of = edition(Shelf(plain=[answered(CELL)]))
    said = text(page(of, "demo/release/1.0/index.html"))
    assert "pip install demo==1.0" in said
    assert "⊗ refused" in said
    assert "no gone==4.1" in said
    assert "Asked on 20 November" in said


def test_a_refused_release_names_the_tested_combination_in_the_data() -> None:
    shelf = Shelf(
        [ran(lock_of("py3.8-dep2-demo1.0+relaxed"))],
        [lock_of("py3.8-dep2-demo1.0+relaxed")],
        plain=[answered(CELL)],
    )
    of = edition(shelf)
    row = next(one for one in document(of)["installs"] if one["cell"] == CELL)
    assert row["state"] == "refused"
    assert row["instead"] == {
        "cell": "py3.8-dep2-demo1.0+relaxed",
        "verdict": "works",
        "lock": "lock/demo/py3.8-dep2-demo1.0+relaxed.txt",
    }


def test_the_page_of_all_releases_has_each_cause_once_and_each_release_on_each_python() -> None:
    of = edition(Shelf(plain=[answered(CELL), answered("py3.9-dep2-demo2.0", "locked")]))
    said = text(page(of, "demo/plain/index.html"))
    assert said.count("no gone==4.1.") == 1
    assert "○ resolves, not run" in said
    assert "“resolves” does not mean “works”" in said
    assert {(one["release"], one["python"]) for one in document(of)["installs"]} == {
        (str(cell.on("demo").version), str(cell.on("python").version)) for cell in CELLS
    }


def test_each_sentence_and_the_command_stand_once_in_the_data() -> None:
    of = edition(Shelf(plain=[answered(CELL), answered("py3.9-dep2-demo2.0", "locked")]))
    made, (report,) = document(of), of.reports
    sentences = made["sentences"]
    assert len(set(sentences)) == len(sentences)
    assert made["command"] == "pip install demo==RELEASE"
    assert [sentences[row["because"]] for row in made["installs"]] == [
        install.because for install in plain_installs(report.snapshot)
    ]


def test_a_release_opens_with_what_was_tested_and_folds_what_is_long() -> None:
    lock = lock_of("py3.8-dep2-demo1.0+relaxed")
    of = edition(Shelf([ran(lock)], [lock], plain=[answered(CELL)]))
    html = page(of, "demo/release/1.0/index.html")
    before = text(html.partition('id="plain"')[0])
    assert "✓+ works with changed dependency pins demo 1.0 with dep 2 on Python 3.8" in before
    assert "Recommended: dep 2.0 on" in before
    bare = re.sub(r"<details(?! open).*?</details>", "", html, flags=re.DOTALL)
    assert 'class="obstacle"' in html
    assert 'class="obstacle"' not in bare
    assert "has a test result." in text(page(of, "demo/release/2.0/index.html"))


@given(shelf=shelves())
@SLOW
def test_what_is_known_to_be_refused_is_nowhere_called_declared(shelf: Shelf) -> None:
    of = edition(shelf)
    (report,) = of.reports
    refused = [
        entry
        for entry in report.snapshot.entries
        # A missing wheel says nothing about the versions.
        if entry.refusal is not None
        and not is_spurious(entry.refusal.outcome)
        and not entry.is_tested
    ]
    releases = {
        str(version): release_grid(report, version)
        for version in {entry.cell.on("demo").version for entry in report.snapshot.entries}
    }
    for entry in refused:
        entries = report.siblings(entry)
        assert not is_admitted(entries)
        assert place_style(entries) != STYLES["declared"]
        at = {coordinate.axis: str(coordinate.version) for coordinate in entry.cell.coordinates}
        shown = grid(report, entry.cell.on("python").version)
        rows = [row for row in shown.rows if row.label == at["demo"]]
        rows += [r for r in releases[at["demo"]].rows if r.label == f"Python {at['python']}"]
        for row in rows:
            proven = [versions for style, versions in row.answers if style.state == "unknown"]
            assert at["dep"] not in proven
        assert entry.kind == ("infeasible" if entry.obstacle else "broken")
        assert any(str(entry.refusal.on) in reason for reason in entry.reasons)


@given(shelf=shelves())
@SLOW
def test_api_pages_and_command_line_say_the_same_of_a_plain_install(shelf: Shelf) -> None:
    of = edition(shelf)
    (report,) = of.reports
    installs = plain_installs(report.snapshot)
    made = document(of)
    assert [(one["cell"], one["state"], one["outcome"]) for one in made["installs"]] == [
        (one.cell, one.state, one.outcome) for one in installs
    ]
    assert sum(cause["count"] for cause in made["causes"]) == len(installs)
    with repository(shelf) as root:
        workspace = workspace_of("demo", root)
        workspace.day = report.snapshot.day
        for install in installs:
            entry = report.snapshot.by_id.get(install.cell)
            if entry is None or install.cell not in workspace.known_ids():
                continue
            assert verdict_row(workspace, install.cell)["verdict"] == entry.kind


@pytest.mark.parametrize("outcome", ["locked", "lock-fail:no-artifact(gone==4.1)"])
def test_no_page_says_that_what_no_suite_ran_in_works(outcome: str) -> None:
    of = edition(Shelf(plain=[answered(CELL, outcome)]))
    (report,) = of.reports
    best = representative(report.places[CELL])
    assert best.kind != "works"
    assert not any(one["state"] == "works" for one in document(of)["installs"])


def test_a_release_without_a_wheel_for_the_python_is_not_called_gone() -> None:
    because = "dep>=1 has no wheels with a matching Python ABI tag (e.g., `cp313`)"
    lacking = msgspec.structs.replace(
        answered(CELL, "lock-fail:no-artifact(dep>=1)"), because=because
    )
    of = edition(Shelf(plain=[lacking]))
    said = text(page(of, "demo/plain/index.html"))
    assert "wheel of dep&gt;=1 for" in said
    assert "has no dep" not in said
