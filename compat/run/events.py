"""Parses the reports of in-cell code as hostile input: any program of the cell may have written
these files or replaced them with links.
"""

import json
import os
import stat
from collections.abc import Collection
from pathlib import Path
from typing import Any, TypeGuard

from msgspec.structs import replace

from compat.run.evidence import MOST_METRIC, Evidence, Metric, Raised, Trial

# Any name below a cell's folder can be a link to a file that the cell itself could not read, a FIFO
# without a writer, or an endless device.
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a FIFO blocks until it has a writer, see fifo(7).
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_plain(folder: Path, name: str) -> int:
    """Open a plain file, each part of its path by itself: none can be a link. Raises OSError."""
    *parents, last = name.split("/")
    if "" in (*parents, last) or ".." in (*parents, last):
        raise OSError(f"{name!r} is not a path below a folder")
    place = os.open(folder, _FOLDER)
    try:
        for parent in parents:
            place, above = os.open(parent, _FOLDER, dir_fd=place), place
            os.close(above)
        file = os.open(last, _FILE, dir_fd=place)
    finally:
        os.close(place)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(f"{name!r} is not a plain file")
    return file


def read_bytes(folder: Path, name: str, most: int) -> bytes:
    """Return the first `most` bytes; raise OSError for all but a plain file below the folder."""
    with open(open_plain(folder, name), "rb") as file:
        return file.read(most)


# The plugin's events file, below the cell's folder.
EVENTS = "home/events.jsonl"
LARGEST = 20_000_000
# What is read of the events each time that somebody looks.
_MOST_NEW = 1_000_000
_LONGEST = 500
_MOST_MODULES = 100_000
_MOST_SECONDS = 1e9
# All passed, some failed, none collected. Other exit codes mean that pytest was interrupted.
_ENDS = (0, 1, 5)


class SuiteWatch:
    """How far the running suite of a cell is. For display only: a lying cell falsifies its own
    numbers.
    """

    def __init__(self, cell: Path) -> None:
        self._cell, self._read, self._ended = cell, 0, 0
        self._collected: int | None = None

    def progress(self) -> str:
        """Read what is new; return `test 12 of 133`, or nothing before the collection has ended."""
        try:
            with open(open_plain(self._cell, EVENTS), "rb") as file:
                file.seek(self._read)
                new = file.read(_MOST_NEW)
        except OSError:
            new = b""
        # A line without an end is read again, unless it is longer than any of the plugin's.
        whole = new[: new.rfind(b"\n") + 1] or (new if len(new) == _MOST_NEW else b"")
        self._read += len(whole)
        place = 0
        if self._collected is None and (place := whole.find(b'"event": "collected"')) >= 0:
            line = whole[whole.rfind(b"\n", 0, place) + 1 : whole.find(b"\n", place)][:_LONGEST]
            collected = _object(line.decode(errors="replace")).get("count")
            self._collected = collected if _is_count(collected) else None
        if (most := self._collected) is None:
            return ""
        self._ended += whole.count(b'"event": "end"', place)
        if self._ended > most:
            return f"test {self._ended:,}"
        return f"test {min(self._ended + 1, most):,} of {most:,}"


def read_probe(cell: Path, name: str) -> tuple[float | None, Raised | None]:
    """None for both when the probe left nothing readable."""
    facts = _object(_text(cell, name))
    seconds = facts.get("seconds")
    if not _is_within(seconds, 0, _MOST_SECONDS):
        return None, None
    return float(seconds), _raised(facts.get("raised"))


def read_modules(cell: Path, name: str) -> frozenset[str]:
    """Whether these files below site-packages exist is not checked."""
    try:
        names = json.loads(_text(cell, name))
    except (ValueError, RecursionError):
        return frozenset()
    names = names if isinstance(names, list) else []
    return frozenset(name for name in names[:_MOST_MODULES] if isinstance(name, str))


def read_report(events: bytes, facts: Evidence) -> Evidence:
    """Return the facts with the events' content, and the first thing that no sound run of pytest
    can report.

    Only the plugin writes events, in one order. First come faults of the collection, then
    `collected`. Each test has `start`, its metrics and `end`; `finish` is the last event. Only the
    last line of a process that died can be torn.
    """
    lines = events.decode("utf-8", errors="replace").splitlines()
    if events and not events.endswith(b"\n"):
        del lines[-1]
    reading = _Reading()
    for line in lines:
        reading.take(_object(line))
    return replace(
        facts,
        collected=reading.collected,
        finished=reading.pytest_exit in _ENDS,
        pytest_exit=reading.pytest_exit,
        report_fault=reading.fault,
        collect_errors=tuple(reading.errors),
        internal_error=reading.internal_error,
        left_out=tuple(reading.left_out),
        tests=tuple(reading.tests.values()),
        started_test=reading.open_test,
        metrics=tuple(reading.metrics),
    )


