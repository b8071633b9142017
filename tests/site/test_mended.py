"""A site mended file by file is the one made at once: no digest of inputs leaves out what a file is
made from.
"""

import datetime
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.editions import edition
from support.examples import examples
from support.known import DAY, Shelf, lock_of, ran, shelves
from support.printed import SITE, every_state

from compat.site.api import cell_documents
from compat.site.edition import Edition
from compat.site.pages.page_list import pages
from compat.site.pages.render import Printer
from compat.site.paths import page
from compat.site.publication import edition_files
from compat.site.writer import Written, write_edition

BROKEN = "py3.8-dep2-demo2.0+relaxed"
PROVEN = "py3.9-dep2-demo2.0"


def publish(shelf: Shelf, folder: Path, day: datetime.date = DAY) -> Written:
    of = edition(shelf, day)
    printer = Printer(of, SITE)
    return write_edition(folder, edition_files(of, printer), "1", (), printer.moved)


def repaired() -> Shelf:
    """Every state, and one cell that was broken works since."""
    shelf = every_state()
    lock = shelf.locks[BROKEN]
    records = [record for entry in shelf.picture().known for record in shelf.records(entry.cell.id)]
    return Shelf(
        [*records, ran(lock, minute=30), ran(lock_of("py3.9-dep1-demo2.0"))], shelf.locks.values()
    )


@given(before=shelves(), after=shelves(), days=st.sampled_from([0, 1, 100]))
@example(before=every_state(), after=repaired(), days=0)
@example(before=repaired(), after=every_state(), days=0)
@examples(10)
def test_a_mended_site_is_the_one_that_is_made_at_once(
    before: Shelf, after: Shelf, days: int
) -> None:
    with (
        TemporaryDirectory() as one,
        TemporaryDirectory() as other,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(cell_documents, "ROWS", 2)
        mended, fresh = Path(one), Path(other)
        publish(before, mended, DAY - datetime.timedelta(days=days))
        found, whole = publish(after, mended), publish(after, fresh)
        assert set(found.files) == set(whole.files)
        assert [
            p for p in whole.files if (mended / p).read_bytes() != (fresh / p).read_bytes()
        ] == []
        assert found.files == whole.files
        assert publish(after, mended).changed == ()


def made_anew(shelf: Shelf, paths: Callable[[Edition], set[str]]) -> tuple[set[str], set[str]]:
    """Of the pages with these paths those that a further run of PROVEN makes anew, and all."""

    def inputs(of: Edition) -> dict[str, str]:
        chosen = paths(of)
        return {known.path: known.inputs for known in pages(of) if known.path in chosen}

    records = [record for entry in shelf.picture().known for record in shelf.records(entry.cell.id)]
    again = Shelf([*records, ran(shelf.locks[PROVEN], minute=50)], shelf.locks.values())
    before, after = inputs(edition(shelf)), inputs(edition(again))
    return {path for path in before if after[path] != before[path]}, {*before}


def test_a_run_makes_the_commands_of_no_tested_combination_elsewhere_anew() -> None:
    def tested(of: Edition) -> set[str]:
        return {page("demo", "advise", proof.id) for proof in of.reports[0].advisor.proofs}

    changed, every = made_anew(every_state(), tested)
    assert page("demo", "advise", PROVEN) in changed
    assert {path for path in changed if "demo2" not in path} == set()
    assert {path for path in every if "demo2" not in path}


def test_a_run_that_changes_no_sign_makes_no_page_of_a_neighbour_anew() -> None:
    def cells(of: Edition) -> set[str]:
        return {page("demo", "cell", entry.cell.id) for entry in of.reports[0].snapshot.known}

    changed, every = made_anew(repaired(), cells)
    assert page("demo", "cell", PROVEN) in changed
    assert page("demo", "cell", "py3.9-dep1-demo2.0") in every - changed
