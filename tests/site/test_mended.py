"""A site written over an earlier one is the one that is written into an empty folder."""

import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.editions import edition
from support.examples import examples
from support.known import DAY, Shelf, lock_of, ran, shelves
from support.printed import SITE, every_state

from compat.site import documents, pictures
from compat.site.publication import Written, edition_files, write_edition
from compat.site.render import Printer

BROKEN = "py3.8-dep2-demo2.0+relaxed"


def publish(shelf: Shelf, folder: Path, day: datetime.date = DAY) -> Written:
    of = edition(shelf, day)
    printer = Printer(of, SITE)
    return write_edition(folder, edition_files(of, printer), (), printer.moved)


def repaired() -> Shelf:
    """Every state, and one cell that was broken works since."""
    shelf = every_state()
    lock = shelf.locks[BROKEN]
    records = [record for entry in shelf.picture().known for record in shelf.records(entry.cell.id)]
    return Shelf(
        [*records, ran(lock, minute=30), ran(lock_of("py3.9-dep1-demo2.0"))], shelf.locks.values()
    )


@pytest.mark.slow
@given(before=shelves(), after=shelves(), days=st.sampled_from([0, 1, 100]))
@example(before=every_state(), after=repaired(), days=0)
@example(before=repaired(), after=every_state(), days=0)
@examples(6)
def test_a_mended_site_is_the_one_that_is_made_at_once(
    before: Shelf, after: Shelf, days: int
) -> None:
    with (
        TemporaryDirectory() as one,
        TemporaryDirectory() as other,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(documents, "ROWS", 2)
        # To draw the cards would take most of the time.
        patch.setattr(pictures, "bitmap", lambda report: report.name.encode())
        mended, fresh = Path(one), Path(other)
        publish(before, mended, DAY - datetime.timedelta(days=days))
        found, whole = publish(after, mended), publish(after, fresh)
        assert set(found.files) == set(whole.files)
        assert [
            p for p in whole.files if (mended / p).read_bytes() != (fresh / p).read_bytes()
        ] == []
        assert found.files == whole.files
        assert publish(after, mended).changed == ()
