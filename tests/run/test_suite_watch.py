"""How far a running suite is, as its growing events file says: read cheaply, and with suspicion."""

import json
import os
import threading
from pathlib import Path

import pytest

from compat.run.events import LOOK, SuiteProgress, SuiteWatch

START = '{"event": "start", "test": "a"}\n'
END = '{"event": "end", "test": "a", "status": "passed", "seconds": 0.1}\n'


def collected(count: object) -> str:
    return json.dumps({"event": "collected", "count": count}) + "\n"


@pytest.fixture
def events(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home" / "events.jsonl"


@pytest.fixture
def watch(tmp_path: Path) -> SuiteWatch:
    return SuiteWatch(tmp_path)


def test_nothing_is_known_before_the_collection_is_over(events: Path, watch: SuiteWatch) -> None:
    assert watch.look() is None
    events.write_text('{"event": "collect-error"}\n')
    assert watch.look() is None


def test_each_look_reads_only_what_is_new(events: Path, watch: SuiteWatch) -> None:
    events.write_text(collected(3) + START)
    assert watch.look() == SuiteProgress(running=1, collected=3)
    with events.open("a") as file:
        file.write(END + START[:10])
        file.flush()
        assert watch.look() == SuiteProgress(running=2, collected=3)
        file.write(START[10:] + END)
    # What was read before is not read again: it may be anything now.
    events.write_bytes(b"x" * len(collected(3) + START + END + START[:10]) + events.read_bytes()[-(
        len(START[10:] + END)
    ):])  # fmt: skip
    assert watch.look() == SuiteProgress(running=3, collected=3)


def test_after_the_last_test_no_further_one_is_counted(events: Path, watch: SuiteWatch) -> None:
    events.write_text(collected(2) + (START + END) * 2)
    assert watch.look() == SuiteProgress(running=2, collected=2)


@pytest.mark.parametrize("count", [10**12, -1, True, "7", 1.5, None])
def test_a_number_that_no_suite_has_is_not_shown(
    events: Path, watch: SuiteWatch, count: object
) -> None:
    events.write_text(collected(count) + START + END)
    assert watch.look() is None


def test_more_tests_than_were_collected_leave_the_number_open(
    events: Path, watch: SuiteWatch
) -> None:
    events.write_text(collected(2) + (START + END) * 5)
    assert watch.look() == SuiteProgress(running=5, collected=None)


def test_a_line_without_an_end_costs_no_more_than_a_look_each_time(
    events: Path, watch: SuiteWatch
) -> None:
    events.write_text(collected(2) + START + END)
    with events.open("ab") as file:
        file.truncate(100_000_000)
    assert watch.look() == SuiteProgress(running=2, collected=2)
    for _ in range(5):
        watch.look()
        assert watch.held <= LOOK
    assert watch.look() == SuiteProgress(running=2, collected=2)


def test_what_comes_after_a_line_that_is_too_long_counts_again(
    events: Path, watch: SuiteWatch
) -> None:
    events.write_text(collected(2) + '{"event": "end", "x": "' + "x" * 3 * LOOK + '"}\n' + END)
    for _ in range(6):
        progress = watch.look()
    assert progress == SuiteProgress(running=2, collected=2)


@pytest.mark.parametrize(
    "line", [b"[" * 50_000, b"{" * 50_000, b"1" * 50_000, b"\xff\xfe\x00", b'{"event": ["end"]}']
)
def test_a_line_that_is_no_event_changes_nothing(
    events: Path, watch: SuiteWatch, line: bytes
) -> None:
    events.write_bytes(collected(4).encode() + line + b"\n" + END.encode())
    assert watch.look() == SuiteProgress(running=2, collected=4)


def test_a_fifo_is_not_waited_for(events: Path, watch: SuiteWatch) -> None:
    os.mkfifo(events)
    looks: list[SuiteProgress | None] = []
    thread = threading.Thread(target=lambda: looks.append(watch.look()), daemon=True)
    thread.start()
    thread.join(20)
    assert looks == [None]


def test_a_link_is_not_followed(tmp_path: Path, events: Path, watch: SuiteWatch) -> None:
    (tmp_path / "elsewhere").write_text(collected(2) + START)
    events.symlink_to(tmp_path / "elsewhere")
    assert watch.look() is None
    events.unlink()
    events.parent.rmdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "events.jsonl").write_text(collected(2) + START)
    events.parent.symlink_to(tmp_path / "other")
    assert watch.look() is None


def test_what_was_known_stays_when_the_file_goes(events: Path, watch: SuiteWatch) -> None:
    events.write_text(collected(2) + START)
    watch.look()
    events.unlink()
    assert watch.look() == SuiteProgress(running=1, collected=2)
