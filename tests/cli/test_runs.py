"""Running cells by command: what is due, what is kept, and what an interruption leaves."""

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from support.fake_index import FakeIndex
from support.zoo import SERIES, Animal, Repository

GOOD = Animal(name="good", story="It works.", outcome="pass")
SLOW = Animal(
    name="slow",
    story="It takes a minute.",
    outcome="pass",
    suite="def test_slow():\n    import time\n\n    time.sleep(60)\n",
)


@pytest.fixture
def good(tmp_path: Path, cache: Path, index: FakeIndex, tools: Any) -> Repository:
    return Repository(tmp_path, cache, index, GOOD, tools)


@pytest.fixture
def slow(tmp_path: Path, cache: Path, index: FakeIndex, tools: Any) -> Repository:
    return Repository(tmp_path, cache, index, SLOW, tools)


@pytest.mark.slow
def test_what_ran_is_due_no_more_until_something_changes(
    good: Repository, index: FakeIndex
) -> None:
    assert good.run("matrix", "lock", "zoo", good.cell)[0] == 0
    assert good.run("run", "zoo", "--dry-run")[1].startswith(f"{good.cell}  never-run")
    code, _, err = good.run("run", "zoo")
    assert code == 0, err
    assert f"[1/1] {good.cell}  pass" in err
    index.stop()
    code, out, _ = good.run("run", "zoo", "--dry-run", "--json")
    assert (code, json.loads(out)["data"]["cells"]) == (0, [])
    code, _, err = good.run("run", "zoo")
    assert code == 0
    assert "nothing is due" in err
    suite = good.root / "matrices" / "zoo" / "suite" / "test_animal.py"
    suite.write_text(suite.read_text() + "\n\ndef test_more():\n    pass\n")
    assert good.run("run", "zoo", "--dry-run")[1].startswith(f"{good.cell}  suite-changed")


def test_a_matrix_that_has_no_lock_yet_is_locked_and_run(good: Repository) -> None:
    code, out, err = good.run("run", "zoo")
    assert code == 0, err
    assert (
        "1 cell to lock and run, 1 at a time: no cell of the matrix has run yet, so the time is"
        " not known" in err
    )
    assert f"[1/1] {good.cell}  pass" in err
    assert "works" in out
    assert len(good.records()) == 1
    assert "about 2 minutes" not in good.run("run", "zoo", good.cell, "--dry-run")[1]


def test_a_lock_that_asks_what_was_declared_once_is_made_anew(good: Repository) -> None:
    assert good.run("matrix", "lock", "zoo", good.cell)[0] == 0
    lock = good.root / "matrices" / "zoo" / "locks" / f"{good.cell}.txt"
    declaration = good.root / "matrices" / "zoo" / "matrix.toml"
    text = declaration.read_text()
    declaration.write_text(text.replace('["pytest"]', '["pytest>1"]'))
    assert declaration.read_text() != text
    assert good.run("matrix", "discover", "zoo", "--write")[0] == 0
    code, _, err = good.run("run", "zoo", good.cell)
    assert code == 0, err
    assert f"re-locking {good.cell}: its requirements changed" in err
    assert "# require: pytest>1\n" in lock.read_text()
    code, _, err = good.run("run", "zoo", good.cell)
    assert (code, "re-locking" in err) == (0, False)


def test_what_is_in_the_cache_is_installed_without_the_index(
    good: Repository, index: FakeIndex
) -> None:
    assert good.run("run", "zoo", good.cell)[0] == 0
    index.stop()
    code, _, err = good.run("run", "zoo", good.cell)
    assert code == 0, err
    assert len(good.records()) == 2


def test_a_record_tells_all_and_names_no_machine(good: Repository) -> None:
    ci = {"SERVER_URL": "https://git.example", "REPOSITORY": "some/one", "RUN_ID": "12"}
    good.environ |= {f"GITHUB_{name}": value for name, value in ci.items()}
    assert good.run("run", "zoo", good.cell)[0] == 0
    (line,) = good.records()
    text = line.decode()
    record = json.loads(text)
    assert record["outcome"] == "pass"
    assert record["run_url"] == "https://git.example/some/one/actions/runs/12"
    assert record["step_seconds"].keys() == {"install", "import", "suite", "overhead"}
    assert [capability["status"] for capability in record["capabilities"]] == ["yes"]
    assert str(good.root) not in text
    assert str(good.cache) not in text
    assert "127.0.0.1" not in text


def test_show_tells_the_verdict_and_how_to_reproduce_it(good: Repository) -> None:
    good.run("run", "zoo", good.cell)
    code, out, _ = good.run("show", "zoo", "--json")
    assert code == 0
    (cell,) = json.loads(out)["data"]["cells"]
    assert {key: cell[key] for key in ("id", "verdict", "evidence", "outcome", "stale")} == {
        "id": good.cell,
        "verdict": "works",
        "evidence": "tested",
        "outcome": "pass",
        "stale": False,
    }
    code, out, _ = good.run("show", "zoo", good.cell)
    assert f"{good.cell}: works, tested" in out
    assert "--no-deps --require-hashes -r" in out
    assert f"matrices/zoo/locks/{good.cell}.txt" in out
    code, _, err = good.run("show", "zoo", "py9.9-a1.0")
    assert (code, "'py9.9-a1.0'" in err) == (2, True)


