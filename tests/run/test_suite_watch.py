"""How far a running suite is, as its growing events file says: read with suspicion."""

import json
import os
import threading
from pathlib import Path

import pytest

from compat.run.events import suite_progress

START = '{"event": "start", "test": "a"}\n'
END = '{"capability": "a", "event": "end", "seconds": 0.1, "status": "passed", "test": "a"}\n'


def collected(count: object) -> str:
    return json.dumps({"count": count, "event": "collected"}) + "\n"


@pytest.fixture
def events(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home" / "events.jsonl"


def test_nothing_is_known_before_the_collection_is_over(tmp_path: Path, events: Path) -> None:
    assert suite_progress(tmp_path) == ""
    events.write_text('{"event": "collect-error"}\n')
    assert suite_progress(tmp_path) == ""
    events.write_text(collected(3)[:-1])
    assert suite_progress(tmp_path) == ""


def test_each_test_that_ended_counts(tmp_path: Path, events: Path) -> None:
    events.write_text('{"event": "left-out", "tests": []}\n' + collected(1003) + START)
    assert suite_progress(tmp_path) == "test 1 of 1,003"
    with events.open("a") as file:
        file.write(END + START[:10])
        file.flush()
        assert suite_progress(tmp_path) == "test 2 of 1,003"
        file.write(START[10:] + END)
    assert suite_progress(tmp_path) == "test 3 of 1,003"


def test_after_the_last_test_no_further_one_is_counted(tmp_path: Path, events: Path) -> None:
    events.write_text(collected(2) + (START + END) * 2)
    assert suite_progress(tmp_path) == "test 2 of 2"


@pytest.mark.parametrize("count", [10**12, -1, True, "7", 1.5, None])
def test_a_number_that_no_suite_has_is_not_shown(
    tmp_path: Path, events: Path, count: object
) -> None:
    events.write_text(collected(count) + START + END)
    assert suite_progress(tmp_path) == ""


def test_more_tests_than_were_collected_leave_the_number_open(tmp_path: Path, events: Path) -> None:
    events.write_text(collected(2) + (START + END) * 5)
    assert suite_progress(tmp_path) == "test 5"


def test_a_line_without_an_end_changes_nothing(tmp_path: Path, events: Path) -> None:
    events.write_text(collected(2) + START + END)
    with events.open("ab") as file:
        file.truncate(100_000_000)
    assert suite_progress(tmp_path) == "test 2 of 2"


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 50_000,
        b"{" * 50_000,
        b"1" * 50_000,
        b"\xff\xfe\x00",
        b'{"event": ["end"]}',
        json.dumps({"event": "start", "test": '"event": "end"'}).encode(),
    ],
)
def test_a_line_that_is_no_end_changes_nothing(tmp_path: Path, events: Path, line: bytes) -> None:
    events.write_bytes(collected(4).encode() + line + b"\n" + END.encode())
    assert suite_progress(tmp_path) == "test 2 of 4"


def test_a_fifo_is_not_waited_for(tmp_path: Path, events: Path) -> None:
    os.mkfifo(events)
    looks: list[str] = []
    thread = threading.Thread(target=lambda: looks.append(suite_progress(tmp_path)), daemon=True)
    thread.start()
    thread.join(20)
    assert looks == [""]


def test_a_link_is_not_followed(tmp_path: Path, events: Path) -> None:
    (tmp_path / "elsewhere").write_text(collected(2) + START)
    events.symlink_to(tmp_path / "elsewhere")
    assert suite_progress(tmp_path) == ""
    events.unlink()
    events.parent.rmdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "events.jsonl").write_text(collected(2) + START)
    events.parent.symlink_to(tmp_path / "other")
    assert suite_progress(tmp_path) == ""
