"""A pytest plugin that runs inside a cell and streams JSON lines of events to the file
COMPAT_EVENTS.

Load a copy of it by `python -m pytest -p <its name>`, beside `compat_raised.py`. It writes a line
before and after each test, so the last `start` without an `end` names the test that killed the
process. Only a session that reached its end writes `finish`. The suite reports by
`@pytest.mark.capability(id)`, with `of="helper"` where the test only tests a file of the suite; an
exception with an attribute `missing` (names that this version lacks); `record_property("spelling",
name)`; `record_property("metric", {name, value, unit, better})`. COMPAT_CORE holds the ids, one a
line, of the only capabilities to run; unset, all run. COMPAT_NEWER holds the ids of tests that the
subject's release lacked: they are skipped. With COMPAT_OFFLINE set, tests whose mark requires a
network are skipped, too. With pytest-xdist each worker writes the events of a test in one go, the
first also those of the collection. PYTEST_DONT_REWRITE: it is imported before pytest starts, which
would warn; a suite may turn warnings into errors.
"""

from __future__ import annotations

import faulthandler
import hashlib
import json
import math
import os
import re
import signal
import time
import traceback
from collections.abc import Generator, Iterator
from typing import Any

import pytest

# Its name in the cell.
from compat_raised import MESSAGE, exception_line, facts_of, text  # type: ignore[import-not-found]

IDENTIFIER = 300
# Marks of plugins that are not loaded here; the launcher fills this.
MARKS: list[str] = []
NETWORK = re.compile(r"(?:^|_)(network|internet|online|remote_data)(?:_|$)")
NEEDS_NETWORK = re.compile(
    r"(?i)\b(requir|need|us(e|es|ing)\b|access|with\b|over\b)[^.]{0,40}\b(network|internet)\b"
)
NEEDS_NONE = re.compile(
    r"(?i)\b(no|not|without|off|offline|block\w*|disabl\w*|enabl\w*|allow\w*)\b"
)
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
# Saved before pytest captures standard error, so that a stack dump reaches the cell's log.
STDERR = os.dup(2)


class Stream:
    """The events file: each event is one write of one line, and only this process writes."""

    def __init__(self) -> None:
        path = os.environ.get("COMPAT_EVENTS")
        if not path:
            raise pytest.UsageError("COMPAT_EVENTS does not name the file that takes the events")
        # A child started by a test does not inherit it.
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self.owner = os.getpid()
        self.held = b""

    def send(self, event: str, **facts: Any) -> None:
        """A forked test must not write its parent's events twice."""
        if os.getpid() != self.owner:
            return
        whole = dict(facts, event=event)
        line = json.dumps(whole, ensure_ascii=True, sort_keys=True, allow_nan=False)
        left = self.held + line.encode("ascii") + b"\n"
        if WORKER and event in ("start", "metric"):
            self.held, left = left, b""
        elif WORKER and (event == "finish" or (event != "end" and WORKER != "gw0")):
            left = b""
        else:
            self.held = b""
        while left:
            left = left[os.write(self.file, left) :]


class RunningTest:
    """One running test and the results of its phases."""

    def __init__(self, item: pytest.Item) -> None:
        self.item = item
        self.failed = False
        self.raised: dict[str, Any] | None = None
        self.skipped = False
        self.missing: tuple[str, ...] = ()
        self.start = time.perf_counter()

    def fail(self, raised: dict[str, Any]) -> None:
        """The first one names the cause."""
        self.failed = True
        self.raised = self.raised or raised

    @property
    def status(self) -> str:
        """A failure in any phase outweighs a skip."""
        if self.failed:
            return "failed"
        if self.missing:
            return "absent"
        return "skipped" if self.skipped else "passed"


