"""One matrix on disk: what is read once, what the snapshot and the single verdicts agree about."""

import datetime
from pathlib import Path

import pytest
from support.known import DAY, Shelf, lock_of, proven, ran, repository

from compat.workspace import Workspace

NEW, OLD = "py3.9-dep2-demo2.0", "py3.8-dep1-demo1.0"


def workspace(root: Path, cache: Path, day: datetime.date = DAY) -> Workspace:
    return Workspace(root / "matrices" / "demo", day, lambda: cache)


def test_each_verdict_is_that_of_the_snapshot(tmp_path: Path) -> None:
    with repository(proven(NEW, OLD)) as root:
        demo = workspace(root, tmp_path)
        known = {entry.cell.id: entry.verdict for entry in demo.snapshot.known}
        assert known.keys() >= {NEW, OLD}
        assert {cell: demo.verdict(cell) for cell in known} == known


def test_runs_of_cells_that_the_matrix_cannot_read_say_nothing_about_time(tmp_path: Path) -> None:
    lock = lock_of(NEW)
    with repository(Shelf([ran(lock)], [lock])) as root:
        demo = workspace(root, tmp_path)
        (rows,) = demo.runs.values()
        demo.runs["py3.9-demo3.0"] = rows
        (cell,) = [entry.cell for entry in demo.snapshot.known]
        assert demo.durations["full"].of(cell) == rows[0].seconds
        assert demo.verdict("py3.9-demo3.0").kind == "unknown"


def test_what_was_read_is_read_again_only_when_told(tmp_path: Path) -> None:
    with repository(proven(NEW)) as root:
        demo = workspace(root, tmp_path)
        assert demo.runs is demo.runs
        before = demo.runs
        demo.refresh()
        assert demo.runs is not before
        assert demo.runs == before


def test_the_cache_is_asked_for_only_when_it_is_needed(tmp_path: Path) -> None:
    def nowhere() -> Path:
        raise AssertionError("asked for the cache")

    with repository(proven(NEW)) as root:
        demo = Workspace(root / "matrices" / "demo", DAY, nowhere)
        assert demo.matrix.name == "demo"
        assert demo.lock_digests.keys() == {NEW}
        with pytest.raises(AssertionError, match="asked for the cache"):
            _ = demo.runs


def test_an_import_is_held_against_the_kept_locks_and_the_published_requirements(
    tmp_path: Path,
) -> None:
    def imports(root: Path) -> list[str]:
        suite = root / "matrices" / "demo" / "suite"
        suite.mkdir(exist_ok=True)
        (suite / "test_all.py").write_text("import numpy\nimport mock\n")
        faults = workspace(root, tmp_path).suite_faults()
        return [fault.message.split()[1] for fault in faults]

    with repository(Shelf([], [])) as root:
        assert imports(root) == ["mock,"]
        catalogue = root / "matrices" / "demo" / "catalogue.json"
        text = catalogue.read_text()
        catalogue.write_text(
            text.replace('"requires":[', """"requires":["mock; extra == 'x'",""", 1)
        )
        assert imports(root) == ["mock,"]
        catalogue.write_text(text.replace('"requires":[', '"requires":["mock>=1",', 1))
        assert imports(root) == []
    with repository(Shelf([], [lock_of(NEW)])) as root:
        assert imports(root) == ["numpy,", "mock,"]
    with repository(Shelf([], [lock_of(NEW), lock_of(OLD, numpy="1.0")])) as root:
        assert imports(root) == ["mock,"]
