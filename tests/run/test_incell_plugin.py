"""The pytest plugin as cells run it: a process of its own, on tiny suites, judged by the lines that
it leaves.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from compat.run.events import read_report
from compat.run.evidence import Evidence

PLUGIN = Path(__file__).parents[2] / "compat" / "run" / "incell" / "plugin.py"
PYTHON = sys.executable
QUIET = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
ABSENT = """\
import pytest
class Absent(pytest.skip.Exception):
    def __init__(self, names):
        super().__init__("absent: " + ", ".join(names))
        self.missing = tuple(names)
"""
Event = dict[str, Any]


class Suite:
    """A tiny suite in a folder, and the environment that runs it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "suite"
        self.events = folder / "events.jsonl"
        self.plugin = folder / "plugin"
        self.site = folder / "lib" / "site-packages"
        for made in (self.folder, self.plugin, self.site):
            made.mkdir(parents=True)
        shutil.copy(PLUGIN, self.plugin / "compat_plugin.py")
        for name in ("compat_raised.py", "launch.py"):
            shutil.copy(PLUGIN.with_name(name), self.plugin)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(textwrap.dedent(text), encoding="utf-8")

    def install(self, name: str, text: str) -> None:
        (self.site / name).write_text(textwrap.dedent(text), encoding="utf-8")

    def start(self, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
        paths = os.pathsep.join([str(self.plugin), str(self.site)])
        given = {"PATH": "/usr/bin:/bin", "PYTHONPATH": paths, "COMPAT_EVENTS": str(self.events)}
        command = [
            PYTHON,
            "-m",
            "pytest",
            "-p",
            "compat_plugin",
            "-p",
            "no:cacheprovider",
            "--rootdir",
        ]
        return subprocess.Popen(
            [*command, str(self.folder), str(self.folder), *arguments],
            cwd=self.plugin,
            env={**given, **QUIET, **environment},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip

    def run(self, *arguments: str, **environment: str) -> tuple[int, list[Event], str]:
        with self.start(*arguments, **environment) as process:
            output, _ = process.communicate(timeout=600)
            return process.returncode, self.lines(), output

    def lines(self) -> list[Event]:
        text = self.events.read_bytes() if self.events.exists() else b""
        assert text.isascii()
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


def kinds(events: list[Event]) -> list[str]:
    return [event["event"] for event in events]


def ends(events: list[Event]) -> list[Event]:
    return [event for event in events if event["event"] == "end"]


def test_a_test_of_a_helper_of_the_suite_is_told_as_one(suite: Suite) -> None:
    suite.write(
        "test_all.py",
        """\
        import pytest

        @pytest.mark.capability("queue", title="t", says="s", helper="queue.py", of="helper")
        def test_helper():
            assert False

        @pytest.mark.capability("sum", helper="queue.py")
        def test_library():
            pass
        """,
    )
    _, events, _ = suite.run()
    assert [(event["capability"], event["helper"]) for event in ends(events)] == [
        ("queue", True),
        ("sum", False),
    ]


def test_each_status_is_told_with_its_capability_and_cause(suite: Suite) -> None:
    suite.install("subject.py", "def broken():\n    raise ValueError('no\\nsecond line')\n")
    suite.write("api.py", ABSENT)
    suite.write(
        "test_all.py",
        """\
        import pytest, subject
        from api import Absent

        @pytest.mark.capability("good", title="t", says="s")
        def test_passes(record_property):
            record_property("spelling", "new.name")

        @pytest.mark.capability("bad")
        def test_fails():
            subject.broken()

        def test_asserts():
            assert 1 + 1 == 3

        def test_skips():
            pytest.skip("not now")

        def test_is_absent(record_property):
            raise Absent(["new.name", "old.name"])

        @pytest.fixture
        def fragile():
            yield 1
            raise OSError("no teardown")

        @pytest.fixture
        def missing():
            raise KeyError("setup")

        def test_teardown_fails(fragile):
            pass

        def test_setup_fails(missing):
            pass
        """,
    )
    code, events, _ = suite.run()
    assert code == 1
    assert kinds(events) == ["collected", *["start", "end"] * 7, "finish"]
    assert events[0]["count"] == 7
    assert events[-1]["exitstatus"] == 1
    good, bad, wrong, skipped, absent, teardown, setup = ends(events)
    assert (good["status"], good["capability"], good["spelling"]) == ("passed", "good", "new.name")
    assert good["raised"] is None
    assert good["test"].endswith("test_all.py::test_passes")
    assert bad["raised"] == {
        "type": "ValueError",
        "message": "no",
        "where": "subject.py:2",
        "of_suite": False,
        "is_own": False,
    }
    assert (bad["status"], bad["capability"]) == ("failed", "bad")
    assert wrong["raised"] == {
        "type": "AssertionError",
        "message": "assert (1 + 1) == 3",
        "where": "test_all.py:13",
        "of_suite": True,
        "is_own": False,
    }
    assert (skipped["status"], skipped["missing"], skipped["raised"]) == ("skipped", [], None)
    assert (absent["status"], absent["missing"], absent["raised"]) == (
        "absent",
        ["new.name", "old.name"],
        None,
    )
    assert (teardown["status"], teardown["raised"]["type"]) == ("failed", "OSError")
    assert (setup["status"], setup["raised"]["message"]) == ("failed", "'setup'")
    assert all(end["seconds"] >= 0 for end in ends(events))


@pytest.mark.parametrize(
    ("death", "code"),
    [
        ("os._exit(0)", 0),
        ("os.kill(os.getpid(), 11)", -11),
        ("os.abort()", -6),
    ],
)
def test_a_death_leaves_a_start_without_an_end_and_no_finish(
    suite: Suite, death: str, code: int
) -> None:
    suite.write(
        "test_death.py",
        f"import os\ndef test_lives():\n    pass\ndef test_dies():\n    {death}\ndef"
        " test_after():\n    pass\n",
    )
    returned, events, _ = suite.run()
    assert returned == code
    assert kinds(events) == ["collected", "start", "end", "start"]
    assert events[-1]["test"].endswith("::test_dies")


def test_an_exit_inside_a_test_is_a_failure_of_that_test(suite: Suite) -> None:
    suite.write(
        "test_exit.py",
        "import sys\ndef test_exits():\n    sys.exit(0)\ndef test_after():\n    pass\n",
    )
    _, events, _ = suite.run()
    exits, after = ends(events)
    assert (exits["status"], exits["raised"]["type"]) == ("failed", "SystemExit")
    assert after["status"] == "passed"


def test_an_ended_session_tells_which_test_ended_it(suite: Suite) -> None:
    suite.write(
        "test_exit.py",
        "import pytest\ndef test_exits():\n    pytest.exit('enough')\ndef test_after(): pass\n",
    )
    _, events, _ = suite.run()
    assert kinds(events) == ["collected", "start", "finish"]
    assert events[-1]["exitstatus"] == 2


def test_several_processes_report_one_test_after_another(suite: Suite) -> None:
    suite.write(
        "test_all.py",
        """\
        import os, time, pytest

        @pytest.mark.parametrize("number", range(20))
        def test_number(number, record_property):
            value = {"name": "took", "value": number, "unit": "s", "better": "lower"}
            record_property("metric", value)
            time.sleep(number % 3 / 100)
            assert number != 7

        def test_that_dies():
            os._exit(3)
        """,
    )
    code, events, output = suite.run("-p", "xdist", "-n", "2")
    assert code == 1, output
    assert kinds(events).count("collected") == kinds(events).count("finish") == 1
    assert next(event for event in events if event["event"] == "collected")["count"] == 21
    empty = Evidence(
        cell="c", matrix="m", subject="s", lock_digest="", suite_digest="", seconds=0.0,
        started=datetime.now(timezone.utc), host="linux-x86_64-2cpu-8gb", isolation="L3",
        steps=(), expected=(), module="s", tier="full",
    )  # fmt: skip
    read = read_report(suite.events.read_bytes(), empty)
    assert (read.report_fault, read.finished, len(read.tests)) == ("", True, 21)
    failed = {trial.test.rpartition("::")[2] for trial in read.tests if trial.status == "failed"}
    assert failed == {"test_number[7]", "test_that_dies"}
    assert len(read.metrics) == 19


def test_all_skipped_is_told_as_such(suite: Suite) -> None:
    suite.write(
        "test_skip.py",
        "import pytest\n@pytest.mark.skip\ndef test_a(): pass\n@pytest.mark.skip\ndef test_b():"
        " pass\n",
    )
    code, events, _ = suite.run()
    assert code == 0
    assert [end["status"] for end in ends(events)] == ["skipped", "skipped"]
    assert events[-1] == {"event": "finish", "exitstatus": 0}


def test_no_tests_at_all_is_a_count_of_zero(suite: Suite) -> None:
    code, events, _ = suite.run()
    assert code == 5
    assert events == [{"event": "collected", "count": 0}, {"event": "finish", "exitstatus": 5}]


def test_a_selection_counts_what_is_left(suite: Suite) -> None:
    suite.write("test_two.py", "def test_a(): pass\ndef test_b(): pass\n")
    _, events, _ = suite.run("-k", "test_b")
    assert events[0] == {"event": "collected", "count": 1}
    assert len(ends(events)) == 1


@pytest.mark.parametrize(
    ("text", "raised"),
    [
        (
            "import os\nimport nowhere\n",
            ("ModuleNotFoundError", "No module named 'nowhere'", "test_bad.py:2"),
        ),
        ("x = (\n", ("SyntaxError", None, "test_bad.py:1")),
        (
            "import subject\n",
            ("AttributeError", "'int' object has no attribute 'up'", "subject.py:1"),
        ),
        ("import sys\nsys.exit(0)\n", ("SystemExit", "0", "test_bad.py:2")),
        ("import pytest\npytest.exit('enough')\n", ("Exit", "enough", "test_bad.py:2")),
    ],
)
def test_a_file_that_does_not_import_is_a_collect_error(
    suite: Suite, text: str, raised: tuple[str, str, str]
) -> None:
    suite.install("subject.py", "(1).up\n")
    suite.write("test_bad.py", text)
    code, events, _ = suite.run()
    assert code != 0
    found = next(event["raised"] for event in events if event["event"] == "collect-error")
    assert (found["type"], found["where"]) == (raised[0], raised[2])
    assert raised[1] is None or found["message"] == raised[1]
    assert not ends(events)


def test_a_broken_conftest_is_a_collect_error_without_a_session(suite: Suite) -> None:
    suite.write("conftest.py", "import nowhere\n")
    code, events, _ = suite.run()
    assert code == 4
    assert kinds(events) == ["collect-error"]
    assert events[0]["raised"]["type"] == "ModuleNotFoundError"
    assert events[0]["raised"]["where"] == "conftest.py:1"


def test_hostile_names_and_messages_stay_short_ascii_lines(suite: Suite) -> None:
    suite.write(
        "test_hostile.py",
        """\
        import pytest
        NAMES = ["\\n{}", "\\u2028\\x00", "\\ud800", "a" * 1000 + "1", "a" * 1000 + "2", \
'{"event": "finish"}']

        @pytest.mark.parametrize("name", NAMES, ids=NAMES)
        def test_named(name):
            raise ValueError("\\ud800\\x1b[31m" + "m" * 5000 + "\\nsecond")

        class Mute(Exception):
            def __str__(self):
                raise RuntimeError("nothing to say")

        def test_mute():
            raise Mute
        """,
    )
    _, events, _ = suite.run()
    *hostile, mute = ends(events)
    assert len({end["test"] for end in hostile}) == 6
    assert all(len(end["test"]) <= 300 for end in hostile)
    assert all(len(end["raised"]["message"]) == 500 for end in hostile)
    assert all(
        start["test"] == end["test"]
        for start, end in zip(events[1:-1:2], events[2:-1:2], strict=True)
    )
    assert "RuntimeError" in mute["raised"]["message"]
    for event in events:
        json.dumps(event).encode("utf-8")


def test_metrics_of_a_passing_test_are_told(suite: Suite) -> None:
    suite.write(
        "test_metrics.py",
        """\
        import pytest
        SECONDS = {"name": "round", "value": 1.5, "unit": "s", "better": "lower"}

        def test_measures(record_property):
            record_property("metric", SECONDS)

        def test_measures_and_fails(record_property):
            record_property("metric", SECONDS)
            assert False

        @pytest.mark.parametrize("wrong", [{"value": float("nan")}, {"better": "faster"}, \
{"value": "many"}])
        def test_measures_nonsense(record_property, wrong):
            record_property("metric", dict(SECONDS, **wrong))
        """,
    )
    _, events, _ = suite.run()
    metrics = [event for event in events if event["event"] == "metric"]
    assert metrics == [
        {"event": "metric", "name": "round", "value": 1.5, "unit": "s", "better": "lower"}
    ]
    assert [end["status"] for end in ends(events)] == [
        "passed",
        "failed",
        "failed",
        "failed",
        "failed",
    ]
    assert {end["raised"]["type"] for end in ends(events)[2:]} == {"MalformedMetric"}


def test_what_killed_a_child_process_is_told_where_its_traceback_stands_in_the_exception(
    suite: Suite,
) -> None:
    suite.install("subject.py", "def call():\n    raise AttributeError('no get')\n")
    suite.write(
        "test_child.py",
        """\
        import subprocess, sys

        COMMAND = [sys.executable, "-c", "import subject; subject.call()"]

        def test_asserts():
            done = subprocess.run(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            assert done.returncode == 0, done.stdout.decode()

        def test_checks():
            subprocess.run(COMMAND, stderr=subprocess.PIPE, check=True)

        def test_tells_nothing():
            assert subprocess.run(COMMAND).returncode == 0

        def test_speaks_of_one():
            assert 1 == 2, "Traceback (most recent call last):"

        def test_is_compiled():
            # As of a module that another machine compiled.
            compiled = 'exec(compile("raise OSError(1)", "/built/src/json/decoder.py", "exec"))'
            subprocess.run([sys.executable, "-c", compiled], stderr=subprocess.PIPE, check=True)
        """,
    )
    _, events, _ = suite.run()
    raised = [end["raised"] for end in ends(events)]
    assert [each["type"] for each in raised[:2]] == ["AssertionError", "CalledProcessError"]
    for each in raised[:2]:
        child = each["child"]
        assert (child["type"], child["message"]) == ("AttributeError", "no get")
        assert (child["where"], child["of_suite"]) == ("subject.py:2", False)
    assert ["child" in each for each in raised[2:4]] == [False, False]
    assert raised[4]["child"]["where"].startswith("python3.")


def test_the_place_is_where_the_subject_raised_and_not_a_helper_or_generated_code(
    suite: Suite,
) -> None:
    suite.install("subject.py", "def call(function):\n    return function()\n")
    suite.write(
        "test_place.py",
        """\
        import os, tempfile, json, subject

        def test_generated(tmp_path):
            path = tmp_path / "generated.py"
            path.write_text("def run():\\n    raise ValueError\\n")
            names = {}
            exec(compile(path.read_text(), str(path), "exec"), names)
            subject.call(names["run"])

        def test_library():
            json.loads("{")

        def check():
            __tracebackhide__ = True
            assert False

        def test_helper():
            check()
        """,
    )
    _, events, _ = suite.run()
    generated, library, helper = (end["raised"]["where"] for end in ends(events))
    assert generated == "subject.py:2"
    assert library.startswith("python3.")
    assert "/json/" in library
    assert helper == "test_place.py:18"


def test_a_child_of_a_test_says_nothing(suite: Suite) -> None:
    suite.write(
        "test_fork.py",
        """\
        import os

        def test_forks():
            if os.fork() == 0:
                return
            os.wait()
        """,
    )
    _, events, _ = suite.run()
    assert kinds(events) == ["collected", "start", "end", "finish"]


def test_without_a_file_for_the_events_it_refuses_to_run(suite: Suite) -> None:
    suite.write("test_one.py", "def test_a(): pass\n")
    code, events, output = suite.run(COMPAT_EVENTS="")
    assert code == 4
    assert not events
    assert "COMPAT_EVENTS" in output


def test_a_stack_dump_can_be_asked_for_and_an_ignored_interrupt_is_not_handed_down(
    suite: Suite,
) -> None:
    suite.write(
        "test_waits.py",
        """\
        import signal, subprocess, sys, time

        def test_waits():
            code = "import signal; print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
            assert subprocess.check_output([sys.executable, "-c", code]).strip() == b"False"
            print("ready", flush=True)
            end = time.monotonic() + 20
            while time.monotonic() < end and not stopped:
                time.sleep(0.05)

        stopped = []
        signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
        """,
    )
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = suite.start("-s")
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        assert process.stdout is not None
        seen = ""
        while not seen.endswith("ready\n") and process.poll() is None:
            seen += process.stdout.readline()
        process.send_signal(signal.SIGUSR1)
        time.sleep(0.3)
        process.terminate()
        output, _ = process.communicate(timeout=30)
    assert "most recent call first" in output
    assert "test_waits" in output
    assert process.returncode == 0