def test_repeated_attempts_are_all_kept_in_one_record(good: Repository) -> None:
    assert good.run("run", "zoo", good.cell, "--attempts", "2")[0] == 0
    (line,) = good.records()
    assert len(json.loads(line)["attempts"]) == 2


def test_judging_again_changes_nothing_that_was_judged_alike(good: Repository) -> None:
    good.run("run", "zoo", good.cell)
    code, out, _ = good.run("ci", "record", "zoo", "--rejudge", "--json")
    assert (code, json.loads(out)["data"]["changed"]) == (0, [])
    assert len(good.records()) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("number", "expected"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_an_interruption_keeps_what_ran_and_leaves_no_process(
    slow: Repository, number: int, expected: int
) -> None:
    process = slow.start("run", "zoo", slow.cell)
    deadline = time.monotonic() + 60
    while not slow.alive() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(3)
    process.send_signal(number)
    _, err = process.communicate(timeout=180)
    assert process.returncode == expected, err
    assert "cancelled" in err
    assert slow.alive() == []
    assert slow.run("run", "zoo", "--dry-run")[1].startswith(f"{slow.cell}  spurious-last")


@pytest.mark.slow
def test_an_interrupted_search_for_a_floor_leaves_no_record(slow: Repository) -> None:
    words = ("--axis", "animal", "--at", f"python={SERIES}", "--recipe", "fresh")
    process = slow.start("floor", "zoo", *words)
    deadline = time.monotonic() + 60
    while not slow.alive() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=180)
    assert process.returncode == 130, err
    assert slow.alive() == []
    assert slow.records() == []


@pytest.mark.slow
def test_a_second_signal_ends_compat_at_once_even_when_a_worker_hangs(slow: Repository) -> None:
    program = """
import threading
from compat.cli.app import main
from compat.fleet import batch as station

def hang(*_):
    print("hanging", flush=True)
    threading.Event().wait()

station._run_cell = hang
main()
"""
    slow.run("matrix", "lock", "zoo", slow.cell)
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", program, "run", "zoo", slow.cell]
    process = subprocess.Popen(
        command, cwd=slow.root, env=slow.environ, text=True, stdout=pipe, stderr=pipe
    )
    # Only so that a compat which says nothing fails the test and does not hold it up.
    patience = threading.Timer(120, process.kill)
    patience.start()
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "hanging\n"
        process.send_signal(signal.SIGINT)
        while "the same signal again ends compat at once" not in (
            line := process.stderr.readline()
        ):
            assert line
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    finally:
        patience.cancel()
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_two_runs_at_once_do_not_disturb_each_other(good: Repository) -> None:
    assert good.run("matrix", "lock", "zoo", good.cell)[0] == 0
    twins = [good.start("run", "zoo", good.cell) for _ in range(2)]
    errors = [process.communicate(timeout=300)[1] for process in twins]
    assert [process.returncode for process in twins] == [0, 0], errors
    assert {json.loads(line)["outcome"] for line in good.records()} == {"pass"}
    evidence = list((good.cache / "evidence" / "zoo" / good.cell).glob("*/evidence.json"))
    assert len(evidence) >= 2
    assert list((good.sandbox / "cells").iterdir()) == []


@pytest.mark.slow
def test_the_folder_of_a_killed_run_is_swept_by_the_next(slow: Repository) -> None:
    process = slow.start("run", "zoo", slow.cell)
    deadline = time.monotonic() + 120
    while not slow.alive() and time.monotonic() < deadline:
        time.sleep(0.1)
    process.kill()
    process.communicate()
    cells = slow.sandbox / "cells"
    assert len(list(cells.iterdir())) == 1
    (slow.root / "matrices" / "zoo" / "suite" / "test_animal.py").write_text(GOOD.suite)
    code, _, err = slow.run("run", "zoo", slow.cell)
    assert code == 0, err
    assert "removed 1 folder" in err
    assert list(cells.iterdir()) == []


def test_a_missing_interpreter_is_told_with_the_command_that_gets_it(good: Repository) -> None:
    good.run("matrix", "lock", "zoo", good.cell)
    matrix = good.root / "matrices" / "zoo" / "matrix.toml"
    text = matrix.read_text()
    version = ".".join(str(part) for part in sys.version_info[:3])
    matrix.write_text(text.replace(f'releases = ["{version}"]', 'releases = ["3.99.0"]'))
    code, _, err = good.run("run", "zoo", "py3.99-a1.0")
    assert code == 3
    assert "plan-fail:no-interpreter(py3.99): `uv python install" in err
    remedy = "this machine has no Python 3.99; `uv python install 3.99` gets one"
    assert err.rstrip().endswith(f"1 cell has no answer: {remedy}")
