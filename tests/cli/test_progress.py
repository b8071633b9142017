"""What a reader sees while cells run: on terminals of three widths, and without one."""

import datetime
import io
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version
from rich.console import Console
from support.evidence import evidence

from compat.cli import progress
from compat.cli.progress import Progress
from compat.declare.matrix import Suite
from compat.lock.lockfile import Inputs, Lock
from compat.results.judge import JudgedRun
from compat.results.record import StepSeconds
from compat.results.runs import by_step
from compat.run.job import Job
from compat.run.outcome import Passed

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
CELL = "py3.11-base2.14-demo0.87.0+relaxed"
WIDTHS = (40, 80, 120)


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def job(cell: str) -> Job:
    inputs = Inputs(cell=cell, python=Version("3.11.7"), platform="", requirements=())
    lock = Lock(inputs=inputs, pins=(), tool="memory")
    return Job(
        matrix="demo", cell=cell, subject="demo", module="demo", suite=Suite(path="suite"),
        suite_folder="suite", lock=lock,
    )  # fmt: skip


class Watched:
    """A display of cells, and what it shows."""

    def __init__(
        self,
        expected: dict[str, float | None],
        workers: int = 1,
        **known: Any,
    ) -> None:
        self.clock = Clock()
        self.progress = Progress(expected, workers, clock=self.clock, **known)

    def shown(self, width: int = 120) -> str:
        """Return what the display looks like now on a terminal of that width."""
        file = io.StringIO()
        console = Console(
            file=file, record=True, width=width, force_terminal=True, color_system="truecolor"
        )
        console.print(self.progress._text())
        return console.export_text()


def say_in_cell(cell: Path, *events: object) -> None:
    """Write events as the plugin in the cell does."""
    (cell / "home").mkdir(parents=True, exist_ok=True)
    with (cell / "home" / "events.jsonl").open("a") as file:
        file.writelines(json.dumps(event) + "\n" for event in events)


def ends(number: int) -> list[dict[str, str]]:
    return [{"event": "end"}] * number


@pytest.mark.parametrize("width", WIDTHS)
def test_a_worker_shows_cell_step_test_and_what_is_left(tmp_path: Path, width: int) -> None:
    watched = Watched({CELL: 300.0, "other": 100.0})
    watched.progress.began(0, job(CELL))
    watched.progress.entered(0, job(CELL), "suite", tmp_path)
    say_in_cell(tmp_path, {"event": "collected", "count": 133}, *ends(11))
    watched.clock.now = 60.0
    shown = watched.shown(width)
    assert CELL in shown
    assert "suite, test 12 of 133, 60 s, about 4 min left" in " ".join(shown.split())
    assert "0 of 2 cells, about 6 min left" in shown
    assert max(map(len, shown.splitlines())) <= width
    assert len(shown.splitlines()) == {120: 2, 80: 3, 40: 5}[width]


@pytest.mark.parametrize("width", WIDTHS)
def test_without_a_measured_run_only_the_elapsed_time_is_said(tmp_path: Path, width: int) -> None:
    watched = Watched({CELL: None, "other": None})
    watched.progress.began(0, job(CELL))
    watched.progress.entered(0, job(CELL), "environment", tmp_path)
    watched.clock.now = 75.0
    shown = watched.shown(width)
    assert "environment" in shown
    assert "75 s" in shown
    assert "left" not in shown


def test_what_is_left_goes_by_step_where_the_steps_of_earlier_runs_are_known(
    tmp_path: Path,
) -> None:
    steps = by_step(400.0, StepSeconds(install=10, import_=10, suite=75, overhead=5))
    assert steps == StepSeconds(install=40, import_=40, suite=300, overhead=20)
    watched = Watched({CELL: 400.0}, steps={CELL: steps})
    watched.progress.began(0, job(CELL))
    watched.progress.entered(0, job(CELL), "environment", tmp_path)
    watched.clock.now = 30.0
    watched.progress.entered(0, job(CELL), "install", tmp_path)
    assert "about 6 min left" in watched.shown()
    # A slow install takes nothing off the suite that is to come.
    watched.clock.now = 300.0
    assert "about 6 min left" in watched.shown()
    watched.progress.entered(0, job(CELL), "suite", tmp_path)
    watched.clock.now = 550.0
    assert "about 70 s left" in watched.shown()
    assert by_step(400.0, StepSeconds(install=10)) is None


def test_a_run_that_ended_is_told_in_the_words_of_its_history(
    capsys: pytest.CaptureFixture[str],
) -> None:
    watched = Watched({CELL: None}, words=lambda attempt: "passed but for sum")
    watched.progress.began(0, job(CELL))
    watched.progress.ended(0, job(CELL), (_judged(1.0),))
    assert f"[1/1] {CELL}  passed but for sum" in capsys.readouterr().err


def test_a_cell_that_takes_longer_than_ever_has_no_time_left_that_anybody_knows() -> None:
    watched = Watched({CELL: 30.0, "other": 50.0})
    watched.progress.began(0, job(CELL))
    watched.clock.now = 10_000.0
    shown = watched.shown()
    assert "0 of 2 cells, about 50 s left" in shown
    assert shown.count("left") == 1
    assert "-" not in shown.replace(CELL, "")


