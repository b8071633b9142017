"""Records from elsewhere, and whether what is known is still renewed, through the command."""

import datetime
import json
from pathlib import Path

import msgspec
import pytest
from support.made_records import cells_in
from support.ran import Run

from compat.cli import machine
from compat.lock.lockfile import decode_lock, read_digest
from compat.results.record import Attempt, Capability, Record
from compat.results.record_files import RecordFiles
from compat.run.evidence import Installed
from compat.run.outcome import Passed
from compat.run.suitefiles import suite_digest

CELL = "py3.11-dep1-demo1.0"


def made(root: Path, days_ago: int = 0, **more: str) -> Record:
    """A sound record of the locked cell, as another machine would make it."""
    folder = root / "matrices" / "demo"
    started = machine.now() - datetime.timedelta(days=days_ago, seconds=60)
    lock = (folder / "locks" / f"{CELL}.txt").read_text(encoding="utf-8")
    return Record(
        cell=CELL,
        matrix="demo",
        outcome=Passed(),
        lock_digest=read_digest(lock),
        seconds=3.0,
        isolation="L3",
        capabilities=(Capability(id="test_demo.py::test_demo", status="yes"),),
        installed=tuple(
            Installed(name=pin.name, version=str(pin.version)) for pin in decode_lock(lock, "").pins
        ),
        suite_digest=suite_digest(folder / "suite"),
        host="linux-x86_64-2cpu-8gb",
        started=started,
        attempts=(Attempt(outcome=Passed(), seconds=3.0, started=started, isolation="L3"),),
        **more,
    )


@pytest.fixture
def handed(run: Run, root: Path, tmp_path: Path) -> Path:
    """A folder of records as a shard hands it over, with one record."""
    run("matrix", "discover", "demo", "--write")
    (root / "matrices" / "demo" / "suite").mkdir(exist_ok=True)
    run("matrix", "lock", "demo", CELL)
    (tmp_path / "elsewhere" / "demo").mkdir(parents=True)
    RecordFiles(tmp_path / "elsewhere" / "demo").add(made(root))
    return tmp_path / "elsewhere" / "demo" / "records"


def test_a_sound_record_is_kept_once(run: Run, root: Path, handed: Path) -> None:
    first = run("ci", "record", "demo", "--from", str(handed))
    assert (first.code, first.err) == (0, "1 record imported, 0 already here, 0 rejected\n")
    (kept,) = (root / "matrices" / "demo" / "records").glob("*.jsonl")
    assert first.out == f"{kept.name}:1  imported\n"
    again = run("ci", "record", "demo", "--from", str(handed), "--json")
    assert again.code == 0
    assert again.json["data"] == {"kept": [], "known": [f"{kept.name}:1"], "refused": []}


def test_what_is_not_sound_is_refused_and_the_rest_is_kept(
    run: Run, root: Path, handed: Path
) -> None:
    (handed / "notes.txt").write_text("", encoding="utf-8")
    found = run("ci", "record", "demo", "--from", str(handed))
    assert found.code == 1
    assert "error: notes.txt: " in found.err
    assert cells_in(RecordFiles(root / "matrices" / "demo")) == (CELL,)


RUN = {
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "someone/compat",
    "GITHUB_RUN_ID": "7",
}
URL = "https://github.com/someone/compat/actions/runs/7"