class _Reading:
    """A line out of order is the fault, and changes nothing."""

    def __init__(self) -> None:
        self.collected: int | None = None
        self.pytest_exit: int | None = None
        self.errors: list[Raised] = []
        self.internal_error: Raised | None = None
        self.left_out: list[tuple[str, str]] = []
        self.tests: dict[str, Trial] = {}
        self.open_test = ""
        self.metrics: list[Metric] = []
        self.fault = ""

    def take(self, event: dict[str, Any]) -> None:
        kind = event.get("event")
        if self.pytest_exit is not None:
            self._refuse("more came after the end")
            return
        match kind:
            case "collect-error" if not self.open_test:
                raised = _raised(event.get("raised")) or Raised(type="Error", message="", where="")
                self.errors.append(replace(raised, file=_short(event.get("file"))))
            case "left-out" if self.collected is None and isinstance(event.get("tests"), list):
                why = _short(event.get("why"))
                self.left_out += [(why, _short(test)) for test in event["tests"]]
            case "internal-error" if self.collected is not None:
                self.internal_error = _raised(event.get("raised"))
            case "collected" if self.collected is None and _is_count(event.get("count")):
                self.collected = int(event["count"])
            case "start" if self.collected is not None and not self.open_test:
                test = _short(event.get("test"))
                if not test or test in self.tests:
                    self._refuse(f"{test} began twice" if test else "a test without a name began")
                else:
                    self.open_test = test
            case "metric" if self.open_test:
                self.metrics.extend(_metric(event))
            case "end" if self.open_test:
                trial = _test(event)
                if trial is None or trial.test != self.open_test:
                    self._refuse(f"another end than that of {self.open_test} came")
                else:
                    self.tests[trial.test] = trial
                    self.open_test = ""
            case "finish" if not self.open_test and _is_count(event.get("exitstatus")):
                self.pytest_exit = int(event["exitstatus"])
            case "finish" if _is_count(code := event.get("exitstatus", 0)) and code not in _ENDS:
                # A session that is torn down in the middle of a test exits with 2: it was
                # interrupted.
                self.pytest_exit = int(code)
            case _:
                self._refuse(f"{_short(kind) or 'something else'} came out of turn")

    def _refuse(self, why: str) -> None:
        self.fault = self.fault or why


def _is_count(number: object) -> TypeGuard[int]:
    return isinstance(number, int) and _is_within(number, 0, 999_999)


def _is_within(number: Any, least: float, most: float) -> TypeGuard[float]:
    # Comparing an int of any size is exact; converting 400 digits to float raises.
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    return is_number and least <= number <= most


def _text(cell: Path, name: str) -> str:
    try:
        return read_bytes(cell, name, LARGEST).decode("utf-8", errors="replace")
    except OSError:
        return ""


def _object(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _raised(entry: object, is_child: bool = False) -> Raised | None:
    if not isinstance(entry, dict):
        return None
    return Raised(
        type=_short(entry.get("type")),
        message=_short(entry.get("message")),
        where=_short(entry.get("where")),
        of_suite=entry.get("of_suite") is True,
        is_own=entry.get("is_own") is True,
        of_runner=entry.get("of_runner") is True,
        child=None if is_child else _raised(entry.get("child"), is_child=True),
    )


def _test(event: dict[str, Any]) -> Trial | None:
    status = event.get("status")
    seconds = event.get("seconds")
    if status not in ("passed", "failed", "skipped", "absent"):
        return None
    # A clock that was set back gives a negative duration, which does not invalidate the test.
    if not _is_within(seconds, -_MOST_SECONDS, _MOST_SECONDS):
        return None
    missing = event.get("missing")
    return Trial(
        test=_short(event.get("test")), capability=_short(event.get("capability")), status=status,
        seconds=max(0.0, float(seconds)), raised=_raised(event.get("raised")),
        missing=tuple(_short(name) for name in missing[:50]) if isinstance(missing, list) else (),
        spelling=_short(event.get("spelling")), helper=event.get("helper") is True,
    )  # fmt: skip


def _metric(event: dict[str, Any]) -> list[Metric]:
    value, better = event.get("value"), event.get("better")
    if not _is_within(value, -MOST_METRIC, MOST_METRIC) or better not in ("lower", "higher"):
        return []
    name, unit = _short(event.get("name")), _short(event.get("unit"))
    return [Metric(name=name, value=float(value), unit=unit, better=better)]


def _short(text: object) -> str:
    if not isinstance(text, str):
        return ""
    return text[:_LONGEST].encode("utf-8", errors="replace").decode()


def with_failed_files(evidence: Evidence, asked: Collection[str]) -> Evidence:
    """Return the evidence with the tests of uncollectable files marked as failed.

    `asked` are the tests that must report. A release older than a project's tests may lack what one
    file imports, which says nothing about the other files. Returned unchanged where no other test
    passed, pytest did not finish, or tests of other files are missing, too.
    """
    is_ended = evidence.pytest_exit == 1 and evidence.collected is not None
    if not is_ended or not any(trial.status == "passed" for trial in evidence.tests):
        return evidence
    lacking = sorted(set(asked) - {trial.function for trial in evidence.tests})
    failed: dict[str, Trial] = {}
    for raised in evidence.collect_errors:
        below = (f"{raised.file}::", f"{raised.file}/")
        for test in [test for test in lacking if test.startswith(below)] or [raised.file]:
            trial = Trial(test=test, capability="", status="failed", seconds=0.0, raised=raised)
            failed.setdefault(test, trial)
    if "" in failed or not failed.keys() >= set(lacking):
        return evidence
    return replace(
        evidence,
        collect_errors=(),
        collected=(evidence.collected or 0) + len(failed),
        tests=(*evidence.tests, *failed.values()),
    )