def test_the_whole_is_as_long_as_its_longest_cell_whatever_the_workers() -> None:
    watched = Watched({"a": 100.0, "b": 20.0, "c": 20.0}, workers=4)
    for number, cell in enumerate("abc"):
        watched.progress.began(number, job(cell))
    watched.clock.now = 10.0
    assert "0 of 3 cells, about 90 s left" in watched.shown()


def test_what_ended_in_this_run_tells_how_long_the_others_take() -> None:
    watched = Watched({"a": None, "b": None, "c": None})
    watched.progress.began(0, job("a"))
    assert "left" not in watched.shown()
    watched.progress.ended(0, job("a"), (_judged(40.0),))
    assert "1 of 3 cells, about 80 s left" in watched.shown()


def test_cells_that_cannot_be_locked_say_nothing_about_the_time_of_others() -> None:
    watched = Watched({"a": None, "b": None})
    watched.progress.locking("a")
    watched.clock.now = 3.0
    assert "lock" in watched.shown()
    watched.progress.locked("a")
    watched.progress.counted("a", "lock-fail:conflict")
    shown = watched.shown()
    assert "1 of 2 cells" in shown
    assert "lock" not in shown
    assert "left" not in shown


def test_a_cell_whose_result_is_held_back_does_not_hide_the_next() -> None:
    watched = Watched({"a": None, "b": None})
    watched.progress.began(0, job("a"))
    watched.progress.began(0, job("b"))
    watched.progress.ended(0, job("a"), (_judged(1.0),))
    assert "worker 0 b" in watched.shown()


@pytest.mark.parametrize("hostile", ["fifo", "link", "long-line", "escapes", "huge", "too-many"])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_lying_cell_only_makes_its_own_line_wrong(
    tmp_path: Path, hostile: str, width: int
) -> None:
    cell, sound = tmp_path / "bad", tmp_path / "good"
    (cell / "home").mkdir(parents=True)
    events = cell / "home" / "events.jsonl"
    if hostile == "fifo":
        os.mkfifo(events)
    elif hostile == "link":
        events.symlink_to("/dev/zero")
    elif hostile == "long-line":
        events.write_text('{"event": "collected", "count": 3}\n{"event": "')
        with events.open("ab") as file:
            file.truncate(100_000_000)
    elif hostile == "escapes":
        say_in_cell(cell, {"event": "collected", "count": "\x1b]0;owned\x07"})
        say_in_cell(cell, {"event": "start", "test": "\x1b[2J\x1b[31m"})
    elif hostile == "huge":
        say_in_cell(cell, {"event": "collected", "count": 10**12}, *ends(3))
    else:
        say_in_cell(cell, {"event": "collected", "count": 2}, *ends(9))
    say_in_cell(sound, {"event": "collected", "count": 5}, *ends(1))
    watched = Watched({"bad": 10.0, "good": 10.0}, workers=2)
    for number, (name, folder) in enumerate([("bad", cell), ("good", sound)]):
        watched.progress.began(number, job(name))
        watched.progress.entered(number, job(name), "suite", folder)
    rendering = threading.Thread(target=watched.shown, args=(width,), daemon=True)
    rendering.start()
    rendering.join(60)
    assert not rendering.is_alive()
    shown = watched.shown(width)
    assert "test 2 of 5" in shown
    assert "owned" not in shown
    assert "10000000" not in shown.replace(",", "")
    assert not any(ord(char) < 32 and char != "\n" for char in shown)
    assert max(map(len, shown.splitlines())) <= width


def test_without_a_terminal_all_that_runs_is_one_line(tmp_path: Path) -> None:
    watched = Watched({"a": 100.0, "b": 100.0, "c": 100.0}, workers=2)
    assert len(watched.progress.lines()) == 1
    watched.progress.began(0, job("a"))
    watched.progress.entered(0, job("a"), "suite", tmp_path)
    say_in_cell(tmp_path, {"event": "collected", "count": 5}, *ends(3))
    watched.progress.began(1, job("b"))
    watched.progress.entered(1, job("b"), "install", tmp_path)
    watched.progress.locking("c")
    watched.clock.now = 60.0
    assert watched.progress.lines() == [
        "worker 0 a suite, test 4 of 5, 60 s, about 40 s left",
        "worker 1 b install, 60 s, about 40 s left",
        "resolver c lock, 60 s",
        "0 of 3 cells, about 100 s left",
    ]


def test_without_a_terminal_the_line_comes_again_and_again_until_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = Progress({"a": None}, 1, minute=0.01)
    with progress:
        progress.began(0, job("a"))
        text = ""
        for _ in range(2000):
            text += capsys.readouterr().err
            if text.count("worker 0 a starting") >= 2:
                break
            threading.Event().wait(0.01)
    assert text.count("worker 0 a starting") >= 2


def test_on_a_terminal_what_runs_stands_below_what_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    monkeypatch.setattr(progress, "stderr_console", lambda **_: console)
    with Progress({"a": None}, 1) as watched:
        watched.began(0, job("a"))
        watched.tell("locked again")
        watched.ended(0, job("a"), (_judged(1.0),))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert shown.index("locked again") < shown.rindex("0 of 1 cell")
    assert "[1/1] a  pass" in shown
    assert shown.endswith("1 of 1 cell\n\x1b[?25h")


def _judged(seconds: float) -> JudgedRun:
    return JudgedRun(evidence=evidence("a", seconds=seconds), outcome=Passed())