class TestAPlan:
    """What a shard hands over is held against what the plan gave it."""

    @pytest.fixture
    def plan(self, run: Run, handed: Path, tmp_path: Path, root: Path) -> Path:
        """The plan of one shard, made two minutes ago, and below `shards/` what the shard hands
        over: nothing yet.
        """
        path = tmp_path / "plan.json"
        printed = run("plan", "demo", CELL, "--budget", "90m", "--github")
        ago = machine.now() - datetime.timedelta(minutes=2)
        rows = [{**row, "since": ago.isoformat()} for row in json.loads(printed.out)["include"]]
        path.write_text(json.dumps({"include": rows}), encoding="utf-8")
        return path

    def hand_over(self, tmp_path: Path, record: Record, shard: int = 1) -> Path:
        (tmp_path / "own" / "demo").mkdir(parents=True)
        RecordFiles(tmp_path / "own" / "demo").add(record)
        (tmp_path / "own" / "demo" / "records").rename(tmp_path / "shards" / f"records-{shard}")
        return tmp_path / "shards"

    @pytest.fixture(autouse=True)
    def on_github(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        (tmp_path / "shards").mkdir()
        for name, value in RUN.items():
            monkeypatch.setenv(name, value)

    def test_what_it_asked_for_is_kept(
        self, run: Run, root: Path, plan: Path, tmp_path: Path
    ) -> None:
        shards = self.hand_over(tmp_path, made(root, run_url=URL))
        found = run("ci", "record", "demo", "--from", str(shards), "--plan", str(plan))
        assert (found.code, found.err) == (0, "1 record imported, 0 already here, 0 rejected\n")

    def test_what_another_shard_was_to_run_is_refused(
        self, run: Run, root: Path, plan: Path, tmp_path: Path
    ) -> None:
        shards = self.hand_over(tmp_path, made(root, run_url=URL), shard=2)
        found = run("ci", "record", "demo", "--from", str(shards), "--plan", str(plan))
        assert found.code == 1
        assert "records-1/" in found.err

    def test_a_record_of_another_run_is_refused(
        self, run: Run, root: Path, plan: Path, tmp_path: Path
    ) -> None:
        shards = self.hand_over(tmp_path, made(root, run_url=f"{URL}0"))
        found = run("ci", "record", "demo", "--from", str(shards), "--plan", str(plan))
        assert f"says that {URL}0 made it, but {URL} was asked" in found.err
        words = ("--plan", str(plan), "--run-url", f"{URL}0")
        assert run("ci", "record", "demo", "--from", str(shards), *words).code == 0

    @pytest.mark.parametrize(("words", "is_kept"), [((), False), (("--isolation", "L1"), True)])
    def test_a_record_of_another_level_than_was_announced_is_refused(
        self,
        run: Run,
        root: Path,
        plan: Path,
        tmp_path: Path,
        words: tuple[str, ...],
        is_kept: bool,
    ) -> None:
        sound = made(root, run_url=URL)
        attempts = tuple(msgspec.structs.replace(one, isolation="L1") for one in sound.attempts)
        record = msgspec.structs.replace(sound, isolation="L1", attempts=attempts)
        shards = self.hand_over(tmp_path, record)
        found = run("ci", "record", "demo", "--from", str(shards), "--plan", str(plan), *words)
        assert (found.code == 0) is is_kept
        assert ("ran at L1" in found.err) is not is_kept

    @pytest.mark.parametrize(
        ("before", "after", "why"),
        [
            ('"shard": 1', '"shard": 1, "shard": 2', "has the key 'shard' twice"),
            ('"smoke": ""', f'"smoke": "{CELL}"', f"{CELL} stands there 2 times"),
            ('"since": "20', '"since": "19', "the plan of 19"),
        ],
    )
    def test_a_plan_that_contradicts_itself_or_is_stale_is_refused(
        self, run: Run, root: Path, plan: Path, tmp_path: Path, before: str, after: str, why: str
    ) -> None:
        text = plan.read_text(encoding="utf-8")
        assert before in text
        plan.write_text(text.replace(before, after), encoding="utf-8")
        shards = self.hand_over(tmp_path, made(root, run_url=URL))
        found = run("ci", "record", "demo", "--from", str(shards), "--plan", str(plan))
        assert found.code == 2
        assert why in found.err

    @pytest.mark.parametrize(
        "text", ["", "[]", '{"include": [{"shard": 0, "cells": "", "since": ""}]}', "[" * 100_000]
    )
    def test_what_is_no_plan_is_wrong_usage(
        self, text: str, run: Run, handed: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "plan.json").write_text(text, encoding="utf-8")
        found = run(
            "ci", "record", "demo", "--from", str(handed), "--plan", str(tmp_path / "plan.json")
        )
        assert found.code == 2
        assert "plan.json: is not a" in found.err

    def test_a_plan_without_records_is_wrong_usage(self, run: Run, plan: Path) -> None:
        assert run("ci", "record", "demo", "--rejudge", "--plan", str(plan)).code == 2


def test_a_suite_whose_capabilities_only_a_run_can_tell_is_told(
    run: Run, root: Path, tmp_path: Path
) -> None:
    suite = root / "matrices" / "demo" / "suite" / "test_demo.py"
    suite.write_text(
        "import pytest\n\n@pytest.mark.capability(NAMES[0])\ndef test_a(): ...\n", encoding="utf-8"
    )
    run("matrix", "discover", "demo", "--write")
    run("matrix", "lock", "demo", CELL)
    (tmp_path / "elsewhere" / "demo").mkdir(parents=True)
    RecordFiles(tmp_path / "elsewhere" / "demo").add(made(root))
    found = run("ci", "record", "demo", "--from", str(tmp_path / "elsewhere" / "demo" / "records"))
    assert found.code == 0
    assert "suite/test_demo.py:3" in found.err


def test_no_record_at_all_is_a_finding_and_no_folder_is_wrong_usage(
    run: Run, handed: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(handed)
    assert run("ci", "record", "demo", "--from", str(tmp_path / "empty")).code == 1
    assert run("ci", "record", "demo", "--from", str(tmp_path / "none")).code == 2
    assert run("ci", "record", "demo", "--from", str(tmp_path / "link")).code == 2
    assert run("ci", "record", "demo", "--from", str(handed), "--rejudge").code == 2
    assert run("ci", "record", "demo").code == 2


def test_a_lock_that_was_tampered_with_stops_everything(run: Run, root: Path, handed: Path) -> None:
    path = root / "matrices" / "demo" / "locks" / f"{CELL}.txt"
    path.write_text(
        path.read_text(encoding="utf-8").replace("dep==1.1", "dep==1.0"), encoding="utf-8"
    )
    found = run("ci", "record", "demo", "--from", str(handed))
    assert found.code == 2
    assert "the digest differs" in found.err


def test_a_record_is_withdrawn_by_its_digest(run: Run, root: Path, handed: Path) -> None:
    run("ci", "record", "demo", "--from", str(handed))
    (kept,) = (root / "matrices" / "demo" / "records").glob("*.jsonl")
    digest = json.loads(kept.read_text(encoding="utf-8"))["digest"][:12]
    words = ("ci", "record", "demo", "--withdraw", digest)
    assert run(*words).code == 2
    done = run(*words, "--because", "a test read a file of its own")
    assert (done.code, done.out.split()[0]) == (0, CELL)
    assert run("ci", "health", "demo").code == 1
    assert run(*words, "--because", "again").code == 1


class TestHealth:
    def test_nothing_known_is_not_healthy_and_a_fresh_verdict_is(
        self, run: Run, handed: Path
    ) -> None:
        assert run("ci", "health", "demo").code == 1
        run("ci", "record", "demo", "--from", str(handed))
        found = run("ci", "health", "demo")
        assert found.code == 0
        assert "tested cells: 1\n" in found.out

    def test_a_verdict_that_nobody_renewed_is_overdue(
        self, run: Run, root: Path, handed: Path
    ) -> None:
        RecordFiles(root / "matrices" / "demo").add(made(root, days_ago=95))
        assert run("ci", "health", "demo").code == 0
        found = run("ci", "health", "demo", "--days", "4", "--json")
        assert found.code == 1
        assert found.json["data"]["overdue_cells"] == [CELL]

    def test_a_damaged_record_is_told(self, run: Run, root: Path, handed: Path) -> None:
        run("ci", "record", "demo", "--from", str(handed))
        (kept,) = (root / "matrices" / "demo" / "records").glob("*.jsonl")
        kept.write_text("{}", encoding="utf-8")
        assert run("ci", "health", "demo").code == 1
