"""How far a running suite is, as its growing events file says: read with suspicion."""

import json
import os
import threading
from pathlib import Path

import pytest

from compat.run.events import SuiteWatch

START = '{"event": "start", "test": "a"}\n'
END = '{"capability": "a", "event": "end", "seconds": 0.1, "status": "passed", "test": "a"}\n'


def collected(count: object) -> str:
    return json.dumps({"count": count, "event": "collected"}) + "\n"


@pytest.fixture
def events(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home" / "events.jsonl"


def test_nothing_is_known_before_the_collection_is_over(tmp_path: Path, events: Path) -> None:
    assert SuiteWatch(tmp_path).progress() == ""
    events.write_text('{"event": "collect-error"}\n')
    assert SuiteWatch(tmp_path).progress() == ""
    events.write_text(collected(3)[:-1])
    assert SuiteWatch(tmp_path).progress() == ""


def test_each_test_that_ended_counts(tmp_path: Path, events: Path) -> None:
    watch = SuiteWatch(tmp_path)
    events.write_text('{"event": "left-out", "tests": []}\n' + collected(1003) + START)
    assert watch.progress() == "test 1 of 1,003"
    with events.open("a") as file:
        file.write(END + START[:10])
        file.flush()
        assert watch.progress() == "test 2 of 1,003"
        assert watch.progress() == "test 2 of 1,003"
        file.write(START[10:] + END)
    assert watch.progress() == "test 3 of 1,003"
    assert SuiteWatch(tmp_path).progress() == "test 3 of 1,003"


def test_what_was_read_is_not_read_again(tmp_path: Path, events: Path) -> None:
    watch = SuiteWatch(tmp_path)
    events.write_text(collected(4) + START + END)
    assert watch.progress() == "test 2 of 4"
    # Of equal length, so that what follows begins where the first look ended.
    before = (collected(9) + START).ljust(len(collected(4) + START + END) - 1, " ") + "\n"
    events.write_text(before + START + END)
    assert watch.progress() == "test 3 of 4"


def test_a_line_that_never_ends_is_passed_over(tmp_path: Path, events: Path) -> None:
    events.write_bytes(collected(4).encode() + START.encode() + b"x" * 3_000_000)
    watch = SuiteWatch(tmp_path)
    looks = [watch.progress() for _ in range(4)]
    assert looks == ["test 1 of 4"] * 4
    with events.open("a") as file:
        file.write("\n" + END)
    assert watch.progress() == "test 2 of 4"


def test_after_the_last_test_no_further_one_is_counted(tmp_path: Path, events: Path) -> None:
    events.write_text(collected(2) + (START + END) * 2)
    assert SuiteWatch(tmp_path).progress() == "test 2 of 2"


@pytest.mark.parametrize("count", [10**12, -1, True, "7", 1.5, None])
def test_a_number_that_no_suite_has_is_not_shown(
    tmp_path: Path, events: Path, count: object
) -> None:
    events.write_text(collected(count) + START + END)
    assert SuiteWatch(tmp_path).progress() == ""


def test_more_tests_than_were_collected_leave_the_number_open(tmp_path: Path, events: Path) -> None:
    events.write_text(collected(2) + (START + END) * 5)
    assert SuiteWatch(tmp_path).progress() == "test 5"


def test_a_line_without_an_end_changes_nothing(tmp_path: Path, events: Path) -> None:
    events.write_text(collected(2) + START + END)
    with events.open("ab") as file:
        file.truncate(100_000_000)
    assert SuiteWatch(tmp_path).progress() == "test 2 of 2"


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
    assert SuiteWatch(tmp_path).progress() == "test 2 of 4"


def test_a_fifo_is_not_waited_for(tmp_path: Path, events: Path) -> None:
    os.mkfifo(events)
    looks: list[str] = []
    thread = threading.Thread(
        target=lambda: looks.append(SuiteWatch(tmp_path).progress()), daemon=True
    )
    thread.start()
    thread.join(20)
    assert looks == [""]


def test_a_link_is_not_followed(tmp_path: Path, events: Path) -> None:
    (tmp_path / "elsewhere").write_text(collected(2) + START)
    events.symlink_to(tmp_path / "elsewhere")
    assert SuiteWatch(tmp_path).progress() == ""
    events.unlink()
    events.parent.rmdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "events.jsonl").write_text(collected(2) + START)
    events.parent.symlink_to(tmp_path / "other")
    assert SuiteWatch(tmp_path).progress() == ""