class EventHooks:
    """The hooks of pytest that become events."""

    def __init__(self, config: pytest.Config, stream: Stream) -> None:
        self.stream = stream
        self.suites = suite_folders(config.option, config.args)
        self.attempt: RunningTest | None = None
        self.running = False

    def describe(self, error: BaseException, otherwise: str = "") -> dict[str, Any]:
        """`otherwise` is its place when no frame gives one."""
        facts: dict[str, Any] = facts_of(error, self.suites, otherwise)
        return facts

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, None]:
        """Report a file that could not be collected by its exception, not by pytest's summary."""
        outcome = yield
        if outcome.excinfo is not None:
            return
        report = outcome.get_result()
        if not report.failed:
            return
        call = getattr(report, "call", None)
        error = call.excinfo.value if call is not None and call.excinfo is not None else None
        where = text(collector.nodeid, MESSAGE)
        raised = {"type": "CollectError", "message": last_line(report), "where": where}
        if error is not None:
            # pytest wraps a failed collection in its own error.
            raised = self.describe(error.__cause__ or error, otherwise=collector.nodeid)
        self.stream.send("collect-error", file=identifier(collector.nodeid), raised=raised)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Skip tests that cannot run here, and those outside the core if only it was requested."""
        newer = set(os.environ.get("COMPAT_NEWER", "").splitlines())
        marks = network_marks(config) if os.environ.get("COMPAT_OFFLINE") else []
        left: dict[str, list[pytest.Item]] = {}
        for item in items:
            function = item.nodeid.partition("[")[0]
            why = "newer" if function in newer else ""
            why = next((mark for mark in marks if item.get_closest_marker(mark)), why)
            left.setdefault(why, []).append(item)
        items[:] = left.pop("", [])
        for why, tests in left.items():
            config.hook.pytest_deselected(items=tests)
            functions = sorted({identifier(test.nodeid).partition("[")[0] for test in tests})
            self.stream.send("left-out", why=why, tests=functions)
        core = os.environ.get("COMPAT_CORE")
        if core is None:
            return
        asked = frozenset(core.splitlines())
        selected = [item for item in items if reported_id(item) in asked]
        deselected = [item for item in items if reported_id(item) not in asked]
        config.hook.pytest_deselected(items=deselected)
        items[:] = selected

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.stream.send("collected", count=len(session.items))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        """Note that the collection is over; pytest reports the end even when it failed."""
        self.running = True

    def pytest_internalerror(self, excinfo: Any) -> None:
        """Report what ended the collection from outside a collector, such as an exit at import, or
        what crashed pytest while tests ran. Errors of this file itself appear only in its log.
        """
        if is_ours(excinfo.value):
            return
        if self.running:
            self.stream.send("internal-error", raised=facts_of(excinfo.value, []))
        else:
            self.stream.send("collect-error", raised=self.describe(excinfo.value))

    def pytest_keyboard_interrupt(self, excinfo: Any) -> None:
        if not self.running:
            self.pytest_internalerror(excinfo)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, None]:
        """Report the start of a test, and its end unless the whole session is being torn down."""
        test, capability = identifier(item.nodeid), capability_of(item)
        self.stream.send("start", test=test, capability=capability)
        self.attempt = attempt = RunningTest(item)
        outcome = yield
        self.attempt = None
        if outcome.excinfo is not None:
            return
        seconds = round(time.perf_counter() - attempt.start, 6)
        try:
            metrics = (
                [metric(value) for value in properties(item, "metric")]
                if attempt.status == "passed"
                else []
            )
        except (KeyError, TypeError, ValueError) as error:
            message, where = exception_line(error), test_line(item)
            attempt.fail({"type": "MalformedMetric", "message": message, "where": where})
            metrics = []
        for facts in metrics:
            self.stream.send("metric", **facts)
        spellings = dict.fromkeys(text(value, MESSAGE) for value in properties(item, "spelling"))
        marker = closest_marker(item, "capability")
        self.stream.send(
            "end",
            test=test,
            capability=capability,
            # The test only tests a file of the suite, and nothing of the subject.
            helper=marker is not None and marker.kwargs.get("of") == "helper",
            status=attempt.status,
            seconds=seconds,
            raised=attempt.raised,
            missing=(
                [text(name, IDENTIFIER) for name in attempt.missing]
                if attempt.status == "absent"
                else []
            ),
            spelling=", ".join(spellings)[:MESSAGE],
        )

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str) -> None:
        """Report the test with which a worker of xdist died; it reported nothing itself."""
        raised = {"type": "WorkerCrash", "message": "the process died", "where": crashitem}
        test = identifier(crashitem)
        self.stream.send("start", test=test, capability="")
        self.stream.send("end", test=test, capability="", status="failed", seconds=0, raised=raised)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Generator[None, Any, None]:
        outcome = yield
        attempt = self.attempt
        if attempt is None or outcome.excinfo is not None:
            return
        report = outcome.get_result()
        error = call.excinfo.value if call.excinfo is not None else None
        if report.failed and error is not None:
            attempt.fail(self.describe(error, otherwise=test_line(item)))
        elif report.skipped:
            attempt.skipped = True
            missing = getattr(error, "missing", None) or ()
            names = (missing,) if isinstance(missing, str) else tuple(missing)
            attempt.missing = attempt.missing or names

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a failure that exists only as a report, such as that of a subtest."""
        if self.attempt is not None and report.failed and not self.attempt.failed:
            where = test_line(self.attempt.item)
            self.attempt.fail({"type": "Failed", "message": last_line(report), "where": where})

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self.stream.send("finish", exitstatus=int(exitstatus))


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, Any, None]:
    """Report a conftest that does not import: pytest then ends before a session begins."""
    outcome = yield
    if outcome.excinfo is not None:
        error = outcome.excinfo[1]
        cause = error.__cause__ or error
        known = early_config.known_args_namespace
        suites = suite_folders(known, known.file_or_dir)
        Stream().send("collect-error", raised=facts_of(cause, suites))


