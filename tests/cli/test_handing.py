"""Records from elsewhere, and whether what is known is still renewed, through the command."""

import datetime
from pathlib import Path

import pytest
from ran import Run

from compat.cli import setting
from compat.lock.text import read_digest
from compat.results.files import RecordFiles
from compat.results.record import Record
from compat.run.outcome import Passed
from compat.run.suitefiles import suite_digest

CELL = "py3.11-dep1-demo1.0"


def made(root: Path, days_ago: int = 0) -> Record:
    """A sound record of the locked cell, as another machine would make it."""
    folder = root / "matrices" / "demo"
    lock = (folder / "locks" / f"{CELL}.txt").read_text(encoding="utf-8")
    return Record(
        cell=CELL, matrix="demo", outcome=Passed(), lock_digest=read_digest(lock), seconds=3.0, isolation="L1",
        suite_digest=suite_digest(folder / "suite"), host="linux-x86_64-2cpu-8gb",
        started=setting.now() - datetime.timedelta(days=days_ago, seconds=60),
    )  # fmt: skip


@pytest.fixture
def handed(run: Run, root: Path, tmp_path: Path) -> Path:
    """A folder of records as a shard hands it over, with one record."""
    run("discover", "demo", "--write")
    (root / "matrices" / "demo" / "suite").mkdir(exist_ok=True)
    run("lock", "demo", CELL)
    (tmp_path / "elsewhere" / "demo").mkdir(parents=True)
    RecordFiles(tmp_path / "elsewhere" / "demo").add(made(root))
    return tmp_path / "elsewhere" / "demo" / "records"


def test_a_sound_record_is_kept_once(run: Run, root: Path, handed: Path) -> None:
    first = run("record", "demo", "--from", str(handed))
    assert (first.code, first.err) == (0, "1 records kept, 0 there already, 0 refused\n")
    (kept,) = (root / "matrices" / "demo" / "records").glob("*/*.json")
    assert first.out == f"{CELL}/{kept.name}  kept\n"
    again = run("record", "demo", "--from", str(handed), "--json")
    assert again.code == 0
    assert again.json["data"] == {"kept": [], "known": [f"{CELL}/{kept.name}"], "refused": []}


def test_what_is_not_sound_is_refused_and_the_rest_is_kept(run: Run, root: Path, handed: Path) -> None:
    (handed / CELL / "notes.txt").write_text("", encoding="utf-8")
    found = run("record", "demo", "--from", str(handed))
    assert found.code == 1
    assert f"compat: {CELL}/notes.txt: is no record" in found.err
    assert len(list((root / "matrices" / "demo" / "records").glob("*/*.json"))) == 1


def test_no_record_at_all_is_a_finding_and_no_folder_is_wrong_usage(run: Run, handed: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(handed)
    assert run("record", "demo", "--from", str(tmp_path / "empty")).code == 1
    assert run("record", "demo", "--from", str(tmp_path / "none")).code == 2
    assert run("record", "demo", "--from", str(tmp_path / "link")).code == 2
    assert run("record", "demo", "--from", str(handed), "--rejudge").code == 2
    assert run("record", "demo").code == 2


def test_a_lock_that_was_tampered_with_stops_everything(run: Run, root: Path, handed: Path) -> None:
    path = root / "matrices" / "demo" / "locks" / f"{CELL}.txt"
    path.write_text(path.read_text(encoding="utf-8").replace("dep==1.1", "dep==1.0"), encoding="utf-8")
    found = run("record", "demo", "--from", str(handed))
    assert found.code == 2
    assert "the digest differs" in found.err


class TestHealth:
    def test_nothing_known_is_not_healthy_and_a_fresh_verdict_is(self, run: Run, handed: Path) -> None:
        assert run("health", "demo").code == 1
        run("record", "demo", "--from", str(handed))
        found = run("health", "demo")
        assert found.code == 0
        assert "tested cells: 1\n" in found.out

    def test_a_verdict_that_nobody_renewed_is_overdue(self, run: Run, root: Path, handed: Path) -> None:
        RecordFiles(root / "matrices" / "demo").add(made(root, days_ago=95))
        assert run("health", "demo").code == 0
        found = run("health", "demo", "--days", "4", "--json")
        assert found.code == 1
        assert found.json["data"]["overdue_cells"] == [CELL]

    def test_a_damaged_record_is_told(self, run: Run, root: Path, handed: Path) -> None:
        run("record", "demo", "--from", str(handed))
        (kept,) = (root / "matrices" / "demo" / "records").glob("*/*.json")
        kept.write_text("{}", encoding="utf-8")
        assert run("health", "demo").code == 1
