"""The report of a cell is read with suspicion: what no sound run of pytest says is named, and
changes nothing.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from compat.run.events import read_modules, read_probe, read_report


def start(test: str) -> dict[str, Any]:
    return {"event": "start", "test": test, "capability": ""}


def end(test: str, status: str = "passed") -> dict[str, Any]:
    return {"event": "end", "test": test, "status": status, "seconds": 0.1, "capability": ""}


COLLECTED = {"event": "collected", "count": 1}
FINISH = {"event": "finish", "exitstatus": 0}
SOUND = [COLLECTED, start("a"), end("a"), FINISH]


def text(*events: object) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def test_a_sound_report_has_no_fault() -> None:
    report = read_report(text(*SOUND))
    assert (report.report_fault, report.finished, report.pytest_exit, report.collected) == (
        "",
        True,
        0,
        1,
    )
    assert [(trial.test, trial.status) for trial in report.tests] == [("a", "passed")]


@pytest.mark.parametrize(
    ("events", "fault"),
    [
        ([*SOUND, FINISH], "more came after the end"),
        ([*SOUND, start("b")], "more came after the end"),
        ([COLLECTED, *SOUND], "collected came out of turn"),
        ([start("a"), end("a"), FINISH], "start came out of turn"),
        ([COLLECTED, start("a"), start("b")], "start came out of turn"),
        ([COLLECTED, start("a"), end("b")], "another end than that of a came"),
        ([COLLECTED, start("a"), end("a"), start("a")], "a began twice"),
        ([COLLECTED, end("a")], "end came out of turn"),
        ([COLLECTED, start("a"), FINISH], "finish came out of turn"),
        ([COLLECTED, start("a"), end("a", "green")], "another end than that of a came"),
        (["nonsense"], "something else came out of turn"),
        ([{"event": "collected", "count": True}], "collected came out of turn"),
        ([{"event": "collected", "count": -1}], "collected came out of turn"),
        (
            [COLLECTED, {"event": "metric", "name": "n", "value": 1, "better": "lower"}],
            "metric came out of turn",
        ),
    ],
)
def test_what_no_sound_run_says_is_named(events: list[object], fault: str) -> None:
    assert read_report(text(*events)).report_fault == fault


@pytest.mark.parametrize("number", ["1" + "0" * 400, "-1" + "0" * 400, "1e999", "NaN", '"1"'])
def test_a_number_out_of_range_is_a_fault_of_the_report(number: str) -> None:
    lines = text(COLLECTED, start("a"), end("a")).replace(b"0.1", number.encode())
    assert read_report(lines).report_fault.startswith("another end")
    metric = {"event": "metric", "name": "n", "value": 0.1, "better": "lower"}
    lines = text(COLLECTED, start("a"), metric).replace(b"0.1", number.encode())
    assert (read_report(lines).metrics, read_report(lines).report_fault) == ((), "")


def test_what_comes_after_the_end_changes_nothing() -> None:
    forged = [
        COLLECTED,
        start("a"),
        end("a", "failed"),
        {"event": "finish", "exitstatus": 1},
        end("a"),
        FINISH,
    ]
    report = read_report(text(*forged))
    assert [trial.status for trial in report.tests] == ["failed"]
    assert report.pytest_exit == 1


def test_the_torn_last_line_of_a_process_that_died_is_no_fault() -> None:
    report = read_report(text(COLLECTED, start("a")) + b'{"event": "en')
    assert (report.report_fault, report.started_test, report.finished) == ("", "a", False)


def test_an_interrupted_session_says_so_in_the_middle_of_a_test() -> None:
    report = read_report(text(COLLECTED, start("a"), {"event": "finish", "exitstatus": 2}))
    assert (report.report_fault, report.finished, report.started_test) == ("", False, "a")


def test_a_probe_that_says_nonsense_says_nothing(tmp_path: Path) -> None:
    for content in (
        "",
        "[]",
        '{"seconds": -1}',
        '{"seconds": true}',
        '{"seconds": NaN}',
        "[" * 100_000,
    ):
        (tmp_path / "import.json").write_text(content, encoding="utf-8")
        assert read_probe(tmp_path, "import.json") == (None, None)


def test_the_modules_of_a_step_are_names_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "m").write_text('["a.py", 1, null, "b/c.py"]', encoding="utf-8")
    assert read_modules(tmp_path, "m") == {"a.py", "b/c.py"}
    (tmp_path / "m").write_text("{", encoding="utf-8")
    assert read_modules(tmp_path, "m") == frozenset()
    assert read_modules(tmp_path, "nowhere") == frozenset()