def pytest_configure(config: pytest.Config) -> None:
    faulthandler.register(signal.SIGUSR1, file=STDERR, all_threads=True)
    # A shell's background job inherits it as ignored and passes it to workers, which it stops.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line(
        "markers", "capability(id, title, says): what of the subject this test shows"
    )
    for mark in MARKS:
        config.addinivalue_line("markers", mark + ": of a plugin that a cell does not load")
    config.pluginmanager.register(EventHooks(config, Stream()), "compat-events")


def network_marks(config: pytest.Config) -> list[str]:
    """Return the registered marks whose name or description says that a test needs a network."""
    marks = []
    for line in config.getini("markers"):
        name = re.split(r"\W", line.strip(), maxsplit=1)[0]
        if NETWORK.search(name) or (NEEDS_NETWORK.search(line) and not NEEDS_NONE.search(line)):
            marks.append(name)
    return [name for name in marks if name and not NEEDS_NONE.search(name.replace("_", " "))]


def is_ours(error: BaseException) -> bool:
    """Return whether an exception was raised in this file, or below it."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code.co_filename == __file__ for frame, _ in frames)


def closest_marker(item: Any, name: str) -> Any:
    """Before pytest 3.6 the method had another name."""
    find = getattr(item, "get_closest_marker", None) or item.get_marker
    return find(name)


def capability_of(item: pytest.Item) -> str:
    marker = closest_marker(item, "capability")
    return str(text(marker.args[0], IDENTIFIER)) if marker is not None and marker.args else ""


def reported_id(item: pytest.Item) -> str:
    """A test reports under its capability, else under its id without parameters."""
    return capability_of(item) or identifier(item.nodeid).partition("[")[0]


def properties(item: pytest.Item, name: str) -> Iterator[Any]:
    """Yield what the test recorded under a name."""
    return (value for key, value in item.user_properties if key == name)


def metric(value: Any) -> dict[str, Any]:
    """Return a metric as it is sent; raise KeyError, TypeError or ValueError for an invalid one."""
    number = float(value["value"])
    if not math.isfinite(number):
        raise ValueError("metric {} is {}".format(value["name"], number))
    if value["better"] not in ("lower", "higher"):
        raise ValueError(
            "metric {} is better {!r}, not lower or higher".format(value["name"], value["better"])
        )
    return {
        "name": text(value["name"], IDENTIFIER),
        "value": number,
        "unit": text(value["unit"], IDENTIFIER),
        "better": value["better"],
    }


def identifier(nodeid: str) -> str:
    """A long id is cut and gets a digest, so that two stay distinct."""
    whole: str = text(nodeid, len(nodeid) * 10)
    if len(whole) <= IDENTIFIER:
        return whole
    digest = hashlib.sha256(whole.encode("utf-8")).hexdigest()[:8]
    return f"{whole[: IDENTIFIER - 9]}~{digest}"


def last_line(report: Any) -> str:
    """pytest puts the exception on the last line of a report's text."""
    lines = str(getattr(report, "longreprtext", "") or report.longrepr or "").strip().splitlines()
    return str(text(lines[-1], MESSAGE)) if lines else ""


def test_line(item: pytest.Item) -> str:
    file, line, _ = item.location
    return str(text(f"{os.path.basename(file)}:{(line or 0) + 1}", MESSAGE))


def suite_folders(options: Any, arguments: list[Any]) -> list[str]:
    """The folder that is declared as the suite's root, and those named, each with a separator."""
    root = getattr(options, "rootdir", None)
    named = ([root] if root else []) + list(arguments)
    paths = [os.path.realpath(str(argument).split("::")[0]) for argument in named]
    return [(p if os.path.isdir(p) else os.path.dirname(p)) + os.sep for p in paths]


if WORKER:
    import launch  # type: ignore[import-not-found]

    launch.join_packages()
    launch.plugin_options()
