"""Putting records into batches through the command, and what is shown of them afterwards."""

from pathlib import Path

import pytest
from support.known import FRESH, Shelf, lock_of, ran, repository
from support.ran import Run

LOCK = lock_of(FRESH[0])
SHELF = Shelf([ran(LOCK, days_ago=days) for days in (3, 2, 1)], [LOCK])


def test_what_is_shown_of_packed_records_is_what_was_shown_before(run: Run) -> None:
    with repository(SHELF) as root:
        records = root / "matrices" / "demo" / "records"
        words = ("show", "demo", FRESH[0], "--root", str(root))
        before = run(*words)
        packed = run("ci", "pack", "demo", "--root", str(root))
        assert (packed.code, packed.out) == (0, "demo: 3 records put into 3 new batches\n")
        assert [path.name for path in records.iterdir()] == ["_batches"]
        after = run(*words)
        assert (after.code, after.out, after.err) == (before.code, before.out, before.err)
        again = run("ci", "pack", "demo", "--root", str(root), "--json")
        assert again.json["data"] == {"matrix": "demo", "records": 0, "batches": 0}


def test_only_days_before_the_given_one_are_packed(run: Run) -> None:
    with repository(SHELF) as root:
        day = SHELF.records(FRESH[0])[1].started.date()
        done = run("ci", "pack", "demo", "--before", day.isoformat(), "--root", str(root))
        assert done.out == "demo: 1 record put into 1 new batch\n"
        assert len(list((root / "matrices" / "demo" / "records").glob("*/*.json"))) == 2


@pytest.mark.parametrize("spoil", ["record", "batch"])
def test_damage_is_told_with_its_place(run: Run, spoil: str) -> None:
    with repository(SHELF) as root:
        records = root / "matrices" / "demo" / "records"
        if spoil == "batch":
            run("ci", "pack", "demo", "--root", str(root))
        path = sorted(records.glob("*/*.json*"))[0]
        path.write_bytes(path.read_bytes()[:40])
        if spoil == "record":
            packed = run("ci", "pack", "demo", "--root", str(root))
            assert packed.code == 1
            assert f"matrices/demo/records/{path.parent.name}/{path.name}" in packed.err
            assert "2 records" in packed.out
            assert path.exists()
        shown = run("show", "demo", "--root", str(root))
        assert shown.code == 1
        assert f"matrices/demo/records/{path.parent.name}/{path.name}" in shown.err


def test_a_wrong_day_is_told(run: Run, root: Path) -> None:
    done = run("ci", "pack", "demo", "--before", "yesterday")
    assert (done.code, done.err) == (
        2,
        "error: --before: 'yesterday' is not a date such as 2026-11-01\n",
    )
